import dataclasses
import json
from datetime import UTC, datetime

import pytest

from conformance.scenario import Expect, Limits, ModelSpec, scenario
from fake_models.matching import When
from fake_models.messages import Cut, Stall, Usage
from fake_models.script import FOREVER, CallTurn, ErrorTurn, Turn
from fake_models.tools import Hangs, Large, Raises, Returns, Tool

LEAST = {"id": "least", "title": "t", "why": "w", "runs": [{"user": "hi", "model": [{"say": "ho"}]}]}

TURNS = [
    ({"say": "ho"}, Turn(say="ho")),
    ({"think": "hm", "answer": "ho"}, Turn(think="hm", answer="ho")),
    ({"call": "a"}, Turn(calls=(CallTurn("a"),))),
    ({"call": {"name": "a", "args": {"x": 1}}}, Turn(calls=(CallTurn("a", args={"x": 1}),))),
    ({"call": ["a", {"name": "b", "raw": "{x"}]}, Turn(calls=(CallTurn("a"), CallTurn("b", raw="{x")))),
    ({"call": {"name": "a", "id": "c9"}}, Turn(calls=(CallTurn("a", id="c9", id_shape="given"),))),
    ({"call": {"name": "a", "id": "missing"}}, Turn(calls=(CallTurn("a", id_shape="missing"),))),
    ({"call": {"name": "a", "id": "empty"}}, Turn(calls=(CallTurn("a", id_shape="empty"),))),
    ({"empty": "null", "repeat": "forever"}, Turn(empty="null", repeat=FOREVER)),
    (
        {"say": "x", "stop": "length", "usage": {"input": 3, "output": 4}},
        Turn(say="x", stop="length", usage=Usage(3, 4)),
    ),
    ({"say": "x", "usage": "none"}, Turn(say="x")),
    (
        {"error": {"status": 429, "code": "c", "type": "t", "message": "m", "retry_after": 0, "body": {"e": 1}}},
        Turn(error=ErrorTurn(429, "c", "t", "m", 0, {"e": 1})),
    ),
    ({"overflow": "openai"}, Turn(overflow="openai")),
    ({"say": "x", "cut": {"after_chunks": 2, "reset": True}}, Turn(say="x", broken=Cut(after_chunks=2, reset=True))),
    ({"cut": {"after_bytes": 9}}, Turn(broken=Cut(after_bytes=9))),
    ({"say": "x", "stall": {}}, Turn(say="x", broken=Stall(0))),
    (
        {"say": "x", "when": {"tools": ["a", "b"], "last": "tool", "round": 2}, "optional": True, "wait_s": 1.5},
        Turn(say="x", when=When(tools=("a", "b"), last="tool", round=2), optional=True, wait_s=1.5),
    ),
    (
        {"say": "x", "when": {"tools": "none", "call": "summary"}},
        Turn(say="x", when=When(tools="none", call="summary")),
    ),
]

OUTCOMES = [
    ({"returns": None}, (Returns(None),)),
    ({"raises": {"type": "KeyError", "message": "no"}}, (Raises("KeyError", "no"),)),
    ({"hangs": True}, (Hangs(),)),
    ({"large": {"bytes": 9}}, (Large(9),)),
    ({"sequence": [{"hangs": True}, {"returns": [1]}]}, (Hangs(), Returns([1]))),
]


@pytest.mark.parametrize(("written", "turn"), TURNS)
def test_a_turn_is_built_from_each_way_to_write_it(written, turn):
    data = LEAST | {"runs": [{"user": "hi", "model": [written]}]}

    assert scenario(data).runs[0].script.turns == (turn,)


@pytest.mark.parametrize(("written", "sequence"), OUTCOMES)
def test_a_tool_is_built_from_each_outcome(written, sequence):
    data = LEAST | {"tools": {"a": {"description": "d", "parameters": {}, "counts": True} | written}}

    assert scenario(data).tools == {"a": Tool("a", "d", {}, sequence, counts=True)}


def test_what_is_left_out_has_its_default():
    built = scenario(LEAST)

    assert built.clock == datetime(2026, 1, 1, tzinfo=UTC)
    assert (built.deadline_s, built.cap) == (5, 60)
    assert (built.limits, built.model) == (Limits(), ModelSpec(None, "bytes/4", None))
    assert (built.runs[0].session, built.runs[0].start, built.runs[0].stream, built.runs[0].cancel) == (
        "s1",
        "after",
        None,
        None,
    )


def test_a_runs_limits_and_tool_choice_are_put_over_the_scenarios():
    runs = [{"user": "a", "model": [], "limits": {"retries": 1}}, {"user": "b", "model": [], "tool_choice": "none"}]

    first, second = scenario(
        LEAST | {"limits": {"max_iters": 3, "retries": 0}, "tool_choice": "auto", "runs": runs}
    ).runs

    assert (first.limits, first.tool_choice) == (Limits(max_iters=3, retries=1), "auto")
    assert (second.limits, second.tool_choice) == (Limits(max_iters=3, retries=0), "none")


def test_a_run_without_a_user_text_resumes():
    runs = [{"user": "a", "model": []}, {"resume": [{"approved": True}], "model": []}]

    assert [(run.user, run.resume) for run in scenario(LEAST | {"runs": runs}).runs] == [
        ("a", None),
        (None, [{"approved": True}]),
    ]


def test_a_runs_knobs_are_put_over_the_scenarios():
    runs = [{"user": "a", "model": [], "knobs": {"tracing": True}}, {"user": "b", "model": [], "kill": "stream"}]

    first, second = scenario(LEAST | {"knobs": {"tracing": False, "debug": True}, "runs": runs}).runs

    assert (first.knobs, first.kill) == ({"tracing": True, "debug": True}, None)
    assert (second.knobs, second.kill) == ({"tracing": False, "debug": True}, "stream")


def test_a_history_message_without_an_id_gets_one_by_its_place():
    history = [{"role": "user", "content": "a"}, {"id": "x", "role": "assistant", "content": "b"}]

    assert [message["id"] for message in scenario(LEAST | {"history": history}).history] == ["h1", "x"]


def test_predictions_are_parted_from_their_condition():
    block = {"when": {"on_limit": "stop"}, "model_calls": 2}

    assert scenario(LEAST | {"expect": [block]}).expect == (Expect({"on_limit": "stop"}, {"model_calls": 2}),)


@pytest.mark.parametrize("written", [turn for turn, _ in TURNS])
def test_its_own_data_gives_a_scenario_back_even_through_json(written):
    data = LEAST | {
        "clock": "2026-09-29T14:39:32+08:00",
        "tools": {f"t{n}": {"description": "d", "parameters": {}} | written for n, (written, _) in enumerate(OUTCOMES)},
        "runs": [{"user": "hi", "model": [written], "expect": [{"text": None}]}],
    }
    built = scenario(data)

    assert scenario(built.data) == built
    assert scenario(json.loads(json.dumps(built.data))) == built


def test_a_scenario_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        scenario(LEAST).id = "other"
