"""What a scenario needs of an agent beyond the loop itself, and what of it an agent lacks. Pure; plays nothing."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from conformance.agent_side import AgentInfo
from conformance.errors import AgentError
from conformance.scenario import RunSpec, Scenario
from fake_models.script import CallTurn
from fake_models.tools import Hangs

Kind = Literal["capability", "knob", "dialect", "kit", "wire"]

_ANSWER_BY = "answer_by"


@dataclass(frozen=True, slots=True)
class Need:
    """A capability, a knob or a value of its dialect that the agent has to declare, or what the way to it or the cell's wire must allow."""

    kind: Kind
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


class NotPlayed(AgentError):  # noqa: N818 - what became of the scenario
    """The agent lacks what the scenario needs, so that nothing was played: no fault of either. `excuse` is what it lacks."""

    def __init__(self, plan: Scenario, lacks: Need) -> None:
        self.excuse = str(lacks)
        super().__init__(f"scenario {plan.id!r}: it is not played, since the agent does not have {lacks}")


def needs(plan: Scenario) -> tuple[Need, ...]:
    """Everything that has to be there for the scenario to be played as it is written, each once."""
    tools = [Need("capability", "approval") for tool in plan.tools.values() if tool.approval]
    tools += [Need("capability", "tool_timeout")] if _times_out(plan) else []
    return tuple(dict.fromkeys((*(need for spec in plan.runs for need in _of_run(spec)), *tools, *_answers(plan))))


def _answers(plan: Scenario) -> Iterator[Need]:
    """
    The answer tools that a script calls by itself, with an argument of theirs, where it predicts what comes of the answer.

    Where a turn says `answer`, the kit names tool and argument as the agent declares them.
    """
    blocks = (*plan.expect, *(block for spec in plan.runs for block in spec.expect))
    said = [str(block.when[_ANSWER_BY]) for block in blocks if _ANSWER_BY in block.when]
    called = {(call.name, name) for spec in plan.runs for call in _called(spec) for name in call.args or ()}
    for one in said:
        name, _, argument = one.removeprefix("tool:").rpartition(".")
        if (name, argument) in called:
            yield Need("dialect", f"{_ANSWER_BY}={one}")


def _called(spec: RunSpec) -> Iterator[CallTurn]:
    return (call for turn in spec.script.turns for call in turn.calls)


def _times_out(plan: Scenario) -> bool:
    """Whether a tool that hangs is to be given up on. One that hangs without a limit is for whoever wants to see what happens then."""
    limited = any(spec.limits.tool_timeout_s is not None for spec in plan.runs)
    return limited and any(isinstance(one, Hangs) for tool in plan.tools.values() for one in tool.sequence)


def _of_run(spec: RunSpec) -> Iterator[Need]:
    if spec.cancel is not None:
        yield Need("capability", "cancel")
    if spec.resume is not None:
        yield Need("capability", "approval")
    if spec.start == "with":
        yield Need("capability", "concurrent_runs")
    if spec.kill is not None:
        yield Need("kit", "kill")
    yield from (Need("knob", name) for name in spec.knobs)


def lacked(plan: Scenario, info: AgentInfo, *, can_be_killed: bool) -> Need | None:
    """The first of a scenario's needs that this agent does not meet; None where it can be played."""
    return next((need for need in needs(plan) if not _met(need, info, can_be_killed=can_be_killed)), None)


def _met(need: Need, info: AgentInfo, *, can_be_killed: bool) -> bool:
    match need.kind:
        case "capability":
            return info.capabilities.get(need.name) not in (None, False)
        case "knob":
            return need.name in info.knobs
        case "dialect":
            # An agent without an answer tool, or with one of another name, is sent a call of a tool that it does not know.
            wanted, has = need.name.removeprefix(f"{_ANSWER_BY}="), str(info.dialect.get(_ANSWER_BY, "text"))
            return has == wanted or has.rpartition(".")[0] != wanted.rpartition(".")[0]
        case "kit":
            return can_be_killed
        case "wire":
            # What a wire has, the cell decides and not the agent.
            return True
