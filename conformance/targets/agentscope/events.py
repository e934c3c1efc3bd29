"""AgentScope's own events as AG-UI events, one by one, and AG-UI messages as its own. Adds none, closes none and mends none."""

from collections.abc import Iterator, Mapping
from typing import Any

from agentscope.event import AgentEvent
from agentscope.message import AssistantMsg, Msg, TextBlock, ToolCallBlock, ToolResultBlock, UserMsg

from conformance.targets.shown import Event, result

#: The agent's name, by which it knows its own messages.
NAME = "assistant"
#: The bracket in which a block of a reply travels, and what its start says beside.
BRACKETS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "TEXT_BLOCK": ("TEXT_MESSAGE", {"role": "assistant"}),
    "THINKING_BLOCK": ("REASONING_MESSAGE", {"role": "reasoning"}),
}


class Shown:
    """What one run shows. A result comes in pieces and is shown when it is whole; what has no counterpart is not shown."""

    def __init__(self) -> None:
        self._results: dict[str, list[str]] = {}

    def of(self, told: AgentEvent) -> Iterator[Event]:
        """The AG-UI events for one of the framework's."""
        block, _, part = told.type.rpartition("_")
        if block in BRACKETS:
            yield from _block(told, part, *BRACKETS[block])
        elif block == "TOOL_CALL":
            yield from _call(told, part)
        elif told.type == "TOOL_RESULT_TEXT_DELTA":
            self._results.setdefault(told.tool_call_id, []).append(told.delta)
        elif told.type == "TOOL_RESULT_END":
            yield result(told.tool_call_id, "".join(self._results.pop(told.tool_call_id, [])))
        elif told.type == "EXCEED_MAX_ITERS":
            yield {"type": "RAW", "event": told.model_dump(mode="json")}


def _block(told: Any, part: str, bracket: str, start: Mapping[str, Any]) -> Iterator[Event]:
    if part == "START":
        yield {"type": f"{bracket}_START", "messageId": told.block_id, **start}
    elif part == "END":
        yield {"type": f"{bracket}_END", "messageId": told.block_id}
    elif told.delta:
        yield {"type": f"{bracket}_CONTENT", "messageId": told.block_id, "delta": told.delta}


def _call(told: Any, part: str) -> Iterator[Event]:
    call = told.tool_call_id
    if part == "START":
        yield {"type": "TOOL_CALL_START", "toolCallId": call, "toolCallName": told.tool_call_name}
    elif part == "END":
        yield {"type": "TOOL_CALL_END", "toolCallId": call}
    elif told.delta:
        yield {"type": "TOOL_CALL_ARGS", "toolCallId": call, "delta": told.delta}


def keep(context: list[Msg], role: str, content: str | None = None, **rest: Any) -> None:
    """Put an AG-UI message into the history as the agent does: what it said and what its tools gave is one message."""
    if role == "user":
        context.append(UserMsg(name="user", content=content or ""))
        return
    if not context or context[-1].role != "assistant":
        context.append(AssistantMsg(name=NAME, content=[]))
    blocks = context[-1].content
    if role == "tool":
        call = rest["toolCallId"]
        names = {block.id: block.name for block in blocks if isinstance(block, ToolCallBlock)}
        blocks.append(ToolResultBlock(id=call, name=names.get(call, ""), output=content or "", state="success"))
        return
    blocks += [TextBlock(text=content)] if content else []
    for call in rest.get("toolCalls") or ():
        told = call["function"]
        blocks.append(ToolCallBlock(id=call["id"], name=told["name"], input=told["arguments"]))
