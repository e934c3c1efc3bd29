"""A kit that is ended in mid-run: what it leaves of the recording, and nothing of the agent."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conformance.recording import from_bytes

ROOT = Path(__file__).parents[2]
HELLO = Path(__file__).with_name("hello.yaml")
ENTRY = "import sys; sys.argv[0] = 'conformance'; from conformance.cli import main; main()"
#: Begins a run, tells its own process id, and never ends.
AGENT = """
import json, os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for line in sys.stdin:
    said = json.loads(line)
    if said["type"] == "hello":
        answer = {"type": "ready", "protocol": 1, "agent": {"name": "hanging"}}
    else:
        answer = {"type": "event", "run": said["run"], "event": {"type": "CUSTOM", "name": "pid", "value": os.getpid()}}
    print(json.dumps(answer), flush=True)
    if said["type"] == "run":
        time.sleep(600)
"""


def until(fact, within_s=20):
    """Wait for what another process does."""
    end = time.monotonic() + within_s
    while not (seen := fact()):
        assert time.monotonic() < end
        time.sleep(0.01)
    return seen


def pid_in(part):
    """The agent's process id, once its event stands in the file."""
    if not part.exists() or b"\n" not in part.read_bytes():
        return None
    events = [record.data["event"] for record in from_bytes(part.read_bytes()).records if record.kind == "agent/event"]
    return next((event["value"] for event in events), None)


def heard(handler):
    """Whether the kit is given its SIGINT: a shell has it ignored in what it starts in the background, as it may be here."""
    return lambda: signal.signal(signal.SIGINT, handler)


@pytest.fixture
def hanging(tmp_path, request):
    """A kit in mid-run with a hanging agent: its process, the agent's id and the folder."""
    agent, out = tmp_path / "agent.py", tmp_path / "out"
    agent.write_text(AGENT, encoding="utf-8")
    # A deadline that the agent does not reach while it is looked at.
    slow = tmp_path / "hello.yaml"
    slow.write_text(HELLO.read_text("utf-8").replace("deadline_s: 0.2", "deadline_s: 60"), encoding="utf-8")
    words = ("run", str(slow), "--agent", f"command:{sys.executable} {agent}", "--out", str(out))
    kit = subprocess.Popen(
        [sys.executable, "-c", ENTRY, *words],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heard(getattr(request, "param", signal.SIG_DFL)),  # noqa: PLW1509 - one call of the C library
    )
    part = out / "hello.blocking.1.jsonl.part"
    with kit:
        try:
            yield kit, until(lambda: pid_in(part)), part
        finally:
            kit.kill()


def gone(pid):
    return until(lambda: not Path(f"/proc/{pid}").exists())


def test_a_kit_that_is_killed_leaves_what_was_recorded_and_no_agent(hanging):
    kit, pid, part = hanging
    kit.kill()
    assert kit.wait(20) == -signal.SIGKILL
    assert gone(pid)
    recording = from_bytes(part.read_bytes())
    assert [record.kind for record in recording.records] == ["kit/run_start", "agent/event"]
    assert not recording.complete
    assert [path.name for path in part.parent.iterdir()] == [part.name]


@pytest.mark.parametrize(
    ("hanging", "number"),
    [
        *[(signal.SIG_DFL, number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)],
        *[(signal.SIG_IGN, number) for number in (signal.SIGTERM, signal.SIGHUP)],
    ],
    indirect=["hanging"],
)
def test_a_kit_that_is_interrupted_ends_with_130_and_leaves_neither_a_file_nor_an_agent(hanging, number):
    kit, pid, part = hanging
    kit.send_signal(number)
    out, err = kit.communicate(timeout=20)
    assert (kit.returncode, out) == (130, "")
    assert err.splitlines()[-1] == "interrupted"
    assert "Traceback" not in err
    assert not Path(f"/proc/{pid}").exists()
    assert list(part.parent.iterdir()) == []
