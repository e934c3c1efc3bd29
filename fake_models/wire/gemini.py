"""
Gemini generateContent: replies to JSON, and the wire as one value. Pure; judges no request and knows no socket.

A stream is always one of server-sent events. The API sends a JSON array to clients that ask without `alt=sse`; no SDK does.
"""

import json
import re
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby
from types import MappingProxyType
from typing import Any

from fake_models.messages import ErrorReply, ModelRequest, Part, Reply, Stop, Text, Thinking, ToolCall
from fake_models.wire.codec import Codec, Pieces, Stamp, UsualError, one_line, spelled
from fake_models.wire.gemini_quirks import QUIRKS
from fake_models.wire.gemini_requests import NAME, decode

#: Calls end as texts do.
FINISH_REASONS = MappingProxyType[Stop, str](
    {"stop": "STOP", "length": "MAX_TOKENS", "filter": "SAFETY", "tool_calls": "STOP"}
)
MALFORMED = "MALFORMED_FUNCTION_CALL"
RPC = "type.googleapis.com/google.rpc."

#: `type` is the provider's word for the status. The messages are this project's own where the provider's are not public.
USUAL_ERRORS = (
    UsualError(400, None, "INVALID_ARGUMENT", "Request contains an invalid argument."),
    UsualError(
        400,
        "context_length_exceeded",
        "INVALID_ARGUMENT",
        "The input token count (9001) exceeds the maximum number of tokens allowed (8192).",
    ),
    # A wrong key is a bad request here; 401 is for tokens of OAuth.
    UsualError(400, "API_KEY_INVALID", "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."),
    UsualError(401, None, "UNAUTHENTICATED", "The request has no valid authentication credentials."),
    UsualError(403, None, "PERMISSION_DENIED", "The caller does not have permission."),
    UsualError(404, None, "NOT_FOUND", "The model is not found or not supported for generateContent."),
    UsualError(408, None, "DEADLINE_EXCEEDED", "The request timed out."),
    UsualError(409, None, "ABORTED", "The operation was aborted by another one."),
    # Says nothing of tokens or context on purpose: a body too large for the front door is no overflow of the window.
    UsualError(413, None, "INVALID_ARGUMENT", "The request body is larger than the server accepts."),
    UsualError(429, None, "RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota)."),
    UsualError(
        429,
        "insufficient_quota",
        "RESOURCE_EXHAUSTED",
        "You exceeded your current quota, please check your plan and billing details.",
    ),
    UsualError(500, None, "INTERNAL", "An internal error has occurred. Please retry."),
    UsualError(502, None, "UNAVAILABLE", "Bad gateway."),
    UsualError(503, None, "UNAVAILABLE", "The model is overloaded. Please try again later."),
    UsualError(504, None, "DEADLINE_EXCEEDED", "The deadline expired before the operation could complete."),
    UsualError(529, None, "UNAVAILABLE", "The model is overloaded. Please try again later."),
)


def carried(reply: Reply, request: ModelRequest) -> Reply:  # noqa: ARG001 - the same whether it streams or not
    """
    What of a reply the wire can say, where arguments are an object and no text is null.

    Lost are null texts, which are left out, and the spelling of arguments: they become compact JSON, blank ones `{}`. A call
    whose arguments are no object cannot be said. The provider then drops all that the model said and finishes with
    MALFORMED_FUNCTION_CALL, so what remains is an empty reply of stop `stop`: no call is there to wait for, and neither
    tokens nor a filter ended it. A reply that ended by `length` or `filter` keeps what it said up to that call, and its stop.
    """
    parts = tuple(_carried(part) for part in reply.parts if part != Text(None))
    sayable = tuple(part for part in parts if part is not None)
    if len(sayable) == len(parts):
        return replace(reply, parts=sayable)
    if reply.stop in ("length", "filter"):
        return replace(reply, parts=sayable[: parts.index(None)])
    return replace(reply, parts=(), stop="stop", finish=reply.finish or MALFORMED)


def whole(reply: Reply, stamp: Stamp) -> dict[str, Any]:
    """Body of a reply that is not streamed; takes what `carried` gave. A reply without usage has no usage key."""
    return _payload(reply, stamp, _candidate(reply, _content(reply, _parts(reply, stamp)), ends=True))


def chunks(reply: Reply, stamp: Stamp, request: ModelRequest, pieces: Pieces) -> tuple[dict[str, Any], ...]:  # noqa: ARG001 - the request says nothing about usage here
    """
    Payloads of a streamed reply; takes what `carried` gave.

    Calls are never split, and those in a row come in one chunk. The finish reason comes in a chunk of its own, with an empty
    text, as Gemini 3 does, so that a stream which is cut before its last chunk shows it. Every chunk tells the usage of the
    whole reply.
    """
    said = [
        _payload(reply, stamp, _candidate(reply, _of_model(parts), ends=False)) for parts in _cut(reply, stamp, pieces)
    ]
    rest = _content(reply, [{"text": ""}] if reply.parts and reply.stop != "filter" else [])
    return (*said, _payload(reply, stamp, _candidate(reply, rest, ends=True)))


def error(reply: ErrorReply) -> dict[str, Any]:
    """
    Body of an error, and the payload that tells of one in mid-stream.

    What the reply leaves open is filled in with the provider's usual words for the status. `code` goes into the details, since
    the provider's code is the status; so does the time to wait, beside its header.
    """
    kind = "INTERNAL" if reply.status >= 500 else "INVALID_ARGUMENT"
    full = spelled(reply, USUAL_ERRORS, UsualError(reply.status, None, kind, f"HTTP status {reply.status}."))
    told: dict[str, Any] = {"code": full.status, "message": full.message, "status": full.type}
    details: list[dict[str, Any]] = []
    if full.code is not None:
        details.append({"@type": f"{RPC}ErrorInfo", "reason": full.code, "domain": "googleapis.com"})
    if reply.retry_after_s is not None:
        details.append({"@type": f"{RPC}RetryInfo", "retryDelay": f"{reply.retry_after_s:g}s"})
    return {"error": {**told, "details": details} if details else told}


def says(payload: Any) -> int:
    """See `Codec.says`. Calls are never split, and those in a row never parted."""
    contents = [candidate.get("content") or {} for candidate in payload.get("candidates", ())]
    parts = [part for content in contents for part in content.get("parts", ())]
    return sum(2 if "functionCall" in part else bool(part.get("text")) for part in parts)


def frame(payload: Any) -> bytes:
    """One server-sent event."""
    return b"data: " + one_line(payload) + b"\n\n"


def _carried(part: Part) -> Part | None:
    if not isinstance(part, ToolCall):
        return part
    arguments = _object(part.arguments)
    return None if arguments is None else replace(part, arguments=_json(arguments))


def _object(arguments: str) -> dict[str, Any] | None:
    """Arguments as an object, empty for blank text; None for what is no object or holds what JSON does not, as NaN."""
    try:
        value = json.loads(arguments) if arguments.strip() else {}
        _json(value)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _parts(reply: Reply, stamp: Stamp) -> list[dict[str, Any]]:
    return [_part(part, reply, stamp) for part in reply.parts if part != Text(None)]


def _part(part: Part, reply: Reply, stamp: Stamp) -> dict[str, Any]:
    if isinstance(part, Text):
        return {"text": part.text or ""}
    if isinstance(part, Thinking):
        return {"text": part.text, "thought": True}
    named = {} if part.id is None else {"id": part.id}
    call = {"functionCall": {**named, "name": part.name, "args": _object(part.arguments) or {}}}
    # Models that think sign the first call of a reply only, and want the signature back with it.
    signed = {"thoughtSignature": b64encode(stamp.id.encode()).decode()} if part is reply.calls[0] else {}
    return {**call, **signed}


def _cut(reply: Reply, stamp: Stamp, pieces: Pieces) -> Iterator[list[dict[str, Any]]]:
    """The parts of each chunk."""
    for calls, parts in groupby(_parts(reply, stamp), key=lambda part: "functionCall" in part):
        if calls:
            yield list(parts)
        else:
            yield from ([{**part, "text": piece}] for part in parts for piece in pieces(part["text"]))


def _of_model(parts: list[dict[str, Any]]) -> dict[str, Any]:
    return {"parts": parts, "role": "model"} if parts else {"role": "model"}


def _content(reply: Reply, parts: list[dict[str, Any]]) -> dict[str, Any] | None:
    """None where a filter left nothing to say."""
    return _of_model(parts) if parts or reply.stop != "filter" else None


def _candidate(reply: Reply, content: dict[str, Any] | None, *, ends: bool) -> dict[str, Any]:
    said = {} if content is None else {"content": content}
    reason = reply.finish or FINISH_REASONS[reply.stop]
    finish = {"finishReason": reason} if ends else {}
    explained = {"finishMessage": "Malformed function call"} if ends and reason == MALFORMED else {}
    return {**said, **finish, **explained, "index": 0}


def _payload(reply: Reply, stamp: Stamp, candidate: dict[str, Any]) -> dict[str, Any]:
    return {"candidates": [candidate], **_usage(reply), "modelVersion": stamp.model, "responseId": stamp.id}


def _usage(reply: Reply) -> dict[str, Any]:
    if reply.usage is None:
        return {}
    spent = reply.usage
    # A reply without output has no count of it, as the provider leaves it out.
    output = {"candidatesTokenCount": spent.output} if spent.output else {}
    return {"usageMetadata": {"promptTokenCount": spent.input, **output, "totalTokenCount": spent.input + spent.output}}


CODEC = Codec(
    name=NAME,
    # Tuned models and Vertex endpoints stand where models do; what goes before is the version, or a project and its place.
    route=re.compile(r"/(models|tunedModels|endpoints)/[^/]+:(generateContent|streamGenerateContent)$"),
    path="/v1beta/models/fake-model:generateContent",
    # The SDK puts the version behind its base URL by itself.
    base="",
    decode=decode,
    whole=whole,
    chunks=chunks,
    error=error,
    error_event=error,
    says=says,
    frame=frame,
    trailer=b"",
    stream_type="text/event-stream",
    # No comment: google-genai takes any line that does not start with `data: ` for JSON.
    comment=b"",
    carried=carried,
    quirks=QUIRKS,
)
