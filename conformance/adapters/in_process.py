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
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from freezegun import freeze_time

from conformance.adapters.base import Adapter, Agent, End, How
from conformance.adapters.taking import MAX_EVENT_CHARS, Flood, Taker
from conformance.adapters.watching import ends
from conformance.agent_side import AgentInfo, Bench, InProcessAgent, Outcome, RunInput, Runner
from conformance.agent_side.saying import logs, taken, text_of
from conformance.errors import AgentError, SpecError
from conformance.plain import plain, shown
from conformance.recorder import Recorder
from conformance.session import Session
from fake_models.in_process import CallableModel

#: How long an agent may take to open a session, as for the handshake of the command protocol.
OPEN_S = 60.0
#: What an ended run is given to come back, once its hangs are released and its task is cancelled.
GRACE_S = 0.2


#: What a run's items can be taken by.
_ITERATED = ("__iter__", "__aiter__", "__await__")
#: Runs a coroutine to its end on the agent's thread.
Drain = Callable[[Coroutine[Any, Any, Any]], Any]


class _Escaped(Exception):  # noqa: N818 - what happened, not an error of ours
    """What came out of foreign code, in words: the thing itself may be a SystemExit, or do anything when it is looked at."""


class _Thread:
    """One daemon thread on which all of an agent's code runs, blocking code as it is and coroutines on one event loop."""

    def __init__(self) -> None:
        self._work: SimpleQueue[tuple[Callable[[], Any], Future[Any]] | None] = SimpleQueue()
        self._loop = asyncio.new_event_loop()
        self._task: asyncio.Task[Any] | None = None
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

    def drain(self, work: Coroutine[Any, Any, Any]) -> Any:
        """On the thread itself: run a coroutine to its end."""
        self._task = self._loop.create_task(work)
        try:
            return self._loop.run_until_complete(self._task)
        finally:
            self._task = None

    def cancel(self) -> None:
        """Cancel the coroutine that runs now, from another thread; blocking code does not hear it."""
        self._loop.call_soon_threadsafe(lambda: self._task and self._task.cancel())

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

    def __init__(self, agent: InProcessAgent, on_time: Callable[[datetime], None]) -> None:
        self.info = _checked(agent.info)
        self.on_time = on_time
        self.stuck = False
        self._agent = agent
        self._thread = _Thread()

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
        """Drive one run and watch that something goes on."""
        work = self._thread.start(partial(_drive, handle.runner, given, recorder, self.info, self._thread.drain))
        done = asyncio.wrap_future(work)
        how = await ends(done, lambda: recorder.seen, deadline_s, lambda: handle.session.model.overrun)
        if how is None:
            return End(done.result())
        # What it still does while it is torn down is the kit's doing and belongs to no record.
        recorder.mute()
        handle.session.release()
        self._thread.cancel()
        await asyncio.wait({done}, timeout=GRACE_S)
        self.stuck = not done.done()
        return End(how)

    async def cancel(self, handle: _Handle, run: str) -> None:
        """Ask the agent to end a run: from here, since its own thread is at work on it."""
        handle.runner.cancel(run)  # type: ignore[attr-defined] # the capability promises it

    async def close(self, handle: _Handle) -> None:
        """End a session; what the agent's own `close` raises or does not finish is its own affair."""
        handle.session.release()
        if self.stuck:
            return
        done = asyncio.wrap_future(self._thread.start(partial(_closed, handle.runner, self._thread.drain)))
        await asyncio.wait({done}, timeout=GRACE_S)
        self.stuck = not done.done()
        if done.done():
            done.exception()

    def stop(self) -> None:
        """End the agent's thread."""
        self._thread.stop()


def _closed(runner: Runner, drain: Drain) -> None:
    close = getattr(runner, "close", None)
    result = close() if close is not None else None
    if inspect.isawaitable(result):
        drain(_awaited(result))


async def _awaited(result: Any) -> Any:
    return await result


def _drive(runner: Runner, given: RunInput, recorder: Recorder, info: AgentInfo, drain: Drain) -> How:
    """Take all that one run yields; gives how it ended."""
    take = Taker(given.run, recorder, shows="E" in info.channels)

    def hear(level: str, logger: str, message: str) -> None:
        # Not by `take`: too much is no exception here, where the agent's own code would get it.
        recorder("agent", "log", {"run": given.run, "level": level, "logger": logger, "message": message})

    with logs(hear) if "L" in info.channels else contextlib.nullcontext():
        try:
            made = _begun(runner, given)
            if hasattr(made, "__aiter__") or inspect.isawaitable(made):
                drain(taken(made, take))
            else:
                for item in made:
                    take(item)
        except Flood:
            return "cap"
        except BaseException as error:  # noqa: BLE001 - a SystemExit of the agent is the agent's end, not ours
            take.raised(_name(error), text_of(error))
            return "raised"
    return "returned"


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
    if not module_name or not name:
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
    agent: InProcessAgent, on_time: Callable[[datetime], None] = lambda _now: None
) -> AsyncIterator[Agent]:
    """The agent, on its own thread until the block ends."""
    one = InProcess(agent, on_time)
    try:
        yield one
    finally:
        one.stop()


@contextlib.asynccontextmanager
async def connect(spec: str) -> AsyncIterator[Agent]:
    """The agent of a `python:` spec, with the clock frozen."""
    async with frozen(find(spec)) as one:
        yield one


@contextlib.asynccontextmanager
async def frozen(agent: InProcessAgent) -> AsyncIterator[Agent]:
    """The agent, with the clock of this process frozen: it reads the scenario's time wherever it looks."""
    # Frozen once, since one start costs milliseconds with some hundred modules loaded, and moved per scenario.
    with freeze_time("2026-01-01", real_asyncio=True) as clock:
        async with connected(agent, clock.move_to) as one:
            yield one


PYTHON = Adapter("python", "python:package.module:NAME, an InProcessAgent in this process", connect, keeps=False)
