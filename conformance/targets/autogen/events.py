"""AutoGen's own events as AG-UI events, one by one. Adds none, closes none and mends none."""

from collections.abc import Iterator
from typing import Any

from autogen_agentchat.messages import (
    ModelClientStreamingChunkEvent,
    TextMessage,
    ThoughtEvent,
    ToolCallExecutionEvent,
    ToolCallRequestEvent,
    ToolCallSummaryMessage,
)

from conformance.targets.shown import Event, Streamed, call, result, text


class Shown:
    """What a run shows. The texts of a reply that was streamed are shown by their pieces, which the answer that repeats them ends."""

    def __init__(self, *, stream: bool) -> None:
        self._stream = stream
        self._brackets = Streamed()

    def of(self, item: Any) -> Iterator[Event]:
        """The AG-UI events for one of the framework's. What has no counterpart is not shown."""
        match item:
            case ModelClientStreamingChunkEvent(content=piece, full_message_id=message):
                yield from self._brackets.text(str(message), piece)
            # What a reply holds beside its answer or its calls: thinking, or a text beside calls.
            case ThoughtEvent(content=thought, id=message):
                yield from self._brackets.end()
                yield from text(message, thought, "REASONING_MESSAGE", "reasoning")
            case TextMessage(content=answer, id=message):
                yield from self._brackets.end()
                yield from text(message, answer) if answer and not self._stream else ()
            case ToolCallRequestEvent(content=calls):
                yield from self._brackets.end()
                # A call without an id cannot be shown.
                for one in (one for one in calls if one.id is not None):
                    yield from call(one.id, one.name, one.arguments)
            case ToolCallExecutionEvent(content=results):
                yield from (result(one.call_id, one.content) for one in results)
            case ToolCallSummaryMessage(content=summary, id=message):
                yield from text(message, summary)
