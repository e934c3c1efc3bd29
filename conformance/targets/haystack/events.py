"""What Haystack's hooks and its streaming callback show, as AG-UI events. Adds none, closes none and mends none."""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterable, Iterator
from typing import Any

from haystack.components.agents.state import State
from haystack.dataclasses import ChatMessage, StreamingChunk
from haystack.hooks import FunctionHook

from conformance.targets.shown import Event, Streamed, call, result, text


class Shown:
    """
    What a run shows: unstreamed the messages that a step adds, where a hook sees them, streamed its chunks.

    A reply has no name of its own, so it is called by the run and a number.
    """

    def __init__(self, run: str, seen: int) -> None:
        self._run = run
        self._seen = seen
        self._replies = 0
        self._brackets = Streamed()
        self._calls: dict[str, Any] = {}
        self._events: asyncio.Queue[Event | None] = asyncio.Queue()
        #: What the agent returned.
        self.result: dict[str, Any] = {}
        step, reply, done = (FunctionHook(async_function=one) for one in (self._step, self._reply, self._done))
        self.hooks = {"before_tool": [step], "after_tool": [step], "after_run": [step]}
        self.streaming_hooks = {"before_llm": [reply], "before_tool": [done], "after_run": [done]}

    async def during(self, run: Coroutine[Any, Any, dict[str, Any]]) -> AsyncIterator[Event]:
        """The events of a run as they come; what the run raises is raised behind them."""
        task = asyncio.ensure_future(run)
        task.add_done_callback(lambda _: self._events.put_nowait(None))
        while (event := await self._events.get()) is not None:
            yield event
        self.result = await task

    async def chunk(self, chunk: StreamingChunk) -> None:
        """The streaming callback."""
        name = f"{self._run}-{self._replies}"
        self._show(self._brackets.text(name, chunk.content))
        for delta in chunk.tool_calls or ():
            key = (name, delta.index)
            # Calls of one id cannot be open side by side.
            if delta.id and self._calls.setdefault(delta.id, key) != key:
                self._show(self._brackets.end(self._calls[delta.id]))
                self._calls[delta.id] = key
            self._show(self._brackets.call(key, delta.id, delta.tool_name, delta.arguments))
        # The result of a call without an id cannot be shown.
        if chunk.tool_call_result is not None and chunk.tool_call_result.origin.id:
            self._show([result(chunk.tool_call_result.origin.id, chunk.tool_call_result.result)])

    async def _reply(self, state: State) -> None:  # noqa: ARG002 - the framework's signature
        self._replies += 1

    async def _done(self, state: State) -> None:  # noqa: ARG002 - the framework's signature
        self._show(self._brackets.end())

    async def _step(self, state: State) -> None:
        messages = state.data["messages"]
        for message in messages[self._seen :]:
            self._replies += 1
            self._show(_whole(message, f"{self._run}-{self._replies}"))
        self._seen = len(messages)

    def _show(self, events: Iterable[Event]) -> None:
        for event in events:
            self._events.put_nowait(event)


def _whole(message: ChatMessage, name: str) -> Iterator[Event]:
    if message.text:
        yield from text(name, message.text)
    # A call without an id cannot be shown.
    for one in (one for one in message.tool_calls if one.id is not None):
        yield from call(one.id, one.tool_name, one.arguments or None)
    for one in (one for one in message.tool_call_results if one.origin.id is not None):
        yield result(one.origin.id, one.result)
