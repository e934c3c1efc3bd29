"""A reply as its wire says it: JSON values, and their bytes, which are made once for all calls. Pure; delivers nothing."""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from fake_models.messages import ModelRequest, Part, Reply, Stop, Usage
from fake_models.wire.codec import Codec, Pieces, Stamp, compact, quirks

#: How many replies are kept as bytes; scripts have few, and one that echoes its user has as many as there are requests.
KEPT = 128
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


def frames(codec: Codec, reply: Reply, request: ModelRequest, stamp: Stamp, pieces: Pieces) -> tuple[bytes, ...]:
    """The bytes of `payloads`, each framed as its wire does."""
    model, created = stamp.model, stamp.created
    said = (reply.parts, reply.stop, reply.usage, reply.finish, reply.quirks)
    kept = _kept(codec, pieces, model, created, said, request.stream, request.include_usage)
    if kept is None:
        return framed(codec, payloads(codec, reply, request, stamp, pieces), stream=request.stream)
    return _named(kept, stamp.id)


def framed(codec: Codec, values: Iterable[Any], *, stream: bool) -> tuple[bytes, ...]:
    """JSON values as bytes; a body that is a str is sent as it is."""
    return tuple(map(codec.frame if stream else content, values))


def content(body: Any) -> bytes:
    """A body as bytes."""
    return body.encode() if isinstance(body, str) else compact(body)


@lru_cache(KEPT)
def _kept(  # noqa: PLR0917 - a key is found faster without names
    codec: Codec,
    pieces: Pieces,
    model: str,
    created: int,
    said: tuple[tuple[Part, ...], Stop, Usage | None, str | None, tuple[str, ...]],
    stream: bool,  # noqa: FBT001 - the same
    include_usage: bool,  # noqa: FBT001 - the same
) -> bytes | None:
    """The frames with an open id, joined; None where that cannot be."""
    parts, stop, usage, finish, strays = said
    reply = Reply(parts, stop, usage, finish=finish, quirks=strays)
    request = ModelRequest(codec.name, model, (), stream=stream, include_usage=include_usage)
    opened, other = (
        framed(codec, payloads(codec, reply, request, Stamp(id, created, model), pieces), stream=stream)
        for id in (_OPEN, _OTHER)  # noqa: A001 - the wires' own word
    )
    kept = _SEAM.join(opened)
    return kept if _named(kept, _OTHER) == other else None


def _named(kept: bytes, id: str) -> tuple[bytes, ...]:  # noqa: A002 - the wires' own word
    return tuple(kept.replace(_OPEN_BYTES, _inside(id)).split(_SEAM))


def _inside(text: str) -> bytes:
    """A text as it stands between the quotes of JSON."""
    return compact(text)[1:-1]


_OPEN_BYTES = _inside(_OPEN)
