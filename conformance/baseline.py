"""
A baseline: the list of what is known to fail, and a report in which that is expected.

It makes nothing pass: what is listed and fails is `expected-fail` and certifies no area; what is listed and passes is `stale` and
fails until it is taken off the list.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from conformance.judge import Result, Verdict
from conformance.report import Entry, Report, added_up, verdict_of
from conformance.rule import Rule

_FAILS = frozenset({Verdict.FAIL, Verdict.UNSTABLE})
#: A warning is no failure: the MUST that was listed holds.
_HOLDS = frozenset({Verdict.PASS, Verdict.WARN})


@dataclass(frozen=True, slots=True)
class Known:
    """One failure that is known: a rule in a scenario, in one cell or, without `cell`, in any. `place` is file and line."""

    scenario: str
    rule: str
    reason: str
    cell: str | None = None
    place: str = "the baseline"

    def covers(self, scenario: str, cell: str, rule: str) -> bool:
        """Whether it speaks of this."""
        return (self.scenario, self.rule) == (scenario, rule) and self.cell in (None, cell)


def applied(rep: Report, known: Sequence[Known], rules: Sequence[Rule]) -> Report:
    """The report with what is known taken into account, and added up anew."""
    stale = [one for one in known if _stale(one, rep.entries)]
    # Who names a cell knows best.
    order = sorted(known, key=lambda one: one.cell is None)
    entries = tuple(_expecting(entry, order, stale) for entry in rep.entries)
    return added_up(rep.agent, rep.dialect, entries, rules) if known else rep


def unexpected(scenario: str, cell: str, results: Iterable[Result], known: Sequence[Known]) -> bool:
    """Whether anything fails that is not listed."""
    return any(
        one.verdict in _FAILS and not any(entry.covers(scenario, cell, one.rule) for entry in known) for one in results
    )


def to_list(rep: Report) -> tuple[Known, ...]:
    """The entries, each still without its reason, under which nothing in the report would fail; by scenario and rule."""
    played: dict[str, list[str]] = {}
    failing: dict[tuple[str, str], list[str]] = {}
    for entry in rep.entries:
        played.setdefault(entry.scenario, []).append(entry.cell)
        for result in entry.results:
            if result.verdict in _FAILS:
                failing.setdefault((entry.scenario, result.rule), []).append(entry.cell)
    return tuple(
        Known(scenario, rule, "", cell)
        for (scenario, rule), cells in failing.items()
        for cell in ([None] if cells == played[scenario] else cells)
    )


def _stale(one: Known, entries: Sequence[Entry]) -> bool:
    """Nothing that it speaks of fails, something passes, and all of it was played to its end."""
    mine = [entry for entry in entries if entry.scenario == one.scenario and one.cell in (None, entry.cell)]
    verdicts = {result.verdict for entry in mine for result in entry.results if result.rule == one.rule}
    undecided = Verdict.COULD_NOT_RUN in verdicts or any(entry.error is not None for entry in mine)
    return not undecided and not verdicts & _FAILS and bool(verdicts & _HOLDS)


def _expecting(entry: Entry, known: Sequence[Known], stale: Sequence[Known]) -> Entry:
    def seen(result: Result) -> Result:
        if result.verdict in _FAILS:
            listed = next((one for one in known if one.covers(entry.scenario, entry.cell, result.rule)), None)
            if listed is None:
                return result
            reason = "; ".join(filter(None, (listed.reason, result.reason)))
            return replace(result, verdict=Verdict.EXPECTED_FAIL, reason=reason)
        if result.verdict in _HOLDS:
            listed = next((one for one in stale if one.covers(entry.scenario, entry.cell, result.rule)), None)
            if listed is not None:
                return replace(result, verdict=Verdict.STALE, reason=f"{listed.place} lists it; remove that entry")
        return result

    if entry.excused is not None:
        return entry
    results = tuple(seen(result) for result in entry.results)
    return replace(entry, results=results, verdict=verdict_of(results, entry.error))
