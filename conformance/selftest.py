"""
The kit put to its own test: every rule must be broken by a mutant of the reference, and none by the reference itself.

A rule that nothing breaks proves nothing, and one that an honest agent breaks is wrong. Plays and judges; prints nothing.
"""

import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from conformance.adapters.in_process import connected
from conformance.agent_side import InProcessAgent
from conformance.cell import Cell, cells_of
from conformance.judge import Judgement, Verdict, judge, judge_suite
from conformance.reference.mutants import Mutant
from conformance.rule import Finding, Rule
from conformance.runner import declared, play
from conformance.scenario import Scenario

#: Longest silence of a mutant, in seconds. All it talks to is in this process, so what is silent for longer is stuck.
PATIENCE_S = 0.5


@dataclass(frozen=True, slots=True)
class Tried:
    """A mutant and what killed it: a finding of its rule that says what it should, in this play; None where it survived."""

    mutant: Mutant
    play: str | None = None
    finding: Finding | None = None

    @property
    def killed(self) -> bool:
        """Whether its rule broke for the stated reason."""
        return self.finding is not None


@dataclass(frozen=True, slots=True)
class Unfair:
    """An honest agent's dialect in which a rule broke all the same."""

    dialect: Mapping[str, Any]
    play: str
    rule: str
    message: str


def survivors(tried: Sequence[Tried], rules: Sequence[Rule]) -> tuple[str, ...]:
    """Rules that no mutant breaks, or that a mutant made to break them does not."""
    broken = {one.mutant.rule for one in tried if one.killed}
    missed = {one.mutant.rule for one in tried if not one.killed}
    return tuple(rule.id for rule in rules if rule.id not in broken or rule.id in missed)


async def kill(mutant: Mutant, plans: Sequence[Scenario], rule: Rule) -> Tried:
    """
    Play scenarios to a mutant until its rule breaks with the finding it is made for.

    The scenarios it names are played, else all of them, those that exercise the rule first. What only all recordings of an
    agent together show is looked for at the end.
    """
    quick = [replace(plan, deadline_s=min(plan.deadline_s, PATIENCE_S)) for plan in plans]
    named = [plan for plan in quick if plan.id in mutant.scenarios] or quick
    seen: list[Judgement] = []
    plays: list[str] = []
    async for name, judgement in _played(mutant.make(), _first(named, rule), [rule], mutant.chunkings):
        finding = _wanted(mutant, judgement)
        if finding is not None:
            return Tried(mutant, name, finding)
        plays.append(name)
        seen.append(judgement)
    for name, judgement in zip(plays, judge_suite(seen, [rule]), strict=True):
        finding = _wanted(mutant, judgement)
        if finding is not None:
            return Tried(mutant, name, finding)
    return Tried(mutant)


async def first_killed(
    plan: Scenario, mutants: Sequence[Mutant], rules: Mapping[str, Rule], *, eager: bool
) -> Tried | None:
    """
    The first mutant that this one scenario kills, those of the rules it exercises first; None where it kills none.

    `eager` asks for one that does too much of what the scenario is about, which is what a negative twin has to show.
    """
    wanted = [one for one in mutants if not eager or (one.eager and one.rule in plan.exercises)]
    for mutant in sorted(wanted, key=lambda one: one.rule not in plan.exercises):
        tried = await kill(mutant, [plan], rules[mutant.rule])
        if tried.killed:
            return tried
    return None


async def unfair(
    make: Callable[[Mapping[str, Any]], InProcessAgent],
    dialect: Mapping[str, Any],
    plans: Sequence[Scenario],
    rules: Sequence[Rule],
) -> tuple[Unfair, ...]:
    """What breaks though the agent is honest: a MUST, or its declaration."""
    played = [(name, judgement) async for name, judgement in _played(make(dialect), plans, rules)]
    whole = judge_suite([judgement for _, judgement in played], rules)
    return tuple(
        Unfair(dialect, name, result.rule, finding.message)
        for (name, _), judgement in zip(played, whole, strict=True)
        for result in judgement.results
        if result.verdict == Verdict.FAIL
        for finding in result.findings
    )


async def _played(
    one: InProcessAgent, plans: Sequence[Scenario], rules: Sequence[Rule], chunkings: Sequence[str] = ()
) -> AsyncIterator[tuple[str, Judgement]]:
    async with connected(one) as agent:
        under = declared(agent.info)
        for plan in plans:
            for cell in dict.fromkeys(
                (*cells_of(agent.info), *(cells_of(agent.info, (), chunkings) if chunkings else ()))
            ):
                yield _name(plan, cell), judge(await play(agent, plan, cell, under), rules)


def _first(plans: Sequence[Scenario], rule: Rule) -> list[Scenario]:
    return sorted(plans, key=lambda plan: rule.id not in plan.exercises)


def _name(plan: Scenario, cell: Cell) -> str:
    return f"{plan.id} · {cell.name}"


def _wanted(mutant: Mutant, judgement: Judgement) -> Finding | None:
    found = judgement.of(mutant.rule).findings
    return next((finding for finding in found if re.search(mutant.says, finding.message)), None)
