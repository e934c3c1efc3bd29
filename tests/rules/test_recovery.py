"""REC on recordings told by hand: empty replies and prompts that are too long, recovered from, given up, or mishandled."""

import pytest
from story import Story

from conformance.reading.joined import view
from conformance.rule import OK, SHOULD, Finding
from conformance.rules.recovery import RULES

BY_ID = {rule.id: rule for rule in RULES}
USER = {"role": "user", "content": "What is it?"}
LONG = {"role": "user", "content": "x" * 400}
SUMMARISE = {"role": "user", "content": "Summarise"}
TOO_LONG = {"status": 400, "message": "Too long.", "code": "context_length_exceeded"}
COMPACTS = {"side_calls": {"compaction": [{"text": "Summarise"}]}}


def judged(rule, story):
    return list(BY_ID[rule].check(view(story.recording())))


def breaches(rule, story):
    """The messages of what fails, warnings aside."""
    return [f.message for f in judged(rule, story) if isinstance(f, Finding) and f.level is not SHOULD]


def empty(story, shape="no_parts"):
    parts = {"no_parts": [], "null": [None], "blank": [" \n"]}.get(shape, [])
    thinking = [{"type": "thinking", "text": "Hm."}] if shape == "thinking" else []
    story.reply(parts=[*thinking, *({"type": "text", "text": text} for text in parts)], keep=False)


def told(*replies, end="answered", text=None, shape="no_parts", **story):
    """A run of replies: `empty`, a text, or `call` (one call that runs)."""
    s = Story(**story)
    for number, reply in enumerate(replies, start=1):
        s.ask(messages=[*s.history, {"role": "user", "content": f"nudge {number}"}])
        if reply == "empty":
            empty(s, shape)
        elif reply == "call":
            s.reply(calls=[("look", {}, f"c{number}")])
            s.execute("look", {}, f"c{number}", 42)
        else:
            s.reply(reply)
    if end:
        s.outcome(end, text=text)
    return s


@pytest.mark.parametrize("shape", ["no_parts", "null", "blank", "thinking"])
def test_one_retry_that_is_answered_is_right(shape):
    assert judged("REC-1", told("empty", "42", shape=shape)) == [OK]


RIGHT_ENDS = {
    "empty twice, then its own outcome": (("empty", "empty"), "empty", {}),
    "fewer retries than allowed": (("empty",), "empty", {}),
    "no retry is declared": (("empty",), "empty", {"empty_response": {"retry_then_error": 0}}),
    "an error is declared": (("empty",), "error", {"empty_response": "error"}),
    "two retries are declared": (("empty",) * 3, "empty", {"empty_response": {"retry_then_error": 2}}),
    "counted anew in each round": (("empty", "call", "empty", "42"), "answered", {}),
    "it goes on to the next round": (("empty", "empty", "42"), "answered", {"empty_response": "continue"}),
}


@pytest.mark.parametrize(("replies", "end", "dialect"), RIGHT_ENDS.values(), ids=RIGHT_ENDS)
def test_empty_replies_within_the_declaration_are_right(replies, end, dialect):
    found = judged("REC-1", told(*replies, end=end, dialect=dialect))
    assert set(found) <= {OK}
    assert found or dialect == {"empty_response": "continue"}


WRONG_ENDS = {
    "one retry too many": (
        ("empty", "empty", "42"),
        "answered",
        {},
        "m3 is repetition 2 after an empty reply in its round (m2), expected at most 1",
    ),
    "a retry where none is declared": (
        ("empty", "42"),
        "answered",
        {"empty_response": "error"},
        "expected at most 0 under empty_response 'error'",
    ),
    "counted over the run": (
        ("empty", "call", "empty", "42"),
        "answered",
        {"recovery_scope": "run"},
        "m4 is repetition 2 after an empty reply in r1 (m3)",
    ),
    "called an answer": (
        ("empty", "empty"),
        "answered",
        {},
        "r1 ended as answered, but the last reply, to m2, was empty (no_parts), expected the outcome empty",
    ),
    "called an answer under continue": (("empty",), "answered", {"empty_response": "continue"}, "r1 ended as answered"),
}


@pytest.mark.parametrize(("replies", "end", "dialect", "says"), WRONG_ENDS.values(), ids=WRONG_ENDS)
def test_empty_replies_beyond_the_declaration_are_found(replies, end, dialect, says):
    [message] = breaches("REC-1", told(*replies, end=end, dialect=dialect))
    assert says in message


def test_a_shape_that_is_declared_not_to_be_empty_is_not():
    s = told("empty", shape="thinking", dialect={"empty_is": ["no_parts", "null", "blank"]})
    assert judged("REC-1", s) == []


def test_finishing_on_nothing_warns():
    right, warning = judged("REC-1", told("empty", end="empty", dialect={"empty_response": "finish"}))
    assert right is OK
    assert warning.level is SHOULD
    assert "leaves the user without an answer" in warning.message


def test_finishing_on_a_text_the_model_never_said_is_found():
    s = told("empty", text="All done!", dialect={"empty_response": "finish"})
    [message] = breaches("REC-1", s)
    assert 'shows "All done!", which the model never said' in message


def test_finishing_with_the_last_thing_the_model_said_invents_nothing():
    s = Story(dialect={"empty_response": "finish"})
    s.ask()
    s.reply("Let me look.", calls=[("look", {}, "c1")])
    s.execute("look", {}, "c1", 42)
    s.ask()
    empty(s)
    s.outcome("empty", text="Let me look.")
    assert breaches("REC-1", s) == []


def test_an_empty_summary_is_left_to_its_own_rules():
    s = told("call", "empty", end="limit", text="Stopped.", max_iters=1)
    assert judged("REC-1", s) == []


def test_a_run_that_never_ended_is_judged_by_its_retries_alone():
    assert judged("REC-1", told("empty", "empty", end=None, channels="MTR")) == [OK]


@pytest.mark.parametrize("text", ["0", "."])
def test_a_text_of_one_character_is_an_answer(text):
    assert judged("REC-1", told(text, text=text)) == [OK]
    [asked_again] = breaches("REC-1", told(text, "42"))
    assert f"m2 was sent after m1 was answered {text!r}, expected the run to end" in asked_again
    [given_up] = breaches("REC-1", told(text, end="empty"))
    assert "r1 ended as empty after m1 was answered" in given_up


def blank_with_call(*, run=True, keep=True, ask=True, end="answered"):
    s = Story()
    s.ask()
    s.reply("", calls=[("look", {}, "c1")], keep=keep)
    if run:
        s.execute("look", {}, "c1", 42)
    if ask:
        s.ask()
        s.reply("42")
    s.outcome(end)
    return s


def test_a_blank_text_beside_a_call_is_not_empty():
    assert judged("REC-1", blank_with_call()) == [OK]
    [asked_again] = breaches("REC-1", blank_with_call(run=False, keep=False))
    assert "m2 asks again as if the reply to m1 had been empty, but it called look beside a blank text" in asked_again
    [given_up] = breaches("REC-1", blank_with_call(run=False, keep=False, ask=False, end="empty"))
    assert "r1 ended as empty, but the reply to m1 called look beside a blank text" in given_up


@pytest.mark.parametrize("rule", BY_ID)
def test_nothing_is_judged_where_the_model_simply_answered(rule):
    assert judged(rule, told("call", "The answer is 42.")) == []


def overflow(*sizes, end="overflow", then=None, dialect=None, **story):
    """Requests with so many long messages, each too long, and the last answered where `then` says so."""
    s = Story(dialect=dialect, **story)
    for number, size in enumerate(sizes, start=1):
        s.ask(messages=[USER, *[LONG] * size])
        if then is not None and number == len(sizes):
            s.reply(then)
        else:
            s.fail(**TOO_LONG)
    s.outcome(end)
    return s


def test_a_smaller_request_that_is_answered_is_right():
    assert judged("REC-3", overflow(3, 1, then="42", end="answered")) == [OK, OK]


RIGHT_OVERFLOWS = {
    "smaller once, then its own outcome": ((3, 1), {}),
    "given up at once": ((3,), {}),
    "given up at once as declared": ((3,), {"prompt_too_long": "error"}),
    "two are declared": ((3, 2, 1), {"prompt_too_long": {"compact_then_error": 2}}),
}


@pytest.mark.parametrize(("sizes", "dialect"), RIGHT_OVERFLOWS.values(), ids=RIGHT_OVERFLOWS)
def test_overflows_within_the_declaration_are_right(sizes, dialect):
    assert set(judged("REC-3", overflow(*sizes, dialect=dialect))) == {OK}


WRONG_OVERFLOWS = {
    "the same again": ((3, 3), {}, "m2 sends the request of m1 again, which was too long"),
    "larger": ((1, 2), {}, " after m1 was too long with "),
    "one too many": ((3, 2, 1), {}, "m3 is repetition 2 after an overflow in its round (m2), expected at most 1"),
    "one where none is declared": ((3, 1), {"prompt_too_long": "error"}, "expected at most 0"),
}


@pytest.mark.parametrize(("sizes", "dialect", "says"), WRONG_OVERFLOWS.values(), ids=WRONG_OVERFLOWS)
def test_overflows_beyond_the_declaration_are_found(sizes, dialect, says):
    [message] = breaches("REC-3", overflow(*sizes, dialect=dialect))
    assert says in message


def test_an_old_request_that_comes_back_is_found():
    s = overflow(3, 1, 3, dialect={"prompt_too_long": {"compact_then_error": 5}})
    assert "m3 sends the request of m1 again" in breaches("REC-3", s)[0]


def test_an_overflow_called_an_answer_is_found():
    [message] = breaches("REC-3", overflow(3, end="answered"))
    assert "r1 ended as answered, but its last request, m1, was too long for the model" in message


def test_another_model_may_be_asked_the_same():
    s = Story()
    s.ask(messages=[USER, LONG])
    s.fail(**TOO_LONG)
    s.ask(messages=[USER, LONG], extra={"model": "wide"})
    s.reply("42")
    s.outcome("answered")
    assert set(judged("REC-3", s)) == {OK}


def test_a_stop_for_length_without_text_is_an_overflow_too():
    s = Story()
    s.ask(messages=[USER, LONG])
    s.reply(parts=[], stop="length", keep=False)
    s.ask(messages=[USER, LONG])
    s.reply("42")
    assert "m2 sends the request of m1 again" in breaches("REC-3", s)[0]


def test_a_rate_limit_is_no_overflow():
    s = Story()
    for _ in range(2):
        s.ask()
        s.fail(429, message="Too many tokens per min.", code="rate_limit_exceeded")
    assert judged("REC-3", s) == []


def compacted(*, size, window=200, overflows=False, again=False):
    s = Story(dialect=COMPACTS, scenario={"model": {"context_window": window}})
    s.ask(messages=[USER, *[LONG] * 3])
    s.fail(**TOO_LONG)
    for _ in range(1 + again):
        s.ask(messages=[*[LONG] * size, SUMMARISE])
        if overflows:
            s.fail(**TOO_LONG)
        else:
            s.reply("short", keep=False)
    s.ask(messages=[USER])
    s.reply("42")
    s.outcome("answered")
    return s


def test_a_compaction_that_fits_the_window_is_right():
    assert set(judged("REC-3", compacted(size=1))) == {OK}


def test_a_compaction_that_does_not_fit_the_window_is_found():
    [message] = breaches("REC-3", compacted(size=3))
    assert message.startswith("m2, a compaction, has ")
    assert "and the model's window 200, expected a request that fits it" in message


def test_a_compaction_that_overflows_is_not_sent_again():
    assert set(judged("REC-3", compacted(size=1, overflows=True))) == {OK}
    assert "m3 sends the request of m2 again" in breaches("REC-3", compacted(size=1, overflows=True, again=True))[0]


def test_a_summary_that_overflows_is_counted_by_its_own_rule():
    s = Story(max_iters=1)
    s.ask()
    s.reply(calls=[("look", {}, "c1")])
    s.execute("look", {}, "c1", 42)
    s.ask(tools=None)
    s.fail(**TOO_LONG)
    s.outcome("limit", text="Stopped.")
    assert judged("REC-3", s) == [OK]


def test_a_text_of_the_stream_that_the_model_never_said_is_found_beside_an_honest_result():
    s = told("empty", end=None, dialect={"empty_response": "finish"})
    s.text("All done!")
    s.event("RUN_FINISHED")
    s.outcome("empty", text="")
    [message] = breaches("REC-1", s)
    assert 'shows "All done!", which the model never said' in message
