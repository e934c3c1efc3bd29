"""
The report as JUnit XML, which CI systems show: a suite per cell, a test case per scenario in it. Pure.

A test case has one outcome, that of its verdict, so that the counts are those of the JSON report. Whatever an agent says is written
as XML can hold it; the machine, its environment and the time of day are not told.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from io import BytesIO
from types import MappingProxyType

from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite
from junitparser.junitparser import FinalResult

from conformance import __version__
from conformance.judge import Result, Verdict
from conformance.printable import excerpt, printable
from conformance.report import Entry, Report
from conformance.reporters.broken import Broken
from conformance.reporters.claims import dialect_claim, shortfall
from conformance.rule import Rule

#: What a verdict is to a CI system; what is not here passes.
OUTCOMES: Mapping[Verdict, type[FinalResult]] = MappingProxyType(
    {
        Verdict.FAIL: Failure,
        Verdict.UNSTABLE: Failure,
        Verdict.STALE: Failure,
        Verdict.COULD_NOT_RUN: Error,
        Verdict.EXPECTED_FAIL: Skipped,
        Verdict.NOT_OBSERVED: Skipped,
        Verdict.NOT_APPLICABLE: Skipped,
    }
)


def junit_xml(
    rep: Report,
    rules: Mapping[str, Rule],
    again: Callable[[str], str],
    *,
    missed: Sequence[str] = (),
    code: int = 0,
) -> bytes:
    """
    The report as a file's bytes.

    `again` gives the command that plays a scenario again. `code` is the exit code, and is there for the one that no test case
    explains: 3 because of what `missed` names.
    """
    whole = JUnitXml("conformance")
    for cell in dict.fromkeys(entry.cell for entry in rep.entries):
        suite = TestSuite(printable(f"{rep.agent.get('name')} {cell}"))
        for name, value in _properties(rep, missed, code):
            suite.add_property(name, printable(value))
        suite.add_testcases([_case(rep, entry, rules, again) for entry in rep.entries if entry.cell == cell])
        whole.add_testsuite(suite)
    whole.update_statistics()  # type: ignore[no-untyped-call]
    out = BytesIO()
    whole.write(out)
    return out.getvalue()


def _properties(rep: Report, missed: Sequence[str], code: int) -> Iterator[tuple[str, str]]:
    yield "kit", __version__
    for key in ("name", "version", "language"):
        yield f"agent.{key}", str(rep.agent.get(key))
    yield "judged_under", dialect_claim(rep)
    yield "certified", ", ".join(area for area, total in rep.areas.items() if total.certified)
    yield "exit_code", str(code)
    if code == 3:
        yield "shortfall", shortfall(rep, missed)


def _case(rep: Report, entry: Entry, rules: Mapping[str, Rule], again: Callable[[str], str]) -> TestCase:
    # The cell stands in the class, too: CI systems tell test cases apart by class and name alone.
    case = TestCase(printable(entry.scenario), printable(f"{rep.agent.get('name')}.{entry.cell}"))
    if (outcome := OUTCOMES.get(entry.verdict)) is not None:
        one = outcome(_headline(entry), entry.verdict.value)
        one.text = "\n".join((*_told(entry, rules, _TELLING), f"again: {printable(again(entry.scenario))}"))
        case.result = one
    if warnings := list(_told(entry, rules, (Verdict.WARN,))):
        case.system_out = "\n".join(("warnings", *warnings))
    return case


#: The verdicts whose results are told under an outcome.
_TELLING = (Verdict.FAIL, Verdict.UNSTABLE, Verdict.STALE, Verdict.COULD_NOT_RUN, Verdict.EXPECTED_FAIL)


def _headline(entry: Entry) -> str:
    """One line: the rules that make the verdict and, where one of them says it in a line, why."""
    making = [result for result in entry.results if result.verdict == entry.verdict]
    named = ", ".join(result.rule for result in making)
    if entry.error is not None and entry.verdict == Verdict.COULD_NOT_RUN:
        return f"could not run: {excerpt(entry.error)}"
    if entry.excused is not None:
        return f"not played: {entry.excused}"
    if entry.verdict == Verdict.NOT_OBSERVED:
        return f"not observed: {', '.join(f'{one.rule} ({one.reason})' for one in making) or 'nothing applied'}"
    if entry.verdict in (Verdict.FAIL, Verdict.UNSTABLE):
        first = next((finding.message for one in making for finding in one.findings), "")
        return f"{named}: {excerpt(first)}"
    return f"{named}: {excerpt('; '.join(dict.fromkeys(one.reason or '' for one in making)))}"


def _told(entry: Entry, rules: Mapping[str, Rule], verdicts: Sequence[Verdict]) -> Iterator[str]:
    if entry.error is not None and Verdict.COULD_NOT_RUN in verdicts:
        yield f"could not run: {printable(entry.error)}"
    for result in entry.results:
        if result.verdict in verdicts:
            yield from _result(entry, result, rules[result.rule])


def _result(entry: Entry, result: Result, rule: Rule) -> Iterator[str]:
    reason = f" ({printable(result.reason)})" if result.reason else ""
    yield f"{result.verdict} {result.rule} {result.level}: {rule.clause}{reason}"
    thing = Broken(result, entry, (entry.cell,))
    for finding in result.findings:
        follows = f" (follows from {finding.consequence_of})" if finding.consequence_of else ""
        yield f"  {printable(finding.message)}{follows}"
        yield f"    record {finding.seq}: {excerpt(thing.line(finding) or 'nothing stands there')}"
    yield f"  why: {rule.rationale}"
    if rule.evidence:
        yield f"  seen: {rule.evidence[0]}"
