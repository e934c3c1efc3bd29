"""A judged recording in words, as a failing test shows it. Pure."""

from collections.abc import Iterator, Mapping

from conformance.judge import Judgement, Result, Verdict
from conformance.printable import excerpt, printable
from conformance.rule import Finding, Rule
from conformance.snapshot import around

#: How many findings of one rule are shown; the rest are of the same kind.
FINDINGS = 3
#: Longest line of the recording beside a finding, in characters.
EXCERPT = 160
#: What is told, worst first.
TOLD = (Verdict.FAIL, Verdict.COULD_NOT_RUN, Verdict.WARN)

#: A verdict as the end of a sentence about a scenario.
SAID: Mapping[Verdict, str] = {
    Verdict.FAIL: "fails",
    Verdict.COULD_NOT_RUN: "could not be decided",
    Verdict.WARN: "warns",
    Verdict.PASS: "passes",
    Verdict.NOT_OBSERVED: "was not observed",
}


def explained(judgement: Judgement, cell: str, rules: Mapping[str, Rule]) -> str:
    """What came out, and for each rule that is not kept: its clause, its findings in the recording, and why it matters."""
    agent = printable(str(judgement.view.recording.header.agent.get("name")))
    worst = judgement.verdict
    what = f"{judgement.view.scenario.id} [{cell}] of {agent}"
    # The rules first: a list of failed tests shows little more than the beginning of this line.
    broken = [result.rule for result in judgement.results if result.verdict == worst and _own(result)]
    rules_first = f"{', '.join(broken)}: " if worst in TOLD else ""
    lines = [f"{rules_first}{what} {SAID[worst]}"]
    for verdict in TOLD:
        for result in judgement.results:
            if result.verdict == verdict:
                lines += ["", *_result(result, judgement, rules[result.rule])]
    if judgement.verdict == Verdict.NOT_OBSERVED:
        lines.append(unseen(judgement))
    return "\n".join(lines)


def _own(result: Result) -> bool:
    """Whether a result is more than what follows from another rule's finding."""
    return not result.findings or not all(finding.consequence_of for finding in result.findings)


def unseen(judgement: Judgement) -> str:
    """Why nothing was judged but that the runs came to an end, by the rules that the scenario exercises."""
    mine = [one for one in judgement.results if one.rule in judgement.view.scenario.exercises and one.reason]
    reasons = ", ".join(f"{one.rule}: {one.reason}" for one in mine)
    return f"nothing that the agent did could be judged ({reasons or 'the scenario exercises no rule'})"


def warnings(judgement: Judgement) -> Iterator[str]:
    """One line per finding of a rule that warns."""
    for result in judgement.results:
        if result.verdict == Verdict.WARN:
            for finding in result.findings:
                yield f"{result.rule}: {excerpt(finding.message, EXCERPT)}"


def _result(result: Result, judgement: Judgement, rule: Rule) -> Iterator[str]:
    yield f"{result.verdict} {result.rule} {result.level}: {rule.clause}"
    if result.reason:
        yield f"  {result.reason}"
    for finding in result.findings[:FINDINGS]:
        yield from _finding(finding, judgement)
    if len(result.findings) > FINDINGS:
        yield f"  and {len(result.findings) - FINDINGS} more like these"
    yield f"  why: {rule.rationale}"


def _finding(finding: Finding, judgement: Judgement) -> Iterator[str]:
    follows = f" (follows from {finding.consequence_of})" if finding.consequence_of else ""
    # Another recording may show another value, so that no declaration fits: only all of them together say that.
    alone = " (by this recording alone)" if finding.fits else ""
    yield f"  {excerpt(finding.message)}{follows}{alone}"
    for here, line in around(judgement.view, finding.seq):
        yield f"    {'>' if here else ' '} {excerpt(line, EXCERPT)}"
