"""Two lots of judged recordings side by side: which verdicts changed, and where the recordings first part. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from conformance.judge import Judgement, Verdict
from conformance.report import Report
from conformance.snapshot import summed_up, told


@dataclass(frozen=True, slots=True, order=True)
class Name:
    """What makes two plays a pair: the scenario, the cell, and which of its repeats it is, from 1."""

    scenario: str
    cell: str
    repeat: int


@dataclass(frozen=True, slots=True)
class Changed:
    """A rule with another verdict."""

    rule: str
    was: Verdict
    now: Verdict


@dataclass(frozen=True, slots=True)
class Spot:
    """A line of the stable text, and the record it begins with; none for the line that sums up."""

    line: str
    seq: int | None = None
    kind: str | None = None


@dataclass(frozen=True, slots=True)
class Pair:
    """Two plays of one name that differ. `parts` are both sides of the first line that does, None where one is over before it."""

    name: Name
    changed: tuple[Changed, ...]
    parts: tuple[Spot | None, Spot | None] | None


@dataclass(frozen=True, slots=True)
class Difference:
    """Everything that differs; `same` plays do not."""

    pairs: tuple[Pair, ...]
    only_first: tuple[Name, ...]
    only_second: tuple[Name, ...]
    same: int

    @property
    def none(self) -> bool:
        """Whether both sides are the same."""
        return not (self.pairs or self.only_first or self.only_second)


def difference(first: Report, second: Report) -> Difference:
    """What differs in the second report from the first, in the order of the first."""
    was, now = _plays(first), _plays(second)
    both = [(name, was[name], now[name]) for name in was if name in now]
    pairs = [Pair(name, _changed(a, b), parting(a, b)) for name, a, b in both]
    differing = tuple(pair for pair in pairs if pair.changed or pair.parts is not None)
    return Difference(
        differing,
        tuple(name for name in was if name not in now),
        tuple(name for name in now if name not in was),
        len(pairs) - len(differing),
    )


def _plays(rep: Report) -> Mapping[Name, Judgement]:
    return {
        Name(entry.scenario, entry.cell, repeat): judgement
        for entry in rep.entries
        for repeat, judgement in enumerate(entry.judgements, start=1)
    }


def _changed(a: Judgement, b: Judgement) -> tuple[Changed, ...]:
    return tuple(
        Changed(one.rule, one.verdict, other.verdict)
        for one, other in zip(a.results, b.results, strict=True)
        if one.verdict != other.verdict
    )


def parting(a: Judgement, b: Judgement) -> tuple[Spot | None, Spot | None] | None:
    """
    The first line of the stable text in which two recordings differ, from both sides; None where they do not.

    Who the agent is does not count: two agents, or two versions of one, can do the same. Where all lines that tell of records agree
    it is the one that sums up, in which what has no line of its own is counted.
    """
    for one, other in zip_longest(_spots(a), _spots(b)):
        if one is None or other is None or one.line != other.line:
            return one, other
    sums = summed_up(a.view), summed_up(b.view)
    return None if sums[0] == sums[1] else (Spot(sums[0]), Spot(sums[1]))


def _spots(one: Judgement) -> Iterator[Spot]:
    records: Sequence[str] = [record.kind for record in one.view.recording.records]
    for seq, line in told(one.view):
        yield Spot(line, seq, records[seq - 1])
