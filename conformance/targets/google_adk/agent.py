"""
Google ADK as an agent under test: `target:google-adk`.

Drives `Runner.run_async` of an `LlmAgent` over Gemini, blocking or streaming, and translates what it shows. It repairs nothing: an
exception of the framework is the end of the run, a bracket the framework leaves open stays open.
"""

from collections.abc import AsyncIterator, Mapping
from importlib.metadata import version
from typing import Any

from google.adk.agents import LlmAgent, RunConfig
from google.adk.agents.run_config import StreamingMode
from google.adk.events import Event as Told
from google.adk.models import Gemini
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.tools import BaseTool, ToolContext
from google.genai import types

from conformance.agent_side import AgentInfo, Bench, InProcessAgent, Outcome, RunInput, ToolFailed
from conformance.targets.google_adk.events import content, ending, events, outcome
from conformance.targets.shown import Event, started

#: What differs from the recommended answers, each with where ADK says or does so. Paths are below google/.
DIALECT: Mapping[str, Any] = {
    # adk/agents/invocation_context.py, increment_and_enforce_llm_calls_limit: LlmCallsLimitExceededError, with no closing request.
    "on_limit": "raise",
    # adk/agents/run_config.py, _DEFAULT_MAX_LLM_CALLS.
    "default_max_iters": 500,
    # adk/flows/llm_flows/core/_model_call.py, apply_empty_response_policy: an event with an error code, which ends the run.
    "empty_response": "error",
    # adk/models/google_llm.py: an overflow is a ClientError as any other; compaction is the app's and after a run.
    "prompt_too_long": "error",
    # adk/flows/llm_flows/core/_finalizer.py, run_and_handle_error: raised unless a callback answers in its place.
    "model_error": "raise",
    # adk/models/llm_response.py, LlmResponse.create: a cut text is the answer all the same; finish_reason stands beside it.
    "length_stop": "flag",
    # genai/_api_client.py, retry_args: one attempt unless retry_options are set.
    "http_retry": "none",
    # adk/flows/llm_flows/tools/_caller.py: raised unless a callback answers in its place.
    "tool_exception": "raise",
    # adk/tools/base_tool.py, BaseTool.run_async: "The LLM-filled arguments", unchecked.
    "type_check": "tool",
    "extra_args": "pass",
    # events.py of this adapter.
    "events": "translated",
    # ClientError and APIError stay out: an overflow is one of their causes.
    "exceptions": {
        "LlmCallsLimitExceededError": "limit",
        "_ResourceExhaustedError": "model_error",
        "ServerError": "model_error",
        "ToolFailed": "tool_error",
    },
}
#: Everything of one user, in one app.
APP, USER = "conformance", "user"


class _Tool(BaseTool):
    """A tool made of a JSON schema, as ADK's own tools of MCP and OpenAPI are."""

    def __init__(self, bench: Bench, name: str, description: str, parameters: dict[str, Any], **_: Any) -> None:
        super().__init__(name=name, description=description)
        self._bench = bench
        self._parameters = parameters

    def _get_declaration(self) -> types.FunctionDeclaration:
        return types.FunctionDeclaration(
            name=self.name, description=self.description, parameters_json_schema=self._parameters
        )

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        try:
            return await self._bench.acall_tool(self.name, args, tool_context.function_call_id)
        except ToolFailed as failed:
            # As adk/tools/function_tool.py answers a call without its mandatory arguments; what else is raised is an exception.
            if failed.rejected:
                return {"error": failed.message}
            raise


class _Session:
    """One conversation: the session service keeps its events from run to run, as far as a run got."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._model = Gemini(
            model=bench.model_name,
            base_url=bench.base_url,
            client_kwargs={"api_key": bench.api_key, "enterprise": False},
        )
        self._sessions = InMemorySessionService()
        self._system = ""

    async def run(self, given: RunInput) -> AsyncIterator[Event | Outcome]:
        """One run of an agent with the run's tools. Exceptions of the framework are let out."""
        *before, last = given.input["messages"]
        await self._remember(given.session, before)
        agent = LlmAgent(
            name="agent",
            model=self._model,
            # A function, since braces of a text would be filled from the session's state.
            instruction=lambda _: self._system,
            tools=[_Tool(self._bench, **tool) for tool in given.input["tools"]],
        )
        runner = Runner(app_name=APP, agent=agent, session_service=self._sessions)
        limit = {"max_llm_calls": given.limits["max_iters"]} if "max_iters" in given.limits else {}
        config = RunConfig(streaming_mode=StreamingMode.SSE if given.stream else StreamingMode.NONE, **limit)
        message = types.Content(role="user", parts=[types.Part(text=last["content"])])
        shown: list[Told] = []
        yield started(given)
        told = runner.run_async(user_id=USER, session_id=given.session, new_message=message, run_config=config)
        async for event in events(told, shown):
            yield event
        final = shown[-1] if shown else None
        yield ending(given, final)
        yield outcome(final)

    async def close(self) -> None:
        """Close the SDK's clients."""
        await self._model.api_client.aio.aclose()
        self._model.api_client.close()

    async def _remember(self, session_id: str, messages: list[dict[str, Any]]) -> None:
        """Put what a run brings into the session; the system text is the agent's, which puts it before every request."""
        system = [message["content"] for message in messages if message["role"] == "system"]
        self._system = "\n\n".join(system) or self._system
        name = {"app_name": APP, "user_id": USER, "session_id": session_id}
        session = await self._sessions.get_session(**name) or await self._sessions.create_session(**name)
        calls: dict[str, str] = {}
        for message in messages:
            if message["role"] != "system":
                author = "user" if message["role"] == "user" else "agent"
                await self._sessions.append_event(session, Told(author=author, content=content(calls, **message)))


AGENT = InProcessAgent(
    AgentInfo(
        name="google-adk",
        version=version("google-adk"),
        wires=("gemini",),
        # No usage reports: an event's usage_metadata does not say which reply it is of.
        channels=("M", "T", "E", "R"),
        dialect=DIALECT,
        capabilities={"sessions": True, "streaming": True, "wire_streaming": True},
    ),
    open=_Session,
)
