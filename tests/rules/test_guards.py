"""GRD on recordings told by hand: what a guard may stop, what it must, and what the caller reads of it."""

import pytest
from story import Story

from conformance.reading.joined import view
from conformance.reading.outcome import actual
from conformance.rule import OK, Finding
from conformance.rules.guards import RULES
from conformance.rules.run import RULES as RUN

BY_ID = {rule.id: rule for rule in (*RULES, *RUN)}
LOOK = {
    "description": "Looks.",
    "parameters": {"type": "object", "properties": {"n": {"type": "integer"}}},
    "returns": 42,
}
PEEK = {**LOOK, "description": "Peeks."}
GUARDS = {"guards": True}
CAP_2 = {"max_tool_calls": 2}
SAME_2 = {"max_same_call": 2}
NAMED = {"max_tool_calls": "max_tool_calls=2 was reached", "max_same_call": "max_same_call=2 was reached"}


def story(limits, *, dialect=None, capabilities=GUARDS, runs=("What is it?",), per_run=None, **more):
    turns = [{"answer": "42"}]
    specs = [{"user": user, "model": turns, "limits": (per_run or {}).get(at, limits)} for at, user in enumerate(runs)]
    return Story(
        tools={"look": LOOK, "peek": PEEK},
        dialect=dialect,
        capabilities=capabilities,
        scenario={"runs": specs},
        user=runs[0],
        **more,
    )


def reply(s, *calls, usage=None):
    """One round: (tool, n, what came) each; a failure is an exception's message in a list, None a call that does not run."""
    s.ask()
    ids = [f"c{s.calls}-{at}" for at in range(len(calls))]
    s.reply(calls=[(tool, {"n": n}, c) for (tool, n, _), c in zip(calls, ids, strict=True)], usage=usage)
    for (tool, n, came), call_id in zip(calls, ids, strict=True):
        if came is None:
            s.answer(call_id, "Error: Refused: it is not run")
        elif isinstance(came, list):
            s.execute(tool, {"n": n}, call_id, error=("Broken", came[0]))
        else:
            s.execute(tool, {"n": n}, call_id, came)


def rounds(limits, *each, **more):
    s = story(limits, **more)
    for one in each:
        reply(s, one)
    return s


def guard(s, reason="max_tool_calls=2 was reached", *, code="guard", kind="guard"):
    s.event("RUN_STARTED")
    s.event("RUN_ERROR", code=code, message=reason)
    s.outcome(kind, reason=reason)
    return s


def answered(s, usage=None):
    s.ask()
    s.reply("42", usage=usage)
    s.event("RUN_STARTED")
    s.event("RUN_FINISHED")
    s.outcome("answered", text="42")
    return s


def judged(rule, s):
    read = view(s.recording())
    return BY_ID[rule].applies(read) or list(BY_ID[rule].check(read))


def found(rule, s):
    judgements = judged(rule, s)
    assert not isinstance(judgements, str), judgements
    return [one.message for one in judgements if isinstance(one, Finding)]


def only(rule, s, says):
    [message] = found(rule, s)
    assert says in message, message


def is_right(rule, s, times=None):
    judgements = judged(rule, s)
    assert set(judgements) == {OK}, judgements
    assert times is None or len(judgements) == times


A, B, C = ("look", 1, 42), ("look", 2, 42), ("look", 3, 42)
NOT_A, NOT_B, NOT_C = (("look", n, None) for n in (1, 2, 3))


def test_all_calls_up_to_the_cap_and_none_beyond_it():
    is_right("GRD-1", guard(rounds(CAP_2, A, B, NOT_C)), 3)


def test_as_many_calls_as_the_cap_allows_are_right_without_a_stop():
    is_right("GRD-1", answered(rounds(CAP_2, A, B)), 2)


def test_a_call_beyond_the_cap_that_runs_is_found():
    only(
        "GRD-1",
        answered(rounds(CAP_2, A, B, C)),
        "x3: call 'c3-0' (look) of m3 ran, and 2 calls of r1 had run before it",
    )


def test_a_call_within_the_cap_that_does_not_run_is_found():
    only(
        "GRD-1", guard(rounds(CAP_2, A, NOT_B)), "never ran, and only 1 calls of r1 came before it; max_tool_calls is 2"
    )


def test_fewer_calls_than_the_cap_show_nothing():
    assert judged("GRD-1", answered(rounds(CAP_2, A))) == []


def batch(*calls, **more):
    s = story(CAP_2, **more)
    reply(s, *calls)
    return guard(s)


def test_a_batch_across_the_cap_may_stop_whole_where_a_guard_ends_the_run():
    assert found("GRD-1", batch(A, B, NOT_C)) == []
    assert found("GRD-1", batch(NOT_A, NOT_B, NOT_C)) == []
    only("GRD-1", batch(A, B, C), "x3: call 'c1-2' (look) of m1 ran")


def test_a_batch_across_the_cap_runs_up_to_it_where_a_guard_refuses():
    refuse = {"dialect": {"on_guard": "refuse"}}
    is_right("GRD-1", batch(A, B, NOT_C, **refuse))
    assert len(found("GRD-1", batch(NOT_A, NOT_B, NOT_C, **refuse))) == 2


@pytest.mark.parametrize("rule", [rule.id for rule in RULES])
def test_a_guard_that_is_not_declared_binds_nobody(rule):
    s = answered(rounds({**CAP_2, **SAME_2, "token_budget": 1}, A, B, C, capabilities={}))
    assert judged(rule, s) == "capability"


def test_a_guard_of_other_figures_has_no_cap_of_this_kind():
    s = answered(rounds(CAP_2, A, B, C, capabilities={"guards": {"token_budget": "caller"}}))
    assert judged("GRD-1", s) == "capability"


@pytest.mark.parametrize("rule", ["GRD-7", "GRD-8"])
def test_what_only_tools_show_is_not_observed_without_them(rule):
    assert judged(rule, answered(rounds(CAP_2, A, channels="ME"))) == "channel T"


@pytest.mark.parametrize("rule", [rule.id for rule in RULES])
def test_a_run_without_limits_shows_nothing(rule):
    assert judged(rule, answered(rounds({}, A, A, A, A))) == []


def test_the_same_call_runs_as_often_as_allowed_and_not_once_more():
    is_right("GRD-2", guard(rounds(SAME_2, A, A, NOT_A), NAMED["max_same_call"]), 2)
    only("GRD-2", answered(rounds(SAME_2, A, A, A)), "x3: call 'c3-0' (look) of m3 ran, though the 2 calls before it")


def test_the_same_call_that_is_stopped_too_early_is_found():
    s = guard(rounds({"max_same_call": 3}, A, A, NOT_A), "max_same_call=3")
    only("GRD-2", s, "only 2 calls before it were the same; max_same_call is 3")


PROGRESS = {
    "other arguments": (A, B, C),
    "another result each time": (("look", 1, 1), ("look", 1, 2), ("look", 1, 3)),
    "by turns": (A, B, A, B, A),
    "failures in other words": (("look", 1, ["no"]), ("look", 2, ["nay"]), ("look", 3, 42)),
}


@pytest.mark.parametrize("calls", PROGRESS.values(), ids=PROGRESS)
def test_progress_runs(calls):
    s = answered(rounds(SAME_2, *calls))
    is_right("GRD-3", s)
    assert found("GRD-2", s) == []


@pytest.mark.parametrize("calls", PROGRESS.values(), ids=PROGRESS)
def test_progress_that_is_stopped_is_found(calls):
    tool, n, _ = calls[-1]
    s = guard(rounds(SAME_2, *calls[:-1], (tool, n, None)), NAMED["max_same_call"])
    only("GRD-3", s, "though its arguments, or the result before it, were others; max_same_call is 2")


def test_a_repetition_that_is_stopped_is_no_progress():
    s = guard(rounds(SAME_2, A, A, NOT_A), NAMED["max_same_call"])
    assert judged("GRD-3", s) == []


NO = [("look", n, ["it is closed"]) for n in range(1, 7)]


def test_equal_errors_are_a_loop_in_spite_of_other_arguments():
    s = guard(rounds(SAME_2, *NO[:2], NOT_C), NAMED["max_same_call"])
    is_right("GRD-9", s, 1)
    assert judged("GRD-3", s) == []
    only("GRD-9", answered(rounds(SAME_2, *NO)), "had failed 4 times in a row in the same words; max_same_call is 2")


def test_some_patience_with_equal_errors_is_no_breach():
    assert judged("GRD-9", answered(rounds(SAME_2, *NO[:4]))) == []


TOLD = {
    "by its name": "max_tool_calls was reached",
    "by its name in words": "the tool call limit was reached",
    "by its figure": "stopped after 2 calls",
}


@pytest.mark.parametrize("reason", TOLD.values(), ids=TOLD)
def test_the_reason_names_the_setting(reason):
    is_right("GRD-4", guard(rounds(CAP_2, A, B, NOT_C), reason), 1)


def test_the_name_may_stand_in_the_code_alone():
    s = guard(rounds(CAP_2, A, B, NOT_C, channels="MTE"), "stopped", code="max_tool_calls")
    is_right("GRD-4", s, 1)


@pytest.mark.parametrize(
    ("reason", "kind", "says"),
    [
        ("the run was stopped", "guard", "nothing the caller reads names it"),
        ("stopped after 12 calls", "guard", "nothing the caller reads names it"),
        ("max_tool_calls=2", "answered", "says 'answered', but max_tool_calls 2 ended it"),
        ("max_tool_calls=2", "tool_error", "says 'tool_error', but max_tool_calls 2 ended it"),
    ],
)
def test_a_stop_that_is_not_told_as_one_is_found(reason, kind, says):
    only("GRD-4", guard(rounds(CAP_2, A, B, NOT_C), reason, kind=kind), says)


def test_a_refused_call_that_the_loop_goes_on_from_is_no_stop():
    assert judged("GRD-4", answered(rounds(CAP_2, A, B, NOT_C, dialect={"on_guard": "refuse"}))) == []


def spent(budget, *uses, last=None):
    s = story({"token_budget": budget})
    for use in uses:
        reply(s, A, usage=use)
    return guard(s, f"token_budget={budget}") if last is None else answered(s, usage=last)


def test_a_budget_that_is_used_up_ends_the_run():
    is_right("GRD-6", spent(600, (250, 50), (350, 50)), 1)


def test_a_call_beyond_the_budget_is_found():
    only(
        "GRD-6", spent(600, (250, 50), (350, 50), last=(1, 1)), "m3 was sent after the calls of r1 had used 700 tokens"
    )


def test_side_calls_are_counted():
    s = story({"token_budget": 600})
    s.ask(side="compaction")
    s.reply("short", usage=(500, 50), keep=False)
    reply(s, A, usage=(50, 50))
    only("GRD-6", answered(s), "m3 was sent after the calls of r1 had used 650 tokens")


def test_a_stop_before_half_the_budget_is_found_and_a_later_one_left_open():
    only("GRD-6", spent(1000, (300, 100)), "says 'guard' after 400 tokens; token_budget is 1000")
    assert judged("GRD-6", spent(1000, (600, 100))) == []


def test_a_run_within_its_budget_is_right():
    is_right("GRD-6", spent(1000, (300, 100), last=(100, 10)), 1)


def test_a_budget_that_ends_a_run_as_something_else_is_found():
    s = story({"token_budget": 100})
    reply(s, A, usage=(300, 50))
    only("GRD-6", guard(s, "failed", kind="error"), "says 'error', but its token_budget of 100 was used up")


def two_runs(first, second, *, per_run=None, limits=CAP_2, stopped=False):
    s = story(limits, runs=("What is it?", "And now?"), per_run=per_run)
    for one in first:
        reply(s, one)
    answered(s)
    s.end()
    s.begin("And now?")
    for one in second:
        reply(s, one)
    return guard(s) if stopped else answered(s)


RAISED = {0: {"max_tool_calls": 1}, 1: {"max_tool_calls": 3}}
LOWERED = {0: {"max_tool_calls": 3}, 1: {"max_tool_calls": 1}}


def test_a_changed_cap_holds_from_the_next_run():
    is_right("GRD-7", two_runs([A], [A, B, C], per_run=RAISED), 2)
    is_right("GRD-7", two_runs([A, B, C], [A, NOT_B], per_run=LOWERED, stopped=True), 1)


def test_an_old_cap_that_still_holds_is_found():
    only(
        "GRD-7", two_runs([A], [A, NOT_B], per_run=RAISED, stopped=True), "never ran as it would have by the run before"
    )
    only(
        "GRD-7",
        two_runs([A, B, C], [A, B], per_run=LOWERED),
        "ran as it would have by the run before; max_tool_calls is 1",
    )


def test_a_cap_that_did_not_change_shows_nothing_of_it():
    assert judged("GRD-7", two_runs([A], [A, B])) == []


def test_every_run_counts_its_own_calls():
    is_right("GRD-8", two_runs([A, B], [A, B]), 2)
    only("GRD-8", two_runs([A, B], [NOT_A], stopped=True), "after 0 calls of r2, and the runs before it made 2")


def test_a_repetition_does_not_go_on_over_the_users_turn():
    is_right("GRD-8", two_runs([A, A], [A], limits=SAME_2), 1)
    only("GRD-8", two_runs([A, A], [NOT_A], limits=SAME_2, stopped=True), "which are not its own")


def test_a_run_that_is_refused_before_it_asks_is_found():
    only("GRD-8", _silent_second_run(), "run r2 says 'guard' and asked nothing")


def _silent_second_run():
    s = story(CAP_2, runs=("What is it?", "And now?"))
    reply(s, A)
    answered(s)
    s.end()
    s.begin("And now?")
    return guard(s)


def _tokens(second, *, stopped):
    s = story({"token_budget": 500}, runs=("What is it?", "And now?"))
    reply(s, A, usage=(300, 100))
    answered(s)
    s.end()
    s.begin("And now?")
    reply(s, A, usage=second)
    return guard(s, "token_budget=500") if stopped else answered(s)


def test_the_tokens_of_the_run_before_are_not_this_ones():
    is_right("GRD-8", _tokens((100, 50), stopped=False), 1)
    only("GRD-8", _tokens((100, 50), stopped=True), "says 'guard' after 150 tokens, and the runs before it used 400")


def test_a_run_that_a_guard_stopped_is_a_guards_and_no_answer():
    s = guard(rounds(CAP_2, A, B, NOT_C))
    read = view(s.recording())
    assert actual(read.runs[0], read) == "guard"
    assert found("RUN-3", s) == []
    only(
        "RUN-3", guard(rounds(CAP_2, A, B, NOT_C), kind="answered"), "says 'answered', but the model calls show 'guard'"
    )


def test_a_guard_that_refuses_ends_nothing():
    s = answered(rounds(CAP_2, A, B, NOT_C, dialect={"on_guard": "refuse"}))
    read = view(s.recording())
    assert actual(read.runs[0], read) == "answered"


def test_a_budget_ends_a_run_by_an_error_whatever_a_cap_does():
    s = story({"token_budget": 100}, dialect={"on_guard": "refuse"})
    reply(s, A, usage=(300, 50))
    is_right("RUN-4", guard(s, "token_budget=100"))
