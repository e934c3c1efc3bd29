"""
`command:…`: an agent in a process of its own, in any language, that speaks the command protocol on stdin and stdout.

One process serves many scenarios. It is started anew where it died, hung or said what is no message; after three deaths in a
row it is given up.
"""

import asyncio
import contextlib
import os
import secrets
import shlex
import shutil
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from conformance.adapters import protocol
from conformance.adapters.base import Adapter, Agent, End, How
from conformance.adapters.guest import Guest
from conformance.adapters.process import Patience, Process
from conformance.adapters.protocol import ProtocolError
from conformance.adapters.taking import Flood, Taker
from conformance.adapters.watching import ends
from conformance.agent_side import AgentInfo, RunInput
from conformance.errors import AgentError, SpecError
from conformance.recorder import Recorder
from conformance.session import SHOWN_S, Session
from fake_models.server import Server

#: After so many deaths in a row the rest is not played.
DEATHS = 3


@dataclass(frozen=True, slots=True)
class Program:
    """What is started: the command, its environment (None: the kit's own) and where; `spec` where that says more than the command."""

    command: Sequence[str]
    env: Mapping[str, str] | None = None
    cwd: Path | None = None
    spec: str | None = None

    @property
    def name(self) -> str:
        """As errors call it."""
        return f"agent '{self.spec or f'command:{shlex.join(self.command)}'}'"


@dataclass(frozen=True, slots=True)
class _Handle:
    """One open session, and the token by which the agent reaches it."""

    session: Session
    token: str


@dataclass(frozen=True, slots=True)
class _Open:
    """A run that was begun in this process."""

    take: Taker
    done: asyncio.Future[How]


@dataclass(frozen=True, slots=True)
class _Wrong:
    """The line that was no message, and why; nothing that comes after it is listened to."""

    line: str
    why: str


class _Line:
    """The kit's end of one process: who it is, its runs, and what was wrong with what it said."""

    def __init__(self, patience: Patience) -> None:
        self._ready: asyncio.Future[AgentInfo] = asyncio.get_running_loop().create_future()
        self.process = Process(self._heard, self._ended, patience)
        self.wrong: _Wrong | None = None
        self.over = False
        self.killed = False
        #: A run of it hung or said too much: it is ended once no other goes on.
        self.doomed = False
        self._runs: dict[str, _Open] = {}
        #: The run that was last begun or spoken of.
        self._latest: _Open | None = None
        self._ignored: set[str] = set()

    async def introduced(self, within_s: float) -> AgentInfo:
        """Who the agent says it is; AgentError where it ends or says something else, TimeoutError where it says nothing."""
        # Not wait_for: of a cancellation that comes as the wait is over, Python 3.11 makes none.
        async with asyncio.timeout(within_s):
            info = await asyncio.shield(self._ready)
        if self.wrong is not None:
            raise AgentError(self.wrong.why)
        return info

    def begin(self, take: Taker) -> asyncio.Future[How]:
        """From now on what the agent says of this run is taken; gives how it ends, once it does."""
        done: asyncio.Future[How] = asyncio.get_running_loop().create_future()
        if self.over:
            if self.wrong is not None:
                take.garbage(self.wrong.line, self.wrong.why)
            done.set_result("died")
        self._runs.pop(take.run, None)
        self._ignored.discard(take.run)
        self._runs[take.run] = self._latest = _Open(take, done)
        return done

    def give_up(self, run: str, how: How) -> None:
        """A run is ended from here: nothing more is taken of it."""
        self._ignored.add(run)
        self.doomed = True
        _settle(self._runs[run].done, how)

    @property
    def busy(self) -> bool:
        """Whether some run goes on."""
        return bool(self._running())

    def cancelled(self, run: str, within_s: float) -> None:
        """A run that was cancelled and does not end in time has hung, whatever it goes on to say."""
        one = self._runs.get(run)
        if one is not None:
            asyncio.get_running_loop().call_later(within_s, _settle, one.done, "hung")

    def _heard(self, line: bytes, whole: bool) -> None:  # noqa: FBT001 - as Process calls it
        if self.wrong is not None:
            return
        try:
            self._obey(protocol.message(line, whole=whole))
        except ProtocolError as error:
            self.wrong = wrong = _Wrong(line[:500].decode("utf-8", "replace"), str(error))
            # Where no run goes on it stands with the one before, which may have been the last.
            for one in self._running() or filter(None, [self._latest]):
                one.take.garbage(wrong.line, wrong.why)
            self._ended()

    def _obey(self, said: dict[str, Any]) -> None:
        if said["type"] == "ready":
            if self._ready.done():
                raise ProtocolError("the agent says ready a second time")
            self._ready.set_result(protocol.info_of(said))
            return
        one = self._runs.get(said["run"])
        if one is None:
            raise ProtocolError(
                f"a message of type {said['type']!r} is of run {said['run']!r:.80}, which was never begun"
            )
        if said["run"] in self._ignored:
            return
        self._latest = one
        try:
            _take(one, said)
        except Flood:
            self._ignored.add(said["run"])
            _settle(one.done, "cap")

    def _running(self) -> list[_Open]:
        return [one for one in self._runs.values() if not one.done.done()]

    def _ended(self) -> None:
        self.over = True
        for one in self._running():
            one.done.set_result("died")
        if not self._ready.done():
            self._ready.set_exception(AgentError(self.wrong.why if self.wrong else "it ended before it said ready"))
            self._ready.exception()


def _take(one: _Open, said: Mapping[str, Any]) -> None:
    """Take one message of a run; what comes after its end is taken, too, and is for the rules to judge."""
    match said["type"]:
        case "event":
            one.take.event(said["event"])
        case "log":
            one.take.log(said["level"], said["logger"], said["message"])
        case ended if one.done.done():
            raise ProtocolError(
                f"run {one.take.run!r} has ended, and a message of type {ended!r} ends it a second time"
            )
        case "result":
            if (outcome := said.get("outcome")) is not None:
                one.take.outcome(outcome["kind"], outcome.get("reason"), said.get("text"))
            one.done.set_result("returned")
        case "error":
            one.take.raised(said["exception"], said["message"])
            one.done.set_result("raised")


def _settle(done: asyncio.Future[How], how: How) -> None:
    if not done.done():
        done.set_result(how)


class Command:
    """An `Agent` that is a process."""

    stuck = False
    apart = True
    can_be_killed = True
    on_time: Callable[[datetime], None]

    def __init__(self, program: Program, server: Server, patience: Patience, shown_s: float = SHOWN_S) -> None:
        self.info: AgentInfo
        self.on_time = lambda _now: None
        self._program = program
        self._server = server
        self._patience = patience
        self._shown_s = shown_s
        self._line: _Line | None = None
        self._deaths = 0

    async def start(self) -> None:
        """
        Start the process and hear who it is.

        Raises:
            AgentError: it ended, said something else, or said nothing for too long.
        """
        line = _Line(self._patience)
        try:
            await line.process.start(self._program.command, env=self._program.env, cwd=self._program.cwd)
        except OSError as error:
            raise AgentError(f"{self._program.name}: the system does not start it: {error}") from error
        self._line = line
        await self._say(protocol.hello())
        try:
            self.info = await line.introduced(self._patience.ready_s)
        except (AgentError, TimeoutError) as error:
            # What it ends with once it is ended from here says nothing.
            code = line.process.exit_code
            await self.end()
            silent = f"it did not say ready within {self._patience.ready_s} s"
            why = silent if isinstance(error, TimeoutError) else str(error).removesuffix(".")
            raise AgentError(f"{self._program.name}: {why}{last_words(line.process, code)}") from None

    async def open(self, session: Session) -> _Handle:
        """Begin a session, in a new process where the one before is gone."""
        if self._deaths >= DEATHS:
            raise AgentError(f"{self._program.name}: it died {DEATHS} times in a row; it is not started again")
        if self._line is None or self._line.over:
            await self._still_there()
            await self.end()
            try:
                await self.start()
            except AgentError:
                self._deaths += 1
                raise
        token = secrets.token_hex(8)
        url = self._server.mount(token, Guest(session, self._catch_up))
        session.served(url, token, shown_s=self._shown_s if "E" in self.info.channels else None)
        return _Handle(session, token)

    async def run(self, handle: _Handle, given: RunInput, recorder: Recorder, *, deadline_s: float) -> End:
        """Drive one run and watch that something goes on."""
        line = self._line
        assert line is not None  # noqa: S101 - a session is open
        shows = "E" in self.info.channels
        done = line.begin(Taker(given.run, recorder, shows=shows, hear=handle.session.hear))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(deadline_s):
                await self._say(protocol.run(given))
        how = await ends(done, lambda: recorder.stirred, deadline_s, lambda: handle.session.overran(given.run))
        how = done.result() if how is None else how
        if how in ("returned", "raised") and not line.busy:
            await line.process.settled()
            how = "died" if line.over else how
        if how == "died":
            await line.process.left()
        # How it ends once it is ended from here says nothing.
        went = line.process.went
        if how not in ("returned", "raised"):
            # What it still says while it is ended is the kit's doing and belongs to no record.
            recorder.mute(given.run)
            line.give_up(given.run, how)
        if not line.doomed:
            self._deaths = 0
            return End(how)
        # A run beside this one has a right to its own end.
        if not line.busy and self._line is line:
            self._deaths += how == "died" and not line.killed
            await self.end()
        out, err = line.process.tails
        if went is not None and not line.killed:
            err = "\n".join((*filter(None, [err.removesuffix("\n")]), went, ""))
        return End(how, out, err, gone=not line.killed)

    def cancel(self, handle: _Handle, run: str) -> None:  # noqa: ARG002 - the seam's signature
        """Say that a run is not wanted any more."""
        if self._line is not None and not self._line.over:
            self._line.process.tell(protocol.cancel(run))
            self._line.cancelled(run, self._patience.cancel_s)

    def kill(self, handle: _Handle, run: str) -> None:  # noqa: ARG002 - the seam's signature
        """Kill the process, and with it every session; the next one that is opened is in a new one."""
        if self._line is not None:
            self._line.killed = True
            self._line.process.kill()

    async def close(self, handle: _Handle) -> None:
        """
        End a session; the agent is told nothing, since the next one is its own.

        Raises:
            AgentError: its process ended, or said what is no message, since its last run.
        """
        await self._catch_up()
        await self._server.unmount(handle.token)
        await self._still_there()

    async def end(self, *, gently: bool = False) -> None:
        """End the process and all it started."""
        line, self._line = self._line, None
        if line is None:
            return
        if gently and not line.over:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._patience.bye_s):
                    await line.process.send(protocol.bye())
        await line.process.end(gently=gently)

    async def _still_there(self) -> None:
        """AgentError where the process went when no run of it went on: no run would tell of it."""
        line = self._line
        if line is None or not line.over or line.busy or line.killed or line.doomed:
            return
        self._deaths += 1
        await line.process.left()
        went = line.process.went
        await self.end()
        why = line.wrong.why if line.wrong is not None else f"its process ended {went or ''}".rstrip()
        raise AgentError(f"{self._program.name}: when its last run was over and no other had begun, {why}")

    async def _say(self, said: bytes) -> None:
        if self._line is not None:
            await self._line.process.send(said)

    async def _catch_up(self) -> None:
        if self._line is not None:
            self._line.process.pump()


def last_words(process: Process, code: int | None) -> str:
    """What to show of a process that never got as far as a run."""
    ended = "" if code is None else f" (exit code {code})"
    out, err = (tail.strip() for tail in process.tails)
    last = err or out
    return f"{ended}. The last it wrote: {last[-500:]}" if last else f"{ended}. It wrote nothing."


@contextlib.asynccontextmanager
async def connected(
    program: Program,
    patience: Patience = Patience(),  # noqa: B008 - frozen
    *,
    shown_s: float = SHOWN_S,
) -> AsyncIterator[Agent]:
    """The agent that the program is, started; nothing of it is left when the block ends. `shown_s` is that of `Session.served`."""
    async with Server() as server:
        one = Command(program, server, patience, shown_s)
        gently = False
        try:
            await one.start()
            yield one
            gently = True
        finally:
            # Who interrupts does not wait for an agent to take its leave.
            await one.end(gently=gently)


@contextlib.asynccontextmanager
async def connect(spec: str) -> AsyncIterator[Agent]:
    """The agent of a `command:` spec, started in the current folder with the kit's environment."""
    try:
        command = shlex.split(spec)
    except ValueError as error:
        raise SpecError(f"agent 'command:{spec}': {error}; quote it as in a shell") from error
    if not command:
        raise SpecError("agent 'command:': expected a command, such as 'command:node my_agent.js'")
    if shutil.which(command[0]) is None:
        why = "is not executable" if shutil.which(command[0], os.F_OK) else "is not on the path, nor in this folder"
        raise SpecError(f"agent 'command:{spec}': the program {command[0]!r} {why}")
    async with connected(Program(command)) as agent:
        yield agent


COMMAND = Adapter(
    "command", "command:PROGRAM ARGUMENTS, a process that speaks the command protocol, docs/protocol.md", connect
)
