"""An agent that ends the process it is in, or is done with it early: never green, and told of the scenario in which it was."""

import asyncio
import os
import sys
import threading
from pathlib import Path

import pytest

from conformance.adapters import command, in_process
from conformance.adapters.in_process import connect, connected
from conformance.adapters.process import Patience
from conformance.agent_side import AgentInfo, InProcessAgent, Outcome
from conformance.dialect import dialect
from conformance.errors import AgentError
from conformance.judge import judge
from conformance.rules import RULES
from conformance.runner import Cell, play, play_all
from conformance.scenario import scenario

HERE = Path(__file__).parent
RUN = {"user": "Well?", "model": [{"say": "Fine."}]}
PLAN = {"id": "tiny", "title": "Is asked.", "why": "A test asks.", "deadline_s": 5, "runs": [RUN]}


@pytest.fixture
def spec(monkeypatch):
    monkeypatch.syspath_prepend(str(HERE))
    return "agents_that_exit:{}".format


def verdict(recording, rule="RUN-2"):
    one = judge(recording, RULES).of(rule)
    return str(one.verdict), " ".join(finding.message for finding in one.findings)


async def once(way, plan=PLAN):
    async with way as agent:
        return await play(agent, scenario(plan), Cell(), dialect({}))


@pytest.mark.parametrize(
    ("name", "call"), [("IN_ITS_RUN", "_exit"), ("AS_ANOTHER_PROGRAM", "execv"), ("ON_A_THREAD", "_exit")]
)
def test_a_run_that_would_end_the_kits_process_has_died(spec, name, call):
    kept = os._exit, os.execv
    recording = asyncio.run(once(connect(spec(name))))
    found, message = verdict(recording)
    assert found == "fail"
    assert f"os.{call} was called, which would have ended the kit's own process" in message
    assert (os._exit, os.execv) == kept


@pytest.mark.parametrize("name", ["WHEN_IT_IS_OPENED", "WHEN_IT_IS_CLOSED"])
def test_a_session_that_would_end_the_kits_process_could_not_be_run(spec, name):
    with pytest.raises(AgentError, match=r"os\._exit was called"):
        asyncio.run(once(connect(spec(name))))


def test_an_import_that_would_end_the_kits_process_is_told(spec):
    with pytest.raises(AgentError, match=r"importing 'agent_that_exits_on_import' raised SystemExit: os\._exit was"):
        asyncio.run(once(connect("agent_that_exits_on_import:AGENT")))


def test_a_child_that_an_agent_forks_may_end_as_it_likes(spec):
    assert verdict(asyncio.run(once(connect(spec("IN_A_CHILD"))))) == ("pass", "")


@pytest.mark.parametrize("more", [Outcome("limit"), None, 42], ids=repr)
def test_what_an_agent_without_events_yields_after_its_outcome_is_judged(more):
    class Runner:
        def __init__(self, bench):
            self.bench = bench

        def run(self, given):
            messages = [{"role": "user", "content": given.input["messages"][0]["content"]}]
            reply = self.bench.model({"model": self.bench.model_name, "messages": messages})
            yield Outcome("answered", text=reply["choices"][0]["message"]["content"])
            yield more

    agent = InProcessAgent(AgentInfo("talkative", channels=("M", "R")), Runner)
    found, message = verdict(asyncio.run(once(connected(agent))))
    assert found == "fail"
    assert ("a run yields one Outcome, and this is its second" in message) == isinstance(more, Outcome)


#: A process that asks its model, says its result and then does what is put in.
PROCESS = """
import json, os, sys, urllib.request
os.environ["no_proxy"] = "*"

def say(**message):
    sys.stdout.write(json.dumps(message) + "\\n")
    sys.stdout.flush()

for line in sys.stdin:
    said = json.loads(line)
    if said["type"] == "hello":
        say(type="ready", protocol=1, agent={"name": "tiny"}, channels=["M", "R"])
    elif said["type"] == "run":
        model = said["model"]
        body = json.dumps({"model": model["name"], "messages": [{"role": "user", "content": "Well?"}]}).encode()
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {model['api_key']}"}
        urllib.request.urlopen(urllib.request.Request(model["base_url"] + "/chat/completions", body, headers)).read()
        say(type="result", run=said["run"], outcome={"kind": "answered", "reason": None}, text="Fine.")
        {then}
    elif said["type"] == "bye":
        break
"""

AFTERWARDS = {
    "killed by a signal": ("os.kill(os.getpid(), 11)", "exit code 139, SIGSEGV"),
    "gone": ("sys.exit(0)", "exit code 0"),
    "says junk": ("print('debug: done', flush=True)", "no JSON object: 'debug: done'"),
    "ends twice": (
        "say(type='result', run=said['run'], outcome=None, text=None)",
        "a message of type 'result' ends it a second time",
    ),
}


def process(then):
    program = command.Program((sys.executable, "-c", PROCESS.replace("{then}", then)))
    return command.connected(program, Patience(ready_s=20, bye_s=5, term_s=0.2))


@pytest.mark.parametrize(("then", "told"), AFTERWARDS.values(), ids=AFTERWARDS)
def test_a_process_that_goes_after_its_result_is_the_fault_of_the_scenario_that_it_went_in(then, told, tmp_path):
    mark = str(tmp_path / "mark")

    async def twice():
        plans = [scenario(PLAN | {"id": name}) for name in ("first", "second")]
        # Only the first process does it.
        only = f"os.path.exists({mark!r}) or (open({mark!r}, 'x').close(), {then})"
        async with process(only) as agent:
            return [one async for one in play_all(agent, plans, dialect({}), cells=[Cell()], elsewhere=None)]

    first, second = asyncio.run(twice())
    found, message = verdict(first.recording)
    assert found == "fail"
    assert told in message
    assert verdict(second.recording) == ("pass", "")


def test_a_process_that_went_between_two_scenarios_is_told_and_started_anew():
    async def one():
        async with process("pass") as agent:
            await play(agent, scenario(PLAN), Cell(), dialect({}))
            agent._line.process.kill()
            await agent._line.process.left()
            with pytest.raises(AgentError, match=r"when its last run was over .* exit code 137, SIGKILL"):
                await play(agent, scenario(PLAN), Cell(), dialect({}))
            return await play(agent, scenario(PLAN), Cell(), dialect({}))

    assert verdict(asyncio.run(one())) == ("pass", "")


def test_a_process_that_waits_is_not_waited_for(monkeypatch):
    async def one():
        async with process("pass") as agent:
            looks = []
            monkeypatch.setattr("conformance.adapters.process.at_work", lambda pid: looks.append(pid) or False)
            await play(agent, scenario(PLAN), Cell(), dialect({}))
            return looks

    assert len(asyncio.run(one())) == 1


def test_a_cancellation_that_comes_as_the_run_was_handed_over_is_heard(monkeypatch):
    """Ctrl-C cancels the task, at whatever moment: `asyncio.wait_for` of Python 3.11 lost it at this one."""

    async def one():
        async with process("pass") as agent:
            said, begun = asyncio.get_running_loop().create_future(), asyncio.Event()

            async def say(_said):
                begun.set()
                await said

            monkeypatch.setattr(agent, "_say", say)
            playing = asyncio.create_task(play(agent, scenario(PLAN), Cell(), dialect({})))
            await begun.wait()
            said.set_result(None)
            await asyncio.sleep(0)
            playing.cancel()
            done, _ = await asyncio.wait({playing}, timeout=30)
            return done and playing.cancelled()

    assert asyncio.run(one())


def test_a_session_that_is_never_open_could_not_be_run_and_leaves_the_agent_stuck(monkeypatch):
    let_go = threading.Event()
    monkeypatch.setattr(in_process, "OPEN_S", 0.01)

    async def one():
        agent = InProcessAgent(AgentInfo("slow"), lambda _bench: let_go.wait())
        async with in_process.connected(agent) as opened:
            with pytest.raises(AgentError, match=r"a session was not open after 0\.01 s"):
                await play(opened, scenario(PLAN), Cell(), dialect({}))
            return opened.stuck

    try:
        assert asyncio.run(one())
    finally:
        let_go.set()
