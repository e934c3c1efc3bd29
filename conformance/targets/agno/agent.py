"""
Agno as an agent under test: `target:agno`.

Drives `Agent.arun`, blocking or streaming, and translates what it shows. It repairs nothing. Agno lets no exception of a run out:
it gives an output, or an event, that says that there was an error.
"""

from collections.abc import AsyncIterator, Mapping
from importlib.metadata import version
from typing import Any

from agno.agent import Agent
from agno.db.in_memory import InMemoryDb
from agno.models.message import Message
from agno.models.openai.like import OpenAILike
from agno.run.base import RunStatus

from conformance.agent_side import AgentInfo, Bench, InProcessAgent, Outcome, RunInput
from conformance.targets.agno.events import Event, ended, events, whole
from conformance.targets.agno.tools import tool
from conformance.targets.shown import started

#: What differs from the recommended answers, each with where Agno says or does so. Paths are below agno/.
DIALECT: Mapping[str, Any] = {
    # models/base.py, Model.aresponse: `while True`. There is no limit of rounds; tool_call_limit counts calls, and ends no run.
    "default_max_iters": "unlimited",
    # agent/_run.py, _arun: whatever a request raises ends the run with the status error, wherever it stands in the run.
    "summary_failure": "error",
    # models/base.py, Model.aresponse: a reply without calls is the end, whatever else it holds.
    "empty_response": "finish",
    # models/base.py, Model._is_retryable_error: not asked again; compaction is the caller's to switch on.
    "prompt_too_long": "error",
    # tools/function.py, Function.skip_entrypoint_processing: the function gets what the model said, unchecked.
    "type_check": "tool",
    "extra_args": "pass",
    # models/base.py, Model._aprocess_model_response: the texts of all replies are added up.
    "final_text": "all_text",
    # events.py of this adapter.
    "events": "translated",
    # metrics.py, RunMetrics: a sum over the run.
    "usage_events": "per_run",
    # models/base.py, Model.create_tool_call_limit_error_result: calls beyond tool_call_limit are answered, and the loop goes on.
    "on_guard": "refuse",
}


class _Session:
    """One conversation: the database keeps its runs, those that ended in an error too."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._model = OpenAILike(id=bench.model_name, base_url=bench.base_url, api_key=bench.api_key)
        self._db = InMemoryDb()
        self._system: str | None = None

    async def run(self, given: RunInput) -> AsyncIterator[Event | Outcome]:
        """One run of an agent with the run's tools."""
        messages = given.input["messages"]
        system = [message["content"] for message in messages if message["role"] == "system"]
        self._system = "\n\n".join(system) or self._system
        agent = Agent(
            model=self._model,
            tools=[tool(self._bench, **one) for one in given.input["tools"]],
            system_message=self._system,
            db=self._db,
            add_history_to_context=True,
            tool_call_limit=given.limits.get("max_tool_calls"),
            telemetry=False,
        )
        said = [_message(**message) for message in messages if message["role"] != "system"]
        # A single text is what users pass; messages are for a conversation that began elsewhere.
        asked = {"input": said[0].content if len(said) == 1 else said, "session_id": given.session}
        if given.stream:
            async for shown in events(agent.arun(**asked, stream=True, stream_events=True), given):
                yield shown
            return
        yield started(given)
        output = await agent.arun(**asked)
        for shown in whole(output, given.run):
            yield shown
        failed = output.status == RunStatus.error
        for event in ended(given, output, error=output.content if failed else None):
            yield event

    async def close(self) -> None:
        """Close the SDK's client, which is made with the first request."""
        if self._model.async_client is not None:
            await self._model.async_client.close()


def _message(role: str, content: str | None = None, **rest: Any) -> Message:
    """An AG-UI message as Agno keeps one, which is OpenAI's form."""
    kept = {"toolCalls": "tool_calls", "toolCallId": "tool_call_id", "name": "name"}
    return Message(role=role, content=content, **{kept[key]: value for key, value in rest.items() if key in kept})


AGENT = InProcessAgent(
    AgentInfo(
        name="agno",
        version=version("agno"),
        channels=("M", "T", "E", "R", "U"),
        dialect=DIALECT,
        capabilities={
            "guards": {"max_tool_calls": "caller"},
            "sessions": True,
            "streaming": True,
            "wire_streaming": True,
        },
    ),
    open=_Session,
)
