"""The scenarios that come with the kit hold to the kit's own format, and leave no rule without a scenario."""

from collections import Counter
from pathlib import Path

import pytest

from conformance.loading.loader import bundled, library, load, load_all
from conformance.rules import BY_ID
from conformance.scenario import Scenario

SCHEMA_COMMENT = "# yaml-language-server: $schema=../../conformance/schemas/scenario.schema.json"

#: The contract's four founding scenarios and the twins it names with them.
FOUNDING = (
    "time-query-max-iters-1",
    "cargo-chain-max-iters-2",
    "cargo-chain-max-iters-10",
    "cargo-chain-second-run",
    "summary-fails",
    "summary-asks-for-a-tool",
    "summary-empty",
    "empty-once",
    "empty-forever",
    "empty-in-each-of-two-rounds",
    "empty-null",
    "empty-blank",
    "empty-thinking",
    "empty-text-beside-a-call",
    "answer-zero",
    "answer-dot",
    "overflow-once",
    "overflow-forever",
    "overflow-too-short-to-shrink",
    "overflow-code-only",
    "overflow-anthropic-words",
    "overflow-length-without-output",
    "overflow-compaction-overflows-too",
    "rate-limit-that-speaks-of-tokens",
)


@pytest.fixture(scope="module")
def core() -> tuple[Scenario, ...]:
    return tuple(one for one in load_all(bundled(), rule_ids=set(BY_ID)) if "core" in one.tags)


@pytest.mark.parametrize("path", bundled(), ids=lambda path: path.stem)
def test_a_bundled_file_loads_and_lints_clean(path: Path) -> None:
    assert load(path, rule_ids=set(BY_ID)).id == path.stem


@pytest.mark.parametrize("path", bundled(), ids=lambda path: path.stem)
def test_a_bundled_file_opens_with_its_schema_and_says_why_it_is_there(path: Path) -> None:
    one = load(path)
    assert path.read_text(encoding="utf-8").splitlines()[0] == SCHEMA_COMMENT
    assert path.parent.name in one.tags, "a scenario's folder is its area, and the area is a tag"
    assert one.exercises
    assert all(link.startswith("https://") for link in one.links)


def test_ids_are_unique_over_the_folders() -> None:
    assert [stem for stem, count in Counter(path.stem for path in bundled()).items() if count > 1] == []


def test_the_core_has_at_least_24_scenarios(core: tuple[Scenario, ...]) -> None:
    assert len(core) >= 24


@pytest.mark.parametrize("rule", BY_ID)
def test_every_rule_is_exercised_by_the_core(rule: str, core: tuple[Scenario, ...]) -> None:
    assert any(rule in one.exercises for one in core)


@pytest.mark.parametrize("name", FOUNDING)
def test_the_core_holds_the_founding_scenarios_and_their_twins(name: str, core: tuple[Scenario, ...]) -> None:
    assert name in {one.id for one in core}


def test_every_core_scenario_predicts_something(core: tuple[Scenario, ...]) -> None:
    assert [one.id for one in core if not one.expect and not any(run.expect for run in one.runs)] == []


def test_the_time_query_predicts_exactly_twelve_events_of_the_reference() -> None:
    one = load(next(library().rglob("time-query-max-iters-1.yaml")))
    assert [block.predictions["events"] for block in one.expect if "events" in block.predictions] == [12]
