"""
LlamaIndex as an agent under test: `target:llama-index`.

Drives `FunctionAgent.run`, blocking or streaming, and translates what it shows. It repairs nothing: an exception of the framework
is the end of the run.
"""

from collections.abc import AsyncIterator, Mapping
from importlib.metadata import version
from typing import Any

import httpx
from llama_index.core.agent.workflow import AgentOutput, FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, TextBlock, ToolCallBlock
from llama_index.core.memory import Memory
from llama_index.llms.openai_like import OpenAILike
from sqlalchemy.ext.asyncio import create_async_engine

from conformance.agent_side import AgentInfo, Bench, InProcessAgent, Outcome, RunInput
from conformance.targets.llama_index.events import Event, events
from conformance.targets.llama_index.tools import tool
from conformance.targets.shown import finished, started

#: What differs from the recommended answers, each with where LlamaIndex says or does so. Paths are below site-packages.
DIALECT: Mapping[str, Any] = {
    # llama_index/core/agent/workflow/base_agent.py, early_stopping_method: "'force' raises an error (default)".
    "on_limit": "raise",
    # llama_index/core/agent/workflow/base_agent.py, DEFAULT_MAX_ITERATIONS.
    "default_max_iters": 20,
    # llama_index/core/agent/workflow/base_agent.py, parse_agent_output: raises before the last reply's calls are sent on.
    "last_round_tools": "skip",
    # llama_index/core/agent/workflow/base_agent.py, parse_agent_output: a reply without calls is the end, whatever else it holds.
    "empty_response": "finish",
    # llama_index/llms/openai/base.py: what the SDK raises leaves the run, also of an overflow; the memory trims by its own limit.
    "prompt_too_long": "error",
    "model_error": "raise",
    # llama_index/llms/openai/base.py, _achat: the finish reason is not read; it stands in the output's raw.
    "length_stop": "flag",
    # llama_index/core/tools/function_tool.py, FunctionTool.acall: the function gets what the model said, unchecked.
    "type_check": "tool",
    "extra_args": "pass",
    # events.py of this adapter.
    "events": "translated",
    "exceptions": {
        # llama_index/core/agent/workflow/base_agent.py: of a run that began, the agents raise it for this alone.
        "WorkflowRuntimeError": "limit",
        # What the SDK raises. BadRequestError stays out: an overflow is one of its causes.
        **dict.fromkeys(
            (
                "AuthenticationError",
                "PermissionDeniedError",
                "NotFoundError",
                "ConflictError",
                "UnprocessableEntityError",
                "RateLimitError",
                "InternalServerError",
                "APIStatusError",
                "APIConnectionError",
                "APITimeoutError",
                # Of a body that breaks off, and of one that is no JSON.
                "ReadError",
                "JSONDecodeError",
            ),
            "model_error",
        ),
    },
}


class _Session:
    """One conversation: its messages are kept by the memory, which has what a run raised out of had put there."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._http = httpx.AsyncClient(transport=bench.httpx_async_transport())
        at = {"model": bench.model_name, "api_base": bench.base_url, "api_key": bench.api_key}
        self._llm = OpenAILike(**at, is_chat_model=True, is_function_calling_model=True, async_http_client=self._http)
        # The memory's own default store, whose engine has a thread to be ended.
        self._engine = create_async_engine("sqlite+aiosqlite:///:memory:")
        self._memory = Memory.from_defaults(async_engine=self._engine)
        self._system: str | None = None

    async def run(self, given: RunInput) -> AsyncIterator[Event | Outcome]:
        """One run of an agent with the run's tools. Exceptions of the framework are let out."""
        *before, last = given.input["messages"]
        system = [message["content"] for message in before if message["role"] == "system"]
        self._system = "\n\n".join(system) or self._system
        for message in before:
            if message["role"] != "system":
                await self._memory.aput(_message(**message))
        agent = FunctionAgent(
            llm=self._llm,
            tools=[tool(self._bench, **one) for one in given.input["tools"]],
            system_prompt=self._system,
            streaming=given.stream,
        )
        yield started(given)
        # Counts the model's replies; without it the default holds.
        limit = given.limits.get("max_iters")
        handler = agent.run(user_msg=last["content"], memory=self._memory, max_iterations=limit)
        async for event in events(handler, given.run, stream=given.stream):
            yield event
        output: AgentOutput = await handler
        yield finished(given)
        yield _outcome(output)

    async def close(self) -> None:
        """Close the SDK's client and the memory's store."""
        await self._http.aclose()
        await self._engine.dispose()


def _outcome(output: AgentOutput) -> Outcome:
    """An agent that is not raised out of has one way to end; what else there is to know stands in the model's last reply."""
    reason = (output.raw or {"choices": [{}]})["choices"][0].get("finish_reason")
    kind = {"length": "truncated" if str(output) else "overflow", "content_filter": "filtered"}.get(reason, "answered")
    return Outcome(kind, reason, str(output))


def _message(role: str, content: str | None = None, **rest: Any) -> ChatMessage:
    """An AG-UI message as LlamaIndex keeps one."""
    calls = [(call["id"], call["function"]) for call in rest.get("toolCalls") or ()]
    blocks = [ToolCallBlock(tool_call_id=key, tool_name=it["name"], tool_kwargs=it["arguments"]) for key, it in calls]
    more = {"tool_call_id": rest["toolCallId"]} if role == "tool" else {}
    return ChatMessage(role=role, blocks=[TextBlock(text=content or ""), *blocks], additional_kwargs=more)


AGENT = InProcessAgent(
    AgentInfo(
        name="llama-index",
        version=version("llama-index-core"),
        dialect=DIALECT,
        capabilities={"sessions": True, "streaming": True, "wire_streaming": True},
    ),
    open=_Session,
)
