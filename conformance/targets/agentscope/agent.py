"""
AgentScope as an agent under test: `target:agentscope`.

Drives `Agent.reply_stream` over a model that streams or does not, and translates what it shows. It repairs nothing: an exception of
the framework is the end of the run, a bracket the framework leaves open stays open.
"""

from collections.abc import AsyncIterator, Mapping
from importlib.metadata import version
from typing import Any

import httpx2
from agentscope.agent import Agent, ReActConfig
from agentscope.credential import OpenAICredential
from agentscope.message import Msg, UserMsg
from agentscope.model import OpenAIChatModel
from agentscope.permission import PermissionBehavior, PermissionDecision
from agentscope.state import AgentState
from agentscope.tool import FunctionTool, Toolkit

from conformance.agent_side import AgentInfo, Bench, InProcessAgent, Outcome, RunInput
from conformance.targets.agentscope.events import NAME, Shown, keep
from conformance.targets.shown import Event, finished, started

#: What differs from the recommended answers, each with where AgentScope says or does so. Paths are below agentscope/.
DIALECT: Mapping[str, Any] = {
    # agent/_agent.py, Agent._next_action: one more request after the last round, whose text is returned with its finished_reason.
    "limit_text": "model",
    "limit_terminal": "flagged",
    # agent/_agent.py, Agent._next_action: the tools stay in the request, the choice is none.
    "summary_tools": "choice_none",
    # agent/_agent.py, Agent._call_model: what the model raises leaves the run, in that last request too.
    "summary_failure": "error",
    # agent/_config.py, ReActConfig.max_iters: 50 unless the caller says otherwise.
    "default_max_iters": 50,
    # agent/_agent.py, Agent._reasoning_impl: a reply without calls is the final message, unless it is thinking alone.
    "empty_response": "finish",
    "empty_is": ["no_parts", "null", "blank"],
    # agent/_agent.py, Agent.compress_context looks at the size beforehand; what the provider says of it is raised.
    "prompt_too_long": "error",
    # agent/_agent.py, Agent._call_model: the last exception is raised.
    "model_error": "raise",
    # model/_openai_chat/_model.py: the finish reason is not read.
    "length_stop": "flag",
    # agent/_agent.py, Agent._execute_tool_call: jsonschema, which lets an argument pass that the schema does not name.
    "extra_args": "pass",
    # model/_base.py, ChatModelBase._call_api_with_structured_output: what a compaction is asked for.
    "side_calls": {"compaction": [{"tools": ["generate_structured_output"]}]},
    # events.py of this adapter.
    "events": "translated",
    # message/_base.py, Msg.usage: a sum over the reply. What is told of each call does not name it.
    "usage_events": "per_run",
    # What the SDK raises. BadRequestError stays out: an overflow is one of its causes.
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
#: What a finished message says of its end (types/_reply.py, ReplyFinishedReason).
KINDS: Mapping[str, str] = {"completed": "answered", "exceed_max_iters": "limit", "interrupted": "interrupted"}


class _Session:
    """One conversation: its messages are kept by the agent's state, with what a run that was raised out of had put there."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._http = httpx2.AsyncClient(transport=bench.async_transport())
        self._state = AgentState()
        self._system = "You are a helpful assistant."

    async def run(self, given: RunInput) -> AsyncIterator[Event | Outcome]:
        """One run of an agent with the run's tools. Exceptions of the framework are let out."""
        *before, last = given.input["messages"]
        self._system = "\n\n".join(one["content"] for one in before if one["role"] == "system") or self._system
        for message in before:
            if message["role"] != "system":
                keep(self._state.context, **message)
        # Counts the model's replies, each with its calls; the closing request comes on top. Without it the default holds.
        limit = {"max_iters": given.limits["max_iters"]} if "max_iters" in given.limits else {}
        agent = Agent(
            NAME,
            self._system,
            self._model(given),
            Toolkit(tools=[self._tool(**tool) for tool in given.input["tools"]]),
            state=self._state,
            react_config=ReActConfig(**limit),
        )
        shown = Shown()
        yield started(given)
        async for told in agent.reply_stream(UserMsg(name="user", content=last["content"]), yield_final_msg=True):
            if isinstance(told, Msg):
                spent = told.usage and (told.usage.input_tokens, told.usage.output_tokens)
                yield finished(given, spent)
                reason = str(told.finished_reason)
                yield Outcome(KINDS[reason], reason, told.get_text_content() or "")
            else:
                for event in shown.of(told):
                    yield event

    async def close(self) -> None:
        """Close the SDK's client."""
        await self._http.aclose()

    def _model(self, given: RunInput) -> OpenAIChatModel:
        window = given.model.get("context_window")
        return OpenAIChatModel(
            OpenAICredential(api_key=self._bench.api_key, base_url=self._bench.base_url),
            self._bench.model_name,
            stream=given.stream,
            client_kwargs={"http_client": self._http},
            **({} if window is None else {"context_size": window}),
        )

    def _tool(self, name: str, description: str, parameters: dict[str, Any], **_: Any) -> FunctionTool:
        # The framework tells a tool nothing of its call, so the call's id is not known here.
        async def call(**arguments: Any) -> Any:
            return await self._bench.acall_tool(name, arguments)

        # Without a permission the user is asked before every call.
        allowed = PermissionDecision(PermissionBehavior.ALLOW, "The scenario's tools may be called.")
        return FunctionTool(call, name, description, parameters, permission=allowed)


AGENT = InProcessAgent(
    AgentInfo(
        name="agentscope",
        version=version("agentscope"),
        channels=("M", "T", "E", "R", "U"),
        dialect=DIALECT,
        capabilities={"compaction": True, "sessions": True, "streaming": True, "wire_streaming": True},
    ),
    open=_Session,
)
