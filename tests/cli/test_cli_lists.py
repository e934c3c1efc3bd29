from pathlib import Path

import pytest
from click.testing import CliRunner

from conformance.cli import main
from conformance.loading.loader import bundled
from conformance.rules import RULES

HELLO = Path(__file__).parent / "hello.yaml"


def conformance(*words):
    return CliRunner().invoke(main, words)


def test_lint_says_file_line_and_column_and_ends_with_2(tmp_path):
    file = tmp_path / "hello.yaml"
    file.write_text(HELLO.read_text(encoding="utf-8").replace("RUN-2", "RUN-22"), encoding="utf-8")
    result = conformance("lint", str(file))
    assert result.exit_code == 2
    assert result.stdout.startswith(f"{file}:5:20: exercises[1]: no rule has the id 'RUN-22'")


def test_lint_says_how_many_files_have_no_problem():
    result = conformance("lint", str(HELLO))
    assert (result.exit_code, result.stdout) == (0, "1 scenario, no problem\n")


def test_lint_escapes_what_a_file_says(tmp_path):
    file = tmp_path / "hello.yaml"
    file.write_text(HELLO.read_text(encoding="utf-8").replace("RUN-2", '"\\e[31m"'), encoding="utf-8")
    result = conformance("lint", str(file))
    assert result.exit_code == 2
    assert "\x1b" not in result.output


def test_rules_lists_every_rule_with_its_level_and_clause():
    lines = conformance("rules").stdout.splitlines()
    assert [line.split()[:2] for line in lines] == [[rule.id, rule.level] for rule in RULES]


@pytest.mark.parametrize("word", ["SUM-1", "sum-1"])
def test_a_rule_is_explained(word):
    result = conformance("rules", word)
    assert result.exit_code == 0
    for part in (
        "SUM-1 MUST",
        "why: ",
        "read from: M (model requests and replies)",
        "time-query-max-iters-1",
        "seen: https://",
    ):
        assert part in result.stdout


def test_a_rule_of_the_kit_that_is_read_from_no_channel_has_no_empty_line():
    shown = conformance("rules", "DIA-1").stdout
    assert "read from" not in shown
    assert not [line for line in shown.splitlines() if line.endswith((":", ": "))]


def test_scenarios_lists_id_tags_and_title_of_every_bundled_one():
    lines = conformance("scenarios").stdout.splitlines()
    assert [line.split()[0] for line in lines] == [path.stem for path in bundled()]


def test_agents_shows_how_each_spec_looks():
    shown = conformance("agents").stdout
    assert "--agent reference" in shown
    assert "--agent python:package.module:NAME" in shown


def test_agents_names_the_page_on_declarations_and_prints_it():
    assert "docs/dialect.md" in conformance("agents").stdout
    page = Path(__file__).parents[2] / "docs/dialect.md"
    assert conformance("agents", "--declarations").stdout == page.read_text(encoding="utf-8")


def test_the_version_is_told():
    assert conformance("--version").stdout.startswith("conformance, version ")
