"""RUN-7 on recordings told by hand: what a bad run leaves to the next one on its session."""

import pytest
from story import Story

from conformance.reading.joined import view
from conformance.rule import OK, SHOULD, Finding
from conformance.rules.run_next import RULES

BY_ID = {rule.id: rule for rule in RULES}
SESSIONS = {"sessions": True}


def seen(story):
    return view(story.recording())


def judged(rule, story):
    return list(BY_ID[rule].check(seen(story)))


def only(rule, story):
    [finding] = [one for one in judged(rule, story) if isinstance(one, Finding)]
    return finding


def two_runs(*, capabilities=SESSIONS, snapshot=False, how="returned", **fields):
    """A run that its model failed after a tool call, and the beginning of the next one."""
    runs = [{"user": "What is it?", "model": [{"answer": "42"}]}, {"user": "And now?", "model": [{"answer": "43"}]}]
    s = Story(capabilities=capabilities, scenario={"runs": runs}, **fields)
    s.ask()
    s.reply(calls=[("look", {}, "c1")])
    s.execute("look", {}, "c1", 42)
    s.ask()
    s.fail(400)
    if snapshot:
        s.event("MESSAGES_SNAPSHOT", messages=[])
    s.event("RUN_ERROR")
    s.outcome("model_error")
    s.end(how)
    s.begin("And now?", max_iters=fields.get("max_iters"))
    return s


def test_a_second_run_that_the_model_takes_is_right():
    s = two_runs()
    s.ask()
    s.reply("43")
    assert judged("RUN-7", s) == [OK]


def test_a_second_run_whose_first_request_is_refused_names_the_run_before():
    s = two_runs()
    asked = s.ask()
    s.refused(rule="missing_tool_results")
    finding = only("RUN-7", s)
    assert "run r2 follows run r1, which ended as 'model_error'" in finding.message
    assert "m3 was refused by provider rule 'missing_tool_results'" in finding.message
    assert (finding.seq, asked in finding.related, finding.level) == (asked + 1, True, None)


def test_a_refusal_that_is_not_certain_warns():
    s = two_runs()
    s.ask()
    s.refused(rule="tool_call_id_not_in_previous")
    assert only("RUN-7", s).level == SHOULD


@pytest.mark.parametrize("by", ["script", "window", "cap"])
def test_a_refusal_that_no_history_caused_is_judged_elsewhere(by):
    s = two_runs()
    s.ask()
    s.refused(by=by, rule=None)
    assert judged("RUN-7", s) == []


def test_a_server_that_fails_has_accepted_the_request():
    s = two_runs()
    s.ask()
    s.fail(500)
    assert judged("RUN-7", s) == [OK]


def test_what_the_second_run_does_wrong_later_is_its_own():
    s = two_runs()
    s.ask()
    s.reply(calls=[("look", {}, "c2")])
    s.ask()
    s.refused()
    assert judged("RUN-7", s) == [OK]


def test_a_refusal_that_the_first_run_met_as_well_is_no_heritage():
    runs = [{"user": "What is it?", "model": [{"answer": "42"}]}, {"user": "And now?", "model": [{"answer": "43"}]}]
    s = Story(capabilities=SESSIONS, scenario={"runs": runs})
    for user in (None, "And now?"):
        if user:
            s.begin(user)
        s.ask()
        s.refused(rule="tools_empty_array")
        s.end()
    assert judged("RUN-7", s) == []


def test_a_store_that_a_crash_left_behind_may_be_refused():
    s = two_runs(how="died")
    s.record("kit", "kill", run="r1", point="in_tools")
    s.raises("UserError", "a call is open")
    assert judged("RUN-7", s) == []


def test_a_session_that_asks_nothing_any_more_is_lost():
    s = two_runs()
    s.raises("IllegalState", "a call is pending")
    finding = only("RUN-7", s)
    assert "asked its model nothing: 'a call is pending'" in finding.message


@pytest.mark.parametrize(
    "tell",
    [
        lambda s: s.outcome("answered", text="43"),
        lambda s: s.record("kit", "cancel", run="r2", point="stream"),
        lambda s: s.end("hung"),
    ],
    ids=["answered from what it knows", "cancelled", "hung, which is RUN-2's"],
)
def test_a_second_run_without_a_request_may_have_its_reasons(tell):
    s = two_runs()
    tell(s)
    assert judged("RUN-7", s) == []


def test_no_round_is_no_request():
    s = two_runs(max_iters=0)
    s.outcome("limit")
    assert judged("RUN-7", s) == []


def test_the_first_run_of_a_session_follows_nothing():
    s = two_runs()
    s.begin("Elsewhere?", session="s2")
    s.ask()
    s.refused()
    assert judged("RUN-7", s) == []


def test_runs_side_by_side_follow_each_other_not():
    s = Story(capabilities=SESSIONS)
    s.ask()
    s.begin("And now?")
    s.ask()
    s.refused()
    s.record("kit", "run_end", run="r1", how="returned", last_seen=None, stdout_tail="", stderr_tail="")
    assert judged("RUN-7", s) == []


@pytest.mark.parametrize(
    ("capabilities", "snapshot", "why"),
    [(SESSIONS, False, None), ({}, True, None), ({}, False, "capability")],
    ids=["keeps sessions", "shows a snapshot", "neither"],
)
def test_run_7_binds_an_agent_to_which_something_is_carried(capabilities, snapshot, why):
    s = two_runs(capabilities=capabilities, snapshot=snapshot)
    s.ask()
    s.refused()
    assert BY_ID["RUN-7"].applies(seen(s)) == why
    assert bool(judged("RUN-7", s)) == (why is None)
