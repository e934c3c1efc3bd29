"""The report: results of many plays added up into verdicts per scenario, rule and area, and the exit code. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from conformance import __version__
from conformance.distinguish import Cause, distinguished
from conformance.judge import TRANSLATED, Judgement, Result, Verdict, judge_suite, rests_on_events, worst
from conformance.ledgers import Ledger, ledger, total
from conformance.reading.outcome import claimed
from conformance.reading.view import View, executed
from conformance.recording import Recording
from conformance.rule import Finding, Level, Rule

#: The rules about the kit's own side of a run; they belong to no area of an agent.
KIT_RULES = frozenset({"DIA-1", "SCRIPT-1", "SCRIPT-2", "EXPECT"})
#: Verdicts of those rules under which nothing is certified. To expect a failure is not to be free of it.
UNSOUND = frozenset({Verdict.FAIL, Verdict.UNSTABLE, Verdict.EXPECTED_FAIL})
#: First words of the reasons for which an area can do without a rule: it does not bind this agent.
EXCUSES = frozenset({"dialect", "capability", "knob", "wire"})


@dataclass(frozen=True, slots=True)
class Entry:
    """One scenario in one cell over all its repeats. `error` says why it could not be played."""

    scenario: str
    cell: str
    verdict: Verdict
    results: tuple[Result, ...]
    judgements: tuple[Judgement, ...]
    recordings: tuple[Recording, ...]
    error: str | None = None
    #: What the agent lacks, for which the scenario was not played: `capability cancel`, `knob gate`.
    excused: str | None = None
    #: The rules that the scenario is made for.
    exercises: tuple[str, ...] = ()

    @property
    def ledger(self) -> Ledger:
        """What was done beyond what the outcome says; the first repeat's."""
        return ledger(self.judgements[0].view) if self.judgements else Ledger()


@dataclass(frozen=True, slots=True)
class RuleTotal:
    """
    A rule over the suite: `armed` of `of` units had something to judge.

    `certifies`: its pass counts for its area. `excused`: dialect, capabilities, knobs or wire free the agent of it wherever it
    could show, so that its area can do without.
    """

    verdict: Verdict
    armed: int
    of: int
    certifies: bool
    excused: bool


@dataclass(frozen=True, slots=True)
class AreaTotal:
    """An area over the suite. `certified`: every MUST that applies passes, and at least one does."""

    verdict: Verdict
    certified: bool
    passed: int
    armed: int
    warnings: int


# Not shown whole: whoever shows a finished task, as the standard library does on its way to a signal's handler, shows its
# result, and all recordings as text take as long as playing them.
@dataclass(frozen=True, slots=True, repr=False)
class Report:
    """Everything that was found out about one agent."""

    agent: Mapping[str, Any]
    dialect: Mapping[str, Any]
    entries: tuple[Entry, ...]
    rules: Mapping[str, RuleTotal]
    areas: Mapping[str, AreaTotal]

    @property
    def totals(self) -> Mapping[str, int]:
        """How many entries have which verdict."""
        return {verdict.value: sum(one.verdict == verdict for one in self.entries) for verdict in Verdict}

    @property
    def matrix(self) -> tuple[Cause, ...]:
        """How each cause of an end can be read, over all plays."""
        return distinguished([judgement.view for entry in self.entries for judgement in entry.judgements])

    @property
    def ledger(self) -> Ledger:
        """The ledgers of all entries together."""
        return total(entry.ledger for entry in self.entries)


@dataclass(frozen=True, slots=True)
class Played:
    """What one play of a scenario in a cell brought: a judged recording, or an error."""

    scenario: str
    cell: str
    judgement: Judgement | None
    error: str | None = None
    excused: str | None = None
    exercises: tuple[str, ...] = ()


def report(
    agent: Mapping[str, Any], dialect: Mapping[str, Any], plays: Sequence[Played], rules: Sequence[Rule]
) -> Report:
    """Add up all plays of one agent."""
    judged = [play.judgement for play in plays if play.judgement is not None]
    whole = iter(judge_suite(judged, rules))
    groups: dict[tuple[str, str], list[tuple[Played, Judgement | None]]] = defaultdict(list)
    for play in plays:
        groups[play.scenario, play.cell].append((play, next(whole) if play.judgement is not None else None))
    entries = tuple(_entry(scenario, cell, group) for (scenario, cell), group in groups.items())
    return added_up(agent, dialect, entries, rules)


def added_up(
    agent: Mapping[str, Any], dialect: Mapping[str, Any], entries: tuple[Entry, ...], rules: Sequence[Rule]
) -> Report:
    """The report on these entries, whose verdicts stand."""
    units: dict[str, list[Result]] = defaultdict(list)
    for entry in entries:
        for result in entry.results:
            units[result.rule].append(result)
    totals = {rule.id: _rule_total(rule, units[rule.id], entries) for rule in rules}
    return Report(agent, dialect, entries, totals, _areas(rules, totals, entries))


def _entry(scenario: str, cell: str, group: Sequence[tuple[Played, Judgement | None]]) -> Entry:
    judgements = tuple(one for _, one in group if one is not None)
    error = next((play.error for play, _ in group if play.error is not None), None)
    excused = next((play.excused for play, _ in group if play.excused is not None), None)
    exercises = next((play.exercises for play, _ in group if play.exercises), ())
    if excused is not None:
        return Entry(scenario, cell, Verdict.NOT_APPLICABLE, (), (), (), excused=excused, exercises=exercises)
    results = _over_repeats(judgements, len(group))
    recordings = tuple(one.view.recording for one in judgements)
    verdict = verdict_of(results, error)
    return Entry(scenario, cell, verdict, results, judgements, recordings, error, exercises=exercises)


def verdict_of(results: Sequence[Result], error: str | None) -> Verdict:
    """The verdict of an entry: the worst of its results; not-observed where nothing applied."""
    verdict = worst([*(r.verdict for r in results), *([] if error is None else [Verdict.COULD_NOT_RUN])])
    return Verdict.NOT_OBSERVED if verdict == Verdict.NOT_APPLICABLE else verdict


def _over_repeats(judgements: Sequence[Judgement], repeats: int) -> tuple[Result, ...]:
    """One result per rule: a fail on every repeat is a fail, on some it is unstable. One that could not be played is no fail."""
    if not judgements:
        return ()
    merged = []
    for same in zip(*(one.results for one in judgements), strict=True):
        fails = [one for one in same if one.verdict == Verdict.FAIL]
        if fails and len(fails) < repeats:
            first = fails[0]
            reason = f"fails in {len(fails)} of {repeats} repeats"
            merged.append(Result(first.rule, first.level, Verdict.UNSTABLE, reason, first.findings, first.judged))
        else:
            merged.append(same[0] if repeats == 1 else min(same, key=lambda one: list(Verdict).index(one.verdict)))
    return tuple(merged)


def _rule_total(rule: Rule, units: Sequence[Result], entries: Sequence[Entry]) -> RuleTotal:
    armed = [unit for unit in units if unit.judged]
    native = [unit for unit in armed if unit.reason != TRANSLATED]
    spoken = [unit for unit in units if unit.judged or unit.verdict == Verdict.COULD_NOT_RUN]
    verdict = worst(unit.verdict for unit in spoken or units)
    passes = verdict in (Verdict.PASS, Verdict.WARN)
    excused = bool(units) and all((unit.reason or "").partition(" ")[0] in EXCUSES for unit in units)
    # Nor does a clause bind of which all scenarios need what the agent does not have.
    made_for = [entry for entry in entries if rule.id in entry.exercises]
    excused = excused or (not armed and bool(made_for) and all(entry.excused for entry in made_for))
    return RuleTotal(verdict, len(armed), len(units), certifies=bool(native) and passes, excused=excused)


def _areas(rules: Sequence[Rule], totals: Mapping[str, RuleTotal], entries: Sequence[Entry]) -> dict[str, AreaTotal]:
    by_area: dict[str, list[Rule]] = defaultdict(list)
    for rule in rules:
        if rule.id not in KIT_RULES:
            by_area[rule.area].append(rule)
    kit_fails = any(totals[rule.id].verdict in UNSOUND for rule in rules if rule.id in KIT_RULES)
    return {area: _area(mine, totals, entries, sound=not kit_fails) for area, mine in by_area.items()}


def _area(
    rules: Sequence[Rule], totals: Mapping[str, RuleTotal], entries: Sequence[Entry], *, sound: bool
) -> AreaTotal:
    ids = {rule.id for rule in rules}
    units = [r for entry in entries for r in entry.results if r.judged and r.rule in ids]
    # What was nowhere to be judged was not seen to hold: a few scenarios do not certify an area.
    musts = [totals[r.id] for r in rules if r.level == Level.MUST and not totals[r.id].excused]
    passed = [one for one in musts if one.certifies]
    return AreaTotal(
        verdict=worst(totals[rule.id].verdict for rule in rules),
        certified=sound and bool(passed) and len(passed) == len(musts),
        passed=sum(unit.verdict in (Verdict.PASS, Verdict.WARN) for unit in units),
        armed=len(units),
        warnings=sum(unit.verdict == Verdict.WARN for unit in units),
    )


def unarmed(rep: Report, rules: Sequence[Rule]) -> tuple[str, ...]:
    """
    MUSTs that a played scenario exercises, whose channels are declared, and that were armed nowhere though they apply.

    A scenario in which a failure is expected does not get as far as it would, so nothing is asked of it; nor is anything
    asked of events that the agent did not send itself.
    """
    whole = [entry for entry in rep.entries if all(r.verdict != Verdict.EXPECTED_FAIL for r in entry.results)]
    views = [judgement.view for entry in whole for judgement in entry.judgements]
    exercised = {rule for view in views for rule in view.scenario.exercises}
    translated = [view for view in views if view.dialect.events == "translated"]
    return tuple(
        rule.id
        for rule in rules
        if rule.id in exercised
        and rule.level == Level.MUST
        and rep.rules[rule.id].armed == 0
        and rep.rules[rule.id].verdict == Verdict.NOT_OBSERVED
        and not any((r.reason or "").startswith("channel") for e in rep.entries for r in e.results if r.rule == rule.id)
        and not any(rests_on_events(rule, view) for view in translated)
    )


def exit_code(rep: Report, missed: Sequence[str], *, strict: bool = False) -> int:
    """1 for any fail, unstable or stale verdict, 3 where something could not be run or seen, else 0; `strict`: a warning is 1."""
    verdicts = {entry.verdict for entry in rep.entries}
    # A scenario with an expected failure and a warning goes by the failure.
    warns = any(result.verdict == Verdict.WARN for entry in rep.entries for result in entry.results)
    if verdicts & {Verdict.FAIL, Verdict.UNSTABLE, Verdict.STALE} or (strict and warns):
        return 1
    if Verdict.COULD_NOT_RUN in verdicts or missed or not observed(rep):
        return 3
    return 0


def observed(rep: Report) -> bool:
    """Whether anything of the agent itself was judged, beyond that it came to an end."""
    return any(seen(entry.results) for entry in rep.entries)


def seen(results: Iterable[Result]) -> bool:
    """The same of one recording's results."""
    aside = KIT_RULES | {"RUN-2"}
    return any(result.judged and result.rule not in aside for result in results)


def as_json(rep: Report) -> dict[str, Any]:
    """The JSON report, as described in docs/report.md."""
    return {
        "kit": __version__,
        "agent": {key: rep.agent.get(key) for key in ("name", "version", "language")},
        "profile": rep.agent.get("profile"),
        "dialect": dict(rep.dialect),
        "runs": [_entry_json(entry) for entry in rep.entries],
        "rules": {name: {"verdict": t.verdict, "armed": t.armed, "of": t.of} for name, t in rep.rules.items()},
        "areas": {
            name: {
                "verdict": a.verdict,
                "certified": a.certified,
                "passed": a.passed,
                "armed": a.armed,
                "warnings": a.warnings,
            }
            for name, a in rep.areas.items()
        },
        "totals": dict(rep.totals),
        "matrix": [_cause_json(row) for row in rep.matrix],
        "ledgers": rep.ledger.data(),
    }


def _cause_json(row: Cause) -> dict[str, Any]:
    return {
        "cause": row.cause,
        "signature": row.signature.data(),
        "runs": row.runs,
        "first": {"scenario": row.scenario, "cell": row.cell, "run": row.run},
        "like_an_answer": row.like_an_answer,
    }


def _entry_json(entry: Entry) -> dict[str, Any]:
    seen = entry.judgements[0].view if entry.judgements else None
    return {
        "scenario": entry.scenario,
        "cell": entry.cell,
        "verdict": entry.verdict,
        **facts(seen),
        **({} if entry.error is None else {"error": entry.error}),
        **({} if entry.excused is None else {"excused": entry.excused}),
        "ledger": entry.ledger.data(),
        "results": [_result_json(result) for result in entry.results],
        "runs_detail": [run_facts(seen, index) for index in range(len(seen.runs))] if seen else [],
    }


def facts(seen: View | None) -> dict[str, Any]:
    """What happened in a play, in numbers: counts are sums over its runs, terminal and outcome the last run's."""
    runs = [run_facts(seen, index) for index in range(len(seen.runs))] if seen else []
    counts = {key: sum(run[key] for run in runs) for key in COUNTS}
    last = runs[-1] if runs else {}
    return {
        "events": counts["events"],
        "terminal": last.get("terminal"),
        "outcome": last.get("outcome"),
        **{key: counts[key] for key in COUNTS if key != "events"},
        "tools_run": [tool for run in runs for tool in run["tools_run"]],
    }


#: What is summed up over the runs of a play.
COUNTS = ("events", "model_calls", "regular_calls", "retries", "attempts")


def run_facts(seen: View, index: int) -> dict[str, Any]:
    """The same for one run. `model_calls` are all but attempts and auxiliary calls."""
    run = seen.runs[index]
    kinds = [call.kind for call in run.calls]
    claim = claimed(run, seen)
    return {
        "run": run.id,
        "session": run.session,
        "how": run.how,
        "events": len(run.events) + len(run.strays),
        "terminal": run.terminal.type if run.terminal else None,
        "outcome": claim.kind if claim else None,
        "model_calls": sum(kind not in ("attempt", "auxiliary") for kind in kinds),
        "regular_calls": kinds.count("regular"),
        "summary_calls": kinds.count("summary"),
        "retries": kinds.count("retry"),
        "compactions": kinds.count("compaction"),
        "attempts": kinds.count("attempt"),
        "tools_run": [x.tool for x in executed(run, seen)],
    }


def _result_json(result: Result) -> dict[str, Any]:
    return {
        "rule": result.rule,
        "level": result.level,
        "verdict": result.verdict,
        "reason": result.reason,
        "findings": [_finding_json(finding) for finding in result.findings],
    }


def _finding_json(finding: Finding) -> dict[str, Any]:
    data: dict[str, Any] = {"message": finding.message, "seq": finding.seq, "related": list(finding.related)}
    if finding.fits:
        data["fits"] = dict([finding.fits])
    if finding.consequence_of:
        data["consequence_of"] = finding.consequence_of
    return data
