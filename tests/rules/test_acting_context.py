"""ACT-11 on recordings told by hand: what the model is shown of a tool, and what the tool is told of its run."""

import pytest
from story import Story

from conformance.reading.joined import view
from conformance.rule import OK, Finding
from conformance.rules.acting_context import ACT_11

OWN = {"type": "object", "properties": {"n": {"type": "integer"}, "user_id": {"type": "string"}}}
TOOLS = {"look": {"description": "Looks.", "parameters": OWN, "returns": 42}}


def judged(story):
    return list(ACT_11.check(view(story.recording())))


def offered(**properties):
    s = Story(tools=TOOLS)
    shown = {**OWN, "properties": {**OWN["properties"], **properties}}
    s.ask(extra={"tools": [{"type": "function", "function": {"name": "look", "description": "", "parameters": shown}}]})
    s.reply("42")
    return s


STRING = {"type": "string"}


@pytest.mark.parametrize(
    "name", ["run_id", "threadId", "ctx", "tool_call_id", "run_context", "state", "injected_store"]
)
def test_a_parameter_that_the_agent_has_to_fill_in_is_not_to_be_shown(name):
    [found] = judged(offered(**{name: STRING}))
    assert isinstance(found, Finding)
    assert f"m1 offers look with the parameter {name!r}" in found.message


@pytest.mark.parametrize("name", ["reason", "security_risk", "explanation", "statement", "run_identifier_of_the_train"])
def test_a_parameter_that_is_asked_of_the_model_on_purpose_is_no_context(name):
    assert judged(offered(**{name: STRING})) == [OK]


def test_a_tool_that_is_shown_as_it_is_may_ask_for_what_sounds_like_context():
    assert judged(offered()) == [OK]


def test_a_tool_that_the_scenario_does_not_know_is_the_agents_own():
    s = Story(tools=TOOLS)
    own = {"name": "handoff", "description": "", "parameters": {"type": "object", "properties": {"context": STRING}}}
    s.ask(extra={"tools": [{"type": "function", "function": own}]})
    assert judged(s) == []


def two_runs(first, then):
    """A call in each of two runs of a session, with the ids that the tool was told: the model's are c1 and c2."""
    s = Story(tools=TOOLS)
    s.ask(tools=None)
    s.reply(calls=[("look", {"n": 1}, "c1")])
    s.execute("look", {"n": 1}, first, 42)
    s.end()
    s.begin("And now?")
    s.plan["runs"].append({"user": "And now?", "model": [{"answer": "42"}]})
    s.ask(tools=None)
    s.reply(calls=[("look", {"n": 2}, "c2")])
    s.execute("look", {"n": 2}, then, 43)
    return s


def test_a_tool_that_is_told_of_a_call_of_the_run_before_is_found():
    ok, found = judged(two_runs("c1", "c1"))
    assert ok is OK
    assert (
        "x2: look ran for call 'c2' (look) of m2, and was handed the id 'c1' of call 'c1' (look) of m1 in r1"
        in found.message
    )


@pytest.mark.parametrize(("first", "then"), [("c1", "c2"), ("t-1", "t-2"), ("t-1", "t-1"), ("c0", "c1")])
def test_a_tool_that_is_told_of_its_own_call_or_of_a_number_of_the_agents_own_is_right(first, then):
    assert judged(two_runs(first, then)) == [OK, OK]


def test_a_tool_that_is_told_of_no_call_is_nothing_to_judge():
    assert judged(two_runs(None, None)) == []
