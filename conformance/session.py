"""The kit's side of one agent session: the scripted model, the scripted tools and the clock, all recorded. No socket."""

import asyncio
import copy
import hashlib
import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from conformance.agent_side import RunInput, ToolFailed
from conformance.dialect import Dialect
from conformance.plain import plain, shown
from conformance.reading.classes import SIDE_CALLS, SideCall, classify, side_class
from conformance.reading.joined import model_calls
from conformance.reading.resumed import resumed
from conformance.recorder import Recorder
from conformance.scenario import RunSpec, Scenario
from conformance.waiting_calls import WaitingCalls
from fake_models.chunking import chunking as chunking_of
from fake_models.errors import ScriptError
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
    model's; without a cap it is the scenario's.
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
        self._open: list[str] = []
        self._last = ""
        self._released = threading.Event()
        self.model = ScriptedModel(
            record=self._recorded,
            host=self,
            chunking=chunking_of(chunking),
            codecs=CODECS,
            cap=scenario.cap if cap is None else cap,
            patience=patience,
            context_window=scenario.model.context_window,
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
        way = {"wire": self._wire.name, "name": self.model_name, "base_url": self.base_url, "api_key": self.api_key}
        # A copy of its own: what the agent does to its input is no part of what it was given.
        given = replace(given, input=copy.deepcopy(given.input), limits=dict(given.limits))
        return replace(given, model=way, tools_url=self.tools_url, mcp_url=self.mcp_url)

    def served(self, url: str, mark: str) -> None:
        """The session is reached over HTTP, below `url`, by an agent that plays many: `mark` makes its name its own."""
        self.base_url = f"{url}{self._wire.base}"
        self.tools_url = f"{url}/tools"
        self.mcp_url = f"{url}/mcp"
        self.thread = f"{self.name}-{mark[:8]}"

    def begin(self, given: RunInput, spec: RunSpec) -> None:
        """A run starts: its script answers from now on."""
        self._limits[given.run] = given.limits.get("max_iters", self._dialect.default_max_iters)
        self._open.append(given.run)
        self._last = given.run
        self.model.open(given.run, spec.script, spec.user or "")

    def finish(self, run: str) -> None:
        """A run is over; what the agent still asks is late."""
        self._open.remove(run)
        self.model.close(run)

    def release(self) -> None:
        """End every hang."""
        self._released.set()

    @property
    def _run(self) -> str:
        """The run that the agent is at: where several are open, the one that asked its model last, or else was begun last."""
        return self._last

    def _recorded(self, source: str, type: str, data: Mapping[str, Any]) -> None:  # noqa: A002 - the record's own word
        self._recorder(source, type, data)
        if type == "request":
            self._last = data["run"] or self._last
        if type == "reply" and (calls := [part for part in data["parts"] if part["type"] == "tool_call"]):
            self._calls_made += len(calls)
            # What runs elsewhere is waited for in vain, and a model may call for ever.
            self._waiting.said(self._run, [part for part in calls if part["name"] in self._scenario.tools])

    # What the scripted model asks of its host.

    def next_call(self) -> str:
        """The next model call's name."""
        return self._recorder.number("m")

    def side(self, request: ModelRequest, headers: Mapping[str, str]) -> SideCall | None:
        """`auxiliary` or `compaction` where the header or a declared matcher says so."""
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
        """Wait until the session is released."""
        self._released.wait()

    async def ahang(self) -> None:
        """Wait until cancelled."""
        await asyncio.get_running_loop().create_future()

    # Tools.

    def call_tool(self, name: str, arguments: Mapping[str, Any], call_id: str | None = None) -> Any:
        """Run a tool, recorded. Raises ToolFailed where it raises or refuses its arguments."""
        begun = self._start(name, arguments, call_id)
        if isinstance(begun.fate, Hangs):
            self.hang()
        return self._end(begun)

    async def acall_tool(self, name: str, arguments: Mapping[str, Any], call_id: str | None = None) -> Any:
        """The same for an async agent: a hanging tool hangs the task, not the loop."""
        begun = self._start(name, arguments, call_id)
        await (self.ahang() if isinstance(begun.fate, Hangs) else asyncio.sleep(0))
        return self._end(begun)

    def _start(self, name: str, arguments: Mapping[str, Any], call_id: str | None) -> _Begun:
        number = self._recorder.number("x")
        run = self._run
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
        return _Begun(number, run, name, call_id, fate or self._fate(name, given))

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
            raise
        self._finished.append(Execution(begun.exec, begun.run, begun.tool, begun.call_id, value))
        self._recorder("tool", "result", {"exec": begun.exec, "result": value})
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
