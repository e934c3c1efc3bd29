"""How a streamed reply is cut: its texts into chunks, and its bytes into writes. Pure; what is cut joins to what it was."""

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType

from fake_models.wire.codec import Pieces

#: Cuts the frames of a stream into writes; the second argument may be put between two frames, and is empty where nothing may.
Recut = Callable[[tuple[bytes, ...], bytes], tuple[bytes, ...]]


@dataclass(frozen=True, slots=True)
class Chunking:
    """`recut` None: a chunk is a write, and chunks with no time between them may leave in one."""

    name: str
    pieces: Pieces
    recut: Recut | None = None


def whole(text: str) -> tuple[str, ...]:
    """One piece; an empty text has none."""
    return (text,) if text else ()


def per_character(text: str) -> tuple[str, ...]:
    """One piece per code point, the finest cut that JSON can carry."""
    return tuple(text)


WHOLE = Chunking("whole", whole)
CHARACTER = Chunking("character", per_character)

CHUNKINGS = MappingProxyType[str, Chunking]({one.name: one for one in (WHOLE, CHARACTER)})
