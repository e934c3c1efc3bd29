"""
Holds one agent: starts it, and ends it with all it left behind, when it ends by itself and when the kit is gone.

Run as a script, by its path, with nothing but the standard library: `supervisor.py LIFELINE GRACE_S COMMAND...`. LIFELINE is
the reading end of a pipe whose other end the kit holds; when that is closed, however the kit came to its end, the agent is
ended: TERM to its process group, KILL after GRACE_S seconds. A byte on it is KILL at once. Its exit code is the agent's, 128 + N after signal N, or 127
where the command could not be started.
"""

import ctypes
import os
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

#: Linux: the agent is killed where this process is, which then can end nothing any more.
PR_SET_PDEATHSIG = 1
#: Linux: orphans of this process's descendants become its own children, so that a daemon is found that left the group.
PR_SET_CHILD_SUBREAPER = 36


def main(lifeline: int, grace_s: float, command: list[str]) -> int:
    """Hold the agent to its end, and give its exit code."""
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    try:
        # A session of its own is a group of its own, and has no terminal whose Ctrl-C could reach it.
        agent = subprocess.Popen(  # noqa: S603 - the command is what the user named
            command,
            start_new_session=True,
            preexec_fn=lambda: _prctl(PR_SET_PDEATHSIG, signal.SIGKILL),  # noqa: PLW1509 - there are no threads here
        )
    except OSError as error:
        print(f"{command[0]}: {error.strerror}", file=sys.stderr)  # noqa: T201 - the kit reads it there
        return 127
    _let_go_of_the_pipes()
    while agent.poll() is None and lifeline not in select.select([lifeline, woken], [], [])[0]:
        os.read(woken, 4096)
    if agent.poll() is None and not os.read(lifeline, 1):
        _end(agent, grace_s)
    _signal(agent.pid, signal.SIGKILL)
    agent.wait()
    _end_orphans()
    return agent.returncode if agent.returncode >= 0 else 128 - agent.returncode


def _prctl(option: int, value: int) -> None:
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _let_go_of_the_pipes() -> None:
    """The kit has to see the end of the agent's output when the agent's own ends are closed."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(nowhere, fd)


def _end(agent: subprocess.Popen[bytes], grace_s: float) -> None:
    _signal(agent.pid, signal.SIGTERM)
    with suppress(subprocess.TimeoutExpired):
        agent.wait(grace_s)
    _signal(agent.pid, signal.SIGKILL)
    agent.wait()


def _signal(group: int, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def _end_orphans() -> None:
    """End what has been adopted, and its own children, which are adopted in turn."""
    children = Path(f"/proc/self/task/{os.getpid()}/children")
    until = time.monotonic() + 5
    while children.exists() and (left := children.read_text().split()) and time.monotonic() < until:
        for pid in left:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(int(pid), signal.SIGKILL)
            with suppress(ChildProcessError):
                os.waitpid(int(pid), 0)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), float(sys.argv[2]), sys.argv[3:]))
