"""LlamaIndex's own events as AG-UI events, one by one. Adds none, closes none and mends none."""

from collections.abc import AsyncIterator, Iterator
from itertools import count
from typing import Any

from llama_index.core.agent.workflow import AgentOutput, AgentStream, ToolCall, ToolCallResult
from llama_index.core.base.llms.types import ThinkingBlock

from conformance.targets.shown import Event, Streamed, call, result, text


async def events(handler: Any, run: str, *, stream: bool) -> AsyncIterator[Event]:
    """
    What a run shows. A reply has no name of its own, so it is called by the run and a number.

    A call is shown where the framework begins to run it: what a stream shows of it before is no text that grows, but its
    arguments as far as they can be read.
    """
    names, brackets = (f"{run}-{number}" for number in count(1)), Streamed()
    name = next(names)
    async for event in handler.stream_events():
        match event:
            case AgentStream(delta=delta, thinking_delta=thinking):
                for shown in _pieces(brackets, name, delta, thinking or ""):
                    yield shown
            case AgentOutput(response=reply):
                for shown in brackets.end() if stream else _whole(reply, name):
                    yield shown
                name = next(names)
            case ToolCall(tool_id=call_id, tool_name=tool, tool_kwargs=arguments):
                for shown in call(call_id, tool, arguments or None):
                    yield shown
            case ToolCallResult(tool_id=call_id, tool_output=output):
                yield result(call_id, output.content)


def _pieces(brackets: Streamed, name: str, delta: str, thinking: str) -> Iterator[Event]:
    yield from brackets.text(f"{name}-thinking", thinking, "REASONING_MESSAGE", "reasoning")
    yield from brackets.text(name, delta)


def _whole(reply: Any, name: str) -> Iterator[Event]:
    for block in reply.blocks:
        if isinstance(block, ThinkingBlock):
            yield from text(f"{name}-thinking", block.content or "", "REASONING_MESSAGE", "reasoning")
    if reply.content:
        yield from text(name, reply.content)
