"""The judge: a recording and the rules in, one result per rule out. Pure; the same recording always gets the same results."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cache

from conformance.observing.observers import fit, observed
from conformance.reading.joined import view
from conformance.reading.view import View
from conformance.recording import Recording
from conformance.rule import OK, Finding, Level, Rule


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
    return Judgement(seen, tuple(_linked([_result(rule, seen) for rule in rules])), fitted, shows)


def judge_suite(judgements: Sequence[Judgement], rules: Iterable[Rule]) -> list[Judgement]:
    """The same judgements with what only all recordings of an agent together show."""
    views = [one.view for one in judgements]
    found: list[Judgement] = list(judgements)
    for rule in rules:
        if rule.suite is None:
            continue
        for index, judged in rule.suite(views):
            if isinstance(judged, Finding):
                found[index] = _with(found[index], rule, judged)
    return _settled(found)


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


def _with(one: Judgement, rule: Rule, finding: Finding) -> Judgement:
    def more(result: Result) -> Result:
        if result.rule != rule.id or missing_channel(rule, one.view.channels):
            return result
        findings = (*result.findings, finding)
        return replace(result, findings=findings, verdict=_worst(rule, findings), reason=None, judged=result.judged + 1)

    return replace(one, results=tuple(more(result) for result in one.results))


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
        return Result(rule.id, rule.level, Verdict.NOT_OBSERVED, f"channel {lacking}")
    excused = rule.applies(seen)
    if excused is not None:
        verdict = Verdict.NOT_OBSERVED if excused.startswith("channel") else Verdict.NOT_APPLICABLE
        return Result(rule.id, rule.level, verdict, excused)
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
        return Result(rule.id, rule.level, verdict, "nothing to judge")
    reason = "translated events" if seen.dialect.events == "translated" and _rests_on_events(rule, seen) else None
    return Result(rule.id, rule.level, _worst(rule, findings), reason, findings, len(judged))


def _rests_on_events(rule: Rule, seen: View) -> bool:
    """Whether events are all that spoke: the clause is about them, or the agent declares nothing else that it could speak by."""
    return rule.about_events or set(rule.channels) & _SAYING & seen.channels == {"E"}


def _worst(rule: Rule, findings: Sequence[Finding]) -> Verdict:
    if not findings:
        return Verdict.PASS
    levels = {finding.level or rule.level for finding in findings}
    return Verdict.FAIL if Level.MUST in levels else Verdict.WARN


#: Rules that a provider's refusal breaks.
REFUSALS = frozenset({"WIRE-1", "RUN-7"})


def _linked(results: Sequence[Result]) -> list[Result]:
    """A request that a provider refuses for a bad history is the history's fault: what says so is marked as its consequence."""
    causes: dict[int, str] = {}
    for result in results:
        for finding in result.findings if result.rule.startswith("HIS-") else ():
            causes.setdefault(finding.seq, result.rule)
    return [
        replace(result, findings=tuple(_caused(finding, causes) for finding in result.findings))
        if result.rule in REFUSALS
        else result
        for result in results
    ]


def _caused(finding: Finding, causes: dict[int, str]) -> Finding:
    rule = next((causes[seq] for seq in (finding.seq, *finding.related) if seq in causes), None)
    return replace(finding, consequence_of=rule) if rule else finding


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """The worst of several verdicts; not-applicable where there are none."""
    order = list(Verdict)
    return min(verdicts, key=order.index, default=Verdict.NOT_APPLICABLE)
