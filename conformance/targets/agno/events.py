"""Agno's own events as AG-UI events, one by one. Adds none, closes none and mends none."""

from collections.abc import AsyncIterator, Iterator
from itertools import count
from typing import Any

from agno.metrics import RunMetrics
from agno.models.response import ToolExecution
from agno.run.agent import (
    ModelRequestCompletedEvent,
    RunCompletedEvent,
    RunContentEvent,
    RunErrorEvent,
    RunOutput,
    RunOutputEvent,
    RunStartedEvent,
    ToolCallCompletedEvent,
    ToolCallStartedEvent,
)

from conformance.agent_side import Outcome, RunInput
from conformance.targets.shown import Event, Streamed, call, finished, result, started, text


async def events(stream: AsyncIterator[RunOutputEvent], given: RunInput) -> AsyncIterator[Event | Outcome]:
    """What a streamed run shows. A reply has no name of its own, so it is called by the run and a number."""
    names, brackets = (f"{given.run}-{number}" for number in count(1)), Streamed()
    name = next(names)
    async for event in stream:
        for shown in _shown(event, given, name, brackets):
            yield shown
        if isinstance(event, ModelRequestCompletedEvent):
            name = next(names)


def _shown(event: RunOutputEvent, given: RunInput, name: str, brackets: Streamed) -> Iterator[Event | Outcome]:
    match event:
        case RunStartedEvent():
            yield started(given)
        case RunContentEvent(content=content, reasoning_content=thinking):
            yield from brackets.text(f"{name}-thinking", thinking or "", "REASONING_MESSAGE", "reasoning")
            yield from brackets.text(name, content or "")
        case ModelRequestCompletedEvent():
            yield from brackets.end()
        case ToolCallStartedEvent(tool=ToolExecution() as tool):
            yield from call(tool.tool_call_id, tool.tool_name, tool.tool_args or None)
        case ToolCallCompletedEvent(tool=ToolExecution() as tool):
            yield result(tool.tool_call_id, tool.result)
        case RunErrorEvent(content=content, error_type=error_type):
            yield from ended(given, event, error=content, code=error_type)
        case RunCompletedEvent():
            yield from ended(given, event)


def whole(output: RunOutput, run: str) -> Iterator[Event]:
    """What a run that was not streamed leaves to be seen: its messages, once it is over."""
    names = (f"{run}-{number}" for number in count(1))
    messages = output.messages or []
    asked = max((at for at, message in enumerate(messages) if message.role == "user"), default=0)
    # Calls that are refused before they run have no event in a stream, so they are not shown here either.
    ran = {message.tool_call_id for message in messages[asked:] if message.tool_call_error is not None}
    for message in messages[asked:]:
        if message.role == "tool" and message.tool_call_id in ran:
            yield result(message.tool_call_id, message.content)
        elif message.role == "assistant":
            name = next(names)
            if message.reasoning_content:
                yield from text(f"{name}-thinking", message.reasoning_content, "REASONING_MESSAGE", "reasoning")
            if message.content:
                yield from text(name, message.content)
            for one in (one for one in message.tool_calls or () if one["id"] in ran):
                yield from call(one["id"], one["function"]["name"], one["function"]["arguments"])


def ended(
    given: RunInput, last: Any, *, error: str | None = None, code: str | None = None
) -> Iterator[Event | Outcome]:
    """How the run ended, as its last event or its output says."""
    # An event of an error has no metrics; an output has them whatever its status.
    over = finished(given, _spent(getattr(last, "metrics", None)))
    if error is not None:
        yield {**over, "type": "RUN_ERROR", "message": error, **({"code": code} if code else {})}
        yield Outcome("error", error, last.content)
    else:
        yield over
        yield Outcome("answered", None, last.content)


def _spent(metrics: RunMetrics | None) -> tuple[int, int] | None:
    return (metrics.input_tokens, metrics.output_tokens) if metrics is not None and metrics.total_tokens else None
