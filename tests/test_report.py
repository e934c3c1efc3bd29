"""Spec §6 and §9: how results add up over repeats, scenarios and areas, and what the exit code says."""

import pytest
from story import Story

from conformance.judge import Verdict, judge
from conformance.report import Played, as_json, exit_code, report, unarmed
from conformance.rule import MUST, OK, SHOULD, Finding, Rule

BREACH = Finding("broken", 1)


def rule(id="RUN-1", level=MUST, channels="M", **more):
    """A rule that judges as the story's user text says: ok, breach or nothing."""
    said = {"ok": [OK], "breach": [BREACH], "both": [OK, BREACH], "nothing": []}
    return Rule(id, level, "clause", "why", channels, lambda view: iter(said[view.runs[0].user]), **more)


def played(text, *, scenario="one", cell="blocking", rules=None, exercises=("RUN-1",), **story):
    recording = Story(user=text, scenario={"exercises": list(exercises)}, **story).recording()
    return Played(scenario, cell, judge(recording, rules or [rule()]))


def reported(*plays, rules=None):
    return report({"name": "told"}, {}, plays, rules or [rule()])


@pytest.mark.parametrize(
    ("texts", "verdict"),
    [
        (["ok", "ok"], Verdict.PASS),
        (["breach", "breach"], Verdict.FAIL),
        (["ok", "breach"], Verdict.UNSTABLE),
        (["nothing", "nothing"], Verdict.NOT_OBSERVED),
        (["ok", "nothing"], Verdict.PASS),
    ],
)
def test_a_rule_fails_where_every_repeat_fails_and_is_unstable_where_some_do(texts, verdict):
    (entry,) = reported(*(played(text) for text in texts)).entries
    assert entry.verdict == verdict


def test_cells_and_scenarios_have_entries_of_their_own():
    rep = reported(played("ok"), played("breach", cell="streaming/whole"), played("ok", scenario="two"))
    assert [(e.scenario, e.cell, e.verdict) for e in rep.entries] == [
        ("one", "blocking", "pass"),
        ("one", "streaming/whole", "fail"),
        ("two", "blocking", "pass"),
    ]
    assert {name: count for name, count in rep.totals.items() if count} == {"pass": 2, "fail": 1}


def test_a_rule_counts_only_where_it_was_armed():
    total = reported(played("ok"), played("nothing", scenario="two")).rules["RUN-1"]
    assert (total.verdict, total.armed, total.of) == (Verdict.PASS, 1, 2)


def test_an_area_is_certified_if_every_must_that_applies_passes_and_one_does():
    rules = [rule(), rule("RUN-2"), rule("RUN-3", SHOULD)]
    assert reported(played("ok", rules=rules), rules=rules).areas["RUN"].certified
    assert not reported(played("breach", rules=rules), rules=rules).areas["RUN"].certified
    assert not reported(played("nothing", rules=rules), rules=rules).areas["RUN"].certified


def test_a_warning_does_not_cost_the_certificate_and_a_must_that_was_not_seen_does():
    warns = Rule("RUN-2", SHOULD, "c", "w", "M", lambda _view: iter([BREACH]))
    certified = reported(played("ok", rules=[rule(), warns]), rules=[rule(), warns]).areas["RUN"]
    assert (certified.certified, certified.warnings) == (True, 1)
    unseen = [rule(), rule("RUN-2", channels="T")]
    assert not reported(played("ok", rules=unseen, channels="M"), rules=unseen).areas["RUN"].certified


def test_what_the_dialect_excuses_is_not_asked_of_the_certificate():
    rules = [rule(), rule("RUN-2", applies=lambda _view: "dialect")]
    assert reported(played("ok", rules=rules), rules=rules).areas["RUN"].certified


def test_a_pass_on_translated_events_never_certifies():
    rules = [rule(channels="E", about_events=True)]
    rep = reported(played("ok", rules=rules, dialect={"events": "translated"}), rules=rules)
    assert rep.entries[0].verdict == Verdict.PASS
    assert not rep.areas["RUN"].certified


def test_nothing_is_certified_under_a_declaration_that_is_false():
    rules = [rule(), Rule("DIA-1", MUST, "c", "w", "", lambda _view: iter([BREACH]))]
    assert not reported(played("ok", rules=rules), rules=rules).areas["RUN"].certified


@pytest.mark.parametrize(
    ("plays", "strict", "code"),
    [
        ([("ok", {})], False, 0),
        ([("breach", {})], False, 1),
        ([("ok", {}), ("breach", {})], False, 1),
        ([("nothing", {})], False, 3),
    ],
)
def test_the_exit_code_says_the_worst(plays, strict, code):
    rep = reported(*(played(text, **more) for text, more in plays))
    assert exit_code(rep, unarmed(rep, [rule()]), strict=strict) == code


def test_a_warning_is_an_exit_code_only_when_strict():
    rules = [rule(level=SHOULD)]
    rep = reported(played("breach", rules=rules), rules=rules)
    assert [exit_code(rep, (), strict=strict) for strict in (False, True)] == [0, 1]


def test_a_play_that_could_not_run_is_three_and_a_fail_beside_it_is_one():
    broken = Played("two", "blocking", None, "no database")
    assert exit_code(reported(played("ok"), broken), ()) == 3
    assert exit_code(reported(played("breach"), broken), ()) == 1
    assert as_json(reported(broken))["runs"][0]["error"] == "no database"


def test_a_must_that_a_scenario_exercises_and_none_arms_is_three():
    rules = [rule(), rule("RUN-2")]
    never = Rule("RUN-2", MUST, "c", "w", "M", lambda _view: iter(()))
    rep = reported(played("ok", rules=[rule(), never], exercises=("RUN-1", "RUN-2")), rules=[rule(), never])
    assert unarmed(rep, rules) == ("RUN-2",)
    assert exit_code(rep, unarmed(rep, rules)) == 3


def test_a_must_on_a_channel_that_is_not_declared_is_not_missed():
    rules = [rule(), rule("RUN-2", channels="T")]
    rep = reported(played("ok", rules=rules, channels="M", exercises=("RUN-1", "RUN-2")), rules=rules)
    assert unarmed(rep, rules) == ()


def test_the_json_report_has_the_keys_of_its_page():
    data = as_json(reported(played("breach")))
    assert list(data) == ["kit", "agent", "profile", "dialect", "runs", "rules", "areas", "totals"]
    (run,) = data["runs"]
    assert set(run) == {
        *("scenario", "cell", "verdict", "events", "terminal", "outcome", "model_calls", "regular_calls"),
        *("retries", "attempts", "tools_run", "results", "runs_detail"),
    }
    assert run["results"] == [
        {
            "rule": "RUN-1",
            "level": "MUST",
            "verdict": "fail",
            "reason": None,
            "findings": [{"message": "broken", "seq": 1, "related": []}],
        }
    ]


def test_a_few_scenarios_do_not_certify_an_area():
    rules = [rule(), Rule("RUN-3", MUST, "c", "w", "M", lambda _view: iter(()))]
    assert not reported(played("ok", rules=rules, exercises=()), rules=rules).areas["RUN"].certified


def test_a_rule_that_could_not_be_decided_once_is_not_passed():
    once = rule(unable=lambda view: "still waiting" if view.runs[0].user == "breach" else None)
    rep = reported(played("ok", rules=[once]), played("breach", scenario="two", rules=[once]), rules=[once])
    assert rep.rules["RUN-1"].verdict == Verdict.COULD_NOT_RUN
    assert not rep.areas["RUN"].certified


def test_that_a_run_came_to_its_end_is_not_yet_an_observation():
    ended = [rule("RUN-2")]
    rep = reported(played("ok", rules=ended, exercises=()), rules=ended)
    assert exit_code(rep, ()) == 3


def test_a_pass_certifies_nothing_where_only_translated_events_spoke():
    rules = [rule(channels="E,R,M")]
    only_events = played("ok", rules=rules, channels="ME", dialect={"events": "translated"})
    assert not reported(only_events, rules=rules).areas["RUN"].certified
    with_result = played("ok", rules=rules, channels="MER", dialect={"events": "translated"})
    assert reported(with_result, rules=rules).areas["RUN"].certified
