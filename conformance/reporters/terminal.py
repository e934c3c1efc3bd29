"""The report for people: a table of verdicts, what broke and how to see it again, what is certified. Text in, text out."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from io import StringIO

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from conformance import __version__
from conformance.judge import Verdict
from conformance.overrides import form
from conformance.printable import excerpt, printable
from conformance.report import Entry, Report
from conformance.reporters.broken import Broken, broken, by_rule
from conformance.reporters.claims import area_lines, dialect_claim, shortfall
from conformance.reporters.fitting import fitting, pasted, torn, undeclared_events
from conformance.rule import Rule

#: Columns where nobody says how wide the terminal is, so that a piped report is the same everywhere.
WIDTH = 100
#: How many findings of one rule in one scenario are shown; the rest are of the same kind.
FINDINGS = 3
#: Most cells that have a column each; beyond, a scenario's verdicts are told in a line.
COLUMNS = 4
#: Longest line of a record under a finding, in characters: the finding says what matters of it.
EXCERPT = 160

#: The exit code that no verdict above it explains.
COULD_NOT_RUN = 3

STYLES: Mapping[Verdict, str] = {
    Verdict.FAIL: "red",
    Verdict.UNSTABLE: "magenta",
    Verdict.STALE: "red",
    Verdict.COULD_NOT_RUN: "yellow",
    Verdict.EXPECTED_FAIL: "yellow",
    Verdict.WARN: "yellow",
    Verdict.PASS: "green",
    Verdict.NOT_OBSERVED: "bright_black",
    Verdict.NOT_APPLICABLE: "bright_black",
}


def terminal(
    rep: Report,
    rules: Mapping[str, Rule],
    again: Callable[[str], str],
    *,
    missed: Sequence[str] = (),
    code: int = 0,
    listing: Sequence[str] = (),
    matrix: bool = False,
    width: int = WIDTH,
    colour: bool = False,
) -> str:
    """
    The whole report.

    `again` gives the command that plays a scenario again. `missed` are rules that scenarios exercise and that were armed in
    none. `code` is the exit code, which the last line explains where nothing else does. `listing` are entries for a baseline, to
    be pasted. `matrix` adds how each cause of an end can be told from an answer, and the ledgers. Everything the agent said is escaped; colour codes come only with `colour`.
    """
    out = StringIO()
    console = Console(
        file=out,
        width=width,
        force_terminal=colour,
        color_system="standard" if colour else None,
        no_color=not colour,
        legacy_windows=False,
        markup=False,
        emoji=False,
        highlight=False,
    )
    for block in _report(rep, rules, again, missed, code, listing, matrix):
        console.print(block, soft_wrap=isinstance(block, Text) and bool(block.no_wrap))
    # A table fills its last column with spaces that mean nothing and that diffs show.
    return "".join(line.rstrip() + "\n" for line in out.getvalue().splitlines())


def _report(  # noqa: PLR0917 - what terminal() was given
    rep: Report,
    rules: Mapping[str, Rule],
    again: Callable[[str], str],
    missed: Sequence[str],
    code: int,
    listing: Sequence[str],
    matrix: bool,  # noqa: FBT001 - what terminal() was given
) -> Iterator[RenderableType]:
    yield _line(_agent(rep))
    yield _line(f"judged under {dialect_claim(rep)}")
    yield ""
    yield _table(rep)
    # What a rule asks and why is told once, where it first breaks.
    told: set[str] = set()
    reasons: set[str] = set()
    silent = 0
    for scenario, things in broken(rep).items():
        errors = {entry.error for entry in rep.entries if entry.scenario == scenario and entry.error is not None}
        # An agent that is not there is not there in every scenario.
        if not things and errors <= reasons:
            silent += 1
            continue
        reasons |= errors
        yield from _scenario(rep, scenario, things, {name: rules[name] for name in rules if name not in told}, again)
        told |= {thing.result.rule for thing in things}
    if silent:
        yield ""
        yield _line(f"{silent} more scenario{'' if silent == 1 else 's'} could not run for a reason that stands above")
    yield from _excused(rep)
    yield from _warnings(rep)
    yield from _known(rep)
    yield from _declaration(rep)
    yield from _areas(rep, rules)
    yield from _by_rule(rep)
    if matrix:
        yield from _matrix(rep)
        yield from _ledgers(rep)
    yield from _missed(missed)
    yield ""
    yield _line(_totals(rep))
    if code == COULD_NOT_RUN:
        yield _line(f"exit {code}: {shortfall(rep, missed)}", 0, "yellow")
    yield from _listing(listing)


def _agent(rep: Report) -> str:
    name, version, language = (rep.agent.get(key) for key in ("name", "version", "language"))
    return f"agent {printable(str(name))} {printable(str(version))} ({printable(str(language))}) · kit {__version__}"


def _table(rep: Report) -> Table:
    cells = list(dict.fromkeys(entry.cell for entry in rep.entries))
    table = Table(box=None, padding=(0, 3, 0, 0), pad_edge=False, header_style="bold")
    table.add_column("scenario", overflow="fold")
    if len(cells) > COLUMNS:
        table.add_column("verdict", overflow="fold")
        for scenario in dict.fromkeys(entry.scenario for entry in rep.entries):
            table.add_row(
                Text(printable(scenario)), _verdicts([one for one in rep.entries if one.scenario == scenario])
            )
        return table
    for cell in cells:
        table.add_column(cell, no_wrap=True)
    verdicts = {(entry.scenario, entry.cell): entry.verdict for entry in rep.entries}
    for scenario in dict.fromkeys(entry.scenario for entry in rep.entries):
        words = [_word(verdicts[scenario, cell]) if (scenario, cell) in verdicts else Text("-") for cell in cells]
        table.add_row(Text(printable(scenario)), *words)
    return table


def _verdicts(entries: Sequence[Entry]) -> Text:
    """The worst verdict first, with its cells; the one that most cells have without."""
    by_verdict = {one: [e.cell for e in entries if e.verdict == one] for one in Verdict}
    found = [(verdict, cells) for verdict, cells in by_verdict.items() if cells]
    usual = max(found, key=lambda one: len(one[1]))[0]
    words = Text()
    for verdict, cells in found:
        where = (
            f" in {len(cells)} cell{'' if len(cells) == 1 else 's'}" if verdict == usual else f" in {', '.join(cells)}"
        )
        words = Text.assemble(words, "; " if words else "", _word(verdict), where)
    return words


def _word(verdict: Verdict) -> Text:
    return Text(verdict.value, style=STYLES[verdict])


def _scenario(
    rep: Report, scenario: str, things: Sequence[Broken], rules: Mapping[str, Rule], again: Callable[[str], str]
) -> Iterator[RenderableType]:
    yield ""
    verdicts = [entry.verdict for entry in rep.entries if entry.scenario == scenario]
    yield Text.assemble(_word(min(verdicts, key=list(Verdict).index)), " ", (printable(scenario), "bold"))
    for entry in rep.entries:
        if entry.scenario == scenario and entry.error is not None:
            yield _line(f"{entry.cell} could not run: {excerpt(entry.error)}", 2)
    for thing in things:
        yield from _broken(thing, rules.get(thing.result.rule))
    yield _whole(f"again: {again(scenario)}", 2)


def _broken(thing: Broken, rule: Rule | None) -> Iterator[RenderableType]:
    result = thing.result
    reason = f", {result.reason}" if result.reason else ""
    yield _line(f"{result.rule} {result.level}{f': {rule.clause}' if rule else ''}", 2, "bold")
    yield _line(f"in {', '.join(thing.cells)}{reason}", 4)
    for finding in result.findings[:FINDINGS]:
        follows = f" (follows from {finding.consequence_of})" if finding.consequence_of else ""
        yield _line(f"{excerpt(finding.message)}{follows}", 4, STYLES[result.verdict])
        yield _line(f"record {finding.seq}: {excerpt(thing.line(finding) or 'nothing stands there', EXCERPT)}", 6)
        # DIA-1 is about the declaration, and its words say it.
        if finding.fits and result.rule != "DIA-1":
            yield _line(f"if it is meant to do so, declare {printable(form({finding.fits[0]: finding.fits[1]}))}", 6)
    if len(result.findings) > FINDINGS:
        yield _line(f"and {len(result.findings) - FINDINGS} more like these", 4)
    if rule:
        yield _line(f"why: {rule.rationale}", 4)
        # A prediction is the scenario's own, and so is its story.
        if rule.evidence and rule.id != "EXPECT":
            yield _whole(f"seen: {rule.evidence[0]}", 4)


def _excused(rep: Report) -> Iterator[RenderableType]:
    lacks: dict[str, dict[str, None]] = {}
    for entry in rep.entries:
        if entry.excused is not None:
            lacks.setdefault(entry.excused, {})[entry.scenario] = None
    if lacks:
        yield ""
    for excuse, scenarios in lacks.items():
        yield _line(f"not played, since the agent does not have {excuse}: {', '.join(map(printable, scenarios))}")


def _warnings(rep: Report) -> Iterator[RenderableType]:
    found = [(scenario, thing) for scenario, things in broken(rep, Verdict.WARN).items() for thing in things]
    if found:
        yield ""
        yield Text("warnings", style="bold")
    for scenario, thing in found:
        messages = "; ".join(excerpt(finding.message, 160) for finding in thing.result.findings[:FINDINGS])
        yield _line(f"{thing.result.rule} in {printable(scenario)} ({', '.join(thing.cells)}): {messages}", 2)


#: What a baseline makes of verdicts, and what to do about it.
KNOWN: Mapping[Verdict, str] = {
    Verdict.STALE: "stale: the baseline lists what does not fail any more",
    Verdict.EXPECTED_FAIL: "fails as the baseline expects",
}


def _known(rep: Report) -> Iterator[RenderableType]:
    for verdict, title in KNOWN.items():
        found = [(scenario, thing) for scenario, things in broken(rep, verdict).items() for thing in things]
        if found:
            yield ""
            yield Text(title, style="bold")
        for scenario, thing in found:
            told = f"{thing.result.rule} in {printable(scenario)} ({', '.join(thing.cells)}): {excerpt(thing.result.reason or '')}"
            yield _line(told, 2, STYLES[verdict])


def _listing(lines: Sequence[str]) -> Iterator[RenderableType]:
    if lines:
        yield ""
        yield Text(
            "to expect what fails from now on, list it in the baseline and give each entry its reason:", style="bold"
        )
        for line in lines:
            yield _whole(printable(line), 0)


def _declaration(rep: Report) -> Iterator[RenderableType]:
    """DIA-1 over all scenarios: what to declare, and what no declaration can mend."""
    if keys := fitting(rep):
        yield ""
        yield Text("a declaration that fits what was seen:", style="bold")
        for text in pasted(keys):
            yield _whole(text, 2)
    if lines := list(torn(rep)):
        yield ""
        yield Text("no declaration fits, since the agent does several things where it has to do one:", style="bold")
        for line in lines:
            yield _line(line, 2, "red")
    if events := undeclared_events(rep):
        yield ""
        yield _line(events, 0, "yellow")


def _by_rule(rep: Report) -> Iterator[RenderableType]:
    if not (tallies := by_rule(rep)):
        return
    yield ""
    table = Table(box=None, padding=(0, 3, 0, 0), pad_edge=False, header_style="bold")
    for head in ("findings by rule", "verdict", "scenarios", "first"):
        table.add_column(head, overflow="fold", justify="right" if head == "scenarios" else "left")
    for one in tallies:
        table.add_row(one.rule, _word(one.verdict), str(one.scenarios), Text(printable(one.first)))
    yield table


def _matrix(rep: Report) -> Iterator[RenderableType]:
    rows = rep.matrix
    if not rows:
        return
    yield ""
    table = Table(box=None, padding=(0, 3, 0, 0), pad_edge=False, header_style="bold")
    for head in ("ended by", "what a program reads", "runs", "first"):
        table.add_column(head, overflow="fold", justify="right" if head == "runs" else "left")
    for row in rows:
        alike = " (as an answer does)" if row.like_an_answer else ""
        where = f"{row.run} of {row.scenario}, {row.cell}"
        table.add_row(*map(Text, map(printable, (row.cause, f"{row.signature}{alike}", str(row.runs), where))))
    yield table


def _ledgers(rep: Report) -> Iterator[RenderableType]:
    found = rep.ledger
    yield ""
    yield Text("ledgers, over all plays", style="bold")
    yield _line(f"attempts: {found.attempts_sdk} by the client library, {found.attempts_loop} by the loop", 2)
    yield _line(f"results that reached the model: {found.reached} of {found.results}", 2)
    yield _line(f"side effects made exactly once: {found.once} of {found.effects}", 2)


def _areas(rep: Report, rules: Mapping[str, Rule]) -> Iterator[RenderableType]:
    yield ""
    yield Text("areas", style="bold")
    for certified, line in area_lines(rep, rules):
        yield _line(line, 2, "green" if certified else "")


def _missed(missed: Iterable[str]) -> Iterator[RenderableType]:
    if missed:
        yield ""
        yield _line(f"exercised, but with nothing to judge in any scenario: {', '.join(missed)}", 0, "yellow")


def _totals(rep: Report) -> str:
    scenarios = len({entry.scenario for entry in rep.entries})
    counted = ", ".join(f"{count} {verdict}" for verdict, count in rep.totals.items() if count)
    return f"{scenarios} scenario{'' if scenarios == 1 else 's'}: {counted or 'nothing was played'}"


def _line(text: str, indent: int = 0, style: str = "") -> RenderableType:
    return Padding(Text(text, style=style, overflow="fold"), (0, 0, 0, indent))


def _whole(text: str, indent: int) -> RenderableType:
    """A line that is never broken: it is there to be copied."""
    return Text(" " * indent + text, no_wrap=True)
