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

    @property
    def follows(self) -> bool:
        """Whether all of it only follows from what other rules found."""
        return bool(self.result.findings) and all(finding.consequence_of for finding in self.result.findings)

    def line(self, finding: Finding) -> str | None:
        """The line of the recording at which a finding shows."""
        for judgement in self.entry.judgements:
            if finding in judgement.of(self.result.rule).findings:
                return line_of(judgement.view, finding.seq)
        return None


def broken(rep: Report, *verdicts: Verdict) -> Mapping[str, Sequence[Broken]]:
    """By scenario, what has one of these verdicts, causes before what follows from them; where none are given, what fails, and scenarios that could not be run."""
    wanted = verdicts or (Verdict.FAIL, Verdict.UNSTABLE)
    found: dict[str, list[Broken]] = {}
    for scenario in dict.fromkeys(entry.scenario for entry in rep.entries):
        entries = [entry for entry in rep.entries if entry.scenario == scenario]
        things = _things(entries, wanted)
        if things or (not verdicts and any(entry.error is not None for entry in entries)):
            found[scenario] = things
    return found


@dataclass(frozen=True, slots=True)
class Tally:
    """In how many scenarios a rule has a verdict, and the first of them."""

    rule: str
    verdict: Verdict
    scenarios: int
    first: str


def by_rule(rep: Report) -> list[Tally]:
    """What broke, counted by rule: the worst verdict first, then what shows most often. What only follows from another rule's finding is left out."""
    where: dict[tuple[str, Verdict], list[str]] = defaultdict(list)
    for scenario, things in broken(rep, Verdict.FAIL, Verdict.UNSTABLE, Verdict.WARN).items():
        for thing in things:
            if not thing.follows:
                where[thing.result.rule, thing.result.verdict].append(scenario)
    found = [Tally(rule, verdict, len(set(names)), names[0]) for (rule, verdict), names in where.items()]
    return sorted(found, key=lambda one: (list(Verdict).index(one.verdict), -one.scenarios))


def _things(entries: Sequence[Entry], wanted: Sequence[Verdict]) -> list[Broken]:
    same: dict[tuple[object, ...], list[tuple[Entry, Result]]] = defaultdict(list)
    for entry in entries:
        for result in entry.results:
            if result.verdict in wanted:
                key = (result.rule, result.verdict, result.reason, *(finding.message for finding in result.findings))
                same[key].append((entry, result))
    found = [
        Broken(results[0][1], results[0][0], tuple(entry.cell for entry, _ in results)) for results in same.values()
    ]
    return sorted(found, key=lambda one: one.follows)
