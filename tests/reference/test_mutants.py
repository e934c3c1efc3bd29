import asyncio
import re
from dataclasses import fields

import pytest
from scripted_bench import Script, asked_for, body

from conformance.dialect import BY_NAME, dialect
from conformance.reference.agent import REFERENCE, sensible_dialects
from conformance.reference.loop import HONEST
from conformance.reference.mutants import MUTANTS


def test_every_mutant_has_a_name_of_its_own():
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)


def test_every_mutant_tells_its_fault_its_finding_and_a_public_report():
    for mutant in MUTANTS:
        assert mutant.fault.endswith("."), mutant.name
        assert mutant.says, mutant.name
        assert re.compile(mutant.says), mutant.name
        assert mutant.evidence, mutant.name
    links = [link for mutant in MUTANTS for link in mutant.evidence]
    assert [one for one in links if not re.fullmatch(r"https://github\.com/[^/]+/[^/]+/(issues|pull)/\d+", one)] == []


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_is_an_agent_that_declares_a_dialect_and_begins_a_run(mutant):
    agent = mutant.make()
    dialect(agent.info.dialect)
    runner = agent.open(Script(body("fine"), body("fine")).bench())
    begun = runner.run(asked_for())
    assert (asyncio.run(anext(begun)) if hasattr(begun, "__aiter__") else next(iter(begun))) is not None


def test_every_part_of_the_loop_is_exchanged_by_some_mutant():
    exchanged = {part for mutant in MUTANTS for part in _exchanged(mutant)}
    assert exchanged == {field.name for field in fields(HONEST)}


def _exchanged(mutant):
    parts = mutant.make.keywords["parts"]
    return [field.name for field in fields(parts) if getattr(parts, field.name) is not getattr(HONEST, field.name)]


def test_the_reference_declares_only_what_differs_from_the_recommended_dialect():
    assert set(REFERENCE.info.dialect) == {"exceptions"}


def test_every_dialect_to_play_is_one_that_may_be_declared():
    for declared in sensible_dialects():
        dialect(declared)
        assert set(declared) <= set(BY_NAME)


def test_no_dialect_to_play_stands_twice():
    normal = [repr(dialect(declared).data()) for declared in sensible_dialects()]
    assert len(set(normal)) == len(normal)
