"""Spec §6: how a verdict arises from channels, dialect and what there was to judge."""

from dataclasses import replace

import pytest
from story import Story

from conformance.judge import Verdict, judge, judge_suite, missing_channel, worst
from conformance.recording import from_bytes, to_bytes
from conformance.rule import MUST, OK, SHOULD, Finding, Rule
from conformance.rules import RULES


def rule(*judged, id="RUN-1", level=MUST, channels="M", **more):
    return Rule(id, level, "clause", "why", channels, lambda _view: iter(judged), **more)


BREACH = Finding("broken", 1)
MILD = Finding("untidy", 1, level=SHOULD)


def verdict(one, **story):
    (result,) = judge(Story(**story).recording(), [one]).results
    return result.verdict, result.reason


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (rule(OK), Verdict.PASS),
        (rule(OK, BREACH), Verdict.FAIL),
        (rule(BREACH, level=SHOULD), Verdict.WARN),
        (rule(OK, MILD), Verdict.WARN),
        (rule(MILD, BREACH), Verdict.FAIL),
    ],
)
def test_a_broken_must_fails_and_a_broken_should_warns(one, expected):
    assert verdict(one) == (expected, None)


def test_a_rule_that_looked_at_nothing_never_passes():
    assert verdict(rule()) == (Verdict.NOT_APPLICABLE, "nothing to judge")
    assert verdict(rule(), scenario={"exercises": ["RUN-1"]}) == (Verdict.NOT_OBSERVED, "nothing to judge")


def test_a_clause_that_the_dialect_or_a_missing_capability_excuses_is_not_applicable():
    assert verdict(rule(BREACH, applies=lambda _view: "dialect")) == (Verdict.NOT_APPLICABLE, "dialect")


def test_a_recording_that_cannot_decide_a_clause_could_not_run():
    assert verdict(rule(OK, unable=lambda _view: "still waiting")) == (Verdict.COULD_NOT_RUN, "still waiting")


@pytest.mark.parametrize(
    ("named", "about_events", "declared", "lacking"),
    [
        ("M", False, "MT", None),
        ("M,T", False, "M", "T"),
        ("E,R,M", False, "MR", None),
        ("E,R,L", False, "ML", None),
        ("E,R", False, "MT", "E/R"),
        ("E,R", True, "MTR", "E"),
        ("E", True, "MTE", None),
        ("U,M", False, "ME", "U"),
        ("", False, "", None),
    ],
)
def test_one_of_the_saying_channels_will_do_unless_the_clause_is_about_events(named, about_events, declared, lacking):
    assert missing_channel(rule(channels=named, about_events=about_events), frozenset(declared)) == lacking


def test_what_was_not_declared_is_not_observed_and_never_judged():
    assert verdict(rule(BREACH, channels="T"), channels="ME") == (Verdict.NOT_OBSERVED, "channel T")


def test_translated_events_are_judged_and_marked():
    translated = {"events": "translated"}
    assert verdict(rule(OK, channels="E", about_events=True), dialect=translated) == (Verdict.PASS, "translated events")
    assert verdict(rule(BREACH, channels="E", about_events=True), dialect=translated) == (
        Verdict.FAIL,
        "translated events",
    )
    assert verdict(rule(OK, channels="M"), dialect=translated) == (Verdict.PASS, None)


def refused_for_its_history():
    s = Story()
    s.ask()
    s.reply(calls=[("look", {}, "c1")])
    s.ask()
    s.refused(rule="missing_tool_results")
    return s.recording()


def test_a_refusal_for_a_bad_history_is_a_consequence_of_the_rule_that_names_it():
    judgement = judge(refused_for_its_history(), RULES)
    (refusal,) = judgement.of("WIRE-1").findings
    assert judgement.of("HIS-1").verdict == Verdict.FAIL
    assert refusal.consequence_of == "HIS-1"


def test_where_the_declaration_does_not_fit_it_fails_once_and_the_rest_is_judged_as_it_fits():
    s = Story(max_iters=1, dialect={"on_limit": "summarize"})
    s.event("RUN_STARTED")
    s.ask()
    s.reply(calls=[("look", {}, "c1")])
    s.execute("look", {}, "c1", 42)
    s.call_events("look", {}, "c1", "42")
    s.event("RUN_ERROR", message="max_iters=1 reached", code="limit")
    s.outcome("limit")
    judgement = judge(s.recording(), RULES)
    assert {key for key, _ in judgement.fitted} == {"limit_text", "limit_terminal"}
    assert sorted(f.fits[0] for f in judgement.of("DIA-1").findings) == ["limit_terminal", "limit_text"]
    failed = {result.rule for result in judgement.results if result.verdict == Verdict.FAIL}
    assert failed == {"DIA-1"}


def test_a_saved_recording_is_judged_as_it_was_when_it_was_made():
    recording = refused_for_its_history()
    assert judge(from_bytes(to_bytes(recording)), RULES).results == judge(recording, RULES).results


def test_what_only_all_recordings_show_is_added_to_the_one_that_shows_it():
    one = rule(OK, suite=lambda views: iter([(1, Finding(f"{len(views)} seen", 1))]))
    first, second = judge_suite([judge(Story().recording(), [one])] * 2, [one])
    assert (first.of("RUN-1").verdict, second.of("RUN-1").verdict) == (Verdict.PASS, Verdict.FAIL)
    assert second.of("RUN-1").findings[0].message == "2 seen"


def test_what_the_suite_finds_right_is_judged_where_a_recording_alone_had_nothing_to_judge():
    one = rule(suite=lambda _views: iter([(1, OK), (1, OK)]))
    first, second = judge_suite([judge(Story().recording(), [one])] * 2, [one])
    assert (first.of("RUN-1").verdict, first.of("RUN-1").judged) == (Verdict.NOT_APPLICABLE, 0)
    assert (second.of("RUN-1").verdict, second.of("RUN-1").judged) == (Verdict.PASS, 2)
    assert second.of("RUN-1").reason is None


def test_what_the_suite_finds_right_makes_no_breach_good():
    one = rule(BREACH, suite=lambda _views: iter([(0, OK)]))
    (only,) = judge_suite([judge(Story().recording(), [one])], [one])
    assert (only.of("RUN-1").verdict, only.of("RUN-1").findings) == (Verdict.FAIL, (BREACH,))


def test_what_the_suite_finds_right_decides_no_recording_that_cannot_be_decided():
    one = rule(unable=lambda _view: "still waiting", suite=lambda _views: iter([(0, OK)]))
    (only,) = judge_suite([judge(Story().recording(), [one])], [one])
    assert only.of("RUN-1").verdict == Verdict.COULD_NOT_RUN


def test_a_suite_pass_on_translated_events_stays_marked():
    one = rule(channels="E", about_events=True, suite=lambda _views: iter([(0, OK)]))
    (only,) = judge_suite([judge(Story(dialect={"events": "translated"}).recording(), [one])], [one])
    assert (only.of("RUN-1").verdict, only.of("RUN-1").reason) == (Verdict.PASS, "translated events")


def test_recordings_that_a_rule_cannot_compare_could_not_run_and_stop_no_other():
    def breaks(_views):
        raise TypeError("unhashable")
        yield 0, OK

    rules = [
        rule(OK, suite=breaks),
        rule(BREACH, id="RUN-2", suite=breaks),
        rule(id="RUN-3", suite=lambda _v: [(0, OK)]),
    ]
    (only,) = judge_suite([judge(Story().recording(), rules)], rules)
    assert [one.verdict for one in only.results] == [Verdict.COULD_NOT_RUN, Verdict.FAIL, Verdict.PASS]
    assert only.of("RUN-1").reason == "the recordings cannot be compared by this rule: TypeError('unhashable')"


def consequence(cause, follows):
    """Which rule a finding follows from, of two rules that find one thing each in a recording with a refused request."""
    s = Story(max_iters=1)
    s.ask()
    s.reply(calls=[("look", {}, "c1")])
    s.execute("look", {}, "c1", 42)
    s.ask()
    s.refused(by="script", rule=None)
    s.outcome("error")
    at = {record.kind: record.seq for record in s.recording().records}
    rules = [rule(Finding("found", at[kind]), id=name) for name, kind in (cause, follows)]
    (finding,) = judge(s.recording(), rules).of(follows[0]).findings
    return finding.consequence_of


@pytest.mark.parametrize(
    ("cause", "follows", "of"),
    [
        (("HIS-1", "model/request"), ("WIRE-1", "model/request"), "HIS-1"),
        (("HIS-1", "model/reply"), ("WIRE-1", "model/request"), None),
        (("LIM-1", "model/request"), ("SCRIPT-1", "model/refused"), "LIM-1"),
        (("LIM-1", "model/reply"), ("SCRIPT-1", "model/refused"), None),
        (("SCRIPT-1", "model/refused"), ("EXPECT", "kit/run_end"), "SCRIPT-1"),
        (("WIRE-1", "model/request"), ("SCRIPT-2", "kit/run_end"), "WIRE-1"),
        (("SCRIPT-1", "model/refused"), ("EXPECT", "model/reply"), None),
        (("WIRE-1", "model/reply"), ("EXPECT", "kit/run_end"), None),
        (("SCRIPT-1", "model/refused"), ("RUN-3", "kit/run_end"), None),
        (("SCRIPT-1", "model/refused"), ("RUN-5", "kit/run_end"), None),
        (("STR-3", "model/reply"), ("ACT-1", "model/reply"), "STR-3"),
        (("STR-2", "model/reply"), ("STR-1", "kit/run_end"), "STR-2"),
        (("STR-3", "model/reply"), ("SCRIPT-1", "model/refused"), "STR-3"),
        (("STR-3", "model/refused"), ("SCRIPT-1", "model/refused"), None),
        (("STR-3", "kit/run_start"), ("SCRIPT-1", "model/refused"), None),
        (("LIM-7", "kit/run_end"), ("LIM-1", "kit/run_end"), "LIM-7"),
        (("ACT-2", "model/reply"), ("ACT-1", "model/reply"), None),
    ],
)
def test_a_finding_follows_from_an_earlier_one_where_the_records_say_so(cause, follows, of):
    assert consequence(cause, follows) == of


def test_a_result_that_was_dropped_is_told_once():
    s = Story()
    s.ask()
    s.reply(calls=[("look", {}, "c1")])
    s.execute("look", {}, "c1", 42, keep=False)
    s.ask()
    s.reply(text="42")
    (finding,) = judge(s.recording(), RULES).of("HIS-10").findings
    assert finding.consequence_of == "HIS-1"


def test_a_result_that_lacks_a_value_does_not_follow_from_one_that_is_not_there():
    s = Story()
    s.ask()
    s.reply(calls=[("look", {}, "c1"), ("look", {"n": 2}, "c2")])
    s.execute("look", {}, "c1", 42, keep=False)
    s.execute("look", {"n": 2}, "c2", 17, content="Seen.")
    s.ask()
    s.reply(text="42")
    findings = judge(s.recording(), RULES).of("HIS-10").findings
    assert [one.consequence_of for one in findings] == ["HIS-1", None]


def test_calls_that_were_joined_into_one_are_told_once_and_by_the_rule_that_names_it():
    s = Story(channels="MTER", capabilities={"streaming": True})
    s.records[0].data["stream"] = True
    s.ask(extra={"stream": True})
    s.reply(calls=[("look", {"n": 1}, "c1"), ("look", {"n": 2}, "c2")], fault={"quirks": ["index_zero"]}, keep=False)
    joined = {"id": "c2", "type": "function", "function": {"name": "look", "arguments": '{"n": 1}{"n": 2}'}}
    s.history += [{"role": "assistant", "content": None, "tool_calls": [joined]}]
    s.answer("c2", "Error: the arguments cannot be read.")
    s.ask(extra={"stream": True})
    s.refused(by="script", rule=None)
    s.outcome("error")
    found = {one.rule: one.findings for one in judge(s.recording(), RULES).results if one.findings}
    causes = {name: {finding.consequence_of for finding in findings} for name, findings in found.items()}
    assert causes["STR-3"] == {None}
    assert all(causes[name] == {"STR-3"} for name in ("ACT-1", "ACT-8", "HIS-4", "SCRIPT-1"))


def test_a_refused_request_that_the_run_went_on_from_explains_nothing_more():
    s = Story()
    s.ask()
    s.refused(by="script", rule=None)
    s.ask()
    s.reply(text="42")
    s.outcome("answered")
    rules = [rule(Finding("refused", 3), id="SCRIPT-1"), rule(Finding("other", 7), id="EXPECT")]
    (finding,) = judge(s.recording(), rules).of("EXPECT").findings
    assert finding.consequence_of is None


def test_what_only_the_suite_finds_is_linked_too():
    rules = [
        rule(id="STR-2", suite=lambda _views: iter([(0, BREACH)])),
        rule(id="STR-1", suite=lambda _views: iter([(0, BREACH)])),
    ]
    (only,) = judge_suite([judge(Story().recording(), rules)], rules)
    assert [f.consequence_of for one in only.results for f in one.findings] == [None, "STR-2"]


def test_a_suite_finding_does_not_reach_an_agent_without_the_channel():
    one = replace(rule(OK, channels="R"), suite=lambda _views: iter([(0, BREACH)]))
    (only,) = judge_suite([judge(Story(channels="M").recording(), [one])], [one])
    assert only.of("RUN-1").verdict == Verdict.NOT_OBSERVED


def test_verdicts_add_up_to_the_worst():
    assert worst([Verdict.PASS, Verdict.WARN]) == Verdict.WARN
    assert worst([Verdict.COULD_NOT_RUN, Verdict.UNSTABLE]) == Verdict.UNSTABLE
    assert worst([]) == Verdict.NOT_APPLICABLE


def on_empty(*, retried):
    s = Story()
    s.ask()
    s.reply(keep=False)
    if retried:
        s.ask()
        s.reply(keep=False)
        s.outcome("empty")
    else:
        s.outcome("answered")
    return s.recording()


def test_advice_that_another_recording_contradicts_is_withdrawn():
    dia = [rule for rule in RULES if rule.id == "DIA-1"]
    (alone,) = judge_suite([judge(on_empty(retried=False), dia)], dia)
    assert alone.of("DIA-1").findings[0].fits == ("empty_response", "finish")
    both = judge_suite([judge(on_empty(retried=False), dia), judge(on_empty(retried=True), dia)], dia)
    finding = both[0].of("DIA-1").findings[0]
    assert finding.fits is None
    assert finding.message.endswith(
        "; it shows finish in told, {'retry_then_error': 1} in told, so that no declaration fits"
    )


def test_a_rule_that_cannot_read_a_recording_could_not_run_and_stops_no_other():
    def breaks(_view):
        raise TypeError("unhashable")
        yield OK

    broken, sound = judge(
        Story().recording(), [Rule("RUN-1", MUST, "c", "w", "M", breaks), rule(OK, id="RUN-2")]
    ).results
    assert (broken.verdict, sound.verdict) == (Verdict.COULD_NOT_RUN, Verdict.PASS)
    assert broken.reason == "the recording cannot be read by this rule: TypeError('unhashable')"
