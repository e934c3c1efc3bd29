"""How a text is cut into the pieces that stream one by one. Pure; joined the pieces are the text, and no piece is empty."""

from types import MappingProxyType

from fake_models.wire.codec import Chunking


def whole(text: str) -> tuple[str, ...]:
    """One piece; an empty text has none."""
    return (text,) if text else ()


def per_character(text: str) -> tuple[str, ...]:
    """One piece per code point, the finest cut that JSON can carry."""
    return tuple(text)


CHUNKINGS = MappingProxyType[str, Chunking]({"whole": whole, "per_character": per_character})
