"""What a store holds of a session whose agent was killed, rebuilt from its records as AG-UI messages. Pure."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from conformance.recording import Record


def transcript(records: Sequence[Record], runs: Iterable[str]) -> tuple[dict[str, Any], ...]:
    """
    The messages of these runs of one session: what their callers gave, each whole reply and each result, in order.

    A call without its result is left so: that is how a store stands after a crash. A reply that did not come to its end is in
    none, nor is what was said beside the conversation.
    """
    mine = frozenset(runs)
    messages: list[dict[str, Any]] = []
    replies: dict[str, Mapping[str, Any]] = {}
    owners: dict[str, bool] = {}
    asked: dict[str, str] = {}
    for record in records:
        data = record.data
        match record.kind:
            case "kit/run_start" if data["run"] in mine:
                messages = _with_given(messages, data["input"]["messages"])
            case "model/request":
                owners[data["call"]] = data["run"] in mine and data.get("side") is None
            case "model/reply" if owners.get(data["call"]) and data["status"] < 400:
                replies[data["call"]] = data
            case "model/reply_done" if data["by"] == "kit" and data["call"] in replies:
                messages += _said(replies[data["call"]], data["call"])
            case "tool/start" if data["run"] in mine:
                if (call := _call_of(data, messages, asked.values())) is not None:
                    asked[data["exec"]] = call
            case "tool/result" | "tool/error" if data["exec"] in asked:
                messages.append(_result(asked[data["exec"]], data))
    return tuple(messages)


def _with_given(messages: list[dict[str, Any]], given: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """An agent that keeps no sessions is sent what was before once more; it is in the store once."""
    known = {message["id"] for message in messages}
    return [*messages, *(dict(message) for message in given if message["id"] not in known)]


def _said(reply: Mapping[str, Any], call: str) -> list[dict[str, Any]]:
    text = "".join(part["text"] for part in reply["parts"] if part["type"] == "text" and part["text"])
    calls = [part for part in reply["parts"] if part["type"] == "tool_call"]
    if not text and not calls:
        return []
    said = {"id": f"{call}-reply", "role": "assistant", **({"content": text} if text else {})}
    told = [
        {
            # What the model gave no id has to have one in the store.
            "id": part["id"] or f"{call}-{number}",
            "type": "function",
            "function": {"name": part["name"], "arguments": part["arguments"]},
        }
        for number, part in enumerate(calls, start=1)
    ]
    return [said | ({"toolCalls": told} if told else {})]


def _call_of(start: Mapping[str, Any], messages: Sequence[Mapping[str, Any]], taken: Iterable[str]) -> str | None:
    """
    The stored call that an execution is for: the one with its id, else the first of its tool that did not run, rather one with
    its arguments. An id that no stored call has is one of the agent's own.
    """
    calls = [call for message in messages for call in message.get("toolCalls", ())]
    if start["call_id"] in {call["id"] for call in calls}:
        return str(start["call_id"])
    ran = set(taken)
    free = [call for call in calls if call["function"]["name"] == start["tool"] and call["id"] not in ran]
    return next((call["id"] for call in sorted(free, key=lambda one: not _asks(one, start["arguments"]))), None)


def _asks(call: Mapping[str, Any], arguments: Any) -> bool:
    """Whether a call was made with these arguments."""
    try:
        return bool(json.loads(call["function"]["arguments"]) == arguments)
    except ValueError:
        return False


def _result(call: str, data: Mapping[str, Any]) -> dict[str, Any]:
    message = {"id": f"{data['exec']}-result", "role": "tool", "toolCallId": call}
    if (error := data.get("error")) is not None:
        told = f"{error['type']}: {error['message']}"
        return message | {"content": told, "error": told}
    value = data["result"]
    return message | {"content": value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}
