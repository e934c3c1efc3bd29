"""OpenAI Chat Completions: requests to values, replies to JSON. Pure; judges no request and knows no socket."""

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from fake_models.messages import ErrorReply, Message, ModelRequest, Reply, Stop, Text, Thinking, ToolCall, ToolSpec
from fake_models.wire.codec import Codec, Pieces, Stamp, UsualError, compact, mapping, mappings, measured, spelled, text
from fake_models.wire.openai_chat_quirks import QUIRKS

NAME = "openai_chat"

FINISH_REASONS = MappingProxyType[Stop, str](
    {"stop": "stop", "length": "length", "filter": "content_filter", "tool_calls": "tool_calls"}
)


#: Types and codes are the provider's; the messages are this project's own where
#: the provider's wording is not public.
USUAL_ERRORS = (
    UsualError(400, None, "invalid_request_error", "The request is not one this model accepts."),
    UsualError(
        400,
        "context_length_exceeded",
        "invalid_request_error",
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens. "
        "Please reduce the length of the messages.",
        "messages",
    ),
    UsualError(401, "invalid_api_key", "invalid_request_error", "Incorrect API key provided."),
    UsualError(403, None, "invalid_request_error", "This key has no access to the model."),
    UsualError(
        404, "model_not_found", "invalid_request_error", "The model does not exist or you have no access to it."
    ),
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
    UsualError(500, None, "server_error", "The server had an error while processing your request. Sorry about that!"),
    UsualError(502, None, "server_error", "Bad gateway."),
    UsualError(503, None, "server_error", "The engine is currently overloaded, please try again later"),
    UsualError(529, None, "server_error", "The model is overloaded."),
)


def decode(body: Mapping[str, Any], path: str = "") -> ModelRequest:  # noqa: ARG001 - other wires read the path
    """Read a request. Never raises: what has another shape than the wire's is left out."""
    fields = mapping(body)
    tools = fields.get("tools")
    return ModelRequest(
        wire=NAME,
        model=text(fields.get("model")),
        messages=tuple(map(_message, mappings(fields.get("messages")))),
        tools=tuple(map(_tool_spec, mappings(tools))) if isinstance(tools, list | tuple) else None,
        tool_choice=_tool_choice(fields.get("tool_choice")),
        stream=fields.get("stream") is True,
        include_usage=mapping(fields.get("stream_options")).get("include_usage") is True,
        measured=measured(fields.get("messages", [])),
    )


def whole(reply: Reply, stamp: Stamp) -> dict[str, Any]:
    """Body of a reply that is not streamed. A reply without usage has no usage key: the model reports none."""
    message: dict[str, Any] = {"role": "assistant", "content": _content(reply), "refusal": None}
    if thinking := _thinking(reply):
        message["reasoning_content"] = thinking
    if reply.calls:
        message["tool_calls"] = [_call(call, call.arguments) for call in reply.calls]
    choice = {
        "index": 0,
        "message": message,
        "logprobs": None,
        "finish_reason": reply.finish or FINISH_REASONS[reply.stop],
    }
    return {**_envelope(stamp, "chat.completion"), "choices": [choice], **_usage(reply)}


def chunks(reply: Reply, stamp: Stamp, request: ModelRequest, pieces: Pieces) -> tuple[dict[str, Any], ...]:
    """
    Payloads of a streamed reply.

    Usage travels only where the request asks for it and the reply has it. A reply without usage is that of a server that
    ignores `stream_options`, so no chunk has the key at all.
    """
    envelope = _envelope(stamp, "chat.completion.chunk")
    reported = _usage(reply) if request.include_usage else {}
    pending = {"usage": None} if reported else {}
    said = tuple(
        {**envelope, "choices": [{"index": 0, "delta": delta, "finish_reason": None}], **pending}
        for delta in _deltas(reply, pieces)
    )
    finish = {"index": 0, "delta": {}, "finish_reason": reply.finish or FINISH_REASONS[reply.stop]}
    last = {**envelope, "choices": [finish], **pending}
    return (*said, last, *(({**envelope, "choices": [], **reported},) if reported else ()))


def error(reply: ErrorReply) -> dict[str, Any]:
    """Body of an error. What the reply leaves open is filled in with the provider's usual words for status and code."""
    kind = "server_error" if reply.status >= 500 else "invalid_request_error"
    full = spelled(reply, USUAL_ERRORS, UsualError(reply.status, None, kind, f"HTTP status {reply.status}."))
    return {"error": {"message": full.message, "type": full.type, "param": full.param, "code": full.code}}


def says(payload: Any) -> int:
    """See `Codec.says`. A call that a quirk sends whole is one all the same: a payload cannot tell it from a name told again."""
    deltas = [mapping(choice.get("delta")) for choice in mappings(mapping(payload).get("choices"))]
    return sum(any(delta.get(key) for key in ("content", "reasoning_content", "tool_calls")) for delta in deltas)


def frame(payload: Any) -> bytes:
    """One server-sent event."""
    return b"data: " + compact(payload) + b"\n\n"


def _deltas(reply: Reply, pieces: Pieces) -> Iterator[dict[str, Any]]:
    content = _content(reply)
    # The pieces come later; the opening delta only tells an empty text from none.
    yield {"role": "assistant", "content": None if content is None else "", "refusal": None}
    for piece in pieces(_thinking(reply)):
        yield {"reasoning_content": piece}
    for piece in pieces(content or ""):
        yield {"content": piece}
    for index, call in enumerate(reply.calls):
        # Clients join names and ids of later deltas as they join arguments, so both stand in the first one only.
        yield {"tool_calls": [{"index": index, **_call(call, "")}]}
        for piece in pieces(call.arguments):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def _content(reply: Reply) -> str | None:
    texts = [part.text for part in reply.parts if isinstance(part, Text) and part.text is not None]
    if texts or not reply.parts:
        return "".join(texts)
    return None


def _thinking(reply: Reply) -> str:
    return "".join(part.text for part in reply.parts if isinstance(part, Thinking))


def _call(call: ToolCall, arguments: str) -> dict[str, Any]:
    named = {} if call.id is None else {"id": call.id}
    return {**named, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def _usage(reply: Reply) -> dict[str, Any]:
    if reply.usage is None:
        return {}
    spent = reply.usage
    return {
        "usage": {
            "prompt_tokens": spent.input,
            "completion_tokens": spent.output,
            "total_tokens": spent.input + spent.output,
        }
    }


def _envelope(stamp: Stamp, kind: str) -> dict[str, Any]:
    return {"id": stamp.id, "object": kind, "created": stamp.created, "model": stamp.model}


def _message(message: Mapping[str, Any]) -> Message:
    call_id, calls = message.get("tool_call_id"), message.get("tool_calls")
    return Message(
        text(message.get("role")),
        _joined(message.get("content")),
        tuple(map(_tool_call, mappings(calls))) if calls else (),
        call_id if isinstance(call_id, str) else None,
    )


def _joined(content: Any) -> str | None:
    if content is None or isinstance(content, str):
        return content
    return "".join(text(part.get("text")) for part in mappings(content) if part.get("type") == "text")


def _tool_call(call: Mapping[str, Any]) -> ToolCall:
    function = mapping(call.get("function"))
    call_id = call.get("id")
    return ToolCall(
        id=call_id if isinstance(call_id, str) else None,
        name=text(function.get("name")),
        arguments=text(function.get("arguments")),
    )


def _tool_spec(tool: Mapping[str, Any]) -> ToolSpec:
    function = mapping(tool.get("function"))
    return ToolSpec(
        name=text(function.get("name")),
        description=text(function.get("description")),
        parameters=mapping(function.get("parameters")),
    )


def _tool_choice(choice: Any) -> str | None:
    if choice is None or isinstance(choice, str):
        return choice
    fields = mapping(choice)
    named = mapping(fields.get("function")).get("name") or mapping(fields.get("allowed_tools")).get("mode")
    return named if isinstance(named, str) else None


CODEC = Codec(
    name=NAME,
    route=re.compile(r"/chat/completions$"),
    path="/v1/chat/completions",
    base="/v1",
    decode=decode,
    whole=whole,
    chunks=chunks,
    error=error,
    error_event=error,
    says=says,
    frame=frame,
    trailer=b"data: [DONE]\n\n",
    stream_type="text/event-stream",
    reply_prefix="chatcmpl-",
    comment=b": keep-alive\n\n",
    quirks=QUIRKS,
)
