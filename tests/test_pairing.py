"""Results find their calls by id within their row, and calls of a reply are found again under other ids."""

import pytest

from conformance.reading.pairing import align, arguments, pair
from fake_models.messages import Message, ToolCall


def called(*ids, name="look", raw="{}"):
    return Message("assistant", tool_calls=tuple(ToolCall(one, name, raw) for one in ids))


def result(call_id, text="42"):
    return Message("tool", text, tool_call_id=call_id)


USER = Message("user", "What is it?")

ROWS = {
    "one call, one result": ([USER, called("a"), result("a")], [([2], [])], []),
    "no result": ([USER, called("a"), USER], [([], [])], []),
    "parallel calls answered in another order": (
        [called("a", "b"), result("b"), result("a")],
        [([2], []), ([1], [])],
        [],
    ),
    "two results for one call": ([called("a"), result("a"), result("a")], [([1, 2], [])], []),
    "a result behind another message": ([called("a"), USER, result("a")], [([], [2])], []),
    "a result before its call": ([result("a"), called("a")], [([], [])], [(0, None)]),
    "a result of no call": ([USER, result("a")], [], [(1, None)]),
    "a result with another id in the row": ([called("a"), result("b")], [([], [])], [(1, 0)]),
    "equal ids in one row go in order": ([called("a", "a"), result("a"), result("a")], [([1], []), ([2], [])], []),
    "missing ids go in order": ([called(None, None), result(None), result(None)], [([1], []), ([2], [])], []),
    "an id used again belongs to its own row": (
        [called("a"), result("a"), called("a"), result("a")],
        [([1], []), ([3], [])],
        [],
    ),
    "nothing at all": ([], [], []),
}


@pytest.mark.parametrize(("messages", "calls", "orphans"), ROWS.values(), ids=ROWS)
def test_results_belong_to_the_calls_of_their_row(messages, calls, orphans):
    pairs = pair(messages)
    assert [([r.index for r in one.results], [r.index for r in one.late]) for one in pairs.calls] == calls
    assert [(one.result.index, one.behind) for one in pairs.orphans] == orphans


def test_a_call_says_all_that_its_results_say():
    [one] = pair([called("a"), result("a", "first"), USER, result("a", None)]).calls
    assert one.content == "first\n"


def calls(*triples):
    return [ToolCall(one, name, raw) for one, name, raw in triples]


ALIGNED = {
    "the same ids": (calls(("a", "look", "{}")), [called("a")], [0]),
    "ids numbered anew": (calls(("a", "look", "{}"), ("b", "look", "{}")), [called("x1"), called("x2")], [0, 1]),
    "ids shifted by one": (
        calls(("call_1", "look", "{}"), ("call_2", "look", "{}")),
        [called("call_0"), called("call_1")],
        [0, 1],
    ),
    "the older call dropped": (calls(("a", "look", "{}"), ("b", "look", "{}")), [called("b")], [None, 0]),
    "the older call dropped and ids anew": (calls(("a", "look", "{}"), ("b", "look", "{}")), [called("x")], [None, 0]),
    "parallel calls in another order": (
        calls(("a", "look", '{"n": 1}'), ("b", "look", '{"n": 2}')),
        [called("b", raw='{"n":2}'), called("a", raw='{"n":1}')],
        [1, 0],
    ),
    "equal calls in another order": (
        calls(("a", "look", "{}"), ("b", "look", '{"n": 2}'), ("c", "look", "{}")),
        [called("c"), called("b", raw='{"n": 2}'), called("a")],
        [2, 1, 0],
    ),
    "equal calls in another order, one id anew": (
        calls(("a", "look", "{}"), ("b", "look", "{}")),
        [called("b"), called("x")],
        [0, 1],
    ),
    "equal calls under one id, mended": (
        calls(("a", "look", "{}"), ("a", "look", "{}")),
        [called("a"), called("a-2")],
        [0, 1],
    ),
    "arguments repaired, ids anew": (calls(("a", "look", "{oops")), [called("x")], [0]),
    "another tool": (calls(("a", "look", "{}")), [called("a", name="find")], [None]),
    "not carried": (calls(("a", "look", "{}")), [], [None]),
}


@pytest.mark.parametrize(("said", "messages", "places"), ALIGNED.values(), ids=ALIGNED)
def test_calls_are_found_again_in_a_request(said, messages, places):
    carried = pair(messages).calls
    found = align(said, carried)
    assert [None if one is None else carried.index(one) for one in found] == places


@pytest.mark.parametrize(
    ("text", "value"), [("", {}), (" \n", {}), ('{"a":1}', {"a": 1}), ("[1]", [1]), ("{oops", "{oops")]
)
def test_arguments_are_a_value_or_the_text_they_are(text, value):
    assert arguments(text) == value
