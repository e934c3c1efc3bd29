"""docs/ci.md is whole: its workflow is YAML of commands that exist and do what the page says, its baseline is read."""

import re
import shlex
import sys
from pathlib import Path
from xml.dom import minidom

import click
import pytest
import yaml
from click.testing import CliRunner
from junitparser import Error, Failure, Skipped

from conformance.baseline_file import Vocabulary, read
from conformance.cli import main
from conformance.cli.known import CELLS
from conformance.judge import Verdict
from conformance.loading.loader import bundled
from conformance.reporters.junit import OUTCOMES
from conformance.rules import BY_ID

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs/ci.md").read_text("utf-8")
README = (ROOT / "README.md").read_text("utf-8")


def block(name):
    return re.search(rf"<!-- {name} -->\n```yaml\n(.*?)```\n<!-- /{name} -->", PAGE, re.DOTALL)[1]


WORKFLOW = yaml.safe_load(block("workflow"))
STEPS = WORKFLOW["jobs"]["conformance"]["steps"]
COMMANDS = [shlex.split(step["run"]) for step in STEPS if step.get("run", "").startswith("conformance ")]
SHOWN = [shlex.split(line) for line in re.findall(r"^    (conformance .+)$", PAGE, re.MULTILINE)]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A repository as the workflow finds it: the README's agent and scenario, and an empty baseline."""
    for name, text in re.findall(r"<!-- example: (\S+) -->\n```\w+\n(.*?)```", README, re.DOTALL):
        (tmp_path / name).write_text(text, "utf-8")
    (tmp_path / "baseline.yaml").write_text("", "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    sys.modules.pop("my_agent", None)


def conformance(*words):
    return CliRunner().invoke(main, words)


def test_the_workflow_has_what_a_workflow_has():
    # `on` is a truth to YAML 1.1, which is what this parser reads.
    assert set(WORKFLOW) == {"name", True, "jobs"}
    assert [set(step) & {"run", "uses"} for step in STEPS if len(set(step) & {"run", "uses"}) != 1] == []
    assert len(COMMANDS) == 2
    kept = next(step for step in STEPS if step.get("uses", "").startswith("actions/upload-artifact"))
    written = {Path(words[words.index(option) + 1]).parts[0] for words in COMMANDS for option in ("--junit", "--out")}
    assert set(kept["with"]["path"].split()) == written


@pytest.mark.parametrize("words", COMMANDS + SHOWN, ids=" ".join)
def test_a_command_of_the_page_has_a_verb_and_options_that_exist(words):
    verb = main.get_command(click.Context(main), words[1])
    options = {name for one in verb.params for name in one.opts}
    assert {word for word in words if word.startswith("-")} <= options


def test_the_workflow_plays_the_core_and_ones_own_and_its_reports_agree(folder):
    core, own = (conformance(*words[1:]) for words in COMMANDS)
    assert (core.exit_code, own.exit_code) == (1, 0)
    for name, result in (("core", core), ("own", own)):
        root = minidom.parse(f"reports/{name}.xml").documentElement
        total = totals(result)
        assert int(root.getAttribute("tests")) == sum(total.values())
        assert int(root.getAttribute("failures")) == total.get("fail", 0)
        assert (folder / "recordings" / name / "report.json").is_file()

    pasted = core.stdout.partition("give each entry its reason:\n")[2].replace('""', "known since today")
    (folder / "baseline.yaml").write_text(pasted, "utf-8")
    again = conformance("judge", "recordings/core", "--baseline", "baseline.yaml")
    assert again.exit_code in (0, 3)
    assert totals(again)["expected-fail"] == totals(core)["fail"]
    assert "fail" not in totals(again)
    assert conformance("diff", "recordings/core", "recordings/core").exit_code == 0


def totals(result):
    """How many plays a report counts of which verdict, by its line of totals."""
    (line,) = [line for line in result.stdout.splitlines() if re.match(r"\d+ scenarios?: ", line)]
    return {word: int(count) for count, word in re.findall(r"(\d+) ([a-z-]+)", line.partition(": ")[2])}


def test_the_baseline_of_the_page_is_one():
    words = Vocabulary([path.stem for path in bundled()], BY_ID, CELLS)
    assert [(one.scenario, one.rule, one.cell) for one in read(block("baseline"), "ci.md", words)] == [
        ("empty-once", "DIA-1", None),
        ("unknown-argument", "DIA-1", "blocking"),
    ]


def test_the_baseline_of_the_page_holds_for_the_readmes_agent(folder):
    (folder / "baseline.yaml").write_text(block("baseline"), "utf-8")
    scenarios = [one["scenario"] for one in yaml.safe_load(block("baseline"))]
    result = conformance("run", *scenarios, "--agent", "python:my_agent:AGENT", "--baseline", "baseline.yaml")
    assert totals(result) == {"expected-fail": len(scenarios)}
    assert result.exit_code == 0


def test_every_verdict_has_its_place_in_the_table_of_junit():
    table = PAGE[PAGE.index("| verdict | in JUnit |") :].partition("\n\n")[0]
    cells = [line.split("|")[1:3] for line in table.splitlines()[2:]]
    said = {verdict: how for verdicts, how in cells for verdict in re.findall(r"`([a-z-]+)`", verdicts)}
    assert said.keys() == set(Verdict)
    elements = {Failure: "`failure`", Error: "`error`", Skipped: "`skipped`", None: "passes"}
    assert [verdict for verdict, how in said.items() if elements[OUTCOMES.get(verdict)] not in how] == []


def test_the_readme_leads_here():
    assert "(docs/ci.md)" in README[README.index("## In CI") : README.index("## What else")]
