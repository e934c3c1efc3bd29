"""HIS-5 and HIS-8 on recordings told by hand: how arguments are spelled, and in what order results stand."""

import pytest
from story import Story

from conformance.reading.joined import view
from conformance.rule import OK, Finding
from conformance.rules.history import RULES

BY_ID = {rule.id: rule for rule in RULES}
USER = {"role": "user", "content": "What is it?"}


def assistant(*calls):
    made = [{"id": i, "type": "function", "function": {"name": n, "arguments": a}} for n, a, i in calls]
    return {"role": "assistant", "content": None, "tool_calls": made}


def tool(call_id, content="42"):
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def judged(rule, story):
    read = view(story.recording())
    return BY_ID[rule].applies(read) or list(BY_ID[rule].check(read))


def messages(rule, story):
    return [found.message for found in judged(rule, story) if isinstance(found, Finding)]


def told(said, carried, **story):
    """The model writes these arguments, and the next request carries those."""
    s = Story(**story)
    s.ask()
    s.reply(calls=[("look", said, "c1")])
    s.ask(messages=[USER, assistant(("look", carried, "c1")), tool("c1", "Error: no JSON")])
    return s


@pytest.mark.parametrize("said", ['{"n": 1', "[1]", "null", '"{}"', "none"])
@pytest.mark.parametrize("carried", ["{}", '{"raw": "half"}', ""])
def test_arguments_that_became_an_object_are_right(said, carried):
    assert judged("HIS-5", told(said, carried)) == [OK]


@pytest.mark.parametrize("carried", ['{"n": 1', "[1]", "null", '"{}"'])
def test_arguments_that_stay_no_object_are_found_at_the_request_that_carries_them(carried):
    s = told('{"n": 1', carried)
    [found] = judged("HIS-5", s)
    assert found.message.startswith("m2: call 'c1' (look) of messages[1] carries the arguments ")
    assert s.records[found.seq - 1].data["call"] == "m2"


def test_arguments_that_were_an_object_and_still_are_prove_nothing():
    assert judged("HIS-5", told('{"n": 1}', '{"n": 1}')) == []
    assert judged("HIS-5", told("", "{}")) == []


def test_an_object_that_the_agent_broke_is_found():
    assert len(messages("HIS-5", told('{"n": 1}', '"{\\"n\\": 1}"'))) == 1


def test_a_text_that_stays_broken_in_later_requests_is_told_of_once():
    s = told('{"n": 1', '{"n": 1')
    s.ask(again=True)
    assert len(messages("HIS-5", s)) == 1


def test_a_broken_call_that_the_history_left_out_is_nothing_to_judge():
    s = told("[1]", "{}")
    s.body["messages"][1:] = []
    assert judged("HIS-5", s) == []


def batch(*rows, calls=(("look", "{}", "c1"), ("look", '{"n": 2}', "c2")), **story):
    """Two calls ran, and the next request has these messages behind the user's."""
    s = Story(**story)
    s.ask()
    s.reply(calls=calls)
    s.execute("look", {}, calls[0][2], 41)
    s.execute("look", {"n": 2}, calls[1][2], 42)
    s.ask(messages=[USER, *rows])
    return s


BOTH = assistant(("look", "{}", "c1"), ("look", '{"n": 2}', "c2"))


def test_results_in_call_order_are_right():
    assert judged("HIS-8", batch(BOTH, tool("c1"), tool("c2"))) == [OK]


def test_results_in_the_order_they_finished_are_found():
    [found] = messages("HIS-8", batch(BOTH, tool("c2"), tool("c1")))
    assert found.startswith(
        "m2: the result of call 'c1' (look) of m1 stands at messages[3], behind that of call 'c2' (look) of m1 at messages[2]"
    )


def test_an_order_that_stays_wrong_is_told_of_once():
    s = batch(BOTH, tool("c2"), tool("c1"))
    s.ask(messages=[USER, BOTH, tool("c2"), tool("c1"), USER])
    assert len(messages("HIS-8", s)) == 1


def test_calls_that_changed_places_with_their_results_are_found():
    other = assistant(("look", '{"n": 2}', "c2"), ("look", "{}", "c1"))
    assert len(messages("HIS-8", batch(other, tool("c2"), tool("c1")))) == 1


RIGHT_BUT_UNUSUAL = {
    "numbered anew": (assistant(("look", "{}", "x1"), ("look", '{"n": 2}', "x2")), tool("x1"), tool("x2")),
    "a message for each call": (
        assistant(("look", "{}", "c1")),
        tool("c1"),
        assistant(("look", '{"n": 2}', "c2")),
        tool("c2"),
    ),
    "written with other white space": (
        assistant(("look", "{ }", "x1"), ("look", '{"n":2}', "x2")),
        tool("x1"),
        tool("x2"),
    ),
}


@pytest.mark.parametrize("rows", RIGHT_BUT_UNUSUAL.values(), ids=RIGHT_BUT_UNUSUAL)
def test_an_unusual_history_in_call_order_is_right(rows):
    assert judged("HIS-8", batch(*rows)) == [OK]


UNDECIDED = {
    "one result": (BOTH, tool("c1")),
    "no call there": (),
}


@pytest.mark.parametrize("rows", UNDECIDED.values(), ids=UNDECIDED)
def test_fewer_than_two_results_have_no_order(rows):
    assert judged("HIS-8", batch(*rows)) == []


def test_ids_that_the_model_gave_twice_leave_the_order_open():
    same = (("look", "{}", "c1"), ("look", '{"n": 2}', "c1"))
    assert judged("HIS-8", batch(assistant(*same), tool("c1"), tool("c1"), calls=same)) == []


@pytest.mark.parametrize("rule", ["HIS-5", "HIS-8", "HIS-9"])
def test_a_history_in_words_has_no_calls_to_judge(rule):
    assert judged(rule, Story(dialect={"tool_history": "text"})) == "dialect"


@pytest.mark.parametrize("rule", ["HIS-5", "HIS-6", "HIS-8", "HIS-9"])
def test_a_single_request_is_nothing_to_judge(rule):
    s = Story()
    s.ask()
    s.reply("42")
    assert judged(rule, s) == []
