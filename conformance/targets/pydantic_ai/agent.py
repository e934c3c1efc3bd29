"""
Pydantic AI as an agent under test: `python:conformance.targets.pydantic_ai.agent:AGENT`.

Drives `Agent.iter`, blocking or streaming, and translates what the framework shows. It repairs nothing: an exception of the
framework is the end of the run, a bracket the framework leaves open stays open.
"""

import json
import os
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from importlib.metadata import version
from itertools import count
from typing import Any

import httpx2
from ag_ui.core import RunAgentInput
from openai import AsyncOpenAI
from pydantic_ai import Agent, AgentRun, AgentStreamEvent, UsageLimits
from pydantic_ai import messages as m
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.tools import RunContext, Tool
from pydantic_ai.ui.ag_ui import AGUIAdapter

from conformance.agent_side import AgentInfo, Bench, InProcessAgent, Outcome, RunInput

Event = dict[str, Any]

#: What differs from the recommended answers, each with where Pydantic AI says or does so. Paths are below pydantic_ai/.
DIALECT: Mapping[str, Any] = {
    # usage.py, UsageLimits.check_before_request: request N + 1 raises UsageLimitExceeded, with no closing request.
    "on_limit": "raise",
    # usage.py, UsageLimits.request_limit: 50 unless the caller says otherwise.
    "default_max_iters": 50,
    # usage.py, RunUsage.requests: every response of the loop counts, the answer to a retry prompt too; SDK retries do not.
    "retry_budget": "counts",
    # _agent_graph.py, CallToolsNode: empty means no part, or only thinking and texts without a character.
    # _agent_graph.py, consume_output_retry: one retry (AgentRetries), counted over the run.
    "recovery_scope": "run",
    # exceptions.py, ModelContextWindowExceededError: raised; compacting is left to the caller.
    "prompt_too_long": "error",
    # exceptions.py, ModelAPIError and below: raised.
    "model_error": "raise",
    # messages.py, ModelResponse.finish_reason: a cut text is the output all the same; the reason can be read beside it.
    "length_stop": "flag",
    # ai.pydantic.dev/tools-advanced: ModelRetry and ToolFailed are fed back, any other exception ends the run.
    "tool_exception": "raise",
    # tools.py, Tool.from_schema: "Schema validation of the arguments is skipped".
    "type_check": "tool",
    "extra_args": "pass",
    # This adapter: see `_events`.
    "events": "translated",
    # run.py, AgentRun.usage: a sum over the run.
    "usage_events": "per_run",
    "exceptions": {
        "UsageLimitExceeded": "limit",
        "UnexpectedModelBehavior": "empty",
        "OutputTokenLimitExceeded": "truncated",
        "IncompleteToolCall": "truncated",
        "ContentFilterError": "filtered",
        "ModelContextWindowExceededError": "overflow",
        "ToolFailed": "tool_error",
        "ModelAPIError": "model_error",
        "ModelHTTPError": "model_error",
        "ModelRateLimitError": "model_error",
        "ModelQuotaExceededError": "model_error",
        "ModelUnavailableError": "model_error",
        "ModelOverloadedError": "model_error",
        "ModelServerError": "model_error",
        "ModelConnectionError": "model_error",
        "ModelTimeoutError": "model_error",
        "ModelRequestRejectedError": "model_error",
        "ModelAuthenticationError": "model_error",
        "ModelNotFoundError": "model_error",
    },
}
#: What a finish reason beside an output says of it (messages.py, FinishReason).
KINDS: Mapping[str | None, str] = {"length": "truncated", "content_filter": "filtered"}
#: The bracket in which a part of a response travels, and the role its start names.
BRACKETS: Mapping[str, tuple[str, str]] = {
    "text": ("TEXT_MESSAGE", "assistant"),
    "thinking": ("REASONING_MESSAGE", "reasoning"),
}


class _Session:
    """One conversation: its messages are kept from run to run, those of a run that raised too."""

    def __init__(self, bench: Bench) -> None:
        # The framework's own switch: its first run prints a banner where it finds a terminal.
        os.environ.setdefault("PYDANTIC_AI_NO_BANNER", "1")
        http = httpx2.AsyncClient(transport=bench.async_transport())
        self._client = AsyncOpenAI(base_url=bench.base_url, api_key=bench.api_key, http_client=http)
        self._model = OpenAIChatModel(bench.model_name, provider=OpenAIProvider(openai_client=self._client))
        self._bench = bench
        self._messages: list[m.ModelMessage] = []

    async def run(self, given: RunInput) -> AsyncIterator[Event | Outcome]:
        """One run of an agent with the run's tools. Exceptions of the framework are let out."""
        ids = {"threadId": given.input["threadId"], "runId": given.run}
        *before, last = RunAgentInput.model_validate(given.input).messages
        agent = Agent(self._model, tools=[self._tool(**tool) for tool in given.input["tools"]])
        limits = UsageLimits(request_limit=given.limits["max_iters"]) if "max_iters" in given.limits else UsageLimits()
        history = [*self._messages, *AGUIAdapter.load_messages(before)]
        yield {"type": "RUN_STARTED", **ids}
        async with agent.iter(last.content, message_history=history, usage_limits=limits) as run:
            try:
                async for event in _events(run, given):
                    yield event
            finally:
                self._messages = run.all_messages()
        yield {"type": "RUN_FINISHED", **ids, **_usage(run)}
        response = run.result.response
        yield Outcome(KINDS.get(response.finish_reason, "answered"), response.finish_reason, run.result.output)

    async def close(self) -> None:
        """Close the SDK's client."""
        await self._client.close()

    def _tool(self, name: str, description: str, parameters: dict[str, Any], **_: Any) -> Tool[None]:
        # What the tool raises is an ordinary exception to the framework, as that of any user's tool.
        async def call(context: RunContext[None], /, **arguments: Any) -> Any:
            return await self._bench.acall_tool(name, arguments, context.tool_call_id)

        return Tool.from_schema(call, name, description, parameters, takes_ctx=True)


async def _events(run: AgentRun[None, str], given: RunInput) -> AsyncIterator[Event]:
    """What a run shows. Unstreamed, the framework has no events of a response: its parts are shown whole, once they are there."""
    names = (f"{given.run}-{number}" for number in count(1))
    async for node in run:
        if Agent.is_model_request_node(node) and given.stream:
            name = next(names)
            async with node.stream(run.ctx) as stream:
                async for event in stream:
                    for shown in _shown(event, name):
                        yield shown
        elif Agent.is_call_tools_node(node):
            for shown in [] if given.stream else _whole(node.model_response.parts, next(names)):
                yield shown
            async with node.stream(run.ctx) as results:
                async for event in results:
                    for shown in _shown(event, given.run):
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


def _usage(run: AgentRun[None, str]) -> Event:
    """The run's tokens, where the model reported any."""
    usage = run.usage
    if not usage.has_values():
        return {}
    return {"usage": [{"inputTokens": usage.input_tokens, "outputTokens": usage.output_tokens}]}


AGENT = InProcessAgent(
    AgentInfo(
        name="pydantic-ai",
        version=version("pydantic-ai-slim"),
        channels=("M", "T", "E", "R", "U"),
        dialect=DIALECT,
        capabilities={"sessions": True, "streaming": True, "wire_streaming": True},
    ),
    open=_Session,
)
