"""Every reported failure of the catalogue is placed: a scenario shows it, a mutant has it, and a rule finds it there."""

import asyncio
import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from kits_library import by_id

from conformance.cli import main
from conformance.errors import LoadError
from conformance.loading.catalogue import ReportedFailure, reported_failures
from conformance.reference.mutants import MUTANTS
from conformance.reporters.catalogue_page import catalogue_page
from conformance.rules import BY_ID
from conformance.selftest import kill

PAGE = Path(__file__).parents[1] / "docs/catalogue.md"
REPORTS = reported_failures()
PLACED = [one for one in REPORTS if one.rules]
MUTANT = {mutant.name: mutant for mutant in MUTANTS}
SCENARIO = by_id()
SHOWN = sorted({(one.mutant, one.scenario) for one in PLACED})


def report(**differs):
    told = {"id": "X1", "category": "usage", "url": "https://github.com/o/r/issues/7", "fault": "It failed."}
    return ReportedFailure(**(told | differs))


def test_195_reports_stand_in_it_each_once():
    assert len(REPORTS) == len({one.id for one in REPORTS}) == len({one.url for one in REPORTS}) == 195


def test_every_report_is_cited_told_in_a_sentence_and_has_one_place():
    for one in REPORTS:
        assert re.fullmatch(r"https://github\.com/[^/]+/[^/]+/(issues|pull)/\d+", one.url), one.id
        assert one.fault.endswith("."), one.id
        whole = [bool(part) for part in (one.rules, one.scenario, one.mutant)]
        assert whole.count(True) in (0, 3), one.id
        assert all(whole) is (one.undecidable is None), one.id
        assert one.undecidable is None or re.fullmatch(r"[A-Z][^.]+\.", one.undecidable), one.id


def test_every_placed_report_names_rules_a_scenario_and_a_mutant_of_its_first_rule():
    for one in PLACED:
        assert set(one.rules) <= set(BY_ID), one.id
        assert one.scenario in SCENARIO, one.id
        assert MUTANT[one.mutant].rule == one.rules[0], one.id


@pytest.mark.parametrize(("mutant", "scenario"), SHOWN, ids=[" in ".join(pair) for pair in SHOWN])
def test_the_scenario_shows_the_mutant_to_its_rule(mutant, scenario):
    faulty = MUTANT[mutant]
    assert asyncio.run(kill(faulty, [SCENARIO[scenario]], BY_ID[faulty.rule])).killed


def test_the_page_is_what_the_command_prints():
    printed = CliRunner().invoke(main, ["scenarios", "--catalogue"]).stdout
    assert PAGE.read_text("utf-8") == printed, "write it anew: conformance scenarios --catalogue > docs/catalogue.md"


def test_a_placed_report_shows_its_rules_scenario_and_mutant():
    page = catalogue_page([report(rules=("USE-1", "USE-2"), scenario="some", mutant="any")])
    assert "| X1 | [o/r#7](https://github.com/o/r/issues/7) | It failed. | USE-1, USE-2 | `some` | `any` |\n" in page
    assert "| usage | 1 | 1 | 0 |\n| all | 1 | 1 | 0 |\n" in page


def test_an_undecidable_report_shows_why_and_is_counted_apart():
    page = catalogue_page([report(undecidable="Nobody sees it.")])
    assert "| It failed. | not decidable from outside: Nobody sees it. |  |  |\n" in page
    assert "| usage | 1 | 0 | 1 |\n" in page


@pytest.mark.parametrize(
    "differs", [{}, {"rules": ("USE-1",), "scenario": "some"}, {"scenario": "some", "mutant": "any"}]
)
def test_a_report_without_a_place_is_refused_by_name(differs):
    with pytest.raises(LoadError, match="came X1 with no place"):
        catalogue_page([report(**differs)])
