"""All recordings of a session together: what only they show, and what they say of the agent's declaration. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from conformance.judge import Judgement
from conformance.printable import excerpt, printable
from conformance.report import Played, Report
from conformance.reporters.broken import by_rule
from conformance.reporters.claims import area_lines, dialect_claim
from conformance.reporters.fitting import fitting, pasted, torn, undeclared_events
from conformance.rule import Finding, Level, Rule

#: The head of a finding that no recording shows alone.
TOGETHER = "only all recordings together show this"


@dataclass(frozen=True, slots=True)
class Together:
    """A finding that only all recordings together show, and the play at whose recording it is."""

    scenario: str
    cell: str
    rule: str
    level: Level
    finding: Finding


def together(rep: Report, plays: Sequence[Played]) -> tuple[Together, ...]:
    """What the report finds beyond the plays' own judgements."""
    alone = _alone(plays)
    return tuple(
        Together(entry.scenario, entry.cell, result.rule, finding.level or result.level, finding)
        for entry in rep.entries
        for mine, judged in zip(alone.get((entry.scenario, entry.cell), ()), entry.judgements, strict=True)
        for result in judged.results
        for finding in result.findings[len(mine.of(result.rule).findings) :]
    )


def _alone(plays: Sequence[Played]) -> Mapping[tuple[str, str], Sequence[Judgement]]:
    found: dict[tuple[str, str], list[Judgement]] = {}
    for play in plays:
        if play.judgement is not None:
            found.setdefault((play.scenario, play.cell), []).append(play.judgement)
    return found


def lines(rep: Report, found: Sequence[Together], missed: Sequence[str], rules: Mapping[str, Rule]) -> Iterator[str]:
    """The summary, line by line; `missed` are rules that the whole core gave nothing to judge."""
    yield f"judged under {dialect_claim(rep)}"
    for one in found:
        yield f"{one.rule} {one.level} in {printable(one.scenario)} [{one.cell}], {TOGETHER}: {excerpt(one.finding.message)}"
        yield f"  {rules[one.rule].clause}"
    if keys := fitting(rep):
        yield f"a declaration that fits what was seen: {pasted(keys)[0]}"
    for key in torn(rep):
        yield f"no declaration fits, since the agent does several things where it has to do one: {key}"
    if events := undeclared_events(rep):
        yield events
    for tally in by_rule(rep):
        yield f"{tally.verdict} {tally.rule} in {tally.scenarios} scenario{'' if tally.scenarios == 1 else 's'}, first {printable(tally.first)}"
    if missed:
        yield f"exercised, but with nothing to judge in any scenario: {', '.join(missed)}"
    certified = [line for sure, line in area_lines(rep, rules) if sure]
    yield f"areas certified by these recordings: {', '.join(line.split()[0] for line in certified) or 'none'}"
