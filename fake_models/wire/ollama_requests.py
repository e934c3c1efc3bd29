"""Ollama chat requests to values. Pure; judges no request and writes no reply."""

from collections.abc import Iterator, Mapping
from typing import Any

from fake_models.messages import Message, ModelRequest, ToolCall, ToolSpec
from fake_models.wire.codec import compact, mapping, mappings, measured, text

NAME = "ollama"


def decode(body: Mapping[str, Any], path: str = "") -> ModelRequest:  # noqa: ARG001 - other wires read the path
    """
    Read a request. Never raises: what has another shape than the wire's is left out.

    A request streams unless it says that it does not. Where a call has no id it gets one by its place among all calls, and
    its result the same one; see `_call_id`.
    """
    fields = mapping(body)
    tools = fields.get("tools")
    return ModelRequest(
        wire=NAME,
        model=text(fields.get("model")),
        messages=tuple(_messages(fields.get("messages"))),
        tools=tuple(_tool_spec(tool) for tool in mappings(tools)) if isinstance(tools, list | tuple) else None,
        stream=fields.get("stream") is not False,
        include_usage=True,
        measured=measured(fields.get("messages", [])),
    )


def _messages(messages: Any) -> Iterator[Message]:
    calls_before = 0
    asked: tuple[ToolCall, ...] = ()
    answered: list[str | None] = []
    for message in mappings(messages):
        calls = tuple(
            _tool_call(call, calls_before + number)
            for number, call in enumerate(mappings(message.get("tool_calls")), 1)
        )
        if calls:
            calls_before += len(calls)
            asked, answered = calls, []
        call_id = None
        if message.get("role") == "tool":
            call_id = text(message.get("tool_call_id")) or _call_id(message, asked, answered)
            answered.append(call_id)
        content = message.get("content")
        yield Message(
            role=text(message.get("role")),
            content=content if isinstance(content, str) else None,
            tool_calls=calls,
            tool_call_id=call_id,
        )


def _call_id(message: Mapping[str, Any], asked: tuple[ToolCall, ...], answered: list[str | None]) -> str | None:
    """
    The id of the call that a result without one belongs to, among the calls of the last message that has any.

    By tool name where the result has one, else by order. A result too many goes to the last call that could be meant, so
    that it shows as a second one; a name that was not called belongs to none.
    """
    name = text(message.get("tool_name")) or text(message.get("name"))
    meant = [call.id for call in asked if not name or call.name == name]
    return next((call_id for call_id in meant if call_id not in answered), meant[-1] if meant else None)


def _tool_call(call: Mapping[str, Any], number: int) -> ToolCall:
    function = mapping(call.get("function"))
    arguments = function.get("arguments")
    return ToolCall(
        id=text(call.get("id")) or f"#{number}",
        name=text(function.get("name")),
        arguments=compact(arguments).decode() if isinstance(arguments, Mapping) else text(arguments),
    )


def _tool_spec(tool: Mapping[str, Any]) -> ToolSpec:
    function = mapping(tool.get("function"))
    return ToolSpec(
        name=text(function.get("name")),
        description=text(function.get("description")),
        parameters=mapping(function.get("parameters")),
    )
