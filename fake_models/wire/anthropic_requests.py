"""Requests of the Anthropic Messages wire, read to values. Pure; judges none and answers none."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from fake_models.messages import Message, ModelRequest, ToolCall, ToolSpec
from fake_models.wire.codec import compact, mapping, mappings, measured, text

NAME = "anthropic_messages"

#: A tool choice by its type; `tool` names one instead.
TOOL_CHOICES = MappingProxyType({"auto": "auto", "any": "required", "none": "none"})


def decode(body: Mapping[str, Any], path: str = "") -> ModelRequest:  # noqa: ARG001 - other wires read the path
    """
    Read a request. Never raises: what has another shape than the wire's is left out.

    Tools that the provider defines have a type and no schema, and are left out too: the model of a script calls only the tools
    that a scenario has.
    """
    fields = mapping(body)
    system = [{"role": "system", "content": fields["system"]}] if fields.get("system") is not None else []
    messages = fields.get("messages", [])
    tools = fields.get("tools")
    return ModelRequest(
        wire=NAME,
        model=text(fields.get("model")),
        messages=tuple(one for message in (*system, *mappings(messages)) for one in _read(message)),
        tools=tuple(_tool_specs(tools)) if isinstance(tools, list | tuple) else None,
        tool_choice=_tool_choice(mapping(fields.get("tool_choice"))),
        stream=fields.get("stream") is True,
        include_usage=True,
        measured=measured(messages, *(one["content"] for one in system)),
    )


def _read(message: Mapping[str, Any]) -> Iterator[Message]:
    """One message of the wire: a user's may be several here, its results first, as the provider wants them."""
    role = text(message.get("role"))
    content = message.get("content")
    blocks = mappings(content)
    said = _joined(content)
    if role == "assistant":
        calls = tuple(_tool_call(block) for block in blocks if block.get("type") == "tool_use")
        yield Message(role, None if calls and not said else said, calls)
        return
    results = [block for block in blocks if block.get("type") == "tool_result"] if role == "user" else []
    for block in results:
        yield Message("tool", _joined(block.get("content")), tool_call_id=_id(block.get("tool_use_id")))
    if said or not results:
        yield Message(role, said)


def _joined(content: Any) -> str | None:
    if content is None or isinstance(content, str):
        return content
    return "".join(text(block.get("text")) for block in mappings(content) if block.get("type") == "text")


def _tool_call(block: Mapping[str, Any]) -> ToolCall:
    arguments = compact(block["input"]).decode() if "input" in block else ""
    return ToolCall(id=_id(block.get("id")), name=text(block.get("name")), arguments=arguments)


def _id(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _tool_specs(tools: Any) -> Iterator[ToolSpec]:
    for tool in mappings(tools):
        if "input_schema" in tool or tool.get("type") in {None, "custom"}:
            yield ToolSpec(
                name=text(tool.get("name")),
                description=text(tool.get("description")),
                parameters=mapping(tool.get("input_schema")),
            )


def _tool_choice(choice: Mapping[str, Any]) -> str | None:
    kind = text(choice.get("type"))
    if kind == "tool":
        return text(choice.get("name")) or None
    return TOOL_CHOICES.get(kind)
