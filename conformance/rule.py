"""What a rule is: a clause of the contract with a reason and one pure check. Runs nothing, adds nothing up."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Final, Literal

from conformance.reading.view import View


class Level(StrEnum):
    """RFC 2119. A broken MUST fails, a broken SHOULD warns."""

    MUST = "MUST"
    SHOULD = "SHOULD"


MUST: Final = Level.MUST
SHOULD: Final = Level.SHOULD


class Right(Enum):
    """What a check yields for each thing it looked at and found right: a rule passes only where it judged something."""

    OK = "ok"


OK: Final = Right.OK


@dataclass(frozen=True, slots=True)
class Finding:
    """
    One breach: what came and what was expected, at which record.

    `seq` is the record it shows at, `related` others that explain it. `level` lowers the rule's own where the clause says so.
    `fits` is the declaration that would fit, as (dialect key, value). `consequence_of` is the rule whose finding caused this
    one, which is then counted once.
    """

    message: str
    seq: int
    related: tuple[int, ...] = ()
    level: Level | None = None
    fits: tuple[str, object] | None = None
    consequence_of: str | None = None


#: What a check yields, thing by thing.
Judged = Iterator[Finding | Literal[Right.OK]]
Check = Callable[[View], Judged]
SuiteCheck = Callable[[Sequence[View]], Iterator[tuple[int, Finding | Literal[Right.OK]]]]


def always(_view: View) -> str | None:
    """`applies` of a rule that binds every agent in every dialect, `unable` of one that every recording can decide."""
    return None


@dataclass(frozen=True, slots=True)
class Rule:
    """
    One clause as a check.

    `channels`: the letters the clause names, as in the contract, such as "R,E,M". `about_events`: its text is about events,
    so that R or L cannot stand in for E. `evidence`: links to public reports of what happens without it. `keys`: the dialect
    keys it yields to. `applies` gives None, or why the clause does not bind this agent: "dialect", "capability" or, where it speaks of what its wire has no word for, "wire".
    `check` yields OK or a Finding for each thing it looked at, nothing where nothing was there to judge. `suite`, where
    given, judges all recordings of an agent together and yields (index of the recording, judgement).
    `unable` says why a recording cannot decide the clause although it should, which is could-not-run; None where it can.
    """

    id: str
    level: Level
    clause: str
    rationale: str
    channels: str
    check: Check
    evidence: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    about_events: bool = False
    applies: Callable[[View], str | None] = always
    suite: SuiteCheck | None = None
    unable: Callable[[View], str | None] = always

    @property
    def area(self) -> str:
        """The clause's prefix: RUN, EVT, LIM, ..."""
        return self.id.partition("-")[0]
