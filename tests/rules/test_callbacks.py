"""CB and GRD-5 on recordings told by hand: which hooks were called, and what came of what they asked for."""

import pytest
from story import LOOK, Story

from conformance.judge import Verdict, judge
from conformance.reading.joined import view
from conformance.rule import OK, Finding
from conformance.rules.acting import RULES as ACTING
from conformance.rules.callbacks import RULES
from conformance.rules.limits import RULES as LIMITS
from conformance.rules.run import RULES as RUN
from conformance.rules.run_next import RULES as RUN_NEXT

BY_ID = {rule.id: rule for rule in (*RULES, *ACTING, *RUN, *RUN_NEXT, *LIMITS)}
HOOKED = {"callbacks": True}
TOOLS = {"look": LOOK, "pay": LOOK}


def seen(story):
    return view(story.recording())


def judged(rule, story):
    return list(BY_ID[rule].check(seen(story)))


def only(rule, story):
    [finding] = [one for one in judged(rule, story) if isinstance(one, Finding)]
    return finding


def hooked(*hooks, limits=None, **fields):
    """A run that registers hooks, each (hook, does) or (hook, does, tool)."""
    callbacks = [dict(zip(("hook", "does", "tool"), one, strict=False)) for one in hooks]
    run = {"user": "What is it?", "model": [{"answer": "42"}], "knobs": {"callbacks": callbacks}}
    run |= {} if limits is None else {"limits": limits}
    return Story(capabilities=HOOKED, tools=TOOLS, scenario={"runs": [run]}, **fields)


def told(s, hook, tool=None, call_id=None):
    value = {key: one for key, one in (("hook", hook), ("tool", tool), ("callId", call_id)) if one is not None}
    return s.event("CUSTOM", name="conformance.callback", value=value)


def called(s, *calls):
    """The model calls tools, each (tool, call id)."""
    s.ask()
    return s.reply(calls=[(tool, {}, call_id) for tool, call_id in calls])


def answered(s):
    s.ask()
    s.reply("42")
    s.event("RUN_FINISHED")
    s.outcome("answered", text="42")
    return s


def guarded(s):
    s.event("RUN_ERROR", code="guard")
    s.outcome("guard", reason="a hook")
    return s


# CB-1


def after_hooks(*tools, hooks=(("before_tool",), ("after_tool",)), error=None, **fields):
    """Two calls of `look` run; the after-hook is told of for each of `tools`."""
    s = hooked(*hooks, **fields)
    called(s, ("look", "c1"), ("look", "c2"))
    told(s, "before_tool", "look", "c1")
    s.execute("look", {}, "c1", 42)
    s.execute("look", {}, "c2", **({"value": 42} if error is None else {"error": ("Odd", "no"), "rejected": error}))
    for number, tool in enumerate(tools, start=1):
        told(s, "after_tool", tool, f"c{number}")
    return answered(s)


def test_an_after_hook_for_each_execution_is_right():
    assert judged("CB-1", after_hooks("look", "look")) == [OK]


def test_an_execution_without_its_after_hook_is_told():
    assert only("CB-1", after_hooks("look")).message == (
        "run r1: after-hooks of look were called once for 2 executions (x1, x2), expected 2 times"
    )


def test_an_after_hook_too_many_is_told():
    assert only("CB-1", after_hooks("look", "look", "look")).message.endswith("expected 2 times")


def test_an_after_hook_without_an_execution_is_told():
    s = hooked(("after_tool",))
    called(s, ("look", "c1"))
    told(s, "after_tool", "look", "c1")
    assert only("CB-1", answered(s)).message == (
        "run r1: after-hooks of look were called once for 0 executions (none), expected 0 times"
    )


def test_a_failed_execution_is_owed_its_after_hook():
    assert "called once for 2 executions" in only("CB-1", after_hooks("look", error=False)).message


def test_a_tool_that_refused_its_arguments_may_be_told_of_or_not():
    assert judged("CB-1", after_hooks("look", error=True)) == [OK]
    assert judged("CB-1", after_hooks("look", "look", error=True)) == [OK]


def test_two_hooks_are_owed_two_calls_each():
    twice = (("before_tool",), ("after_tool",), ("after_tool", "tell"))
    assert judged("CB-1", after_hooks("look", "look", "look", "look", hooks=twice)) == [OK]
    assert only("CB-1", after_hooks("look", "look", hooks=twice)).message.endswith("expected 4 times")


def test_a_hook_of_one_tool_is_not_owed_for_another():
    assert judged("CB-1", after_hooks(hooks=(("before_tool",), ("after_tool", "tell", "pay")))) == []


def test_reports_without_a_tool_are_counted_together():
    assert judged("CB-1", after_hooks(None, None)) == [OK]
    assert "called once" in only("CB-1", after_hooks(None)).message


def test_an_agent_that_tells_of_no_hook_is_not_observed():
    s = hooked(("after_tool",))
    s.plan["exercises"] = ["CB-1"]
    called(s, ("look", "c1"))
    s.execute("look", {}, "c1", 42)
    result = judge(answered(s).recording(), [BY_ID["CB-1"]]).of("CB-1")
    assert (result.verdict, result.reason) == (Verdict.NOT_OBSERVED, "nothing to judge")


def test_a_timeout_that_is_tried_again_may_be_told_of_once():
    s = hooked(("after_tool",))
    called(s, ("look", "c1"))
    s.execute("look", {}, "c1")
    s.execute("look", {}, "c1", 42)
    told(s, "after_tool", "look", "c1")
    assert judged("CB-1", answered(s)) == [OK]


def test_behind_a_hook_that_ends_the_run_the_others_are_owed_nothing():
    s = hooked(("after_tool", "stop", "look"), ("after_tool",))
    called(s, ("look", "c1"))
    s.execute("look", {}, "c1", 42)
    told(s, "after_tool", "look", "c1")
    assert judged("CB-1", guarded(s)) == [OK]


@pytest.mark.parametrize(
    ("missing", "verdict", "reason"),
    [
        ({"capabilities": {}}, Verdict.NOT_APPLICABLE, "capability"),
        ({"channels": "MTRUL"}, Verdict.NOT_OBSERVED, "channel E"),
        ({"channels": "MERUL"}, Verdict.NOT_OBSERVED, "channel T"),
    ],
)
def test_cb_1_binds_an_agent_that_calls_hooks_and_shows_them(missing, verdict, reason):
    s = Story(**({"capabilities": HOOKED} | missing))
    result = judge(s.recording(), [BY_ID["CB-1"]]).of("CB-1")
    assert (result.verdict, result.reason) == (verdict, reason)


# CB-2


def test_an_after_hook_that_is_called_before_its_tool_is_told():
    s = hooked(("after_tool", "tell"))
    called(s, ("look", "c1"), ("look", "c2"))
    s.execute("look", {}, "c1", 42)
    told(s, "after_tool", "look", "c1")
    told(s, "after_tool", "look", "c2")
    s.execute("look", {}, "c2", 42)
    finding = only("CB-1", answered(s))
    assert (
        "the hook after_tool at look (c2) was called when no execution that it could be for had ended"
        in finding.message
    )


def stopping(hook, tool="look", **fields):
    """A hook asks to stop, before or after the only call of the first reply."""
    s = hooked((hook, "stop"), **fields)
    called(s, (tool, "c1"))
    return s


def test_a_run_that_ends_at_the_wish_is_right():
    s = stopping("after_tool")
    s.execute("look", {}, "c1", 42)
    told(s, "after_tool", "look", "c1")
    assert judged("CB-2", guarded(s)) == [OK]


def test_a_request_behind_the_wish_is_told():
    s = stopping("after_tool")
    s.execute("look", {}, "c1", 42)
    told(s, "after_tool", "look", "c1")
    assert only("CB-2", answered(s)).message == (
        "run r1: the hook after_tool at look (c1) asked to stop, and after that m2 was sent; the run was expected to end there"
    )


@pytest.mark.parametrize("hook", ["before_tool", "guardrail"])
def test_the_tool_that_the_wish_was_about_must_not_run(hook):
    s = stopping(hook)
    told(s, hook, "look", "c1")
    s.execute("look", {}, "c1", 42)
    assert "after that x1: look ran" in only("CB-2", guarded(s)).message


def test_a_tool_behind_the_wish_of_a_hook_of_the_model_must_not_run():
    s = stopping("after_model")
    told(s, "after_model")
    s.execute("look", {}, "c1", 42)
    assert "the hook after_model asked to stop, and after that x1" in only("CB-2", guarded(s)).message


def test_a_request_behind_the_wish_before_it_is_told():
    s = hooked(("before_model", "stop"))
    told(s, "before_model")
    assert judged("CB-2", s) == [OK]
    assert "after that m1 was sent" in only("CB-2", answered(s)).message


@pytest.mark.parametrize(("parallel", "right"), [("concurrent", True), ("sequential", False)])
def test_what_runs_beside_the_wish_may_end_where_tools_overlap(parallel, right):
    s = hooked(("after_tool", "stop", "look"), dialect={"parallel_tools": parallel})
    called(s, ("look", "c1"), ("pay", "c2"))
    s.execute("look", {}, "c1", 42)
    told(s, "after_tool", "look", "c1")
    s.execute("pay", {}, "c2", 42)
    assert (judged("CB-2", guarded(s)) == [OK]) is right


def test_a_call_beside_the_loop_may_follow_the_wish():
    s = stopping("after_tool")
    s.execute("look", {}, "c1", 42)
    told(s, "after_tool", "look", "c1")
    s.ask(side="auxiliary")
    s.reply("Noted.", keep=False)
    assert judged("CB-2", guarded(s)) == [OK]


def test_a_wish_behind_the_answer_shows_nothing():
    s = hooked(("after_model", "stop"))
    s.ask()
    s.reply("42")
    told(s, "after_model")
    assert judged("CB-2", s) == []


def test_hooks_that_only_tell_wish_nothing():
    assert judged("CB-2", after_hooks("look", "look")) == []


# CB-3 and CB-4


def guardrail(does, *ran, asked=("pay", "c1")):
    """A guardrail is set on `pay`, which is called beside `look`; `ran` are those that run, in order."""
    s = hooked(("guardrail", does, "pay"), ("before_tool",))
    called(s, ("pay", "c1"), ("look", "c2"))
    told(s, "before_tool", "look", "c2")
    ids = {"pay": "c1", "look": "c2"}
    if asked:
        told(s, "guardrail", *asked)
    for tool in ran:
        s.execute(tool, {}, ids[tool], 42)
    return guarded(s)


@pytest.mark.parametrize(("rule", "does"), [("CB-3", "raise"), ("CB-4", "trip")])
def test_a_guardrail_that_keeps_everything_back_is_right(rule, does):
    assert judged(rule, guardrail(does)) == [OK]


@pytest.mark.parametrize(("rule", "does", "named"), [("CB-3", "raise", "crashes"), ("CB-4", "trip", "trips")])
def test_what_a_guardrail_looks_at_must_not_run(rule, does, named):
    finding = only(rule, guardrail(does, "pay"))
    assert finding.message.startswith(
        f"x1: pay ran, although the guardrail that looks at it {named} (was asked at record "
    )


def test_a_tool_whose_guardrail_was_not_even_asked_must_not_run():
    assert "crashes (was not asked before)" in only("CB-3", guardrail("raise", "pay", asked=None)).message


def test_a_crash_concerns_only_what_the_guardrail_looks_at():
    assert judged("CB-3", guardrail("raise", "look")) == [OK]


def test_no_other_tool_runs_behind_a_tripped_guardrail():
    assert (
        "x1: look ran after the hook guardrail at pay (c1) had tripped"
        in only("CB-4", guardrail("trip", "look")).message
    )


def test_what_ran_before_the_guardrail_tripped_is_no_matter():
    s = hooked(("guardrail", "trip", "pay"))
    called(s, ("look", "c1"), ("pay", "c2"))
    s.execute("look", {}, "c1", 42)
    told(s, "guardrail", "pay", "c2")
    assert judged("CB-4", guarded(s)) == [OK]


@pytest.mark.parametrize("rule", ["CB-3", "CB-4"])
def test_a_guardrail_that_lets_pass_leaves_nothing_to_judge(rule):
    assert judged(rule, guardrail("tell", "pay", "look")) == []


# GRD-5


def broken(hook="before_tool", *, ran=True, kind="answered", raised=False, **fields):
    s = hooked((hook, "raise"), **fields)
    called(s, ("look", "c1"))
    told(s, hook, *(("look", "c1") if hook.endswith("tool") else ()))
    if ran:
        s.execute("look", {}, "c1", 42)
    if kind == "answered":
        return answered(s)
    s.event("RUN_ERROR", code=kind, raised=raised)
    if raised:
        s.raises("ListenerFailed", "the hook raised")
    else:
        s.outcome(kind, reason="the hook raised")
    return s


def test_a_run_that_goes_on_behind_a_broken_observer_is_right():
    assert judged("GRD-5", broken()) == [OK, OK]
    assert judged("GRD-5", broken("after_tool")) == [OK]


def test_a_tool_that_a_broken_observer_keeps_back_is_told():
    assert "raised in run r1, and call 'c1' (look) of m1 never ran" in only("GRD-5", broken(ran=False)).message


def test_a_broken_observer_that_is_told_of_late_kept_nothing_back():
    s = hooked(("before_tool", "raise"))
    called(s, ("look", "c1"))
    s.execute("look", {}, "c1", 42)
    told(s, "before_tool", "look", "c1")
    assert judged("GRD-5", answered(s)) == [OK]


def test_a_broken_observer_is_no_guard():
    assert only("GRD-5", broken("after_tool", kind="guard")).message.startswith(
        "run r1 ended as 'guard' ('the hook raised')"
    )


def test_a_run_that_a_broken_observer_ends_names_the_declaration_that_fits():
    assert only("GRD-5", broken("after_tool", kind="error", raised=True)).fits == ("listener_errors", "propagate")


def test_declared_to_propagate_an_exception_ends_the_run_in_error():
    propagate = {"dialect": {"listener_errors": "propagate"}}
    assert judged("GRD-5", broken("after_tool", kind="error", raised=True, **propagate)) == [OK]
    finding = only("GRD-5", broken("after_tool", kind="guard", **propagate))
    assert (finding.message.endswith("an end in error was expected"), finding.fits) == (True, None)


@pytest.mark.parametrize(
    "beside",
    [{"limits": {"max_tool_calls": 1}}, {"limits": {"token_budget": 10}}],
    ids=["a cap on calls", "a budget"],
)
def test_where_a_guard_may_have_ended_the_run_the_observer_is_not_blamed(beside):
    assert judged("GRD-5", broken("after_tool", kind="guard", **beside)) == []


# What the other clauses make of hooks


def test_a_call_that_a_hook_may_have_kept_back_is_excused():
    s = hooked(("before_tool", "stop", "pay"))
    called(s, ("pay", "c1"), ("look", "c2"))
    assert [one for one in judged("ACT-1", guarded(s)) if one is not OK] == []


@pytest.mark.parametrize(
    "hook", [("before_tool", "tell"), ("before_tool", "stop", "look"), ("before_tool", "raise"), ("guardrail", "tell")]
)
def test_hooks_that_have_no_say_in_a_call_excuse_nothing(hook):
    s = hooked(hook)
    called(s, ("pay", "c1"))
    assert "never ran" in only("ACT-1", guarded(s)).message


def test_a_run_that_a_hook_ended_in_error_has_a_reason_for_it():
    s = broken(ran=False, kind="error", raised=True, dialect={"listener_errors": "propagate"})
    assert judged("RUN-3", s) == [OK]


def test_a_guard_is_a_truthful_end_of_a_run_that_a_hook_ended():
    s = hooked(("after_model", "stop"), max_iters=1)
    called(s, ("look", "c1"))
    assert judged("RUN-3", guarded(s)) == [OK]


def test_a_next_run_that_a_hook_keeps_from_asking_is_not_lost():
    first = {"user": "What is it?", "model": [{"answer": "42"}]}
    stopped = {"user": "And now?", "model": [], "knobs": {"callbacks": [{"hook": "before_model", "does": "stop"}]}}
    s = Story(capabilities={**HOOKED, "sessions": True}, scenario={"runs": [first, stopped]})
    s.ask()
    s.fail(400)
    s.outcome("model_error")
    s.end()
    s.begin("And now?")
    assert judged("RUN-7", guarded(s)) == []


@pytest.mark.parametrize(("does", "blamed"), [("raise", False), ("tell", True)])
def test_a_run_that_a_hook_ended_early_had_its_whole_budget(does, blamed):
    first = {"user": "What is it?", "model": [{"answer": "42"}]}
    second = {**first, "user": "And now?", "knobs": {"callbacks": [{"hook": "after_model", "does": does}]}}
    fields = {"capabilities": HOOKED, "dialect": {"listener_errors": "propagate"}, "max_iters": 3}
    s = Story(scenario={"runs": [first, second], "limits": {"max_iters": 3}}, **fields)
    answered(s)
    s.end()
    s.begin("And now?", max_iters=3)
    called(s, ("look", "c1"))
    s.event("RUN_ERROR", raised=True)
    s.raises("ListenerFailed")
    assert any(isinstance(one, Finding) for one in judged("LIM-2", s)) is blamed


def test_a_hook_of_an_agent_that_has_none_excuses_nothing():
    s = hooked(("before_tool", "stop"))
    s.header["capabilities"] = {}
    called(s, ("look", "c1"))
    assert "never ran" in only("ACT-1", guarded(s)).message


def test_a_report_that_names_no_hook_is_none():
    s = hooked(("after_tool",))
    s.event("CUSTOM", name="conformance.callback", value={"tool": "look"})
    s.event("CUSTOM", name="conformance.callback", value="after_tool")
    assert judged("CB-1", answered(s)) == []


def test_a_run_that_says_nothing_of_its_end_leaves_the_observer_unjudged():
    s = hooked(("after_tool", "raise"))
    called(s, ("look", "c1"))
    told(s, "after_tool", "look", "c1")
    assert judged("GRD-5", s) == []


def test_a_call_that_may_stay_for_another_reason_is_not_the_observers():
    s = hooked(("before_tool", "raise"))
    s.ask()
    s.reply(calls=[("look", {}, "c1")], stop="length")
    told(s, "before_tool", "look", "c1")
    assert [one for one in judged("GRD-5", answered(s)) if one is not OK] == []
