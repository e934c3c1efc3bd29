"""The page docs/results.md: what the kit says of real frameworks, row by row, and why each fail is so. Pure."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from conformance.dialect import Dialect
from conformance.loading.explanations import Undriven
from conformance.results import Explanation, Found, Row, unexplained

_HEAD = """# Results

date: {date}

Real frameworks under the kit: every core scenario, blocking and, where the framework streams, streamed. A fail means that the loop did
not do what the kit's contract asks, under the dialect that the framework's adapter declares; whether that is a fault is for its readers
to say, which is why each one is explained. Nothing here is written by hand but the explanations: `make results` plays everything and
writes this page and [results](../results), from which another page can be made.

A target is a framework that comes with the kit: an adapter in [conformance/targets](../conformance/targets) and an environment of its
own, pinned whole, in which nothing of the kit is installed. It is made on first use, or by `conformance targets install NAME`; after
that no network is needed, and never a key. The framework runs in a process of its own, with a temporary home, and sees no variable of
the caller's environment but `PATH`. Events are translated one by one, never added to, except where an endpoint of AG-UI sends its own.
Translated events are judged, but they certify nothing.

## All of them

A play is a scenario in a cell. Not-applicable is what takes a capability or a knob that the target does not declare.

| target | framework | language | wire | pass | warn | fail | not run | not applicable | fails explained |
|---|---|---|---|---|---|---|---|---|---|
"""
_AREAS = """
## By area

Of how many judgements of an area's rules how many fail: `0` where all hold, `·` where nothing was there to judge.

"""
_ABSENT = """
## Not driven

| framework | version | what was seen |
|---|---|---|
"""


@dataclass(frozen=True, slots=True)
class Documented:
    """A row with the causes of its target and the folder of its adapter."""

    row: Row
    causes: tuple[Explanation, ...]
    folder: str


def results_page(documented: Sequence[Documented], absent: Sequence[Undriven], date: str) -> str:
    """The whole page."""
    rows = [one.row for one in documented]
    return "".join(
        (
            _HEAD.format(date=date),
            *(_summary(one) for one in documented),
            *_areas(rows),
            *(text for one in documented for text in _section(one)),
            *_absent(absent),
        )
    )


def _title(row: Row) -> str:
    return row.target if row.key == row.target else f"{row.target} over {row.wire}"


def _anchor(row: Row) -> str:
    return _title(row).replace(" ", "-")


def _summary(one: Documented) -> str:
    row, count = one.row, one.row.verdicts
    explained = len(row.fails) - len(unexplained(row, one.causes))
    unrun = count.get("could-not-run", 0) + count.get("not-observed", 0)
    cells = (
        f"[{_title(row)}](#{_anchor(row)})",
        f"{row.name} {row.version}",
        row.language,
        row.wire,
        *(str(count.get(verdict, 0)) for verdict in ("pass", "warn")),
        str(count.get("fail", 0) + count.get("unstable", 0)),
        str(unrun),
        str(count.get("not-applicable", 0)),
        f"{explained} of {len(row.fails)}",
    )
    return f"| {' | '.join(cells)} |\n"


def _areas(rows: Sequence[Row]) -> Iterator[str]:
    areas = sorted({area for row in rows for area in row.areas})
    yield _AREAS
    yield f"| target | {' | '.join(areas)} |\n|---|{'---|' * len(areas)}\n"
    for row in rows:
        yield f"| {_title(row)} | {' | '.join(_area(row.areas.get(area)) for area in areas)} |\n"


def _area(counts: Mapping[str, int] | None) -> str:
    if counts is None or not counts["judged"]:
        return "·"
    return f"{counts['failed']}/{counts['judged']}" if counts["failed"] else "0"


def _section(one: Documented) -> Iterator[str]:
    row = one.row
    yield f"\n## {_title(row)}\n\n{row.name} {row.version}, judged by kit {row.kit}. Its adapter, with its pins and the source of each key that it declares, "
    yield f"is in [{one.folder}](../{one.folder}).\n\n"
    yield from _declared(row)
    for cause in one.causes:
        mine = [found for found in row.found if cause.covers(row, found)]
        if mine:
            yield f"\n{cause.why} ([source]({cause.link}))\n\n"
            yield from _found(row, mine)
    rest = unexplained(row, one.causes)
    if rest:
        yield "\nNot explained yet:\n\n"
        yield from _found(row, rest)
    warns = [w for w in row.found if w not in row.fails and not any(each.covers(row, w) for each in one.causes)]
    if warns:
        yield f"\nWarnings without a fail of their kind: {', '.join(_by_rule(warns))}.\n"
    for gone in row.mended:
        yield f"\nMended: `{gone.scenario}` failed {gone.rule} in {gone.seen}, and does no longer in {gone.mended}.\n"


def _declared(row: Row) -> Iterator[str]:
    recommended = Dialect().data()
    keys = {key: value for key, value in row.dialect.items() if value != recommended.get(key) and key != "events"}
    if not keys:
        yield "It declares the recommended dialect.\n"
        return
    yield "It declares "
    yield ", ".join(f"`{key}: {_value(value)}`" for key, value in sorted(keys.items()))
    yield ".\n"


def _value(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _found(row: Row, found: Sequence[Found]) -> Iterator[str]:
    """A line a scenario: what it breaks, in which cells, and the command that shows it."""
    by_scenario: dict[str, list[Found]] = defaultdict(list)
    for one in found:
        by_scenario[one.scenario].append(one)
    wire = "" if row.key == row.target else f" --wire {row.wire}"
    for scenario, mine in by_scenario.items():
        said = ", ".join(f"{one.rule} {'warns' if one.verdict == 'warn' else one.verdict + 's'}" for one in mine)
        cells = sorted({cell.removeprefix(f"{row.wire}/") for one in mine for cell in one.cells})
        command = f"conformance run {scenario} --agent target:{row.target}{wire}"
        yield f"- {said} ({', '.join(cells)}): `{command}`\n"


def _by_rule(found: Sequence[Found]) -> Iterator[str]:
    for rule in sorted({one.rule for one in found}):
        scenarios = ", ".join(f"`{one.scenario}`" for one in found if one.rule == rule)
        yield f"{rule} in {scenarios}"


def _absent(absent: Sequence[Undriven]) -> Iterator[str]:
    if absent:
        yield _ABSENT
    for one in absent:
        yield f"| {one.name} | {one.version} | {' '.join(one.evidence.split())} |\n"
