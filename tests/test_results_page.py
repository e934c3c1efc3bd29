"""docs/results.md is made from results/, and each fail in it is explained where a reader can look it up."""

import re
from pathlib import Path

import pytest

from conformance.environments import targets
from conformance.loading.explanations import explanations
from conformance.results import unexplained
from conformance.rules import BY_ID
from conformance.table import kept, written

ROOT = Path(__file__).parents[1]
ROWS = kept(ROOT / "results")
KNOWN = targets()


def causes(row):
    return explanations(KNOWN[row.target].room / "explained.yaml")


def test_the_page_is_what_the_command_writes(tmp_path):
    list(written(ROOT / "results", tmp_path / "results.md"))
    assert (tmp_path / "results.md").read_text("utf-8") == (ROOT / "docs" / "results.md").read_text("utf-8")


def test_every_target_has_a_row():
    assert sorted({row.target for row in ROWS}) == sorted(KNOWN)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.key)
def test_each_fail_is_explained(row):
    assert unexplained(row, causes(row)) == ()


@pytest.mark.parametrize("name", KNOWN)
def test_each_explanation_is_of_something_that_is_found_and_names_a_public_source(name):
    mine = explanations(KNOWN[name].room / "explained.yaml")
    mine_rows = [row for row in ROWS if row.target == name]
    # Of tools that run side by side not every warning comes each time; a cause of which nothing is found is none.
    assert [one.why for one in mine if not any(one.covers(row, f) for row in mine_rows for f in row.found)] == []
    assert [one.link for one in mine if not re.match(r"https://\S+\.\w+/\S+$", one.link)] == []
    assert {rule for one in mine for rules in one.found.values() for rule in rules} <= set(BY_ID)
