"""OBS on recordings told by hand: whether the record of a run's steps is whole and true, and whether keeping it changes anything."""

import pytest
from story import Story

from conformance.judge import Verdict, judge
from conformance.reading.joined import view
from conformance.rule import OK, Finding
from conformance.rules.records import RULES

BY_ID = {rule.id: rule for rule in RULES}
RECORDS = {"records": True}


def judged(rule, story):
    return list(BY_ID[rule].check(view(story.recording())))


def only(rule, story):
    [finding] = [one for one in judged(rule, story) if isinstance(one, Finding)]
    return finding


def traced(*, knobs=None, **fields):
    run = {"user": "What is it?", "model": [{"answer": "42"}], "knobs": {"tracing": True} if knobs is None else knobs}
    run |= fields.pop("run", {})
    return Story(capabilities=RECORDS, scenario={"runs": [run], **fields.pop("scenario", {})}, **fields)


def step(s, name, state, reason="it is so", **more):
    value = {"kind": name.partition(":")[0], "step": name, "state": state, "reason": reason, **more}
    return s.event("CUSTOM", name="conformance.record", value=value)


# OBS-1


def tool_run(*, begin="running", ran=("value", 42), end="done", call_id="c1", more=None):
    """A tool is run between the two records of its step; None leaves a record out."""
    s = traced()
    s.ask()
    s.reply(calls=[("look", {}, call_id)])
    if begin:
        step(s, "tool:c1", begin)
    s.execute("look", {}, call_id, **dict([ran] if ran else []))
    if end:
        step(s, "tool:c1", end, **({"result": "42", "duration_s": 0.0} if more is None else more))
    return s


def test_a_step_recorded_before_its_tool_and_ended_with_all_of_it_is_right():
    assert judged("OBS-1", tool_run()) == [OK]


def test_a_step_of_its_own_kind_is_found_by_the_call_that_it_names():
    s = traced()
    s.ask()
    s.reply(calls=[("look", {}, "c1")])
    step(s, "step-1", "running", kind="tool", callId="c1")
    s.execute("look", {}, "c1", 42)
    step(s, "step-1", "done", kind="tool", call_id="c1", result=42, duration_s=1)
    assert judged("OBS-1", s) == [OK]


def test_a_tool_without_a_step_is_told():
    s = tool_run(begin=None, end=None)
    step(s, "run:r1", "running")
    assert "x1: look (c1) ran, and its step is not recorded at all" in only("OBS-1", s).message


def test_a_step_that_is_recorded_afterwards_is_told():
    def afterwards(*, shown):
        s = traced()
        s.ask()
        s.reply(calls=[("look", {}, "c1")])
        if shown:
            s.call_events("look", {}, "c1")
        s.execute("look", {}, "c1", 42)
        step(s, "tool:c1", "running")
        step(s, "tool:c1", "done", result="42", duration_s=0.0)
        return s

    assert "recorded as running only after that" in only("OBS-1", afterwards(shown=True)).message
    # Where no event at all comes before the end of everything, the places of events say nothing.
    assert judged("OBS-1", afterwards(shown=False)) == [OK]
    assert "was never recorded as running" in only("OBS-1", tool_run(begin="waiting")).message


@pytest.mark.parametrize(
    ("more", "lacking"),
    [
        ({"duration_s": 0.0}, "without result"),
        ({"result": "42"}, "without duration_s"),
        ({"result": "42", "duration_s": "fast"}, "without duration_s"),
        ({"result": "42", "duration_s": -1}, "without duration_s"),
        ({"result": "42", "duration_s": True}, "without duration_s"),
        ({}, "without result and duration_s"),
    ],
)
def test_a_step_that_ends_without_all_of_it_is_told(more, lacking):
    assert lacking in only("OBS-1", tool_run(more=more)).message


@pytest.mark.parametrize(
    ("ran", "end", "right"),
    [
        (("value", 42), "failed", False),
        (("value", 42), "skipped", False),
        (("error", ("Odd", "no")), "failed", True),
        (("error", ("Odd", "no")), "cancelled", True),
        (("error", ("Odd", "no")), "done", False),
        (None, "failed", True),
        (None, "done", False),
    ],
)
def test_the_status_is_what_came_of_the_tool(ran, end, right):
    s = tool_run(ran=ran, end=end)
    assert (judged("OBS-1", s) == [OK]) is right
    if not right:
        assert f"step 'tool:c1' ends as {end!r}, but x1 (look)" in only("OBS-1", s).message


def test_a_tool_that_was_left_before_it_returned_may_have_failed():
    s = tool_run(ran=None, end="failed")
    s.record("tool", "result", exec="x1", result=42)
    assert judged("OBS-1", s) == [OK]


def test_the_result_is_what_the_tool_returned():
    assert (
        "records the result 41, but x1 (look) returned 42"
        in only("OBS-1", tool_run(more={"result": 41, "duration_s": 0})).message
    )


def test_a_large_result_may_be_cut():
    s = tool_run(ran=("value", "x" * 600), more={"result": "xxx", "duration_s": 0.0})
    assert judged("OBS-1", s) == [OK]


def test_a_failed_step_may_say_in_its_reason_what_came():
    assert judged("OBS-1", tool_run(ran=("error", ("Odd", "no")), end="failed", more={"duration_s": 0.0})) == [OK]


def test_a_step_that_is_still_running_is_judged_elsewhere():
    s = tool_run(end=None)
    assert judged("OBS-1", s) == [OK]
    assert "its step 'tool:c1' is still running" in only("OBS-3", s).message


def test_executions_without_an_id_are_not_looked_for():
    s = tool_run(begin=None, end=None, call_id=None)
    step(s, "run:r1", "running")
    assert judged("OBS-1", s) == []


def test_a_call_that_never_ran_is_no_step_that_is_done():
    def kept_back(state):
        s = traced()
        s.ask()
        s.reply(calls=[("look", {}, "c1")])
        step(s, "tool:c1", "running")
        step(s, "tool:c1", state, result="42", duration_s=0.0)
        s.answer("c1", "Error: refused")
        return s

    assert "ends as 'done', but call 'c1' (look) of m1 never ran" in only("OBS-1", kept_back("done")).message
    assert judged("OBS-1", kept_back("skipped")) == []


# OBS-2


def ended(kind="answered", *, reason=None, steps=(("answer:final", "done"),), state="done"):
    s = traced()
    step(s, "run:r1", "running")
    s.ask()
    if kind == "answered":
        s.reply("42")
    else:
        s.fail(403)
    for name, was in steps:
        step(s, name, was)
    step(s, "run:r1", state, kind if reason is None else reason)
    s.event("RUN_FINISHED" if kind == "answered" else "RUN_ERROR", **({} if kind == "answered" else {"code": kind}))
    s.outcome(kind, text="42" if kind == "answered" else None)
    return s


def test_a_record_with_the_answer_and_the_reason_of_the_end_is_right():
    assert judged("OBS-2", ended()) == [OK, OK]
    assert judged("OBS-2", ended("model_error", steps=())) == [OK]
    assert judged("OBS-2", ended(reason="the model had nothing more to do")) == [OK, OK]


def test_an_answer_that_is_no_step_is_told():
    assert "has no step of kind 'answer' that is done" in only("OBS-2", ended(steps=())).message
    assert "has no step of kind 'answer'" in only("OBS-2", ended(steps=(("answer:final", "failed"),))).message


def test_a_run_without_a_step_of_its_own_is_told():
    s = traced()
    s.ask()
    s.reply("42")
    step(s, "answer:final", "done")
    s.outcome("answered", text="42")
    assert "has no step of kind 'run'; its end, 'answered', was expected there" in only("OBS-2", s).message


@pytest.mark.parametrize(("state", "reason"), [("done", " "), ("running", "it goes on")])
def test_a_run_whose_record_does_not_say_why_it_stopped_is_told(state, reason):
    assert f"leaves step 'run:r1' as {state!r}" in only("OBS-2", ended(state=state, reason=reason)).message


@pytest.mark.parametrize("reason", ["answered", "Answered: all is well", "limit"])
def test_a_reason_that_names_another_end_is_told(reason):
    message = only("OBS-2", ended("model_error", reason=reason, steps=())).message
    assert message.endswith("but the run says 'model_error'")


# OBS-3


def test_steps_that_all_come_to_an_end_are_right():
    assert judged("OBS-3", ended()) == [OK, OK]


def test_a_run_that_waits_is_not_running():
    s = traced()
    step(s, "run:r1", "running")
    step(s, "run:r1", "waiting")
    assert judged("OBS-3", s) == [OK]


@pytest.mark.parametrize("how", ["died", "hung"])
def test_an_agent_that_had_no_time_left_is_spared(how):
    s = traced()
    step(s, "run:r1", "running")
    s.end(how)
    assert judged("OBS-3", s) == []


def test_a_run_that_was_killed_is_spared():
    s = traced(run={"kill": "in_tools"})
    step(s, "run:r1", "running")
    assert judged("OBS-3", s) == []


@pytest.mark.parametrize("how", ["returned", "raised", "cancelled", "cap"])
def test_a_step_that_is_left_running_is_told_however_the_run_ended(how):
    s = traced()
    step(s, "run:r1", "running")
    s.end(how)
    assert f"run r1 is over ({how}), but its step 'run:r1' is still running" in only("OBS-3", s).message


def test_a_traced_run_without_a_record_is_judged_where_others_have_one():
    plain = {"user": "What is it?", "model": [{"answer": "42"}], "knobs": {"tracing": True}}
    s = Story(capabilities=RECORDS, scenario={"runs": [plain, {**plain, "user": "And now?"}]})
    step(s, "run:r1", "done")
    s.outcome("answered")
    s.end()
    s.begin("And now?")
    s.outcome("limit")
    assert "the record of run r2 has no step of kind 'run'" in only("OBS-2", s).message


@pytest.mark.parametrize("rule", ["OBS-1", "OBS-2", "OBS-3", "OBS-4", "OBS-5"])
def test_an_agent_that_shows_no_record_is_not_observed(rule):
    s = traced(scenario={"exercises": [rule]})
    s.ask()
    s.reply("42")
    s.outcome("answered", text="42")
    result = judge(s.recording(), [BY_ID[rule]]).of(rule)
    assert (result.verdict, result.reason) == (Verdict.NOT_OBSERVED, "nothing to judge")


@pytest.mark.parametrize("rule", BY_ID)
def test_records_bind_only_those_who_keep_them(rule):
    assert judge(Story().recording(), [BY_ID[rule]]).of(rule).reason == "capability"


# OBS-4


def way(*states, name="tool:c1", reason="it is so"):
    s = traced()
    for state in states:
        step(s, name, state, reason)
    return s


@pytest.mark.parametrize(
    "states",
    [
        ("running", "done"),
        ("running", "running", "done"),
        ("running", "waiting", "running", "failed"),
        ("running", "failed", "running", "done"),
        ("waiting", "cancelled"),
        ("skipped",),
    ],
)
def test_a_legal_way_is_right(states):
    found = judged("OBS-4", way(*states))
    assert set(found) == {OK}
    assert len(found) == len([one for at, one in enumerate(states) if at == 0 or states[at - 1] != one])


@pytest.mark.parametrize(
    ("states", "message"),
    [
        (("running", "done", "running"), "was 'done' and becomes 'running'; what may follow is nothing"),
        (("running", "skipped", "done"), "was 'skipped' and becomes 'done'; what may follow is nothing"),
        (("running", "failed", "done"), "was 'failed' and becomes 'done'; what may follow is running"),
        (("running", "finished"), "is 'finished'; the states are running, waiting"),
        (("done",), "is done and was never running"),
    ],
)
def test_an_odd_way_is_told(states, message):
    assert message in only("OBS-4", way(*states)).message


def test_an_answer_needs_no_begin():
    assert judged("OBS-4", way("done", name="answer:final")) == [OK]


def test_a_change_without_a_reason_is_told_and_a_begin_needs_none():
    s = way("running", reason="")
    assert judged("OBS-4", s) == [OK]
    assert "becomes 'done' without a reason" in only("OBS-4", way("running", "done", reason="")).message


# OBS-5


def compacted(messages, *, side="compaction"):
    """Two turns and a question, which is five turns of both; then the older ones are made one message."""
    s = traced()
    turns = [{"role": role, "content": f"{role} {number}"} for number in (1, 2) for role in ("user", "assistant")]
    asked = {"role": "user", "content": "What is it?"}
    s.ask(messages=[{"role": "system", "content": "Be brief."}, *turns, asked])
    s.refused(by="window", rule=None, message="context_length_exceeded")
    s.ask(messages=[{"role": "user", "content": "Summarise."}], tools=None, side=side)
    s.reply("They took turns.", keep=False)
    s.ask(messages=[{"role": "system", "content": "They took turns."}, asked])
    s.reply("42", keep=False)
    step(s, "run:r1", "done", "answered", **({} if messages is None else {"messages": messages}))
    s.outcome("answered", text="42")
    return s


@pytest.mark.parametrize("kept", [5, 6, 40])
def test_a_record_that_keeps_every_turn_is_right(kept):
    assert judged("OBS-5", compacted(kept)) == [OK]


def test_a_record_that_shrinks_with_the_window_is_told():
    assert "keeps 2 messages behind the compaction m2, but 5 turns" in only("OBS-5", compacted(2)).message


@pytest.mark.parametrize("messages", [None, "all", True])
def test_a_record_that_does_not_say_how_much_it_keeps_shows_nothing(messages):
    assert judged("OBS-5", compacted(messages)) == []


def test_without_a_compaction_nothing_had_to_be_outlived():
    assert judged("OBS-5", compacted(2, side="auxiliary")) == []


def test_results_count_with_the_turn_that_they_belong_to():
    s = traced()
    s.ask()
    s.reply(calls=[("look", {}, "c1"), ("look", {}, "c2")])
    s.execute("look", {}, "c1", 42)
    s.execute("look", {}, "c2", 43)
    s.ask()
    s.refused(by="window", rule=None, message="context_length_exceeded")
    s.ask(messages=[{"role": "user", "content": "Summarise."}], tools=None, side="compaction")
    s.reply("42 was seen.", keep=False)
    step(s, "run:r1", "done", "answered", messages=2)
    assert judged("OBS-5", s) == [OK]


# OBS-6


def watched(knobs, *, first=None, dialect=None, model=None, also=None, result=42, extra=None, kind="answered"):
    """Two sessions that ask alike; the second is watched. `result`, `extra` and `kind` are the second one's."""
    script = [{"answer": "42"}]
    runs = [
        {"user": "What is it?", "model": script, "session": "s1", **({} if first is None else {"knobs": first})},
        {"user": "Tell me what it is.", "model": model or script, "session": "s2", "knobs": knobs, **(also or {})},
    ]
    s = Story(capabilities=RECORDS, scenario={"runs": runs}, dialect=dialect)
    _look(s, 42)
    s.end()
    s.history.clear()
    s.begin("Tell me what it is.", session="s2")
    _look(s, result, extra=extra, kind=kind)
    return s


def _look(s, result, *, extra=None, kind="answered"):
    s.ask()
    s.reply(calls=[("look", {}, f"c{s.calls}")])
    s.execute("look", {}, f"c{s.calls}", result)
    s.ask(extra=extra)
    s.reply("42")
    s.event("RUN_FINISHED")
    s.outcome(kind, text="42")


RAISING = {"callbacks": [{"hook": "before_tool", "does": "raise"}]}


@pytest.mark.parametrize("knobs", [{"tracing": False}, {"debug": True}, RAISING, {"tracing": True, "debug": True}])
def test_sessions_that_go_alike_whoever_watches_are_right(knobs):
    assert judged("OBS-6", watched(knobs)) == [OK]


def test_another_request_is_told_with_who_watched():
    message = only("OBS-6", watched({"debug": True}, result=43)).message
    assert message.startswith("m4 is another request")
    assert message.endswith('({"debug": true} in r2, {} in r1); the same was expected, whoever watches')
    assert "m4 is another request" in only("OBS-6", watched({"debug": True}, extra={"temperature": 1})).message


def test_another_outcome_is_told():
    assert "run r2 ends as limit" in only("OBS-6", watched({"tracing": True}, kind="limit")).message


def test_one_request_more_is_told():
    s = watched({"tracing": True})
    s.ask()
    s.reply("42")
    assert "run r2 makes 3 requests, expected 2" in only("OBS-6", s).message


@pytest.mark.parametrize(
    "other",
    [
        {"knobs": {}},
        {"knobs": {"debug": True, "gate": {"tool": "look"}}},
        {"knobs": {"callbacks": [{"hook": "after_tool", "does": "stop"}]}},
        {"knobs": {"callbacks": [{"hook": "guardrail", "does": "raise"}]}},
        {"knobs": RAISING, "dialect": {"listener_errors": "propagate"}},
        {"knobs": {"debug": True}, "model": [{"answer": "43"}]},
        {"knobs": {"debug": True}, "also": {"limits": {"max_iters": 1}}},
    ],
    ids=["unwatched too", "a gate", "a wish to stop", "a guardrail", "an exception let through", "a script", "a limit"],
)
def test_sessions_that_differ_in_more_are_not_held_against_each_other(other):
    assert judged("OBS-6", watched(result=43, **other)) == []


def test_a_record_without_a_state_is_none():
    s = traced()
    s.event("CUSTOM", name="conformance.record", value={"step": "run:r1"})
    assert judged("OBS-3", s) == []


def test_a_run_that_says_nothing_of_its_end_is_not_held_against_its_record():
    s = traced()
    step(s, "run:r1", "done", "answered")
    assert judged("OBS-2", s) == []


def test_a_compaction_that_nothing_was_sent_before_outlives_nothing():
    s = traced()
    s.ask(messages=[{"role": "user", "content": "Summarise."}], tools=None, side="compaction")
    s.reply("Nothing was said.", keep=False)
    step(s, "run:r1", "done", "answered", messages=0)
    assert judged("OBS-5", s) == []
