"""What of a reply was sent before its stream broke: told by writing it once more. Judges nothing."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

from conformance.reading.resumed import part
from conformance.reading.view import Reply
from conformance.recording import Header
from fake_models import breaking, messages
from fake_models.chunking import WHOLE, Chunking, chunking
from fake_models.messages import ModelRequest, Part
from fake_models.wire import CODECS
from fake_models.wire.codec import Stamp, compact, quirks

#: Stand in for the words that are looked for, and can be no part of what a model says.
_FINISH = "conformance-finish-reason"
_NAME = "conformance-call-{}-begins"


@dataclass(frozen=True, slots=True)
class Sent:
    """How many of a reply's calls had begun with their names, and whether its finish reason was out."""

    calls: int
    finished: bool


def sent(reply: Reply, request: ModelRequest, header: Header, after_chunks: int) -> Sent:
    """What of a streamed reply was sent before a break after so many chunks; on a wire that never splits a call, it begins whole."""
    codec = CODECS[request.wire]
    said = messages.Reply(
        tuple(_parts(reply)),
        stop=reply.stop or "stop",  # type: ignore[arg-type] # recorded from one
        finish=_FINISH,
        quirks=tuple((reply.fault or {}).get("quirks", ())),
    )
    chunks = codec.chunks(said, Stamp(reply.id or "", 0, request.model), request, _chunking(header).pieces)
    strays = quirks(codec, said)
    for quirk in strays:
        chunks = quirk.chunks(chunks)
    trailer = bool(codec.trailer) and all(quirk.trailer for quirk in strays)
    before = b"".join(map(compact, chunks[: breaking.sent(codec, chunks, after_chunks, trailer=trailer)]))
    begun = sum(_NAME.format(place).encode() in before for place in range(len(said.calls)))
    return Sent(begun, _FINISH.encode() in before)


def _parts(reply: Reply) -> Iterator[Part]:
    calls = count()
    for told in reply.parts:
        yield part({**told, "name": _NAME.format(next(calls))} if told["type"] == "tool_call" else told)


def _chunking(header: Header) -> Chunking:
    try:
        return chunking(header.cell.get("chunking", "whole"))
    except ValueError:
        # Of a kit that knew more of them. Whole chunks are the fewest, so that what was cut before them was cut before its end.
        return WHOLE
