"""Anthropic Messages: replies to JSON, and the wire as one value. Pure; judges no request and knows no socket."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from fake_models.messages import (
    ErrorEvent,
    ErrorReply,
    ModelRequest,
    Part,
    Reply,
    Stop,
    Text,
    Thinking,
    ToolCall,
    Usage,
)
from fake_models.provider_rules.anthropic_thoughts import SIGNATURE
from fake_models.wire.anthropic_quirks import QUIRKS
from fake_models.wire.anthropic_requests import NAME, decode
from fake_models.wire.codec import Codec, Pieces, Stamp, UsualError, compact, spelled

#: The provider has no word of its own for a filter: whatever stopped the model is a refusal.
STOP_REASONS = MappingProxyType[Stop, str](
    {"stop": "end_turn", "length": "max_tokens", "filter": "refusal", "tool_calls": "tool_use"}
)
#: What stopped a reply whose `finish` is stop_sequence; a script says only that something did.
STOP_SEQUENCE = "###"
#: What the provider says where there is no credit left; it documents 402 for it and answers 400 (anthropics/anthropic-sdk-typescript#618).
NO_CREDIT = (
    "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase "
    "credits."
)
#: How usage is counted where a script gives none.
BYTES_PER_TOKEN = 4
#: Providers give every request an id of its own; nothing here tells two errors apart, so neither does this.
REQUEST_ID = "req_fake"

#: Types are those of the provider's reference and of its SDK; messages are this project's own where no captured one is public.
USUAL_ERRORS = (
    UsualError(400, None, "invalid_request_error", "The request is not one this model accepts."),
    UsualError(
        400, "context_length_exceeded", "invalid_request_error", "prompt is too long: 9001 tokens > 8192 maximum"
    ),
    UsualError(401, None, "authentication_error", "invalid x-api-key"),
    UsualError(402, None, "billing_error", "The account has no credit left."),
    UsualError(403, None, "permission_error", "This key has no access to the model."),
    UsualError(404, None, "not_found_error", "The model does not exist."),
    UsualError(408, None, "timeout_error", "The request timed out."),
    UsualError(409, None, "conflict_error", "The resource was changed by another request."),
    UsualError(413, None, "request_too_large", "Request exceeds the maximum size"),
    UsualError(
        429,
        None,
        "rate_limit_error",
        "This request would exceed your account's rate limit. Please try again later.",
    ),
    UsualError(500, None, "api_error", "Internal server error"),
    UsualError(502, None, "api_error", "Bad gateway."),
    UsualError(503, None, "api_error", "The service is unavailable, please try again later."),
    UsualError(504, None, "timeout_error", "The request timed out."),
    UsualError(529, None, "overloaded_error", "Overloaded"),
)


def carried(reply: Reply, request: ModelRequest) -> Reply:
    """
    What the wire can say of a reply.

    It knows no null text: such a part is no part. Arguments stream as text, whatever they hold. In a whole body they are a
    JSON value: text that is none goes out as a JSON string, which keeps what the model said and is no object either, and
    empty text as the empty object, which is what a stream without arguments comes to. It always reports usage, and clients
    refuse a reply without figures: where a script gives none, they are counted at four bytes a token. It has no rate limit
    that means a spent quota: one that a script tells of by its code alone is the bad request that the provider makes of it.
    """
    if reply.error is not None:
        reply = replace(reply, error=_spent_credit(reply.error))
    if isinstance(reply.broken, ErrorEvent):
        reply = replace(reply, broken=replace(reply.broken, error=_spent_credit(reply.broken.error)))
    parts = tuple(part for part in reply.parts if part != Text(None))
    said = parts if request.stream else tuple(map(_wholly, parts))
    return replace(reply, parts=said, usage=reply.usage or _counted(request, parts))


def _spent_credit(error: ErrorReply) -> ErrorReply:
    own_words = error.message or error.type or error.body is not None
    if own_words or (error.status, error.code) != (429, "insufficient_quota"):
        return error
    return replace(error, status=400, code=None, message=NO_CREDIT)


def _counted(request: ModelRequest, parts: tuple[Part, ...]) -> Usage:
    said = sum(
        len((part.arguments if isinstance(part, ToolCall) else part.text or "").encode("utf-8", "replace"))
        for part in parts
    )
    return Usage(-(-request.size // BYTES_PER_TOKEN), -(-said // BYTES_PER_TOKEN))


def whole(reply: Reply, stamp: Stamp) -> dict[str, Any]:
    """
    Body of a reply that is not streamed.

    A reply without usage, which a quirk alone makes, has a usage that names no figure: clients look into it all the same.
    """
    spent = reply.usage
    usage = {} if spent is None else _spent(spent.input, spent.output)
    return {**_message(stamp), "content": [_block(part) for part in reply.parts], **_stop(reply), "usage": usage}


def chunks(reply: Reply, stamp: Stamp, request: ModelRequest, pieces: Pieces) -> tuple[dict[str, Any], ...]:  # noqa: ARG001 - usage is always told
    """
    Payloads of a streamed reply, but for the last event, which is the trailer.

    Usage is told twice, as a total so far: with the few output tokens that are there when the message starts, and all at its end.
    """
    spent = reply.usage
    begun = {} if spent is None else _spent(spent.input, min(spent.output, 1))
    start = {**_message(stamp), "content": [], "stop_reason": None, "stop_sequence": None, "usage": begun}
    said = (
        event
        for index, part in enumerate(reply.parts)
        for event in (
            {"type": "content_block_start", "index": index, "content_block": _opened(part)},
            *({"type": "content_block_delta", "index": index, "delta": delta} for delta in _deltas(part, pieces)),
            {"type": "content_block_stop", "index": index},
        )
    )
    usage = {} if spent is None else _spent(spent.input, spent.output)
    return (
        {"type": "message_start", "message": start},
        *said,
        {"type": "message_delta", "delta": _stop(reply), "usage": usage},
    )


def error(reply: ErrorReply) -> dict[str, Any]:
    """
    Body of an error. What the reply leaves open is filled in with the provider's usual words for status and code.

    A code that the script gives stands among the details, where the official client looks for it; there is no place for a param.
    """
    return {**error_event(reply), "request_id": REQUEST_ID}


def error_event(reply: ErrorReply) -> dict[str, Any]:
    """Payload of an error in mid-stream."""
    kind = "api_error" if reply.status >= 500 else "invalid_request_error"
    full = spelled(reply, USUAL_ERRORS, UsualError(reply.status, None, kind, f"HTTP status {reply.status}."))
    details = {} if reply.code is None else {"details": {"error_code": reply.code}}
    return {"type": "error", "error": {**details, "type": full.type, "message": full.message}}


def says(payload: Any) -> int:
    """See `Codec.says`. A call begins with its block; signatures, and the empty piece that opens arguments, say nothing."""
    if payload["type"] == "content_block_start":
        return int(payload["content_block"]["type"] == "tool_use")
    delta = payload.get("delta", {})
    return int(any(delta.get(piece) for piece in ("text", "thinking", "partial_json")))


def frame(payload: Any) -> bytes:
    """One server-sent event. It is named by its type: the official client passes over events without a name."""
    kind: str = payload["type"]
    return b"event: " + kind.encode() + b"\ndata: " + compact(payload) + b"\n\n"


def _block(part: Part) -> dict[str, Any]:
    match part:
        case Thinking(text=text):
            return {"type": "thinking", "thinking": text, "signature": SIGNATURE}
        case ToolCall(arguments=arguments):
            return {**_opened(part), "input": _input(arguments)}
        case _:
            return {"type": "text", "text": part.text}


def _opened(part: Part) -> dict[str, Any]:
    match part:
        case Thinking():
            return {"type": "thinking", "thinking": "", "signature": ""}
        case ToolCall(id=call_id, name=name):
            named = {} if call_id is None else {"id": call_id}
            return {"type": "tool_use", **named, "name": name, "input": {}}
        case _:
            return {"type": "text", "text": ""}


def _deltas(part: Part, pieces: Pieces) -> Iterator[dict[str, Any]]:
    match part:
        case Thinking(text=text):
            for piece in pieces(text):
                yield {"type": "thinking_delta", "thinking": piece}
            yield {"type": "signature_delta", "signature": SIGNATURE}
        case ToolCall(arguments=arguments):
            # The provider opens with an empty piece, and a call without arguments has no other.
            yield {"type": "input_json_delta", "partial_json": ""}
            for piece in pieces(arguments):
                yield {"type": "input_json_delta", "partial_json": piece}
        case _:
            for piece in pieces(part.text or ""):
                yield {"type": "text_delta", "text": piece}


def _wholly(part: Part) -> Part:
    if not isinstance(part, ToolCall):
        return part
    said = _input(part.arguments)
    as_sent = part.arguments if _is_json(part.arguments) else compact(said).decode()
    return replace(part, arguments=as_sent)


def _input(arguments: str) -> Any:
    if not arguments:
        return {}
    return json.loads(arguments) if _is_json(arguments) else arguments


def _is_json(arguments: str) -> bool:
    """Whether the text is a JSON value that can be sent again: Python reads infinities and NaN, which are none."""
    try:
        json.dumps(json.loads(arguments), allow_nan=False)
    except (ValueError, RecursionError):
        return False
    return True


def _message(stamp: Stamp) -> dict[str, Any]:
    return {"id": stamp.id, "type": "message", "role": "assistant", "model": stamp.model}


def _stop(reply: Reply) -> dict[str, Any]:
    reason = reply.finish or STOP_REASONS[reply.stop]
    return {"stop_reason": reason, "stop_sequence": STOP_SEQUENCE if reason == "stop_sequence" else None}


def _spent(read: int, written: int) -> dict[str, int]:
    cached = {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    return {"input_tokens": read, **cached, "output_tokens": written}


CODEC = Codec(
    name=NAME,
    route=re.compile(r"/messages$"),
    path="/v1/messages",
    # The SDK adds the version itself.
    base="",
    decode=decode,
    whole=whole,
    chunks=chunks,
    error=error,
    error_event=error_event,
    says=says,
    frame=frame,
    trailer=frame({"type": "message_stop"}),
    stream_type="text/event-stream",
    reply_prefix="msg_",
    comment=frame({"type": "ping"}),
    carried=carried,
    quirks=QUIRKS,
)
