"""The targets whose environments are made: what they do on founding scenarios, and that their rows say what is found now."""

import asyncio
from pathlib import Path

import pytest

from conformance.certify import certify
from conformance.environments import targets
from conformance.loading.loader import bundled, find, library, load_all
from conformance.report import as_json
from conformance.results import rows
from conformance.rules import RULES
from conformance.table import kept

#: Regular model calls and executions that follow from a scenario alone, far from any limit.
STEPS = {"cargo-chain-max-iters-10": (4, 3)}
#: The two that are most used are played whole.
WHOLE = ("langchain", "pydantic-ai")
KEPT = {row.target: row for row in kept(Path(__file__).parents[2] / "results")}


def of(name):
    one = targets()[name]
    absent = pytest.mark.skipif(
        not one.installed, reason=f"its environment is not made: conformance targets install {name}"
    )
    return pytest.param(name, marks=[pytest.mark.xdist_group(name), absent])


@pytest.mark.parametrize("name", [of(name) for name in targets()])
def test_a_target_takes_the_rounds_and_runs_the_tools_that_a_founding_scenario_has(name):
    plans = load_all(find(tuple(STEPS), [library()]))
    report = as_json(asyncio.run(certify(f"target:{name}", plans, RULES)))
    seen = {(run["scenario"], run["regular_calls"], len(run["tools_run"])) for run in report["runs"]}
    assert seen == {(scenario, *steps) for scenario, steps in STEPS.items()}


@pytest.mark.parametrize("name", [of(name) for name in WHOLE])
def test_its_row_says_what_is_found_now(name):
    core = [plan for plan in load_all(bundled()) if "core" in plan.tags]
    report = as_json(asyncio.run(certify(f"target:{name}", core, RULES)))
    (row,) = rows(report, name)
    assert (row.version, row.verdicts) == (KEPT[name].version, KEPT[name].verdicts)
    assert row.found == KEPT[name].found
