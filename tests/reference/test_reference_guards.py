"""The reference's guards and breaker as functions: what is counted, and when it is enough."""

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest

from conformance.reference import breaker, guards
from conformance.reference.run import Done, Session
from conformance.reference.steps import Execution

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@dataclass
class Clock:
    at: datetime = NOON

    def now(self):
        return self.at


@dataclass
class Run:
    """As much of a run as a guard looks at."""

    limits: dict
    done: list = field(default_factory=list)
    spent: list = field(default_factory=list)
    session: Session = field(default_factory=Session)
    bench: Clock = field(default_factory=Clock)

    @property
    def given(self):
        return SimpleNamespace(limits=self.limits)


def done(tool="look", text="42", *, failed=False, **arguments):
    return Done(tool, arguments, text, failed)


def call(tool="look", **arguments):
    return Execution(tool, arguments, "c9")


@pytest.mark.parametrize(
    ("made", "before", "over"),
    [(0, 0, False), (1, 0, False), (1, 1, True), (2, 0, True), (0, 2, True)],
)
def test_the_cap_counts_what_ran_and_what_is_about_to(made, before, over):
    run = Run({"max_tool_calls": 2}, [done(n=n) for n in range(made)])
    why = guards.over_the_cap(run, call(n=9), [call(n=n) for n in range(before)])
    assert (why is not None) is over
    assert why is None or "max_tool_calls=2" in why


@pytest.mark.parametrize(
    ("before", "count"),
    [
        ([], 0),
        ([done(n=1)], 1),
        ([done(n=1), done(n=1)], 2),
        ([done(n=1), done(n=2)], 0),
        ([done(n=1), done("peek"), done(n=1)], 1),
        ([done(n=1, text="a"), done(n=1, text="b")], 1),
        ([done(n=1, text="a"), done(n=1, text="b"), done(n=1, text="b")], 2),
    ],
)
def test_a_repetition_is_the_same_call_in_a_row_with_the_same_result(before, count):
    assert guards.repeated(before, call(n=1), []) == count


def test_calls_beside_it_count_though_their_results_are_not_known():
    assert guards.repeated([done(n=1)], call(n=1), [call(n=1)]) == 2
    assert guards.repeated([done(n=1)], call(n=1), [call(n=2)]) == 0


@pytest.mark.parametrize(
    ("before", "count"),
    [
        ([done(n=1, text="no", failed=True), done(n=2, text="no", failed=True)], 2),
        ([done(n=1, text="no", failed=True), done(n=2, text="nay", failed=True)], 1),
        ([done(n=1, text="no", failed=True), done(n=2)], 0),
        ([done("peek", text="no", failed=True)], 0),
    ],
)
def test_equal_errors_are_counted_by_tool_and_words(before, count):
    assert guards.equal_errors(before, call(n=9)) == count


def test_a_budget_is_used_up_when_all_calls_together_reach_it():
    use = {"inputTokens": 40, "outputTokens": 10}
    assert guards.over_budget(Run({"token_budget": 100}, spent=[use])) is None
    end = guards.over_budget(Run({"token_budget": 100}, spent=[use, use]))
    assert (end.kind, end.terminal) == ("guard", "error")
    assert "token_budget=100" in end.reason
    assert guards.over_budget(Run({}, spent=[use] * 9)) is None


def test_the_callers_timeout_stands_before_the_references_own():
    assert guards.within_s(Run({"tool_timeout_s": 0.2})) == 0.2
    assert guards.within_s(Run({})) == guards.TOOL_TIMEOUT_S


def failed_at(*seconds):
    run = Run({})
    for second in seconds:
        run.bench.at = NOON + timedelta(seconds=second)
        breaker.noted(run, done(failed=True))
    return run


@pytest.mark.parametrize(
    ("seconds", "later_s", "is_open"),
    [
        ((0, 0, 0, 0), 0, False),
        ((0, 0, 0, 0, 0), 0, True),
        ((0, 0, 0, 0, 0), 29, True),
        ((0, 0, 0, 0, 0), 30, False),
        ((0, 0, 0, 0, 59), 0, True),
        ((0, 0, 0, 0, 60), 0, False),
    ],
)
def test_five_failures_within_a_minute_open_the_breaker_for_half_a_minute(seconds, later_s, is_open):
    run = failed_at(*seconds)
    run.bench.at += timedelta(seconds=later_s)
    assert (breaker.broken(run, call()) is not None) is is_open
    assert breaker.broken(run, call("peek")) is None


@pytest.mark.parametrize(
    ("later_s", "says"), [(0, "30 more"), (0.0021, "30 more"), (1, "29 more"), (29.5, "1 more"), (29.999999, "1 more")]
)
def test_what_is_left_of_the_pause_is_told_in_whole_seconds_of_which_the_last_is_not_over(later_s, says):
    run = failed_at(0, 0, 0, 0, 0)
    run.bench.at += timedelta(seconds=later_s)
    assert breaker.broken(run, call()).endswith(f"not run for {says} seconds")


def test_a_success_closes_the_breaker():
    run = failed_at(0, 0, 0, 0)
    breaker.noted(run, replace(done(), failed=False))
    breaker.noted(run, done(failed=True))
    assert breaker.broken(run, call()) is None
