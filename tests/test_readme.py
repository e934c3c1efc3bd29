"""The README's examples are whole: they are cut out, run and do what the text around them says."""

import asyncio
import re
import sys
from pathlib import Path

import pytest

from conformance.certify import certify
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


def test_the_readmes_agent_takes_an_empty_reply_for_an_answer_and_the_kit_says_so(folder):
    empty = next(path for path in bundled() if path.stem == "empty-once")
    (entry,) = run(empty).entries
    assert entry.verdict == "fail"
    assert {result.rule for result in entry.results if result.verdict == "fail"} & {"RUN-3", "REC-1", "DIA-1"}


def test_the_readme_names_only_commands_that_exist():
    from conformance.cli import main  # noqa: PLC0415

    named = set(re.findall(r"^    conformance (\w+)", README, re.MULTILINE))
    assert named <= set(main.list_commands(None))
