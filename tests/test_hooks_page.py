"""docs/hooks.md is whole: its agent runs and keeps every clause that it is about, and its tables say what the code knows."""

import asyncio
import json
import re
import sys
from pathlib import Path

import pytest

from conformance.certify import certify
from conformance.loading.loader import bundled, load_all
from conformance.rules import BY_ID, RULES
from conformance.rules.records import PATHS

PAGE = (Path(__file__).parents[1] / "docs/hooks.md").read_text("utf-8")
SCHEMA = json.loads((Path(__file__).parents[1] / "conformance/schemas/scenario.schema.json").read_text("utf-8"))
ABOUT = {"GRD-5", *(one for one in BY_ID if one.startswith(("CB-", "OBS-")))}
#: What an agent without a compaction cannot show.
BEYOND = {"OBS-5"}


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    [(name, text)] = re.findall(r"<!-- example: (\S+) -->\n```python\n(.*?)```", PAGE, re.DOTALL)
    (folder / name).write_text(text, "utf-8")
    plans = [one for one in load_all(bundled(), rule_ids=set(BY_ID)) if {"callbacks", "records"} & set(one.tags)]
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        yield asyncio.run(certify("python:watched_agent:AGENT", plans, RULES))
    sys.modules.pop("watched_agent", None)


def test_the_pages_command_ends_without_a_failure_and_without_a_warning(report):
    assert {entry.verdict for entry in report.entries} == {"pass", "not-applicable"}


def test_the_pages_agent_keeps_every_clause_that_the_page_is_about(report):
    found = {
        result.rule: result.findings
        for entry in report.entries
        for result in entry.results
        if result.rule in ABOUT and result.findings
    }
    assert found == {}


def test_each_of_these_clauses_is_armed_by_the_pages_agent(report):
    passed = {result.rule for entry in report.entries for result in entry.results if result.verdict == "pass"}
    assert ABOUT - passed == BEYOND


def test_the_page_names_every_hook_and_all_that_one_can_do():
    hook = SCHEMA["$defs"]["knobs"]["properties"]["callbacks"]["items"]["properties"]
    assert [word for one in ("hook", "does") for word in hook[one]["enum"] if f"`{word}`" not in PAGE] == []


def test_the_page_says_what_may_follow_what():
    rows = re.findall(r"^\| (`[a-z`, ]+`) \| (.+) \|$", PAGE[PAGE.index("| state | may become |") :], re.MULTILINE)
    told = {
        state: frozenset(re.findall(r"`(\w+)`", after)) for names, after in rows for state in re.findall(r"\w+", names)
    }
    assert told == {state: after for state, after in PATHS.items() if state}
