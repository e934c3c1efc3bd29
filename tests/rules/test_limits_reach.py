"""LIM-11 on recordings told by hand: what the tools brought before the limit, and the ways in which a caller gets at it."""

import pytest
from story import LOOK, Story

from conformance.reading.joined import view
from conformance.rule import OK, Finding
from conformance.rules.limits_reach import RULES

[LIM_11] = RULES
RUNS = [{"user": "What is it?", "model": [{"answer": "42"}]}, {"user": "Go on.", "model": [{"answer": "43"}]}]


def judged(story):
    return list(LIM_11.check(view(story.recording())))


def only(story):
    [finding] = [one for one in judged(story) if isinstance(one, Finding)]
    return finding


def worked(*values, way="raise", **fields):
    """A run that used up its rounds, one tool result in each."""
    s = Story(max_iters=len(values), dialect={"on_limit": way}, **fields)
    for number, value in enumerate(values, start=1):
        s.ask()
        s.reply(calls=[("look", {}, f"c{number}")])
        s.execute("look", {}, f"c{number}", value)
    return s


def thrown(s):
    s.raises("LimitReached", "no round is left")
    s.event("RUN_ERROR", message="no round is left", raised=True)
    return s


def test_an_exception_that_is_all_there_is_loses_the_work():
    s = thrown(worked({"voyage": "V-1"}, {"item": "C-001"}))
    finding = only(s)
    assert "nothing the caller can read holds what look (x1), look (x2) brought" in finding.message
    assert (finding.seq, finding.related) == (13, (5, 10))


SHOWN = [
    ("an event", lambda s: s.call_events("look", {}, "c1", '{"item": "C-001"}')),
    ("a text", lambda s: s.text("The item is C-001.")),
    ("a snapshot", lambda s: s.event("MESSAGES_SNAPSHOT", messages=[{"role": "tool", "content": '{"item":"C-001"}'}])),
    ("the state", lambda s: s.event("STATE_SNAPSHOT", snapshot={"found": {"item": "C-001"}})),
    ("a custom event", lambda s: s.event("CUSTOM", name="work", value=[{"item": "C-001"}])),
]


@pytest.mark.parametrize("show", [one[1] for one in SHOWN], ids=[one[0] for one in SHOWN])
def test_what_was_shown_on_the_way_is_reachable(show):
    s = worked({"item": "C-001"})
    show(s)
    assert judged(thrown(s)) == [OK]


def test_the_arguments_of_a_later_call_are_no_place_for_a_result():
    s = worked({"item": "C-001"})
    s.call_events("look", {"item": "C-001"}, "c2")
    assert isinstance(judged(thrown(s))[0], Finding)


ENDINGS = [
    ("the exception", lambda s: s.raises("LimitReached", "no round is left after C-001")),
    ("the error", lambda s: s.event("RUN_ERROR", message="no round is left", code="limit", partial="C-001")),
    ("the end's result", lambda s: s.event("RUN_FINISHED", result={"outcome": "limit", "found": ["C-001"]})),
    ("the result's text", lambda s: s.outcome("limit", text="So far: C-001")),
    ("the reason", lambda s: s.outcome("limit", reason="out of rounds after C-001")),
]


@pytest.mark.parametrize("end", [one[1] for one in ENDINGS], ids=[one[0] for one in ENDINGS])
def test_what_the_end_carries_is_reachable(end):
    s = worked({"item": "C-001"}, way="stop")
    end(s)
    assert judged(s) == [OK]


def test_the_models_own_closing_text_is_a_way_to_all_of_it():
    s = worked({"item": "C-001", "weight": 17}, way="summarize")
    s.event("RAW", event={"type": "EXCEED_MAX_ITERS", "maxIters": 1})
    s.ask(tools=None)
    s.reply("One item was found.")
    s.text("One item was found.")
    s.event("RUN_FINISHED")
    s.outcome("limit", text="One item was found.")
    assert judged(s) == [OK]


def test_a_closing_text_that_never_reached_the_caller_is_none():
    s = worked({"item": "C-001"}, way="summarize")
    s.ask(tools=None)
    s.reply("One item was found.")
    s.event("RUN_FINISHED")
    s.outcome("limit")
    assert isinstance(judged(s)[0], Finding)


def test_with_events_each_result_has_to_be_somewhere():
    s = worked("first thing", "second thing", way="stop")
    s.outcome("limit", text="second thing")
    assert "what look (x1) brought" in only(s).message


def test_without_events_the_last_result_will_do():
    s = worked("first thing", "second thing", way="stop", channels="MTR")
    s.outcome("limit", text="second thing")
    assert judged(s) == [OK]


def test_without_events_a_bare_limit_loses_the_work():
    s = worked("first thing", way="stop", channels="MTR")
    s.outcome("limit", reason="max_turns")
    assert "x1" in only(s).message


def test_a_session_may_hold_what_no_event_can_show():
    s = worked("first thing", way="stop", channels="MTR", capabilities={"sessions": True})
    s.outcome("limit", reason="max_turns")
    assert judged(s) == []


@pytest.mark.parametrize("channels", ["MTER", "MTR"])
def test_what_the_next_run_is_sent_was_reachable(channels):
    s = worked("first thing", channels=channels, capabilities={"sessions": True}, scenario={"runs": RUNS})
    s.raises("LimitReached", "no round is left")
    s.end("raised")
    s.begin("Go on.")
    s.ask()
    s.reply("43")
    assert judged(s) == [OK]


def test_a_large_result_may_be_shown_cut():
    s = worked("x" * 5000)
    s.call_events("look", {}, "c1", "xxxx… (cut)")
    assert judged(thrown(s)) == [OK]


@pytest.mark.parametrize(
    "tell",
    [
        lambda s: (s.ask(), s.reply("42"), s.outcome("answered", text="42")),
        lambda s: (s.ask(), s.fail(400), s.event("RUN_ERROR"), s.outcome("model_error")),
    ],
    ids=["an answer", "a failure of the model"],
)
def test_a_run_that_something_else_ended_is_not_judged(tell):
    s = Story(max_iters=2)
    s.ask()
    s.reply(calls=[("look", {}, "c1")])
    s.execute("look", {}, "c1", 42)
    tell(s)
    assert judged(s) == []


def test_a_limit_before_any_result_loses_nothing():
    s = Story(max_iters=1, dialect={"on_limit": "raise"}, tools={"look": {**LOOK, "returns": {}}})
    s.ask()
    s.reply(calls=[("look", {}, "c1")])
    s.execute("look", {}, "c1", {})
    assert judged(thrown(s)) == []
