"""
`python:package.module:NAME`: an agent in this process, driven on a thread and an event loop of its own.

Everything an agent does, blocking or not, happens on that thread, so that the kit's own loop can tell a hung agent from a
slow one whatever it blocks on. What was asked of the thread and never came back makes the agent stuck.
"""

import _thread
import asyncio
import contextlib
import importlib
import inspect
import sys
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from freezegun import freeze_time

from conformance.adapters.base import Adapter, Agent, End, How
from conformance.adapters.exits import withheld
from conformance.adapters.taking import MAX_EVENT_CHARS, Flood, Garbled, Taker
from conformance.adapters.watching import ends
from conformance.agent_side import AgentInfo, Bench, InProcessAgent, Outcome, RunInput, Runner
from conformance.agent_side.saying import RUNNING, logs, taken, text_of
from conformance.errors import AgentError, SpecError
from conformance.plain import plain, shown
from conformance.recorder import Recorder
from conformance.session import Killed, Session
from fake_models.in_process import CallableModel

#: How long an agent may take to open a session, as for the handshake of the command protocol.
OPEN_S = 60.0
#: What an ended run is given to come back, once its hangs are released and its task is cancelled.
GRACE_S = 0.2


#: How a run ends whose items are not taken any more.
_ENDED: Mapping[type[BaseException], How] = {Flood: "cap", Garbled: "died"}
#: What a run's items can be taken by.
_ITERATED = ("__iter__", "__aiter__", "__await__")
#: Runs a coroutine to its end on the agent's thread.
Drain = Callable[[Coroutine[Any, Any, Any]], None]


class _Escaped(Exception):  # noqa: N818 - what happened, not an error of ours
    """What came out of foreign code, in words: the thing itself may be a SystemExit, or do anything when it is looked at."""


class _Thread:
    """One daemon thread on which all of an agent's code runs, blocking code as it is and coroutines on one event loop."""

    def __init__(self) -> None:
        self._work: SimpleQueue[tuple[Callable[[], Any], Future[Any]] | None] = SimpleQueue()
        self._loop = asyncio.new_event_loop()
        self._lock = threading.Lock()
        self._draining = False
        self._others: list[Future[Any]] = []
        # Not threading.Thread: its frames at the bottom of the stack make freezegun hand out the real time. A thread begun
        # this way is a daemon, which is what a hung agent needs.
        _thread.start_new_thread(self._serve, ())

    def _serve(self) -> None:
        while (item := self._work.get()) is not None:
            work, future = item
            if not future.set_running_or_notify_cancel():
                continue
            try:
                result = work()
            except BaseException as error:  # noqa: BLE001 - carried to whoever waits
                future.set_exception(_Escaped(f"{_name(error)}: {text_of(error)}"))
            else:
                future.set_result(result)
        self._loop.close()

    def start(self, work: Callable[[], Any]) -> Future[Any]:
        """Begin work on the thread, after what it does already."""
        future: Future[Any] = Future()
        self._work.put((work, future))
        return future

    def beside(self, work: Coroutine[Any, Any, Any]) -> bool:
        """Begin a task beside the coroutine that is drained now; False where none is, and the work was not begun."""
        with self._lock:
            if self._draining:
                self._others.append(asyncio.run_coroutine_threadsafe(work, self._loop))
            return self._draining

    def drain(self, work: Coroutine[Any, Any, Any]) -> None:
        """On the thread itself: run a coroutine to its end, and what was begun beside it to its own."""
        with self._lock:
            self._draining = True
        try:
            self._loop.run_until_complete(self._drained(work))
        finally:
            with self._lock:
                self._draining = False
                self._others.clear()

    async def _drained(self, work: Coroutine[Any, Any, Any]) -> None:
        try:
            await work
        finally:
            while others := self._left():
                await asyncio.wait(others)

    def _left(self) -> list[asyncio.Future[Any]]:
        """What still goes on beside; where nothing does, nothing more is begun."""
        with self._lock:
            left = [asyncio.wrap_future(one) for one in self._others if not one.done()]
            self._draining = bool(left)
            return left

    def soon(self, call: Callable[[], Any]) -> None:
        """Call on the loop, from another thread; blocking code there does not hear it."""
        self._loop.call_soon_threadsafe(call)

    def stop(self) -> None:
        """End the thread, unless something on it never comes back."""
        self._work.put(None)


@dataclass(frozen=True, slots=True)
class _Handle:
    """One open session."""

    runner: Runner
    session: Session


class InProcess:
    """An `Agent` in this process."""

    apart = False
    can_be_killed = True

    def __init__(self, agent: InProcessAgent, on_time: Callable[[datetime], None], exits: Sequence[str] = ()) -> None:
        self.info = _checked(agent.info)
        self.on_time = on_time
        self.stuck = False
        self._agent = agent
        self._thread = _Thread()
        self._running: dict[str, _Driving] = {}
        # What the agent did to end this process, and how much of that a run has answered for.
        self._exits = exits
        self._answered = 0

    async def open(self, session: Session) -> _Handle:
        """Begin a session. What the agent's own `open` raises is an AgentError: nothing ran that could be judged."""
        bench = bench_for(session)
        opened = asyncio.wrap_future(self._thread.start(lambda: self._agent.open(bench)))
        await asyncio.wait({opened}, timeout=OPEN_S)
        if not opened.done():
            self.stuck = True
            raise AgentError(f"agent {self.info.name!r}: a session was not open after {OPEN_S} s")
        try:
            runner = opened.result()
        except _Escaped as error:
            raise AgentError(f"agent {self.info.name!r}: opening a session raised {error}") from error
        if not callable(getattr(runner, "run", None)):
            raise AgentError(f"agent {self.info.name!r}: a session is {shown(runner, 80)}, which has no method run")
        return _Handle(runner, session)

    async def run(self, handle: _Handle, given: RunInput, recorder: Recorder, *, deadline_s: float) -> End:
        """Drive one run, beside those that go on already, and watch that something goes on."""
        session, run = handle.session, given.run
        one = _Driving(handle.runner, given, recorder, self.info)
        first = next(iter(self._running.values()), None)
        self._running[run] = one
        try:
            thread = await self._begun(one, first)
            end = await self._watched(session, one, recorder, deadline_s, thread)
        finally:
            del self._running[run]
        if thread is not self._thread:
            thread.stop()
        return end

    async def _begun(self, one: "_Driving", first: "_Driving | None") -> _Thread:
        """Begin a run, as a task beside the first or on a thread of its own where that one blocks; gives its thread."""
        if first is not None:
            await asyncio.wait({asyncio.wrap_future(first.is_async)}, timeout=GRACE_S)
            if first.is_async.done() and first.is_async.result():
                work = one.beside()
                if self._thread.beside(work):
                    return self._thread
                work.close()
        thread = self._thread if first is None or first.done.done() else _Thread()
        thread.start(partial(one.here, thread.drain))
        return thread

    async def _watched(
        self, session: Session, one: "_Driving", recorder: Recorder, deadline_s: float, thread: _Thread
    ) -> End:
        done = asyncio.wrap_future(one.done)
        how = await ends(done, lambda: recorder.seen, deadline_s, lambda: session.killed or session.overran(one.run))
        if how is not None:
            # What it still does while it is torn down is the kit's doing and belongs to no record.
            recorder.mute(one.run)
            thread.soon(one.leave)
            session.release(one.run)
            await asyncio.wait({done}, timeout=GRACE_S)
        asked = {asyncio.wrap_future(cancel) for cancel in one.cancels}
        if asked:
            await asyncio.wait(asked, timeout=GRACE_S)
        self.stuck = self.stuck or not done.done() or not all(cancel.done() for cancel in asked)
        told = "".join(f"{cancel.exception()}\n" for cancel in asked if cancel.done() and cancel.exception())
        if session.killed:
            await self._swept()
            return End("died", stderr_tail=told)
        if exits := self._exited():
            recorder.mute(one.run)
            return End("died", stderr_tail="".join(f"{each}\n" for each in exits), gone=True)
        return End(done.result() if how is None else how, stderr_tail=told)

    def _exited(self) -> Sequence[str]:
        """What the agent did to end this process since this was last asked."""
        new = self._exits[self._answered :]
        self._answered += len(new)
        return new

    async def _swept(self) -> None:
        """A process that is killed has no tasks left: end those that would go on with the next one that is drained."""
        if not self.stuck:
            swept = asyncio.wrap_future(self._thread.start(lambda: self._thread.drain(_nothing_left())))
            await asyncio.wait({swept}, timeout=GRACE_S)
            self.stuck = not swept.done()

    def cancel(self, handle: _Handle, run: str) -> None:
        """Ask the agent to end a run, from a thread of its own, since its own ones are at work on it; waits a little for it."""
        asked: Future[None] = Future()
        if (one := self._running.get(run)) is not None:
            one.cancels.append(asked)
        _thread.start_new_thread(_cancelled, (asked, handle.runner, run))
        wait({asked}, timeout=GRACE_S)

    def kill(self, handle: _Handle, run: str) -> None:
        """End the agent as a crash does: what it is at raises `Killed`, and so does all that it asks from now on."""
        handle.session.kill()
        raise Killed(f"the kit has killed this agent in run {run!r}")

    async def close(self, handle: _Handle) -> None:
        """
        End a session; what the agent's own `close` raises or does not finish is its own affair. A killed one is not asked.

        Raises:
            AgentError: the agent would have ended this process since its last run.
        """
        handle.session.release()
        if not self.stuck and not handle.session.killed:
            done = asyncio.wrap_future(self._thread.start(partial(_closed, handle.runner, self._thread.drain)))
            await asyncio.wait({done}, timeout=GRACE_S)
            self.stuck = not done.done()
            if done.done():
                done.exception()
        if exits := self._exited():
            raise AgentError(f"agent {self.info.name!r}: after its last run of a session, {exits[0]}")

    def stop(self) -> None:
        """End the agent's thread."""
        self._thread.stop()


def _cancelled(asked: "Future[None]", runner: Runner, run: str) -> None:
    """Call the agent's `cancel`; what comes out of it is told, and ends nothing."""
    try:
        runner.cancel(run)  # type: ignore[attr-defined] # the capability promises it
    except BaseException as error:  # noqa: BLE001 - the agent's own
        asked.set_exception(_Escaped(f"the agent's cancel raised {_name(error)}: {text_of(error)}"))
    else:
        asked.set_result(None)


def _closed(runner: Runner, drain: Drain) -> None:
    close = getattr(runner, "close", None)
    result = close() if close is not None else None
    if inspect.isawaitable(result):
        drain(_awaited(result))


async def _awaited(result: Any) -> Any:
    return await result


async def _nothing_left() -> None:
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)


class _Driving:
    """One run as it is driven, on a thread or as a task beside another one: takes all that it yields."""

    def __init__(self, runner: Runner, given: RunInput, recorder: Recorder, info: AgentInfo) -> None:
        self.run = given.run
        self._runner = runner
        self._given = given
        self._recorder = recorder
        self._info = info
        self._take = Taker(given.run, recorder, shows="E" in info.channels)
        self._task: asyncio.Task[Any] | None = None
        #: How it ended, once it did.
        self.done: Future[How] = Future()
        #: Settled once the agent has said what it gives: that it runs on an event loop, so that another run can go beside it.
        self.is_async: Future[bool] = Future()
        #: The calls of the agent's own `cancel`.
        self.cancels: list[Future[None]] = []

    def here(self, drain: Drain) -> None:
        """Run it on this thread."""
        try:
            with self._heard():
                made = self._begun()
                if not self.is_async.result():
                    for item in made:
                        self._take(item)
            if self.is_async.result():
                drain(self._on_the_loop(made))
            else:
                self.done.set_result("returned")
        except BaseException as error:  # noqa: BLE001 - a SystemExit of the agent is the agent's end, not ours
            self._ended(error)

    async def beside(self) -> None:
        """Run it as a task of the loop that this is on."""
        try:
            with self._heard():
                made = self._begun()
        except BaseException as error:  # noqa: BLE001 - as above
            self._ended(error)
        else:
            await self._on_the_loop(made)

    def leave(self) -> None:
        """On the loop: cancel the task that it runs in; blocking code does not hear it."""
        if self._task is not None:
            self._task.cancel()

    def _begun(self) -> Any:
        made = _begun(self._runner, self._given)
        self.is_async.set_result(hasattr(made, "__aiter__") or inspect.isawaitable(made))
        return made

    async def _on_the_loop(self, made: Any) -> None:
        # Nothing may come out of this: a SystemExit would end the loop, and with it what goes on beside.
        self._task = asyncio.current_task()
        with self._heard():
            try:
                await taken(made, self._take)
            except BaseException as error:  # noqa: BLE001 - as above
                self._ended(error)
            else:
                self.done.set_result("returned")

    def _ended(self, error: BaseException) -> None:
        if not self.is_async.done():
            self.is_async.set_result(False)
        if self.done.done():
            return
        how = _ENDED.get(type(error), "raised")
        if how == "raised":
            self._take.raised(_name(error), text_of(error))
        self.done.set_result(how)

    @contextlib.contextmanager
    def _heard(self) -> Iterator[None]:
        token = RUNNING.set(self._given.run)
        try:
            with logs(self._given.run, self._log) if "L" in self._info.channels else contextlib.nullcontext():
                yield
        finally:
            RUNNING.reset(token)

    def _log(self, level: str, logger: str, message: str) -> None:
        # Not by `take`: too much is no exception here, where the agent's own code would get it.
        data = {"run": self._given.run, "level": level, "logger": logger, "message": message}
        self._recorder("agent", "log", data)


def _begun(runner: Runner, given: RunInput) -> Any:
    """What the agent gives to iterate, or to await and then iterate."""
    made: Any = runner.run(given)
    if isinstance(made, Outcome) or not any(hasattr(made, way) for way in _ITERATED):
        raise TypeError(f"run gave {shown(made, 80)}, expected an iterator of events and, last, an Outcome")
    return made


def _name(error: BaseException) -> str:
    return type(error).__name__


def _checked(info: Any) -> AgentInfo:
    """
    What the agent says of itself, as plain data of our own.

    Raises:
        SpecError: a field is of another type than AgentInfo says.
    """
    if not isinstance(info, AgentInfo):
        raise SpecError(f"the agent's info is {shown(info, 80)}, expected an AgentInfo")
    kept: dict[str, Any] = {}
    for field, kind in _INFO.items():
        value = getattr(info, field)
        try:
            kept[field] = plain(value, MAX_EVENT_CHARS)
        except ValueError as error:
            raise SpecError(f"the agent's info: {field} is {shown(value, 80)}: {error}") from None
        if not isinstance(kept[field], kind):
            raise SpecError(f"the agent's info: {field} is {shown(value, 80)}, expected {_KINDS[kind]}")
    lists = {field: tuple(map(str, kept[field])) for field in ("wires", "channels", "knobs")}
    return AgentInfo(**kept | lists)


#: The fields of AgentInfo and the plain types they must have.
_INFO: Mapping[str, Any] = {
    **dict.fromkeys(("name", "version", "language"), str),
    **dict.fromkeys(("wires", "channels", "knobs"), list),
    **dict.fromkeys(("dialect", "capabilities"), dict),
    "profile": str | None,
}
_KINDS: Mapping[Any, str] = {str: "a text", list: "a tuple of texts", dict: "a mapping", str | None: "a text or None"}


def bench_for(session: Session) -> Bench:
    """What the kit hands to an agent for one session."""
    shell = CallableModel(session.model, headers={"authorization": f"Bearer {session.api_key}"})
    names = session.tool_names
    return Bench(
        model=shell.model,
        stream_model=shell.stream_model,
        amodel=shell.amodel,
        astream_model=shell.astream_model,
        base_url=session.base_url,
        api_key=session.api_key,
        model_name=session.model_name,
        transport=partial(_transport, session, "httpx2"),
        async_transport=partial(_transport, session, "httpx2"),
        httpx_transport=partial(_transport, session, "httpx"),
        httpx_async_transport=partial(_transport, session, "httpx"),
        tools={name: partial(_call, session, name) for name in names},
        atools={name: partial(_acall, session, name) for name in names},
        call_tool=session.call_tool,
        acall_tool=session.acall_tool,
        now=session.now,
        sleep=session.pause,
        asleep=session.apause,
    )


def _transport(session: Session, library: str) -> Any:
    # Here and not above: agents that take the callable never pay for an HTTP library.
    from fake_models.httpx_transport import transport  # noqa: PLC0415

    return transport(session.model, importlib.import_module(library))


def _call(session: Session, name: str, **arguments: Any) -> Any:
    return session.call_tool(name, arguments)


async def _acall(session: Session, name: str, **arguments: Any) -> Any:
    return await session.acall_tool(name, arguments)


def find(spec: str) -> InProcessAgent:
    """
    The agent that `package.module:NAME` names; the current folder is on the path, as with `python -m`.

    Raises:
        AgentError: no such module or name, an import that raises, or a value that is no InProcessAgent.
    """
    module_name, _, name = spec.partition(":")
    if not name or not all(part.isidentifier() for part in module_name.split(".")):
        raise SpecError(f"agent 'python:{spec}': expected python:package.module:NAME, such as python:my_agent:AGENT")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        module = importlib.import_module(module_name)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        # A module that is not there was mistyped; one that is there and raises cannot be run.
        absent = isinstance(error, ModuleNotFoundError) and f"{module_name}.".startswith(f"{error.name}.")
        raise (SpecError if absent else AgentError)(
            f"agent 'python:{spec}': importing {module_name!r} raised {_name(error)}: {text_of(error)}. "
            f"Looked in the current folder and the installed packages."
        ) from error
    agent = vars(module).get(name)
    if not isinstance(agent, InProcessAgent):
        values = [key for key, value in vars(module).items() if isinstance(value, InProcessAgent)]
        hint = f"it has {', '.join(values)}" if values else "it has none"
        raise SpecError(
            f"agent 'python:{spec}': {name!r} is {type(agent).__name__}, expected an InProcessAgent of "
            f"conformance.agent_side in {module_name!r}; {hint}"
        )
    return agent


@contextlib.asynccontextmanager
async def connected(
    agent: InProcessAgent, on_time: Callable[[datetime], None] = lambda _now: None, exits: Sequence[str] = ()
) -> AsyncIterator[Agent]:
    """The agent, on its own thread until the block ends. `exits` grows with what it does to end this process."""
    one = InProcess(agent, on_time, exits)
    try:
        yield one
    finally:
        one.stop()


@contextlib.asynccontextmanager
async def connect(spec: str) -> AsyncIterator[Agent]:
    """The agent of a `python:` spec, with the clock frozen."""
    # One for both: what the module took of `os` while it was imported tells of itself in a run as well.
    with withheld() as exits:
        agent = find(spec)
        if exits:
            raise AgentError(f"agent 'python:{spec}': while it was imported, {exits[0]}")
        async with _frozen(agent, exits) as one:
            yield one


@contextlib.asynccontextmanager
async def frozen(agent: InProcessAgent) -> AsyncIterator[Agent]:
    """The agent, with the clock of this process frozen: it reads the scenario's time wherever it looks."""
    with withheld() as exits:
        async with _frozen(agent, exits) as one:
            yield one


@contextlib.asynccontextmanager
async def _frozen(agent: InProcessAgent, exits: Sequence[str]) -> AsyncIterator[Agent]:
    # Frozen once, since one start costs milliseconds with some hundred modules loaded, and moved per scenario.
    with freeze_time("2026-01-01", real_asyncio=True) as clock:
        async with connected(agent, clock.move_to, exits) as one:
            yield one


PYTHON = Adapter("python", "python:package.module:NAME, an InProcessAgent in this process", connect, keeps=False)
