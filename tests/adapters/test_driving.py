"""Runs that are cancelled, answered, killed or go on at once, with agents in this process and in one of their own."""

import _thread
import asyncio
import gc
import sys
import time
from contextlib import asynccontextmanager
from pathlib import Path

import driven_agents
import pytest

from conformance.adapters import command, in_process
from conformance.adapters.process import Patience
from conformance.dialect import dialect
from conformance.needs import NotPlayed
from conformance.reading.joined import view
from conformance.recording import from_bytes, to_bytes
from conformance.runner import Cell, play
from conformance.scenario import scenario

HERE = Path(__file__).parent
PATIENCE = Patience(ready_s=20, bye_s=5, term_s=0.2)
LOOK = {"description": "Looks.", "parameters": {"type": "object"}, "returns": {"seen": 7}}
TOOLS = {"look": LOOK, "wait": {"description": "Waits.", "parameters": {"type": "object"}, "hangs": True}}
CALLING = [{"say": "I look.", "call": "look"}, {"say": "It is 7.", "optional": True}]
AGAIN = {"user": "go on", "model": [{"say": "Done.", "optional": True}]}


@asynccontextmanager
async def here(name):
    async with in_process.connected(getattr(driven_agents, name)) as agent:
        yield agent


@asynccontextmanager
async def apart(name):
    program = command.Program((sys.executable, "-m", "conformance.agent_side", f"driven_agents:{name}"), None, HERE)
    async with command.connected(program, PATIENCE) as agent:
        yield agent


WAYS = {
    "blocking": (here, "BLOCKING"),
    "on a loop": (here, "ON_A_LOOP"),
    "a process": (apart, "BLOCKING"),
    "a process with a loop": (apart, "ON_A_LOOP"),
}


def plan(*runs, **more):
    data = {"id": "driven", "title": "t", "why": "w", "tools": TOOLS, "deadline_s": 5, "runs": list(runs)}
    return scenario(data | more)


def played(reach, name, one, cell=Cell()):  # noqa: B008 - frozen
    async def run():
        async with reach(name) as agent:
            recording = await play(agent, one, cell, dialect({}))
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return recording

    recording = asyncio.run(run())
    assert from_bytes(to_bytes(recording)) == recording
    return recording


def of(recording, kind):
    return [record.data for record in recording.records if record.kind == kind]


def order(recording, *kinds):
    return [record.kind for record in recording.records if record.kind in kinds]


def outcomes(recording):
    return [(one["run"], one["kind"]) for one in of(recording, "agent/outcome")]


def hows(recording):
    return {one["run"]: one["how"] for one in of(recording, "kit/run_end")}


@pytest.fixture(autouse=True)
def nothing_is_left():
    """Threads and descriptors are as many afterwards as before."""
    gc.collect()
    before = _held()
    yield
    gc.collect()
    for _ in range(100):
        if _held() <= before:
            break
        time.sleep(0.01)
    assert _held() <= before


def _held():
    return _thread._count() + len(list(Path("/proc/self/fd").iterdir()))  # threading does not count an agent's


@pytest.fixture(autouse=True, scope="module")
def warm():
    """What the first play of a process leaves for good is there before it is counted."""
    played(here, "BLOCKING", plan(AGAIN))
    played(apart, "BLOCKING", plan(AGAIN))


POINTS = {
    ("stream", False): ("model/reply", "kit/cancel"),
    ("stream", True): ("model/reply", "kit/cancel", "model/reply_done"),
    ("before_tools", False): ("model/reply", "model/reply_done", "kit/cancel"),
    ("in_tools", False): ("tool/start", "kit/cancel"),
    ("after_tools", False): ("tool/result", "kit/cancel"),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("point", "stream"), POINTS, ids=[f"{p}{'-streamed' * s}" for p, s in POINTS])
def test_a_run_is_cancelled_at_its_point_and_still_ends_as_it_owes(way, point, stream):
    one = plan({"user": "look", "model": CALLING, "cancel": point, "stream": stream}, AGAIN)
    recording = played(*WAYS[way], one)
    assert of(recording, "kit/cancel") == [{"run": "r1", "point": point}]
    expected = POINTS[point, stream]
    if "process" in way:
        # How it leaves the reply, and when, is its own affair.
        expected = expected[: expected.index("kit/cancel") + 1]
    seen = order(recording, *expected)
    assert seen[: len(expected)] == list(expected)
    first, second = view(recording).runs
    assert (first.cancel_point, second.cancel_point) == (point, None)
    assert recording.records[first.cancel_seq - 1].kind == "kit/cancel"
    assert hows(recording) == {"r1": "returned", "r2": "returned"}
    ends = dict(outcomes(recording))
    # An agent in a process of its own may be past the point before it hears of the cancel.
    assert ends["r1"] in (("interrupted",) if "process" not in way else ("interrupted", "answered"))
    assert ends["r2"] == "answered"
    if "process" not in way:
        late = [r.kind for r in recording.records[first.cancel_seq :] if r.data.get("run") == "r1"]
        assert not {"tool/start", "model/request"} & set(late)
    assert of(recording, "model/refused") == []


@pytest.mark.parametrize("way", WAYS)
def test_a_tool_that_hangs_lets_go_of_a_run_that_is_cancelled_in_it(way):
    one = plan({"user": "look", "model": [{"call": "wait"}], "cancel": "in_tools"}, AGAIN)
    recording = played(*WAYS[way], one)
    assert outcomes(recording) == [("r1", "interrupted"), ("r2", "answered")]
    assert of(recording, "tool/result") == []


def test_a_cancel_that_raises_ends_nothing_and_is_told_at_the_end():
    recording = played(here, "UNWILLING", plan({"user": "look", "model": CALLING, "cancel": "in_tools"}))
    assert outcomes(recording) == [("r1", "answered")]
    [end] = of(recording, "kit/run_end")
    assert end["stderr_tail"] == "the agent's cancel raised RuntimeError: no r1\n"


ASKS = TOOLS | {"look": LOOK | {"approval": True}}


@pytest.mark.parametrize("reach", [here, apart])
@pytest.mark.parametrize(("approved", "ran"), [(True, ["look"]), (False, [])])
def test_a_run_that_waits_is_resumed_with_the_answer(reach, approved, ran):
    runs = [
        {"user": "look", "model": [{"call": "look"}]},
        {"resume": [{"tool": "look", "approved": approved}], "model": [{"say": "Well."}]},
    ]
    recording = played(reach, "BLOCKING", plan(*runs, tools=ASKS))
    assert outcomes(recording) == [("r1", "waiting"), ("r2", "answered")]
    assert [one["tool"] for one in of(recording, "tool/start")] == ran
    given = of(recording, "kit/run_start")[1]["input"]
    [call] = [part["id"] for reply in of(recording, "model/reply") for part in reply["parts"] if "id" in part]
    answer = [{"interruptId": f"i-{call}", "status": "resolved", "payload": {"approved": approved}}]
    assert (given["messages"], given["resume"]) == ([], answer)
    assert [list(run.resumes) for run in view(recording).runs] == [[], answer]


def test_a_run_that_would_answer_what_nobody_asked_is_not_played():
    runs = [{"user": "look", "model": CALLING}, {"resume": [{"approved": True}], "model": [{"say": "Well."}]}]
    recording = played(here, "BLOCKING", plan(*runs, AGAIN))
    assert list(hows(recording)) == ["r1"]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("sessions", [("s1", "s1"), ("s1", "s2")], ids=["one session", "two sessions"])
def test_two_runs_go_on_at_once_and_each_gets_its_own_answer(way, sessions):
    texts = ("the first question", "another matter")
    runs = [
        {"user": text, "session": session, "model": [{"call": "look"}, {"say": f"To {text}."}]}
        for text, session in zip(texts, sessions, strict=True)
    ]
    recording = played(*WAYS[way], plan(runs[0], runs[1] | {"start": "with"}))
    kinds = order(recording, "kit/run_start", "model/request", "model/reply_done", "kit/run_end")
    assert kinds[:4] == ["kit/run_start", "kit/run_start", "model/request", "model/request"]
    assert {one["run"] for one in of(recording, "model/request")[:2]} == {"r1", "r2"}
    assert {one["run"]: one["text"] for one in of(recording, "agent/outcome")} == {
        f"r{number}": f"To {text}." for number, text in enumerate(texts, start=1)
    }
    assert sorted(one["run"] for one in of(recording, "tool/start")) == ["r1", "r2"]
    assert hows(recording) == {"r1": "returned", "r2": "returned"}
    assert of(recording, "model/refused") == []
    assert [run.began_with for run in view(recording).runs] == [(), ("r1",)]


@pytest.mark.parametrize("way", ["blocking", "on a loop"])
def test_a_run_that_hangs_ends_none_that_goes_on_beside_it(way):
    runs = [
        {"user": "the first question", "session": "s1", "model": [{"call": "wait"}]},
        {"user": "another matter", "session": "s2", "start": "with", "model": [{"call": "look"}, {"say": "Seven."}]},
    ]
    recording = played(*WAYS[way], plan(*runs, deadline_s=0.5))
    assert hows(recording) == {"r1": "hung", "r2": "returned"}
    assert outcomes(recording) == [("r2", "answered")]


def test_a_process_in_which_one_run_hangs_lives_until_the_other_has_ended():
    runs = [
        {"user": "the first question", "session": "s1", "model": [{"call": "wait"}]},
        {"user": "another matter", "session": "s2", "start": "with", "model": [{"call": "look"}, {"say": "Seven."}]},
    ]
    recording = played(apart, "BLOCKING", plan(*runs, deadline_s=1))
    assert hows(recording) == {"r1": "hung", "r2": "returned"}


#: What a store holds of the killed run, by the point: roles in order, and whether the call has its result.
STORED = {
    "stream": ["user"],
    "before_tools": ["user", "assistant"],
    "in_tools": ["user", "assistant"],
    "after_tools": ["user", "assistant", "tool"],
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("point", STORED)
def test_a_killed_agent_is_followed_by_a_fresh_one_that_is_given_the_stored_transcript(way, point):
    one = plan({"user": "look", "model": CALLING, "kill": point}, AGAIN)
    recording = played(*WAYS[way], one)
    assert of(recording, "kit/kill") == [{"run": "r1", "point": point}]
    assert hows(recording) == {"r1": "died", "r2": "returned"}
    assert outcomes(recording) == [("r2", "answered")]
    first, second = of(recording, "kit/run_start")
    assert first["session"] == second["session"]
    assert [message["role"] for message in second["input"]["messages"]] == [*STORED[point], "user"]
    assert [run.killed for run in view(recording).runs] == [True, False]
    kill = next(record.seq for record in recording.records if record.kind == "kit/kill")
    late = [r.kind for r in recording.records if r.seq > kill and r.source != "kit" and r.data.get("run") == "r1"]
    assert late == []


def test_an_agent_that_catches_its_own_death_asks_nothing_more():
    recording = played(here, "CATCHING", plan({"user": "look", "model": CALLING, "kill": "stream"}, AGAIN))
    assert hows(recording) == {"r1": "died", "r2": "returned"}
    assert [one["run"] for one in of(recording, "model/request")] == ["r1", "r2"]


def test_a_tool_that_hangs_is_left_after_so_much_of_the_scenarios_time():
    one = plan({"user": "look", "model": [{"call": "wait"}, {"say": "Late."}]})
    recording = played(here, "IMPATIENT", one)
    told = of(recording, "model/request")[1]["body"]["messages"][-1]["content"]
    assert told == '"Timeout True 2026-01-01T00:00:03+00:00"'
    assert order(recording, "tool/start", "tool/result", "tool/error") == ["tool/start"]
    assert outcomes(recording) == [("r1", "answered")]


@pytest.mark.parametrize(
    ("run", "lacks"),
    [
        ({"cancel": "stream"}, "capability cancel"),
        ({"knobs": {"gate": {"tool": "look"}}}, "knob gate"),
    ],
)
def test_what_the_agent_does_not_have_is_not_played(run, lacks):
    with pytest.raises(NotPlayed) as not_played:
        played(here, "BARE", plan({"user": "look", "model": CALLING} | run))
    assert not_played.value.excuse == lacks


@pytest.mark.parametrize("reach", [here, apart])
def test_knobs_and_the_models_window_are_told_to_the_agent(reach):
    knobs = {"tracing": False, "gate": {"tool": "look"}}
    one = plan(AGAIN | {"knobs": {"gate": {"tool": "wait"}}}, knobs=knobs, model={"context_window": 4000})
    recording = played(reach, "BLOCKING", one)
    assert of(recording, "kit/run_start")[0]["knobs"] == {"tracing": False, "gate": {"tool": "wait"}}
    assert view(recording).runs[0].knobs == {"tracing": False, "gate": {"tool": "wait"}}
