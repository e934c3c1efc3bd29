"""A recording read as an agent's runs: calls with their replies, executions, events, logs. Looks, classes, judges nothing."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

from conformance.dialect import Dialect
from conformance.reading.agui import Event, Stream
from conformance.reading.pairing import Pairs, pair
from conformance.recording import Record, Recording
from conformance.scenario import RunSpec, Scenario
from fake_models.messages import ModelRequest, ToolCall

T = TypeVar("T")


@dataclass(frozen=True)
class Reply:
    """
    What the model said to one request; `seq` is the record's.

    `text` joins the text parts, None where there was none or it was null. `fault` is the recorded fault or None. `complete`:
    a 200 that was sent to its end. `unfinished`: a stream that was, but without what would tell it from one that broke off, so
    that it is complete only to an agent that acted on it. `altered` are the fields in which its wire could not say what the script says. `observed` are the provider rules that the request broke without being refused. `empty` names the shape of an empty reply, whatever the dialect makes of it.
    """

    seq: int
    id: str | None
    status: int
    parts: tuple[Mapping[str, Any], ...]
    stop: str | None
    usage: Mapping[str, int] | None
    fault: Mapping[str, Any] | None
    resolved: tuple[Mapping[str, Any], ...]
    observed: tuple[str, ...]
    turn: int | None
    complete: bool
    text: str | None
    thinking: str | None
    calls: tuple[ToolCall, ...]
    empty: str | None
    unfinished: bool = False
    altered: tuple[str, ...] = ()


@dataclass(frozen=True)
class Call:
    """
    One model request with what came of it.

    `kind` is its class: regular, retry, summary, attempt, compaction, auxiliary (an attempt's `repeats` is the id of the
    call it repeats, `role` the class inherited from it; of all others `role` is `kind`). `round` counts from 1, None outside
    the budget. `body` is as it was sent, and `sent` what it holds. Where it went on from an earlier reply, `resumed` and
    `request` are the same as though it had been sent whole, as the model saw it; elsewhere they are no others.
    `refused` is the data of a model/refused record. `failed`: no whole reply came. `overflow`: refused for size.
    `done_seq` is the record of the reply's end, None where it never ended.
    """

    id: str
    run: str
    seq: int
    body: Any
    resumed: Any
    sent: ModelRequest
    request: ModelRequest
    reply: Reply | None
    refused: Mapping[str, Any] | None
    refused_seq: int | None
    done_seq: int | None
    retry_header: int | None
    side: str | None
    failed: bool
    overflow: bool
    kind: str = "regular"
    role: str = "regular"
    repeats: str | None = None
    round: int | None = None

    @property
    def end_seq(self) -> int:
        """The last record that belongs to this call."""
        return max(self.seq, self.done_seq or 0, self.refused_seq or 0, self.reply.seq if self.reply else 0)

    @cached_property
    def paired(self) -> Pairs:
        """The calls that the request carries, with their results."""
        return pair(self.request.messages)

    @property
    def said(self) -> tuple[ToolCall, ...]:
        """The tool calls of a whole reply."""
        return self.reply.calls if self.reply and self.reply.complete else ()


@dataclass(frozen=True)
class Execution:
    """One execution of a tool. `value` is what it returned; `error` {type, message, rejected} where it raised; both None while it ran."""

    id: str
    run: str
    seq: int
    tool: str
    call_id: str | None
    arguments: Any
    end_seq: int | None
    value: Any
    error: Mapping[str, Any] | None


@dataclass(frozen=True)
class Raised:
    """An exception that came out of the agent: its class name and message."""

    seq: int
    exception: str
    message: str


@dataclass(frozen=True)
class Said:
    """What the agent itself said of its run."""

    seq: int
    kind: str
    reason: str | None
    text: str | None


@dataclass(frozen=True)
class Run:
    """
    One run of an agent.

    `max_iters` is the budget in rounds: the caller's, else the declared default, None for unlimited; `limited` tells whether
    the caller set it. `how` is how the kit saw it end. `events` are the judged part of the stream (the one with this runId),
    `strays` the events of other parts. `spec` is None for a run that the scenario does not know.
    """

    id: str
    session: str
    seq: int
    end_seq: int
    how: str
    end: Mapping[str, Any]
    spec: RunSpec | None
    user: str | None
    given: Mapping[str, Any]
    max_iters: int | None
    limited: bool
    tool_choice: str | None
    stream: bool
    calls: tuple[Call, ...] = ()
    executions: tuple[Execution, ...] = ()
    events: tuple[Event, ...] = ()
    strays: tuple[Event, ...] = ()
    logs: tuple[Record, ...] = ()
    garbage: tuple[Record, ...] = ()
    said: Said | None = None
    raised: Raised | None = None
    cancelled: bool = False
    #: Where the kit cancelled it, and the record of that; None where it did not.
    cancel_point: str | None = None
    cancel_seq: int | None = None
    #: Whether the kit killed its agent in it.
    killed: bool = False
    #: The settings it was given beside AG-UI.
    knobs: Mapping[str, Any] = field(default_factory=dict)
    #: The answers it was given to what the run before waited for, as AG-UI resume entries.
    resumes: tuple[Mapping[str, Any], ...] = ()
    #: The runs that were open when it began.
    began_with: tuple[str, ...] = ()

    @cached_property
    def main(self) -> tuple[Call, ...]:
        """The calls of the loop itself: all but attempts, auxiliary and compaction calls."""
        return tuple(call for call in self.calls if call.kind in ("regular", "retry", "summary"))

    @cached_property
    def regular(self) -> tuple[Call, ...]:
        """The regular calls, one a round."""
        return tuple(call for call in self.calls if call.kind == "regular")

    @cached_property
    def summary(self) -> tuple[Call, ...]:
        """The summary calls: none, one, or one with its stricter repeat."""
        return tuple(call for call in self.calls if call.kind == "summary")

    @cached_property
    def rounds(self) -> int:
        """How many rounds were made."""
        return max((call.round or 0 for call in self.calls), default=0)

    @cached_property
    def shown(self) -> Stream:
        """The judged part of the event stream, with what it joins to."""
        return Stream(self.events)

    def attempts_of(self, call: Call) -> tuple[Call, ...]:
        """The call itself and every attempt that repeats it, in order."""
        return (call, *(one for one in self.calls if one.repeats == call.id))

    def outcome_of(self, call: Call) -> Call:
        """The last attempt of a call: the one whose reply counts."""
        return self.attempts_of(call)[-1]

    @cached_property
    def terminal(self) -> Event | None:
        """The last terminal event of the judged part."""
        ends = [event for event in self.events if event.type in ("RUN_FINISHED", "RUN_ERROR")]
        return ends[-1] if ends else None


@dataclass(frozen=True)
class View:
    """
    A recording as its runs, read under one dialect.

    `declared` is the agent's own declaration, `dialect` the one that everything is read and judged under.
    """

    recording: Recording
    scenario: Scenario
    declared: Dialect
    dialect: Dialect
    runs: tuple[Run, ...] = ()
    channels: frozenset[str] = frozenset()
    capabilities: Mapping[str, Any] = field(default_factory=dict)
    _made: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)

    def once(self, make: "Callable[[View], T]") -> "T":
        """What a function makes of this view, made once: many rules look at what is costly to join."""
        if make not in self._made:
            self._made[make] = make(self)
        made: T = self._made[make]
        return made

    @property
    def profile(self) -> str | None:
        """The agent's profile; `reference` has predictions of its own."""
        profile = self.recording.header.agent.get("profile")
        return profile if isinstance(profile, str) else None

    def has(self, capability: str) -> bool:
        """Whether the capability is declared."""
        return self.capabilities.get(capability) not in (None, False)

    @cached_property
    def executions(self) -> tuple[Execution, ...]:
        """All executions of all runs, in order."""
        return tuple(sorted((x for run in self.runs for x in run.executions), key=lambda x: x.seq))

    def before(self, run: Run) -> Run | None:
        """The run before this one on its session."""
        earlier = [one for one in self.runs if one.session == run.session and one.seq < run.seq]
        return earlier[-1] if earlier else None


def executed(run: Run, view: View) -> tuple[Execution, ...]:
    """What of a run's executions was one: to ask the tools' host for a tool that there is not, and be told so, runs nothing."""
    return tuple(one for one in run.executions if one.tool in view.scenario.tools)


def ends_between_steps(run: Run, dialect: Dialect) -> bool:
    """Whether the agent's own limit may end a run between a model and its tools: an odd number of steps does."""
    return dialect.limit_unit == "steps" and not run.limited


def may_skip_its_last(run: Run, dialect: Dialect) -> bool:
    """Whether the calls of the last allowed round may be left out."""
    return dialect.last_round_tools == "skip" or ends_between_steps(run, dialect)
