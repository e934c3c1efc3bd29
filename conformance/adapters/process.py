"""An agent's process: lines into it, lines out of it, its end. Knows no protocol and records nothing."""

import asyncio
import contextlib
import os
import select
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from conformance.agent_side.figures import MAX_LINE_BYTES

#: How much is read at once; a pipe of Linux holds 64 KiB unless it was made larger.
CHUNK_BYTES = 64 * 1024
#: The most that a pipe of Linux is made to hold by who is not root, in chunks.
PIPE_CHUNKS = 16
#: What is kept of each stream's end.
TAIL_BYTES = 4 * 1024
#: How long a process may go on once it has closed its stdout, in seconds.
LEAVING_S = 0.2

#: How long a process that is still at work is looked at once its run is over, and how often, in seconds.
SETTLING_S, LOOK_S = 0.2, 0.001
#: The states of a Linux thread that is at work: it runs, or waits for a disk.
_AT_WORK = frozenset("RD")

#: How long a killed process may take to be gone, in seconds.
KILL_S = 2.0

_SUPERVISOR = Path(__file__).with_name("supervisor.py")


@dataclass(frozen=True, slots=True)
class Patience:
    """How long an agent may take, in seconds: to say it is ready, to go after bye, to go after TERM, to end a cancelled run."""

    ready_s: float = 60.0
    bye_s: float = 5.0
    term_s: float = 2.0
    cancel_s: float = 5.0


class Process:
    """
    A process and all that it starts.

    `heard` is called with each line of its stdout, without the newline, and whether it was whole: the last one may end without
    its newline, and what is longer than a line may be is cut. `ended` is called once, when nothing of the process is left.
    """

    def __init__(self, heard: Callable[[bytes, bool], None], ended: Callable[[], None], patience: Patience) -> None:
        self._heard = heard
        self._ended = ended
        self._patience = patience
        self._line = bytearray()
        self._tails = {"stdout": b"", "stderr": b""}
        self._ends: dict[str, int] = {}
        #: It closed its stdout and was still there a moment later.
        self._stayed = False

    async def start(self, command: Sequence[str], *, env: Mapping[str, str] | None, cwd: Path | None) -> None:
        """Start the command under a supervisor, which ends it when this process is gone, however."""
        ours = dict.fromkeys(("stdout", "stderr"), 0)
        theirs = dict(ours)
        for name in ours:
            ours[name], theirs[name] = os.pipe()
            os.set_blocking(ours[name], False)
        held, self._lifeline = os.pipe()
        try:
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-I", "-S", str(_SUPERVISOR), str(held), str(self._patience.term_s), *command),
                stdin=asyncio.subprocess.PIPE,
                stdout=theirs["stdout"],
                stderr=theirs["stderr"],
                pass_fds=(held,),
                start_new_session=True,
                env=env,
                cwd=cwd,
            )
        except BaseException:
            for fd in (self._lifeline, *ours.values()):
                os.close(fd)
            raise
        finally:
            for fd in (held, *theirs.values()):
                os.close(fd)
        self._ends = ours
        loop = asyncio.get_running_loop()
        loop.add_reader(ours["stdout"], self._read_stdout)
        loop.add_reader(ours["stderr"], self._read_stderr)
        self._watch = asyncio.create_task(self._see_it_end())

    def pump(self) -> None:
        """Hand on all of stdout that is readable now."""
        while self._read_stdout() == CHUNK_BYTES:
            pass

    async def send(self, line: bytes) -> None:
        """Write a line. A process that is gone is noticed where it is read; one that does not read keeps the caller waiting."""
        stdin = self._process.stdin
        assert stdin is not None  # noqa: S101 - it is a pipe
        with contextlib.suppress(ConnectionError):
            stdin.write(line + b"\n")
            await stdin.drain()

    def tell(self, line: bytes) -> None:
        """Write a line now, as far as the pipe takes it, and the rest when it can."""
        stdin = self._process.stdin
        assert stdin is not None  # noqa: S101 - it is a pipe
        stdin.write(line + b"\n")

    def kill(self) -> None:
        """End the process and all it started by KILL; when this comes back it says and asks nothing more."""
        if self._lifeline < 0 or "stdout" not in self._ends:
            return
        os.write(self._lifeline, b"K")
        # Nothing else goes on in between: what the agent waits for must not reach it. Its death closes what it writes to.
        while "stdout" in self._ends and select.select([self._ends["stdout"]], [], [], KILL_S)[0]:
            self.pump()

    async def end(self, *, gently: bool = False) -> None:
        """End the process with all it started; `gently`: it was told to go, and is first given the time to do so."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        if gently:
            await asyncio.wait({self._watch}, timeout=self._patience.bye_s)
        self._cut_lifeline()
        await self._watch

    async def settled(self) -> None:
        """
        Come back once the process waits for something, with what it has said until then handed on: at once, if it does no more.

        What says no end of things is not heard to its end.
        """
        for _ in range(round(SETTLING_S / LOOK_S)):
            if not at_work(self._process.pid):
                break
            await asyncio.sleep(LOOK_S)
        for _ in range(PIPE_CHUNKS):
            if self._read_stdout() < CHUNK_BYTES:
                break
        await self.left()

    async def left(self) -> None:
        """Where its stdout has ended, come back once the process has, which comes soon or is brought about."""
        if "stdout" not in self._ends:
            await asyncio.wait({self._watch})

    @property
    def went(self) -> str | None:
        """How the process ended, as a shell would say it; None while it is there."""
        code = self.exit_code
        if code is None:
            return None
        if self._stayed and code - 128 in (signal.SIGTERM, signal.SIGKILL):
            return "[the process closed its stdout, went on and was ended]"
        by = next((f", {one.name}" for one in signal.Signals if code == 128 + one), "")
        return f"[the process has ended, exit code {code}{by}]"

    @property
    def tails(self) -> tuple[str, str]:
        """The last of stdout and of stderr."""
        out, err = (self._tails[name].decode("utf-8", "replace") for name in ("stdout", "stderr"))
        return out, err

    @property
    def exit_code(self) -> int | None:
        """As the supervisor says it; None while the process is there."""
        return self._process.returncode

    async def _see_it_end(self) -> None:
        await self._process.wait()
        self.pump()
        self._read_stderr()
        for name in tuple(self._ends):
            self._close(name)
        self._cut_lifeline()
        self._ended()

    def _see_it_off(self) -> None:
        self._stayed = self.exit_code is None
        self._cut_lifeline()

    def _cut_lifeline(self) -> None:
        if self._lifeline >= 0:
            os.close(self._lifeline)
            # A supervisor that the agent has stopped would not see it.
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(signal.SIGCONT)
        self._lifeline = -1

    def _read_stdout(self) -> int:
        data = self._read("stdout")
        self._line += data
        while (at := self._line.find(b"\n")) >= 0:
            line = bytes(self._line[:at])
            del self._line[: at + 1]
            self._heard(line, len(line) <= MAX_LINE_BYTES)
        if len(self._line) > MAX_LINE_BYTES or ("stdout" not in self._ends and self._line):
            line = bytes(self._line)
            self._line.clear()
            self._heard(line, False)
        return len(data)

    def _read_stderr(self) -> None:
        self._read("stderr")

    def _read(self, name: str) -> bytes:
        fd = self._ends.get(name)
        if fd is None:
            return b""
        try:
            data = os.read(fd, CHUNK_BYTES)
        except BlockingIOError:
            return b""
        if not data:
            self._close(name)
            if name == "stdout":
                # What can say nothing more is of no use; if it is about to go, it goes by itself.
                asyncio.get_running_loop().call_later(LEAVING_S, self._see_it_off)
        self._tails[name] = (self._tails[name] + data)[-TAIL_BYTES:]
        return data

    def _close(self, name: str) -> None:
        fd = self._ends.pop(name)
        asyncio.get_running_loop().remove_reader(fd)
        os.close(fd)


def at_work(pid: int) -> bool:
    """Whether a process or what it started does something now; False where the system does not tell it by files."""
    try:
        threads = list(Path(f"/proc/{pid}/task").iterdir())
        states = {(one / "stat").read_text().rpartition(")")[2].split()[0] for one in threads}
        children = [child for one in threads for child in (one / "children").read_text().split()]
    except (OSError, IndexError):
        return False
    return not states.isdisjoint(_AT_WORK) or any(at_work(int(child)) for child in children)
