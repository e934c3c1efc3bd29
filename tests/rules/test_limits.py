"""LIM on recordings told by hand: what a budget allows, and what an unusual but right agent may do with it."""

import pytest
from story import LOOK, Story

from conformance.reading.joined import view
from conformance.rule import OK, SHOULD, Finding
from conformance.rules.limits import RULES

BY_ID = {rule.id: rule for rule in RULES}
STOP = {"on_limit": "stop"}
MARK = {"type": "EXCEED_MAX_ITERS", "maxIters": 1, "currentIter": 1}


def judged(rule, story):
    return list(BY_ID[rule].check(view(story.recording())))


def said(rule, story):
    """The only judgement that is a finding."""
    [finding] = [one for one in judged(rule, story) if isinstance(one, Finding)]
    return finding


def rounds(n, *, story=None, first=1, **fields):
    """So many rounds of one call each that ran."""
    s = story or Story(**fields)
    for number in range(first, first + n):
        s.ask()
        s.reply(calls=[("look", {}, f"c{number}")])
        s.execute("look", {}, f"c{number}", 42)
    return s


def summarised(n=1, *, marker=MARK, **fields):
    """A run that came to its limit and was given a text by the model."""
    s = rounds(n, max_iters=n, **fields)
    if marker is not None:
        s.event("RAW", event=marker)
    s.ask(tools=None)
    s.reply(text="It is 42.")
    s.event("RUN_FINISHED")
    s.outcome("limit", text="It is 42.")
    return s


def answered(n, *, max_iters, **fields):
    """A run that was answered in round n."""
    s = rounds(n - 1, max_iters=max_iters, **fields)
    s.ask()
    s.reply(text="It is 42.")
    return s


# LIM-1


def test_n_rounds_and_a_summary_keep_the_budget():
    assert judged("LIM-1", summarised(2)) == [OK, OK]


def test_a_call_after_round_n_without_a_summary_is_one_round_too_many():
    s = rounds(2, max_iters=1, dialect=STOP)
    assert said("LIM-1", s).message.startswith("m2 is round 2 of run r1, and the caller allows 1")


def test_a_summary_that_goes_on_like_a_round_is_one():
    s = rounds(2, max_iters=1)
    s.ask(tools=None)
    s.reply(text="It is 42.")
    assert said("LIM-1", s).message.startswith(
        "m2 comes after the 1 rounds of run r1, offers tools, and look ran for its reply"
    )


def test_two_parallel_calls_are_one_round():
    s = Story(max_iters=1, dialect=STOP)
    s.ask()
    s.reply(calls=[("look", {}, "c1"), ("look", {}, "c2")])
    s.execute("look", {}, "c1", 1)
    s.execute("look", {}, "c2", 2)
    s.outcome("limit")
    assert judged("LIM-1", s) == [OK, OK]


def test_an_attempt_and_a_side_call_are_no_rounds():
    s = Story(max_iters=1, dialect=STOP)
    s.ask(side="auxiliary")
    s.reply(text="A title", keep=False)
    s.ask()
    s.fail(500)
    s.ask(again=True)
    s.reply(calls=[("look", {}, "c1")])
    s.execute("look", {}, "c1", 1)
    s.outcome("limit")
    assert judged("LIM-1", s) == [OK, OK]


def test_a_round_after_an_answer_is_told_with_the_answer():
    s = answered(1, max_iters=5)
    s.ask()
    s.reply(text="And more.")
    assert said("LIM-1", s).message.startswith(
        "m1 was answered 'It is 42.' in round 1 of run r1, but m2 is one more round"
    )


def test_a_completion_gate_may_send_an_answer_back():
    s = answered(
        1,
        max_iters=5,
        capabilities={"completion_gate": {"retries": 1}},
        scenario={"knobs": {"gate": {"tool": "look"}}},
    )
    s.ask()
    s.reply(text="And more.")
    assert judged("LIM-1", s) == []


def test_a_gate_that_nobody_asked_for_sends_no_answer_back():
    s = answered(1, max_iters=5, capabilities={"completion_gate": {"retries": 1}})
    s.ask()
    s.reply(text="And more.")
    assert "m2 is one more round" in said("LIM-1", s).message


def test_ending_as_limit_before_n_rounds_breaks_the_budget():
    s = rounds(1, max_iters=3, dialect=STOP)
    s.outcome("limit")
    assert "ends as limit after 1 rounds, and the caller allows 3" in said("LIM-1", s).message


def test_a_summary_in_the_place_of_the_last_round_is_no_round():
    s = rounds(1, max_iters=2)
    s.ask(tools=None)
    s.reply(text="It is 42.")
    s.outcome("limit", text="It is 42.")
    found = [one.message for one in judged("LIM-1", s) if isinstance(one, Finding)]
    assert found == ["run r1 ends as limit after 1 rounds, and the caller allows 2; m2, which offers no tools, is none"]


def test_without_a_limit_of_the_callers_there_is_no_budget_to_judge():
    assert judged("LIM-1", rounds(3)) == []


# LIM-2


def two_runs(second, *, kind, max_iters=2):
    s = rounds(2, max_iters=max_iters, dialect=STOP)
    s.outcome("limit")
    s.end()
    s.begin("Go on.", max_iters=max_iters)
    rounds(second, story=s, first=10)
    s.outcome(kind)
    return s


def test_a_second_run_that_makes_all_its_rounds_has_its_own_budget():
    assert judged("LIM-2", two_runs(2, kind="limit")) == [OK]


def test_a_second_run_that_starts_used_up_is_told_with_the_rounds_before_it():
    message = said("LIM-2", two_runs(1, kind="limit")).message
    assert message.startswith("run r2 was ended as limit after 1 of its 2 rounds; the runs before it made 2")


@pytest.mark.parametrize(("again", "found"), [(2, 0), (1, 1)])
def test_a_second_run_whose_own_failures_used_its_budget_up_says_nothing_of_the_run_before(again, found):
    s = rounds(3, max_iters=3, dialect=STOP)
    s.outcome("limit")
    s.end()
    s.begin("Go on.", max_iters=3)
    for place in range(1 + again):
        s.ask(messages=[*s.history, {"role": "user", "content": f"Attempt {place}"}])
        s.fail(503)
    s.ask(tools=None)
    s.reply(text="I have no more rounds.")
    s.outcome("limit")
    assert len(judged("LIM-2", s)) == found


def test_a_short_second_run_proves_nothing():
    s = rounds(1, max_iters=5)
    s.ask()
    s.reply(text="42")
    s.outcome("answered")
    s.end()
    s.begin("Go on.", max_iters=5)
    s.ask()
    s.reply(text="43")
    s.outcome("answered")
    assert judged("LIM-2", s) == []


# LIM-3


def last_round(*ran, dialect=None, end="limit"):
    s = Story(max_iters=1, dialect=STOP | (dialect or {}))
    s.ask()
    s.reply(calls=[("look", {}, "c1"), ("look", {}, "c2")])
    for call_id in ran:
        s.execute("look", {}, call_id, 42)
    s.event("RUN_FINISHED")
    s.outcome(end)
    return s


def test_the_calls_of_the_last_round_that_all_ran_are_right():
    assert judged("LIM-3", last_round("c1", "c2")) == [OK, OK]


@pytest.mark.parametrize("dialect", [{}, {"last_round_tools": "skip"}])
def test_part_of_the_last_round_is_neither_run_nor_skipped(dialect):
    assert "never ran" in said("LIM-3", last_round("c1", dialect=dialect)).message


def test_skipping_the_last_round_is_right_where_it_is_declared():
    assert judged("LIM-3", last_round(dialect={"last_round_tools": "skip"})) == [OK]


@pytest.mark.parametrize(("ran", "right"), [((), True), (("c1",), False)])
def test_a_default_that_counts_steps_runs_the_whole_last_round_or_none_of_it(ran, right):
    s = Story(dialect={"on_limit": "stop", "default_max_iters": 1, "limit_unit": "steps"})
    s.ask()
    s.reply(calls=[("look", {}, "c1"), ("look", {"n": 2}, "c2")])
    for call_id in ran:
        s.execute("look", {}, call_id, 42)
    s.outcome("limit")
    assert (Finding not in map(type, judged("LIM-3", s))) is right


def test_a_tool_of_the_last_round_that_never_came_to_its_end_was_killed():
    s = Story(max_iters=1, dialect=STOP)
    s.ask()
    s.reply(calls=[("look", {}, "c1")])
    s.execute("look", {}, "c1")
    s.outcome("limit")
    assert "was started in x1 in the last allowed round of run r1 and never came to its end" in said("LIM-3", s).message


def test_a_summary_request_without_the_last_rounds_results_leaves_calls_unanswered():
    s = rounds(1, max_iters=1)
    s.history.pop()
    s.ask(tools=None)
    s.reply(text="42")
    s.outcome("limit", text="42")
    assert said("LIM-3", s).message.startswith("m2 has 0 results for the 1 calls of m1")


def test_a_run_that_a_guard_ended_shows_nothing_of_the_last_round():
    assert judged("LIM-3", last_round(end="guard")) == []


# LIM-4


def test_an_answer_in_the_last_round_ends_the_run():
    s = answered(2, max_iters=2)
    s.event("RUN_FINISHED")
    s.outcome("answered", text="It is 42.")
    assert judged("LIM-4", s) == [OK]


def test_a_summary_after_an_answer_in_the_last_round_is_told():
    s = answered(1, max_iters=1)
    s.ask(tools=None)
    s.reply(text="In short: 42.")
    s.event("RUN_FINISHED")
    assert said("LIM-4", s).message.startswith(
        "m1 carries an answer in round 1 of 1 of run r1, but m2 asks the model for one more text"
    )


@pytest.mark.parametrize(
    ("ending", "message"),
    [
        (lambda s: s.event("RAW", event=MARK), "a RAW event says that the limit was reached"),
        (lambda s: s.raises("MaxTurns", "too many"), "the agent raised MaxTurns: too many"),
        (lambda s: s.outcome("limit"), "the outcome is limit; expected answered"),
    ],
)
def test_an_answer_in_time_that_ends_as_a_limit_is_told(ending, message):
    s = answered(1, max_iters=1)
    ending(s)
    assert message in said("LIM-4", s).message


def test_a_run_that_never_was_answered_is_not_judged_by_lim_4():
    assert judged("LIM-4", summarised()) == []


# LIM-5


def test_a_marker_with_the_budget_shows_the_limit():
    assert judged("LIM-5", summarised()) == [OK]


def test_a_limit_without_a_marker_is_told():
    assert said("LIM-5", summarised(marker=None)).message.startswith("run r1 used up its 1 rounds and has no RAW event")


@pytest.mark.parametrize(
    "marker", [{"type": "EXCEED_MAX_ITERS"}, {"type": "EXCEED_MAX_ITERS", "maxIters": "1", "more": True}]
)
def test_a_marker_without_the_number_is_told(marker):
    assert "expected the budget 1 in it as a number" in said("LIM-5", summarised(marker=marker)).message


def test_a_marker_of_the_other_kind_is_no_marker_of_this_dialect():
    finding = said("LIM-5", summarised(dialect={"limit_marker": "custom"}))
    assert "has no CUSTOM event" in finding.message


def test_a_marker_is_known_by_its_declared_name():
    dialect = {"limit_marker": "custom", "marker_name": "out_of_steps"}
    s = rounds(1, max_iters=1, dialect=dialect)
    s.event("CUSTOM", name="out_of_steps", value={"steps": 1})
    s.ask(tools=None)
    s.reply(text="42")
    s.event("RUN_FINISHED")
    s.outcome("limit", text="42")
    assert judged("LIM-5", s) == [OK]


@pytest.mark.parametrize(
    "ending",
    [
        lambda s: s.raises("RuntimeError", "1 step was all I had"),
        lambda s: s.raises("MaxTurnsExceeded", "stopped"),
        lambda s: s.event("RUN_ERROR", message="stopped", code="limit"),
    ],
)
def test_a_failure_that_names_the_limit_shows_it(ending):
    s = rounds(1, max_iters=1, dialect={"on_limit": "raise"})
    ending(s)
    assert judged("LIM-5", s) == [OK]


def test_a_failure_that_says_nothing_of_the_limit_warns():
    s = rounds(1, max_iters=1, dialect={"on_limit": "error"})
    s.event("RUN_ERROR", message="stopped")
    s.outcome("error")
    finding = said("LIM-5", s)
    assert finding.level is SHOULD
    assert "nothing the caller reads says so: ['stopped']" in finding.message


def test_without_events_a_marker_cannot_be_seen():
    applies = BY_ID["LIM-5"].applies
    assert applies(view(summarised(marker=None, channels="MTR").recording())) == "channel E"
    assert applies(view(summarised().recording())) is None
    assert applies(view(rounds(1, max_iters=1, dialect=STOP, channels="MTR").recording())) is None


# LIM-6


def suite(*stories):
    return list(BY_ID["LIM-6"].suite([view(s.recording()) for s in stories]))


def test_one_ending_is_there_to_be_compared():
    assert judged("LIM-6", summarised()) == [OK]


def test_the_same_ending_everywhere_is_right():
    assert suite(summarised(), summarised(2)) == [(1, OK)]


def test_another_ending_in_another_recording_is_told_there():
    other = rounds(1, max_iters=1)
    other.text("Out of rounds.")
    other.event("RUN_FINISHED")
    other.outcome("limit", text="Out of rounds.")
    [(index, finding)] = suite(summarised(), other)
    assert index == 1
    assert (
        "with a text of its own and finished, but run r1 of told ended with a text by the model and finished"
        in finding.message
    )


def test_a_failed_summary_may_end_otherwise():
    failed = rounds(1, max_iters=1, dialect={"summary_failure": "error"})
    failed.ask(tools=None)
    failed.fail(500)
    failed.event("RUN_ERROR", message="limit; the summary failed")
    failed.outcome("limit")
    assert suite(summarised(), failed) == []


# LIM-9

TWO = {"look": LOOK, "read": LOOK}


def test_every_round_that_offers_all_tools_is_right():
    assert judged("LIM-9", rounds(2, max_iters=2, tools=TWO)) == [OK, OK]


def test_a_round_that_lacks_a_tool_is_told_with_it():
    s = rounds(1, max_iters=2, tools=TWO)
    s.ask(tools=["look"])
    s.reply(text="42")
    assert said("LIM-9", s).message.startswith("m2 (round 2 of run r1) offers ['look'], expected ['read'] as well")


@pytest.mark.parametrize(("failures", "right"), [(1, False), (2, True)])
def test_a_circuit_breaker_takes_a_tool_away_when_it_failed_as_often_as_declared(failures, right):
    breaker = {"circuit_breaker": {"kind": "consecutive", "threshold": 2, "recovery_s": 30}}
    s = Story(max_iters=5, tools=TWO, capabilities=breaker)
    for number in range(failures):
        s.ask()
        s.reply(calls=[("read", {}, f"c{number}")])
        s.execute("read", {}, f"c{number}", error=("Down", "no answer"))
    s.ask(tools=["look"])
    s.reply(text="42")
    assert (judged("LIM-9", s) == [OK] * (failures + 1)) is right


CHILDREN = {"knobs": {"subagents": {"scout": {"description": "Scouts.", "max_iters": 2, "tools": ["look"]}}}}


@pytest.mark.parametrize(("side", "judges"), [("auxiliary", True), (None, False)])
def test_rounds_are_counted_where_a_childs_calls_are_told_apart(side, judges):
    s = Story(max_iters=1, capabilities={"subagents": True}, scenario=CHILDREN)
    s.ask()
    s.reply(calls=[("scout", {"task": "Look around."}, "p1")])
    s.ask(messages=[{"role": "user", "content": "Look around."}], side=side)
    s.reply(text="All quiet.", keep=False)
    s.answer("p1", "All quiet.")
    s.ask()
    s.reply(calls=[("look", {}, "c1")])
    s.execute("look", {}, "c1", 42)
    s.ask(tools=None)
    s.reply(text="It is quiet.")
    assert any(isinstance(one, Finding) for one in judged("LIM-1", s)) is judges


def test_an_agent_that_has_children_and_calls_none_is_bound_by_its_limit():
    s = rounds(3, max_iters=2, capabilities={"subagents": True}, scenario=CHILDREN)
    assert isinstance(judged("LIM-1", s)[0], Finding)


def test_a_prefix_and_more_tools_are_right():
    s = Story()
    s.ask(tools=["mcp__kit__look", "final_answer"])
    s.reply(text="42")
    assert judged("LIM-9", s) == [OK]


def test_a_scenario_without_tools_has_none_to_offer():
    s = Story(tools={})
    s.ask(tools=None)
    s.reply(text="42")
    assert judged("LIM-9", s) == []


def forced(*choices, capabilities):
    s = Story(capabilities=capabilities)
    s.records.pop()
    s.runs = 0
    s.begin(None, tool_choice="required")
    for number, choice in enumerate(choices):
        s.ask(tool_choice=choice)
        s.reply(calls=[("look", {}, f"c{number}")])
        s.execute("look", {}, f"c{number}", 42)
    return s


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        (("required", "auto"), None),
        (("required", None), None),
        (("required", "required"), "m2 (round 2) has tool_choice 'required', expected a free choice"),
        (("auto", "auto"), "m1 (round 1) has tool_choice 'auto', expected 'required', which the caller forces"),
    ],
)
def test_a_forced_choice_holds_for_the_first_round_only(choices, message):
    s = forced(*choices, capabilities={"tool_choice": True})
    if message is None:
        assert judged("LIM-9", s) == [OK] * 4
    else:
        assert said("LIM-9", s).message.startswith(message)


def test_a_forced_choice_binds_no_agent_that_cannot_take_one():
    assert judged("LIM-9", forced("auto", "auto", capabilities={})) == [OK, OK]


# LIM-10


def test_zero_rounds_and_a_summary_keep_a_budget_of_zero():
    s = Story(max_iters=0)
    s.ask(tools=None)
    s.reply(text="I may not look.")
    s.outcome("limit", text="I may not look.")
    assert judged("LIM-10", s) == [OK]


@pytest.mark.parametrize("limit", [0, 1])
def test_the_value_may_be_refused_before_any_call(limit):
    s = Story(max_iters=limit)
    s.outcome("refused", reason="max_iters must be at least 2")
    assert judged("LIM-10", s) == [OK]


@pytest.mark.parametrize("limit", [0, 1])
def test_more_rounds_than_zero_or_one_are_told(limit):
    s = rounds(limit + 2, max_iters=limit, dialect=STOP)
    s.outcome("limit")
    assert said("LIM-10", s).message.startswith(
        f"run r1 has max_iters {limit} and made {limit + 2} rounds; expected {limit}"
    )


def test_one_round_that_asks_for_more_keeps_a_budget_of_one():
    assert judged("LIM-10", summarised()) == [OK]


def test_a_budget_of_one_that_allows_no_call_is_told():
    s = Story(max_iters=1)
    s.outcome("limit")
    assert "made no call of the model; expected one round" in said("LIM-10", s).message


def test_an_answer_in_the_first_round_proves_nothing_of_a_budget_of_one():
    s = answered(1, max_iters=1)
    s.outcome("answered")
    assert judged("LIM-10", s) == []


# What the hunters of wrong verdicts found.


@pytest.mark.parametrize(("response", "found"), [({"retry_then_error": 1}, 1), ("finish", 0), ("error", 0)])
def test_an_empty_reply_in_round_n_is_the_limit_only_where_one_more_request_would_come(response, found):
    s = rounds(1, max_iters=2, dialect={**STOP, "retry_budget": "counts", "empty_response": response})
    s.ask()
    s.reply(parts=[], keep=False)
    s.outcome("error")
    assert len(judged("LIM-5", s)) == found


@pytest.mark.parametrize(("declared", "owed"), [("refuse", 0), ("drop", 1), ("pass", 1)])
def test_a_call_of_the_last_round_that_is_refused_does_not_run(declared, owed):
    closed = {**LOOK, "parameters": {"type": "object", "properties": {}}}
    s = Story(max_iters=1, tools={"look": closed}, dialect={**STOP, "extra_args": declared})
    s.ask()
    s.reply(calls=[("look", {"loud": True}, "c1")])
    s.outcome("limit")
    assert sum(isinstance(one, Finding) for one in judged("LIM-3", s)) == owed


def test_a_retry_offers_all_tools_too():
    s = Story(max_iters=2)
    s.ask()
    s.reply(parts=[], keep=False)
    s.ask(tools=None)
    assert "m2 (round 1 of run r1) offers []" in said("LIM-9", s).message


@pytest.mark.parametrize(("kind", "found"), [("limit", 0), ("answered", 1)])
def test_a_closing_text_in_the_place_of_a_retry_is_no_round_without_tools(kind, found):
    s = Story(max_iters=2)
    s.ask()
    s.reply(parts=[], keep=False)
    s.ask(messages=[*s.history, {"role": "user", "content": "Answer now."}], tools=None)
    s.reply(text="42")
    s.outcome(kind)
    assert sum(isinstance(one, Finding) for one in judged("LIM-9", s)) == found


def test_a_tool_without_its_arguments_is_not_the_tool():
    taking = {**LOOK, "parameters": {"type": "object", "properties": {"n": {"type": "integer"}}}}
    s = Story(max_iters=2, tools={"look": taking})
    s.ask()
    s.body["tools"][0]["function"]["parameters"] = {"type": "object", "properties": {}}
    assert "offers ['look'] without its arguments" in said("LIM-9", s).message


@pytest.mark.parametrize(("claim", "right"), [("limit", 1), ("refused", 1), ("error", 1), ("answered", 0)])
def test_zero_rounds_end_as_the_limit_or_as_a_refusal(claim, right):
    s = Story(max_iters=0)
    s.outcome(claim)
    assert judged("LIM-10", s).count(OK) == right


def test_an_answer_keeps_no_budget_where_there_is_none():
    s = Story(dialect={"default_max_iters": "unlimited"})
    s.ask()
    s.reply(text="It is 42.")
    assert judged("LIM-1", s) == []
