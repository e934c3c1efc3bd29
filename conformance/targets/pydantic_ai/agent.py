"""
Pydantic AI as an agent under test: `target:pydantic-ai`.

Drives `Agent.iter`, blocking or streaming, and translates what the framework shows. It repairs nothing: an exception of the
framework is the end of the run, a bracket the framework leaves open stays open.
"""

import os
from collections.abc import AsyncIterator, Mapping
from importlib.metadata import version
from typing import Any, cast

import httpx2
from ag_ui.core import RunAgentInput
from openai import AsyncOpenAI
from pydantic_ai import Agent, AgentRunResult, ModelMessage, UsageLimits
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.ui.ag_ui import AGUIAdapter

from conformance.agent_side import AgentInfo, Bench, InProcessAgent, Outcome, RunInput
from conformance.targets.pydantic_ai.events import Event, events, usage
from conformance.targets.pydantic_ai.tools import tool

#: What differs from the recommended answers, each with where Pydantic AI says or does so. Paths are below pydantic_ai/.
DIALECT: Mapping[str, Any] = {
    # usage.py, UsageLimits.check_before_request: request N + 1 raises UsageLimitExceeded, with no closing request.
    "on_limit": "raise",
    # usage.py, UsageLimits.request_limit: 50 unless the caller says otherwise.
    "default_max_iters": 50,
    # usage.py, RunUsage.requests: every response of the loop counts, the answer to a retry prompt too; SDK retries do not.
    "retry_budget": "counts",
    # _agent_graph.py, CallToolsNode: a response of thinking only, or of texts without a character; a blank is a text.
    "empty_is": ["no_parts", "null", "thinking"],
    # _agent_graph.py, consume_output_retry: one retry (AgentRetries), counted over the run.
    "recovery_scope": "run",
    # exceptions.py, ModelContextWindowExceededError: raised; compacting is left to the caller.
    "prompt_too_long": "error",
    # exceptions.py, ModelAPIError: it and what is below it are raised.
    "model_error": "raise",
    # messages.py, ModelResponse.finish_reason: a cut text is the output all the same; the reason can be read beside it.
    "length_stop": "flag",
    # tool_manager.py, ToolManager: ModelRetry and ToolFailed are fed back, any other exception of a tool ends the run.
    "tool_exception": "raise",
    # tools.py, Tool.from_schema: "Schema validation of the arguments is skipped".
    "type_check": "tool",
    "extra_args": "pass",
    # events.py of this adapter.
    "events": "translated",
    # run.py, AgentRun.usage: a sum over the run.
    "usage_events": "per_run",
    # exceptions.py. UnexpectedModelBehavior and ModelRequestRejectedError stay out: each is raised for several causes.
    "exceptions": {
        "UsageLimitExceeded": "limit",
        # Of a text output: length was reached with nothing said.
        "OutputTokenLimitExceeded": "overflow",
        "ModelContextWindowExceededError": "overflow",
        "IncompleteToolCall": "truncated",
        "ContentFilterError": "filtered",
        "ToolFailed": "tool_error",
        **dict.fromkeys(
            (
                "ModelAPIError",
                "ModelHTTPError",
                "ModelRateLimitError",
                "ModelQuotaExceededError",
                "ModelUnavailableError",
                "ModelOverloadedError",
                "ModelServerError",
                "ModelConnectionError",
                "ModelTimeoutError",
                "ModelAuthenticationError",
                "ModelNotFoundError",
            ),
            "model_error",
        ),
    },
}
#: What a finish reason beside an output says of it (messages.py, FinishReason).
KINDS: Mapping[str | None, str] = {"length": "truncated", "content_filter": "filtered"}


class _Session:
    """One conversation: its messages are kept from run to run, those of a run that raised too."""

    def __init__(self, bench: Bench) -> None:
        # The framework's own switch: its first run prints a banner where it finds a terminal.
        os.environ.setdefault("PYDANTIC_AI_NO_BANNER", "1")
        http = httpx2.AsyncClient(transport=bench.async_transport())
        self._client = AsyncOpenAI(base_url=bench.base_url, api_key=bench.api_key, http_client=http)
        self._model = OpenAIChatModel(bench.model_name, provider=OpenAIProvider(openai_client=self._client))
        self._bench = bench
        self._messages: list[ModelMessage] = []

    async def run(self, given: RunInput) -> AsyncIterator[Event | Outcome]:
        """One run of an agent with the run's tools. Exceptions of the framework are let out."""
        ids = {"threadId": given.input["threadId"], "runId": given.run}
        *before, _ = RunAgentInput.model_validate(given.input).messages
        agent = Agent(self._model, tools=[tool(self._bench, **one) for one in given.input["tools"]])
        limits = UsageLimits(request_limit=given.limits["max_iters"]) if "max_iters" in given.limits else UsageLimits()
        history = [*self._messages, *AGUIAdapter.load_messages(before)]
        yield {"type": "RUN_STARTED", **ids}
        async with agent.iter(
            given.input["messages"][-1]["content"], message_history=history, usage_limits=limits
        ) as run:
            try:
                async for event in events(run, given.run, stream=given.stream):
                    yield event
            finally:
                self._messages = run.all_messages()
        yield {"type": "RUN_FINISHED", **ids, **usage(run)}
        result = cast("AgentRunResult[str]", run.result)  # a run that was iterated to its end has one
        reason = result.response.finish_reason
        yield Outcome(KINDS.get(reason, "answered"), reason, result.output)

    async def close(self) -> None:
        """Close the SDK's client."""
        await self._client.close()


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
