"""Where in a stream a scripted break falls, counted in what was said by then, so alike on every wire. Pure; breaks nothing."""

from itertools import accumulate
from typing import Any

from fake_models.wire.codec import Codec


def sent(codec: Codec, payloads: tuple[Any, ...], after_chunks: int, *, trailer: bool) -> int:
    """
    How many payloads of a stream leave before a break that comes after so many chunks.

    The first chunk is all that comes before anything is said. Every other one ends in a payload that says something of the
    reply (see `Codec.says`), and what says nothing leaves together with what is said after it; a payload that says a whole call
    counts two and leaves only for both. Behind the last that says anything each counts one. What ends the stream never leaves:
    its trailer, or the last payload where none comes.
    """
    steps = tuple(map(codec.says, payloads))
    said = tuple(accumulate(steps))
    saying = [at for at, step in enumerate(steps) if step]
    # Nothing is said first by the first payload.
    first, last = (saying[0], saying[-1]) if saying else (1, 0)
    most = len(payloads) if trailer else len(payloads) - 1
    leave = {1: first, **{1 + said[at]: at + 1 for at in saying}}
    leave |= {1 + said[last] + more: last + 1 + more for more in range(1, most - last)}
    return min(max(0, most), max((count for chunks, count in leave.items() if chunks <= after_chunks), default=0))
