"""RUN: however a run ended, a strict model accepts the next one on its session. Judges neither run's own ending."""

from conformance.reading.outcome import claimed
from conformance.reading.told import may_keep_back
from conformance.reading.view import Call, Run, View
from conformance.rule import MUST, OK, SHOULD, Finding, Judged, Level, Rule
from fake_models.provider_rules import known_rule

_ISSUES = "https://github.com/"


def is_remembered(view: View) -> str | None:
    """An agent that keeps no session and shows no snapshot is sent nothing of the run before: its second run stands alone."""
    told = view.has("sessions") or any(_carries_a_snapshot(run, view) for run in view.runs)
    return None if told else "capability"


def _carries_a_snapshot(run: Run, view: View) -> bool:
    return any(
        event.type == "MESSAGES_SNAPSHOT"
        for before in view.runs
        if before.session == run.session and before.end_seq < run.seq
        for event in (*before.events, *before.strays)
    )


def the_next_run_is_accepted(view: View) -> Judged:
    """RUN-7, on the first request of each later run: what a run does wrong after that is its own."""
    for run in view.runs:
        before = view.before(run)
        if before is None or before.end_seq > run.seq:
            continue
        if not view.has("sessions") and not _carries_a_snapshot(run, view):
            continue
        first = run.main[0] if run.main else None
        if first is None:
            yield from _asked_nothing(run, before, view)
        elif first.reply is not None:
            yield OK
        elif (rule := _broken(first)) is not None and not _broke_from_the_start(rule, run, view):
            yield Finding(
                f"run {run.id} follows run {before.id}, which {_ended(before, view)}, and its first request {first.id} was "
                f"refused by provider rule {rule!r}: {(first.refused or {}).get('message')!r:.200}; a history that a strict model "
                "accepts was expected, however the run before ended",
                first.refused_seq or first.seq,
                related=(before.end_seq, first.seq),
                level=_level(rule, first),
            )


def _asked_nothing(run: Run, before: Run, view: View) -> Judged:
    """A session that takes no further question is as lost as one whose history is refused."""
    claim = claimed(run, view)
    if run.user is None or run.cancelled or run.max_iters == 0 or run.how not in ("returned", "raised", "died"):
        return
    if not before.main or (claim is not None and claim.kind == "answered"):
        return
    if may_keep_back(run, (), view):
        return  # a hook before the model may have kept it from asking
    if before.killed:
        return  # what its store holds then may be refused, and SES-4 judges that
    said = f": {claim.reason!r:.200}" if claim is not None and claim.reason else ""
    yield Finding(
        f"run {run.id} follows run {before.id}, which {_ended(before, view)}, and asked its model nothing{said}; the session was "
        "expected to take the next question",
        run.end_seq,
        related=(before.end_seq,),
    )


def _broken(call: Call) -> str | None:
    refused = call.refused or {}
    return str(refused.get("rule")) if refused.get("by") == "provider" else None


def _broke_from_the_start(rule: str, run: Run, view: View) -> bool:
    """Whether the session's first run was refused for the same, so that no run before is to blame."""
    opening = next(one for one in view.runs if one.session == run.session)
    return bool(opening.main) and _broken(opening.main[0]) == rule


def _level(rule: str, call: Call) -> Level | None:
    """A refusal by a rule that is not certain warns, as in WIRE-1."""
    known = known_rule(call.request.wire, rule)
    return SHOULD if known is not None and known.confidence == "B" else None


def _ended(run: Run, view: View) -> str:
    claim = claimed(run, view)
    return f"ended as {claim.kind!r}" if claim is not None else run.how


RULES: tuple[Rule, ...] = (
    Rule(
        id="RUN-7",
        level=MUST,
        clause="However a run ended, the next run on its session is accepted: its first request is one that a strict model does not refuse.",
        rationale="A history that one bad run left broken is refused on every later turn, and the whole conversation is lost.",
        channels="M",
        applies=is_remembered,
        check=the_next_run_is_accepted,
        evidence=(
            f"{_ISSUES}agentscope-ai/agentscope-java/pull/1261",
            f"{_ISSUES}agentscope-ai/agentscope-java/issues/951",
            f"{_ISSUES}anomalyco/opencode/issues/21326",
            f"{_ISSUES}google/adk-python/issues/338",
        ),
    ),
)
