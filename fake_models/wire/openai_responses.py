"""OpenAI Responses: requests to values, replies to JSON. Pure; judges no request and knows no socket."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import groupby
from types import MappingProxyType
from typing import Any

from fake_models.messages import (
    ErrorReply,
    Message,
    ModelRequest,
    Part,
    Reply,
    Stop,
    Text,
    Thinking,
    ToolCall,
    ToolSpec,
)
from fake_models.wire.codec import Codec, Pieces, Stamp, UsualError, mapping, mappings, measured, spelled, text
from fake_models.wire.openai_responses_memory import MEMORY
from fake_models.wire.openai_responses_stream import FAILED, QUIRKS, events, following, frame, says

NAME = "openai_responses"

#: Why a reply is incomplete; the other stops complete it.
INCOMPLETE_REASONS = MappingProxyType[Stop, str]({"length": "max_output_tokens", "filter": "content_filter"})

#: What a reasoning item is sent back with where nothing is stored. Opaque to a client; it comes whether `include` asks or not.
ENCRYPTED = "gAAAAABjb25mb3JtYW5jZQ=="

#: Codes that the provider tells of in mid-stream by failing the response, not by an event of their own.
FAILING_CODES = frozenset({"context_length_exceeded"})

#: Types and codes are the provider's; the messages are this project's own where
#: the provider's wording is not public.
USUAL_ERRORS = (
    UsualError(400, None, "invalid_request_error", "The request is not one this model accepts."),
    UsualError(
        400,
        "context_length_exceeded",
        "invalid_request_error",
        "Your input exceeds the context window of this model. Please adjust your input and try again.",
        "input",
    ),
    UsualError(401, "invalid_api_key", "invalid_request_error", "Incorrect API key provided."),
    UsualError(403, None, "invalid_request_error", "This key has no access to the model."),
    UsualError(404, "model_not_found", "invalid_request_error", "The requested model does not exist.", "model"),
    UsualError(408, None, "server_error", "The request timed out."),
    UsualError(409, None, "invalid_request_error", "The resource was changed by another request."),
    # Says nothing of tokens or context on purpose: a body too large for the front door is no overflow of the window.
    UsualError(413, None, "invalid_request_error", "The request body is larger than the server accepts."),
    UsualError(422, None, "invalid_request_error", "The request could not be processed."),
    UsualError(
        429, "rate_limit_exceeded", "requests", "Rate limit reached on requests per min (RPM). Please try again."
    ),
    UsualError(
        429,
        "insufficient_quota",
        "insufficient_quota",
        "You exceeded your current quota, please check your plan and billing details.",
    ),
    UsualError(500, None, "server_error", "An error occurred while processing your request."),
    UsualError(502, None, "server_error", "Bad gateway."),
    UsualError(503, None, "server_error", "The engine is currently overloaded, please try again later"),
    UsualError(529, None, "server_error", "The model is overloaded."),
)


def decode(body: Mapping[str, Any], path: str = "") -> ModelRequest:  # noqa: ARG001 - other wires read the path
    """
    Read a request. Never raises: what has another shape than the wire's is left out.

    The conversation is what this body itself holds: one that goes on from a stored response must be resumed before, see
    `MEMORY`. What `conversation`, a stored `prompt` or an unknown id stand for is not there, so that a result may answer a
    call that is not among the messages.
    """
    fields = mapping(body)
    tools = fields.get("tools")
    conversation = [fields[key] for key in ("instructions", "input") if fields.get(key) is not None]
    return ModelRequest(
        wire=NAME,
        model=text(fields.get("model")),
        messages=tuple(_messages(fields)),
        tools=tuple(_tool_specs(tools)) if isinstance(tools, list | tuple) else None,
        tool_choice=_tool_choice(fields.get("tool_choice")),
        stream=fields.get("stream") is True,
        include_usage=True,
        measured=measured(*conversation),
    )


def carried(reply: Reply, request: ModelRequest) -> Reply:  # noqa: ARG001 - on other wires it hangs on the request
    """
    A reply as this wire can tell it.

    Lost is whether a complete reply stopped by itself or for its calls: both are `completed`, so only the calls tell.
    """
    stop: Stop = "tool_calls" if reply.calls else "stop"
    return reply if reply.stop == stop or reply.stop in INCOMPLETE_REASONS else replace(reply, stop=stop)


def whole(reply: Reply, stamp: Stamp) -> dict[str, Any]:
    """
    Body of a reply that is not streamed: one output item per part, in their order, with ids made from the stamp's.

    A null text is an output text whose text is null. Of the request only the model's name comes back; the rest of what
    providers repeat stands at its default. `finish` is given as the reason of an incomplete reply, which is the one place
    where this wire says why a model stopped.
    """
    reason = reply.finish or INCOMPLETE_REASONS.get(reply.stop)
    output = [_item(part, f"{stamp.id}_{number}") for number, part in enumerate(reply.parts)]
    if reason and output and "status" in output[-1]:
        output[-1]["status"] = "incomplete"
    return {
        "id": stamp.id,
        "object": "response",
        "created_at": stamp.created,
        "status": "incomplete" if reason else "completed",
        "background": False,
        "error": None,
        "incomplete_details": {"reason": reason} if reason else None,
        "instructions": None,
        "max_output_tokens": None,
        "model": stamp.model,
        "output": output,
        "parallel_tool_calls": True,
        "previous_response_id": None,
        "reasoning": {"effort": None, "summary": None},
        "store": False,
        "temperature": 1.0,
        "text": {"format": {"type": "text"}},
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "truncation": "disabled",
        "usage": _usage(reply),
        "user": None,
        "metadata": {},
    }


def chunks(reply: Reply, stamp: Stamp, request: ModelRequest, pieces: Pieces) -> tuple[dict[str, Any], ...]:  # noqa: ARG001 - other wires ask whether to tell the usage
    """Payloads of a streamed reply. Usage travels in the last one, and is null before."""
    return events(whole(reply, stamp), pieces)


def error(reply: ErrorReply) -> dict[str, Any]:
    """Body of an error. What the reply leaves open is filled in with the provider's usual words for status and code."""
    full = _spelled(reply)
    return {"error": {"message": full.message, "type": full.type, "param": full.param, "code": full.code}}


def error_event(reply: ErrorReply) -> dict[str, Any]:
    """
    Payload that tells of an error in mid-stream: an `error` event, or `response.failed` where the provider says it so.

    The latter comes for the FAILING_CODES and wherever `type` asks for it by name: an event on this wire has no error type
    of its own, so the word is free. Both have a code, which is the usual type where the error has none.
    """
    failed = reply.type == FAILED or reply.code in FAILING_CODES
    full = _spelled(replace(reply, type=None) if reply.type == FAILED else reply)
    told = {"code": full.code or full.type, "message": full.message}
    if failed:
        return {"type": FAILED, "response": {"status": "failed", "error": told}, "sequence_number": 0}
    return {"type": "error", **told, "param": full.param, "sequence_number": 0}


def _spelled(reply: ErrorReply) -> UsualError:
    kind = "server_error" if reply.status >= 500 else "invalid_request_error"
    return spelled(reply, USUAL_ERRORS, UsualError(reply.status, None, kind, f"HTTP status {reply.status}."))


def _item(part: Part, key: str) -> dict[str, Any]:
    if isinstance(part, Thinking):
        summary = [{"type": "summary_text", "text": part.text}]
        return {"id": f"rs_{key}", "type": "reasoning", "summary": summary, "encrypted_content": ENCRYPTED}
    if isinstance(part, Text):
        said: dict[str, Any] = {"type": "output_text", "annotations": [], "logprobs": [], "text": part.text}
        message = {"id": f"msg_{key}", "type": "message", "status": "completed", "role": "assistant"}
        return {**message, "content": [said]}
    named = {} if part.id is None else {"call_id": part.id}
    call = {"id": f"fc_{key}", "type": "function_call", "status": "completed", "arguments": part.arguments}
    return {**call, **named, "name": part.name}


def _usage(reply: Reply) -> dict[str, Any] | None:
    if reply.usage is None:
        return None
    spent = reply.usage
    return {
        "input_tokens": spent.input,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": spent.output,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": spent.input + spent.output,
    }


def _messages(fields: Mapping[str, Any]) -> Iterator[Message]:
    """Instructions as a first system message; then the input, where what the assistant said in one go is one message."""
    given, instructions = fields.get("input"), fields.get("instructions")
    if isinstance(instructions, str):
        yield Message("system", instructions)
    if isinstance(given, str):
        yield Message("user", given)
    for by_assistant, items in groupby(filter(_kind, mappings(given)), _is_assistants):
        if by_assistant:
            yield _turn(tuple(items))
        else:
            yield from map(_message, items)


def _kind(item: Mapping[str, Any]) -> str:
    """What an input item is; empty for what says nothing in a conversation. Messages may leave their type out."""
    kind = text(item.get("type")) or ("message" if "role" in item else "")
    return kind if kind in {"message", "reasoning", "function_call", "function_call_output"} else ""


def _is_assistants(item: Mapping[str, Any]) -> bool:
    kind = _kind(item)
    return kind in {"reasoning", "function_call"} or (kind == "message" and item.get("role") == "assistant")


def _turn(items: Iterable[Mapping[str, Any]]) -> Message:
    said = [_joined(item.get("content")) for item in items if _kind(item) == "message"]
    texts = [content for content in said if content is not None]
    calls = [_tool_call(item) for item in items if _kind(item) == "function_call"]
    return Message("assistant", "".join(texts) if texts else None, tuple(calls))


def _message(item: Mapping[str, Any]) -> Message:
    if _kind(item) == "function_call_output":
        return Message("tool", _joined(item.get("output")), tool_call_id=_call_id(item))
    return Message(text(item.get("role")), _joined(item.get("content")))


def _joined(content: Any) -> str | None:
    if content is None or isinstance(content, str):
        return content
    kinds = ("input_text", "output_text")
    return "".join(text(part.get("text")) for part in mappings(content) if part.get("type") in kinds)


def _tool_call(item: Mapping[str, Any]) -> ToolCall:
    return ToolCall(_call_id(item), text(item.get("name")), text(item.get("arguments")))


def _call_id(item: Mapping[str, Any]) -> str | None:
    call_id = item.get("call_id")
    return call_id if isinstance(call_id, str) else None


def _tool_specs(tools: Any) -> Iterator[ToolSpec]:
    """The functions offered; tools that the provider runs itself are none that a script can call."""
    for tool in mappings(tools):
        if tool.get("type") == "function":
            yield ToolSpec(text(tool.get("name")), text(tool.get("description")), mapping(tool.get("parameters")))


def _tool_choice(choice: Any) -> str | None:
    if isinstance(choice, str):
        return choice
    fields = mapping(choice)
    named = fields.get("mode") if fields.get("type") == "allowed_tools" else fields.get("name")
    return named if isinstance(named, str) else None


CODEC = Codec(
    name=NAME,
    route=re.compile(r"/responses$"),
    path="/v1/responses",
    base="/v1",
    decode=decode,
    whole=whole,
    chunks=chunks,
    error=error,
    error_event=error_event,
    says=says,
    frame=frame,
    trailer=b"",
    stream_type="text/event-stream",
    reply_prefix="resp_",
    comment=b": keep-alive\n\n",
    carried=carried,
    quirks=QUIRKS,
    following=following,
    memory=MEMORY,
)
