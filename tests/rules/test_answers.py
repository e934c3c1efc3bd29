"""ANS on recordings told by hand: an answer that is a call, and the calls beside it."""

import pytest
from story import LOOK, Story

from conformance.reading.joined import view
from conformance.rule import OK, Finding
from conformance.rules.answers import RULES

BY_ID = {rule.id: rule for rule in RULES}
DIALECT = {"answer_by": "tool:final_answer.text"}
ANSWER = ("final_answer", {"text": "It is 42."}, "a1")
CALL = ("look", {}, "c1")


def told(*calls, fails=False, runs=True, again=False, kind="answered", text="It is 42.", dialect=DIALECT):
    s = Story(dialect=dialect, tools={"look": LOOK}, max_iters=5)
    s.ask()
    s.reply(calls=list(calls))
    if CALL in calls and runs:
        s.execute("look", {}, "c1", error=("Off", "it is off")) if fails else s.execute("look", {}, "c1", 42)
    if again:
        s.ask()
        s.reply(calls=[("final_answer", {"text": text}, "a2")])
    s.outcome(kind, text=text)
    return s


def judged(rule, story):
    return list(BY_ID[rule].check(view(story.recording())))


def said(rule, story):
    return " ".join(one.message for one in judged(rule, story) if isinstance(one, Finding))


@pytest.mark.parametrize("calls", [[ANSWER], [ANSWER, CALL], [CALL, ANSWER]])
def test_an_answer_ends_the_run_wherever_it_stands(calls):
    assert judged("ANS-1", told(*calls)) == [OK]


def test_an_answer_that_is_asked_for_once_more_was_not_recognised():
    assert "and m2 asks again" in said("ANS-1", told(CALL, ANSWER, again=True))


def test_an_answer_that_the_user_does_not_read_was_not_recognised():
    assert "the user reads 'Done.'" in said("ANS-1", told(ANSWER, text="Done."))


def test_an_answer_whose_run_ends_as_something_else_was_not_recognised():
    assert "ended as error" in said("ANS-1", told(CALL, ANSWER, kind="error"))


def test_a_sibling_that_failed_reaches_the_model_first():
    assert judged("ANS-2", told(ANSWER, CALL, fails=True, again=True)) == [OK]
    assert judged("ANS-1", told(ANSWER, CALL, fails=True, again=True)) == [OK]


@pytest.mark.parametrize(("given", "why"), [({"fails": True}, "look failed"), ({"runs": False}, "look never ran")])
def test_an_answer_taken_over_an_unfinished_sibling_is_a_breach(given, why):
    assert why in said("ANS-2", told(CALL, ANSWER, **given))


def test_a_run_that_ends_otherwise_over_a_failed_sibling_took_no_answer():
    assert judged("ANS-2", told(CALL, ANSWER, fails=True, kind="tool_error")) == []


def test_nothing_is_judged_where_a_text_is_the_answer():
    v = view(told(CALL, ANSWER, dialect={}).recording())
    assert [rule.applies(v) for rule in RULES] == ["dialect", "dialect"]
