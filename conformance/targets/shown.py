"""
AG-UI events as JSON, for adapters that translate what a framework shows. Standard library only; mends nothing.

An adapter calls these where the framework shows something, and only there: what the framework leaves out or leaves open stays so.
"""

import json
from collections.abc import Iterator
from typing import Any

from conformance.agent_side import RunInput

Event = dict[str, Any]


def started(given: RunInput) -> Event:
    """The run begins."""
    return {"type": "RUN_STARTED", "threadId": given.input["threadId"], "runId": given.run}


def finished(given: RunInput, spent: tuple[int, int] | None = None) -> Event:
    """The run is over; `spent` are its input and output tokens, where the framework counts them over the run."""
    more = {} if spent is None else {"usage": [{"inputTokens": spent[0], "outputTokens": spent[1]}]}
    return {"type": "RUN_FINISHED", "threadId": given.input["threadId"], "runId": given.run, **more}


def text(message: str, content: str, bracket: str = "TEXT_MESSAGE", role: str = "assistant") -> Iterator[Event]:
    """A whole text in its bracket; thinking has the bracket REASONING_MESSAGE and the role reasoning."""
    yield {"type": f"{bracket}_START", "messageId": message, "role": role}
    if content:
        yield {"type": f"{bracket}_CONTENT", "messageId": message, "delta": content}
    yield {"type": f"{bracket}_END", "messageId": message}


def call(call_id: str, name: str, arguments: Any) -> Iterator[Event]:
    """A whole call in its bracket; arguments that are no text are shown as JSON."""
    yield {"type": "TOOL_CALL_START", "toolCallId": call_id, "toolCallName": name}
    if arguments not in (None, ""):
        yield {"type": "TOOL_CALL_ARGS", "toolCallId": call_id, "delta": as_text(arguments)}
    yield {"type": "TOOL_CALL_END", "toolCallId": call_id}


def result(call_id: str, content: Any) -> Event:
    """What a call gave back; content that is no text is shown as JSON."""
    return {
        "type": "TOOL_CALL_RESULT",
        "messageId": f"{call_id}-result",
        "toolCallId": call_id,
        "content": as_text(content),
    }


def as_text(value: Any) -> str:
    """A text as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


class Streamed:
    """
    The brackets of one reply while it streams.

    `key` is whatever the framework tells a text or a call apart by: a message's id, an index, a call's id. A bracket opens with the
    first piece that is shown for its key; `end` closes one, or all that are open where the framework closes the reply as a whole.
    """

    def __init__(self) -> None:
        self._open: dict[tuple[str, Any], Event] = {}

    def text(self, key: str, delta: str, bracket: str = "TEXT_MESSAGE", role: str = "assistant") -> Iterator[Event]:
        """A piece of a text."""
        if not delta:
            return
        if (bracket, key) not in self._open:
            self._open[bracket, key] = {"type": f"{bracket}_END", "messageId": key}
            yield {"type": f"{bracket}_START", "messageId": key, "role": role}
        yield {"type": f"{bracket}_CONTENT", "messageId": key, "delta": delta}

    def call(self, key: Any, call_id: str | None, name: str | None, delta: str | None) -> Iterator[Event]:
        """A piece of a call. A call that never got an id or a name cannot be shown."""
        if ("TOOL_CALL", key) not in self._open and call_id and name:
            self._open["TOOL_CALL", key] = {"type": "TOOL_CALL_END", "toolCallId": call_id}
            yield {"type": "TOOL_CALL_START", "toolCallId": call_id, "toolCallName": name}
        if delta and (opened := self._open.get(("TOOL_CALL", key))) is not None:
            yield {"type": "TOOL_CALL_ARGS", "toolCallId": opened["toolCallId"], "delta": delta}

    def end(self, key: Any = None) -> Iterator[Event]:
        """Close what is open under a key, or everything."""
        for opened in [one for one in self._open if key is None or one[1] == key]:
            yield self._open.pop(opened)
