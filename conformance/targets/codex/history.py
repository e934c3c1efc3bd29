"""A history as items of the Responses API, which thread/inject_items takes."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any


def items(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The items of AG-UI messages; a system text is the thread's own."""
    return [item for message in messages for item in _items(message)]


def _items(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    role, content = message["role"], message.get("content")
    if role == "tool":
        yield {"type": "function_call_output", "call_id": message["toolCallId"], "output": content}
    elif role != "system":
        kind = "output_text" if role == "assistant" else "input_text"
        if content:
            yield {"type": "message", "role": role, "content": [{"type": kind, "text": content}]}
        for call in message.get("toolCalls") or ():
            yield {"type": "function_call", "call_id": call["id"], **call["function"]}
