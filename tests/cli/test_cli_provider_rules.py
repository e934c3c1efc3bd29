"""`conformance provider-rules`, over every rule that there is."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from conformance.cli import main
from fake_models import chunking
from fake_models.provider_rules import PROVIDER_RULES
from fake_models.wire import CODECS

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
    assert (
        "there is no provider rule and no wire 'tools_empty_aray'; did you mean 'tools_empty_array'? see"
        in result.output
    )


def test_an_id_that_is_like_no_other_names_none_but_the_command_that_lists_them():
    result = conformance("provider-rules", "zzzzzz")
    assert result.exit_code == 2
    assert result.output.strip().endswith("no wire 'zzzzzz'; see `conformance provider-rules` for all there are")


@pytest.mark.parametrize("wire", CODECS)
def test_a_wires_name_lists_its_rules(wire):
    lines = conformance("provider-rules", wire.upper()).stdout.splitlines()
    assert [line.split()[0] for line in lines] == [name for name in NAMES if name.startswith(f"{wire}.")]


@pytest.mark.parametrize("words", [["--page"], ["anthropic_messages"], ["anthropic_messages.tool_name_pattern"]])
def test_a_providers_own_braces_are_shown_once_and_placeholders_stay(words):
    shown = conformance("provider-rules", *words).stdout
    assert "tools.{i}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'" in shown


def test_the_refusal_of_a_body_that_no_rule_can_look_at_is_explained():
    result = conformance("provider-rules", "BODY_NO_OBJECT")
    assert result.exit_code == 0
    assert "a body that is no JSON object in UTF-8 is refused with status 400" in result.output


PAGE = Path(__file__).parents[2] / "docs/wires.md"


def test_the_page_on_the_wires_is_what_the_command_prints():
    assert PAGE.read_text("utf-8") == conformance("provider-rules", "--page").stdout


def test_the_page_speaks_of_every_chunking():
    assert [name for name in chunking.NAMES if f"`{name}`" not in PAGE.read_text("utf-8")] == []
