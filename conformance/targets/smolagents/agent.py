"""
smolagents as an agent under test: `target:smolagents`.

Drives `ToolCallingAgent.run(stream=True)` with streamed outputs, and translates what it shows. It repairs nothing: an exception of
the framework is the end of the run, a bracket the framework leaves open stays open.
"""

import json
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from typing import Any

from rich.console import Console
from smolagents import ActionStep, AgentLogger, LogLevel, OpenAIServerModel, TaskStep, Tool, ToolCallingAgent
from smolagents.memory import AgentMemory, ToolCall
from smolagents.monitoring import Timing

from conformance.agent_side import AgentInfo, Bench, InProcessAgent, Outcome, RunInput
from conformance.targets.shown import Event, finished, started
from conformance.targets.smolagents.events import events, outcome

#: What differs from the recommended answers, each with where smolagents says or does so. Paths are below smolagents/.
DIALECT: Mapping[str, Any] = {
    # agents.py, MultiStepAgent.run: the answer of a closing request, and the state "max_steps_error" beside it.
    "limit_terminal": "flagged",
    # agents.py, MultiStepAgent.__init__: max_steps.
    "default_max_iters": 20,
    # agents.py, ToolCallingAgent._step_stream: what holds no call is an AgentParsingError, which the next step tells the model.
    "empty_response": "continue",
    "length_stop": "continue",
    # agents.py, MultiStepAgent._run_stream: an AgentGenerationError is raised, whatever the provider refused; nothing compacts.
    "prompt_too_long": "error",
    "model_error": "raise",
    # memory.py, ActionStep.to_messages: "Calling tools:" of the assistant, and "Observation:" or "Error:" of the user.
    "tool_history": "text",
    # default_tools.py, FinalAnswerTool.
    "answer_by": "tool:final_answer.answer",
    # events.py of this adapter.
    "events": "translated",
    # models.py, OpenAIModel.generate_stream: of a delta content and calls are read.
    "reasoning_events": "off",
    # AgentGenerationError stays out: it is raised for whatever fails while a reply is made, an overflow among it.
}


class _Tool(Tool):
    """A tool made of a JSON schema, as smolagents' own tools of MCP are."""

    # Its forward takes whatever `inputs` say.
    skip_forward_signature_validation = True
    output_type = "any"

    def __init__(self, bench: Bench, name: str, description: str, parameters: dict[str, Any], **_: Any) -> None:
        super().__init__()
        self._bench = bench
        self.name = name
        self.description = description
        required = parameters.get("required", ())
        self.inputs = {
            key: {"type": "any", "description": "see tool description", **value}
            | ({} if key in required else {"nullable": True})
            for key, value in parameters.get("properties", {}).items()
        }

    def forward(self, **arguments: Any) -> Any:
        # The framework tells a tool nothing of its call, so the call's id is not known here.
        return self._bench.call_tool(self.name, arguments)


class _Session:
    """One conversation: its memory goes from the agent of a run to that of the next, as far as a run got."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._model = OpenAIServerModel(bench.model_name, api_base=bench.base_url, api_key=bench.api_key)
        self._memory = AgentMemory("")
        self._system: str | None = None

    def run(self, given: RunInput) -> Iterator[Event | Outcome]:
        """One run of an agent with the run's tools. Exceptions of the framework are let out."""
        *before, last = given.input["messages"]
        system = [message["content"] for message in before if message["role"] == "system"]
        self._system = "\n\n".join(system) or self._system
        self._memory.steps.extend(_steps(before))
        agent = ToolCallingAgent(
            [_Tool(self._bench, **tool) for tool in given.input["tools"]],
            self._model,
            instructions=self._system,
            stream_outputs=True,
            logger=AgentLogger(LogLevel.OFF, Console(quiet=True)),
            # A step is a round.
            **({"max_steps": given.limits["max_iters"]} if "max_iters" in given.limits else {}),
        )
        agent.memory = self._memory
        answers: list[Any] = []
        yield started(given)
        yield from events(agent.run(last["content"], stream=True, reset=False), given.run, answers)
        yield finished(given)
        yield outcome(agent, answers[-1])

    def close(self) -> None:
        """Close the SDK's client."""
        self._model.client.close()


def _steps(messages: list[dict[str, Any]]) -> Iterator[TaskStep | ActionStep]:
    """AG-UI messages as smolagents keeps them."""
    for number, message in enumerate(messages, start=1):
        content, step = message.get("content"), {"step_number": number, "timing": Timing(0.0)}
        match message["role"]:
            case "user":
                yield TaskStep(content)
            case "assistant":
                calls = [
                    ToolCall(call["function"]["name"], json.loads(call["function"]["arguments"] or "{}"), call["id"])
                    for call in message.get("toolCalls") or ()
                ]
                yield ActionStep(**step, model_output=content, tool_calls=calls or None)
            case "tool":
                yield ActionStep(**step, observations=content)


AGENT = InProcessAgent(
    AgentInfo(
        name="smolagents",
        version=version("smolagents"),
        # No usage reports: a step's token_usage does not say which reply it is of.
        channels=("M", "T", "E", "R"),
        dialect=DIALECT,
        # One way to run, streamed on the wire: unstreamed, it takes no reply whose server does not tell the usage.
        capabilities={"sessions": True, "wire_streaming": True},
    ),
    open=_Session,
)
