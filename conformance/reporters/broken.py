"""What broke, gathered for people: the same findings of a rule in several cells of a scenario are one thing. Pure."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from conformance.judge import Result, Verdict
from conformance.report import Entry, Report
from conformance.rule import Finding
from conformance.snapshot import line_of


@dataclass(frozen=True, slots=True)
class Broken:
    """A rule's result in a scenario, with the cells in which it came out the same; `result` and `entry` are the first cell's."""

    result: Result
    entry: Entry
    cells: tuple[str, ...]

    def line(self, finding: Finding) -> str | None:
        """The line of the recording at which a finding shows."""
        for judgement in self.entry.judgements:
            if finding in judgement.of(self.result.rule).findings:
                return line_of(judgement.view, finding.seq)
        return None


def broken(rep: Report, *verdicts: Verdict) -> Mapping[str, Sequence[Broken]]:
    """By scenario, what has one of these verdicts; where none are given, what fails, and scenarios that could not be run."""
    wanted = verdicts or (Verdict.FAIL, Verdict.UNSTABLE)
    found: dict[str, list[Broken]] = {}
    for scenario in dict.fromkeys(entry.scenario for entry in rep.entries):
        entries = [entry for entry in rep.entries if entry.scenario == scenario]
        things = _things(entries, wanted)
        if things or (not verdicts and any(entry.error is not None for entry in entries)):
            found[scenario] = things
    return found


def _things(entries: Sequence[Entry], wanted: Sequence[Verdict]) -> list[Broken]:
    same: dict[tuple[object, ...], list[tuple[Entry, Result]]] = defaultdict(list)
    for entry in entries:
        for result in entry.results:
            if result.verdict in wanted:
                key = (result.rule, result.verdict, *(finding.message for finding in result.findings))
                same[key].append((entry, result))
    return [
        Broken(results[0][1], results[0][0], tuple(entry.cell for entry, _ in results)) for results in same.values()
    ]
