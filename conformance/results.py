"""
What the kit says of real frameworks: a report cut down to a row per wire, the explanations of what fails, and what failed once. Pure.

A row keeps which rule fails or warns in which scenario, and no words of a finding, which hold names that differ from run to run.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from conformance.cell import USUAL_WIRE

#: Verdicts that say something is wrong, and those of plays in which a rule had something to judge.
FAILS = ("fail", "unstable")
JUDGED = (*FAILS, "warn", "pass")


@dataclass(frozen=True, slots=True)
class Explanation:
    """
    A cause: what a framework does otherwise, where that is written, and which rules find it in which scenarios.

    `wire` is the only one on which it is so; None: every one.
    """

    why: str
    link: str
    found: Mapping[str, tuple[str, ...]]
    wire: str | None = None

    def covers(self, row: "Row", one: "Found") -> bool:
        """Whether this finding comes of it."""
        return self.wire in (None, row.wire) and one.rule in self.found.get(one.scenario, ())


@dataclass(frozen=True, slots=True)
class Found:
    """A rule that fails or warns in a scenario, and the cells in which it does."""

    scenario: str
    rule: str
    verdict: str
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Mended:
    """A rule that failed in a scenario with one version of the framework, and does no longer with another."""

    scenario: str
    rule: str
    seen: str
    mended: str


@dataclass(frozen=True, slots=True)
class Row:
    """
    A target over one wire. `kit` is the version that judged it; `verdicts` counts plays, each a scenario in a cell; `areas` has, for each
    area, how often a rule of it had something to judge and how often it failed.
    """

    target: str
    wire: str
    name: str
    version: str
    language: str
    kit: str
    dialect: Mapping[str, Any]
    verdicts: Mapping[str, int]
    areas: Mapping[str, Mapping[str, int]]
    found: tuple[Found, ...]
    mended: tuple[Mended, ...] = ()

    @property
    def key(self) -> str:
        """What its file is called."""
        return self.target if self.wire == USUAL_WIRE else f"{self.target}.{self.wire}"

    @property
    def fails(self) -> tuple[Found, ...]:
        """What is found and is no mere warning."""
        return tuple(one for one in self.found if one.verdict in FAILS)

    def data(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)


def row_of(data: Mapping[str, Any]) -> Row:
    """The row that `Row.data` gave."""
    found = tuple(Found(**one | {"cells": tuple(one["cells"])}) for one in data["found"])
    return Row(**{**data, "found": found, "mended": tuple(Mended(**one) for one in data["mended"])})


def rows(report: Mapping[str, Any], target: str, before: Iterable[Row] = ()) -> tuple[Row, ...]:
    """
    A row for each wire of a JSON report. What a row of `before` has as a fail and this one does not is mended, where the framework's
    version is another one.
    """
    by_wire: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for entry in report["runs"]:
        by_wire[_wire(entry["cell"])].append(entry)
    known = {row.wire: row for row in before if row.target == target}
    return tuple(_row(report, target, wire, entries, known.get(wire)) for wire, entries in by_wire.items())


def _wire(cell: str) -> str:
    first = cell.partition("/")[0]
    return USUAL_WIRE if first in ("blocking", "streaming") else first


def _row(
    report: Mapping[str, Any], target: str, wire: str, entries: Sequence[Mapping[str, Any]], before: Row | None
) -> Row:
    verdicts: dict[str, int] = defaultdict(int)
    areas: dict[str, dict[str, int]] = defaultdict(lambda: {"judged": 0, "failed": 0})
    cells: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for entry in entries:
        verdicts[entry["verdict"]] += 1
        for result in entry["results"]:
            verdict, area = result["verdict"], result["rule"].partition("-")[0]
            if verdict in JUDGED:
                areas[area]["judged"] += 1
                areas[area]["failed"] += verdict in FAILS
            if verdict in (*FAILS, "warn"):
                cells[entry["scenario"], result["rule"], verdict].append(entry["cell"])
    found = tuple(Found(*key, tuple(cells[key])) for key in sorted(cells))
    agent = {key: report["agent"][key] for key in ("name", "version", "language")}
    mended = _mended(before, found, agent["version"])
    return Row(
        target=target,
        wire=wire,
        **agent,
        kit=report["kit"],
        dialect=dict(report["dialect"]),
        verdicts=dict(sorted(verdicts.items())),
        areas=dict(sorted(areas.items())),
        found=found,
        mended=mended,
    )


def _mended(before: Row | None, found: Sequence[Found], version: str) -> tuple[Mended, ...]:
    if before is None:
        return ()
    fails = {(one.scenario, one.rule) for one in found if one.verdict in FAILS}
    gone = [Mended(one.scenario, one.rule, before.version, version) for one in before.fails]
    new = gone if before.version != version else []
    return tuple(one for one in (*before.mended, *new) if (one.scenario, one.rule) not in fails)


def unexplained(row: Row, explanations: Sequence[Explanation]) -> tuple[Found, ...]:
    """The fails that no explanation covers."""
    return tuple(one for one in row.fails if not any(each.covers(row, one) for each in explanations))


def idle(mine: Sequence[Row], explanations: Sequence[Explanation]) -> tuple[tuple[Explanation, str, str], ...]:
    """Explained scenarios and rules that none of a target's rows has: what is explained away, or spelled wrongly."""
    return tuple(
        (one, scenario, rule)
        for one in explanations
        for scenario, rules in one.found.items()
        for rule in rules
        if not any(
            one.covers(row, found) and (found.scenario, found.rule) == (scenario, rule)
            for row in mine
            for found in row.found
        )
    )
