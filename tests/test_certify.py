import asyncio
import json
import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from conformance.certify import certify, connect
from conformance.errors import AgentError
from conformance.rules import RULES
from conformance.scenario import scenario

#: Blocks for ever where the user says so, and answers otherwise; what it prints must not disturb anybody.
MOODY = """
    import threading
    from conformance.agent_side import AgentInfo, InProcessAgent, Outcome

    print("imported")

    class Session:
        def __init__(self, bench):
            self.bench = bench

        def run(self, given):
            print("running")
            if given.input["messages"][-1]["content"] == "block":
                threading.Event().wait()
            body = {"model": "m", "messages": [{"role": "user", "content": given.input["messages"][-1]["content"]}]}
            yield Outcome("answered", text=self.bench.model(body)["choices"][0]["message"]["content"])

    AGENT = InProcessAgent(AgentInfo("moody", channels=("M", "R")), Session)
"""


def plan(name, user):
    return scenario(
        {
            "id": name,
            "title": name,
            "why": "A test asks.",
            "deadline_s": 0.2,
            "runs": [{"user": user, "model": [{"answer": "42"}]}],
        }
    )


@pytest.fixture
def moody(tmp_path, monkeypatch):
    (tmp_path / "moody_agent.py").write_text(textwrap.dedent(MOODY), "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield "python:moody_agent:AGENT"
    sys.modules.pop("moody_agent", None)


def verdicts(report):
    return {entry.scenario: {r.rule: r.verdict.value for r in entry.results if r.judged} for entry in report.entries}


def test_after_a_hang_that_cannot_be_ended_the_rest_is_played_elsewhere(moody):
    plans = [plan("one", "hi"), plan("two", "block"), plan("three", "hi"), plan("four", "block"), plan("five", "hi")]
    report = asyncio.run(certify(moody, plans, RULES))
    seen = verdicts(report)
    assert [seen[name]["RUN-2"] for name in seen] == ["pass", "fail", "pass", "fail", "pass"]
    assert seen["five"]["RUN-3"] == "pass"
    assert all(entry.error is None for entry in report.entries)


def test_no_child_is_left_behind(moody):
    asyncio.run(certify(moody, [plan("one", "block"), plan("two", "hi")], RULES))
    left = subprocess.run(["ps", "-eo", "ppid,args"], capture_output=True, text=True, check=True).stdout
    assert [
        line for line in left.splitlines() if line.split()[0] == str(os.getpid()) and "conformance.child" in line
    ] == []


def test_a_child_whose_kit_was_killed_ends_by_itself(moody, tmp_path):
    code = f"""
        import asyncio, sys
        from conformance.elsewhere import _Child
        from conformance.runner import Cell
        from conformance.scenario import scenario
        async def main():
            child = _Child({moody!r}, None)
            await child.play(scenario({json.dumps(dict(plan("one", "hi").data))}), Cell())
            print(child._process.pid, flush=True)
            await asyncio.sleep(3600)
        asyncio.run(main())
    """
    kit = subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, text=True)
    pid = int(kit.stdout.readline())
    kit.send_signal(signal.SIGKILL)
    kit.wait()
    kit.stdout.close()
    for _ in range(100):
        state = subprocess.run(
            ["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False
        ).stdout
        if not state or state.startswith("Z"):
            return
        time.sleep(0.05)
    os.kill(pid, signal.SIGKILL)
    pytest.fail(f"the child {pid} outlived its kit by five seconds")


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("smoke-signals:x", "unknown kind 'smoke-signals'. Known: reference"),
        ("python:nothing", "expected python:package.module:NAME"),
        ("reference:on_limit=explode", "on_limit is 'explode'"),
    ],
)
def test_an_agent_that_is_not_there_says_what_can_be_named(spec, says):
    async def reach():
        async with connect(spec):
            pass

    with pytest.raises(AgentError) as refused:
        asyncio.run(reach())
    assert says in str(refused.value)


def test_the_same_run_twice_gives_equal_recordings():
    from conformance.recording import dumps  # noqa: PLC0415

    plans = [plan("one", "hi")]
    first, second = (asyncio.run(certify("reference", plans, RULES)) for _ in range(2))
    assert [dumps(r) for e in first.entries for r in e.recordings] == [
        dumps(r) for e in second.entries for r in e.recordings
    ]
