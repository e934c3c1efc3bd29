"""Spec: classes of model calls, the first that fits in order: attempt, side calls, retry, summary, regular."""

import pytest
from story import Story

from conformance.reading.joined import view


def kinds(story, run=0):
    return [call.kind for call in view(story.recording()).runs[run].calls]


def looping(rounds, **options):
    """A model that calls its tool in every round."""
    s = Story(**options)
    for number in range(1, rounds + 1):
        s.ask()
        s.reply(calls=[("look", {}, f"c{number}")])
        s.execute("look", {}, f"c{number}", 42)
    return s


def test_the_first_call_after_the_nth_round_is_the_summary_by_its_place_and_not_by_its_looks():
    s = looping(2, max_iters=2)
    s.ask()
    s.reply(text="42")
    assert kinds(s) == ["regular", "regular", "summary"]


@pytest.mark.parametrize("on_limit", ["stop", "error", "raise"])
def test_without_a_summary_in_the_dialect_a_call_beyond_the_limit_is_a_round_too_many(on_limit):
    s = looping(1, max_iters=1, dialect={"on_limit": on_limit})
    s.ask()
    s.reply(text="42")
    assert kinds(s) == ["regular", "regular"]


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 529])
def test_an_equal_body_after_a_transient_failure_is_an_attempt_that_inherits_class_and_round(status):
    s = Story()
    s.ask()
    s.fail(status)
    s.ask(again=True)
    s.reply(text="42")
    calls = view(s.recording()).runs[0].calls
    assert [(c.kind, c.role, c.round, c.repeats) for c in calls] == [
        ("regular", "regular", 1, None),
        ("attempt", "regular", 1, "m1"),
    ]


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
def test_an_equal_body_after_a_final_refusal_is_no_attempt(status):
    s = Story()
    s.ask()
    s.fail(status)
    s.ask(again=True)
    s.reply(text="42")
    assert kinds(s) == ["regular", "regular"]


def test_an_equal_body_after_a_whole_reply_is_a_poll_and_no_attempt():
    s = Story()
    s.ask()
    s.reply(calls=[("look", {}, "c1")], keep=False)
    s.ask(again=True)
    s.reply(text="42")
    assert kinds(s) == ["regular", "regular"]


def test_an_equal_body_after_a_broken_stream_is_an_attempt():
    s = Story()
    s.ask()
    s.reply(text="4", by="cut", fault={"cut": {"after_chunks": 1}})
    s.ask(again=True)
    s.reply(text="42")
    assert kinds(s) == ["regular", "attempt"]


def test_delivery_keys_do_not_make_a_body_another_one():
    s = Story()
    s.ask(extra={"stream": True, "stream_options": {"include_usage": True}})
    s.fail(500)
    s.ask(extra={"model": "fallback"})
    s.reply(text="42")
    assert kinds(s) == ["regular", "attempt"]


def test_a_retry_count_above_zero_makes_an_attempt_whatever_the_body():
    s = Story()
    s.ask(retry_header=0)
    s.fail(400)
    s.ask(retry_header=1, extra={"temperature": 1})
    s.reply(text="42")
    assert kinds(s) == ["regular", "attempt"]


def test_an_attempt_of_the_last_round_is_not_the_summary():
    s = Story(max_iters=1)
    s.ask()
    s.fail(503)
    s.ask(again=True)
    s.reply(calls=[("look", {}, "c1")])
    s.execute("look", {}, "c1", 42)
    s.ask(tools=None)
    s.reply(text="42")
    assert kinds(s) == ["regular", "attempt", "summary"]


def test_a_call_after_an_empty_reply_is_a_retry_of_the_same_round():
    s = Story(max_iters=1)
    s.ask()
    s.reply(keep=False)
    s.ask()
    s.reply(text="42")
    assert [(c.kind, c.round) for c in view(s.recording()).runs[0].calls] == [("regular", 1), ("retry", 1)]


@pytest.mark.parametrize("stop", ["stop", "tool_calls"])
def test_a_reply_that_asks_for_nothing_is_empty_whether_it_stopped_or_stopped_for_calls(stop):
    s = Story(max_iters=1)
    s.ask()
    s.reply(stop=stop, keep=False)
    s.ask()
    s.reply(text="42")
    assert kinds(s) == ["regular", "retry"]


def test_a_shape_that_the_dialect_does_not_call_empty_is_a_whole_round():
    s = Story(dialect={"empty_is": ["no_parts"]})
    s.ask()
    s.reply(text=" ", keep=False)
    s.ask()
    s.reply(text="42")
    assert kinds(s) == ["regular", "regular"]


def test_under_continue_each_empty_reply_spends_a_round():
    s = Story(dialect={"empty_response": "continue"})
    s.ask()
    s.reply(keep=False)
    s.ask()
    s.reply(text="42")
    assert kinds(s) == ["regular", "regular"]


def test_where_retries_count_a_retry_is_a_round_of_its_own_and_none_follows_the_last_round():
    s = Story(max_iters=2, dialect={"retry_budget": "counts"})
    s.ask()
    s.reply(keep=False)
    s.ask()
    s.reply(keep=False)
    s.ask(tools=None)
    s.reply(text="42")
    calls = view(s.recording()).runs[0].calls
    assert [(c.kind, c.round) for c in calls] == [("regular", 1), ("retry", 2), ("summary", None)]


@pytest.mark.parametrize(
    "wording", ["prompt is too long: 9 tokens > 8 maximum", "This model's maximum context length is 8 tokens."]
)
def test_a_call_after_an_overflow_is_a_retry(wording):
    s = Story()
    s.ask()
    s.fail(400, message=wording)
    s.ask(messages=[{"role": "user", "content": "short"}])
    s.reply(text="42")
    assert kinds(s) == ["regular", "retry"]


def test_a_stop_for_length_with_nothing_said_is_an_overflow():
    s = Story()
    s.ask()
    s.reply(stop="length", keep=False)
    s.ask(messages=[{"role": "user", "content": "short"}])
    s.reply(text="42")
    calls = view(s.recording()).runs[0].calls
    assert [c.kind for c in calls] == ["regular", "retry"]
    assert calls[0].overflow


def test_a_rate_limit_that_speaks_of_tokens_is_no_overflow():
    s = Story()
    s.ask()
    s.fail(429, message="Rate limit reached: too many tokens per min")
    s.ask(again=True)
    s.reply(text="42")
    calls = view(s.recording()).runs[0].calls
    assert [c.kind for c in calls] == ["regular", "attempt"]
    assert not calls[0].overflow


def test_a_reply_cut_by_length_is_continued_only_where_the_dialect_says_so():
    for declared, kind in (({"length_stop": "continue"}, "retry"), ({}, "regular")):
        s = Story(dialect=declared)
        s.ask()
        s.reply(text="4", stop="length")
        s.ask()
        s.reply(text="2")
        assert kinds(s) == ["regular", kind]


@pytest.mark.parametrize("side", ["auxiliary", "compaction"])
def test_a_marked_side_call_is_no_round_and_hides_nothing(side):
    s = looping(1, max_iters=1)
    s.ask(messages=[{"role": "user", "content": "a title, please"}], tools=None, side=side)
    s.reply(text="Title", keep=False)
    s.ask(tools=None)
    s.reply(text="42")
    assert kinds(s) == ["regular", side, "summary"]


def test_a_declared_matcher_recognises_a_side_call_in_an_old_recording():
    s = Story(dialect={"side_calls": {"auxiliary": [{"text": "a title"}]}})
    s.ask(messages=[{"role": "user", "content": "Write a title for this."}], tools=None)
    s.reply(text="Title", keep=False)
    s.ask()
    s.reply(text="42")
    assert kinds(s) == ["auxiliary", "regular"]


@pytest.mark.parametrize("first", ["failed", "empty", "calling"])
def test_a_summary_that_failed_was_empty_or_asked_for_a_tool_may_be_asked_for_once_more(first):
    s = looping(1, max_iters=1)
    s.ask(tools=None)
    if first == "failed":
        s.fail(400)
    elif first == "empty":
        s.reply(keep=False)
    else:
        s.reply(calls=[("look", {}, "c9")], keep=False)
    s.ask(tools=None, extra={"temperature": 0})
    s.reply(text="42")
    s.ask(tools=None, extra={"temperature": 1})
    s.reply(text="42")
    assert kinds(s) == ["regular", "summary", "summary", "regular"]


def test_a_whole_summary_is_not_repeated():
    s = looping(1, max_iters=1)
    s.ask(tools=None)
    s.reply(text="42")
    s.ask(tools=None)
    s.reply(text="42")
    assert kinds(s) == ["regular", "summary", "regular"]


def test_with_no_rounds_allowed_the_first_call_is_the_summary():
    s = Story(max_iters=0)
    s.ask(tools=None)
    s.reply(text="I may not act.")
    assert kinds(s) == ["summary"]


def test_the_budget_starts_anew_with_each_run():
    s = looping(1, max_iters=1)
    s.ask(tools=None)
    s.reply(text="42")
    s.end()
    s.begin("Again.", max_iters=1)
    s.ask()
    s.reply(text="42")
    assert kinds(s, run=1) == ["regular"]


def test_without_a_limit_the_declared_default_holds():
    s = looping(10)
    s.ask(tools=None)
    s.reply(text="42")
    assert kinds(s) == ["regular"] * 10 + ["summary"]
    s = looping(11, dialect={"default_max_iters": "unlimited"})
    assert kinds(s) == ["regular"] * 11


@pytest.mark.parametrize("header", [None, 1])
def test_a_side_call_between_a_failure_and_its_repetition_takes_no_part_in_it(header):
    s = Story()
    s.ask()
    s.fail(429)
    asked = s.body
    s.ask(messages=[{"role": "user", "content": "a title, please"}], tools=None, side="auxiliary")
    s.reply(text="Title", keep=False)
    s.body = asked
    s.ask(again=True, retry_header=header)
    s.reply(text="42")
    calls = view(s.recording()).runs[0].calls
    assert [(c.kind, c.repeats) for c in calls] == [("regular", None), ("auxiliary", None), ("attempt", "m1")]
