"""One run of the reference loop: its state, and the parts that a mutant may exchange. Decides nothing itself."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from conformance.agent_side import Bench, RunInput
from conformance.dialect import Dialect
from conformance.reference.acting import Refused
from conformance.reference.failing import Failure
from conformance.reference.hearing import Call, Said
from conformance.reference.history import Message
from conformance.reference.steps import Execution, Steps

#: How a run ends: normally, normally with a result that says otherwise, waiting for a person, at the caller's wish, by RUN_ERROR,
#: or by an exception.
Terminal = Literal["finished", "flagged", "interrupt", "cancelled", "error", "raise"]


@dataclass(frozen=True, slots=True)
class Ending:
    """
    How a run ended, before anyone is told.

    `kind` is the outcome's. `text` is what the user gets to read. `facts` join the result of a flagged end and the outcome of a
    waiting one.
    """

    kind: str
    terminal: Terminal
    reason: str | None = None
    text: str | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Again:
    """Ask the model once more: with these messages after the history, in a round of its own or in the one that is open."""

    nudge: tuple[Message, ...]
    new_round: bool


@dataclass(frozen=True, slots=True)
class Done:
    """An execution that came to its end: what the model reads of it, and whether it failed."""

    tool: str
    arguments: Mapping[str, Any]
    text: str
    failed: bool


@dataclass(frozen=True, slots=True)
class Waiting:
    """A reply whose calls a person has to allow: one entry of `plan` per call, and the ids of the calls that are asked for."""

    said: Said
    plan: tuple[Execution | Refused, ...]
    asked: frozenset[str]


@dataclass(frozen=True, slots=True)
class Broken:
    """A tool that failed: when, one time after the other, since it last did not."""

    failures: tuple[datetime, ...] = ()


@dataclass(slots=True)
class Session:
    """
    What outlives a run.

    The history, what a digest stands for in it now, every call id that was ever used, the reply that waits for a person, the
    tools that failed. `open` are the runs that go on, `cancelled` those of them that the caller wants to end.
    """

    messages: list[Message] = field(default_factory=list)
    replaced: list[Message] = field(default_factory=list)
    ids: set[str] = field(default_factory=set)
    waiting: Waiting | None = None
    broken: dict[str, Broken] = field(default_factory=dict)
    open: list[str] = field(default_factory=list)
    cancelled: set[str] = field(default_factory=set)


@dataclass(slots=True)
class Run:
    """
    The state of one run.

    `tools` maps a name to its JSON Schema, `offered` are the same tools as the model is shown them, `guarded` names those that a
    person has to allow. `sent` is what the caller sent; `refused`: another run of the session goes on. `headers` go with every model call. `rounds`
    counts rounds begun, `recovered` attempts at recovery per cause, `sent_back` answers that the gate did not take, `spent` what the
    model reported, per call, `answer` is what an answer tool was called with, `done` are the executions so far, the last of which took `took_s` seconds. `asked` counts model calls,
    `running` are the steps that go on, by kind and name.
    """

    given: RunInput
    bench: Bench
    dialect: Dialect
    parts: "Parts"
    session: Session
    limit: int | None
    tools: Mapping[str, Mapping[str, Any]]
    offered: list[dict[str, Any]]
    guarded: frozenset[str] = frozenset()
    headers: Mapping[str, str] = field(default_factory=dict)
    sent: list[Message] = field(default_factory=list)
    refused: bool = False
    rounds: int = 0
    recovered: dict[str, int] = field(default_factory=dict)
    spent: list[Mapping[str, int]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    last_result: str | None = None
    messages: int = 0
    done: list[Done] = field(default_factory=list)
    sent_back: int = 0
    answer: str | None = None
    took_s: float = 0.0
    asked: int = 0
    running: dict[tuple[str, str], None] = field(default_factory=dict)

    @property
    def cancelled(self) -> bool:
        """Whether the caller wants the run to end."""
        return self.given.run in self.session.cancelled

    @property
    def thread(self) -> str:
        """AG-UI's name for the session."""
        return str(self.given.input.get("threadId", self.given.session))

    @property
    def id(self) -> str:
        """The run's id."""
        return str(self.given.input.get("runId", self.given.run))

    def message_id(self) -> str:
        """An id for the next message, unique in the session because the run's own id is."""
        self.messages += 1
        return f"{self.id}-{self.messages}"

    def sound_id(self, given: str) -> str:
        """The id under which a call is known from here on."""
        found = self.parts.sound_id(given, self.session.ids)
        self.session.ids.add(found)
        return found

    def tried(self, cause: str) -> int:
        """Count one more recovery from this cause; gives how many there were before."""
        before = self.recovered.get(cause, 0)
        self.recovered[cause] = before + 1
        return before


#: What leaves the loop, an event or the outcome, becomes what the user is shown.
Shown = Callable[[Any], Iterable[Any]]


@dataclass(frozen=True, slots=True)
class Parts:
    """The decisions of the loop, each a function. `HONEST` in `loop` has the right ones; a mutant exchanges one or two."""

    limit: Callable[[RunInput, Dialect], int | None]
    entered: Callable[[Session, str], bool]
    repaired: Callable[[Sequence[Message]], list[Message]]
    rounds_before: Callable[[Session], int]
    may_begin: Callable[[int, int | None], bool]
    regular_body: Callable[[Run, Sequence[Message]], dict[str, Any]]
    summary_body: Callable[[Run], dict[str, Any]]
    summary_text: Callable[[Said | Failure], str | None]
    failure: Callable[[Exception], Failure]
    attempts: Callable[["Run"], int]
    trouble: Callable[[Said | Failure, Dialect], str | None]
    checked: Callable[[Call, Mapping[str, Mapping[str, Any]], str], Execution | Refused]
    result_text: Callable[[Any], str]
    bounded: Callable[[Run, str], str]
    round_messages: Callable[[Said, Sequence[str]], list[Message]]
    compacted: Callable[[Sequence[Message], str | None], list[Message]]
    sound_id: Callable[[str, set[str]], str]
    act: Callable[[Run, Said], Steps[Ending | None]]
    settled: Callable[[Said, Sequence[Any]], tuple[list[Any], str | None]]
    child: Callable[[Run, Execution], Run]
    run_child: Callable[[Run, Execution], Steps[object]]
    to_approve: Callable[[Run, Sequence[Execution | Refused]], tuple[Execution, ...]]
    resumed: Callable[[Waiting, Sequence[Mapping[str, Any]]], list[Execution | Refused]]
    admitted: Callable[[Run, Sequence[Execution | Refused]], Steps[tuple[list[Execution | Refused], Ending | None]]]
    over_the_cap: Callable[[Run, Execution, Sequence[Execution]], str | None]
    over_budget: Callable[[Run], Ending | None]
    broken: Callable[[Run, Execution], str | None]
    within_s: Callable[[Run], float | None]
    noted: Callable[[Run, Done], None]
    after_tool: Callable[[Run, Execution], Steps[Ending | None]]
    brought_about: Callable[[Run, str, str | None, AbstractSet[str]], Ending | None]
    unmet: Callable[[Run], str | None]
    sent_back: Callable[[Run, str], Ending | None]
    too_large: Callable[[Run, Mapping[str, Any]], bool]
    log_limit: Callable[[Run], None]
    at_the_limit: Callable[[Run], Steps[Ending]]
    ending: Callable[[Run, Ending], Ending]
    finish: Callable[[Run, Ending], Steps[None]]
    shown: Callable[[Run], Shown]
