"""What a wire is: one value that reads requests and writes replies. Pure; knows no provider and no socket."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal

from fake_models.messages import ErrorEvent, ErrorReply, ModelRequest, NoConnection, Reply, Text, ToolCall
from fake_models.wire.memory import Kept, Memory, remembered

#: Cuts a text into the pieces that stream one by one; joined they are the text again, and none is empty.
Pieces = Callable[[str], tuple[str, ...]]

_written = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def compact(value: Any) -> bytes:
    """
    JSON as providers send it: no spaces, and UTF-8 unescaped, so that a cut can fall inside a character.

    Never raises on what JSON can hold; a lone surrogate, which UTF-8 cannot, is escaped.
    """
    return _written(value).encode("utf-8", "backslashreplace")


#: U+2028, U+2029 and U+0085: no end of a line in JSON, but one to clients that split text and not bytes.
_LINE_ENDS = ((b"\xe2\x80\xa8", rb"\u2028"), (b"\xe2\x80\xa9", rb"\u2029"), (b"\xc2\x85", rb"\u0085"))


def one_line(value: Any) -> bytes:
    """The JSON of `compact` with every character escaped that some client takes for the end of a line, as Go and Google do."""
    content = compact(value)
    for end, escaped in _LINE_ENDS:
        content = content.replace(end, escaped)
    return content


def text(value: Any) -> str:
    """A text of a request; empty where it is none."""
    return value if isinstance(value, str) else ""


def mapping(value: Any) -> Mapping[str, Any]:
    """An object of a request; empty where it is none."""
    return value if isinstance(value, dict) else {}


def mappings(value: Any) -> tuple[Mapping[str, Any], ...]:
    """The objects of a list in a request; what is no object is left out, and what is no list has none."""
    return tuple([item for item in value if isinstance(item, dict)]) if isinstance(value, list | tuple) else ()


def measured(*parts: Any) -> Callable[[], int]:
    """What gives the bytes of these parts of a request as compact JSON, together."""
    return lambda: sum(len(compact(part)) for part in parts)


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


def _alone(payload: Any, sent: tuple[Any, ...]) -> Any:  # noqa: ARG001 - wires whose payloads number themselves look back
    return payload


def _all_of_it(reply: Reply, request: ModelRequest) -> Reply:  # noqa: ARG001 - what a wire can say may hang on whether it streams
    return reply


@dataclass(frozen=True, slots=True)
class Quirk:
    """
    A way in which real servers of a wire stray from it, that a turn can ask for by name.

    `reply` changes what the model says at all, before it is recorded; `chunks` the payloads of a streamed reply, `whole` the
    body of one that is not; `trailer` False leaves out what ends the stream. `unfinished`: a client cannot tell the stream
    from one that broke off. `says` tells a reader of scenarios what comes.
    """

    says: str
    chunks: Callable[[tuple[Any, ...]], tuple[Any, ...]] = _as_it_is
    whole: Callable[[Any], Any] = _as_it_is
    trailer: bool = True
    reply: Callable[[Reply], Reply] = _as_it_is
    unfinished: bool = False


def each(change: Callable[[Any], Any]) -> Callable[[tuple[Any, ...]], tuple[Any, ...]]:
    """The change of one payload as that of all payloads of a stream."""
    return lambda payloads: tuple(map(change, payloads))


def texts_last(reply: Reply) -> Reply:
    """The reply with its texts behind its calls, on wires that say its parts in their order."""
    return replace(reply, parts=tuple(sorted(reply.parts, key=lambda part: isinstance(part, Text))))


def _one_id(reply: Reply) -> Reply:
    calls = reply.calls
    return replace(
        reply,
        parts=tuple(replace(part, id=calls[0].id) if isinstance(part, ToolCall) else part for part in reply.parts),
    )


#: The same on every wire whose calls have ids. Seen with DeepSeek and GLM behind HKUDS/nanobot#3943, with Kimi in #4473.
DUPLICATE_IDS = Quirk("all calls of the reply have the id of the first", reply=_one_id)


#: What a wire may have no word for: a choice among the tools, an id of the reply.
Word = Literal["tool_choice", "reply_id"]


@dataclass(frozen=True, slots=True, eq=False)
class Codec:
    """
    One wire. There is one of each, told apart by being another.

    `route` finds the end of a path that the wire answers, decoded; `path` is that path as an SDK asks for it, `base` what its
    base URL ends in. `decode` takes body and path and never raises: what it cannot read it leaves out, since the raw body is
    judged elsewhere. `carried` gives what of a reply the wire can say at all in answer to a request; everything after it, the
    recording too, speaks of that. `whole` gives the JSON body of a reply, `chunks` the JSON payloads of a streamed one, unframed; `frame` turns a
    payload into bytes, `trailer` ends the stream and `comment` is what keeps it alive between two frames, empty where the
    wire has no such thing. `error` gives the body of an error, `error_event` the payload that tells of it in mid-stream. `following`
    fits that one to the payloads sent before it, where they have numbers or an id that it must go on with.
    `says` counts what a payload of a stream tells of the reply, 0 where it tells nothing (an opening, a ping, an end): a piece of
    text, of thinking or of arguments is one, and so is a call that begins, with its name. Where the wire never splits a call it
    is two, as its name and its arguments are elsewhere, so that a break between them falls before it.
    `reply_prefix` is how the ids of replies begin: clients tell by it whose reply they hold.
    `lacks` names what it has no word for, so that nobody is judged by that. `memory` is how its requests can go on from an
    earlier reply, None where each holds all of its conversation.
    `quirks` are applied in the order in which they stand here, whatever the order they are asked for in.
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
    says: Callable[[Any], int]
    frame: Callable[[Any], bytes]
    trailer: bytes
    stream_type: str
    comment: bytes = b""
    reply_prefix: str = "reply_"
    carried: Callable[[Reply, ModelRequest], Reply] = _all_of_it
    quirks: Mapping[str, Quirk] = field(default_factory=lambda: MappingProxyType({}))
    lacks: frozenset[Word] = frozenset()
    following: Callable[[Any, tuple[Any, ...]], Any] = _alone
    memory: Memory | None = None


def quirks(codec: Codec, reply: Reply) -> tuple[Quirk, ...]:
    """The quirks that a reply asks for, in the wire's order; what the wire does not have is left out."""
    return () if not reply.quirks else tuple(quirk for name, quirk in codec.quirks.items() if name in reply.quirks)


def told(codec: Codec, reply: Reply, request: ModelRequest) -> Reply:
    """What of a reply an agent is told over this wire, quirks and all: what recordings speak of."""
    return quirked(codec, codec.carried(reply, request))


def quirked(codec: Codec, carried: Reply) -> Reply:
    """A reply that the wire can say, with what its quirks make of it."""
    for quirk in quirks(codec, carried):
        carried = quirk.reply(carried)
    return carried


def remembering(codec: Codec, before: Kept, body: Mapping[str, Any], reply: Reply, stamp: Stamp) -> Kept:
    """
    What a provider keeps after a reply, to a body that was sent or made whole; nothing new on a wire without a memory.

    A reply that breaks off on its way was made all the same and is kept. One that ends in an error was not.
    """
    if codec.memory is None or reply.error is not None or isinstance(reply.broken, ErrorEvent | NoConnection):
        return before
    return remembered(before, codec.memory.kept(body, lambda: codec.whole(reply, stamp)))
