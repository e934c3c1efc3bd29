"""
The OpenAI Agents SDK as an agent under test: `target:openai-agents`.

Drives `Runner` over Chat Completions or Responses, blocking or streaming, and translates what it shows. It repairs nothing: an
exception of the framework is the end of the run, a bracket the framework leaves open stays open.
"""

from collections.abc import AsyncIterator, Mapping
from importlib.metadata import version
from typing import Any

import httpx2
from agents import (
    Agent,
    Model,
    ModelSettings,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    RunConfig,
    SQLiteSession,
    TResponseInputItem,
)
from openai import AsyncOpenAI

from conformance.agent_side import AgentInfo, Bench, InProcessAgent, Outcome, RunInput
from conformance.targets.openai_agents.events import played, usage
from conformance.targets.openai_agents.tools import Tools
from conformance.targets.shown import Event, finished, started

MODELS: Mapping[str, type[OpenAIChatCompletionsModel | OpenAIResponsesModel]] = {
    "openai_chat": OpenAIChatCompletionsModel,
    "openai_responses": OpenAIResponsesModel,
}
#: What differs from the recommended answers, each with where the SDK says or does so. Paths are below agents/.
DIALECT: Mapping[str, Any] = {
    # run.py, AgentRunner.run: turn N + 1 raises MaxTurnsExceeded, with no closing request.
    "on_limit": "raise",
    # run_internal/turn_resolution.py, execute_tools_and_side_effects: a reply without calls is the final output, "" where it has no text.
    "empty_response": "finish",
    # The client's BadRequestError, as for any other; compacting is the caller's (run_config.py, call_model_input_filter).
    "prompt_too_long": "error",
    # run.py, AgentRunner.run: what the client raises leaves the run.
    "model_error": "raise",
    # models/openai_chatcompletions.py, get_response: a cut text is the output all the same. Over Responses it is an error.
    "length_stop": "flag",
    # run_config.py, tool_not_found_behavior: raise_error.
    "unknown_tool": "raise",
    # mcp/util.py, MCPUtil.invoke_mcp_tool: arguments are an object or refused; the schema is the server's to hold.
    "type_check": "tool",
    "extra_args": "pass",
    # run_internal/turn_resolution.py: a call id that is empty or stands for two calls is a ModelBehaviorError.
    "bad_ids": "refuse",
    # events.py of this adapter.
    "events": "translated",
    # usage.py, Usage: a sum over the run.
    "usage_events": "per_run",
    # ModelBehaviorError stays out: it is raised for several causes. So does BadRequestError, an overflow among its own.
    "exceptions": {
        "MaxTurnsExceeded": "limit",
        "ModelRefusalError": "filtered",
        **dict.fromkeys(
            (
                # What the client raises; JSONDecodeError of a body that is no JSON (openai/_response.py).
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
    },
}


class _Session:
    """One conversation: the SDK's session keeps its items from run to run, as far as a run got."""

    def __init__(self, bench: Bench) -> None:
        http = httpx2.AsyncClient(transport=bench.async_transport())
        self._client = AsyncOpenAI(base_url=bench.base_url, api_key=bench.api_key, http_client=http)
        self._bench = bench
        # In memory unless a file is named.
        self._session = SQLiteSession("conversation")
        self._instructions: str | None = None

    async def run(self, given: RunInput) -> AsyncIterator[Event | Outcome]:
        """One run of an agent with the run's tools. Exceptions of the framework are let out."""
        messages = given.input["messages"]
        system = [message["content"] for message in messages if message["role"] == "system"]
        self._instructions = "\n\n".join(system) or self._instructions
        model: Model = MODELS[given.model["wire"]](self._bench.model_name, self._client)
        agent = Agent(
            name="agent",
            instructions=self._instructions,
            model=model,
            # Off by default where the base URL is not OpenAI's own.
            model_settings=ModelSettings(include_usage=True),
            mcp_servers=[Tools(self._bench, given.input["tools"])],
        )
        *before, last = [item for message in messages for item in _items(**message)]
        # What was said before is the session's, as from a store.
        await self._session.add_items(before)
        limit = {"max_turns": given.limits["max_iters"]} if "max_iters" in given.limits else {}
        settings = {"session": self._session, "run_config": RunConfig(tracing_disabled=True), **limit}
        yield started(given)
        async for shown in played(agent, [last], settings, given.run, stream=given.stream):
            if isinstance(shown, dict):
                yield shown
            else:
                yield finished(given, usage(shown))
                yield Outcome("answered", None, shown.final_output)

    async def close(self) -> None:
        """Close the session and the SDK's client."""
        self._session.close()
        await self._client.close()


def _items(role: str, content: Any = None, **rest: Any) -> list[TResponseInputItem]:
    """An AG-UI message as the SDK's items; the system text is the agent's."""
    if role == "system":
        return []
    if role == "tool":
        return [{"type": "function_call_output", "call_id": rest["toolCallId"], "output": content}]
    said: list[TResponseInputItem] = [{"role": role, "content": content}] if content else []
    calls = [(call["id"], call["function"]) for call in rest.get("toolCalls") or ()]
    return [*said, *({"type": "function_call", "call_id": call, **function} for call, function in calls)]


AGENT = InProcessAgent(
    AgentInfo(
        name="openai-agents",
        version=version("openai-agents"),
        wires=("openai_chat", "openai_responses"),
        channels=("M", "T", "E", "R", "U"),
        dialect=DIALECT,
        capabilities={"sessions": True, "streaming": True, "wire_streaming": True},
    ),
    open=_Session,
)
