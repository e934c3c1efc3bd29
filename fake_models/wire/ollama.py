"""Ollama chat: replies to JSON, and the wire as one value. Pure; judges no request and knows no socket."""

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

from fake_models.messages import ErrorReply, ModelRequest, Part, Reply, Stop, Text, Thinking, ToolCall
from fake_models.wire.codec import Codec, Pieces, Stamp, UsualError, compact, one_line, spelled
from fake_models.wire.ollama_quirks import QUIRKS
from fake_models.wire.ollama_requests import NAME, decode

#: The wire has no word for a filter, nor one for calls: a reply with calls simply stops.
DONE_REASONS = MappingProxyType[Stop, str]({"stop": "stop", "length": "length", "filter": "stop", "tool_calls": "stop"})

#: Nanoseconds, the same for every reply: what a model needs here is the kit's doing.
SPENT_NS = MappingProxyType({"total": 5000, "load": 1000, "prompt_eval": 2000, "eval": 2000})

#: An error is one text; the codes only tell rows of one status apart.
USUAL_ERRORS = (
    UsualError(400, None, "", "The request is not one this server accepts."),
    # What llama.cpp says, which runs the models of newer servers; older ones cut the conversation and say nothing.
    UsualError(
        400,
        "context_length_exceeded",
        "",
        "request (9001 tokens) exceeds the available context size (8192 tokens), try increasing it",
    ),
    UsualError(401, None, "", "unauthorized"),
    UsualError(403, None, "", "this key has no access to the model"),
    UsualError(404, None, "", "model not found, try pulling it first"),
    UsualError(408, None, "", "the request timed out"),
    UsualError(409, None, "", "the model was changed by another request"),
    # Says nothing of tokens or context on purpose: a body too large for the front door is no overflow of the window.
    UsualError(413, None, "", "http: request body too large"),
    UsualError(422, None, "", "the request could not be processed"),
    UsualError(429, None, "", "too many requests, please try again later"),
    UsualError(429, "insufficient_quota", "", "you have reached your usage limit, please upgrade to continue"),
    UsualError(500, None, "", "llama runner process has terminated: exit status 2"),
    UsualError(502, None, "", "bad gateway"),
    UsualError(503, None, "", "server busy, please try again.  maximum pending requests exceeded"),
    UsualError(529, None, "", "the server is overloaded"),
)


def carried(reply: Reply, request: ModelRequest) -> Reply:  # noqa: ARG001 - the same whether it streams or not
    """
    What of a reply this wire can say.

    Arguments are an object here: blank ones are `{}`, others become compact JSON, and some are none. A server that cannot read what its model wrote answers 500 in place of the whole reply
    (ollama/ollama#12884, #17638), and so does this one: text and thoughts before the call are lost with it. No text and a
    null text are an empty one, an empty id is none, and a filter is a plain stop, unless a raw finish reason tells of it.
    """
    for call in reply.calls:
        try:
            _object(call.arguments)
        except ValueError as unread:
            said = ErrorReply(500, f"error parsing tool call: raw='{call.arguments}', err={unread}")
            return replace(reply, parts=(), stop="stop", usage=None, error=said, finish=None, quirks=())
    stop: Stop = "stop" if reply.stop == "filter" and reply.finish is None else reply.stop
    return replace(reply, parts=tuple(_carried(part) for part in reply.parts), stop=stop)


def whole(reply: Reply, stamp: Stamp) -> dict[str, Any]:
    """Body of a reply that is not streamed. A reply without usage has no counts: older servers leave them out at times."""
    message: dict[str, Any] = {"content": _content(reply)}
    if thinking := _thinking(reply):
        message["thinking"] = thinking
    if reply.calls:
        message["tool_calls"] = [_call(index, call) for index, call in enumerate(reply.calls)]
    return {**_line(stamp, message, done=True), **_ending(reply)}


def chunks(reply: Reply, stamp: Stamp, request: ModelRequest, pieces: Pieces) -> tuple[dict[str, Any], ...]:  # noqa: ARG001 - other wires ask what was requested
    """Lines of a streamed reply: thoughts, text, each call whole on a line of its own, and the last one, which ends it."""
    said = tuple(_line(stamp, message, done=False) for message in _said(reply, pieces))
    return (*said, {**_line(stamp, {"content": ""}, done=True), **_ending(reply)})


def error(reply: ErrorReply) -> dict[str, Any]:
    """Body of an error, and the line that tells of it in a stream. Type, code and param have no place on this wire."""
    full = spelled(reply, USUAL_ERRORS, UsualError(reply.status, None, "", f"HTTP status {reply.status}."))
    return {"error": full.message}


def says(payload: Any) -> int:
    """See `Codec.says`. A call is never split."""
    message = payload["message"]
    return 2 * len(message.get("tool_calls", ())) + bool(message["content"] or message.get("thinking"))


def frame(payload: Any) -> bytes:
    """One line. Clients read every line as JSON, so there is no empty one and no comment."""
    return one_line(payload) + b"\n"


def _said(reply: Reply, pieces: Pieces) -> Iterator[dict[str, Any]]:
    for piece in pieces(_thinking(reply)):
        yield {"content": "", "thinking": piece}
    for piece in pieces(_content(reply)):
        yield {"content": piece}
    for index, call in enumerate(reply.calls):
        yield {"content": "", "tool_calls": [_call(index, call)]}


def _line(stamp: Stamp, message: Mapping[str, Any], *, done: bool) -> dict[str, Any]:
    created_at = datetime.fromtimestamp(stamp.created, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return {
        "model": stamp.model,
        "created_at": created_at,
        "message": {"role": "assistant", **message},
        "done": done,
    }


def _ending(reply: Reply) -> dict[str, Any]:
    ending = {
        "done_reason": reply.finish or DONE_REASONS[reply.stop],
        "total_duration": SPENT_NS["total"],
        "load_duration": SPENT_NS["load"],
    }
    if reply.usage is None:
        return ending
    return {
        **ending,
        "prompt_eval_count": reply.usage.input,
        "prompt_eval_duration": SPENT_NS["prompt_eval"],
        "eval_count": reply.usage.output,
        "eval_duration": SPENT_NS["eval"],
    }


def _content(reply: Reply) -> str:
    return "".join(part.text or "" for part in reply.parts if isinstance(part, Text))


def _thinking(reply: Reply) -> str:
    return "".join(part.text for part in reply.parts if isinstance(part, Thinking))


def _call(index: int, call: ToolCall) -> dict[str, Any]:
    named = {"id": call.id} if call.id else {}
    return {**named, "function": {"index": index, "name": call.name, "arguments": _object(call.arguments)}}


def _carried(part: Part) -> Part:
    match part:
        case Text(text=None):
            return Text("")
        case ToolCall():
            arguments = compact(_object(part.arguments)).decode()
            return replace(part, id=part.id or None, arguments=arguments)
        case _:
            return part


def _object(arguments: str) -> Mapping[str, Any]:
    """
    The arguments as the object that the wire has for them.

    Raises:
        ValueError: they are none; the message is worded as the server's JSON reader words it.
    """
    try:
        value = json.loads(arguments.strip() or "{}", parse_constant=_no_number, parse_float=_finite)
    except json.JSONDecodeError as unread:
        place = unread.doc[unread.pos : unread.pos + 1]
        if not place or unread.msg.startswith("Unterminated"):
            raise ValueError("unexpected end of JSON input") from unread
        raise ValueError(f"invalid character '{place}' looking for beginning of value") from unread
    except RecursionError as deep:
        raise ValueError("exceeded max depth") from deep
    if not isinstance(value, Mapping):
        kind = _KINDS.get(type(value), "number")
        raise ValueError(  # noqa: TRY004 - to the caller it is text that cannot be read, as the others are
            f"json: cannot unmarshal {kind} into Go value of type api.ToolCallFunctionArguments"
        )
    return value


_KINDS: Mapping[type, str] = {list: "array", str: "string", bool: "bool", type(None): "null"}


def _no_number(name: str) -> Any:
    raise ValueError(f"invalid character '{name[0]}' looking for beginning of value")


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError(f"json: cannot unmarshal number {digits} into Go value of type float64")
    return number


CODEC = Codec(
    name=NAME,
    route=re.compile(r"/api/chat$"),
    path="/api/chat",
    base="",
    decode=decode,
    whole=whole,
    chunks=chunks,
    error=error,
    error_event=error,
    says=says,
    frame=frame,
    trailer=b"",
    stream_type="application/x-ndjson",
    carried=carried,
    quirks=QUIRKS,
    lacks=frozenset({"tool_choice", "reply_id"}),
)
