"""Faults around an answer that is a call."""
# ruff: noqa: D103 - the table of mutants says each fault in a sentence

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from conformance.reference.acting import Refused
from conformance.reference.answering import settled
from conformance.reference.calling import act
from conformance.reference.hearing import Said
from conformance.reference.run import Ending, Run
from conformance.reference.steps import Steps

Settled = tuple[list[Any], str | None]


def only_the_first(said: Said, came: Sequence[Any]) -> Settled:
    found, text = settled(said, came)
    return found, text if _is_answer(came[0]) else None


def only_the_last(said: Said, came: Sequence[Any]) -> Settled:
    found, text = settled(said, came)
    return found, text if _is_answer(came[-1]) else None


def only_alone(said: Said, came: Sequence[Any]) -> Settled:
    found, text = settled(said, came)
    return found, text if len(came) == 1 else None


def whatever_failed(said: Said, came: Sequence[Any]) -> Settled:
    found, text = settled(said, came)
    given = [one.text for one in came if _is_answer(one)]
    return found, given[-1] if given else text


def its_siblings_are_dropped(run: Run, said: Said) -> Steps[Ending | None]:
    name = run.dialect.answer_by.removeprefix("tool:").partition(".")[0]
    answers = tuple(call for call in said.calls if call.tool == name)
    return act(run, replace(said, calls=answers) if answers else said)


def _is_answer(one: Any) -> bool:
    return isinstance(one, Refused) and one.cause == "answer"
