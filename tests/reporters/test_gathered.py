"""What the end of a report gathers over all scenarios: causes by rule, the declaration that fits, events nobody declared."""

from dataclasses import replace

import pytest
from story import Story

from conformance.judge import judge
from conformance.report import Played, report
from conformance.reporters.broken import Tally, broken, by_rule
from conformance.reporters.fitting import fitting, pasted, torn, undeclared_events
from conformance.reporters.terminal import terminal
from conformance.rule import MUST, SHOULD, Finding, Rule


def told(events=1, channels="MTER", *, raised=False):
    s = Story(channels=channels)
    for _ in range(events):
        s.event("RUN_STARTED")
    s.ask()
    s.reply(text="42")
    s.outcome("answered", text="42")
    recording = s.recording()
    if raised:
        records = [
            replace(one, data={**one.data, "raised": True}) if one.kind == "agent/event" else one
            for one in recording.records
        ]
        recording = replace(recording, records=tuple(records))
    return recording


def rule(name, *findings, level=MUST):
    return Rule(name, level, "The clause.", "The reason.", "M", lambda _view: iter(findings))


def seen(scenario, shows, declared):
    """A play that shows these values where those are declared."""
    fitted = tuple((key, value) for key, value in shows.items() if value != declared[key])
    return Played(scenario, "blocking", replace(judge(told(), []), shows=shows, fitted=fitted))


RECOMMENDED = {"empty_response": {"retry_then_error": 1}, "model_error": "error", "limit_terminal": "finished"}


def suite(*plays, dialect=None):
    return report({}, dialect or {}, [seen(*play, RECOMMENDED | (dialect or {})) for play in plays], [])


def test_the_declaration_that_fits_is_gathered_over_the_suite():
    rep = suite(
        ("a", {"empty_response": {"retry_then_error": 2}}),
        ("b", {"model_error": "raise"}),
        ("c", {"limit_terminal": "finished"}),
    )
    assert fitting(rep) == {"empty_response": {"retry_then_error": 2}, "model_error": "raise"}
    assert list(torn(rep)) == []
    text = terminal(rep, {}, str)
    assert (
        "a declaration that fits what was seen:\n"
        '  {"empty_response": {"retry_then_error": 2}, "model_error": "raise"}\n'
        "  --dialect 'empty_response={retry_then_error: 2},model_error=raise'\n"
    ) in text


def test_what_was_declared_before_and_fits_stays_in_it():
    rep = suite(("a", {"model_error": "raise"}), dialect={"on_limit": "stop", "usage_events": "none"})
    assert fitting(rep) == {"on_limit": "stop", "model_error": "raise", "usage_events": "none"}


def test_the_shorthand_goes_where_another_pair_is_seen():
    rep = suite(("a", {"limit_terminal": "finished"}), dialect={"on_limit": "stop", "limit_terminal": "flagged"})
    assert fitting(rep) == {"limit_text": "none"}
    assert fitting(suite(("a", {"limit_terminal": "flagged"}))) == {"limit_terminal": "flagged"}


def test_nothing_is_to_be_declared_where_the_declaration_fits():
    rep = suite(("a", {"model_error": "error"}))
    assert fitting(rep) == {}
    assert "declaration" not in terminal(rep, {}, str)


def test_a_key_that_shows_several_values_is_named_with_them_and_where():
    rep = suite(("a", {"model_error": "error"}), ("b", {"model_error": "raise"}), ("c", {"model_error": "raise"}))
    assert fitting(rep) == {}
    assert list(torn(rep)) == ['model_error: "error" in a; "raise" in b, c']
    assert "no declaration fits, since the agent does several things where it has to do one:" in terminal(rep, {}, str)


def test_of_many_scenarios_the_first_five_are_named():
    rep = suite(("z", {"model_error": "error"}), *((name, {"model_error": "raise"}) for name in "abcdefg"))
    assert list(torn(rep)) == ['model_error: "error" in z; "raise" in a, b, c, d, e and 2 more']


def test_what_is_pasted_carries_nothing_hostile():
    data, option = pasted({"exceptions": {"\x1b[31m'; rm": "limit"}})
    assert (data + option).isprintable()


def test_findings_are_counted_by_rule_and_scenario_the_most_frequent_first():
    often, seldom = rule("RUN-1", Finding("Broken.", 1)), rule("HIS-1", Finding("Broken.", 1))
    warns, follows = (
        rule("LOG-1", Finding("Odd.", 1), level=SHOULD),
        rule("ACT-1", Finding("So.", 1, consequence_of="HIS-1")),
    )
    quiet = [rule(name) for name in ("HIS-1", "LOG-1", "ACT-1")]
    plays = [
        Played("a", "blocking", judge(told(), [seldom, often, warns, follows])),
        Played("b", "blocking", judge(told(), [quiet[0], often, *quiet[1:]])),
        Played("b", "streaming/whole", judge(told(), [quiet[0], often, *quiet[1:]])),
    ]
    rep = report({}, {}, plays, [seldom, often, warns, follows])
    assert by_rule(rep) == [
        Tally("RUN-1", "fail", 2, "a"),
        Tally("HIS-1", "fail", 1, "a"),
        Tally("LOG-1", "warn", 1, "a"),
    ]
    rows = terminal(rep, {one.id: one for one in (seldom, often, warns, follows)}, str).splitlines()
    at = rows.index("findings by rule   verdict   scenarios   first")
    assert rows[at + 1] == "RUN-1              fail              2   a"


def test_what_only_follows_stands_behind_its_cause_whatever_the_order_of_the_rules():
    rules = [rule("ACT-1", Finding("So.", 1, consequence_of="STR-3")), rule("STR-3", Finding("Why.", 1))]
    rep = report({}, {}, [Played("a", "blocking", judge(told(), rules))], rules)
    assert [one.result.rule for one in broken(rep)["a"]] == ["STR-3", "ACT-1"]


@pytest.mark.parametrize(
    ("recording", "line"),
    [
        (told(2, "MTR"), "2 events came, first in told, but channel E is not declared, so they are not judged"),
        (told(2, "MTER"), None),
        (told(0, "MTR"), None),
        # The adapter's own terminal for an exception is nothing that the agent said.
        (told(1, "MTR", raised=True), None),
    ],
)
def test_events_of_an_agent_that_declares_none_are_told(recording, line):
    rep = report({}, {}, [Played("told", "blocking", judge(recording, []))], [])
    said = undeclared_events(rep)
    assert (said is None) == (line is None)
    assert line is None or said.startswith(line)
    assert ("channel E is not declared" in terminal(rep, {}, str)) == (line is not None)
