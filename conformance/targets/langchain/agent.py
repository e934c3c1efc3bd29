"""
LangChain as an agent under test: `target:langchain`.

Drives the graph of `create_agent`, blocking or streaming, and translates what it shows. It repairs nothing: an exception of the
framework is the end of the run, a bracket the framework leaves open stays open.
"""

from collections.abc import AsyncIterator, Mapping
from importlib.metadata import version
from typing import Any

import httpx2
from langchain.agents import create_agent
from langchain.messages import AIMessage
from langchain_core.callbacks import UsageMetadataCallbackHandler
from langchain_core.messages import BaseMessage, convert_to_messages
from langchain_core.runnables import RunnableConfig
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langsmith import tracing_context
from pydantic import SecretStr

from conformance.agent_side import AgentInfo, Bench, InProcessAgent, Outcome, RunInput
from conformance.targets.langchain.events import Event, events, usage
from conformance.targets.langchain.tools import tool

#: What differs from the recommended answers, each with where LangChain says or does so. Paths are below site-packages.
DIALECT: Mapping[str, Any] = {
    # langgraph/pregel/main.py, Pregel.astream: GraphRecursionError once the loop is out of steps, with no closing request.
    "on_limit": "raise",
    # langchain/agents/factory.py, create_agent: a recursion_limit of 9_999, whose odd steps are the model's.
    "default_max_iters": 5000,
    # langchain/agents/factory.py, _make_model_to_tools_edge: a reply without calls is the end, whatever else it holds.
    "empty_response": "finish",
    # langchain_openai/chat_models/base.py, OpenAIContextOverflowError: raised; compacting is left to a middleware.
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
                # What langchain_openai makes of the SDK's errors, and what it lets through.
                "OpenAIAuthenticationError",
                "OpenAIPermissionDeniedError",
                "OpenAIModelNotFoundError",
                "OpenAIRateLimitError",
                "OpenAIAPIError",
                "OpenAIConnectionError",
                "OpenAITimeoutError",
                "ConflictError",
                "UnprocessableEntityError",
                "APIStatusError",
                # openai/_response.py: of a body that is no JSON.
                "JSONDecodeError",
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
        ids = {"threadId": given.input["threadId"], "runId": given.run}
        messages = self._messages(given.input["messages"])
        tools = [tool(self._bench, **one) for one in given.input["tools"]]
        agent = create_agent(self._model, tools, system_prompt=self._system, checkpointer=self._saver)
        spent = UsageMetadataCallbackHandler()
        config: RunnableConfig = {"configurable": {"thread_id": given.session}, "callbacks": [spent], **_limit(given)}
        yield {"type": "RUN_STARTED", **ids}
        # Whoever runs this may have switched tracing on for work of their own.
        with tracing_context(enabled=False):
            async for event in events(agent, {"messages": messages}, config, stream=given.stream):
                yield event
            state = await agent.aget_state(config)
        yield {"type": "RUN_FINISHED", **ids, **usage(spent)}
        last: AIMessage = state.values["messages"][-1]
        yield _outcome(last)

    async def close(self) -> None:
        """Close the SDK's clients."""
        self._model.root_client.close()
        await self._model.root_async_client.close()

    def _messages(self, given: list[dict[str, Any]]) -> list[BaseMessage]:
        """What goes into the conversation; the system text is the agent's, which puts it before every request."""
        system = [message["content"] for message in given if message["role"] == "system"]
        self._system = "\n\n".join(system) or self._system
        return convert_to_messages([_message(**message) for message in given if message["role"] != "system"])


def _limit(given: RunInput) -> RunnableConfig:
    """
    N rounds are 2N supersteps: the model's and, all calls of a reply together, the tools'.

    The step that takes the input is not counted. An answer in round N is step 2N - 1 and ends the graph before its steps are
    out; after the tools of round N they are out (langgraph/pregel/_loop.py, PregelLoop.tick). 0 is refused with ValueError.
    """
    return {"recursion_limit": 2 * given.limits["max_iters"]} if "max_iters" in given.limits else {}


def _outcome(last: AIMessage) -> Outcome:
    """A graph that is not raised out of has one way to end; what else there is to know stands in its last message."""
    reason = last.response_metadata.get("finish_reason")
    match reason:
        case "length":
            kind = "truncated" if last.text or last.invalid_tool_calls else "overflow"
        case "content_filter":
            kind = "filtered"
        case _:
            kind = "error" if last.invalid_tool_calls else "answered"
    return Outcome(kind, reason, last.text)


def _message(role: str, content: Any = "", **rest: Any) -> dict[str, Any]:
    """An AG-UI message in the form of OpenAI's, which LangChain reads. Ids stay out: an equal one would replace a message."""
    kept = {"toolCalls": "tool_calls", "toolCallId": "tool_call_id", "name": "name"}
    return {"role": role, "content": content or "", **{kept[key]: value for key, value in rest.items() if key in kept}}


AGENT = InProcessAgent(
    AgentInfo(
        name="langchain",
        version=version("langchain"),
        channels=("M", "T", "E", "R", "U"),
        dialect=DIALECT,
        capabilities={"sessions": True, "streaming": True, "wire_streaming": True},
    ),
    open=_Session,
)
