"""
Strands Agents as an agent under test: `target:strands`.

Drives `Agent.stream_async` over a model that streams or does not, and translates what it shows. It repairs nothing: an exception of
the framework is the end of the run, a bracket the framework leaves open stays open.
"""

from collections.abc import AsyncIterator, Mapping
from importlib.metadata import version
from typing import Any

from openai import omit
from strands import Agent, ModelRetryStrategy
from strands.models.openai import OpenAIModel
from strands.tools import PythonAgentTool

from conformance.agent_side import AgentInfo, Bench, InProcessAgent, Outcome, RunInput
from conformance.targets.shown import Event, finished, started
from conformance.targets.strands.events import Shown, keep

#: What differs from the recommended answers, each with where Strands says or does so. Paths are below strands/.
DIALECT: Mapping[str, Any] = {
    # types/agent.py, Limits: at the next boundary of a turn the loop ends with the stop reason limit_turns, and no exception.
    "on_limit": "stop",
    # types/agent.py, Limits: no limit unless the caller sets one.
    "default_max_iters": "unlimited",
    # event_loop/event_loop.py, event_loop_cycle: a reply without calls is the end, whatever else it holds.
    "empty_response": "finish",
    # agent/agent.py, Agent._execute_event_loop_cycle: as often as the conversation manager finds something to take away, of the
    # 40 messages that it keeps by default.
    "prompt_too_long": {"compact_then_error": 40},
    # event_loop/event_loop.py, _handle_model_execution: what the model raises leaves the run.
    "model_error": "raise",
    # event_loop/event_loop.py, event_loop_cycle: MaxTokensReachedException.
    "length_stop": "error",
    # tools/tools.py, PythonAgentTool: the function gets what the model said, unchecked.
    "type_check": "tool",
    "extra_args": "pass",
    # events.py of this adapter.
    "events": "translated",
    # telemetry/metrics.py, AgentInvocation.usage: a sum over the run. What is told of each call does not name it.
    "usage_events": "per_run",
    "exceptions": {
        # MaxTokensReachedException stays out: it is raised of a text that was cut and of a reply of which nothing came.
        "ContextWindowOverflowException": "overflow",
        "ModelThrottledException": "model_error",
        # What the SDK raises otherwise. BadRequestError stays out: an overflow in words that are not known is one of its causes. So
        # does EventLoopException, in which what the cycles behind the first one raise is wrapped.
        **dict.fromkeys(
            (
                "AuthenticationError",
                "PermissionDeniedError",
                "NotFoundError",
                "ConflictError",
                "UnprocessableEntityError",
                "InternalServerError",
                "APIStatusError",
                "APIConnectionError",
                "APITimeoutError",
                "APIError",
                # Of a body that breaks off, and of one that is no JSON.
                "ReadError",
                "JSONDecodeError",
            ),
            "model_error",
        ),
    },
}
#: What a stop reason says of the end (types/event_loop.py, StopReason).
KINDS: Mapping[str, str] = {"limit_turns": "limit", "content_filtered": "filtered"}


class _Session:
    """One conversation: its messages are kept from run to run, those of a run that raised too."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._messages: list[Any] = []
        self._system: str | None = None

    async def run(self, given: RunInput) -> AsyncIterator[Event | Outcome]:
        """One run of an agent with the run's tools. Exceptions of the framework are let out."""
        *before, last = given.input["messages"]
        self._system = "\n\n".join(one["content"] for one in before if one["role"] == "system") or self._system
        for message in before:
            if message["role"] != "system":
                keep(self._messages, **message)
        agent = Agent(
            model=OpenAIModel(
                client_args={"base_url": self._bench.base_url, "api_key": self._bench.api_key},
                model_id=self._bench.model_name,
                # Without tools an empty list is sent, which some providers take and others refuse; here it is left out.
                params={} if given.input["tools"] else {"tools": omit},
                stream=given.stream,
            ),
            messages=self._messages,
            tools=[self._tool(**tool) for tool in given.input["tools"]],
            system_prompt=self._system,
            # As often as by default, but not with its pauses of 4 to 64 seconds: they are longer than a run may be silent here.
            retry_strategy=ModelRetryStrategy(initial_delay=1, max_delay=1),
            # The default prints what it is told.
            callback_handler=None,
        )
        # One turn is one reply and its calls; 0 is refused with TypeError.
        limits = {"turns": given.limits["max_iters"]} if "max_iters" in given.limits else None
        shown = Shown(given.run)
        yield started(given)
        async for told in agent.stream_async(last["content"], limits=limits):
            for event in shown.of(told):
                yield event
            if "result" in told:
                result = told["result"]
                spent = result.metrics.latest_agent_invocation.usage
                # Without a report of the model's the sum stays at 0.
                yield finished(given, (spent["inputTokens"], spent["outputTokens"]) if spent["totalTokens"] else None)
                yield Outcome(KINDS.get(result.stop_reason, "answered"), result.stop_reason, str(result))

    def _tool(self, name: str, description: str, parameters: dict[str, Any], **_: Any) -> PythonAgentTool:
        async def call(tool_use: Any, **_: Any) -> Any:
            value = await self._bench.acall_tool(name, tool_use["input"], tool_use["toolUseId"])
            content = {"text": value} if isinstance(value, str) else {"json": value}
            return {"toolUseId": tool_use["toolUseId"], "status": "success", "content": [content]}

        spec = {"name": name, "description": description, "inputSchema": {"json": parameters}}
        return PythonAgentTool(name, spec, call)


AGENT = InProcessAgent(
    AgentInfo(
        name="strands",
        version=version("strands-agents"),
        channels=("M", "T", "E", "R", "U"),
        dialect=DIALECT,
        capabilities={"sessions": True, "streaming": True, "wire_streaming": True},
    ),
    open=_Session,
)
