"""docs/kills.md is what `conformance selftest --page` prints: each mutant is played again in the scenario that the page names."""

import asyncio
import re
from pathlib import Path

import pytest

from conformance.loading.loader import bundled, load_all
from conformance.reference import sensible_dialects
from conformance.reference.mutants import MUTANTS
from conformance.reporters.kills_page import kills_page
from conformance.rules import BY_ID, RULES
from conformance.selftest import Tried, kill

PAGE = (Path(__file__).parents[1] / "docs/kills.md").read_text("utf-8")
#: The mutant and the scenario of a row.
SHOWN = dict(re.findall(r"^\| (\S+)(?: \(over-eager\))? \|.*\| (\S+) · \S+ \|.*\|$", PAGE, re.MULTILINE))
PLANS = {plan.id: plan for plan in load_all(bundled())}


def tried(mutant):
    if mutant.name not in SHOWN:
        return Tried(mutant)
    return asyncio.run(kill(mutant, [PLANS[SHOWN[mutant.name]]], BY_ID[mutant.rule]))


@pytest.fixture(scope="module")
def again():
    return [tried(mutant) for mutant in MUTANTS]


def test_every_mutant_is_killed_by_its_own_rule_in_the_scenario_that_the_page_names(again):
    assert [one.mutant.name for one in again if not one.killed] == []


def test_the_page_is_what_the_command_prints(again):
    assert kills_page(again, RULES, 1 + len(sensible_dialects())) == PAGE
