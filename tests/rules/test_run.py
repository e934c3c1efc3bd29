"""RUN on recordings told by hand: endings that lie, and endings that are unusual but right."""

import base64
import hashlib

import pytest
from story import Story

from conformance.reading.joined import view
from conformance.rule import MUST, OK, SHOULD, Finding
from conformance.rules.run import RULES

BY_ID = {rule.id: rule for rule in RULES}
KEY = "sk-kit-0123456789abcdef"


def judged(rule, story):
    return list(BY_ID[rule].check(view(story.recording())))


def findings(rule, story):
    return [one for one in judged(rule, story) if isinstance(one, Finding)]


def only(rule, story):
    [finding] = findings(rule, story)
    return finding


def stream(*events, how="returned", channels="MTERUL", **story):
    s = Story(channels=channels, **story)
    for event in events:
        kind, fields = (event, {}) if isinstance(event, str) else event
        s.event(kind, **fields)
    s.end(how)
    return s


def tool_round(s, *, error=None, name="look", call_id="c1"):
    s.ask()
    s.reply(calls=[(name, {}, call_id)])
    s.execute(name, {}, call_id, 42, error=error)


def answered(*, terminal="RUN_FINISHED", said="answered", text="42", shown="42", tool_error=None, raised=None, **story):
    """A run whose model answered `42`, with the ending as told."""
    s = Story(**story)
    s.event("RUN_STARTED")
    if tool_error is not None:
        tool_round(s, error=tool_error)
    s.ask()
    s.reply("42")
    if shown is not None:
        s.text(shown)
    return ending(s, terminal, said, text=text, raised=raised)


def ending(s, terminal="RUN_FINISHED", said=None, *, text=None, raised=None, code=None, message="failed", reason=None):
    if raised is not None:
        s.event("RUN_ERROR", raised=True, message=message)
        s.raises(raised, message)
        s.end("raised")
        return s
    if terminal == "RUN_ERROR":
        s.event("RUN_ERROR", message=message, **({} if code is None else {"code": code}))
    elif terminal is not None:
        s.event(terminal)
    if said is not None:
        s.outcome(said, text=text, reason=reason)
    return s


def limited(
    *, rounds=1, summary="42", terminal="RUN_FINISHED", said="limit", marker=True, raised=None, error=None, **story
):
    """A run that came to its limit, with or without the summary call."""
    s = Story(max_iters=rounds, **story)
    s.event("RUN_STARTED")
    for number in range(rounds):
        tool_round(s, error=error, call_id=f"c{number}")
    if marker:
        s.event("RAW", event={"type": "EXCEED_MAX_ITERS", "maxIters": rounds})
    if summary is not None:
        s.ask(tools=None)
        if isinstance(summary, int):
            s.fail(summary)
        else:
            s.reply(summary)
            s.text(summary)
    return ending(s, terminal, said, text=summary if isinstance(summary, str) else None, raised=raised)


def failed(
    status=500,
    *,
    terminal="RUN_ERROR",
    said="model_error",
    message="status 500",
    raised=None,
    cut=False,
    code=None,
    **story,
):
    """A run whose last model call failed."""
    s = Story(**story)
    s.event("RUN_STARTED")
    s.ask()
    if cut:
        s.reply("4", by="cut", fault={"cut": {"after_chunks": 1}})
    else:
        s.fail(status, code=code)
    return ending(s, terminal, said, message=message, raised=raised)


# RUN-1


@pytest.mark.parametrize(
    "events",
    [
        ("RUN_STARTED", "RUN_FINISHED"),
        ("RUN_STARTED", "RUN_ERROR"),
        ("RUN_ERROR",),
        ("RUN_STARTED", ("RUN_ERROR", {"raised": True})),
        ("RUN_ERROR", "RUN_STARTED", "RUN_FINISHED"),
        (("RUN_STARTED", {"runId": "child"}), ("RUN_FINISHED", {"runId": "child"}), "RUN_STARTED", "RUN_FINISHED"),
    ],
    ids=["finish", "error", "an error alone", "an exception", "an error before", "another run before"],
)
def test_run_1_one_terminal_and_it_is_the_last(events):
    assert judged("RUN-1", stream(*events)) == [OK]


@pytest.mark.parametrize(
    ("events", "how", "message"),
    [
        ((), "returned", "no event came (the run returned)"),
        ((), "died", "no event came (the run died)"),
        (("RUN_STARTED",), "hung", "no terminal event (the run hung, its last event is RUN_STARTED)"),
        (("RUN_FINISHED",), "returned", "the first event is RUN_FINISHED, expected RUN_STARTED"),
        (
            ("RUN_STARTED", "RUN_FINISHED", "RUN_ERROR"),
            "returned",
            "2 terminal events (RUN_FINISHED, RUN_ERROR), expected one",
        ),
        (
            ("RUN_STARTED", "RUN_ERROR", "RUN_FINISHED"),
            "returned",
            "2 terminal events (RUN_ERROR, RUN_FINISHED), expected one",
        ),
        (("RUN_STARTED", "RUN_FINISHED", ("RAW", {"event": 1})), "returned", "RAW comes after RUN_FINISHED"),
        (
            (("RUN_STARTED", {"runId": "child"}), ("RAW", {"event": 1}), "RUN_STARTED", "RUN_FINISHED"),
            "returned",
            "no terminal event",
        ),
        (
            ("RUN_STARTED", "RUN_FINISHED", "RUN_STARTED", "RUN_FINISHED"),
            "returned",
            "RUN_STARTED comes a second time with this run's id",
        ),
    ],
)
def test_run_1_names_the_end_that_is_missing_or_too_many(events, how, message):
    assert message in only("RUN-1", stream(*events, how=how)).message


# RUN-2


def test_run_2_a_run_that_came_to_an_end_is_right():
    assert judged("RUN-2", answered()) == [OK]
    assert judged("RUN-2", failed(raised="ModelDown")) == [OK]


@pytest.mark.parametrize("how", ["hung", "died"])
def test_run_2_a_run_that_hangs_or_dies_fails(how):
    assert f"run r1 {how}" in only("RUN-2", stream("RUN_STARTED", how=how)).message


def test_run_2_of_an_agent_that_died_the_last_words_are_told():
    s = Story()
    s.record(
        "kit", "run_end", run="r1", how="died", last_seen=None, stdout_tail="{\n", stderr_tail="a\nout of memory\n"
    )
    assert "its process ended; the last it wrote: 'out of memory'" in only("RUN-2", s).message.replace(
        "the agent's", "its"
    )


def test_run_2_a_process_that_ended_between_two_runs_is_told_that_it_serves_many():
    s = Story()
    seen = {"seq": 1, "kind": "kit/run_start"}
    s.record("kit", "run_end", run="r1", how="died", last_seen=seen, stdout_tail="", stderr_tail="")
    assert "a process serves run after run, until it is told bye" in only("RUN-2", s).message


def test_run_2_an_agent_ended_for_what_it_wrote_is_told_what_was_wrong():
    s = Story()
    s.record("agent", "garbage", run="r1", line="DEBUG", why="a line of stdout is no JSON object: 'DEBUG'.")
    s.end("died")
    assert "since a line of stdout is no JSON object: 'DEBUG'." in only("RUN-2", s).message


def test_run_2_a_pause_between_attempts_is_no_hang():
    s = Story()
    s.ask()
    s.fail(503)
    s.ask(again=True)
    s.fail(503)
    s.end("hung")
    assert BY_ID["RUN-2"].unable(view(s.recording())) == "run r1 still retried its model when the deadline came"


def retrying(*events):
    """A run that still waits between attempts when the deadline comes."""
    s = Story()
    for event in events:
        s.event(event)
    s.ask()
    s.fail(503)
    s.ask(again=True)
    s.fail(503)
    s.end("hung")
    return s


@pytest.mark.parametrize("events", [(), ("RUN_STARTED",)])
def test_run_1_a_run_that_still_retries_at_the_deadline_owes_no_terminal_yet(events):
    s = retrying(*events)
    assert judged("RUN-1", s) == []
    assert BY_ID["RUN-1"].unable(view(s.recording())) == "run r1 still retried its model when the deadline came"


def test_run_1_what_is_wrong_before_the_pause_is_wrong():
    s = retrying("STEP_STARTED")
    assert "the first event is STEP_STARTED" in only("RUN-1", s).message
    assert BY_ID["RUN-1"].unable(view(s.recording())) is None


def test_run_1_a_run_that_hangs_behind_one_failure_is_no_pause():
    s = Story()
    s.event("RUN_STARTED")
    s.ask()
    s.fail(503)
    s.end("hung")
    assert "no terminal event (the run hung" in only("RUN-1", s).message
    assert BY_ID["RUN-1"].unable(view(s.recording())) is None


def test_run_2_silence_after_one_failure_is_a_hang():
    s = Story()
    s.ask()
    s.fail(503)
    s.end("hung")
    assert "run r1 hung" in only("RUN-2", s).message


def test_run_2_waiting_for_a_stalled_reply_is_a_hang():
    s = Story()
    s.ask()
    s.fail(503)
    s.ask(again=True)
    s.reply("4", done=False, fault={"stall": {"after_chunks": 1}})
    s.end("hung")
    assert "run r1 hung" in only("RUN-2", s).message


def capped(**story):
    s = Story(**story)
    s.ask()
    s.refused(by="cap")
    return s


def test_run_2_the_cap_is_the_end_of_patience():
    assert "sent more than 60 requests" in only("RUN-2", capped(max_iters=3)).message
    assert "left 2 records and had to be stopped" in only("RUN-2", stream("RUN_STARTED", how="cap")).message


def test_run_2_leaves_the_cap_to_lim_8_where_the_agent_declares_no_limit():
    assert judged("RUN-2", capped(dialect={"default_max_iters": "unlimited"})) == []
    # A default that the scenario's cap of 60 does not let anyone reach.
    assert judged("RUN-2", capped(dialect={"default_max_iters": 5000})) == []
    assert "sent more than" in only("RUN-2", capped(max_iters=3, dialect={"default_max_iters": "unlimited"})).message


def test_run_2_without_a_callers_limit_the_declared_default_bounds_the_calls():
    def rounds(number):
        s = Story(dialect={"default_max_iters": 2})
        for one in range(number):
            tool_round(s, call_id=f"c{one}")
        return s

    assert judged("RUN-2", rounds(7)) == [OK]
    assert (
        "8 model calls with no limit from the caller; by the declared default of 2 rounds at most 7"
        in only("RUN-2", rounds(8)).message
    )


# RUN-3


@pytest.mark.parametrize(
    "story",
    [
        answered(),
        answered(tool_error=("ValueError", "no")),
        limited(),
        limited(channels="MTE", said=None),
        limited(dialect={"on_limit": "stop"}, summary=None),
        limited(dialect={"on_limit": "error"}, summary=None, terminal="RUN_ERROR", marker=False),
        limited(dialect={"on_limit": "raise", "exceptions": {"TooMany": "limit"}}, summary=None, raised="TooMany"),
        failed(),
        failed(channels="MTE", said=None),
        failed(raised="ModelDown"),
    ],
)
def test_run_3_an_outcome_that_the_model_calls_bear_out_is_right(story):
    assert judged("RUN-3", story) == [OK]


@pytest.mark.parametrize(
    ("story", "message"),
    [
        (limited(said="answered"), "says 'answered', but the model calls show 'limit'"),
        (limited(said=None, channels="MTE", marker=False), "says 'answered', but the model calls show 'limit'"),
        (failed(said="answered"), "says 'answered', but the model calls show 'model_error' (see m1)"),
        (answered(said="limit"), "says 'limit', but the model calls show 'answered'"),
        (
            answered(terminal="RUN_ERROR", said=None, channels="MTE"),
            "says 'error', but the model calls show 'answered'",
        ),
        (answered(raised="Boom"), "says 'error', but the model calls show 'answered'"),
    ],
)
def test_run_3_a_false_answer_and_a_false_failure_fail(story, message):
    assert message in only("RUN-3", story).message
    assert only("RUN-3", story).level in (None, MUST)


def test_run_3_an_answer_without_a_final_reply_fails():
    s = Story(max_iters=5)
    tool_round(s)
    s.outcome("answered", text="42")
    assert "says 'answered', but the model gave no final answer (see m1)" in only("RUN-3", s).message


def test_run_3_an_answer_without_any_model_call_fails():
    s = Story()
    s.outcome("answered", text="42")
    assert "no model call was made" in only("RUN-3", s).message


def test_run_3_another_failure_than_it_was_is_a_warning():
    assert only("RUN-3", failed(said="limit")).level == SHOULD
    assert only("RUN-3", failed(said="error")).level == SHOULD


@pytest.mark.parametrize(
    "story",
    [
        failed(said="guard", capabilities={"guards": {"token_budget": 1}}),
        failed(raised="Whatever"),
        limited(said="tool_error"),
    ],
    ids=["a guard", "an exception", "a tool error"],
)
def test_run_3_what_only_the_agent_knows_is_believed(story):
    assert judged("RUN-3", story) == [OK]


GATED = {"capabilities": {"completion_gate": {"retries": 1}}, "scenario": {"knobs": {"gate": {"tool": "look"}}}}


def last(reply, *, said="answered", dialect=None, capabilities=None, scenario=None, **fields):
    s = Story(dialect=dialect, capabilities=capabilities, scenario=scenario)
    s.ask()
    s.reply(reply, **fields)
    s.outcome(said, text=reply or None)
    return s


@pytest.mark.parametrize(
    "story",
    [
        last("The ans", stop="length"),
        last("The ans", stop="filter"),
        last("", dialect={"empty_response": "finish"}),
        last("42", stop="tool_calls"),
        last("42", said="gate", **GATED),
        last("42", said="guard", capabilities={"guards": {"token_budget": 1}}),
    ],
    ids=["cut by length", "cut by a filter", "empty under finish", "a text that stops for calls", "a gate", "a guard"],
)
def test_run_3_what_other_clauses_judge_is_left_to_them(story):
    assert judged("RUN-3", story) == []


def test_run_3_a_guard_that_nobody_declared_makes_no_failure_of_an_answer():
    assert "says 'guard', but the model calls show 'answered'" in only("RUN-3", last("42", said="guard")).message


def test_run_3_an_answer_call_among_others_is_left_to_ans_1():
    s = Story(dialect={"answer_by": "tool:done.text"})
    s.ask()
    s.reply(calls=[("done", {"text": "42"}, "c1"), ("look", {}, "c2")])
    s.outcome("answered", text="42")
    assert judged("RUN-3", s) == []


def test_run_3_empty_replies_that_spent_the_budget_may_be_called_either():
    def spent(said):
        s = Story(max_iters=1, dialect={"empty_response": "continue", "limit_text": "none"})
        s.ask()
        s.reply("")
        s.outcome(said)
        return s

    assert judged("RUN-3", spent("limit")) == [OK]
    assert judged("RUN-3", spent("empty")) == [OK]


def cancelled(said, reply="42"):
    s = Story()
    s.ask()
    s.record("kit", "cancel", run="r1", point="stream")
    s.reply(reply, by="kit" if reply else "client")
    s.outcome(said, text=reply)
    return s


def test_run_3_a_cancelled_run_may_have_been_faster():
    assert judged("RUN-3", cancelled("interrupted")) == [OK]
    assert judged("RUN-3", cancelled("answered")) == [OK]
    assert (
        "says 'answered', but the model calls show 'interrupted'"
        in only("RUN-3", cancelled("answered", reply="")).message
    )


def suite(*stories):
    return list(BY_ID["RUN-3"].suite([view(story.recording()) for story in stories]))


def test_run_3_over_the_suite_nothing_else_has_the_signature_of_an_answer():
    plain = {"channels": "MTE", "said": None}
    assert suite(answered(**plain), limited(**plain)) == [(1, OK)]

    [(index, finding)] = suite(answered(**plain), limited(marker=False, **plain))
    assert index == 1
    assert "run r1 ended by 'limit' with nothing that tells it from the answer of run r1 in 'told'" in finding.message


def test_run_3_an_error_code_or_an_exception_tells_a_failure():
    assert suite(answered(), failed(code="x"), failed(raised="ModelDown")) == [(1, OK), (2, OK)]


def test_run_3_over_the_suite_an_answer_that_is_called_a_limit_does_not_say_how_answers_look():
    plain = {"channels": "MTR"}
    assert suite(answered(said="limit", **plain), answered(**plain), limited(marker=False, **plain)) == [(2, OK)]


def test_run_3_over_the_suite_without_an_answer_there_is_nothing_to_tell_from():
    assert suite(limited(), failed()) == []


# RUN-3b


@pytest.mark.parametrize("stop", ["length", "filter"])
def test_run_3b_a_cut_reply_that_is_called_answered_is_a_warning(stop):
    assert "says 'answered' of a reply that was" in only("RUN-3b", last("The ans", stop=stop)).message
    assert BY_ID["RUN-3b"].level == SHOULD
    assert judged("RUN-3b", last("The ans", stop=stop, said="truncated")) == [OK]


def test_run_3b_a_reason_is_the_flag_where_that_is_declared():
    s = Story(dialect={"length_stop": "flag"})
    s.ask()
    s.reply("The ans", stop="length")
    s.outcome("answered", reason="length", text="The ans")
    assert judged("RUN-3b", s) == [OK]


def test_run_3b_a_whole_reply_has_nothing_to_tell():
    assert judged("RUN-3b", last("42")) == []


@pytest.mark.parametrize(
    ("altered", "kind", "right"),
    [
        (["parts", "stop", "finish"], "error", True),
        (["parts", "stop", "finish"], "model_error", True),
        (["parts", "stop", "finish"], "empty", True),
        (["parts", "stop", "finish"], "limit", False),
        (["parts"], "error", False),
        ([], "error", False),
    ],
)
def test_run_3_a_call_that_its_wire_could_not_say_may_be_an_error_of_the_model(altered, kind, right):
    s = Story()
    s.ask()
    s.reply(parts=[], keep=False)
    s.records[-2].data["altered"] = altered
    s.event("RUN_ERROR")
    s.outcome(kind)
    assert (judged("RUN-3", s) == [OK]) is right


# RUN-4


@pytest.mark.parametrize(
    "story",
    [
        limited(),
        limited(dialect={"on_limit": "stop"}, summary=None),
        limited(dialect={"on_limit": "error"}, summary=None, terminal="RUN_ERROR"),
        limited(dialect={"on_limit": "raise"}, summary=None, raised="TooMany"),
        limited(dialect={"summary_failure": "error"}, summary=500, terminal="RUN_ERROR"),
        answered(tool_error=("ValueError", "no")),
        failed(),
        failed(raised="ModelDown"),
        failed(cut=True),
    ],
)
def test_run_4_a_failure_that_escaped_and_trouble_that_did_not(story):
    assert judged("RUN-4", story) == [OK]


@pytest.mark.parametrize(
    ("story", "message"),
    [
        (answered(terminal="RUN_ERROR"), "ends with RUN_ERROR, but the model answered in m1"),
        (
            answered(tool_error=("ValueError", "no"), terminal="RUN_ERROR"),
            "ends with RUN_ERROR, but the model answered in m2",
        ),
        (answered(raised="Boom"), "ends with RUN_ERROR (Boom was raised), but the model answered in m1"),
        (limited(terminal="RUN_ERROR"), "the round limit of 1 ends as limit_terminal 'finished'"),
        (limited(raised="TooMany"), "(TooMany was raised), but the round limit of 1 ends as limit_terminal 'finished'"),
        (
            limited(dialect={"on_limit": "stop"}, summary=None, terminal="RUN_ERROR"),
            "ends as limit_terminal 'flagged'",
        ),
        (limited(summary=500, terminal="RUN_ERROR"), "the round limit of 1 ends as limit_terminal 'finished'"),
    ],
)
def test_run_4_normal_business_is_no_error(story, message):
    assert message in only("RUN-4", story).message


def tool_failed(dialect=None, terminal="RUN_ERROR", name="look", error=("ValueError", "no"), arguments="{}"):
    s = Story(max_iters=5, dialect=dialect)
    s.event("RUN_STARTED")
    s.ask()
    s.reply(calls=[(name, arguments, "c1")])
    if error is not None:
        s.execute(name, {}, "c1", error=error)
    return ending(s, terminal, "tool_error")


@pytest.mark.parametrize(
    ("key", "story"),
    [
        ("tool_exception", {}),
        ("unknown_tool", {"name": "nope", "error": None}),
        ("bad_arguments", {"arguments": "{", "error": None}),
    ],
)
def test_run_4_a_call_that_went_wrong_ends_the_run_only_where_that_is_declared(key, story):
    assert "only had to be fed back to the model" in only("RUN-4", tool_failed(**story)).message
    assert judged("RUN-4", tool_failed({key: "error"}, **story)) == [OK]
    assert judged("RUN-4", tool_failed({key: "raise"}, **story)) == [OK]


def test_run_4_an_empty_reply_ends_as_declared():
    def empty(dialect=None):
        s = Story(dialect=dialect)
        s.ask()
        s.reply("")
        return ending(s, "RUN_ERROR", "empty")

    assert judged("RUN-4", empty()) == [OK]
    assert (
        "an empty reply (m1) ends as empty_response 'finish'"
        in only("RUN-4", empty({"empty_response": "finish"})).message
    )


def test_run_4_a_cut_reply_ends_as_declared():
    def cut(dialect=None):
        s = Story(dialect=dialect)
        s.ask()
        s.reply("The ans", stop="length")
        return ending(s, "RUN_ERROR", "truncated")

    assert judged("RUN-4", cut()) == [OK]
    assert "flagged under length_stop 'flag'" in only("RUN-4", cut({"length_stop": "flag"})).message


@pytest.mark.parametrize(("rounds", "text", "right"), [(2, None, True), (1, None, False), (2, "The tide is", False)])
def test_run_4_a_limit_that_a_cut_call_came_to_may_end_the_run(rounds, text, right):
    dialect = {"length_stop": "flag", "on_limit": "raise", "exceptions": {"Halt": "limit"}}
    s = Story(max_iters=2, dialect=dialect)
    s.event("RUN_STARTED")
    for place in range(rounds):
        s.ask()
        if text is None:
            s.reply(calls=[("look", '{"n": ', f"c{place}")], stop="length")
        else:
            s.reply(text, stop="length")
    s.event("RUN_ERROR", message="Max turns exceeded.", raised=True)
    s.raises("Halt", "Max turns exceeded.")
    assert (judged("RUN-4", s) == [OK]) is right


def test_run_4_a_guard_may_end_the_run_unless_it_refuses():
    def guarded(dialect=None):
        s = Story(dialect=dialect, max_iters=1)
        tool_round(s)
        return ending(s, "RUN_ERROR", "guard")

    assert judged("RUN-4", guarded()) == [OK]
    assert findings("RUN-4", guarded({"on_guard": "refuse"}))


@pytest.mark.parametrize(
    "story",
    [answered(), stream("RUN_STARTED", how="hung"), cancelled("interrupted"), tool_failed(error=None)],
    ids=["nothing went wrong", "no terminal", "cancelled", "a failure nobody can see"],
)
def test_run_4_leaves_alone_what_it_cannot_judge(story):
    assert judged("RUN-4", story) == []


# RUN-5


@pytest.mark.parametrize(
    "story",
    [
        failed(),
        failed(said=None, channels="MTE"),
        failed(raised="ModelDown"),
        failed(cut=True),
        failed(terminal=None, channels="MTR"),
    ],
)
def test_run_5_a_failure_that_a_program_can_read_is_right(story):
    assert judged("RUN-5", story) == [OK]


@pytest.mark.parametrize(
    ("story", "message"),
    [
        (failed(terminal="RUN_FINISHED", said="answered"), "m1 failed with status 500 and nothing recovered it"),
        (failed(terminal="RUN_FINISHED", said=None, channels="MTE"), "it ended as an ordinary finish (E)"),
        (failed(terminal="RUN_FINISHED", said="model_error"), "it ended as an ordinary finish (E)"),
        (failed(terminal=None, said="answered", channels="MTR"), "it ended as an ordinary finish (R)"),
        (failed(terminal="RUN_FINISHED", said=None, channels="MTR"), "it ended without an outcome"),
        (failed(401, terminal="RUN_FINISHED", said="answered"), "m1 failed with status 401"),
        (failed(cut=True, terminal="RUN_FINISHED", said="answered"), "m1 failed with a broken reply"),
    ],
)
def test_run_5_a_failure_that_looks_like_a_finish_fails(story, message):
    assert message in only("RUN-5", story).message


def test_run_5_a_200_that_is_no_reply_is_a_failure():
    s = Story()
    s.ask()
    s.reply(parts=[], status=200, fault={"error": {"status": 200, "body": "<html>"}}, keep=False)
    ending(s, "RUN_FINISHED", "answered")
    assert "m1 failed with a 200 that is no reply" in only("RUN-5", s).message


@pytest.mark.parametrize(
    "story",
    [answered(), limited(summary=500), last("", said="answered"), last("The ans", stop="length")],
    ids=["an answer", "the summary's failure", "an empty reply", "a cut reply"],
)
def test_run_5_leaves_other_endings_to_their_own_clauses(story):
    assert judged("RUN-5", story) == []


def test_run_5_a_failure_that_was_recovered_is_none():
    s = Story()
    s.ask()
    s.fail(503)
    s.ask(again=True)
    s.reply("42")
    ending(s, "RUN_FINISHED", "answered", text="42")
    assert judged("RUN-5", s) == []


# RUN-6


def secretive(story):
    """The same run, its requests sent with the key."""
    digest = hashlib.sha256(KEY.encode()).hexdigest()[:16]
    for record in story.records:
        if record.kind == "model/request":
            record.data["secrets"].append(digest)
    return story


def test_run_6_a_secret_that_shows_nowhere_is_right():
    assert judged("RUN-6", secretive(answered())) == [OK]


def test_run_6_without_a_secret_there_is_nothing_to_find():
    assert judged("RUN-6", answered()) == []


@pytest.mark.parametrize(
    ("leak", "where"),
    [
        (lambda s: s.event("RUN_ERROR", message=f"401: bad key {KEY}."), "RUN_ERROR"),
        (lambda s: s.event("CUSTOM", name="debug", value={"headers": {"Authorization": f"Bearer {KEY}"}}), "CUSTOM"),
        (lambda s: s.outcome("error", reason=f"key='{KEY}'"), "the outcome"),
        (lambda s: s.raises("Boom", f"headers: ['authorization:{KEY}']"), "the exception"),
        (lambda s: s.log(f"POST /chat ({KEY})"), "the log"),
        (lambda s: s.event("CUSTOM", name="debug", value=f"密钥\n{KEY}-\\n"), "CUSTOM"),
        (lambda s: s.event("CUSTOM", name="debug", value='{"a": "\\n' + KEY + '"}'), "CUSTOM"),
        (lambda s: s.text(f"Your key is {KEY}"), "TEXT_MESSAGE_CONTENT"),
    ],
)
def test_run_6_a_secret_is_found_wherever_it_shows_and_not_repeated(leak, where):
    s = Story()
    s.ask()
    leak(s)
    finding = only("RUN-6", secretive(s))
    assert f"{where} holds a secret of the model request" in finding.message
    assert KEY not in finding.message


def test_run_6_a_secret_cut_between_two_deltas_is_found():
    s = Story()
    s.ask()
    s.event("TEXT_MESSAGE_START", messageId="t1", role="assistant")
    s.event("TEXT_MESSAGE_CONTENT", messageId="t1", delta=KEY[:9])
    s.event("TEXT_MESSAGE_CONTENT", messageId="t1", delta=KEY[9:])
    assert "joined message 't1' holds a secret" in only("RUN-6", secretive(s)).message


@pytest.mark.parametrize("message", ["HTTP 500", "server_error from the provider", "The server had an error."])
def test_run_6_an_error_that_names_its_cause_is_right(message):
    assert judged("RUN-6", failed(message=message)) == [OK]


def test_run_6_an_error_that_hides_its_cause_is_a_warning():
    finding = only("RUN-6", failed(message="something went wrong"))
    assert "m1 failed with 500 / server_error" in finding.message
    assert "'something went wrong" in finding.message
    assert finding.level == SHOULD


def test_run_6_a_broken_stream_has_no_status_to_name():
    assert judged("RUN-6", failed(cut=True, message="lost")) == []


# RUN-8


def test_run_8_the_text_is_the_models_in_both_places():
    assert judged("RUN-8", answered(text=" 42\n", shown="42 ")) == [OK, OK]


@pytest.mark.parametrize(
    ("story", "message"),
    [
        (answered(text="4242"), "the result's text is '4242'; the model said '42' (m1)"),
        (answered(text="The answer is 42"), "the result's text is 'The answer is 42'; the model said '42'"),
        (answered(shown="4242"), "the last message 't1' says '4242'; the model said '42'"),
        (answered(shown="4"), "the last message 't1' says '4'"),
        (answered(shown=None), "no message shows the final text '42' (m1)"),
        (answered(text=None, shown=None, channels="MTR"), "the result has no text, expected '42'"),
    ],
)
def test_run_8_another_text_is_named_with_the_models(story, message):
    assert message in only("RUN-8", story).message


def summed_up(text="So far: 42", shown="So far: 42"):
    s = limited(summary=None, said=None, terminal=None)
    s.ask(tools=None)
    s.reply("So far: 42")
    s.text(shown)
    return ending(s, "RUN_FINISHED", "limit", text=text)


def test_run_8_the_summarys_text_is_the_models_too():
    assert judged("RUN-8", summed_up()) == [OK, OK]
    assert (
        "the result's text is 'limit'; the model said 'So far: 42' (m2)"
        in only("RUN-8", summed_up(text="limit")).message
    )


@pytest.mark.parametrize(
    "story",
    [limited(summary=500), limited(summary=None), failed(), cancelled("answered")],
    ids=["a failed summary", "no summary", "a failure", "a cancelled run"],
)
def test_run_8_has_nothing_to_say_where_the_last_word_is_not_the_models(story):
    assert judged("RUN-8", story) == []


def test_run_8_a_text_that_is_shown_twice_fails():
    s = answered()
    s.text("42", id="t2")
    assert "the final text '42' is shown 2 times, expected once" in only("RUN-8", s).message


def test_run_8_what_the_model_said_twice_is_shown_twice():
    s = Story()
    s.ask()
    s.reply("42", calls=[("look", {}, "c1")])
    s.text("42")
    s.execute("look", {}, "c1", 42)
    s.ask()
    s.reply("42")
    s.text("42", id="t2")
    ending(s, "RUN_FINISHED", "answered", text="42")
    assert judged("RUN-8", s) == [OK, OK]


def two_texts(*shown, text, dialect=None):
    s = Story(dialect=dialect)
    s.ask()
    s.reply("Let me look.", calls=[("look", {}, "c1")])
    s.execute("look", {}, "c1", 42)
    s.ask()
    s.reply("42")
    for number, words in enumerate(shown):
        s.text(words, id=f"t{number}")
    return ending(s, "RUN_FINISHED", "answered", text=text)


def test_run_8_the_final_text_is_the_last_replys_or_all_as_declared():
    everything = {"final_text": "all_text"}
    assert judged("RUN-8", two_texts("Let me look.", "42", text="42")) == [OK, OK]
    assert judged("RUN-8", two_texts("42", text="42")) == [OK, OK]
    assert judged("RUN-8", two_texts("Let me look.", "42", text="Let me look.\n\n42", dialect=everything)) == [OK, OK]
    assert judged("RUN-8", two_texts("Let me look.42", text="Let me look.42", dialect=everything)) == [OK, OK]


def test_run_8_a_text_that_another_declaration_would_fit_says_so():
    glued = two_texts("Let me look.", "42", text="Let me look.42")
    short = two_texts("Let me look.42", text="42", dialect={"final_text": "all_text"})
    assert only("RUN-8", glued).fits == ("final_text", "all_text")
    assert only("RUN-8", short).fits == ("final_text", "last_reply")


def test_run_8_texts_of_two_rounds_in_one_message_are_not_the_last_reply():
    assert (
        "the last message 't0' says 'Let me look.42'" in only("RUN-8", two_texts("Let me look.42", text="42")).message
    )


@pytest.mark.parametrize(
    "add",
    [
        lambda s: (s.text("4", id="t1"), s.text("2", id="t2")),
        lambda s: [s.event("TEXT_MESSAGE_CHUNK", messageId="t1", delta=one) for one in "42"],
        lambda s: s.event("MESSAGES_SNAPSHOT", messages=[{"id": "t1", "role": "assistant", "content": "42"}]),
    ],
    ids=["in two messages", "in chunks", "in a snapshot"],
)
def test_run_8_it_does_not_matter_how_the_text_is_shown(add):
    s = Story()
    s.ask()
    s.reply("42")
    add(s)
    ending(s, "RUN_FINISHED", "answered", text="42")
    assert judged("RUN-8", s) == [OK, OK]


def test_run_8_a_finish_may_carry_the_text_itself():
    s = Story()
    s.ask()
    s.reply("42")
    s.event("RUN_FINISHED", result={"output": "42"})
    assert judged("RUN-8", s) == [OK]


def test_run_8_a_text_that_went_on_after_a_cut_is_whole_or_its_last_piece():
    def continued(text):
        s = Story(dialect={"length_stop": "continue"})
        s.ask()
        s.reply("The answer ", stop="length")
        s.ask()
        s.reply("is 42")
        s.text(text)
        return ending(s, "RUN_FINISHED", "answered", text=text)

    assert judged("RUN-8", continued("The answer is 42")) == [OK, OK]
    assert judged("RUN-8", continued("is 42")) == [OK, OK]
    assert len(findings("RUN-8", continued("The answer"))) == 2


def test_run_8_an_answer_call_shows_the_text_by_itself():
    s = Story(dialect={"answer_by": "tool:done.text"})
    s.event("RUN_STARTED")
    s.ask()
    s.reply(calls=[("done", {"text": "42"}, "c1")])
    s.call_events("done", {"text": "42"}, "c1")
    ending(s, "RUN_FINISHED", "answered", text="42")
    assert judged("RUN-8", s) == [OK]


def test_run_8_half_a_text_of_a_broken_attempt_is_forgiven():
    s = Story()
    s.ask()
    s.reply("The ans", by="cut", fault={"cut": {"after_chunks": 1}})
    s.text("The ans", id="t1")
    s.ask(again=True)
    s.reply("The answer is 42")
    s.text("The answer is 42", id="t2")
    ending(s, "RUN_FINISHED", "answered", text="The answer is 42")
    assert judged("RUN-8", s) == [OK, OK]


# RUN-10


@pytest.mark.parametrize("story", [answered(tool_error=("ValueError", "no")), answered(max_iters=3)])
def test_run_10_an_answer_stays_an_answer(story):
    assert judged("RUN-10", story) == [OK]


@pytest.mark.parametrize(
    ("story", "message"),
    [
        (
            answered(tool_error=("ValueError", "no"), said="tool_error"),
            "says 'tool_error', but the model answered; that a tool failed (x1)",
        ),
        (
            answered(tool_error=("ValueError", "no"), terminal="RUN_ERROR"),
            "ends with RUN_ERROR, but the model answered",
        ),
        (answered(max_iters=3, said="limit"), "says 'limit', but the model answered; that 1 of 3 rounds were made"),
    ],
)
def test_run_10_a_failure_made_of_an_answer_is_named(story, message):
    assert message in only("RUN-10", story).message


def test_run_10_the_first_cause_counts():
    assert judged("RUN-10", failed(max_iters=1)) == [OK]
    assert (
        "says 'limit', but m1 ended it first by 'model_error'"
        in only("RUN-10", failed(max_iters=1, said="limit", dialect={"on_limit": "stop"})).message
    )


def test_run_10_a_gate_may_refuse_an_answer():
    s = last("42", said="gate", **GATED)
    assert judged("RUN-10", s) == []


def test_run_3_a_gate_that_nobody_asked_for_refuses_no_answer():
    s = last("42", said="gate", capabilities={"completion_gate": {"retries": 1}})
    assert only("RUN-3", s).message == "run r1 says 'gate', but the model calls show 'answered' (see m1)"


def test_run_10_without_a_failure_or_a_limit_there_is_nothing_to_turn():
    assert judged("RUN-10", answered(said="limit")) == []


@pytest.mark.parametrize(("kind", "looks"), [("truncated", "cut off"), ("filtered", "filtered"), ("empty", "empty")])
def test_run_3_an_end_by_the_name_of_a_reply_that_did_not_come_is_warned_of(kind, looks):
    s = Story()
    s.ask()
    s.reply(calls=[("look", "{no json", "c1")])
    s.outcome(kind)
    s.end()
    finding = only("RUN-3", s)
    assert finding.message == f"run r1 says {kind!r}, but no reply of its model was {looks}"
    assert finding.level == SHOULD


@pytest.mark.parametrize("stop", ["length", "filter"])
def test_run_3_a_cut_before_a_call_that_cannot_be_read_may_name_the_end(stop):
    s = Story()
    s.ask()
    s.reply(calls=[("look", "{no json", "c1")], stop=stop)
    s.outcome({"length": "truncated", "filter": "filtered"}[stop])
    s.end()
    assert [one for one in judged("RUN-3", s) if isinstance(one, Finding)] == []


def test_run_3_an_error_that_nothing_explains_is_warned_of():
    s = Story()
    s.event("RUN_STARTED")
    s.raises("ValueError", "no idea")
    finding = only("RUN-3", s)
    assert finding.message == "run r1 ended as error ('no idea'), but nothing that was seen had failed"
    assert finding.level == SHOULD


def test_run_3_a_broken_history_that_was_given_explains_an_error():
    s = Story()
    s.records[0].data["input"]["messages"].insert(0, {"id": "t", "role": "tool", "toolCallId": "c0", "content": "42"})
    s.event("RUN_STARTED")
    s.raises("UserError", "a result has no call")
    assert judged("RUN-3", s) == [OK]


def test_run_3_an_error_after_a_failed_tool_explains_itself():
    s = Story()
    s.ask()
    s.reply(calls=[("look", {}, "c1")])
    s.execute("look", {}, "c1", error=("Boom", "no"))
    s.raises("Boom", "no")
    assert findings("RUN-3", s) == []


def test_run_3_a_kind_of_outcome_that_there_is_not_is_named():
    s = Story()
    s.ask()
    s.reply(text="42")
    s.outcome("success", text="42")
    assert "run r1 says 'success', which is no kind of outcome; known are answered" in only("RUN-3", s).message


def test_run_5_speaks_of_the_result_where_no_event_was_sent():
    s = Story()
    s.ask()
    s.fail(401)
    s.outcome("model_error", reason="401")
    assert findings("RUN-5", s) == []


@pytest.mark.parametrize("said", ["guard", "gate", "unverified", "waiting", "interrupted"])
def test_run_3_a_cause_that_the_agent_cannot_have_explains_nothing(said):
    finding = only("RUN-3", failed(said=said))
    assert (finding.level, f"says {said!r}, but the model calls show 'model_error'" in finding.message) == (
        SHOULD,
        True,
    )


@pytest.mark.parametrize(("stop", "said"), [("length", "filtered"), ("filter", "truncated")])
def test_run_3_a_cut_by_the_one_is_no_cut_by_the_other(stop, said):
    assert only("RUN-3", last("The ans", stop=stop, said=said)).level == SHOULD


def test_run_3_a_result_that_is_declared_and_not_given_is_warned_of():
    quiet = Story()
    quiet.ask()
    quiet.reply("42")
    finding = only("RUN-3", quiet)
    assert (finding.level, "returned without an outcome" in finding.message) == (SHOULD, True)
    assert findings("RUN-3", answered(said=None, channels="MTE")) == []


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        ("finish_reason=length", True),
        ("max_tokens reached", True),
        ("Truncated.", True),
        ("回答被截断", True),
        ("done", False),
    ],
)
def test_run_3b_a_flag_speaks_of_the_cut(reason, told):
    s = Story(dialect={"length_stop": "flag"})
    s.ask()
    s.reply("The ans", stop="length")
    s.outcome("answered", text="The ans", reason=reason)
    assert (judged("RUN-3b", s) == [OK]) is told


def test_run_4_an_observer_that_breaks_the_run_is_one_that_was_declared():
    spreads = {"listener_errors": "propagate"}
    assert findings("RUN-4", answered(terminal="RUN_ERROR", dialect=spreads))
    hooks = {"dialect": spreads, "capabilities": {"callbacks": True}}
    broken, sound = (
        {"knobs": {"callbacks": [{"hook": "after_tool", "does": does}]}, "tools": {}} for does in ("raise", "tell")
    )
    assert judged("RUN-4", answered(terminal="RUN_ERROR", scenario=broken, **hooks)) == [OK]
    assert findings("RUN-4", answered(terminal="RUN_ERROR", scenario=sound, **hooks))
    assert findings("RUN-4", answered(terminal="RUN_ERROR", **hooks))


@pytest.mark.parametrize(
    "text",
    [
        f"_{KEY}",
        f"{KEY}_",
        f"user-{KEY}",
        f"{KEY}.json",
        f"/v1/{KEY}/models",
        f"api_key={KEY}&x=1",
        f"api_key%3D{KEY}%26x",
        f"key:{KEY}",
        base64.b64encode(f"user:{KEY}".encode()).decode(),
    ],
)
def test_run_6_a_secret_is_found_whatever_it_is_glued_to(text):
    s = answered()
    s.log(text)
    assert len(findings("RUN-6", secretive(s))) == 1


@pytest.mark.parametrize("shown", ["The answeris 42", "The answer\nis 42", "The  answer is 42"])
def test_run_8_white_space_inside_a_message_is_a_part_of_the_text(shown):
    def told(*shown):
        s = Story()
        s.ask()
        s.reply("The answer is 42")
        for number, text in enumerate(shown):
            s.text(text, id=f"t{number}")
        return ending(s, "RUN_FINISHED", "answered", text="The answer is 42")

    assert "the last message" in only("RUN-8", told(shown)).message
    assert judged("RUN-8", told("\nThe answer", "is 42 ")) == [OK, OK]


def test_run_8_under_all_text_an_answer_call_is_a_part_of_the_text():
    def told(text):
        s = Story(dialect={"answer_by": "tool:done.text", "final_text": "all_text"})
        s.ask()
        s.reply("Let me look.", calls=[("look", {}, "c1")])
        s.execute("look", {}, "c1", 42)
        s.ask()
        s.reply("So:", calls=[("done", {"text": "42"}, "c2")])
        s.outcome("answered", text=text)
        return s

    assert judged("RUN-8", told("Let me look.\nSo:\n42")) == [OK]
    assert len(findings("RUN-8", told("Let me look.\nSo:"))) == 1


def test_run_8_under_all_text_a_snapshot_holds_all_texts_of_its_run():
    s = Story(dialect={"final_text": "all_text"}, channels="MTE")
    s.ask()
    s.reply("Let me look.", calls=[("look", {}, "c1")])
    s.execute("look", {}, "c1", 42)
    s.ask()
    s.reply("42")
    texts = [("user", "Before?"), ("assistant", "Old."), ("user", "What is it?"), ("assistant", "Let me look.")]
    messages = [
        {"id": str(n), "role": role, "content": text} for n, (role, text) in enumerate((*texts, ("assistant", "42")))
    ]
    s.event("MESSAGES_SNAPSHOT", messages=messages)
    s.event("RUN_FINISHED")
    assert judged("RUN-8", s) == [OK]


@pytest.mark.parametrize(("said", "right"), [("model_error", [OK]), ("error", [OK]), ("answered", []), ("guard", [])])
def test_run_10_finds_right_what_it_looked_at(said, right):
    assert judged("RUN-10", failed(max_iters=1, said=said, dialect={"on_limit": "stop"})) == right


@pytest.mark.parametrize("kind", ["answered", "empty"])
def test_run_3_leaves_open_what_looks_empty_and_is_declared_not_to_be(kind):
    s = Story(dialect={"empty_is": ["blank"]})
    s.ask()
    s.reply(keep=False)
    s.outcome(kind)
    assert judged("RUN-3", s) == []


EVERYTHING = {"guards": {"max_tool_calls": "caller"}, "callbacks": True, "approval": True}


@pytest.mark.parametrize("kind", ["guard", "waiting"])
def test_run_3_an_answer_is_no_other_outcome_because_the_agent_could_have_one(kind):
    [finding] = findings("RUN-3", answered(said=kind, capabilities=EVERYTHING))
    assert f"says {kind!r}, but the model calls show 'answered'" in finding.message


def test_run_3_a_tool_that_never_came_back_is_a_failure():
    s = Story()
    s.event("RUN_STARTED")
    s.ask()
    s.reply(calls=[("look", {}, "c1")])
    s.execute("look", {}, "c1")
    assert judged("RUN-3", ending(s, "RUN_ERROR", "error", reason="look timed out")) == [OK]
