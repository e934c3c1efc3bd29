"""Agents that turn on what holds them, and machines that refuse them: the kit comes to its end and leaves nothing of them."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conformance.adapters import command, process, supervisor
from conformance.adapters.process import Patience
from conformance.errors import AgentError

PATIENCE = Patience(ready_s=20, bye_s=0.1, term_s=0.1)
READY = '{"type": "ready", "protocol": 1, "agent": {"name": "tiny"}}'


def connected(code):
    return command.connected(command.Program((sys.executable, "-c", code)), PATIENCE)


def until(fact, within_s=20):
    """Wait for what another process does."""
    end = time.monotonic() + within_s
    while not fact():
        assert time.monotonic() < end
        time.sleep(0.01)


def gone(pid):
    """Whether there is no such process, or only its exit code."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return True
    return state == "Z"


def test_an_agent_that_stops_its_supervisor_is_ended_all_the_same():
    code = f"""
import os, signal, sys
os.kill(os.getppid(), signal.SIGSTOP)
print({READY!r}, flush=True)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
while True:
    signal.pause()
"""

    async def there_and_back():
        async with connected(code) as agent:
            return agent.info.name

    assert asyncio.run(asyncio.wait_for(there_and_back(), 20)) == "tiny"


def test_an_agent_does_not_outlive_a_supervisor_that_was_killed():
    # It holds on: reads nothing, and does not hear TERM.
    code = "import os, signal; signal.signal(15, signal.SIG_IGN); print(os.getpid(), flush=True)\nwhile True: signal.pause()"
    held, lifeline = os.pipe()
    words = [sys.executable, "-I", "-S", supervisor.__file__, str(held), "0.1", sys.executable, "-c", code]
    with subprocess.Popen(words, pass_fds=(held,), stdout=subprocess.PIPE) as holding:
        pid = int(holding.stdout.readline())
        holding.send_signal(signal.SIGKILL)
    os.close(held)
    os.close(lifeline)
    until(lambda: gone(pid))


def test_a_machine_that_starts_no_process_is_said_and_nothing_stays_open(monkeypatch):
    async def refused(*_words, **_given):
        raise BlockingIOError(11, "Resource temporarily unavailable")

    async def there():
        async with connected("pass"):
            pass

    monkeypatch.setattr(process.asyncio, "create_subprocess_exec", refused)
    before = len([*Path("/proc/self/fd").iterdir()])
    with pytest.raises(AgentError, match=r"the system does not start it: .*Resource temporarily unavailable"):
        asyncio.run(there())
    assert len([*Path("/proc/self/fd").iterdir()]) == before
