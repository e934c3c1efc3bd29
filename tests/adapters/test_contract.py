"""
What every way to reach an agent holds to, whatever the agent does: the run ends as it should be told, the next scenario can
be played, and nothing of the agent is left.
"""

import asyncio
import gc
import re
import sys
import threading
import time
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import zoo_agui
import zoo_in_process

from conformance.adapters import agui, command, in_process
from conformance.adapters.process import Patience
from conformance.dialect import dialect
from conformance.recording import from_bytes, to_bytes
from conformance.runner import Cell, play
from conformance.scenario import scenario

ZOO = Path(__file__).with_name("zoo_command.py")
PATIENCE = Patience(ready_s=20, bye_s=5, term_s=0.2)


@asynccontextmanager
async def by_command(way):
    async with command.connected(command.Program((sys.executable, str(ZOO), way)), PATIENCE) as agent:
        yield agent


@asynccontextmanager
async def by_python(way):
    async with in_process.connected(zoo_in_process.agent(way)) as agent:
        yield agent


@asynccontextmanager
async def by_agui(way):
    async with zoo_agui.served(way) as url, agui.connect(f"{url}#sessions") as agent:
        yield agent


KINDS = {"command": by_command, "python": by_python, "agui": by_agui}

#: What goes wrong, and how each kind of agent's run then ends. An agent in the kit's own process has no lines, no process and
#: no streams of its own, and its death is a SystemExit. One behind a URL has no process that the kit could see.
ENDS = {
    "normal": {"command": "returned", "python": "returned", "agui": "returned"},
    "exception": {"command": "raised", "python": "raised", "agui": "raised"},
    "hang": {"command": "hung", "python": "hung", "agui": "hung"},
    "deaf_to_term": {"command": "hung"},
    "death_in_mid_event": {"command": "died", "python": "raised", "agui": "died"},
    "close_before_the_end": {"command": "died", "python": "returned", "agui": "returned"},
    "garbage_line": {"command": "died", "python": "returned", "agui": "returned"},
    "unknown_type": {"command": "died"},
    "run_of_nobody": {"command": "died"},
    "half_a_line": {"command": "hung", "agui": "hung"},
    "endless_line": {"command": "died", "agui": "cap"},
    "flood_of_events": {"command": "cap", "python": "cap", "agui": "cap"},
    "flood_on_stderr": {"command": "returned", "python": "returned"},
    "child_left_behind": {"command": "died"},
    "daemon_left_behind": {"command": "died"},
}
CASES = [(kind, way, how) for way, kinds in ENDS.items() for kind, how in kinds.items()]


def plan(user, **more):
    run = {"user": user, "model": [{"say": "Fine.", "optional": True}]}
    return scenario({"id": "zoo", "title": "Is asked.", "why": "A test asks.", "deadline_s": 0.3, "runs": [run]} | more)


async def played(agent, one):
    return await play(agent, one, Cell(), dialect({}))


def ended(recording):
    return [record.data["how"] for record in recording.records if record.kind == "kit/run_end"]


def of(recording, kind):
    return [record.data for record in recording.records if record.kind == kind]


def said(recording):
    return [one["event"]["delta"] for one in of(recording, "agent/event") if one["event"]["type"].endswith("_CONTENT")]


@pytest.fixture(autouse=True)
def nothing_is_left():
    """Threads and descriptors are as many afterwards as before."""
    gc.collect()
    before = _held()
    yield
    gc.collect()
    # The thread of an agent in this process ends after its connection, on its own.
    for _ in range(30):
        if _held() == before:
            break
        time.sleep(0.01)
    assert _held() == before


def _held():
    return threading.active_count(), len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.parametrize(("kind", "way", "how"), CASES, ids=[f"{kind}-{way}" for kind, way, _ in CASES])
def test_a_run_ends_as_it_went_and_the_next_scenario_is_played(kind, way, how):
    async def both():
        async with KINDS[kind](way) as agent:
            # A flood is read to its bound, and not to the total time, which on a busy machine would come first.
            wrong = await played(agent, plan("wrong", deadline_s=5 if "flood" in way else 0.3))
            right = await played(agent, plan("right", deadline_s=5))
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return wrong, right

    wrong, right = asyncio.run(both())
    assert ended(wrong) == [how]
    assert ended(right) == ["returned"]
    assert said(right) == ["Fine."]
    assert from_bytes(to_bytes(wrong)) == wrong


@pytest.mark.parametrize("kind", KINDS)
def test_two_sessions_are_told_apart_and_each_reaches_its_own_model(kind):
    runs = [
        {"user": "first", "session": "s1", "model": [{"say": "One."}]},
        {"user": "second", "session": "s2", "model": [{"say": "Two."}]},
        {"user": "third", "session": "s1", "model": [{"say": "Three."}]},
    ]

    async def three():
        async with KINDS[kind]("normal") as agent:
            return await played(agent, plan("right", runs=runs, deadline_s=5))

    recording = asyncio.run(three())
    first, second, third = (start["session"] for start in of(recording, "kit/run_start"))
    assert first == third != second
    assert said(recording) == ["One.", "Two.", "Three."]


@pytest.mark.parametrize("way", ["child_left_behind", "daemon_left_behind"])
def test_a_process_that_the_agent_left_behind_is_ended_with_it(way):
    async def one():
        async with by_command(way) as agent:
            return await played(agent, plan("wrong"))

    [end] = of(asyncio.run(one()), "kit/run_end")
    pid = re.search(r"left (\d+)", end["stderr_tail"])[1]
    assert not Path(f"/proc/{pid}").exists()


def test_the_last_that_a_dead_agent_wrote_stands_in_the_recording():
    async def one():
        async with by_command("death_in_mid_event") as agent:
            return await played(agent, plan("wrong"))

    recording = asyncio.run(one())
    [end], [garbage] = of(recording, "kit/run_end"), of(recording, "agent/garbage")
    assert end["stderr_tail"] == "out of memory\n[the process has ended, exit code 9]\n"
    assert garbage["line"] == end["stdout_tail"].splitlines()[-1]
    assert "no newline" in garbage["why"]


@pytest.mark.parametrize(
    ("way", "why"),
    [
        ("garbage_line", "no JSON object: 'DEBUG loading the model'. stdout is the protocol's, print logs to stderr."),
        ("unknown_type", "type 'thought', expected one of ready, event, log, result, error"),
        ("run_of_nobody", "run 'r99', which was never begun"),
        ("endless_line", "longer than 8388608 bytes"),
    ],
)
def test_a_line_that_is_no_message_is_recorded_with_what_is_wrong_about_it(way, why):
    async def one():
        async with by_command(way) as agent:
            return await played(agent, plan("wrong"))

    [garbage] = of(asyncio.run(one()), "agent/garbage")
    assert why in garbage["why"]
    assert len(garbage["line"]) <= 500
