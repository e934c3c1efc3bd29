"""Pydantic AI behind the kit: what it does on founding scenarios, and that the page of results says what is found now."""

import asyncio
import re
from pathlib import Path

import pytest

from conformance.certify import certify
from conformance.judge import Verdict
from conformance.loading.loader import bundled, library, load_all
from conformance.rules import RULES

SPEC = "python:conformance.targets.pydantic_ai.agent:AGENT"
PAGE = Path(__file__).parents[2] / "docs" / "results.md"
CELLS = ("blocking", "streaming/whole")


@pytest.fixture(scope="module")
def entries():
    """Every core scenario, played and judged once in each cell."""
    core = [plan for plan in load_all(bundled()) if "core" in plan.tags]
    return asyncio.run(certify(SPEC, core, RULES)).entries


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize(
    ("scenario", "steps"),
    [
        # RUN_STARTED; start, arguments, end and result of the one call; RUN_ERROR.
        ("time-query-max-iters-1", (1, 1, 6)),
        # The same for two calls.
        ("cargo-chain-max-iters-2", (2, 2, 10)),
        # RUN_STARTED; four for each of three calls; a text of three; RUN_FINISHED.
        ("cargo-chain-max-iters-10", (4, 3, 17)),
        # RUN_STARTED, a text of three, RUN_FINISHED.
        ("empty-once", (2, 0, 5)),
    ],
)
def test_the_founding_scenarios_take_these_many_model_calls_executions_and_events(entries, scenario, cell, steps):
    [entry] = [one for one in entries if (one.scenario, one.cell) == (scenario, cell)]
    [run] = entry.judgements[0].view.runs
    assert (len(run.calls), len(run.executions), len(run.events)) == steps


@pytest.mark.parametrize("cell", CELLS)
def test_the_limit_is_an_exception_that_is_declared_as_one(entries, cell):
    [entry] = [one for one in entries if (one.scenario, one.cell) == ("time-query-max-iters-1", cell)]
    [run] = entry.judgements[0].view.runs
    assert (run.raised.exception, run.terminal.type) == ("UsageLimitExceeded", "RUN_ERROR")


def test_nothing_could_not_be_played(entries):
    assert [(one.scenario, one.error) for one in entries if one.error] == []


def test_the_page_of_results_lists_exactly_what_fails_and_warns_now(entries):
    found = {
        (entry.scenario, entry.cell, result.rule, str(result.verdict))
        for entry in entries
        for result in entry.results
        if result.verdict in (Verdict.FAIL, Verdict.WARN)
    }
    assert _listed(PAGE.read_text("utf-8")) == found


def test_the_page_explains_each_scenario_with_a_link_and_a_command_that_shows_it():
    text = PAGE.read_text("utf-8")
    sections = dict(re.findall(r"^### `([a-z0-9-]+)`\n(.*?)(?=^##|\Z)", text, re.MULTILINE | re.DOTALL))
    assert set(sections) == {scenario for scenario, *_ in _listed(text)}
    for scenario, section in sections.items():
        assert f"conformance run {scenario} --agent {SPEC}" in section
        assert re.search(r"https://(github\.com/pydantic/pydantic-ai|pydantic\.dev/docs/ai)/", section)
    assert set(sections) <= {path.stem for path in library().rglob("*.yaml")}


def _listed(text):
    rows = re.findall(r"^\| `([a-z0-9-]+)` \| ([A-Z]+(?:-\w+)?) \| (fail|warn) \| ([^|]+) \|$", text, re.MULTILINE)
    return {
        (scenario, cell.strip(), rule, verdict) for scenario, rule, verdict, cells in rows for cell in cells.split(",")
    }
