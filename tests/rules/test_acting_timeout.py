"""ACT-9 on recordings told by hand: tools that never come back, and tools that do."""

import pytest
from story import Story

from conformance.reading.joined import view
from conformance.rule import OK, Finding
from conformance.rules.acting_timeout import ACT_9

HANGS = {"description": "Waits.", "parameters": {"type": "object"}, "hangs": True}
LOOK = {"description": "Looks.", "parameters": {"type": "object"}, "returns": 42}
LATE = "Error: Timeout: wait was not done within 0.2 s"


def story(*executions, told=LATE, timeout_s=0.2, retries=0, capabilities=None, how="answered", **more):
    """A call that hangs, run so many times, and what the model is told of it."""
    s = Story(
        tools={"wait": HANGS, "look": LOOK},
        scenario={"limits": {"max_iters": 10, **({} if timeout_s is None else {"tool_timeout_s": timeout_s})}},
        capabilities={"tool_timeout": {"seconds": 5, "retries": retries}} if capabilities is None else capabilities,
        **more,
    )
    s.ask()
    s.reply(calls=[("wait", {}, "c1")])
    for came in executions or (None,):
        s.execute("wait", {}, "c1", **({} if came is None else {"value": came, "keep": False}))
    if how == "hung":
        s.end("hung")
        return s
    if told is None:
        s.outcome("error")
        return s
    s.answer("c1", told)
    s.ask()
    s.reply("42")
    s.outcome("answered", text="42")
    return s


def judged(s):
    read = view(s.recording())
    return ACT_9.applies(read) or list(ACT_9.check(read))


def only(s, says):
    [finding] = [one for one in judged(s) if isinstance(one, Finding)]
    assert says in finding.message


def test_a_tool_that_is_left_and_told_of_is_right():
    assert judged(story()) == [OK, OK]


def test_a_run_that_hangs_with_its_tool_is_found():
    only(story(how="hung"), "did not come back within 0.2 s, and r1 hung")


def test_an_empty_result_does_not_say_so():
    only(story(told=""), "m2 carries \"\" for call 'c1' (wait) of m1")


def test_a_run_that_ends_with_the_tool_is_found_unless_declared():
    only(story(told=None), "ended without another request")
    assert judged(story(told=None, dialect={"tool_exception": "error"})) == [OK]


def test_a_guard_excuses_no_end_that_it_did_not_bring():
    able = {"tool_timeout": {"seconds": 5, "retries": 0}, "guards": {"max_tool_calls": "caller"}}
    only(story(told=None, capabilities=able), "ended without another request")


@pytest.mark.parametrize(("retries", "right"), [(0, False), (1, True), (2, True)])
def test_a_tool_is_begun_again_as_often_as_declared(retries, right):
    found = [one for one in judged(story(None, None, retries=retries)) if isinstance(one, Finding)]
    assert (found == []) is right


def test_a_retry_that_comes_back_is_within_the_number():
    assert judged(story(None, 42, told="42", retries=1)) == [OK]


def test_the_declared_seconds_hold_where_the_caller_gives_none():
    quick = {"tool_timeout": {"seconds": 1, "retries": 0}}
    only(story(how="hung", timeout_s=None, capabilities=quick), "did not come back within 1 s")


def test_beyond_the_deadline_of_the_scenario_nothing_is_owed():
    assert judged(story(how="hung", timeout_s=None)) == []


def test_who_declares_no_timeout_is_not_bound():
    assert judged(story(how="hung", capabilities={"guards": True})) == "capability"


def in_time(told):
    s = Story(
        scenario={"limits": {"max_iters": 10, "tool_timeout_s": 0.2}},
        capabilities={"tool_timeout": {"seconds": 5, "retries": 0}},
    )
    s.ask()
    s.reply(calls=[("look", {}, "c1")])
    s.execute("look", {}, "c1", 42, content=told)
    s.ask()
    s.reply("42")
    s.outcome("answered", text="42")
    return s


def test_a_tool_that_answers_in_time_keeps_its_result():
    assert judged(in_time("42")) == [OK]
    only(in_time("Error: Timeout: look timed out"), "which had come back in x1 with 42; expected what it returned")
