"""ACT-6, ACT-8 and ACT-13 on recordings told by hand: what runs beside other calls, in replies cut short, and through failures."""

import pytest
from story import Story

from conformance.reading.joined import view
from conformance.rule import OK, SHOULD, Finding
from conformance.rules.acting import RULES
from conformance.rules.history import RULES as HISTORY

BY_ID = {rule.id: rule for rule in RULES}
[HIS_4] = [rule for rule in HISTORY if rule.id == "HIS-4"]
USER = {"role": "user", "content": "What is it?"}
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}}
TOOLS = {
    "look": {"description": "Looks.", "parameters": SCHEMA, "returns": 42},
    "find": {"description": "Finds.", "parameters": SCHEMA, "returns": 7},
}
CUT = {"cut": {"after_chunks": 2, "after_bytes": None, "reset": False}}


def judged(rule, story):
    read = view(story.recording())
    return BY_ID[rule].applies(read) or list(BY_ID[rule].check(read))


def one(rule, story):
    """The only finding."""
    [finding] = [found for found in judged(rule, story) if isinstance(found, Finding)]
    return finding


def said(*calls, stop=None, fault=None, by="kit", **story):
    s = Story(tools=TOOLS, **story)
    s.ask(extra={"stream": True} if fault else None)
    s.reply(calls=calls, stop=stop, fault=fault, by=by)
    return s


WHOLE = ("look", {"n": 1}, "c1")
HALF = ("look", '{"n": 1', "c1")


@pytest.mark.parametrize("call", [WHOLE, HALF, ("look", "", "c1")])
def test_a_call_of_a_reply_cut_by_length_that_never_ran_is_right(call):
    assert judged("ACT-6", said(call, stop="length")) == [OK]


@pytest.mark.parametrize("stop", ["tool_calls", "stop", "filter"])
def test_a_reply_that_was_not_cut_by_length_is_nothing_to_judge(stop):
    s = said(WHOLE, stop=stop)
    s.execute("look", {"n": 1}, "c1", 42)
    assert judged("ACT-6", s) == []


def test_half_arguments_that_ran_are_found_at_the_execution():
    s = said(HALF, stop="length")
    at = s.execute("look", {"n": 1}, "c1", 42)
    found = one("ACT-6", s)
    assert (found.seq, found.level) == (at, None)
    assert "x1: call 'c1' (look) of m1 ran with {\"n\": 1}, but the length limit cut it" in found.message


def test_a_whole_call_of_a_cut_reply_that_ran_is_a_warning():
    s = said(WHOLE, stop="length")
    s.execute("look", {"n": 1}, "c1", 42)
    assert one("ACT-6", s).level is SHOULD


def test_a_call_said_again_after_the_cut_may_run():
    s = said(WHOLE, stop="length")
    s.history.pop()
    s.ask()
    s.reply(calls=[("look", {"n": 1}, "c2")])
    s.execute("look", {"n": 1}, None, 42)
    assert judged("ACT-6", s) == [OK]


def test_a_tool_that_rejected_half_arguments_did_not_run():
    s = said(HALF, stop="length")
    s.execute("look", {}, "c1", error=("ArgumentError", "n is missing"), rejected=True)
    assert judged("ACT-6", s) == [OK]


@pytest.mark.parametrize("arguments", [{}, {"n": 2}])
def test_a_call_of_a_broken_stream_that_ran_with_other_arguments_is_found(arguments):
    s = said(WHOLE, fault=CUT, by="cut")
    s.execute("look", arguments, "c1", 42)
    assert "but its stream broke off, and its arguments were not complete" in one("ACT-6", s).message


def test_a_call_that_was_whole_before_the_stream_broke_is_not_half():
    s = said(WHOLE, fault=CUT, by="cut")
    s.execute("look", {"n": 1}, "c1", 42)
    assert judged("ACT-6", s) == []


def test_what_ran_for_two_calls_of_a_broken_stream_is_told_apart_by_their_ids_whichever_ran_first():
    s = said(
        WHOLE,
        ("look", {"n": 2}, "c2"),
        fault={"cut": {"after_chunks": 4, "after_bytes": None, "reset": False}},
        by="cut",
    )
    s.execute("look", {}, "c2", error=("ArgumentError", "n is missing"), rejected=True)
    s.execute("look", {"n": 1}, "c1", 42)
    assert [found for found in judged("ACT-6", s) if found is not OK] == []


def test_a_call_of_a_broken_stream_that_never_ran_is_right():
    assert judged("ACT-6", said(WHOLE, fault=CUT, by="cut")) == [OK]


def test_a_break_before_the_call_began_proves_nothing():
    early = {"cut": {"after_chunks": 1, "after_bytes": None, "reset": False}}
    assert judged("ACT-6", said(WHOLE, fault=early, by="cut")) == []


def test_a_broken_body_that_was_not_streamed_proves_nothing():
    s = Story(tools=TOOLS)
    s.ask()
    s.reply(calls=[WHOLE], fault=CUT, by="cut")
    assert judged("ACT-6", s) == []


TWO = (("look", {"n": 1}, "c1"), ("find", {"n": 2}, "c2"))


def batch(ran=TWO, values=("red", "blue"), contents=None, *, calls=TWO, **story):
    """A reply with these calls, what ran for it, what their results say, and the next request."""
    s = said(*calls, **story)
    for place, (tool, arguments, call_id) in enumerate(ran):
        s.execute(tool, arguments, call_id, values[place], content=(contents or values)[place])
    s.ask()
    s.reply("42")
    return s


def test_parallel_calls_with_their_own_results_are_right():
    assert judged("ACT-8", batch()) == [OK, OK]
    assert judged("ACT-8", batch(ran=[TWO[1], TWO[0]], values=("blue", "red"))) == [OK, OK]


def test_a_single_call_is_no_batch():
    assert judged("ACT-8", batch(ran=[WHOLE], calls=[WHOLE])) == []


def test_swapped_results_are_found_at_the_request():
    found = [f.message for f in judged("ACT-8", batch(contents=("blue", "red")))]
    assert found[0] == (
        "m2: the result of call 'c1' (look) of m1 holds what call 'c2' (find) of m1 gave, and not what its own tool gave, "
        '"red"; it says "blue"'
    )
    assert len(found) == 2


def test_a_call_that_its_sibling_pushed_out_is_found():
    assert one("ACT-8", batch(ran=[WHOLE])).message == (
        "call 'c2' (find) of m1 never ran, said beside c1; expected all calls of a reply to run"
    )


NOT_SWAPPED = {
    "equal values": (("red", "red"), None),
    "one lost, which is HIS-10's": (("red", "blue"), ("", "blue")),
    "both in each": (("red", "blue"), ("red blue", "red blue")),
    "true and 1 tell nothing": (({"a": "red"}, {"ok": True, "n": 1}), ("true 1", "true 1")),
}


@pytest.mark.parametrize(("values", "contents"), NOT_SWAPPED.values(), ids=NOT_SWAPPED)
def test_what_cannot_be_told_apart_is_not_called_swapped(values, contents):
    assert [f for f in judged("ACT-8", batch(values=values, contents=contents)) if f is not OK] == []


def test_results_in_words_have_no_call_to_stand_at():
    assert judged("ACT-8", batch(contents=("blue", "red"), dialect={"tool_history": "text"})) == [OK, OK]


def test_ids_given_twice_leave_open_whose_result_it_is():
    same = (("look", {"n": 1}, "c1"), ("find", {"n": 2}, "c1"))
    assert judged("ACT-8", batch(ran=same, contents=("blue", "red"), calls=same)) == [OK, OK]


def test_a_sibling_of_a_call_that_cannot_run_runs():
    calls = [("nope", {}, "c1"), ("find", {"n": 2}, "c2")]
    assert judged("ACT-8", batch(ran=[TWO[1]], values=("blue",), calls=calls)) == [OK]
    assert "never ran" in one("ACT-8", batch(ran=[], calls=calls)).message
    assert judged("ACT-8", batch(ran=[], calls=calls, dialect={"unknown_tool": "raise"})) == []


def test_a_failure_ends_the_batch_only_where_declared():
    def failed(**story):
        s = said(*TWO, **story)
        s.execute("look", {"n": 1}, "c1", error=("ValueError", "boom"))
        return s

    assert judged("ACT-8", failed(dialect={"tool_exception": "raise"})) == [OK]
    assert "call 'c2' (find) of m1 never ran" in one("ACT-8", failed()).message


def test_a_failure_that_stands_at_its_sibling_is_found():
    s = said(*TWO)
    s.execute("look", {"n": 1}, "c1", error=("ValueError", "disk 7 is full"), content="blue")
    s.execute("find", {"n": 2}, "c2", "blue")
    s.ask()
    assert "holds what call 'c2' (find) of m1 gave" in one("ACT-8", s).message


def outage(*, again=0, said_again=False, ask_again=True):
    """A tool runs, the next request fails, and the tool runs so often again."""
    s = said(WHOLE)
    s.execute("look", {"n": 1}, "c1", 42)
    s.ask()
    s.fail(503)
    for _ in range(again):
        s.execute("look", {"n": 1}, "c1", 42, keep=False)
    if ask_again:
        s.ask(again=True)
        if said_again:
            s.reply(calls=[("look", {"n": 1}, "c2")])
            s.execute("look", {"n": 1}, "c2", 42)
        else:
            s.reply("42")
    return s


def test_a_tool_that_ran_once_through_an_outage_is_right():
    assert judged("ACT-13", outage()) == [OK]
    assert judged("ACT-13", outage(ask_again=False)) == [OK]


def test_a_tool_that_ran_again_after_an_outage_is_found():
    s = outage(again=1)
    found = one("ACT-13", s)
    assert s.records[found.seq - 1].data["exec"] == "x2"
    assert "call 'c1' (look) of m1 ran 2 times (x1, x2), with the failure of m2 in between" in found.message


def test_an_equal_call_that_the_model_made_after_an_outage_runs_too():
    assert judged("ACT-13", outage(said_again=True)) == [OK]


def test_without_a_failure_there_is_nothing_to_judge():
    s = said(WHOLE)
    s.execute("look", {"n": 1}, "c1", 42)
    s.execute("look", {"n": 1}, "c1", 42)
    s.ask()
    s.reply("42")
    assert judged("ACT-13", s) == []


def broken_off(*executions, again=WHOLE, carried=False, stream=True):
    """A stream breaks off in a call, and the reply is asked for again; executions are (before or after it, arguments)."""
    s = said(WHOLE, fault=CUT, by="cut") if stream else Story(tools=TOOLS)
    for when, arguments in executions:
        if when == "before":
            s.execute("look", arguments, "c1", 42, keep=False)
    if carried:
        made = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        s.history += [{"role": "assistant", "content": None, "tool_calls": [made]}]
        s.answer("c1", "42")
    s.ask()
    s.reply(calls=[again])
    for when, arguments in executions:
        if when == "after":
            s.execute("look", arguments, again[2], 42)
    s.ask()
    s.reply("42")
    return s


def test_a_call_that_runs_once_over_a_break_is_right():
    assert judged("ACT-13", broken_off(("after", {"n": 1}))) == [OK]
    assert judged("ACT-13", broken_off(("before", {"n": 1}))) == [OK]


@pytest.mark.parametrize("again", ["c1", "another"])
def test_a_call_that_ran_before_its_stream_broke_serves_the_reply_that_was_asked_for_again(again):
    find = ("find", {"n": 2}, "c2")
    s = said(WHOLE, find, fault={"cut": {"after_chunks": 4, "after_bytes": None, "reset": True}}, by="cut")
    s.execute("look", {"n": 1}, "c1", 42, keep=False)
    s.ask(again=True)
    s.reply(calls=[("look", {"n": 1}, again), find])
    s.answer(again, "42")
    s.execute("find", {"n": 2}, "c2", 7)
    s.ask()
    s.reply("49")
    for rule in ("ACT-1", "ACT-8", "ACT-13"):
        assert [found for found in judged(rule, s) if found is not OK] == [], rule
    # It never needs an error result either: it ran.
    assert [found for found in HIS_4.check(view(s.recording())) if found is not OK] == []


def test_what_ran_before_a_break_serves_no_call_with_other_arguments():
    s = broken_off(("before", {"n": 1}), again=("look", {"n": 2}, "c1"))
    assert "never ran" in one("ACT-1", s).message


def test_a_call_that_ran_from_the_broken_and_from_the_whole_reply_is_found():
    found = one("ACT-13", broken_off(("before", {"n": 1}), ("after", {"n": 1})))
    assert "ran 2 times (x1, x2), with the failure of m1 in between" in found.message


def test_a_call_that_no_reply_made_run_is_found():
    assert "call 'c1' (look) of m2 never ran, and m1 failed" in one("ACT-13", broken_off()).message


def test_other_arguments_after_a_break_are_a_new_call():
    assert judged("ACT-13", broken_off(("after", {"n": 2}), again=("look", {"n": 2}, "c1"))) == [OK]


def test_a_broken_reply_taken_for_whole_is_followed_by_a_further_call():
    assert judged("ACT-13", broken_off(("before", {}), ("after", {"n": 1}), carried=True)) == []


def named_alike(*ran, second=("look", {"n": 2}, "c1"), **story):
    s = said(WHOLE, **story)
    s.execute("look", {"n": 1}, "c1", 42)
    s.ask()
    s.reply(calls=[second])
    for arguments in ran:
        s.execute("look", arguments, "c1", 43)
    s.ask()
    s.reply("42")
    return s


def test_the_same_id_with_other_arguments_is_a_new_call():
    assert judged("ACT-13", named_alike({"n": 2})) == [OK]
    assert "has the id of call 'c1' (look) of m1, which asked for something else, and never ran" in (
        one("ACT-13", named_alike()).message
    )


def test_the_same_id_with_the_same_arguments_is_left_open():
    assert judged("ACT-13", named_alike(second=WHOLE)) == []


def test_an_agent_that_refuses_such_ids_owes_no_run():
    assert judged("ACT-13", named_alike(dialect={"bad_ids": "refuse"})) == []


def resumed(*, failed):
    """A run ends, and in the next one a tool runs that only the first one called."""
    s = said(WHOLE)
    s.execute("look", {"n": 1}, "c1", 42)
    s.ask()
    if failed:
        s.fail(500)
    else:
        s.reply("42")
    s.end()
    s.begin("And now?")
    s.plan["runs"].append({"user": "And now?", "model": [{"answer": "42"}]})
    s.execute("look", {"n": 1}, "c1", 42)
    s.ask()
    s.reply("42")
    return s


def test_what_ran_before_a_failure_is_not_done_again_by_the_next_run():
    found = [f for f in judged("ACT-13", resumed(failed=True)) if f is not OK]
    assert ["in which nobody called it, and had run as x1" in f.message for f in found] == [True]


def test_a_run_that_nothing_failed_in_is_acting_once_and_not_this_clause():
    assert judged("ACT-13", resumed(failed=False)) == []
