"""The judge: a recording and the rules in, one result per rule out. Pure; the same recording always gets the same results."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cache, lru_cache
from typing import Literal

from conformance.observing.observers import fit, observed
from conformance.reading.joined import view
from conformance.reading.view import View
from conformance.recording import Recording
from conformance.rule import OK, Finding, Level, Right, Rule


class Verdict(StrEnum):
    """A verdict, worst first: an aggregate is the first of its parts in this order."""

    FAIL = "fail"
    UNSTABLE = "unstable"
    #: A baseline lists it as failing, and it passes.
    STALE = "stale"
    COULD_NOT_RUN = "could-not-run"
    #: It fails, as a baseline says it does.
    EXPECTED_FAIL = "expected-fail"
    WARN = "warn"
    PASS = "pass"  # noqa: S105 - a verdict, no password
    NOT_OBSERVED = "not-observed"
    NOT_APPLICABLE = "not-applicable"


@dataclass(frozen=True, slots=True)
class Result:
    """
    One rule on one recording.

    `reason` says why a verdict is none: channel, capability, dialect, nothing to judge, translated events. `judged` counts the
    things looked at: a result counts only where it is above 0.
    """

    rule: str
    level: Level
    verdict: Verdict
    reason: str | None = None
    findings: tuple[Finding, ...] = ()
    judged: int = 0


@dataclass(frozen=True, slots=True)
class Judgement:
    """All results of one recording, and the view they were judged under."""

    view: View
    results: tuple[Result, ...]
    fitted: tuple[tuple[str, object], ...] = ()
    #: What the recording shows of the dialect, by key, whether it was declared so or not.
    shows: Mapping[str, object] = field(default_factory=dict)

    @property
    def verdict(self) -> Verdict:
        """The worst of the results; not-observed where nothing applied."""
        verdict = worst(result.verdict for result in self.results)
        return Verdict.NOT_OBSERVED if verdict == Verdict.NOT_APPLICABLE else verdict

    def of(self, rule: str) -> Result:
        """The result of one rule."""
        return next(result for result in self.results if result.rule == rule)


#: The reason of a result that rests on events which the kit's adapter made of something else.
TRANSLATED = "translated events"

#: Channels that stand in for each other, unless a clause is about events.
_SAYING = frozenset("ERL")


def judge(recording: Recording, rules: Iterable[Rule]) -> Judgement:
    """Judge one recording. Where the declaration does not fit what was seen, DIA-1 says so and the rest is read as it fits."""
    seen = view(recording)
    try:
        fitted, shows = tuple(fit(seen).items()), {key: one.value for key, one in observed(seen).items()}
    except Exception:  # noqa: BLE001 - the same, and DIA-1 then says so
        fitted, shows = (), {}
    under = seen.declared
    for key, value in fitted:
        under = under.with_value(key, value)
    if fitted:
        seen = view(recording, under)
    return Judgement(seen, tuple(_linked([_result(rule, seen) for rule in rules], seen)), fitted, shows)


def judge_suite(judgements: Sequence[Judgement], rules: Iterable[Rule]) -> list[Judgement]:
    """The same judgements with what only all recordings of an agent together show."""
    views = [one.view for one in judgements]
    found: list[Judgement] = list(judgements)
    for rule in rules:
        if rule.suite is None:
            continue
        try:
            more: dict[int, list[Finding | Literal[Right.OK]]] = {}
            for index, judged in rule.suite(views):
                more.setdefault(index, []).append(judged)
        except Exception as error:  # noqa: BLE001 - as of one recording: no verdict is better than none at all
            found = [_undecided(one, rule, error) for one in found]
        else:
            for index, each in more.items():
                found[index] = _with(found[index], rule, each)
    linked = [replace(one, results=tuple(_linked(one.results, one.view))) for one in found]
    return _settled(linked)


def _settled(judgements: list[Judgement]) -> list[Judgement]:
    """Advice that one recording gives and another contradicts is no advice: the agent does two things where it may declare one."""
    seen: dict[str, dict[str, str]] = {}
    for one in judgements:
        for key, value in one.shows.items():
            seen.setdefault(key, {}).setdefault(f"{value}", one.view.scenario.id)

    def settle(finding: Finding) -> Finding:
        key = finding.fits[0] if finding.fits else ""
        if len(seen.get(key, {})) < 2:
            return finding
        where = ", ".join(f"{value} in {scenario}" for value, scenario in seen[key].items())
        message = f"{finding.message.rpartition('; declare ')[0] or finding.message}; it shows {where}, so that no declaration fits"
        return replace(finding, message=message, fits=None)

    def settled(result: Result) -> Result:
        if result.rule != "DIA-1" or not result.findings:
            return result
        return replace(result, findings=tuple(settle(finding) for finding in result.findings))

    return [replace(one, results=tuple(settled(result) for result in one.results)) for one in judgements]


def _with(one: Judgement, rule: Rule, judged: Sequence[Finding | Literal[Right.OK]]) -> Judgement:
    """A judgement with what the suite shows of one of its rules, whose check alone may have had nothing to judge."""

    def more(result: Result) -> Result:
        if result.rule != rule.id or missing_channel(rule, one.view.channels):
            return result
        findings = (*result.findings, *(each for each in judged if isinstance(each, Finding)))
        verdict = _worst(rule, findings)
        if result.verdict == Verdict.COULD_NOT_RUN and verdict != Verdict.FAIL:
            return result
        return replace(
            result,
            findings=findings,
            verdict=verdict,
            reason=_translated(rule, one.view),
            judged=result.judged + len(judged),
        )

    return replace(one, results=tuple(more(result) for result in one.results))


def _undecided(one: Judgement, rule: Rule, error: Exception) -> Judgement:
    """A judgement of recordings that a rule cannot compare: what it had found in each alone stays where it is a failure."""
    why = f"the recordings cannot be compared by this rule: {error!r:.200}"

    def undecided(result: Result) -> Result:
        if result.rule != rule.id or result.verdict == Verdict.FAIL or missing_channel(rule, one.view.channels):
            return result
        return replace(result, verdict=Verdict.COULD_NOT_RUN, reason=why)

    return replace(one, results=tuple(undecided(result) for result in one.results))


def missing_channel(rule: Rule, declared: frozenset[str]) -> str | None:
    """The channel a rule lacks: one of E, R and L will do for all of them, unless the clause is about events; M, T and U each."""
    return _missing(rule.channels, rule.about_events, declared)


@cache
def _missing(channels: str, about_events: bool, declared: frozenset[str]) -> str | None:  # noqa: FBT001 - a cache's key
    named = set(channels) - set(", ")
    saying = named & _SAYING
    hard = named - _SAYING
    if about_events and "E" in saying:
        hard |= {"E"}
    elif saying and not saying & declared:
        return "/".join(sorted(saying))
    lacking = sorted(hard - declared)
    return lacking[0] if lacking else None


def _result(rule: Rule, seen: View) -> Result:
    lacking = missing_channel(rule, seen.channels)
    if lacking is not None:
        return _none(rule.id, rule.level, Verdict.NOT_OBSERVED, f"channel {lacking}")
    excused = rule.applies(seen)
    if excused is not None:
        verdict = Verdict.NOT_OBSERVED if excused.startswith("channel") else Verdict.NOT_APPLICABLE
        return _none(rule.id, rule.level, verdict, excused)
    unable = rule.unable(seen)
    if unable is not None:
        return Result(rule.id, rule.level, Verdict.COULD_NOT_RUN, unable)
    try:
        judged = list(rule.check(seen))
    except Exception as error:  # noqa: BLE001 - a recording may hold anything an agent says; no verdict is better than none at all
        return Result(
            rule.id, rule.level, Verdict.COULD_NOT_RUN, f"the recording cannot be read by this rule: {error!r:.200}"
        )
    findings = tuple(one for one in judged if one is not OK and isinstance(one, Finding))
    if not judged:
        exercised = rule.id in seen.scenario.exercises
        verdict = Verdict.NOT_OBSERVED if exercised else Verdict.NOT_APPLICABLE
        return _none(rule.id, rule.level, verdict, "nothing to judge")
    return Result(rule.id, rule.level, _worst(rule, findings), _translated(rule, seen), findings, len(judged))


# Three of four results are none, and all of a suite are kept to its end.
@lru_cache(maxsize=4096)
def _none(rule: str, level: Level, verdict: Verdict, reason: str) -> Result:
    return Result(rule, level, verdict, reason)


def _translated(rule: Rule, seen: View) -> str | None:
    """The reason of a result that certifies nothing, since only events spoke that the agent did not send itself."""
    return TRANSLATED if seen.dialect.events == "translated" and rests_on_events(rule, seen) else None


def rests_on_events(rule: Rule, seen: View) -> bool:
    """Whether events are all that spoke: the clause is about them, or the agent declares nothing else that it could speak by."""
    return rule.about_events or set(rule.channels) & _SAYING & seen.channels == {"E"}


def _worst(rule: Rule, findings: Sequence[Finding]) -> Verdict:
    if not findings:
        return Verdict.PASS
    levels = {finding.level or rule.level for finding in findings}
    return Verdict.FAIL if Level.MUST in levels else Verdict.WARN


def _linked(results: Sequence[Result], seen: View) -> list[Result]:
    """Mark what only follows from another finding, so that one fault is counted once."""
    found = {result.rule: result for result in results if result.findings}
    if len(found) < 2:
        return list(results)
    mine = {rule: tuple(one for one in CONSEQUENCES if one.of(rule)) for rule in found}
    return [
        replace(
            one, findings=tuple(_caused(finding, one.rule, mine[one.rule], found, seen) for finding in one.findings)
        )
        if mine.get(one.rule)
        else one
        for one in results
    ]


def _caused(
    finding: Finding, rule: str, ways: Sequence["Consequence"], found: Mapping[str, Result], seen: View
) -> Finding:
    cause = next(
        (
            name
            for way in ways
            for name, result in found.items()
            if name != rule
            and name.startswith(way.causes)
            and any(way.by(one, finding, seen) for one in result.findings)
        ),
        None,
    )
    return replace(finding, consequence_of=cause) if cause else finding


@dataclass(frozen=True, slots=True)
class Consequence:
    """Findings of `rules` follow from those of `causes`, both beginnings of rule ids, where `by` says so of the two."""

    rules: tuple[str, ...]
    causes: tuple[str, ...]
    by: Callable[[Finding, Finding, View], bool]

    def of(self, rule: str) -> bool:
        """Whether it speaks of this rule."""
        return rule in self.rules


def _at_one_record(cause: Finding, finding: Finding, _seen: View) -> bool:
    return cause.seq in (finding.seq, *finding.related)


def _of_one_execution(cause: Finding, finding: Finding, _seen: View) -> bool:
    """Whether both tell of one request what became of one execution in it."""
    return cause.seq == finding.seq and not set(cause.related).isdisjoint(finding.related)


def _at_one_request(cause: Finding, finding: Finding, seen: View) -> bool:
    """Whether both are about one request, of which one names the record it was sent at and one that of its refusal."""
    for run in seen.runs:
        for call in run.calls:
            if finding.seq in (call.seq, call.refused_seq):
                return cause.seq in (call.seq, call.refused_seq)
    return False


def _at_the_next_request(cause: Finding, finding: Finding, seen: View) -> bool:
    """Whether it is about the first request that was sent behind the record of the other."""
    for run in seen.runs:
        for call in run.calls:
            if finding.seq in (call.seq, call.refused_seq):
                return run.seq < cause.seq < call.seq and not any(cause.seq < one.seq < call.seq for one in run.calls)
    return False


def _earlier_in_the_run(cause: Finding, finding: Finding, seen: View) -> bool:
    """Whether a run was refused a request and had not gone on from it when it broke what the scenario predicts of it."""
    run = next((run for run in seen.runs if run.seq <= cause.seq <= run.end_seq), None)
    if run is None or not cause.seq < finding.seq <= run.end_seq:
        return False
    refused = [call for call in run.calls if cause.seq in (call.seq, call.refused_seq) and call.refused is not None]
    return any(not any(one.seq > call.seq and one.reply is not None for one in run.calls) for call in refused)


def _in_this_play(_cause: Finding, _finding: Finding, _seen: View) -> bool:
    return True


#: What follows from what. A request that is refused for a bad history is the history's fault; one beyond what a clause allows
#: finds no turn of the script; a run that a refusal ended does not do what the scenario predicts. Calls that were joined wrongly
#: do not run, and the next turn may need their results; rounds that recovery took are rounds that were not made. What an agent
#: says of its end is its own doing, whatever brought it there: RUN-3 and RUN-5 follow from nothing.
CONSEQUENCES: tuple[Consequence, ...] = (
    Consequence(("WIRE-1", "RUN-7"), ("HIS-",), _at_one_record),
    Consequence(("SCRIPT-1",), ("LIM-", "SUM-", "REC-", "RUN-2", "RUN-9", "ACT-"), _at_one_request),
    Consequence(("EXPECT", "SCRIPT-2"), ("WIRE-1", "SCRIPT-1"), _earlier_in_the_run),
    Consequence(("ACT-1", "ACT-8", "HIS-4"), ("STR-3",), _at_one_record),
    Consequence(("SCRIPT-1",), ("STR-3",), _at_the_next_request),
    Consequence(("LIM-1",), ("LIM-7",), _at_one_record),
    Consequence(("HIS-10",), ("HIS-1",), _of_one_execution),
    Consequence(("STR-1",), ("STR-2", "STR-3"), _in_this_play),
)


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """The worst of several verdicts; not-applicable where there are none."""
    order = list(Verdict)
    return min(verdicts, key=order.index, default=Verdict.NOT_APPLICABLE)
