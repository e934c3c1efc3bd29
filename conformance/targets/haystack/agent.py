"""
Haystack as an agent under test: `target:haystack`.

Drives `Agent.run_async`, blocking or with a streaming callback, and translates what it shows. It repairs nothing: an exception of
the framework is the end of the run, a bracket the framework leaves open stays open.
"""

import json
from collections.abc import AsyncIterator, Mapping
from importlib.metadata import version
from typing import Any

from haystack.components.agents import Agent
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.dataclasses import ChatMessage, ToolCall
from haystack.tools import Tool
from haystack.utils import Secret

from conformance.agent_side import AgentInfo, Bench, InProcessAgent, Outcome, RunInput
from conformance.targets.haystack.events import Event, Shown
from conformance.targets.shown import finished, started

#: What differs from the recommended answers, each with where Haystack says or does so. Paths are below site-packages/haystack/.
DIALECT: Mapping[str, Any] = {
    # components/agents/agent.py, Agent.run_async: the state is returned, with max_agent_steps as its exit_reason.
    "on_limit": "stop",
    # components/agents/agent.py, Agent: max_agent_steps is 100 unless the caller says otherwise.
    "default_max_iters": 100,
    # components/agents/agent.py, _run_step_async: without tools any reply is the end; with tools an empty one is asked for again.
    "empty_response": "finish",
    "retry_budget": "counts",
    # components/generators/chat/openai.py, run_async: what the SDK raises leaves the run; compacting is left to a hook.
    "prompt_too_long": "error",
    "model_error": "raise",
    # components/agents/agent.py, _get_model_exit_reason: length and content_filter are exit reasons, with the text as it is.
    "length_stop": "flag",
    # tools/tool.py, Tool.invoke_async: the function gets what the model said, unchecked.
    "type_check": "tool",
    "extra_args": "pass",
    # events.py of this adapter.
    "events": "translated",
    # components/generators/chat/openai.py: of a reply over Chat Completions the text and the calls are read.
    "reasoning_events": "off",
    # components/agents/agent.py, token_usage: a sum over the run.
    "usage_events": "per_run",
    # What the SDK raises, the last of a body that is no JSON. BadRequestError stays out: an overflow is one of its causes.
    "exceptions": dict.fromkeys(
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
            "JSONDecodeError",
        ),
        "model_error",
    ),
}


class _Session:
    """One conversation: what a run returned is what the next one goes on from. A run that was raised out of returns nothing."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._generator = OpenAIChatGenerator(
            api_key=Secret.from_token(bench.api_key), model=bench.model_name, api_base_url=bench.base_url
        )
        self._messages: list[ChatMessage] = []

    async def run(self, given: RunInput) -> AsyncIterator[Event | Outcome]:
        """One run of an agent with the run's tools. Exceptions of the framework are let out."""
        messages = [*self._messages, *(_message(**message) for message in given.input["messages"])]
        shown = Shown(given.run, len(messages))
        # Counts the model's replies, each with the calls in it; 0 is none.
        limit = {"max_agent_steps": given.limits["max_iters"]} if "max_iters" in given.limits else {}
        agent = Agent(
            chat_generator=self._generator,
            tools=[self._tool(**tool) for tool in given.input["tools"]],
            hooks=shown.streaming_hooks if given.stream else shown.hooks,
            **limit,
        )
        more = {"streaming_callback": shown.chunk, "generation_kwargs": {"stream_options": {"include_usage": True}}}
        yield started(given)
        async for event in shown.during(agent.run_async(messages, **more if given.stream else {})):
            yield event
        result = shown.result
        self._messages = result["messages"]
        spent = result["token_usage"]
        yield finished(given, (spent["prompt_tokens"], spent["completion_tokens"]) if spent else None)
        yield _outcome(result["exit_reason"], self._messages[-1].text)

    async def close(self) -> None:
        """Close the SDK's client."""
        await self._generator.close_async()

    def _tool(self, name: str, description: str, parameters: dict[str, Any], **_: Any) -> Tool:
        # The framework tells a tool nothing of its call, so the call's id is not known here.
        async def call(**arguments: Any) -> Any:
            return await self._bench.acall_tool(name, arguments)

        return Tool(name=name, description=description, parameters=parameters, async_function=call)


def _outcome(reason: str, text: str | None) -> Outcome:
    """What the agent's exit_reason says."""
    kinds = {
        "text": "answered",
        "max_agent_steps": "limit",
        "length": "truncated" if text else "overflow",
        "content_filter": "filtered",
    }
    return Outcome(kinds[reason], reason, text)


def _message(role: str, content: str | None = None, **rest: Any) -> ChatMessage:
    """An AG-UI message as Haystack keeps one."""
    if role == "system":
        return ChatMessage.from_system(content or "")
    if role == "user":
        return ChatMessage.from_user(content or "")
    if role == "tool":
        origin = ToolCall(tool_name=rest.get("name", ""), arguments={}, id=rest["toolCallId"])
        return ChatMessage.from_tool(content or "", origin=origin)
    calls = [(call["id"], call["function"]) for call in rest.get("toolCalls") or ()]
    made = [ToolCall(tool_name=it["name"], arguments=json.loads(it["arguments"]), id=key) for key, it in calls]
    return ChatMessage.from_assistant(content or None, tool_calls=made)


AGENT = InProcessAgent(
    AgentInfo(
        name="haystack",
        version=version("haystack-ai"),
        channels=("M", "T", "E", "R", "U"),
        dialect=DIALECT,
        capabilities={"sessions": True, "streaming": True, "wire_streaming": True},
    ),
    open=_Session,
)
