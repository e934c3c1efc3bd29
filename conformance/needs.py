"""What a scenario needs of an agent beyond the loop itself, and what of it an agent lacks. Pure; plays nothing."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from conformance.agent_side import AgentInfo
from conformance.errors import AgentError
from conformance.scenario import RunSpec, Scenario
from fake_models.tools import Hangs

Kind = Literal["capability", "knob", "kit", "wire"]


@dataclass(frozen=True, slots=True)
class Need:
    """A capability or a knob that the agent has to declare, or something that the way to reach it or the cell's wire must allow."""

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
    return tuple(dict.fromkeys((*(need for spec in plan.runs for need in _of_run(spec)), *tools)))


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
        case "kit":
            return can_be_killed
        case "wire":
            # What a wire has, the cell decides and not the agent.
            return True
