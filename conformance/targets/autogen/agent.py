"""
AutoGen as an agent under test: `target:autogen`.

Drives `AssistantAgent.run_stream`, whose model is asked for whole or streamed replies, and translates what it shows. It repairs
nothing: an exception of the framework is the end of the run.
"""

from collections.abc import AsyncIterator, Mapping
from importlib.metadata import version
from typing import Any

import httpx2
from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.base import TaskResult
from autogen_agentchat.messages import ToolCallSummaryMessage
from autogen_core import CancellationToken, FunctionCall, models
from autogen_core.model_context import UnboundedChatCompletionContext
from autogen_core.tools import BaseTool
from autogen_core.utils import schema_to_pydantic_model
from autogen_ext.models.openai import OpenAIChatCompletionClient
from pydantic import BaseModel

from conformance.agent_side import AgentInfo, Bench, InProcessAgent, Outcome, RunInput
from conformance.targets.autogen.events import Event, Shown
from conformance.targets.shown import finished, started

#: What differs from the recommended answers, each with where AutoGen says or does so. Paths are below site-packages.
DIALECT: Mapping[str, Any] = {
    # autogen_agentchat/agents/_assistant_agent.py, _summarize_tool_use: what the last round's tools gave is the run's message.
    "limit_text": "last_result",
    # autogen_agentchat/messages.py, ToolCallSummaryMessage: its class tells it from an answer.
    "limit_terminal": "flagged",
    # autogen_agentchat/agents/_assistant_agent.py, AssistantAgent: max_tool_iterations is 1 unless the caller says otherwise.
    "default_max_iters": 1,
    # autogen_agentchat/agents/_assistant_agent.py, _process_model_result: a reply without calls is the end, whatever it holds.
    "empty_response": "finish",
    # autogen_ext/models/openai/_openai_client.py: what the SDK raises leaves the run; trimming is left to a model context.
    "prompt_too_long": "error",
    "model_error": "raise",
    # autogen_agentchat/agents/_assistant_agent.py: a cut text is the answer; no message of the agent has the finish reason.
    "length_stop": "flag",
    # autogen_core/utils/_json_to_pydantic.py: the model made of a schema keeps what pydantic keeps of other fields, nothing.
    "extra_args": "drop",
    # events.py of this adapter.
    "events": "translated",
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
#: What the framework has to be told of a model that it does not know.
OFF = dict.fromkeys(("vision", "json_output", "structured_output"), False)
MODEL = {"family": "unknown", "function_calling": True, **OFF}


class _Tool(BaseTool[BaseModel, Any]):
    """A tool of the scenario, made as autogen_ext/tools/mcp/_base.py makes one: of a schema, with the arguments that were set."""

    def __init__(self, bench: Bench, name: str, description: str, parameters: dict[str, Any], **_: Any) -> None:
        super().__init__(schema_to_pydantic_model(parameters), object, name, description)
        self._bench = bench

    async def run(self, args: BaseModel, cancellation_token: CancellationToken) -> Any:  # noqa: ARG002 - the framework's signature
        return await self._bench.acall_tool(self.name, args.model_dump(exclude_unset=True))


class _Session:
    """One conversation: a model context keeps its messages from run to run, as far as a run got."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._client = OpenAIChatCompletionClient(
            model=bench.model_name,
            base_url=bench.base_url,
            api_key=bench.api_key,
            http_client=httpx2.AsyncClient(transport=bench.async_transport()),
            model_info=MODEL,
        )
        self._context = UnboundedChatCompletionContext()
        self._system: str | None = None

    async def run(self, given: RunInput) -> AsyncIterator[Event | Outcome]:
        """One run of an agent with the run's tools. Exceptions of the framework are let out."""
        *before, last = given.input["messages"]
        system = [message["content"] for message in before if message["role"] == "system"]
        self._system = "\n\n".join(system) or self._system
        for message in (message for message in before if message["role"] != "system"):
            await self._context.add_message(_message(**message))
        # Counts the replies whose calls are run; 0 is refused with ValueError.
        limit = {"max_tool_iterations": given.limits["max_iters"]} if "max_iters" in given.limits else {}
        agent = AssistantAgent(
            "agent",
            self._client,
            tools=[_Tool(self._bench, **tool) for tool in given.input["tools"]],
            model_context=self._context,
            system_message=self._system,
            model_client_stream=given.stream,
            **limit,
        )
        yield started(given)
        shown = Shown(stream=given.stream)
        async for item in agent.run_stream(task=last["content"], output_task_messages=False):
            if isinstance(item, TaskResult):
                yield finished(given)
                said = item.messages[-1]
                kind = "limit" if isinstance(said, ToolCallSummaryMessage) else "answered"
                yield Outcome(kind, item.stop_reason, said.to_text())
                return
            for event in shown.of(item):
                yield event

    async def close(self) -> None:
        """Close the SDK's client."""
        await self._client.close()


def _message(role: str, content: str | None = None, **rest: Any) -> models.LLMMessage:
    """An AG-UI message as AutoGen keeps one."""
    if role == "user":
        return models.UserMessage(content=content or "", source="user")
    if role == "tool":
        given = {"content": content or "", "name": rest.get("name", ""), "call_id": rest["toolCallId"]}
        return models.FunctionExecutionResultMessage(content=[models.FunctionExecutionResult(**given)])
    calls = [FunctionCall(id=call["id"], **call["function"]) for call in rest.get("toolCalls") or ()]
    return models.AssistantMessage(content=calls or content or "", thought=content if calls else None, source="agent")


AGENT = InProcessAgent(
    AgentInfo(
        name="autogen",
        version=version("autogen-agentchat"),
        dialect=DIALECT,
        capabilities={"sessions": True, "streaming": True, "wire_streaming": True},
    ),
    open=_Session,
)
