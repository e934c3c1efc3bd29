"""docs/pytest.md is a whole project: cut out, it runs and does what the text around it says."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/pytest.md").read_text("utf-8")
EXAMPLE = re.compile(r"<!-- example: (\S+) -->\n```\w+\n(.*?)```", re.DOTALL)


@pytest.fixture
def project(project):
    for text in ((ROOT / "README.md").read_text("utf-8"), PAGE):
        for name, code in EXAMPLE.findall(text):
            (project.path / name).write_text(code, "utf-8")
    return project


def test_the_page_is_green_once_its_snapshots_are_written(project):
    project.runpytest().assert_outcomes(passed=2, failed=3)
    project.runpytest("--snapshot-update").assert_outcomes(passed=5)
    project.runpytest().assert_outcomes(passed=5)


def test_the_pages_agent_that_loses_the_tide_is_red_by_the_providers_own_words(project):
    path = project.path / "harbour.py"
    kept = '                messages.append({"role": "tool"'
    path.write_text(path.read_text("utf-8").replace(kept, f"                continue\n{kept}"), "utf-8")
    result = project.runpytest("test_harbour.py")
    result.assert_outcomes(failed=2, errors=2)
    result.stdout.fnmatch_lines(
        ["fake_model: request 2 was refused with 400 (by provider, rule missing_tool_results)*"]
    )


def test_the_options_of_the_page_are_those_of_the_plugin(project):
    named = set(re.findall(r"--conformance-[a-z]+", PAGE))
    offered = set(re.findall(r"--conformance-[a-z]+", project.runpytest("--help").stdout.str()))
    assert named == offered
