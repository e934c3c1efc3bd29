"""Faults around agents inside a run."""
# ruff: noqa: D103 - the table of mutants says each fault in a sentence

from dataclasses import replace

from conformance.reference.calling import act
from conformance.reference.children import child, is_child
from conformance.reference.hearing import Said
from conformance.reference.loop import HONEST
from conformance.reference.run import Ending, Run
from conformance.reference.steps import Execution, Steps


def child_shares_what_is_left(run: Run, one: Execution) -> Run:
    return replace(child(run, one), limit=None if run.limit is None else run.limit - run.rounds)


def child_without_a_limit(run: Run, one: Execution) -> Run:
    return replace(child(run, one), limit=None)


def child_stopped_early(run: Run, one: Execution) -> Run:
    inside = child(run, one)
    return replace(inside, limit=(inside.limit or 1) - 1)


def childs_rounds_count(run: Run, one: Execution) -> Steps[object]:
    came = yield from HONEST.run_child(run, one)
    run.rounds += child(run, one).limit or 0
    return came


def siblings_are_forgotten(run: Run, said: Said) -> Steps[Ending | None]:
    handed = [call for call in said.calls if is_child(run, Execution(call.tool, {}, call.id))]
    return act(run, replace(said, calls=tuple(handed)) if handed else said)
