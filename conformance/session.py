"""The kit's side of one agent session: the scripted model, the scripted tools and the clock, all recorded. No socket."""

import asyncio
import copy
import hashlib
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from conformance.agent_side import RunInput, ToolFailed
from conformance.agent_side.saying import RUNNING
from conformance.agent_side.terms import timed_out
from conformance.dialect import Dialect
from conformance.latch import Latch, Meeting
from conformance.plain import plain, shown
from conformance.reading.agui import DELTAS
from conformance.reading.classes import SIDE_CALLS, SideCall, classify, side_class
from conformance.reading.joined import model_calls
from conformance.reading.resumed import resumed
from conformance.recorder import Recorder
from conformance.scenario import Point, RunSpec, Scenario
from conformance.waiting_calls import WaitingCalls
from fake_models.chunking import chunking as chunking_of
from fake_models.errors import ScriptError
from fake_models.exchange import Exchange
from fake_models.messages import Execution, ModelRequest, ToolSpec, World
from fake_models.scripted_model import PATIENCE, ScriptedModel
from fake_models.template import render
from fake_models.tools import Hangs, Large, Outcome, Raises, Returns, argument_error, outcome
from fake_models.tools import spec as offered
from fake_models.wire import CODECS

#: Most characters of a tool call's arguments: the line limit of the command protocol.
MAX_ARGUMENT_CHARS = 8 * 1024 * 1024
#: The header by which an agent says that a call stands beside its loop.
CALL_HEADER = "x-conformance-call"
#: How many turns of its event loop an agent in this process is given to act on a cancel: from another thread's word to the end of
#: a task it takes a few, and nothing else here would make it wait for any.
ROUNDS = 16
#: How long the end of a reply is held, in seconds, for an agent in a process of its own to show what was said. The reference takes
#: 5 ms at most by socket and pipe, measured on two busy cores; one that shows nothing until the end costs a play this much a reply.
SHOWN_S = 0.2


class Killed(BaseException):
    """What an agent in this process gets out of its model and tools where the kit kills it: no `except Exception` may survive it."""


class _Turns:
    """Some turns of the event loop; a thread that blocks has none to give."""

    def wait(self) -> None:
        """Go on."""

    async def awaited(self) -> None:
        """Let what is about to happen on the loop happen."""
        for _ in range(ROUNDS):
            await asyncio.sleep(0)


TURNS = _Turns()


@dataclass(slots=True)
class _Open:
    """
    What the kit holds of one open run.

    `free` ends what an agent cannot leave by itself, `over` all that still waits. At `point` the kit steps in by `act`, once, and
    has `acted` then. `streams`: its replies are to be shown while they come, and what is behind all that the last one says is held
    until it is `shown`.
    """

    free: Latch = field(default_factory=Latch)
    over: Latch = field(default_factory=Latch)
    point: Point | None = None
    act: Callable[[], None] = lambda: None
    acted: bool = False
    meeting: Meeting | None = None
    streams: bool = False
    shown: Latch | None = None


@dataclass(frozen=True, slots=True)
class _Begun:
    """An execution that was begun, and what will come of it: an outcome, or the refusal of its arguments."""

    exec: str
    run: str
    tool: str
    call_id: str | None
    fate: Outcome | ToolFailed


def _word(value: Any) -> str:
    return str.__str__(value) if isinstance(value, str) else shown(value)


class Session:
    """
    One session of an agent, from the kit's side.

    `release` ends every hang, scripted or not, so that a thread waiting in the kit comes back. `cap` and `patience` are the
    model's; without a cap it is the scenario's. A session whose agent was killed answers nothing more until it is revived.
    """

    def __init__(
        self,
        name: str,
        scenario: Scenario,
        dialect: Dialect,
        recorder: Recorder,
        *,
        chunking: str = "whole",
        wire: str = "openai_chat",
        cap: float | None = None,
        patience: float = PATIENCE,
    ) -> None:
        self.name = name
        #: What the agent is told to call this session: `name`, but for an agent that outlives the scenario.
        self.thread = name
        self.api_key = f"sk-kit-{hashlib.sha256(f'{scenario.id}/{name}'.encode()).hexdigest()[:24]}"
        self._wire = CODECS[wire]
        #: Where an agent without a socket would call its model: looks like a URL and reaches nothing. Its host
        #: says what does, to whoever reads of it in an error.
        self.base_url = f"http://use-bench-transport.invalid/s/{name}{self._wire.base}"
        self.tools_url: str | None = None
        self.mcp_url: str | None = None
        self.model_name = "scripted-model"
        self._scenario = scenario
        self._dialect = dialect
        self._recorder = recorder
        self._finished: list[Execution] = []
        self._begun: Counter[str] = Counter()
        self._waiting = WaitingCalls()
        self._calls_made = 0
        self._limits: dict[str, int | str] = {}
        self._open: dict[str, _Open] = {}
        self._last = ""
        # What still waits for a run that is over.
        self._left: list[_Open] = [_Open()]
        self._lock = threading.Lock()
        # The run of each model call of the loop that is not done, and whether it brought tool calls; and the run of a tool call.
        self._asking: dict[str, str] = {}
        self._bringing: set[str] = set()
        self._calling: dict[str, str] = {}
        self._shown_s: float | None = None
        self.killed = False
        self.model = ScriptedModel(
            record=self._recorded,
            host=self,
            chunking=chunking_of(chunking),
            codecs=CODECS,
            cap=scenario.cap if cap is None else cap,
            patience=patience,
            context_window=scenario.model.context_window,
            watched=self._watched,
        )

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        """The scenario's tools, as they are offered."""
        return tuple(map(offered, self._scenario.tools.values()))

    @property
    def tool_names(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(self._scenario.tools)

    def connection(self, given: RunInput) -> RunInput:
        """The run's input with the way to this session's model."""
        way: dict[str, Any] = {
            "wire": self._wire.name,
            "name": self.model_name,
            "base_url": self.base_url,
            "api_key": self.api_key,
        }
        window = self._scenario.model.context_window
        way |= {} if window is None else {"context_window": window}
        # A copy of its own: what the agent does to its input is no part of what it was given.
        given = replace(
            given, input=copy.deepcopy(given.input), limits=dict(given.limits), knobs=copy.deepcopy(given.knobs)
        )
        return replace(given, model=way, tools_url=self.tools_url, mcp_url=self.mcp_url)

    def served(self, url: str, mark: str, *, shown_s: float | None = None) -> None:
        """
        The session is reached over HTTP, below `url`, by an agent that plays many: `mark` makes its name its own, for good.

        Whoever takes a killed agent's place finds the session under the name that it had. `shown_s` is how long the end of a
        streamed reply waits, at most, until its agent shows what was said (`hear`); None: it has no events and nothing waits.
        """
        self._shown_s = shown_s
        self.base_url = f"{url}{self._wire.base}"
        self.tools_url = f"{url}/tools"
        self.mcp_url = f"{url}/mcp"
        if self.thread == self.name:
            self.thread = f"{self.name}-{mark[:8]}"

    def begin(self, given: RunInput, spec: RunSpec, meeting: Meeting | None = None) -> None:
        """A run starts: its script answers from now on, but not before those that it meets have asked as well."""
        self._limits[given.run] = given.limits.get("max_iters", self._dialect.default_max_iters)
        self._open[given.run] = _Open(meeting=meeting, streams=given.stream)
        self._last = given.run
        self.model.open(given.run, spec.script, spec.user or "")

    def finish(self, run: str) -> None:
        """A run is over; what the agent still asks is late."""
        one = self._open.pop(run)
        self._left.append(one)
        if one.meeting is not None:
            one.meeting.here(run)
        self.model.close(run)

    def step_in(self, run: str, point: Point, act: Callable[[], None]) -> None:
        """Call `act` the first time that the run is at this point, on whichever thread it is, which goes on after it."""
        self._open[run].point, self._open[run].act = point, act

    def hear(self, run: str, event: Mapping[str, Any]) -> None:
        """The agent has shown an event of a run, which is recorded."""
        shown, kind = self._held(run).shown, event.get("type")
        if shown is not None and isinstance(kind, str) and kind in DELTAS:
            shown.open()

    def free(self, run: str) -> None:
        """End the hangs of a run that its agent cannot leave by itself: it was cancelled, and has to be able to hear it."""
        self._held(run).free.open()

    def release(self, run: str | None = None) -> None:
        """End every hang of a run; without one, of all."""
        for one in (*self._open.values(), *self._left) if run is None else (self._held(run),):
            one.free.open()
            one.over.open()

    def kill(self) -> None:
        """From now on whatever the agent asks raises `Killed`; what waits comes back, to the same end."""
        self.killed = True
        self.release()

    def revive(self) -> None:
        """A fresh agent has taken the killed one's place; what it is given goes on where that one's stood."""
        self.killed = False
        self._left = [_Open()]

    def overran(self, run: str) -> bool:
        """Whether a run was refused by its cap and did not stop."""
        return self.model.overran(run)

    def _held(self, run: str) -> _Open:
        return self._open.get(run, self._left[0])

    def _alive(self) -> None:
        if self.killed:
            raise Killed("the kit has killed this agent")

    @property
    def _run(self) -> str:
        """The run that the agent is at: the one whose code asks, where that is known, else the one that asked its model last."""
        running = RUNNING.get()
        return running if running in self._open else self._last

    def _recorded(self, source: str, type: str, data: Mapping[str, Any]) -> None:  # noqa: A002 - the record's own word
        self._recorder(source, type, data)
        match type:
            case "request":
                self._asked(data)
            case "reply":
                self._replied(data)
            case "reply_done":
                self._done(data)
            case "refused":
                self._asking.pop(data["call"], None)

    def _asked(self, data: Mapping[str, Any]) -> None:
        run = data["run"] or self._last
        self._last = run
        # What stands beside the loop is no point of it.
        if data["side"] is None:
            self._asking[data["call"]] = run
        if (meeting := self._held(run).meeting) is not None:
            meeting.here(run)

    def _replied(self, data: Mapping[str, Any]) -> None:
        run = self._asking.get(data["call"], self._last)
        calls = [part for part in data["parts"] if part["type"] == "tool_call"]
        if calls:
            self._calls_made += len(calls)
            # What runs elsewhere is waited for in vain, and a model may call for ever.
            self._waiting.said(run, [part for part in calls if part["name"] in self._scenario.tools])
            if self._held(run).meeting is not None:
                self._calling |= {part["id"]: run for part in calls if part["id"]}
            if data["call"] in self._asking:
                self._bringing.add(data["call"])
        if data["call"] in self._asking:
            self._held(run).shown = self._showing(run, data["parts"])

    def _showing(self, run: str, parts: Sequence[Mapping[str, Any]]) -> Latch | None:
        """What opens once the agent shows something of a reply; None where it is not waited for."""
        says = any(part["type"] == "text" and (part["text"] or "").strip() for part in parts)
        return Latch(self._shown_s) if says and self._shown_s is not None and self._held(run).streams else None

    def _done(self, data: Mapping[str, Any]) -> None:
        run, brings = self._asking.pop(data["call"], None), data["call"] in self._bringing
        self._bringing.discard(data["call"])
        if run is not None and brings and data["by"] == "kit":
            self._at(run, "before_tools")

    def _watched(self, run: str, exchange: Exchange) -> Exchange:
        """The answer with what the kit waits for before it, and wants to hear of it."""
        one = self._held(run)
        if one.meeting is not None and not one.meeting.all_here.is_open:
            exchange = replace(exchange, held=one.meeting.all_here)
        if one.shown is not None and exchange.call in self._asking:
            exchange = replace(exchange, shown=one.shown)
        if one.point is not None:
            exchange = replace(exchange, after=TURNS)
        if one.point == "stream" and exchange.call in self._asking and exchange.status < 400:
            if exchange.streamed:
                return replace(exchange, reached=lambda: self._at(run, "stream"))
            self._at(run, "stream")
        return exchange

    def _at(self, run: str, point: Point) -> None:
        """A run is at a point: the kit steps in where it was to, the first time."""
        with self._lock:
            one = self._held(run)
            if one.point != point:
                return
            one.point, one.acted = None, True
        one.act()

    # What the scripted model asks of its host.

    def next_call(self) -> str:
        """The next model call's name."""
        return self._recorder.number("m")

    def side(self, request: ModelRequest, headers: Mapping[str, str]) -> SideCall | None:
        """`auxiliary` or `compaction` where the header or a declared matcher says so."""
        self._alive()
        said = SIDE_CALLS.get(headers.get(CALL_HEADER, "").lower())
        if said is not None:
            return said
        return (
            side_class(request, self._dialect.side_calls, World(now=self.now())) if self._dialect.side_calls else None
        )

    def world(self, run: str, request: ModelRequest, side: SideCall | None) -> World:  # noqa: ARG002 - recorded already
        """What the script may look at while it answers the request, which is recorded already."""
        kind, turn = self._class(run) if self._scenario.looks_at_classes else (side or "regular", 1)
        return World(
            now=self.now(),
            run=run,
            executions=tuple(self._finished),
            calls_made=self._calls_made,
            call=kind,
            round=turn,
            answer_by=self._dialect.answer_by,
        )

    def _class(self, run: str) -> tuple[str, int]:
        """The class and the round of the request that was recorded last."""
        limit = self._limits[run]
        world = World(now=self.now(), run=run)
        mine = [record for record in self._recorder.records if record.source == "model"]
        calls = model_calls(mine, run, whole=resumed(mine, self._wire.name))
        last = classify(calls, limit if isinstance(limit, int) else None, self._dialect, world)[-1]
        return last.kind, last.round or 1

    def now(self) -> datetime:
        """The scenario's clock."""
        return self._recorder.now()

    def pause(self, delay_s: float) -> None:
        """Let the scenario's time pass; no real time does."""
        self._recorder.pass_time(delay_s)

    async def apause(self, delay_s: float) -> None:
        """The same, letting other tasks run."""
        self._recorder.pass_time(delay_s)
        await asyncio.sleep(0)

    def hang(self) -> None:
        """Wait until the run is over, or is cancelled: a thread that waits could not hear of that otherwise."""
        self._held(self._run).free.wait()
        self._alive()

    async def ahang(self) -> None:
        """Wait until the run is over: a task that waits can be cancelled, and a connection closed."""
        await self._held(self._run).over.awaited()
        self._alive()

    # Tools.

    def call_tool(
        self, name: str, arguments: Mapping[str, Any], call_id: str | None = None, within_s: float | None = None
    ) -> Any:
        """
        Run a tool, recorded. Raises ToolFailed where it raises or refuses its arguments.

        With `within_s` a tool that hangs is left after so much of the scenario's time: it was started and has no end.
        """
        begun = self._start(name, arguments, call_id)
        if isinstance(begun.fate, Hangs):
            self._leave(begun, within_s)
            self._held(begun.run).free.wait()
            self._alive()
        return self._end(begun)

    async def acall_tool(
        self, name: str, arguments: Mapping[str, Any], call_id: str | None = None, within_s: float | None = None
    ) -> Any:
        """The same for an async agent: a hanging tool hangs the task, not the loop."""
        # What the agent has told by then may still be on its way through tasks of its own.
        await TURNS.awaited()
        begun = self._start(name, arguments, call_id)
        if isinstance(begun.fate, Hangs):
            self._leave(begun, within_s)
            await self._held(begun.run).free.awaited()
            self._alive()
        await asyncio.sleep(0)
        await self._acting(begun.run)
        try:
            return self._end(begun)
        finally:
            await self._acting(begun.run)

    async def _acting(self, run: str) -> None:
        """Turns for what a cancel sets going, if there was one."""
        if self._held(run).acted:
            await TURNS.awaited()

    def _leave(self, begun: _Begun, within_s: float | None) -> None:
        if within_s is not None:
            self.pause(within_s)
            raise timed_out(begun.tool, within_s)

    def _start(self, name: str, arguments: Mapping[str, Any], call_id: str | None) -> _Begun:
        self._alive()
        number = self._recorder.number("x")
        run = self._run_of(call_id)
        name, call_id = _word(name), None if call_id is None else _word(call_id)
        fate = None
        try:
            given = plain(arguments, MAX_ARGUMENT_CHARS)
        except ValueError as error:
            given, fate = shown(arguments), ToolFailed("ArgumentError", f"arguments: {error}", rejected=True)
        data = {"run": run, "exec": number, "tool": name, "call_id": call_id, "arguments": given}
        self._recorder("tool", "start", data)
        # The record holds what the agent said; what a template calls `call.ID` is the call that was meant.
        call_id = self._waiting.taken(run, name, given, call_id)
        begun = _Begun(number, run, name, call_id, fate or self._fate(name, given))
        self._at(run, "in_tools")
        return begun

    def _run_of(self, call_id: str | None) -> str:
        """The run of an execution: the one whose model asked for it, of those that are open, else the one that the agent is at."""
        if not self._calling or RUNNING.get() in self._open:
            return self._run
        run = self._calling.get(call_id or "")
        return run if run in self._open else self._run

    def _fate(self, name: str, arguments: Any) -> Outcome | ToolFailed:
        tool = self._scenario.tools.get(name)
        if tool is None:
            return ToolFailed("UnknownTool", f"there is no tool {name!r}", rejected=True)
        wrong = argument_error(tool, arguments)
        if wrong is not None:
            return ToolFailed("ArgumentError", wrong, rejected=True)
        before = self._begun[name]
        self._begun[name] += 1
        return outcome(tool, before)

    def _end(self, begun: _Begun) -> Any:
        try:
            value = self._value(begun)
        except ToolFailed as failed:
            error = {"type": failed.type, "message": failed.message, "rejected": failed.rejected}
            self._recorder("tool", "error", {"exec": begun.exec, "error": error})
            self._at(begun.run, "after_tools")
            raise
        self._finished.append(Execution(begun.exec, begun.run, begun.tool, begun.call_id, value))
        self._recorder("tool", "result", {"exec": begun.exec, "result": value})
        self._at(begun.run, "after_tools")
        return copy.deepcopy(value)

    def _value(self, begun: _Begun) -> Any:
        match begun.fate:
            case Returns(value):
                try:
                    return render(value, World(now=self.now(), run=begun.run, executions=tuple(self._finished))).value
                except ScriptError as error:
                    raise ToolFailed("ScriptError", str(error)) from None
            case Large(size):
                return "x" * size
            case Raises(type=kind, message=message):
                raise ToolFailed(kind, message)
            case Hangs():
                raise ToolFailed("Interrupted", f"{begun.tool} never came back")
            case ToolFailed():
                raise begun.fate
