"""The messages sent to the model: how they grow, and how they shrink without parting a call from its result. Pure."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from conformance.reference.acting import parsed
from conformance.reference.hearing import Said

Message = dict[str, Any]

#: Opens the system message that stands for turns no longer sent.
DIGEST = "Summary of the conversation so far: "


def chat_message(given: Mapping[str, Any]) -> Message:
    """An AG-UI message as the model's wire spells it."""
    message: Message = {"role": given["role"], "content": _text(given.get("content"))}
    if given.get("toolCalls"):
        message["tool_calls"] = [
            {"id": call["id"], "type": "function", "function": dict(call["function"])} for call in given["toolCalls"]
        ]
    if given["role"] == "tool":
        message["tool_call_id"] = given["toolCallId"]
    return message


def said_message(said: Said) -> Message:
    """A reply as it joins the history. Its arguments are a JSON object even where the model's text was none."""
    # Null content is for calls alone: without them a provider refuses it.
    message: Message = {"role": "assistant", "content": said.text or (None if said.calls else "")}
    if said.calls:
        message["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {
                    "name": call.tool,
                    "arguments": json.dumps(parsed(call.arguments) or {}, ensure_ascii=False),
                },
            }
            for call in said.calls
        ]
    return message


def round_messages(said: Said, results: Sequence[str]) -> list[Message]:
    """A round as it joins the history: the reply, then one result per call, in call order."""
    answered = [
        {"role": "tool", "tool_call_id": call.id, "content": text}
        for call, text in zip(said.calls, results, strict=True)
    ]
    return [said_message(said), *answered]


def as_text(messages: Iterable[Message]) -> list[Message]:
    """The history for a model that is told of calls and results in words: no message is a tool's any more."""
    found: list[Message] = []
    for message in messages:
        if message["role"] == "tool":
            told = {"role": "user", "content": f"Result of {message['tool_call_id']}: {message['content']}"}
            found.append(told)
        elif message.get("tool_calls"):
            called = [
                f"I call {one['function']['name']} with {one['function']['arguments']} ({one['id']})."
                for one in message["tool_calls"]
            ]
            found.append({"role": "assistant", "content": "\n".join((*filter(None, [message["content"]]), *called))})
        else:
            found.append(message)
    return found


def told_apart(said: Said, messages: Iterable[Message]) -> bool:
    """Whether the model itself gave every call of a reply an id that nothing else has."""
    given = [call.given for call in said.calls]
    return all(given) and len(set(given)) == len(given) and call_ids(messages).isdisjoint(given)


def call_ids(messages: Iterable[Message]) -> set[str]:
    """Every call id that stands in these messages."""
    return {call["id"] for message in messages for call in message.get("tool_calls", ())}


def sound_id(given: str, taken: set[str]) -> str:
    """The model's own id, or a fresh one where it is empty or was seen before. `taken` is not changed."""
    if given and given not in taken:
        return given
    number = len(taken) + 1
    while f"call_{number}" in taken:
        number += 1
    return f"call_{number}"


def turns(messages: Sequence[Message]) -> tuple[list[Message], list[list[Message]]]:
    """What stands before the first user message, and the turns: a user message with all that follows it up to the next."""
    head: list[Message] = []
    found: list[list[Message]] = []
    for message in messages:
        if message["role"] == "user":
            found.append([message])
        else:
            (found[-1] if found else head).append(message)
    return head, found


def transcript(messages: Sequence[Message], max_chars: int) -> str:
    """Messages as lines of text, each cut so that all of them stay within about `max_chars`."""
    each = max(20, max_chars // max(1, len(messages)))
    return "\n".join(_line(message)[:each] for message in messages)


def compacted(messages: Sequence[Message], digest: str | None) -> list[Message]:
    """The history with all turns but the last replaced by their digest, or dropped where there is none."""
    head, found = turns(messages)
    # An earlier digest is part of what the new one was made from.
    kept = [message for message in head if not is_digest(message)]
    if digest is not None:
        kept.append({"role": "system", "content": DIGEST + digest})
    return [*kept, *found[-1]]


def is_digest(message: Message) -> bool:
    """Whether the message stands for turns that are no longer sent."""
    return message["role"] == "system" and str(message["content"]).startswith(DIGEST)


def _line(message: Message) -> str:
    called = ", ".join(f"{c['function']['name']}({c['function']['arguments']})" for c in message.get("tool_calls", ()))
    return f"{message['role']}: {message['content'] or ''}{called}"


def _text(content: Any) -> Any:
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content if part.get("type") == "text")
    return content
