"""LIM-7 and LIM-8 on recordings told by hand: what recovery may cost, and what bounds a run that nobody bounded."""

import pytest
from story import Story

from conformance.reading.joined import view
from conformance.rule import OK, Finding
from conformance.rules.limits_budget import RULES

BY_ID = {rule.id: rule for rule in RULES}


def judged(rule, story):
    return list(BY_ID[rule].check(view(story.recording())))


def only(rule, story):
    [finding] = [one for one in judged(rule, story) if isinstance(one, Finding)]
    return finding


def attempt(s):
    s.ask()
    s.fail(503)
    s.ask(again=True)


def retry_after_an_overflow(s):
    s.ask()
    s.fail(400, code="context_length_exceeded")
    s.ask(side="compaction")
    s.reply("A digest", keep=False)
    s.ask(messages=s.history[-1:])


def retry_after_an_empty_reply(s):
    s.ask()
    s.reply(parts=[], keep=False)
    s.history.append({"role": "user", "content": "Say something."})
    s.ask()


FREE = [attempt, retry_after_an_overflow, retry_after_an_empty_reply]
free = pytest.mark.parametrize("recovers", FREE, ids=lambda one: one.__name__)


def round_of(s, number):
    s.reply(calls=[("look", {}, f"c{number}")])
    s.execute("look", {}, f"c{number}", 42)


@free
def test_a_run_that_recovers_and_still_makes_all_its_rounds_is_right(recovers):
    s = Story(max_iters=2)
    recovers(s)
    round_of(s, 1)
    s.ask()
    s.reply("42")
    s.outcome("answered", text="42")
    assert judged("LIM-7", s) == [OK]


@free
def test_a_run_that_recovers_in_each_round_and_then_comes_to_its_limit_is_right(recovers):
    s = Story(max_iters=2)
    for number in (1, 2):
        recovers(s)
        round_of(s, number)
    s.ask(tools=None)
    s.reply("It is 42.")
    s.outcome("limit", text="It is 42.")
    assert judged("LIM-7", s) == [OK]


@free
def test_a_limit_that_recovery_used_up_names_what_was_counted(recovers):
    s = Story(max_iters=2, dialect={"on_limit": "stop"})
    recovers(s)
    again = len(s.records)
    round_of(s, 1)
    claim = s.outcome("limit")
    finding = only("LIM-7", s)
    assert "ends as limit after 1 of its 2 rounds" in finding.message
    assert f"m{s.calls} only asked once more" in finding.message
    assert (finding.seq, finding.related) == (claim, (again,))


def test_a_summary_in_the_place_of_the_round_that_recovery_cost_is_no_round():
    s = Story(max_iters=2)
    attempt(s)
    round_of(s, 1)
    s.ask(tools=None)
    s.reply("It is 42.")
    s.outcome("limit", text="It is 42.")
    assert "after 1 of its 2 rounds" in only("LIM-7", s).message


def test_a_closing_text_where_the_only_round_was_to_be_asked_again_is_no_round():
    s = Story(max_iters=1)
    s.ask()
    s.fail(503)
    s.ask(tools=None)
    s.reply("I have no more rounds.")
    s.outcome("limit", text="I have no more rounds.")
    finding = only("LIM-7", s)
    assert "after 0 of its 1 rounds, and m2 asks for a closing text" in finding.message


def test_a_retry_without_tools_that_is_answered_within_the_budget_is_one():
    s = Story(max_iters=1)
    s.ask()
    s.reply(parts=[], keep=False)
    s.ask(tools=None)
    s.reply("42")
    s.outcome("answered", text="42")
    assert judged("LIM-7", s) == [OK]


def test_an_exception_that_nothing_else_explains_is_the_limit():
    s = Story(max_iters=2, dialect={"on_limit": "raise"})
    attempt(s)
    round_of(s, 1)
    s.raises("TooManyRequests", "2 requests")
    assert "ends as error after 1 of its 2 rounds" in only("LIM-7", s).message


def test_a_tool_that_failed_explains_an_error():
    s = Story(max_iters=2)
    attempt(s)
    s.reply(calls=[("look", {}, "c1")])
    s.execute("look", {}, "c1", error=("Broken", "no light"))
    s.raises()
    assert judged("LIM-7", s) == []


@pytest.mark.parametrize(
    "story",
    [
        {"max_iters": 5},
        {},
    ],
    ids=["far from its limit", "without a limit"],
)
def test_an_answer_that_no_budget_was_near_shows_nothing(story):
    s = Story(**story)
    attempt(s)
    s.reply("42")
    s.outcome("answered", text="42")
    assert judged("LIM-7", s) == []


def test_a_limit_that_recovery_cannot_explain_is_lim_1s():
    s = Story(max_iters=9)
    attempt(s)
    round_of(s, 1)
    s.outcome("limit")
    assert judged("LIM-7", s) == []


def test_a_model_that_fails_for_good_is_no_used_up_budget():
    s = Story(max_iters=2)
    attempt(s)
    s.fail(503)
    s.event("RUN_ERROR")
    s.outcome("model_error")
    assert judged("LIM-7", s) == []


def test_an_empty_reply_spends_a_round_where_that_is_declared():
    s = Story(max_iters=2, dialect={"retry_budget": "counts", "on_limit": "stop"})
    retry_after_an_empty_reply(s)
    round_of(s, 1)
    s.outcome("limit")
    assert judged("LIM-7", s) == [OK]


def test_going_on_from_a_cut_reply_is_no_recovery_of_lim_7():
    s = Story(max_iters=2, dialect={"length_stop": "continue", "on_limit": "stop"})
    s.ask()
    s.reply("It is", stop="length")
    s.ask()
    round_of(s, 1)
    s.outcome("limit")
    assert judged("LIM-7", s) == []


# LIM-8


def unbounded(rounds, *, default=2, claim="limit", **fields):
    s = Story(dialect={"default_max_iters": default, "on_limit": "stop"}, **fields)
    for number in range(1, rounds + 1):
        s.ask()
        round_of(s, number)
    if claim:
        s.outcome(claim)
    return s


def test_a_run_that_the_declared_default_ends_is_right():
    assert judged("LIM-8", unbounded(2)) == [OK]


def test_a_run_that_goes_on_after_the_default_is_warned_of():
    finding = only("LIM-8", unbounded(3))
    assert "m3 goes on after 2 rounds" in finding.message
    assert finding.seq == 12


def test_a_round_in_the_place_of_the_summary_is_one_too_many():
    s = Story(dialect={"default_max_iters": 1})
    for number in (1, 2):
        s.ask()
        round_of(s, number)
    s.outcome("error")
    assert "m2 goes on after 1 rounds" in only("LIM-8", s).message


def test_a_default_that_ends_too_early_is_warned_of():
    assert "ends as limit after 1 rounds" in only("LIM-8", unbounded(1)).message


def test_a_short_run_shows_nothing_of_the_default():
    s = unbounded(1, claim=None)
    s.ask()
    s.reply("42")
    s.outcome("answered", text="42")
    assert judged("LIM-8", s) == []


def test_a_callers_limit_is_lim_1s():
    assert judged("LIM-8", unbounded(3, max_iters=2)) == []


def test_no_default_at_all_is_warned_of_at_the_eleventh_round():
    assert judged("LIM-8", unbounded(10, default="unlimited", claim=None)) == []
    finding = only("LIM-8", unbounded(11, default="unlimited", claim=None))
    assert "none of the agent's own: m11 is round 11" in finding.message


def test_no_default_at_all_is_warned_of_at_the_cap():
    s = unbounded(1, default="unlimited", claim=None)
    s.ask()
    s.refused(by="cap")
    assert "only the scenario's cap of 60 requests stopped it" in only("LIM-8", s).message
