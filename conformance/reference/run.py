"""One run of the reference loop: its state, and the parts that a mutant may exchange. Decides nothing itself."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from conformance.agent_side import Bench, RunInput
from conformance.dialect import Dialect
from conformance.reference.acting import Refused
from conformance.reference.failing import Failure
from conformance.reference.hearing import Call, Said
from conformance.reference.history import Message
from conformance.reference.steps import Execution, Steps

#: How a run ends: normally, normally with a result that says otherwise, by RUN_ERROR, or by an exception.
Terminal = Literal["finished", "flagged", "error", "raise"]


@dataclass(frozen=True, slots=True)
class Ending:
    """
    How a run ended, before anyone is told.

    `kind` is the outcome's. `text` is what the user gets to read. `facts` join the result of a flagged end.
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


@dataclass(slots=True)
class Session:
    """What outlives a run: the history, and every call id that was ever used."""

    messages: list[Message] = field(default_factory=list)
    ids: set[str] = field(default_factory=set)


@dataclass(slots=True)
class Run:
    """
    The state of one run.

    `tools` maps a name to its JSON Schema, `offered` are the same tools as the model is shown them. `rounds` counts rounds
    begun, `recovered` attempts at recovery per cause, `spent` what the model reported, per call.
    """

    given: RunInput
    bench: Bench
    dialect: Dialect
    parts: "Parts"
    session: Session
    limit: int | None
    tools: Mapping[str, Mapping[str, Any]]
    offered: list[dict[str, Any]]
    rounds: int = 0
    recovered: dict[str, int] = field(default_factory=dict)
    spent: list[Mapping[str, int]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    last_result: str | None = None
    messages: int = 0

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
    round_messages: Callable[[Said, Sequence[str]], list[Message]]
    compacted: Callable[[Sequence[Message], str | None], list[Message]]
    sound_id: Callable[[str, set[str]], str]
    act: Callable[[Run, Said], Steps[Ending | None]]
    log_limit: Callable[[Run], None]
    at_the_limit: Callable[[Run], Steps[Ending]]
    ending: Callable[[Run, Ending], Ending]
    finish: Callable[[Run, Ending], Steps[None]]
    shown: Callable[[Run], Shown]
