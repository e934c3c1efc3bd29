"""docs/python.md is whole: its agent streams, is cancelled and waits as the page says, and its tables name what an agent is given."""

import asyncio
import json
import re
import sys
from dataclasses import fields
from pathlib import Path

import pytest
from click.testing import CliRunner

from conformance.agent_side import Bench, InProcessAgent, RunInput
from conformance.certify import certify
from conformance.cli import main
from conformance.loading.loader import bundled, load_all
from conformance.rules import BY_ID, RULES

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs/python.md").read_text("utf-8")
[(NAME, AGENT)] = re.findall(r"<!-- example: (\S+) -->\n```python\n(.*?)```", PAGE, re.DOTALL)

#: What the page's agent does without. All else of the core is played to it.
LACKED = {
    *(f"capability {name}" for name in ("concurrent_runs", "tool_timeout")),
    *(f"knob {name}" for name in ("callbacks", "debug", "gate", "subagents", "tracing")),
}
#: A session of the page's agent that breaks one promise, and a rule that has to say so.
BROKEN = """
import streaming_agent
from streaming_agent import INFO, InProcessAgent

class Deaf(streaming_agent.Session):
    def cancel(self, run):
        pass

class Late(streaming_agent.Session):
    def choices(self, given, body):
        yield from list(super().choices(given, body))

class Hasty(streaming_agent.Session):
    def denied(self, given):
        return {}

DEAF, LATE, HASTY = (InProcessAgent(INFO, one) for one in (Deaf, Late, Hasty))
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / NAME).write_text(AGENT, "utf-8")
    (tmp_path / "broken_streaming.py").write_text(BROKEN, "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    for name in ("streaming_agent", "broken_streaming"):
        sys.modules.pop(name, None)


def conformance(*words):
    return CliRunner().invoke(main, words)


def test_the_pages_agent_passes_all_of_the_core_that_can_be_played_to_it_streamed_and_not(folder):
    result = conformance("run", "--agent", "python:streaming_agent:AGENT", "--format", "json")
    runs = json.loads(result.stdout)["runs"]
    assert {run["cell"] for run in runs} == {"blocking", "streaming/whole"}
    assert {run["verdict"] for run in runs} == {"pass", "not-applicable"}
    lacking = {run["excused"] for run in runs if run["verdict"] == "not-applicable"}
    assert lacking == LACKED
    assert result.exit_code == 0


def found(agent, *tags):
    """By rule, the verdicts of every play of the scenarios with one of these tags."""
    plans = [one for one in load_all(bundled(), rule_ids=set(BY_ID)) if set(tags) & set(one.tags)]
    report = asyncio.run(certify(agent, plans, RULES))
    verdicts = {}
    for result in (result for entry in report.entries for result in entry.results):
        verdicts.setdefault(result.rule, set()).add(result.verdict)
    return verdicts


@pytest.mark.parametrize(
    ("name", "tags", "rules"),
    [
        pytest.param("DEAF", ["interrupts"], {"INT-2"}, id="its cancel does nothing"),
        pytest.param("LATE", ["streaming"], {"STR-4"}, id="it shows a reply once it is whole"),
        pytest.param("HASTY", ["approval"], {"HITL-1"}, id="it asks a person and does not wait for the answer"),
    ],
)
def test_what_the_page_says_of_cancelling_streaming_and_waiting_is_what_its_agent_is_judged_by(
    folder, name, tags, rules
):
    kept, broken = found("python:streaming_agent:AGENT", *tags), found(f"python:broken_streaming:{name}", *tags)
    assert {rule for rule in rules if "pass" in kept[rule] and not kept[rule] & {"fail", "warn"}} == rules
    assert {rule for rule in rules if broken[rule] & {"fail", "warn"}} == rules


def test_the_same_file_serves_in_a_process_of_its_own(folder):
    served = re.search(r"--agent 'command:python (.+)'$", PAGE, re.MULTILINE)[1]
    scenarios = ("cancel-in-a-tool", "cancel-while-an-answer-is-spoken", "approved-call-runs", "forced-tool-choice")
    result = conformance("run", *scenarios, "--agent", f"command:{sys.executable} {served}")
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize(("kind", "head"), [(RunInput, "field of `RunInput`"), (Bench, "field of `Bench`")])
def test_the_page_says_of_each_field_what_it_is(kind, head):
    table = PAGE[PAGE.index(f"| {head} |") :].partition("\n\n")[0]
    named = set(re.findall(r"`(\w+)[`(]", table))
    assert {one.name for one in fields(kind)} - named == set()


def test_the_page_names_the_two_parts_of_an_agent_and_is_led_to():
    assert all(f"`{one}`" in PAGE for one in ("InProcessAgent", "AgentInfo", "Bench", "RunInput", "ToolFailed"))
    assert {one.name for one in fields(InProcessAgent)} == {"info", "open"}
    assert "(docs/python.md)" in (ROOT / "README.md").read_text("utf-8")
    assert "(python.md)" in (ROOT / "docs/dialect.md").read_text("utf-8")
