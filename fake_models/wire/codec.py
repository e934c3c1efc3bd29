"""What a wire is: one value that reads requests and writes replies. Pure; knows no provider and no socket."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from fake_models.messages import ErrorReply, ModelRequest, Reply

#: Cuts a text into the pieces that stream one by one; joined they are the text again, and none is empty.
Pieces = Callable[[str], tuple[str, ...]]


def compact(value: Any) -> bytes:
    """
    JSON as providers send it: no spaces, and UTF-8 unescaped, so that a cut can fall inside a character.

    Never raises on what JSON can hold; a lone surrogate goes out as its three bytes, which `json.loads` reads back.
    """
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def text(value: Any) -> str:
    """A text of a request; empty where it is none."""
    return value if isinstance(value, str) else ""


def mapping(value: Any) -> Mapping[str, Any]:
    """An object of a request; empty where it is none."""
    return value if isinstance(value, Mapping) else {}


def mappings(value: Any) -> tuple[Mapping[str, Any], ...]:
    """The objects of a list in a request; what is no object is left out, and what is no list has none."""
    return tuple(item for item in value if isinstance(item, Mapping)) if isinstance(value, list | tuple) else ()


@dataclass(frozen=True, slots=True)
class Stamp:
    """What a provider adds to a reply: its id, when it was made (unix seconds), the model's name as the agent sent it."""

    id: str
    created: int
    model: str


@dataclass(frozen=True, slots=True)
class UsualError:
    """What the provider says with a status when a script names no more than that; `code` tells rows of one status apart."""

    status: int
    code: str | None
    type: str
    message: str
    param: str | None = None


def spelled(reply: ErrorReply, rows: Iterable[UsualError], rest: UsualError) -> UsualError:
    """
    An error with what it leaves open filled in: by the row of its status and code, else the first of its status, else `rest`.

    The first row of a status is its default.
    """
    of_status = [row for row in rows if row.status == reply.status]
    usual = next((row for row in of_status if reply.code and row.code == reply.code), (of_status or [rest])[0])
    return UsualError(
        status=reply.status,
        code=reply.code or usual.code,
        type=reply.type or usual.type,
        message=reply.message or usual.message,
        param=reply.param or usual.param,
    )


def _as_it_is(value: Any) -> Any:
    return value


@dataclass(frozen=True, slots=True)
class Quirk:
    """
    A way in which real servers of a wire stray from it, that a turn can ask for by name.

    `chunks` changes the payloads of a streamed reply, `whole` the body of one that is not; `trailer` False leaves out what
    ends the stream. `says` tells a reader of scenarios what comes.
    """

    says: str
    chunks: Callable[[tuple[Any, ...]], tuple[Any, ...]] = _as_it_is
    whole: Callable[[Any], Any] = _as_it_is
    trailer: bool = True


@dataclass(frozen=True, slots=True)
class Codec:
    """
    One wire.

    `route` finds the end of a path that the wire answers, decoded; `path` is that path as an SDK asks for it, `base` what its
    base URL ends in. `decode` takes body and path and never raises: what it cannot read it leaves out, since the raw body is
    judged elsewhere. `carried` gives what of a reply the wire can say at all; everything after it, the recording too, speaks
    of that. `whole` gives the JSON body of a reply, `chunks` the JSON payloads of a streamed one, unframed; `frame` turns a
    payload into bytes, `trailer` ends the stream and `comment` is what keeps it alive between two frames, empty where the
    wire has no such thing. `error` gives the body of an error, `error_event` the payload that tells of it in mid-stream.
    """

    name: str
    route: re.Pattern[str]
    path: str
    base: str
    decode: Callable[[Mapping[str, Any], str], ModelRequest]
    whole: Callable[[Reply, Stamp], Any]
    chunks: Callable[[Reply, Stamp, ModelRequest, Pieces], tuple[Any, ...]]
    error: Callable[[ErrorReply], Any]
    error_event: Callable[[ErrorReply], Any]
    frame: Callable[[Any], bytes]
    trailer: bytes
    stream_type: str
    comment: bytes = b""
    carried: Callable[[Reply], Reply] = _as_it_is
    quirks: Mapping[str, Quirk] = field(default_factory=lambda: MappingProxyType({}))
