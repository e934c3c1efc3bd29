"""RUN-9 on recordings told by hand: what a run that has told its end still does, and what is no part of it."""

import pytest
from story import Story

from conformance.reading.joined import view
from conformance.rule import OK, Finding
from conformance.rules.run_after import RULES

BY_ID = {rule.id: rule for rule in RULES}


def seen(story):
    return view(story.recording())


def judged(rule, story):
    return list(BY_ID[rule].check(seen(story)))


def only(rule, story):
    [finding] = [one for one in judged(rule, story) if isinstance(one, Finding)]
    return finding


def ended(*, terminal="RUN_FINISHED", channels="MTERUL", **fields):
    s = Story(channels=channels, **fields)
    if "E" in channels:
        s.event("RUN_STARTED")
    s.ask()
    s.reply("42")
    if "E" in channels:
        s.event(terminal)
    s.outcome("answered", text="42")
    return s


@pytest.mark.parametrize("terminal", ["RUN_FINISHED", "RUN_ERROR"])
def test_a_run_that_is_quiet_after_its_end_is_right(terminal):
    s = ended(terminal=terminal)
    s.log("the connection is closed")
    assert judged("RUN-9", s) == [OK]


LATE = [
    ("a request", lambda s: s.ask(), "m2 asked its model again"),
    ("an attempt", lambda s: s.ask(again=True, retry_header=1), "m2 asked its model again"),
    ("a tool", lambda s: s.execute("look", {}, "c9", 42), "x1 ran look"),
    ("an event", lambda s: s.event("STATE_SNAPSHOT", snapshot={}), "STATE_SNAPSHOT was sent"),
    ("a snapshot for tidiness", lambda s: s.event("MESSAGES_SNAPSHOT", messages=[]), "MESSAGES_SNAPSHOT was sent"),
    ("a usage report", lambda s: s.event("CUSTOM", name="token_usage", value={}), "CUSTOM was sent"),
    ("a second terminal", lambda s: s.event("RUN_ERROR"), "RUN_ERROR was sent"),
    ("a second start", lambda s: s.event("RUN_STARTED"), "RUN_STARTED was sent"),
]


@pytest.mark.parametrize(("late", "says"), [one[1:] for one in LATE], ids=[one[0] for one in LATE])
def test_what_comes_after_the_terminal_event_is_late(late, says):
    s = ended()
    seq = late(s)
    finding = only("RUN-9", s)
    assert says in finding.message
    assert "ended with RUN_FINISHED (record 6)" in finding.message
    assert (finding.seq, finding.related[0]) == (seq, 6)


def test_what_comes_after_the_kits_end_of_the_run_is_late_too():
    s = ended()
    s.end()
    seq = s.ask()
    s.refused(by="late", rule=None)
    assert only("RUN-9", s).seq == seq


def test_events_of_a_run_that_is_over_are_late_while_the_next_one_is_open():
    runs = [{"user": "What is it?", "model": [{"answer": "42"}]}, {"user": "And now?", "model": [{"answer": "43"}]}]
    s = ended(scenario={"runs": runs})
    s.end()
    s.begin("And now?")
    s.event("RUN_STARTED")
    left = s.record("agent", "event", run="r1", event={"type": "STATE_SNAPSHOT", "snapshot": {}}, raised=False)
    s.event("RUN_FINISHED")
    late, fine = judged("RUN-9", s)
    assert (late.seq, fine) == (left, OK)
    assert late.message.startswith("run r1 ")


def test_many_of_a_kind_are_told_once():
    s = ended()
    first = [s.ask() for _ in range(3)]
    finding = only("RUN-9", s)
    assert "and 2 more like it" in finding.message
    assert finding.related == (6, *first[1:])


def test_a_call_beside_the_loop_may_follow_the_end():
    s = ended()
    s.ask(side="auxiliary")
    s.reply("A title")
    s.ask(side="compaction")
    s.reply("A digest")
    assert judged("RUN-9", s) == [OK]


def test_a_compaction_that_comes_when_the_run_is_over_is_late():
    s = ended()
    s.end()
    s.ask(side="compaction")
    s.refused(by="late", rule=None)
    assert "m2 asked its model again" in only("RUN-9", s).message


def test_a_declared_side_call_may_follow_the_end():
    s = ended(dialect={"side_calls": {"auxiliary": [{"tools": "none"}]}})
    s.ask(tools=None)
    assert judged("RUN-9", s) == [OK]


def test_a_tool_that_began_before_the_end_may_come_back_after_it():
    s = Story()
    s.event("RUN_STARTED")
    s.ask()
    s.reply(calls=[("look", {}, "c1")])
    s.execute("look", {}, "c1")
    s.event("RUN_ERROR")
    s.record("tool", "result", exec="x1", result=42)
    assert judged("RUN-9", s) == [OK]


def test_without_events_the_result_is_the_end():
    s = ended(channels="MTR")
    assert judged("RUN-9", s) == [OK]
    s.ask()
    assert "ended with its result (record 5)" in only("RUN-9", s).message


def test_without_events_an_exception_is_the_end():
    s = Story(channels="MTR")
    s.ask()
    s.raises()
    s.end("raised")
    s.execute("look", {}, "c1", 42)
    assert "ended with an exception" in only("RUN-9", s).message


def test_the_adapters_word_for_an_exception_is_no_late_event():
    s = ended()
    s.raises()
    s.event("RUN_ERROR", raised=True)
    assert judged("RUN-9", s) == [OK]


def test_another_runs_part_of_the_stream_is_not_this_runs():
    s = ended()
    s.event("RUN_STARTED", runId="child")
    s.ask()
    s.reply("43")
    s.event("RUN_FINISHED", runId="child")
    assert judged("RUN-9", s) == [OK]
    s.ask()
    assert "m3 asked" in only("RUN-9", s).message


@pytest.mark.parametrize("how", ["hung", "died", "cap"])
def test_a_run_that_the_kit_had_to_end_has_no_end_of_its_own(how):
    s = Story()
    s.event("RUN_STARTED")
    s.ask()
    s.end(how)
    s.ask()
    assert judged("RUN-9", s) == []
