"""What the reference does with answers that are calls, agents inside a run, and its rarer dialects, on a bench of its own."""

from types import SimpleNamespace

import pytest

from conformance.reference.acting import Refused, not_run, untyped
from conformance.reference.answering import TAKEN, kept_back, settled, tools
from conformance.reference.children import is_child
from conformance.reference.children import tools as children
from conformance.reference.hearing import Call, Said
from conformance.reference.history import as_text, round_messages, told_apart
from conformance.reference.steps import Execution

DIALECT = SimpleNamespace(answer_by="tool:done.text")
ANSWER = Refused("answer", "It is 42.")


def said(*tools, ids=()):
    calls = tuple(
        Call(f"c{n}", tool, "{}", given) for n, (tool, given) in enumerate(zip(tools, ids or "abc", strict=False))
    )
    return Said("r", "", "", calls, "tool_calls", None, "")


def test_the_answer_tool_takes_one_text():
    [tool] = tools(DIALECT)
    assert (tool["name"], tool["parameters"]["required"]) == ("done", ["text"])
    assert tools(SimpleNamespace(answer_by="text")) == []


def test_a_call_of_the_answer_tool_is_nothing_to_run():
    assert kept_back(Execution("done", {"text": "It is 42."}, "c1"), DIALECT) == ANSWER
    other = Execution("look", {}, "c1")
    assert kept_back(other, DIALECT) is other


@pytest.mark.parametrize("place", [0, 1, 2])
def test_an_answer_stands_wherever_it_is_once_its_siblings_are_done(place):
    came = ["fine", "fine"]
    came.insert(place, ANSWER)
    found, answer = settled(said("a", "b", "c"), came)
    assert answer == "It is 42."
    assert found[place].text == TAKEN


@pytest.mark.parametrize("sibling", [not_run("no time"), Refused("tool_exception", "Error: Off: off")])
def test_an_answer_beside_what_was_not_done_is_not_taken(sibling):
    found, answer = settled(said("done", "look"), [ANSWER, sibling])
    assert answer is None
    assert "read first what came of look" in found[0].text
    assert found[1] is sibling


def test_the_last_of_several_answers_stands():
    found, answer = settled(said("done", "done"), [Refused("answer", "41"), ANSWER])
    assert answer == "It is 42."
    assert "a later one took its place" in found[0].text


def test_a_child_is_offered_as_a_tool_that_takes_a_task():
    knobs = {"subagents": {"scout": {"description": "Scouts.", "max_iters": 2, "tools": []}}}
    [tool] = children(knobs)
    assert (tool["name"], tool["description"], tool["parameters"]["required"]) == ("scout", "Scouts.", ["task"])
    run = SimpleNamespace(given=SimpleNamespace(knobs=knobs))
    assert is_child(run, Execution("scout", {"task": "x"}, "c1"))
    assert not is_child(run, Execution("look", {}, "c1"))


def test_a_schema_without_types_keeps_its_names_and_what_is_required():
    schema = {
        "type": "object",
        "properties": {"n": {"type": "integer"}},
        "required": ["n"],
        "additionalProperties": False,
    }
    assert untyped(schema) == {
        "type": "object",
        "properties": {"n": {}},
        "required": ["n"],
        "additionalProperties": False,
    }


def test_a_history_in_words_holds_no_tool_message_and_every_result():
    told = as_text([{"role": "user", "content": "Look."}, *round_messages(said("look"), ["142 cm"])])
    assert [one["role"] for one in told] == ["user", "assistant", "user"]
    assert "142 cm" in told[2]["content"]
    assert "look" in told[1]["content"]
    assert not any("tool_calls" in one for one in told)


@pytest.mark.parametrize(
    ("ids", "apart"), [(("a", "b"), True), (("a", ""), False), (("a", "a"), False), (("a", "old"), False)]
)
def test_calls_are_told_apart_by_ids_that_nothing_else_has(ids, apart):
    history = [{"role": "assistant", "tool_calls": [{"id": "old"}]}]
    assert told_apart(said("look", "look", ids=ids), history) is apart
