"""
An agent in a process of its own: the agent's end of the command protocol, version 1. Standard library only.

One thread reads what the kit sends. Each session has a thread and an event loop of its own, on which all of the agent's code
for it runs, blocking or not, one run after another. An agent that declares `concurrent_runs` is given a run at once, beside those
that go on: as a task of the same loop where it is asynchronous, else on a thread of its own. stdout is the protocol's; what the
agent prints goes to stderr.
"""

import asyncio
import contextlib
import inspect
import json
import os
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, fields
from queue import Empty, SimpleQueue
from typing import Any

from conformance.agent_side.figures import MAX_LINE_BYTES, PROTOCOL
from conformance.agent_side.saying import RUNNING, Say, Taker, logs, raised, taken
from conformance.agent_side.served_bench import clock, served_bench
from conformance.agent_side.terms import InProcessAgent, RunInput, Runner

#: Sessions that are kept open. The kit does not say when one is over; no scenario has as many, and each holds a thread and a loop.
KEPT_SESSIONS = 16

_INPUT = frozenset(field.name for field in fields(RunInput))


def serve(find: Callable[[], InProcessAgent]) -> None:
    """Speak the protocol on stdin and stdout until the kit says bye or is gone. `find` gives the agent; it may print, too."""
    lines, say = _wires()
    agent = find()
    sessions: dict[str, _Session] = {}
    runs: dict[str, str] = {}
    for line in lines:
        message = json.loads(line)
        match message["type"]:
            case "hello":
                say({"type": "ready", "protocol": PROTOCOL, **_introduction(agent)})
            case "run":
                given = RunInput(**{key: value for key, value in message.items() if key in _INPUT})
                runs[given.run] = given.session
                if given.session not in sessions:
                    sessions[given.session] = _Session(agent, say)
                sessions[given.session].begin(given)
                if len(sessions) > KEPT_SESSIONS:
                    sessions.pop(next(iter(sessions))).leave()
            case "cancel" if (session := sessions.get(runs.get(message["run"], ""))) is not None:
                session.cancel(message["run"])
            case "bye":
                break
    for session in sessions.values():
        session.leave()
    for session in sessions.values():
        session.wait()


def _introduction(agent: InProcessAgent) -> dict[str, Any]:
    info = asdict(agent.info)
    named = {key: info.pop(key) for key in ("name", "version", "language")}
    return {"agent": named, **info}


def _wires() -> tuple[Iterable[bytes], Say]:
    """
    The kit's lines, and a function that writes one message a line, whole and at once, whichever thread says it.

    From now on both are this module's own: the agent, its children and its C code print to stderr, and read nothing.
    """
    sys.stdout.flush()
    lines, out = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nowhere, 0)
    os.close(nowhere)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    lock = threading.Lock()

    def say(message: Mapping[str, Any]) -> None:
        text = json.dumps(message, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        # Half a surrogate pair, which UTF-8 cannot hold, becomes its JSON escape.
        line = text.encode("utf-8", "backslashreplace") + b"\n"
        if len(line) > MAX_LINE_BYTES:
            raise ValueError(f"a message of type {message['type']!r} has {len(line)} bytes, at most {MAX_LINE_BYTES}")
        with lock:
            out.write(line)
            out.flush()

    return lines, say


class _Session:
    """One session on its thread."""

    def __init__(self, agent: InProcessAgent, say: Say) -> None:
        self._agent = agent
        self._say = say
        self._beside = agent.info.capabilities.get("concurrent_runs") not in (None, False)
        self._runs: SimpleQueue[RunInput | None] = SimpleQueue()
        self._runner: Runner | None = None
        self._wake: Callable[[], object] = lambda: None
        self._unheard: set[str] = set()
        self._begun: set[str] = set()
        # Who opens the agent, who looks whether it is open, and what goes on at once.
        self._lock = threading.Lock()
        self._others: list[threading.Thread] = []
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def begin(self, given: RunInput) -> None:
        """Start a run, after those that were started before or, where the agent can, beside them."""
        self._runs.put(given)
        self._wake()

    def cancel(self, run: str) -> None:
        """Tell the agent that a run is not wanted any more, once that has begun. What its `cancel` raises is shown, and ends nothing."""
        with self._lock:
            if run not in self._begun:
                self._unheard.add(run)
                return
        self._cancelled(run)

    def leave(self) -> None:
        """Close the session once its runs are over."""
        self._runs.put(None)

    def wait(self) -> None:
        """Until it is closed; a run that never ends is left, since the process ends."""
        self._thread.join(timeout=1)

    def _cancelled(self, run: str) -> None:
        cancel = getattr(self._runner, "cancel", None)
        if cancel is not None:
            try:
                cancel(run)
            except Exception:  # noqa: BLE001 - the agent's own
                traceback.print_exc()

    def _serve(self) -> None:
        with asyncio.Runner() as loop:
            while (given := self._runs.get()) is not None:
                self._drive(loop, given)
            for other in self._others:
                other.join()
            close = getattr(self._runner, "close", None)
            closed = close() if close is not None else None
            if inspect.isawaitable(closed):
                loop.run(_awaited(closed))

    def _drive(self, loop: asyncio.Runner, given: RunInput) -> None:
        """One run and, while it blocks nothing but its own thread, those that are started beside it."""
        run = _Run(self._agent, given, self._say)
        made = run.begun(self._runner_of(given))
        if made is None:
            return
        self._now(given.run)
        if run.is_async(made):
            loop.run(self._with_others(run, made))
        elif self._beside:
            other = threading.Thread(target=run.take, args=(made,), daemon=True)
            self._others.append(other)
            other.start()
        else:
            run.take(made)

    async def _with_others(self, first: "_Run", made: Any) -> None:
        """An asynchronous run with those that are started while it goes on, each a task."""
        loop, started = asyncio.get_running_loop(), asyncio.Event()
        tasks = {asyncio.ensure_future(first.atake(made))}
        self._wake = lambda: loop.call_soon_threadsafe(started.set)
        try:
            while tasks:
                started.clear()
                tasks |= set(self._started()) if self._beside else set()
                waiting = asyncio.ensure_future(started.wait())
                done, _ = await asyncio.wait({waiting, *tasks}, return_when=asyncio.FIRST_COMPLETED)
                waiting.cancel()
                tasks -= done
        finally:
            self._wake = lambda: None

    def _started(self) -> "Iterator[asyncio.Task[None]]":
        """A task for each run that waits to begin."""
        with contextlib.suppress(Empty):
            while (given := self._runs.get_nowait()) is not None:
                run = _Run(self._agent, given, self._say)
                made = run.begun(self._runner_of(given))
                if made is not None:
                    self._now(given.run)
                    yield asyncio.ensure_future(run.atake(made))
            # It is for the session's own thread to hear that it is to close.
            self._runs.put(None)

    def _runner_of(self, given: RunInput) -> Callable[[RunInput], Any]:
        def begin(one: RunInput) -> Any:
            if self._runner is None:
                self._runner = self._agent.open(served_bench(given, clock(given)))
            return self._runner.run(one)

        return begin

    def _now(self, run: str) -> None:
        """A run has begun, and hears of a cancel that came before."""
        with self._lock:
            self._begun.add(run)
            unheard = run in self._unheard
        if unheard:
            self._cancelled(run)


class _Run:
    """One run: its events are said as they come and, last, what ends it."""

    def __init__(self, agent: InProcessAgent, given: RunInput, say: Say) -> None:
        self._given = given
        self._say = say
        self._take = Taker(given.run, say)
        self._logs = "L" in agent.info.channels

    def begun(self, begin: Callable[[RunInput], Any]) -> Any:
        """What the agent gives to iterate; None where it raised already, which is said."""
        try:
            with self._heard():
                return begin(self._given)
        except BaseException as error:  # noqa: BLE001 - a SystemExit of the agent ends the run and not the protocol
            self._say(raised(self._given.run, error))
            return None

    @staticmethod
    def is_async(made: Any) -> bool:
        """Whether it needs an event loop."""
        return hasattr(made, "__aiter__") or inspect.isawaitable(made)

    def take(self, made: Any) -> None:
        """Take all of it, on this thread."""
        try:
            with self._heard():
                for item in made:
                    self._take(item)
        except BaseException as error:  # noqa: BLE001 - as above
            self._say(raised(self._given.run, error))
        else:
            self._say(self._take.result())

    async def atake(self, made: Any) -> None:
        """Take all of it, as a task."""
        try:
            with self._heard():
                await taken(made, self._take)
        except BaseException as error:  # noqa: BLE001 - as above
            self._say(raised(self._given.run, error))
        else:
            self._say(self._take.result())

    @contextlib.contextmanager
    def _heard(self) -> Iterator[None]:
        token = RUNNING.set(self._given.run)
        try:
            with logs(self._given.run, self._take.log) if self._logs else contextlib.nullcontext():
                yield
        finally:
            RUNNING.reset(token)


async def _awaited(made: Any) -> Any:
    return await made
