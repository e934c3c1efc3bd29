"""A reply as its wire says it: JSON values, and their bytes, which are made once for all calls. Pure; delivers nothing."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from fake_models.messages import ModelRequest, Part, Reply, Stop, ToolCall, Usage
from fake_models.wire.codec import Codec, Pieces, Stamp, compact, quirks

#: How many replies are kept as bytes, and how long a text of theirs may be; scripts have few, and one that echoes its user has
#: as many as there are requests, of any length.
KEPT = 128
KEPT_CHARS = 16 * 1024
#: Stand for the id of a reply where its bytes are kept. Both are made: what holds an id in any other shape than its own, or a text that looks like
#: one, does not come out the same, and is made anew for every call.
_OPEN, _OTHER = "\0id\0", "\0another\0"
#: Between two frames while they are kept: JSON has no such byte.
_SEAM = b"\0"


def payloads(codec: Codec, reply: Reply, request: ModelRequest, stamp: Stamp, pieces: Pieces) -> tuple[Any, ...]:
    """The JSON values of a stream, unframed, or the one of a body, quirks and all."""
    # A wire answers in the words of the script, so that this is all it may know of a request.
    seen = ModelRequest(request.wire, request.model, (), stream=request.stream, include_usage=request.include_usage)
    strays = quirks(codec, reply)
    if not request.stream:
        body = codec.whole(reply, stamp)
        for quirk in strays:
            body = quirk.whole(body)
        return (body,)
    chunks = codec.chunks(reply, stamp, seen, pieces)
    for quirk in strays:
        chunks = quirk.chunks(chunks)
    return chunks


@dataclass(frozen=True, slots=True)
class Kept:
    """The bytes of a reply in pieces, between which its id belongs: with a seam between two frames, and without."""

    seamed: tuple[bytes, ...]
    whole: tuple[bytes, ...]


def frames(codec: Codec, reply: Reply, request: ModelRequest, stamp: Stamp, pieces: Pieces) -> tuple[bytes, ...]:
    """The bytes of `payloads`, each framed as its wire does."""
    if (kept := _known(codec, reply, request, stamp, pieces)) is not None:
        return _named(kept.seamed, stamp.id)
    return framed(codec, payloads(codec, reply, request, stamp, pieces), stream=request.stream)


def whole(codec: Codec, reply: Reply, request: ModelRequest, stamp: Stamp, pieces: Pieces) -> bytes:
    """The bytes of `frames`, joined."""
    if (kept := _known(codec, reply, request, stamp, pieces)) is not None:
        return _inside(stamp.id).join(kept.whole)
    return b"".join(framed(codec, payloads(codec, reply, request, stamp, pieces), stream=request.stream))


def _known(codec: Codec, reply: Reply, request: ModelRequest, stamp: Stamp, pieces: Pieces) -> Kept | None:
    usage = reply.usage
    for part in reply.parts:
        if len((part.arguments if isinstance(part, ToolCall) else part.text) or "") > KEPT_CHARS:
            return None
    said = (reply.parts, reply.stop, usage, reply.finish, reply.quirks)
    # 7.0 is 7, and True is 1, but they are other bytes.
    written = None if usage is None else (type(usage.input), type(usage.output))
    return _kept(codec, pieces, stamp.model, stamp.created, said, written, request.stream, request.include_usage)


def framed(codec: Codec, values: Iterable[Any], *, stream: bool) -> tuple[bytes, ...]:
    """JSON values as bytes; a body that is a str is sent as it is."""
    return tuple(map(codec.frame if stream else content, values))


def content(body: Any) -> bytes:
    """A body as bytes; in a text that is sent as it is, a question mark stands for what UTF-8 cannot hold."""
    return body.encode("utf-8", "replace") if isinstance(body, str) else compact(body)


@lru_cache(KEPT, typed=True)
def _kept(  # noqa: PLR0917 - a key is found faster without names
    codec: Codec,
    pieces: Pieces,
    model: str,
    created: int,
    said: tuple[tuple[Part, ...], Stop, Usage | None, str | None, tuple[str, ...]],
    written: tuple[type, type] | None,  # noqa: ARG001 - part of the key
    stream: bool,  # noqa: FBT001 - the same
    include_usage: bool,  # noqa: FBT001 - the same
) -> Kept | None:
    """The frames with an open id; None where that cannot be."""
    parts, stop, usage, finish, strays = said
    reply = Reply(parts, stop, usage, finish=finish, quirks=strays)
    request = ModelRequest(codec.name, model, (), stream=stream, include_usage=include_usage)
    opened, other = (
        framed(codec, payloads(codec, reply, request, Stamp(id, created, model), pieces), stream=stream)
        for id in (_OPEN, _OTHER)  # noqa: A001 - the wires' own word
    )
    kept = Kept(tuple(_SEAM.join(opened).split(_OPEN_BYTES)), tuple(b"".join(opened).split(_OPEN_BYTES)))
    return kept if _named(kept.seamed, _OTHER) == other else None


def _named(kept: tuple[bytes, ...], id: str) -> tuple[bytes, ...]:  # noqa: A002 - the wires' own word
    return tuple(_inside(id).join(kept).split(_SEAM))


def _inside(text: str) -> bytes:
    """A text as it stands between the quotes of JSON."""
    return compact(text)[1:-1]


_OPEN_BYTES = _inside(_OPEN)
