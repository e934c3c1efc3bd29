"""How a streamed reply is cut: its texts into chunks, and its bytes into writes. Pure; what is cut joins to what it was."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from types import MappingProxyType

from fake_models.wire.codec import Pieces

#: Cuts the frames of a stream into writes; the second argument may be put between two frames, and is empty where nothing may.
Recut = Callable[[tuple[bytes, ...], bytes], tuple[bytes, ...]]

#: Characters of a token, about what a tokenizer makes of English.
TOKEN_CHARS = 4
#: Up to four characters of one word with the white space before it, as tokenizers cut; white space at the end is one of its own.
_TOKEN = re.compile(rf"\s*\S{{1,{TOKEN_CHARS}}}|\s+")

#: Longest adversarial piece of a text, in characters, and of a stream, in bytes: most are far shorter.
_LONGEST_PIECE = 12
_LONGEST_WRITE = 1000


@dataclass(frozen=True, slots=True)
class Chunking:
    """`recut` None: a chunk is a write, and chunks with no time between them may leave in one."""

    name: str
    pieces: Pieces
    recut: Recut | None = None


def whole(text: str) -> tuple[str, ...]:
    """One piece; an empty text has none."""
    return (text,) if text else ()


def per_token(text: str) -> tuple[str, ...]:
    """Pieces of about four characters, none of which holds parts of two words."""
    return tuple(_TOKEN.findall(text))


def per_character(text: str) -> tuple[str, ...]:
    """One piece per code point, the finest cut that JSON can carry."""
    return tuple(text)


def per_byte(frames: tuple[bytes, ...], _between: bytes) -> tuple[bytes, ...]:
    """Each byte a write of its own."""
    return tuple(bytes((byte,)) for frame in frames for byte in frame)


def adversarial(seed: int) -> Chunking:
    """
    Cuts where readers break, the same for the same seed and reply.

    Writes end inside code points, escapes, keys and lines and run over the ends of frames, some hold many frames, and keep-alives
    stand between frames where the wire has them.
    """

    def pieces(text: str) -> tuple[str, ...]:
        chance = _chance(seed, text.encode("utf-8", "surrogatepass"))
        return tuple(_pieces(text, chance))

    def recut(frames: tuple[bytes, ...], between: bytes) -> tuple[bytes, ...]:
        chance = _chance(seed, b"".join(frames))
        return tuple(_writes(_kept_alive(frames, between, chance), chance))

    return Chunking(f"adversarial:{seed}", pieces, recut)


def _chance(seed: int, cut: bytes) -> Random:
    # Of seed and bytes alone, so that a reply is cut the same whatever was cut before it.
    return Random(b"%d/" % seed + cut)  # noqa: S311 - it is to be foreseen, not to be safe


def _pieces(text: str, chance: Random) -> Iterator[str]:
    at = 0
    while at < len(text):
        size = chance.choice((1, 1, 2, chance.randint(1, _LONGEST_PIECE)))
        yield text[at : at + size]
        at += size


def _kept_alive(frames: tuple[bytes, ...], between: bytes, chance: Random) -> bytes:
    return b"".join(frame if not at or chance.random() < 0.7 else between + frame for at, frame in enumerate(frames))


def _writes(stream: bytes, chance: Random) -> Iterator[bytes]:
    """Short and long writes; every other one that could ends where a reader is in the middle of something."""
    start = 0
    while start < len(stream):
        end = start + chance.choice((1, 2, chance.randint(3, 40), chance.randint(3, _LONGEST_WRITE)))
        inside = [at for at in range(start + 1, min(end, len(stream))) if _inside(stream, at)]
        if inside and chance.random() < 0.5:
            end = chance.choice(inside)
        yield stream[start:end]
        start = end


def _inside(stream: bytes, at: int) -> bool:
    """Whether a cut there falls into a code point, behind a backslash, or between the two ends of a blank line."""
    before, after = stream[at - 1 : at], stream[at]
    return after & 0xC0 == 0x80 or before == b"\\" or (before == b"\n" and after == ord("\n"))


WHOLE = Chunking("whole", whole)
TOKEN = Chunking("token", per_token)
CHARACTER = Chunking("character", per_character)
BYTE = Chunking("byte", per_character, per_byte)

_BY_NAME = MappingProxyType[str, Chunking]({one.name: one for one in (WHOLE, TOKEN, CHARACTER, BYTE)})
_ADVERSARIAL = re.compile(r"adversarial:(\d{1,18})", re.ASCII)
#: What `chunking` knows, for those who list it.
NAMES = (*_BY_NAME, "adversarial:SEED")


def chunking(name: str) -> Chunking:
    """
    The chunking of that name.

    Raises:
        ValueError: there is none; the message names those there are.
    """
    if (seeded := _ADVERSARIAL.fullmatch(name)) is not None:
        return adversarial(int(seeded[1]))
    if name not in _BY_NAME:
        raise ValueError(
            f"chunking {name!r} is not known; expected one of {', '.join(NAMES)}, where SEED is a whole number"
        )
    return _BY_NAME[name]
