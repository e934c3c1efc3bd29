"""
LangGraph's prebuilt agent as an agent under test: `target:langgraph`.

Drives the graph of `create_react_agent`, blocking or streaming, and translates what it shows. It repairs nothing: an exception of the
framework is the end of the run, a bracket the framework leaves open stays open.
"""

from collections.abc import AsyncIterator, Mapping
from importlib.metadata import version
from typing import Any

import httpx2
from langchain_core.callbacks import UsageMetadataCallbackHandler
from langchain_core.runnables import RunnableConfig
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.prebuilt import create_react_agent
from langsmith import tracing_context
from pydantic import SecretStr

from conformance.agent_side import AgentInfo, Bench, InProcessAgent, Outcome, RunInput
from conformance.targets.langchain.tools import tool
from conformance.targets.langgraph.events import events, messages, outcome, usage
from conformance.targets.shown import Event, finished, started

#: What differs from the recommended answers, each with where it is said or done. Paths are below site-packages.
DIALECT: Mapping[str, Any] = {
    # langgraph/prebuilt/chat_agent_executor.py, acall_model: a reply that calls when fewer than two steps are left gives way to
    # "Sorry, need more steps to process this request.", and its calls are dropped. The graph ends as with an answer.
    "limit_text": "canned",
    "last_round_tools": "skip",
    # langgraph/_internal/_config.py, DEFAULT_RECURSION_LIMIT: 10_007 steps, whose odd ones are the model's.
    "default_max_iters": 5004,
    # langgraph/prebuilt/chat_agent_executor.py, should_continue: a reply without calls is the end, whatever else it holds.
    "empty_response": "finish",
    # langchain_openai/chat_models/base.py, OpenAIContextOverflowError: raised; compacting is left to a pre_model_hook.
    "prompt_too_long": "error",
    # langchain_openai/chat_models/base.py, _handle_openai_bad_request, _handle_openai_api_error: raised.
    "model_error": "raise",
    # langchain_openai/chat_models/base.py: a cut text is the answer all the same; the reason stands in response_metadata.
    "length_stop": "flag",
    # langgraph/prebuilt/tool_node.py, _default_handle_tool_errors: all but arguments that fail validation is raised.
    "tool_exception": "raise",
    # langchain_core/tools/base.py, BaseTool._parse_input: a schema that is a dict checks nothing.
    "type_check": "tool",
    "extra_args": "pass",
    # events.py of this adapter.
    "events": "translated",
    # langchain_openai/chat_models/base.py: of a reply over Chat Completions content, refusal and calls are read.
    "reasoning_events": "off",
    # langchain_core/callbacks/usage.py, UsageMetadataCallbackHandler: a sum over the run.
    "usage_events": "per_run",
    # OpenAIInvalidRequestError stays out: it is raised for several causes, an overflow told by its code among them.
    "exceptions": {
        "GraphRecursionError": "limit",
        "OpenAIContextOverflowError": "overflow",
        "OpenAIAPIContextOverflowError": "overflow",
        "ToolFailed": "tool_error",
        **dict.fromkeys(
            (
                # What langchain_openai makes of the SDK's errors, and what it lets through; the last is of a body that is no JSON.
                *("OpenAIAuthenticationError", "OpenAIPermissionDeniedError", "OpenAIModelNotFoundError"),
                *("OpenAIRateLimitError", "OpenAIAPIError", "OpenAIConnectionError", "OpenAITimeoutError"),
                *("ConflictError", "UnprocessableEntityError", "APIStatusError", "JSONDecodeError"),
            ),
            "model_error",
        ),
    },
}


class _Session:
    """One conversation: a checkpointer keeps its messages from run to run, as far as a run got."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._model = ChatOpenAI(
            model=bench.model_name,
            base_url=bench.base_url,
            api_key=SecretStr(bench.api_key),
            # The SDK's own library since openai 3 (langchain_openai/_compat.py).
            http_client=httpx2.Client(transport=bench.transport()),
            http_async_client=httpx2.AsyncClient(transport=bench.async_transport()),
            # Off by default where the base URL is not OpenAI's own.
            stream_usage=True,
        )
        self._saver = InMemorySaver()
        self._system: str | None = None

    async def run(self, given: RunInput) -> AsyncIterator[Event | Outcome]:
        """One run of an agent with the run's tools. Exceptions of the framework are let out."""
        system = [message["content"] for message in given.input["messages"] if message["role"] == "system"]
        self._system = "\n\n".join(system) or self._system
        tools = [tool(self._bench, **one) for one in given.input["tools"]]
        agent = create_react_agent(self._model, tools, prompt=self._system, checkpointer=self._saver)
        spent = UsageMetadataCallbackHandler()
        config: RunnableConfig = {"configurable": {"thread_id": given.session}, "callbacks": [spent], **_limit(given)}
        yield started(given)
        # Whoever runs this may have switched tracing on for work of their own.
        with tracing_context(enabled=False):
            async for event in events(agent, {"messages": messages(given)}, config, stream=given.stream):
                yield event
            state = await agent.aget_state(config)
        yield finished(given, usage(spent))
        yield outcome(state.values["messages"][-1])

    async def close(self) -> None:
        """Close the SDK's clients."""
        self._model.root_client.close()
        await self._model.root_async_client.close()


def _limit(given: RunInput) -> RunnableConfig:
    """
    N rounds are 2N supersteps: the model's and, all calls of a reply together, the tools'.

    Calls of round N have too few steps left (langgraph/managed/is_last_step.py); 2N + 1 would let them run, and ask once more.
    """
    return {"recursion_limit": 2 * given.limits["max_iters"]} if "max_iters" in given.limits else {}


AGENT = InProcessAgent(
    AgentInfo(
        name="langgraph",
        version=version("langgraph"),
        channels=("M", "T", "E", "R", "U"),
        dialect=DIALECT,
        capabilities={"sessions": True, "streaming": True, "wire_streaming": True},
    ),
    open=_Session,
)
