"""REC-2, REC-7 and REC-12 on recordings told by hand: replies of nothing, of half, and of something else."""

import pytest
from story import Story

from conformance.reading.failures import broke, trails_off
from conformance.reading.joined import view
from conformance.rule import OK, SHOULD, Finding
from conformance.rules.recovery import RULES
from conformance.rules.run import RULES as RUN

BY_ID = {rule.id: rule for rule in (*RULES, *RUN)}
NUDGE = {"role": "user", "content": "Your reply was empty."}
PAGE = {"error": {"status": 200, "body": "<html>Bad gateway</html>"}}


def judged(rule, story):
    return list(BY_ID[rule].check(view(story.recording())))


def breaches(rule, story):
    return [f.message for f in judged(rule, story) if isinstance(f, Finding) and f.level is not SHOULD]


def after_nothing(**asked):
    s = Story()
    s.ask()
    s.reply(parts=[], keep=False)
    s.ask(**asked)
    s.reply("42")
    s.outcome("answered")
    return s


@pytest.mark.parametrize(
    "asked", [{"messages": [NUDGE]}, {"extra": {"temperature": 1.0}}, {"extra": {"model": "wide"}}, {"tools": None}]
)
def test_a_request_after_an_empty_reply_that_differs_is_right(asked):
    assert judged("REC-2", after_nothing(**asked)) == [OK]


@pytest.mark.parametrize("asked", [{"again": True}, {"extra": {"stream": True}}])
def test_the_same_request_after_an_empty_reply_is_found(asked):
    s = after_nothing(**asked)
    [found] = judged("REC-2", s)
    assert "m2 asks the same as m1, which was answered by an empty reply" in found.message
    assert found.seq == 5


def test_an_attempt_between_two_requests_is_looked_through():
    s = Story()
    s.ask()
    s.fail(500)
    s.ask(again=True)
    s.reply(parts=[], keep=False)
    s.ask(messages=[*s.history, NUDGE])
    s.reply("42")
    assert judged("REC-2", s) == [OK]


def cut(*, text=None, calls=(), after=2, reset=False, stream=True, by="cut", runs=0, then=None, end=None):
    """A reply that is cut, what ran after it, what was asked then, and how the run ended."""
    s = Story()
    s.ask(extra={"stream": True} if stream else None)
    said = {} if text is None else {"text": text}
    fault = {"cut": {"after_chunks": after, "after_bytes": None, "reset": reset}}
    s.reply(**said, calls=calls, fault=fault, by=by, keep=False)
    for number in range(runs):
        s.execute("look", {}, f"c{number + 1}", 42)
    if then is not None:
        s.ask(messages=[*s.history, NUDGE], extra={"stream": True})
        s.reply(then)
    if end:
        s.outcome(end, text=text)
    return s


CALL = (("look", {}, "c1"),)
TWO = (*CALL, ("look", {}, "c2"))
BREAKS = {
    "a reset in a text": ({"text": "It is", "reset": True}, "connection"),
    "a body that is not streamed": ({"text": "It is", "stream": False}, "connection"),
    "an end within a call": ({"calls": CALL}, "call"),
    "an end within the second call": ({"calls": TWO, "after": 4}, "call"),
    "an end before the calls": ({"text": "It is", "calls": CALL, "after": 2}, "text"),
    "an end in a text": ({"text": "It is"}, "text"),
    "an end behind the finish reason": ({"text": "It is", "after": 3}, None),
    "a reset behind the finish reason": ({"text": "It is", "after": 9, "reset": True}, None),
}


@pytest.mark.parametrize(("given", "how"), BREAKS.values(), ids=BREAKS)
def test_where_a_reply_broke(given, how):
    seen = view(cut(**given).recording())
    [call] = seen.runs[0].calls
    assert broke(call, seen) == how


def test_a_whole_reply_did_not_break():
    s = Story()
    s.ask()
    s.reply("42")
    seen = view(s.recording())
    [call] = seen.runs[0].calls
    assert broke(call, seen) is None
    assert not trails_off(call, seen)


@pytest.mark.parametrize(
    "given", [given for given, how in BREAKS.values() if how], ids=[n for n in BREAKS if BREAKS[n][1]]
)
@pytest.mark.parametrize("came", [{"then": "42", "end": "answered"}, {"end": "model_error"}, {"end": "error"}])
def test_a_broken_reply_that_is_asked_for_again_or_fails_the_run_is_right(given, came):
    assert judged("REC-7", cut(**given, **came)) == [OK]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (
            {"text": "It is", "reset": True},
            "the connection broke before the reply to m1 was whole, and r1 ended as answered",
        ),
        (
            {"calls": CALL},
            "the stream of the reply to m1 ended while a call was being spelled, and r1 ended as answered",
        ),
    ],
)
def test_a_broken_reply_that_ends_the_run_as_answered_is_found(given, says):
    [message] = breaches("REC-7", cut(**given, end="answered"))
    assert says in message


def test_a_call_of_a_broken_reply_that_runs_is_found():
    s = cut(calls=TWO, after=4, runs=1, then="42", end="answered")
    [found] = judged("REC-7", s)
    assert found.level is None
    assert "ended while a call was being spelled, and x1 (look) ran after it" in found.message
    assert found.seq == 5


def test_a_stream_that_is_given_up_and_ends_when_nobody_looks_any_more_was_asked_for_again():
    s = Story()
    s.ask(extra={"stream": True})
    fault = {"error_event": {"error": {"status": 529, "message": "", "type": None, "code": None}, "after_chunks": 2}}
    s.reply("It is", fault=fault, done=False, keep=False)
    s.ask(again=True, retry_header=1)
    s.reply("42")
    s.outcome("answered", text="42")
    s.end()
    s.record("model", "reply_done", call="m1", bytes=10, by="kit")
    assert judged("REC-7", s) == [OK]


def test_a_call_that_ran_before_the_stream_ended_is_not_held_against_who_did_not_wait():
    s = Story()
    s.ask(extra={"stream": True})
    s.reply(calls=TWO, fault={"cut": {"after_chunks": 4, "reset": True}}, done=False, keep=False)
    s.execute("look", {}, "c1", 42)
    s.record("model", "reply_done", call="m1", bytes=10, by="cut")
    s.outcome("model_error")
    assert judged("REC-7", s) == [OK]


def test_a_text_whose_stream_just_ended_warns_and_fails_no_other_rule():
    s = cut(text="It is", end="answered")
    s.end("returned")
    [warning] = judged("REC-7", s)
    assert warning.level is SHOULD
    assert "ended without a finish reason, and r1 ended as answered" in warning.message
    assert [breaches(rule, s) for rule in ("RUN-3", "RUN-5")] == [[], []]


def test_a_reset_that_passes_for_an_answer_fails_the_rules_about_endings_too():
    s = cut(text="It is", reset=True, end="answered")
    assert [len(breaches(rule, s)) for rule in ("RUN-3", "RUN-5", "REC-7")] == [1, 1, 1]


def none_at_all(*, then=None, end=None, dialect=None):
    s = Story(dialect=dialect)
    s.ask()
    s.reply(parts=[], fault=PAGE, keep=False)
    if then is not None:
        s.ask(messages=[*s.history, NUDGE])
        s.reply(then)
    if end:
        s.outcome(end)
    return s


@pytest.mark.parametrize("came", [{"then": "42", "end": "answered"}, {"end": "model_error"}, {"end": "empty"}])
def test_a_200_that_is_no_reply_and_is_asked_for_again_or_fails_the_run_is_right(came):
    assert judged("REC-12", none_at_all(**came)) == [OK]


@pytest.mark.parametrize("dialect", [{}, {"empty_response": "finish"}])
def test_a_200_that_is_no_reply_and_ends_the_run_as_answered_is_found(dialect):
    [message] = breaches("REC-12", none_at_all(end="answered", dialect=dialect))
    assert "m1 got a 200 with a body that is no reply, and r1 ended as answered" in message


def test_a_run_that_says_nothing_of_its_end_is_not_judged():
    assert judged("REC-12", none_at_all()) == []
    assert judged("REC-7", cut(text="It is", reset=True)) == []
