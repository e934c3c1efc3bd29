"""`conformance provider-rules`, over every rule that there is."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from conformance.cli import main
from fake_models import chunking
from fake_models.provider_rules import PROVIDER_RULES

NAMES = [f"{rule.wire}.{rule.id}" for rule in PROVIDER_RULES]


def conformance(*words):
    return CliRunner().invoke(main, words)


def test_every_rule_is_listed_once_with_mode_confidence_and_status():
    lines = conformance("provider-rules").stdout.splitlines()
    assert [line.split()[:4] for line in lines] == [
        [name, rule.mode, rule.confidence, str(rule.status)] for name, rule in zip(NAMES, PROVIDER_RULES, strict=True)
    ]
    assert len(set(NAMES)) == len(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_rule_is_explained_with_its_answer_and_where_it_was_seen(name):
    shown = conformance("provider-rules", name.upper()).stdout.splitlines()
    rule = PROVIDER_RULES[NAMES.index(name)]
    assert shown[0] == name
    assert f"answer: {rule.status} {rule.type}" in shown
    assert f"seen: {rule.source}" in shown


def test_an_id_that_several_wires_have_tells_of_each():
    ids = [rule.id for rule in PROVIDER_RULES]
    shown = conformance("provider-rules", "messages_empty").stdout
    assert shown.count("answer: ") == ids.count("messages_empty")


def test_an_unknown_id_names_the_nearest_and_ends_with_2():
    result = conformance("provider-rules", "tools_empty_aray")
    assert result.exit_code == 2
    assert "there is no provider rule 'tools_empty_aray'; did you mean 'tools_empty_array'" in result.output


PAGE = Path(__file__).parents[2] / "docs/wires.md"


def test_the_page_on_the_wires_is_what_the_command_prints():
    assert PAGE.read_text("utf-8") == conformance("provider-rules", "--page").stdout


def test_the_page_speaks_of_every_chunking():
    assert [name for name in chunking.NAMES if f"`{name}`" not in PAGE.read_text("utf-8")] == []
