"""From an agent's spec and scenarios to a judged report: the one way that the command line and the pytest plugin share."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any

from conformance import elsewhere
from conformance.adapters.base import Agent
from conformance.adapters.ways import ADAPTERS
from conformance.agent_side import AgentInfo
from conformance.cell import Cell, cells_of
from conformance.errors import SpecError
from conformance.judge import Judgement, judge
from conformance.report import Played, Report, report
from conformance.rule import Rule
from conformance.runner import Keep, Play, declared, play_all
from conformance.scenario import Scenario


@dataclass(frozen=True, slots=True)
class Judged:
    """One play with its judgement, as it is handed to whoever watches."""

    play: Play
    judgement: Judgement | None


def connect(spec: str) -> AbstractAsyncContextManager[Agent]:
    """
    The agent that a spec names: `reference`, `python:module:NAME`, ...

    Raises:
        SpecError: there is no such way to reach an agent.
    """
    kind, _, rest = spec.partition(":")
    adapter = ADAPTERS.get(kind)
    if adapter is None:
        ways = "; ".join(one.help for one in ADAPTERS.values())
        raise SpecError(f"agent {spec!r}: unknown kind {kind!r}. Known: {ways}")
    return adapter.connect(rest)


async def certify(
    spec: str,
    plans: Sequence[Scenario],
    rules: Sequence[Rule],
    *,
    override: Mapping[str, Any] | None = None,
    cells: Callable[[AgentInfo], Sequence[Cell]] = cells_of,
    repeat: int = 1,
    stop_at: Callable[[Judged], bool] = lambda _one: False,
    watch: Callable[[Judged], None] = lambda _one: None,
    keep: Callable[[Scenario, Cell, int], Keep | None] = lambda _plan, _cell, _turn: None,
) -> Report:
    """
    Play the scenarios to the agent, judge every recording and add all up.

    The keys of `override` take the place of the agent's declared ones, `cells` says in which cells it is played. `watch` is told each play as it ends, and `keep` says where one is kept while it is made; where `stop_at` says so, no
    further one is begun.

    Raises:
        AgentError: the agent cannot be found or opened, or declares what no dialect allows.
    """
    async with connect(spec) as agent:
        under = declared(agent.info, override)
        plays: list[Played] = []
        async with elsewhere.child(spec, override) as rest:
            made: AsyncIterator[Play] = play_all(
                agent, plans, under, cells=cells(agent.info), repeat=repeat, elsewhere=rest, keep=keep
            )
            async for one in made:
                judgement = judge(one.recording, rules) if one.recording is not None else None
                plays.append(
                    Played(one.scenario.id, one.cell.name, judgement, one.error, one.excused, one.scenario.exercises)
                )
                judged = Judged(one, judgement)
                watch(judged)
                if stop_at(judged):
                    break
        info = agent.info
    named = {"name": info.name, "version": info.version, "language": info.language, "profile": info.profile}
    return report(named | {"channels": list(info.channels)}, under.data(), plays, rules)
