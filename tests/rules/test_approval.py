"""HITL-1 to HITL-4 on recordings told by hand: what runs unasked, what an answer does, how a run waits."""

import pytest
from story import LOOK, Story

from conformance.reading.joined import view
from conformance.rule import OK, SHOULD, Finding
from conformance.rules.approval import RULES

BY_ID = {rule.id: rule for rule in RULES}
AT = {"type": "object", "properties": {"to": {"type": "string"}}}
TOOLS = {"pay": {"description": "Pays.", "parameters": AT, "returns": 1, "approval": True}, "look": LOOK}
A, B = ("pay", {"to": "Ann"}, "c1"), ("pay", {"to": "Bob"}, "c2")
SEEN = ("look", {}, "c3")


def judged(rule, story):
    return list(BY_ID[rule].check(view(story.recording())))


def found(rule, story):
    return [one.message for one in judged(rule, story) if isinstance(one, Finding)]


def asked(*calls, capabilities=None, user=None):
    """A model that makes these calls in reply to the first request, whose run has not ended yet."""
    then = {"user": user} if user else {"resume": [{"approved": True}]}
    runs = [{"user": "Pay them.", "model": [{"answer": "x"}]}, {**then, "model": [{"answer": "y"}]}]
    s = Story(user="Pay them.", tools=TOOLS, capabilities=capabilities or {"approval": True, "sessions": True})
    s.plan["runs"] = runs
    s.event("RUN_STARTED")
    s.ask()
    s.reply(calls=calls)
    for name, arguments, call_id in calls:
        s.call_events(name, arguments, call_id)
    return s


def waits(s, *about, ids=None):
    """The run ends waiting for these calls, each by an interrupt of its own."""
    names = ids or [f"i-{one}" for one in about]
    interrupts = [
        {"id": name, "reason": "approval", **({"toolCallId": one} if one else {})}
        for name, one in zip(names, about, strict=True)
    ]
    s.event("RUN_FINISHED", outcome={"type": "interrupt", "interrupts": interrupts})
    s.outcome("waiting")
    s.end()
    return s


def resumed(s, answers, values=None):
    """The next run, with an answer for each interrupt by its id."""
    s.begin(None)
    entries = [
        {"interruptId": name, "status": "resolved", "payload": {"approved": allowed, **(values or {}).get(name, {})}}
        for name, allowed in answers
    ]
    s.records[-1].data["input"]["resume"] = entries
    return s


def over(s, text="Done."):
    s.ask()
    s.reply(text)
    s.event("RUN_FINISHED")
    s.outcome("answered", text=text)
    return s


DENIED = "Error: not approved, so it was not run"


@pytest.mark.parametrize("rule", list(BY_ID))
def test_an_agent_that_asks_nobody_is_not_bound(rule):
    s = asked(A, capabilities={"sessions": True})
    assert BY_ID[rule].applies(view(s.recording())) == "capability"


# HITL-1


def test_a_call_that_runs_after_its_answer_is_right():
    s = resumed(waits(asked(A), "c1"), [("i-c1", True)])
    s.execute(*A, 1)
    assert judged("HITL-1", over(s)) == [OK]


def test_a_call_that_runs_in_the_run_that_asks_is_named():
    s = asked(A)
    s.execute(*A, 1)
    assert found("HITL-1", waits(s, "c1")) == [
        "run r1: call 'c1' (pay) of m1 ran (x1) before anybody had answered for it; expected it to wait for its own answer"
    ]


def test_the_answer_to_one_call_is_none_to_the_other():
    s = resumed(waits(asked(A, B), "c1", "c2"), [("i-c1", True)])
    s.execute(*A, 1)
    s.execute(*B, 1)
    (message,) = found("HITL-1", over(s))
    assert "call 'c2' (pay) of m1 ran (x2) before anybody had answered" in message


def test_a_call_of_another_tool_may_run_at_once():
    s = asked(A, SEEN)
    s.execute(*SEEN, 42)
    assert judged("HITL-1", waits(s, "c1")) == [OK]


def test_an_answer_finds_its_call_by_what_was_shown_where_ids_were_changed():
    s = Story(user="Pay them.", tools=TOOLS, capabilities={"approval": True, "sessions": True})
    s.event("RUN_STARTED")
    s.ask()
    s.reply(calls=[A, B])
    s.call_events("pay", {"to": "Bob"}, "mine-1")
    s.call_events("pay", {"to": "Ann"}, "mine-2")
    resumed(waits(s, "mine-1"), [("i-mine-1", True)])
    s.execute("pay", {"to": "Bob"}, "mine-1", 1)
    assert judged("HITL-1", over(s)) == [OK, OK]


# HITL-2


def test_an_approved_and_a_denied_call_that_are_both_answered_are_right():
    s = resumed(waits(asked(A, B), "c1", "c2"), [("i-c1", True), ("i-c2", False)])
    s.execute(*A, 1)
    s.answer("c2", DENIED)
    assert judged("HITL-2", over(s)) == [OK, OK, OK, OK]


def test_a_denied_call_that_runs_is_named():
    s = resumed(waits(asked(A), "c1"), [("i-c1", False)])
    s.execute(*A, 1)
    assert "ran (x1), and it was denied in run r2" in found("HITL-2", over(s))[0]


def test_a_call_that_the_user_spoke_over_and_that_runs_is_named():
    s = waits(asked(A, user="Leave it."), "c1")
    s.begin("Leave it.")
    s.execute(*A, 1)
    assert "ran (x1), and it was spoken over in run r2" in found("HITL-2", over(s))[0]


def test_an_approved_call_that_never_runs_is_named():
    s = resumed(waits(asked(A), "c1"), [("i-c1", True)])
    s.answer("c1", DENIED)
    assert "was approved in run r2 and never ran" in found("HITL-2", over(s))[0]


def test_a_call_that_needs_nobody_and_falls_with_a_denied_one_is_named():
    s = resumed(waits(asked(A, SEEN), "c1"), [("i-c1", False)])
    s.answer("c1", DENIED)
    s.answer("c3", DENIED)
    assert "(look) of m1 needs nobody's answer and never ran" in found("HITL-2", over(s))[0]


def test_a_call_that_needs_nobody_and_ran_before_is_right():
    s = asked(A, SEEN)
    s.execute(*SEEN, 42, keep=False)
    resumed(waits(s, "c1"), [("i-c1", False)])
    s.answer("c1", DENIED)
    s.answer("c3", "42")
    assert judged("HITL-2", over(s)) == [OK, OK, OK, OK]


@pytest.mark.parametrize(
    ("results", "says"),
    [
        ([("c1", "1")], "(pay) of m1 has no results right behind it"),
        ([("c1", "1"), ("c2", DENIED), ("c2", DENIED)], "has 2 results"),
    ],
)
def test_a_call_of_the_batch_without_exactly_one_result_is_named(results, says):
    s = resumed(waits(asked(A, B), "c1", "c2"), [("i-c1", True), ("i-c2", False)])
    s.execute(*A, 1, keep=False)
    for one in results:
        s.answer(*one)
    assert says in found("HITL-2", over(s))[0]


def test_a_denial_as_a_user_message_leaves_its_call_open():
    s = resumed(waits(asked(A), "c1"), [("i-c1", False)])
    s.history.append({"role": "user", "content": DENIED})
    assert "has no results" in found("HITL-2", over(s))[0]


def test_a_batch_that_is_not_answered_as_a_whole_is_left_open():
    s = resumed(waits(asked(A, B), "c1", "c2"), [("i-c1", True)])
    assert judged("HITL-2", waits(s, "c2")) == []


def test_an_approved_call_of_a_run_that_was_cancelled_need_not_run():
    s = resumed(waits(asked(A), "c1"), [("i-c1", True)])
    s.record("kit", "cancel", run="r2", point="in_tools")
    assert judged("HITL-2", s) == []


# HITL-3


def test_answers_that_differ_and_reach_their_calls_are_right():
    s = resumed(waits(asked(A, B), "c1", "c2"), [("i-c2", True), ("i-c1", False)])
    s.execute(*B, 1)
    assert judged("HITL-3", s) == [OK]


def test_an_answer_that_reaches_the_other_call_is_named():
    s = resumed(waits(asked(A, B), "c1", "c2"), [("i-c1", False), ("i-c2", True)])
    s.execute(*A, 1)
    (message,) = found("HITL-3", s)
    assert "call 'c1' (pay) of m1 was denied and ran, and call 'c2' (pay) of m1 was approved and did not" in message


def test_equal_answers_cannot_go_astray():
    s = resumed(waits(asked(A, B), "c1", "c2"), [("i-c1", True), ("i-c2", True)])
    s.execute(*A, 1)
    assert judged("HITL-3", s) == []


def test_two_interrupts_under_one_id_are_named():
    s = waits(asked(A, B), "c1", "c2", ids=["i", "i"])
    assert "2 interrupts have the id 'i'" in found("HITL-3", s)[0]


@pytest.mark.parametrize(
    ("first", "second", "right"),
    [
        ("1 (from Ann's account)", "1 (from Bob's account)", True),
        ("1 (from Bob's account)", "1 (from Ann's account)", False),
    ],
)
def test_a_value_belongs_in_the_result_of_its_own_call(first, second, right):
    values = {"i-c1": {"value": "from Ann's account"}, "i-c2": {"value": "from Bob's account"}}
    s = resumed(waits(asked(A, B), "c1", "c2"), [("i-c1", True), ("i-c2", True)], values)
    s.execute(*A, 1, content=first)
    s.execute(*B, 1, content=second)
    came = judged("HITL-3", over(s))
    assert came == [OK, OK] if right else "was answered for call 'c1' (pay)" in came[0].message


# HITL-4


def test_a_run_that_waits_and_says_for_what_is_right():
    assert judged("HITL-4", waits(asked(A, B), "c1", "c2")) == [OK]


def test_a_run_that_asks_for_one_call_after_the_other_is_right():
    assert judged("HITL-4", waits(asked(A, B), "c1")) == [OK]


def test_a_call_that_needs_nobody_runs_without_waiting_and_that_is_right():
    s = asked(SEEN)
    s.execute(*SEEN, 42)
    assert judged("HITL-4", over(s)) == [OK]


def test_a_run_in_which_nothing_is_called_is_not_judged():
    assert judged("HITL-4", over(asked())) == []


def test_waiting_that_is_told_as_an_error_is_named():
    s = asked(A)
    s.event("RUN_ERROR", code="waiting")
    s.outcome("waiting")
    assert "the run ends by RUN_ERROR" in found("HITL-4", s)[0]


def test_waiting_that_is_told_as_an_answer_is_named():
    s = asked(A)
    s.event("RUN_FINISHED")
    s.outcome("answered")
    assert "RUN_FINISHED has the outcome None" in found("HITL-4", s)[0]


def test_an_outcome_that_does_not_say_waiting_is_named():
    s = asked(A)
    interrupts = [{"id": "i", "toolCallId": "c1", "reason": "approval"}]
    s.event("RUN_FINISHED", outcome={"type": "interrupt", "interrupts": interrupts})
    s.outcome("answered")
    assert "the run says 'answered'" in found("HITL-4", s)[0]


def test_an_interrupt_that_names_no_call_is_named():
    assert "no interrupt names it" in found("HITL-4", waits(asked(A), None, ids=["i"]))[0]


def test_a_run_that_goes_on_without_the_answer_is_named():
    s = asked(A)
    s.answer("c1", "Error: show me evidence first")
    assert "the run asks its model again (m2)" in found("HITL-4", over(s))[0]


def test_waiting_for_what_needs_nobody_warns():
    [finding] = judged("HITL-4", waits(asked(SEEN), "c3"))
    assert "no call of it needs anybody's answer" in finding.message
    assert finding.level == SHOULD


def test_a_cancelled_run_need_not_wait():
    s = asked(A)
    s.record("kit", "cancel", run="r1", point="before_tools")
    s.event("RUN_FINISHED", outcome={"type": "cancelled"})
    s.outcome("interrupted")
    assert judged("HITL-4", s) == []
