"""Which of the model's calls an execution is for, while the run goes on."""

import json

import pytest

from conformance.agent_side import RunInput
from conformance.dialect import Dialect
from conformance.recorder import Recorder
from conformance.scenario import scenario
from conformance.session import Session
from conformance.waiting_calls import MOST, WaitingCalls


def call(call_id, arguments="{}", name="look"):
    return {"type": "tool_call", "id": call_id, "name": name, "arguments": arguments}


TEXT = {"type": "text", "text": "I look."}

#: What was said in which run, what ran (run, name, arguments, the agent's own id), and whose id each is given.
CASES = {
    "the agent's id is taken as it is": (
        [("r1", [call("a"), call("b")])],
        [("r1", "look", {}, "b"), ("r1", "look", {}, "zz")],
        ["b", "zz"],
    ),
    "without one it is the first with equal arguments": (
        [("r1", [TEXT, call("a", '{"x": 1}'), call("b", '{"x":2}')])],
        [("r1", "look", {"x": 2}, None), ("r1", "look", {"x": 1.0}, None)],
        ["b", "a"],
    ),
    "equal calls run in the order said": (
        [("r1", [call("a"), call("b")])],
        [("r1", "look", {}, None), ("r1", "look", {}, None), ("r1", "look", {}, None)],
        ["a", "b", None],
    ),
    "a call that ran by its id waits no more": (
        [("r1", [call("a"), call("b")])],
        [("r1", "look", {}, "a"), ("r1", "look", {}, None)],
        ["a", "b"],
    ),
    "another name or other arguments are another call": (
        [("r1", [call("a", '{"x": 1}')])],
        [("r1", "find", {"x": 1}, None), ("r1", "look", {"x": True}, None), ("r1", "look", {}, None)],
        [None, None, None],
    ),
    "blank arguments are an empty object": ([("r1", [call("a", " ")])], [("r1", "look", {}, None)], ["a"]),
    "the run's own calls come before those that an earlier one left": (
        [("r1", [call("a")]), ("r2", [call("b")])],
        [("r2", "look", {}, None), ("r2", "look", {}, None)],
        ["b", "a"],
    ),
    "a call without an id is found, too": (
        [("r1", [call(None), call("b")])],
        [("r1", "look", {}, None), ("r1", "look", {}, None)],
        [None, "b"],
    ),
}


@pytest.mark.parametrize(("said", "ran", "ids"), CASES.values(), ids=CASES)
def test_an_execution_is_for_the_call_that_asked_for_it(said, ran, ids):
    waiting = WaitingCalls()
    for run, parts in said:
        waiting.said(run, parts)
    assert [waiting.taken(*one) for one in ran] == ids


def test_calls_that_are_never_run_do_not_heap_up():
    waiting = WaitingCalls()
    for number in range(2 * MOST):
        waiting.said("r1", [call(f"c{number}")])
    assert len(waiting._calls) == MOST
    assert waiting.taken("r1", "look", {}, None) == f"c{MOST}"


def test_a_template_finds_what_ran_for_a_call_though_the_agent_gave_no_id():
    tools = {
        "look": {
            "description": "Looks.",
            "parameters": {"type": "object"},
            "sequence": [{"returns": 1}, {"returns": 2}],
        }
    }
    calls = [{"name": "look", "id": "a", "args": {"x": 1}}, {"name": "look", "id": "b", "args": {"x": 2}}]
    model = [{"call": calls}, {"say": "a is {{ call.a }}, b is {{ call.b }}"}]
    base = {"id": "two", "title": "Looks twice.", "why": "A test asks.", "tools": tools}
    one = scenario(base | {"runs": [{"user": "Well?", "model": model}]})
    recorder = Recorder(one.clock)
    session = Session("s1", one, Dialect(), recorder)
    session.begin(RunInput("r1", "s1", {}), one.runs[0])
    asked = {"model": "m", "messages": [{"role": "user", "content": "Well?"}]}
    first = session.model.exchange("openai_chat", "/v1/chat/completions", asked, {})
    assert first.status == 200
    session.call_tool("look", {"x": 2})
    session.call_tool("look", {"x": 1})
    said = json.loads(json.dumps(first.body))["choices"][0]["message"]
    results = [
        {"role": "tool", "tool_call_id": "a", "content": "2"},
        {"role": "tool", "tool_call_id": "b", "content": "1"},
    ]
    second = {**asked, "messages": [*asked["messages"], said, *results]}
    session.model.exchange("openai_chat", "/v1/chat/completions", second, {})
    replies = [record.data for record in recorder.records if record.kind == "model/reply"]
    assert replies[1]["parts"][0]["text"] == "a is 2, b is 1"
    # The recording holds what crossed the border, which is no id.
    assert [record.data["call_id"] for record in recorder.records if record.kind == "tool/start"] == [None, None]
