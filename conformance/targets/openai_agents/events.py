"""The Agents SDK's own events and hooks as AG-UI events, one by one. Adds none, closes none and mends none."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

from agents import Agent, ModelResponse, RunHooks, Runner, StreamEvent
from agents.result import RunResultBase

from conformance.targets.shown import Event, Streamed, call, result, text

#: How thinking is shown.
THINKING = ("REASONING_MESSAGE", "reasoning")


async def played(
    agent: Agent, items: list[Any], settings: Mapping[str, Any], run: str, *, stream: bool
) -> AsyncIterator[Event | RunResultBase]:
    """What a run shows and, last, its result."""
    if stream:
        streaming, brackets = Runner.run_streamed(agent, items, **settings), _Brackets(run)
        async for event in streaming.stream_events():
            for shown in brackets.of(event):
                yield shown
        yield streaming
        return
    told: asyncio.Queue[Event | None] = asyncio.Queue()
    task = asyncio.create_task(Runner.run(agent, items, hooks=_Hooks(run, told), **settings))
    task.add_done_callback(lambda _: told.put_nowait(None))
    try:
        while (one := await told.get()) is not None:
            yield one
        yield await task
    finally:
        task.cancel()


class _Hooks(RunHooks):
    """Unstreamed, hooks tell of replies and results: each is shown whole, once it is there."""

    def __init__(self, run: str, told: asyncio.Queue[Event | None]) -> None:
        self._run = run
        self._told = told
        self._replies = 0

    async def on_llm_end(self, _context: Any, _agent: Any, response: ModelResponse) -> None:
        self._replies += 1
        for index, item in enumerate(response.output):
            for event in _whole(item, f"{self._run}-{self._replies}-{index}"):
                self._told.put_nowait(event)

    async def on_tool_end(self, context: Any, _agent: Any, _tool: Any, output: Any) -> None:
        self._told.put_nowait(_result(context.tool_call_id, output))


class _Brackets:
    """The stream, in which a reply's events have the names of Responses on either wire; what came of a call is the loop's own event."""

    def __init__(self, run: str) -> None:
        self._run = run
        self._replies = 0
        self._open = Streamed()
        self._calls: dict[str, str] = {}

    def of(self, event: StreamEvent) -> Iterator[Event]:
        """The AG-UI events for one of the SDK's. What has no counterpart is not shown."""
        if event.type == "run_item_stream_event" and event.name == "tool_output":
            yield _result(event.item.raw_item["call_id"], event.item.output)
        elif event.type == "raw_response_event":
            yield from self._piece(event.data)

    def _piece(self, piece: Any) -> Iterator[Event]:
        key = f"{self._run}-{self._replies}-{getattr(piece, 'output_index', '')}"
        match piece.type:
            case "response.created":
                self._replies += 1
                self._calls.clear()
            case "response.output_text.delta" | "response.refusal.delta":
                yield from self._open.text(key, piece.delta)
            case "response.reasoning_text.delta" | "response.reasoning_summary_text.delta":
                yield from self._open.text(key, piece.delta, *THINKING)
            case "response.output_item.added" if piece.item.type == "function_call":
                # The SDK tells calls apart by their place; in AG-UI those of one id cannot be open side by side.
                for other in [one for one, call_id in self._calls.items() if call_id == piece.item.call_id]:
                    yield from self._open.end(other)
                self._calls[key] = piece.item.call_id
                yield from self._open.call(key, piece.item.call_id, piece.item.name, None)
            case "response.function_call_arguments.delta":
                yield from self._open.call(key, None, None, piece.delta)
            case "response.output_item.done":
                yield from self._open.end(key)


def _whole(item: Any, message: str) -> Iterator[Event]:
    match item.type:
        case "message":
            yield from text(
                message, "".join(getattr(part, "text", "") or getattr(part, "refusal", "") for part in item.content)
            )
        case "reasoning":
            parts = [*item.summary, *(item.content or ())]
            yield from text(message, "".join(part.text for part in parts), *THINKING)
        case "function_call":
            yield from call(item.call_id, item.name, item.arguments)


def _result(call_id: str, output: Any) -> Event:
    """What the model is told: of a text of MCP the text itself."""
    return result(call_id, output["text"] if isinstance(output, dict) and output.get("type") == "text" else str(output))


def usage(made: RunResultBase) -> tuple[int, int] | None:
    """The run's input and output tokens, where the model reported any."""
    spent = made.context_wrapper.usage
    return (spent.input_tokens, spent.output_tokens) if spent.total_tokens else None
