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


@pytest.mark.parametrize(
    ("texts", "verdict", "reason"),
    [
        (["breach", None], Verdict.UNSTABLE, "fails in 1 of 2 repeats"),
        (["breach", "breach", "ok"], Verdict.UNSTABLE, "fails in 2 of 3 repeats"),
        (["breach", "nothing"], Verdict.UNSTABLE, "fails in 1 of 2 repeats"),
        (["ok", None], Verdict.COULD_NOT_RUN, None),
        ([None, None], Verdict.COULD_NOT_RUN, None),
    ],
)
def test_a_repeat_that_could_not_be_played_is_no_fail(texts, verdict, reason):
    rep = reported(*(played(text) if text else Played("one", "blocking", None, "no database") for text in texts))
    (entry,) = rep.entries
    assert entry.verdict == verdict
    assert [one.reason for one in entry.results if one.verdict == Verdict.UNSTABLE] == ([reason] if reason else [])


ORDER = ("fail", "unstable", "could-not-run", "warn", "pass", "not-observed")


@pytest.mark.parametrize("worse", range(len(ORDER) - 1))
def test_a_scenario_and_a_rule_are_as_bad_as_their_worst_in_this_order(worse):
    def one(verdict, name):
        match verdict:
            case "fail":
                return [played("breach", scenario=name)]
            case "unstable":
                return [played("breach", scenario=name), played("ok", scenario=name)]
            case "could-not-run":
                return [played("stuck", scenario=name, rules=rules)]
            case "warn":
                return [played("mild", scenario=name, rules=rules)]
            case "pass":
                return [played("ok", scenario=name)]
            case _:
                return [played("nothing", scenario=name)]

    said = {"ok": [OK], "breach": [BREACH], "nothing": [], "mild": [Finding("untidy", 1, level=SHOULD)]}
    rules = [
        Rule(
            *("RUN-1", MUST, "clause", "why", "M", lambda view: iter(said[view.runs[0].user])),
            unable=lambda view: "still waiting" if view.runs[0].user == "stuck" else None,
        )
    ]
    rep = reported(*one(ORDER[worse + 1], "better"), *one(ORDER[worse], "worse"), rules=rules)
    assert [entry.verdict for entry in rep.entries] == [ORDER[worse + 1], ORDER[worse]]
    assert rep.rules["RUN-1"].verdict == ORDER[worse]


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


@pytest.mark.parametrize("excuse", ["dialect", "capability", "capability cancel", "knob gate", "wire"])
def test_what_does_not_bind_the_agent_is_not_asked_of_the_certificate(excuse):
    rules = [rule(), rule("RUN-2", applies=lambda _view: excuse)]
    assert reported(played("ok", rules=rules), rules=rules).areas["RUN"].certified


def test_an_area_without_a_must_that_applies_is_not_certified():
    rules = [rule(applies=lambda _view: "capability")]
    assert not reported(played("ok", rules=rules), rules=rules).areas["RUN"].certified


def test_a_must_of_which_every_scenario_needs_what_the_agent_lacks_does_not_bind_it():
    rules = [rule(), Rule("RUN-2", MUST, "c", "w", "M", lambda _view: iter(()))]
    skipped = Played("gated", "blocking", None, excused="knob gate", exercises=("RUN-2",))
    rep = reported(played("ok", rules=rules), skipped, rules=rules)
    assert (rep.rules["RUN-2"].excused, rep.areas["RUN"].certified) == (True, True)
    assert not reported(played("ok", rules=rules), rules=rules).areas["RUN"].certified
    seen = Played("seen", "blocking", played("ok", rules=rules).judgement, exercises=("RUN-2",))
    assert not reported(seen, skipped, rules=rules).areas["RUN"].certified


def test_a_fail_on_translated_events_counts():
    rules = [rule(channels="E", about_events=True)]
    rep = reported(played("breach", rules=rules, dialect={"events": "translated"}), rules=rules)
    assert (rep.rules["RUN-1"].verdict, exit_code(rep, ())) == (Verdict.FAIL, 1)


def test_a_must_about_events_is_not_missed_where_they_are_translated():
    never = Rule("RUN-2", MUST, "c", "w", "E", lambda _view: iter(()), about_events=True)
    rules = [rule(), never]
    for events, missed in (("native", ("RUN-2",)), ("translated", ())):
        rep = reported(played("ok", rules=rules, exercises=("RUN-2",), dialect={"events": events}), rules=rules)
        assert unarmed(rep, rules) == missed


def test_a_report_is_not_shown_whole():
    assert len(repr(reported(played("ok")))) < 100


def test_the_matrix_and_the_ledgers_are_those_of_all_plays():
    rep = reported(failing(), failing())
    data = as_json(rep)
    assert data["matrix"] == [
        {
            "cause": "model_error",
            "signature": {"terminal": "RUN_ERROR", "code": "model_error", "said": "model_error"},
            "runs": 2,
            "first": {"scenario": "told", "cell": "blocking", "run": "r1"},
            "like_an_answer": False,
        }
    ]
    assert data["ledgers"]["attempts"] == {"sdk": 1, "loop": 0}, "of two repeats the first counts, as in all figures"
    assert data["runs"][0]["ledger"] == data["ledgers"]


def failing():
    s = Story(user="ok")
    s.ask()
    s.fail(503)
    s.ask(again=True, retry_header=1)
    s.fail(503)
    s.event("RUN_ERROR", code="model_error")
    s.outcome("model_error")
    return Played("told", "blocking", judge(s.recording(), [rule()]))


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
    assert list(data) == [
        *("kit", "agent", "profile", "dialect", "runs", "rules", "areas", "totals", "matrix", "ledgers")
    ]
    (run,) = data["runs"]
    assert set(run) == {
        *("scenario", "cell", "verdict", "events", "terminal", "outcome", "model_calls", "regular_calls"),
        *("retries", "attempts", "tools_run", "ledger", "results", "runs_detail"),
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
