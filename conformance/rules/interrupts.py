"""INT: a run that its caller cancels leaves a sound session behind, says how it ended, and does nothing any more."""

from collections.abc import Iterator, Mapping

from conformance.reading.approvals import approvals
from conformance.reading.containment import carries
from conformance.reading.outcome import answer, claimed, last_call
from conformance.reading.pairing import arguments
from conformance.reading.tool_calls import Made, equal, tool_calls
from conformance.reading.view import Call, Execution, Run, View
from conformance.rule import MUST, OK, SHOULD, Finding, Judged, Rule
from conformance.rules.history_succession import reasons_to_shrink
from conformance.rules.next_requests import asked_nothing, broken_history

_ISSUES = "https://github.com/"
#: How a run may say that its caller ended it.
_CANCELLED = ("interrupted", "waiting")
#: Endings that a cancelled run is taken for by mistake: what failed in it failed because it was cancelled.
_FAILURES = ("error", "model_error", "tool_error", "empty")


def cancels(view: View) -> str | None:
    """`applies` of all clauses here."""
    return None if view.has("cancel") else "capability"


def _kept(view: View) -> str | None:
    return cancels(view) or (None if view.has("sessions") else "capability")


def _followed(view: View) -> Iterator[tuple[Run, Run]]:
    """Each cancelled run with the one after it on its session."""
    for run in view.runs:
        before = view.before(run)
        if before is not None and before.cancelled and before.end_seq < run.seq and not run.killed:
            yield before, run


def the_next_history_is_sound(view: View) -> Judged:
    """INT-1."""
    for before, run in _followed(view):
        named = f"run {run.id} follows run {before.id}, which was cancelled ({before.cancel_point}),"
        first = run.main[0] if run.main else None
        if first is None:
            if (why := asked_nothing(run, view)) is not None:
                yield Finding(
                    f"{named} and asked its model nothing{why}; the session was expected to take the next question",
                    run.end_seq,
                    related=(before.end_seq,),
                )
        elif (problem := broken_history(first, view) or _half_spelled(first, before)) is not None:
            yield Finding(
                f"{named} and its first request {problem}; a history that a strict model accepts was expected",
                first.refused_seq or first.seq,
                related=(before.cancel_seq or before.end_seq,),
            )
        else:
            yield OK


def _half_spelled(first: Call, before: Run) -> str | None:
    """A call of the run that was cancelled, where a request carries the half of it that had come."""
    replies = [one.reply for one in before.calls if one.reply is not None]
    right = {call.name for one in replies for call in one.calls if isinstance(arguments(call.arguments), Mapping)}
    for one in first.sent.messages:
        for call in one.tool_calls:
            if call.name in right and not isinstance(arguments(call.arguments), Mapping):
                return f"{first.id} carries call {call.id!r} ({call.name}) half spelled: {call.arguments!r:.120}"
    return None


def the_end_is_no_answer(view: View) -> Judged:
    """INT-2."""
    for run in view.runs:
        if not run.cancelled:
            continue
        claim, named = claimed(run, view), f"run {run.id} was cancelled ({run.cancel_point})"
        if run.how in ("hung", "died"):
            yield Finding(f"{named} and {run.how}; a terminal was expected", run.end_seq)
        elif claim is None or ("E" in view.channels and run.terminal is None and run.raised is None):
            yield Finding(f"{named} and came to no terminal; one that says so was expected", run.end_seq)
        elif claim.kind == "answered" and not _answered(run, view):
            yield Finding(
                f"{named} and says 'answered', but its model gave no final answer; an end that is told from an answer was expected",
                claim.seq,
                related=(run.cancel_seq or run.seq,),
            )
        elif not view.recording.header.apart and len(later := _asked_later(run)) > 1:
            yield Finding(
                f"{named} and asked its model {len(later)} times more ({', '.join(later)}) before it ended as {claim.kind!r}; "
                "an end was expected",
                claim.seq,
                related=(run.cancel_seq or run.seq,),
            )
        elif claim.kind in _FAILURES and not _failed(run):
            yield Finding(
                f"{named} and says {claim.kind!r}; interrupted was expected, since nothing failed",
                claim.seq,
                level=SHOULD,
            )
        else:
            yield OK


def _answered(run: Run, view: View) -> bool:
    """Cancelling is a race that an agent may lose."""
    last = last_call(run)
    return last is not None and answer(last, view.dialect) is not None


def _asked_later(run: Run) -> list[str]:
    return [call.id for call in run.main if call.seq > (run.cancel_seq or run.end_seq)]


def _failed(run: Run) -> bool:
    """Whether something failed that the kit did not bring about by cancelling."""
    said = any(call.reply is not None and (call.reply.status != 200 or call.reply.fault) for call in run.calls)
    return said or any(call.refused is not None for call in run.calls) or any(one.error for one in run.executions)


def nothing_is_done_later(view: View) -> Judged:
    """INT-3."""
    calls = tool_calls(view)
    for run in view.runs:
        if not run.cancelled:
            continue
        mine = [made for made in calls.made if _of(run, made, view)]
        judged = False
        for made in mine:
            later = [one for one in made.executions if one.seq > run.end_seq]
            if later:
                finished = any(one.end_seq is not None and one.seq < run.end_seq for one in made.executions)
                what = "ran again" if finished else "ran"
                yield _late(run, str(made), later[0], what)
            elif made.whole or made.executions:
                judged = True
        for stray in calls.strays:
            same = next((made for made in mine if _is_for(made, stray)), None)
            if same is not None and stray.seq > run.end_seq and _session(stray, view) == run.session:
                yield _late(run, str(same), stray, "ran again")
                judged = False
        begun = _begun_later(run)
        if begun is not None and not view.recording.header.apart:
            yield Finding(
                f"run {run.id} was cancelled ({run.cancel_point}), and {begun.id} ({begun.tool}) was begun when a tool that began after "
                "that had come to its end; expected no more to begin",
                begun.seq,
                related=(run.cancel_seq or run.seq,),
                level=SHOULD,
            )
        elif judged:
            yield OK
        yield from _forgotten(run, mine, view)


def _begun_later(run: Run) -> Execution | None:
    """What a cancelled run begins with time to have heard of it: one tool may be on its way, and those that go with it."""
    later = [one for one in run.executions if run.cancel_seq is not None and run.cancel_seq < one.seq < run.end_seq]
    ended = min((one.end_seq for one in later if one.end_seq is not None), default=None)
    return None if ended is None else next((one for one in later if one.seq > ended), None)


def _of(run: Run, made: Made, view: View) -> bool:
    """Whether a call is the run's own, or one that waited for this run's answer to it."""
    answer = approvals(view).answer_to(made)
    return made.run is run or (answer is not None and answer.run is run)


def _late(run: Run, named: str, one: Execution, what: str) -> Finding:
    where = "after its end" if one.run == run.id else f"in run {one.run}"
    return Finding(
        f"run {run.id} was cancelled ({run.cancel_point}), and {named} {what} {where} ({one.id}); expected that what was cancelled "
        "does not run later, and that what finished is not repeated",
        one.seq,
        related=(run.cancel_seq or run.seq,),
    )


def _is_for(made: Made, one: Execution) -> bool:
    return made.call.name == one.tool and equal(made.arguments, one.arguments)


def _session(one: Execution, view: View) -> str | None:
    return next((run.session for run in view.runs if run.id == one.run), None)


def _forgotten(run: Run, mine: list[Made], view: View) -> Judged:
    """What was done stands in the next request: a model that does not know of it does it once more."""
    following = next((after for before, after in _followed(view) if before is run), None)
    first = following.main[0] if following and following.main else None
    if first is None or following is None or not view.has("sessions") or reasons_to_shrink(view).get(run.session):
        return
    done = [(made, one) for made in mine for one in made.ran if one.end_seq is not None and one.error is None]
    said = "\n".join(message.content or "" for message in first.request.messages)
    for made, one in done:
        if _tells_of(made, first, said) or not carries(said, one.value):
            yield OK
        else:
            yield Finding(
                f"run {run.id} was cancelled ({run.cancel_point}) when {made} had run ({one.id}), and {first.id} of run {following.id} "
                "tells its model nothing of it; expected the call with its result, so that it is not done twice",
                first.seq,
                related=(one.seq,),
                level=SHOULD,
            )


def _tells_of(made: Made, call: Call, said: str) -> bool:
    # Where calls travel as text, their names do so as well.
    return made.call.name in said or any(one.call.name == made.call.name for one in call.paired.calls)


RULES: tuple[Rule, ...] = (
    Rule(
        id="INT-1",
        level=MUST,
        clause="Wherever a run was cancelled, while its model spoke, before, in or after its tools, the next run's history is valid.",
        rationale="A user who stops an agent and goes on to speak gets a refusal for every further message: the call that was cut short stands in the history for good.",
        channels="M",
        keys=("tool_history",),
        applies=_kept,
        check=the_next_history_is_sound,
        evidence=(
            f"{_ISSUES}agentscope-ai/agentscope-java/issues/2409",
            f"{_ISSUES}anthropics/claude-code/issues/3003",
            f"{_ISSUES}anomalyco/opencode/issues/21326",
        ),
    ),
    Rule(
        id="INT-2",
        level=MUST,
        clause="A cancelled run comes to a terminal, which is told from an answer.",
        rationale="Whoever cancelled waits for the end, and what was broken off must not be read as the result.",
        channels="R,E",
        applies=cancels,
        check=the_end_is_no_answer,
        evidence=(f"{_ISSUES}vercel/ai/issues/8107",),
    ),
    Rule(
        id="INT-3",
        level=MUST,
        clause="What was cancelled does not run later, and what was finished is not repeated. The next request tells of what was finished (SHOULD).",
        rationale="A deed that nobody wants any more is done behind the user's back, or one that was done is done twice.",
        channels="T",
        applies=cancels,
        check=nothing_is_done_later,
        evidence=(f"{_ISSUES}livekit/agents/issues/3702",),
    ),
)
