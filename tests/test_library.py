"""The scenarios that come with the kit hold to the kit's own format, and leave no rule without a scenario."""

from collections import Counter
from pathlib import Path

import pytest
from kits_library import by_id

from conformance.loading.loader import bundled, load_all
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
    return tuple(one for one in by_id().values() if "core" in one.tags)


def test_every_bundled_file_loads_and_lints_clean() -> None:
    assert [one.id for one in load_all(bundled(), rule_ids=set(BY_ID))] == [path.stem for path in bundled()]


def test_every_bundled_file_opens_with_its_schema() -> None:
    assert [path for path in bundled() if _first_line(path) != SCHEMA_COMMENT] == []


def _first_line(path: Path) -> str:
    return path.read_text(encoding="utf-8").partition("\n")[0]


def test_every_scenario_has_its_folder_among_its_tags_and_says_why_it_is_there() -> None:
    plans = by_id()
    assert [path for path in bundled() if path.parent.name not in plans[path.stem].tags] == []
    assert [one.id for one in plans.values() if not one.exercises] == []
    assert [link for one in plans.values() for link in one.links if not link.startswith("https://")] == []


def test_ids_are_unique_over_the_folders() -> None:
    assert [stem for stem, count in Counter(path.stem for path in bundled()).items() if count > 1] == []


def test_the_core_has_at_least_24_scenarios(core: tuple[Scenario, ...]) -> None:
    assert len(core) >= 24


def test_every_rule_is_exercised_by_the_core(core: tuple[Scenario, ...]) -> None:
    assert set(BY_ID) - {rule for one in core for rule in one.exercises} == set()


def test_the_core_holds_the_founding_scenarios_and_their_twins(core: tuple[Scenario, ...]) -> None:
    assert set(FOUNDING) - {one.id for one in core} == set()


def test_every_core_scenario_predicts_something(core: tuple[Scenario, ...]) -> None:
    assert [one.id for one in core if not one.expect and not any(run.expect for run in one.runs)] == []


def test_the_time_query_predicts_exactly_twelve_events_of_the_reference() -> None:
    one = by_id()["time-query-max-iters-1"]
    assert [block.predictions["events"] for block in one.expect if "events" in block.predictions] == [12]


def test_an_agent_that_asks_again_after_a_filtered_reply_finds_a_turn(core: tuple[Scenario, ...]) -> None:
    scripts = [run.script.turns for one in core for run in one.runs]
    behind = [turns[at + 1 :] for turns in scripts for at, turn in enumerate(turns) if turn.stop == "filter"]
    assert len(behind) == 2
    assert all(turns and turns[0].optional for turns in behind)
