"""The loop's AG-UI events, as dicts in camelCase. Builds events; decides neither whether nor when they are sent."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Literal

Event = dict[str, Any]
#: The two kinds of message a user sees.
Kind = Literal["text", "reasoning"]

#: What the limit marker is called.
MARKER = "EXCEED_MAX_ITERS"

_MESSAGE: Mapping[Kind, tuple[str, str]] = {
    "text": ("TEXT_MESSAGE", "assistant"),
    "reasoning": ("REASONING_MESSAGE", "reasoning"),
}


def run_started(thread: str, run: str) -> Event:
    """The first event of every run."""
    return {"type": "RUN_STARTED", "threadId": thread, "runId": run}


def run_finished(thread: str, run: str, *, result: Any = None, outcome: Any = None, usage: Any = None) -> Event:
    """The terminal of a run that no failure escaped. `result` or `outcome` tells an ending that is no answer from one that is."""
    told = _given(result=result, outcome=outcome, usage=usage)
    return {"type": "RUN_FINISHED", "threadId": thread, "runId": run} | told


def run_error(message: str, code: str, *, usage: Any = None) -> Event:
    """The terminal of a failed run; `code` is the kind of its outcome, so that a program can read the cause."""
    return {"type": "RUN_ERROR", "message": message, "code": code} | _given(usage=usage)


def message_start(kind: Kind, message: str) -> Event:
    """A message begins."""
    name, role = _MESSAGE[kind]
    return {"type": f"{name}_START", "messageId": message, "role": role}


def message_content(kind: Kind, message: str, delta: str) -> Event:
    """A piece of a message; the published client refuses an empty one."""
    return {"type": f"{_MESSAGE[kind][0]}_CONTENT", "messageId": message, "delta": delta}


def message_end(kind: Kind, message: str) -> Event:
    """A message ends."""
    return {"type": f"{_MESSAGE[kind][0]}_END", "messageId": message}


def message(kind: Kind, message: str, text: str) -> Iterator[Event]:
    """A whole message at once."""
    yield message_start(kind, message)
    yield message_content(kind, message, text)
    yield message_end(kind, message)


def call_start(call: str, tool: str) -> Event:
    """The model begins to call a tool."""
    return {"type": "TOOL_CALL_START", "toolCallId": call, "toolCallName": tool}


def call_args(call: str, delta: str) -> Event:
    """A piece of a call's arguments, as the model spells them."""
    return {"type": "TOOL_CALL_ARGS", "toolCallId": call, "delta": delta}


def call_end(call: str) -> Event:
    """The call is whole, or will never be."""
    return {"type": "TOOL_CALL_END", "toolCallId": call}


def call_result(message: str, call: str, content: str) -> Event:
    """What a call brought, word for word as the model gets to read it."""
    return {"type": "TOOL_CALL_RESULT", "messageId": message, "toolCallId": call, "content": content, "role": "tool"}


def token_usage(reply: str, spent: Mapping[str, int]) -> Event:
    """What one model call cost; `reply` is the id that the model gave its reply."""
    return {"type": "CUSTOM", "name": "token_usage", "value": {"replyId": reply} | dict(spent)}


def callback(hook: str, tool: str | None, call: str | None) -> Event:
    """A hook of the caller's was called."""
    return {"type": "CUSTOM", "name": "conformance.callback", "value": _given(hook=hook, tool=tool, callId=call)}


def record(kind: str, step: str, state: str, **more: Any) -> Event:
    """A step of the run is in this state now."""
    value = {"kind": kind, "step": f"{kind}:{step}", "state": state, **_given(**more)}
    return {"type": "CUSTOM", "name": "conformance.record", "value": value}


def limit_marker(kind: str, max_iters: int, current_iter: int, now: datetime) -> Event:
    """
    The event that shows the limit, as `raw` or `custom`.

    It names no reply: at the limit there is none yet. Its time is UTC to the second.
    """
    payload = {
        "type": MARKER,
        "maxIters": max_iters,
        "currentIter": current_iter,
        "replyId": "",
        "createdAt": now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    if kind == "custom":
        return {"type": "CUSTOM", "name": MARKER, "value": payload}
    return {"type": "RAW", "event": payload}


def _given(**fields: Any) -> Event:
    # The published client refuses an optional field that is null.
    return {name: value for name, value in fields.items() if value is not None}
