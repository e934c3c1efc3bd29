"""smolagents' own stream as AG-UI events, piece by piece. Adds none, closes none and mends none."""

from collections.abc import Iterable, Iterator
from itertools import count
from typing import Any

from smolagents import (
    ActionStep,
    AgentMaxStepsError,
    ChatMessageStreamDelta,
    FinalAnswerStep,
    ToolCallingAgent,
    ToolOutput,
)
from smolagents.memory import ToolCall

from conformance.agent_side import Outcome
from conformance.targets.shown import Event, Streamed, as_text, call, result, text


def events(told: Iterable[Any], run: str, answers: list[Any]) -> Iterator[Event]:
    """
    What a run shows; `answers` gathers its final one.

    Texts are shown as they come, calls once they are read. What went wrong is told of a step and not of a call, so it is shown as
    the result of a call only where the step has no other.
    """
    names = (f"{run}-{number}" for number in count(1))
    brackets, name = Streamed(), next(names)
    calls: dict[str, bool] = {}
    for item in told:
        match item:
            case ChatMessageStreamDelta():
                yield from brackets.text(name, item.content or "")
            case ToolCall():
                yield from brackets.end()
                calls[item.id] = False
                yield from call(item.id, item.name, item.arguments)
            case ToolOutput():
                calls[item.id] = True
                yield result(item.id, item.observation)
            case ActionStep():
                yield from brackets.end()
                if item.error and list(calls.values()) == [False]:
                    yield result(next(iter(calls)), str(item.error))
                name, calls = next(names), {}
            case FinalAnswerStep():
                answers.append(item.output)
                yield from text(name, as_text(item.output))


def outcome(agent: ToolCallingAgent, answer: Any) -> Outcome:
    """How the run ended, told as agents.py, MultiStepAgent.run, tells a RunResult's state."""
    error = getattr(agent.memory.steps[-1], "error", None)
    limited = isinstance(error, AgentMaxStepsError)
    return Outcome("limit" if limited else "answered", str(error) if limited else None, as_text(answer))
