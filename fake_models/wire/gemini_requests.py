"""Gemini generateContent requests to values. Pure; judges no request and writes no reply."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import count
from types import MappingProxyType
from typing import Any

from fake_models.messages import Message, ModelRequest, ToolCall, ToolSpec
from fake_models.wire.codec import compact, mapping, mappings, measured, text

NAME = "gemini"

#: A content without a role is the user's; a role that the API does not know stays as it came.
ROLES = MappingProxyType({"model": "assistant", "function": "user", "": "user"})
#: VALIDATED holds calls to their schemas and forces none.
CHOICES = MappingProxyType({"AUTO": "auto", "VALIDATED": "auto", "ANY": "required", "NONE": "none"})
#: The keys under which clients put what a tool returned, since the API wants an object.
WRAPPERS = ("result", "output", "error")


def decode(body: Mapping[str, Any], path: str = "") -> ModelRequest:
    """
    Read a request. Never raises: what has another shape than the wire's is left out.

    Model and streaming stand in the path; `stream` in the body, which the API has not, asks for a stream too, so that callers
    without a path of their own can. Keys are read in both spellings that the API takes, camelCase and snake_case. Contents of
    the model in a row are one message: clients keep the chunks of a stream as contents of their own.
    """
    fields = mapping(body)
    model, _, method = path.rpartition("/")[2].rpartition(":")
    system = _either(fields, "systemInstruction", "system_instruction")
    contents = fields.get("contents")
    tools = fields.get("tools")
    return ModelRequest(
        wire=NAME,
        model=model,
        messages=(*_system(system), *_messages(_listed(contents))),
        tools=tuple(_tool_specs(_listed(tools))) if isinstance(tools, list | tuple | Mapping) else None,
        tool_choice=_tool_choice(mapping(_either(fields, "toolConfig", "tool_config"))),
        stream=method == "streamGenerateContent" or fields.get("stream") is True,
        include_usage=True,
        measured=measured(*(said for said in (system, contents) if said is not None)),
    )


def _either(fields: Mapping[str, Any], camel: str, snake: str) -> Any:
    return fields.get(camel, fields.get(snake))


def _listed(value: Any) -> tuple[Mapping[str, Any], ...]:
    """The objects of a list; the API takes one alone for a list of one."""
    return (value,) if isinstance(value, Mapping) else mappings(value)


def _system(instruction: Any) -> Iterator[Message]:
    if isinstance(instruction, Mapping):
        yield Message("system", _text(_listed(instruction.get("parts"))))


def _messages(contents: tuple[Mapping[str, Any], ...]) -> list[Message]:
    said: list[Message] = []
    unanswered: list[tuple[str, ToolCall]] = []
    call_number, result_number = count(1), count(1)
    for content in contents:
        parts = _listed(content.get("parts"))
        responses = _of_kind(parts, "functionResponse", "function_response")
        for response in responses:
            made_up = f"made_up_result_{next(result_number)}"
            call_id = _answered(response, unanswered) or made_up
            said.append(Message("tool", _returned(response), tool_call_id=call_id))
        made = []
        for call in _of_kind(parts, "functionCall", "function_call"):
            own_id, made_up = text(call.get("id")), f"made_up_{next(call_number)}"
            arguments = compact(mapping(call.get("args"))).decode()
            made.append(ToolCall(own_id or made_up, text(call.get("name")), arguments))
            unanswered.append((own_id, made[-1]))
        words = _text(parts)
        if responses and words is None and not made:
            continue
        role = text(content.get("role"))
        message = Message(ROLES.get(role, role), words, tuple(made))
        if role == "model" and said and said[-1].role == "assistant":
            said[-1] = _joined(said[-1], message)
        else:
            said.append(message)
    return said


def _joined(message: Message, more: Message) -> Message:
    texts = [words for words in (message.content, more.content) if words is not None]
    calls = (*message.tool_calls, *more.tool_calls)
    return replace(message, content="".join(texts) if texts else None, tool_calls=calls)


def _answered(response: Mapping[str, Any], unanswered: list[tuple[str, ToolCall]]) -> str:
    """
    The id of the call that a response answers, which is taken from the unanswered; its own id, or none, where none fits.

    Ids are optional on both sides: what lacks one is paired by name, oldest first.
    """
    own_id, name = text(response.get("id")), text(response.get("name"))
    by_id = [row for row in unanswered if own_id and row[0] == own_id]
    by_name = [row for row in unanswered if row[1].name == name and not (own_id and row[0])]
    for row in (*by_id, *by_name):
        unanswered.remove(row)
        return row[1].id or ""
    return own_id


def _returned(response: Mapping[str, Any]) -> str:
    """What the tool returned: text as it is, anything else as JSON, without the object that a client wraps it in."""
    value: Any = mapping(response.get("response"))
    if len(value) == 1:
        value = next((value[key] for key in WRAPPERS if key in value), value)
    return value if isinstance(value, str) else compact(value).decode()


def _of_kind(parts: tuple[Mapping[str, Any], ...], camel: str, snake: str) -> list[Mapping[str, Any]]:
    return [found for part in parts if isinstance(found := _either(part, camel, snake), Mapping)]


def _text(parts: tuple[Mapping[str, Any], ...]) -> str | None:
    texts = [part["text"] for part in parts if isinstance(part.get("text"), str) and part.get("thought") is not True]
    return "".join(texts) if texts else None


def _tool_specs(tools: tuple[Mapping[str, Any], ...]) -> Iterator[ToolSpec]:
    for tool in tools:
        for function in _listed(_either(tool, "functionDeclarations", "function_declarations")):
            schema = _either(function, "parametersJsonSchema", "parameters_json_schema")
            yield ToolSpec(
                name=text(function.get("name")),
                description=text(function.get("description")),
                parameters=mapping(function.get("parameters") or schema),
            )


def _tool_choice(config: Mapping[str, Any]) -> str | None:
    calling = mapping(_either(config, "functionCallingConfig", "function_calling_config"))
    choice = CHOICES.get(text(calling.get("mode")).upper())
    allowed = _either(calling, "allowedFunctionNames", "allowed_function_names")
    if choice == "required" and isinstance(allowed, list) and len(allowed) == 1 and isinstance(allowed[0], str):
        return allowed[0]
    return choice
