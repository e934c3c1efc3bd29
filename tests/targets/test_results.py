"""The targets behind the kit: what they do on founding scenarios, and that the page of results says what is found now."""

import asyncio
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from conformance.certify import certify
from conformance.dialect import Dialect
from conformance.environments import targets
from conformance.judge import Verdict
from conformance.loading.loader import bundled, load_all
from conformance.rules import RULES

PAGE = (Path(__file__).parents[2] / "docs" / "results.md").read_text("utf-8")
CELLS = ("blocking", "streaming/whole")


@dataclass(frozen=True)
class Expected:
    """How the page calls a target, where its public source is, the exception that is its limit, and what an empty reply costs."""

    heading: str
    public: str
    limit: str
    empty_once: tuple[int, int, int]


SDK = r"https://github\.com/openai/openai-python/blob/"
TARGETS = {
    # Asked again, it answers: RUN_STARTED, a text of three, RUN_FINISHED.
    "pydantic-ai": Expected(
        "Pydantic AI",
        rf"(https://github\.com/pydantic/pydantic-ai/blob/|https://pydantic\.dev/docs/ai/|{SDK})",
        "UsageLimitExceeded",
        (2, 0, 5),
    ),
    # Declared is `finish`: RUN_STARTED, RUN_FINISHED.
    "langchain": Expected(
        "LangChain", rf"(https://github\.com/langchain-ai/\w+/blob/|{SDK})", "GraphRecursionError", (1, 0, 2)
    ),
}
#: Model calls, executions and events that follow from a scenario alone.
STEPS = {
    # RUN_STARTED; start, arguments, end and result of the one call; RUN_ERROR.
    "time-query-max-iters-1": (1, 1, 6),
    # The same for two calls.
    "cargo-chain-max-iters-2": (2, 2, 10),
    # RUN_STARTED; four for each of three calls; a text of three; RUN_FINISHED.
    "cargo-chain-max-iters-10": (4, 3, 17),
}
#: What the adapter is, what follows from on_limit, and what is as long as it is plain.
UNLISTED = {"events", "limit_text", "limit_terminal", "exceptions"}


@pytest.fixture(scope="module", params=[pytest.param(name, marks=pytest.mark.xdist_group(name)) for name in TARGETS])
def played(request):
    """A target's name, and the report on every core scenario, played and judged once in each cell."""
    core = [plan for plan in load_all(bundled()) if "core" in plan.tags]
    return request.param, asyncio.run(certify(f"target:{request.param}", core, RULES))


def run_of(report, scenario, cell):
    [entry] = [one for one in report.entries if (one.scenario, one.cell) == (scenario, cell)]
    [run] = entry.judgements[0].view.runs
    return run


def test_every_target_has_its_part_of_the_page():
    assert set(TARGETS) == set(targets())
    assert re.findall(r"^## (.+)$", PAGE, re.MULTILINE) == [one.heading for one in TARGETS.values()]


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("scenario", [*STEPS, "empty-once"])
def test_the_founding_scenarios_take_these_many_model_calls_executions_and_events(played, scenario, cell):
    name, report = played
    run = run_of(report, scenario, cell)
    expected = STEPS.get(scenario, TARGETS[name].empty_once)
    assert (len(run.calls), len(run.executions), len(run.events)) == expected


@pytest.mark.parametrize("cell", CELLS)
def test_the_limit_is_an_exception_that_is_declared_as_one(played, cell):
    name, report = played
    run = run_of(report, "time-query-max-iters-1", cell)
    assert (run.raised.exception, run.terminal.type) == (TARGETS[name].limit, "RUN_ERROR")
    assert report.dialect["exceptions"][run.raised.exception] == "limit"


def test_nothing_could_not_be_played(played):
    _, report = played
    assert [(one.scenario, one.cell, one.error) for one in report.entries if one.error] == []


def test_the_page_lists_exactly_what_fails_and_warns_now(played):
    name, report = played
    found = {
        (entry.scenario, entry.cell, result.rule, str(result.verdict))
        for entry in report.entries
        for result in entry.results
        if result.verdict in (Verdict.FAIL, Verdict.WARN)
    }
    assert listed(part(name)) == found


def test_the_page_names_the_version_and_every_key_that_is_declared_otherwise_than_recommended(played):
    name, report = played
    assert f"{TARGETS[name].heading} {report.agent['version']} " in PAGE
    recommended = Dialect().data()
    declared = {key for key, value in report.dialect.items() if value != recommended[key]} - UNLISTED
    rows = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|", part(name), re.MULTILINE)
    assert {key for row in rows for key in re.findall(r"\w+", row)} == declared


@pytest.mark.parametrize("name", TARGETS)
def test_the_page_explains_each_scenario_with_a_link_and_a_command_that_shows_it(name):
    text = part(name)
    sections = dict(re.findall(r"^### `([a-z0-9-]+)`\n(.*?)(?=^##|\Z)", text, re.MULTILINE | re.DOTALL))
    assert set(sections) == {scenario for scenario, *_ in listed(text)}
    assert {plan.id for plan in load_all(bundled())} >= set(sections)
    for scenario, section in sections.items():
        assert f"`conformance run {scenario} --agent target:{name}`" in section
        assert re.search(TARGETS[name].public, section), scenario


def test_the_page_speaks_of_targets_alone():
    assert re.findall(r"python:\S+", PAGE) == []
    assert set(re.findall(r"--agent (\S+?)`?$", PAGE, re.MULTILINE)) == {f"target:{name}" for name in TARGETS}


def part(name):
    """What the page says of one target."""
    [text] = re.findall(rf"^## {TARGETS[name].heading}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    return text


def listed(text):
    rows = re.findall(r"^\| `([a-z0-9-]+)` \| ([A-Z]+(?:-\w+)?) \| (fail|warn) \| ([^|]+) \|$", text, re.MULTILINE)
    return {
        (scenario, cell.strip(), rule, verdict) for scenario, rule, verdict, cells in rows for cell in cells.split(",")
    }
