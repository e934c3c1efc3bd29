"""Pydantic AI's own events as AG-UI events, one by one. Adds none, closes none and mends none."""

import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from itertools import count
from typing import Any

from pydantic_ai import Agent, AgentRun, AgentStreamEvent
from pydantic_ai import messages as m

Event = dict[str, Any]

#: The bracket in which a part of a response travels, and the role its start names.
BRACKETS: Mapping[str, tuple[str, str]] = {
    "text": ("TEXT_MESSAGE", "assistant"),
    "thinking": ("REASONING_MESSAGE", "reasoning"),
}


async def events(run: AgentRun[None, str], name: str, *, stream: bool) -> AsyncIterator[Event]:
    """What a run shows. Unstreamed, the framework has no events of a response: its parts are shown whole, once they are there."""
    responses = (f"{name}-{number}" for number in count(1))
    async for node in run:
        if Agent.is_model_request_node(node) and stream:
            within = next(responses)
            async with node.stream(run.ctx) as response:
                async for event in response:
                    for shown in _shown(event, within):
                        yield shown
        elif Agent.is_call_tools_node(node):
            for shown in [] if stream else _whole(node.model_response.parts, next(responses)):
                yield shown
            async with node.stream(run.ctx) as results:
                async for event in results:
                    for shown in _shown(event, name):
                        yield shown


def _whole(parts: Sequence[m.ModelResponsePart], name: str) -> Iterator[Event]:
    for index, part in enumerate(parts):
        yield from _shown(m.PartStartEvent(index=index, part=part), name)
        yield from _shown(m.PartEndEvent(index=index, part=part), name)


def _shown(event: AgentStreamEvent, name: str) -> Iterator[Event]:
    """The AG-UI events for one of the framework's; `name` is its response's. What has no counterpart is not shown."""
    match event:
        case m.PartStartEvent(part=m.ToolCallPart() as part):
            yield {"type": "TOOL_CALL_START", "toolCallId": part.tool_call_id, "toolCallName": part.tool_name}
            yield from _arguments(part.tool_call_id, part.args)
        case m.PartDeltaEvent(delta=m.ToolCallPartDelta(tool_call_id=str() as call, args_delta=arguments)):
            yield from _arguments(call, arguments)
        case m.PartEndEvent(part=m.ToolCallPart() as part):
            yield {"type": "TOOL_CALL_END", "toolCallId": part.tool_call_id}
        case m.PartStartEvent(index=index, part=m.TextPart() | m.ThinkingPart() as part):
            bracket, role = BRACKETS[part.part_kind]
            yield {"type": f"{bracket}_START", "messageId": f"{name}-{index}", "role": role}
            yield from _content(bracket, f"{name}-{index}", part.content)
        case m.PartDeltaEvent(index=index, delta=m.TextPartDelta() | m.ThinkingPartDelta() as delta):
            yield from _content(BRACKETS[delta.part_delta_kind][0], f"{name}-{index}", delta.content_delta)
        case m.PartEndEvent(index=index, part=m.TextPart() | m.ThinkingPart() as part):
            yield {"type": f"{BRACKETS[part.part_kind][0]}_END", "messageId": f"{name}-{index}"}
        case m.FunctionToolResultEvent(part=result):
            call = result.tool_call_id
            content = result.model_response_str()
            yield {"type": "TOOL_CALL_RESULT", "messageId": f"{name}-{call}", "toolCallId": call, "content": content}


def _content(bracket: str, message: str, delta: str | None) -> Iterator[Event]:
    if delta:
        yield {"type": f"{bracket}_CONTENT", "messageId": message, "delta": delta}


def _arguments(call: str, arguments: str | dict[str, Any] | None) -> Iterator[Event]:
    if arguments:
        delta = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
        yield {"type": "TOOL_CALL_ARGS", "toolCallId": call, "delta": delta}


def usage(run: AgentRun[None, str]) -> Event:
    """The run's tokens, where the model reported any."""
    tokens = run.usage
    if not tokens.total_tokens:
        return {}
    return {"usage": [{"inputTokens": tokens.input_tokens, "outputTokens": tokens.output_tokens}]}
