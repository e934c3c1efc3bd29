"""The README's examples are whole: they are cut out, run and do what the text around them says."""

import asyncio
import json
import re
import shlex
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from conformance.certify import certify
from conformance.cli import main
from conformance.environments import targets
from conformance.loading.loader import bundled, load
from conformance.rules import BY_ID, RULES

README = (Path(__file__).parents[1] / "README.md").read_text("utf-8")
EXAMPLES = dict(re.findall(r"<!-- example: (\S+) -->\n```\w+\n(.*?)```", README, re.DOTALL))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for name, text in EXAMPLES.items():
        (tmp_path / name).write_text(text, "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    sys.modules.pop("my_agent", None)


def run(*paths):
    return asyncio.run(certify("python:my_agent:AGENT", [load(path, rule_ids=BY_ID) for path in paths], RULES))


def test_the_readmes_agent_is_no_longer_than_it_says():
    assert len(EXAMPLES["my_agent.py"].splitlines()) <= 40


def test_the_readmes_scenario_passes_with_the_readmes_agent(folder):
    report = run(folder / "my-first.yaml")
    assert [(entry.scenario, entry.cell, entry.verdict) for entry in report.entries] == [
        ("my-first", "blocking", "pass")
    ]


def test_the_readmes_scenario_is_fair_to_an_honest_agent_and_shows_a_fault(folder):
    shown = re.search(r"^    conformance (lint --strict my-first.yaml)$", README, re.MULTILINE)[1]
    result = conformance(*shown.split())
    assert (result.exit_code, result.stdout) == (0, "1 scenario, no problem\n")


def test_the_readmes_agent_takes_an_empty_reply_for_an_answer_and_the_kit_says_so(folder):
    empty = next(path for path in bundled() if path.stem == "empty-once")
    (entry,) = run(empty).entries
    assert entry.verdict == "fail"
    assert {result.rule for result in entry.results if result.verdict == "fail"} & {"RUN-3", "REC-1", "DIA-1"}


def conformance(*words):
    return CliRunner().invoke(main, words)


def test_the_readmes_agent_has_many_findings_of_few_causes(folder):
    result = conformance("run", "--agent", "python:my_agent:AGENT")
    assert result.exit_code == 1
    failing, played = counts(result.stdout)
    assert "about four in ten fail" in " ".join(README.split())
    assert 0.35 <= failing / played <= 0.45
    table = result.stdout[result.stdout.index("findings by rule") :]
    assert len(re.findall(r"^[A-Z]+(?:-\S+)? +fail ", table, re.MULTILINE)) < failing / 2
    assert "a declaration that fits what was seen:" in result.stdout
    assert "; declare empty_response: finish" in " ".join(result.stdout.split())


def counts(stdout):
    """Of the plays that a report counts, how many fail and how many were played."""
    (line,) = re.findall(r"^\d+ scenarios: .+$", stdout, re.MULTILINE)
    count = {word: int(number) for number, word in re.findall(r"(\d+) ([a-z-]+)", line)}
    return count["fail"], count["scenarios"] - count["not-applicable"]


def test_the_declaration_that_the_report_offers_leaves_only_what_no_declaration_fits(folder):
    agent = ("run", "--agent", "python:my_agent:AGENT", "--format", "json")
    offered = re.search(r"^  --dialect (.+)$", conformance("run", *agent[1:3]).stdout, re.MULTILINE)[1]
    again = json.loads(conformance(*agent, "--dialect", *shlex.split(offered)).stdout)
    played = [one["verdict"] for one in again["runs"] if one["verdict"] != "not-applicable"]
    assert "With that declaration about one in ten still fails." in " ".join(README.split())
    assert 0.05 <= played.count("fail") / len(played) <= 0.15
    left = [f for run in again["runs"] for r in run["results"] if r["rule"] == "DIA-1" for f in r["findings"]]
    assert {finding["message"].partition(" is declared")[0] for finding in left} == {"bad_arguments"}
    assert all(finding["message"].endswith("so that no declaration fits") for finding in left)


def test_the_commands_for_ci_play_the_core_and_ones_own(folder):
    block = re.search(r"<!-- ci -->\n(.*?)<!-- /ci -->", README, re.DOTALL)[1]
    core, own = (shlex.split(line)[1:] for line in block.splitlines())
    assert [conformance(*words).exit_code for words in (core, own)] == [1, 0]
    assert (folder / "recordings/core/report.json").is_file()
    assert conformance(*own).exit_code == 2


def test_every_page_that_the_readme_links_to_is_there():
    root = Path(__file__).parents[1]
    assert [path for path in re.findall(r"\]\((docs/[^)#]+)\)", README) if not (root / path).is_file()] == []


def test_the_readme_names_only_commands_that_exist():
    named = set(re.findall(r"^    conformance ([\w-]+)", README, re.MULTILINE))
    assert named <= set(main.list_commands(None))


def test_the_readme_names_only_targets_that_there_are():
    installed = re.search(r"^    conformance targets install ([\w\- ]+?)  ", README, re.MULTILINE)[1].split()
    named = {
        *installed,
        *re.findall(r"target:([\w-]+)", README),
        *re.findall(r"^    conformance results (\w\S+)", README, re.MULTILINE),
    }
    assert len(named) >= 3
    assert named <= set(targets())
