"""HITL: calls that a person has to allow. They wait for the answer, each gets its own, and a run that waits says so."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from conformance.reading.approvals import Answer, approvals, interrupts, needs_approval
from conformance.reading.outcome import claimed
from conformance.reading.tool_calls import Calls, Made, next_main, tool_calls
from conformance.reading.view import Run, View
from conformance.rule import MUST, OK, SHOULD, Finding, Judged, Rule
from conformance.rules.acting_once import OTHER_REASONS, awaits_a_person, kept_back
from conformance.rules.history_shape import needs_messages

_ISSUES = "https://github.com/"
#: Why a call may stay without an execution, but for the person who is asked.
_REASONS = tuple(reason for reason in OTHER_REASONS if reason is not awaits_a_person)


def asks(view: View) -> str | None:
    """`applies` of all clauses here."""
    return None if view.has("approval") else "capability"


def nothing_runs_unasked(view: View) -> Judged:
    """HITL-1."""
    given = approvals(view)
    for made in tool_calls(view).made:
        if not needs_approval(made):
            continue
        answer = given.answer_to(made)
        early = next((one for one in made.executions if answer is None or one.seq < answer.run.seq), None)
        if early is None:
            yield OK
        else:
            yield Finding(
                f"run {early.run}: {made} ran ({early.id}) before anybody had answered for it; expected it to wait for its own answer",
                early.seq,
                related=(made.seq,),
            )


def only_the_denied_is_skipped(view: View) -> Judged:
    """HITL-2."""
    given, calls = approvals(view), tool_calls(view)
    for made in calls.made:
        batch = calls.batch(made)
        answers = [given.answer_to(one) for one in batch if needs_approval(one)]
        if not answers or None in answers or not made.whole:
            continue  # not asked for, or not answered as a whole: what is open may stay so
        over = max(one.run.seq for one in answers if one is not None)
        resumed = next(run for run in view.runs if run.seq == over)
        yield from _run_as_answered(made, given.answer_to(made), resumed, calls, view)
        yield from _answered(made, resumed, calls, view)


def _run_as_answered(made: Made, answer: Answer | None, resumed: Run, calls: Calls, view: View) -> Judged:
    if answer is not None and not answer.approved:
        late = next((one for one in made.executions if one.seq > answer.run.seq), None)
        if late is None:
            yield OK
        else:
            how = "spoken over" if answer.spoken_over else "denied"
            yield Finding(
                f"run {late.run}: {made} ran ({late.id}), and it was {how} in run {answer.run.id}; expected it to be skipped",
                late.seq,
                related=(answer.run.seq,),
            )
    elif made.executions:
        yield OK
    elif made.flaw is None and made.sound and not _excused(made, answer, resumed, calls, view):
        what = "needs nobody's answer" if answer is None else f"was approved in run {answer.run.id}"
        yield Finding(
            f"run {resumed.id}: {made} {what} and never ran; expected only what was denied to be skipped",
            resumed.end_seq,
            related=(made.seq,),
        )


def _excused(made: Made, answer: Answer | None, resumed: Run, calls: Calls, view: View) -> bool:
    if resumed.cancelled or resumed.killed or resumed.how not in ("returned", "raised"):
        return True
    # What waited beside a call that the user spoke over may be taken to be unwanted too.
    spoken_over = answer is None and any(one.spoken_over for one in approvals(view).of(resumed))
    return spoken_over or kept_back(made, calls, view, _REASONS) or _not_taken_up(resumed, view)


def _not_taken_up(resumed: Run, view: View) -> bool:
    claim = claimed(resumed, view)
    return claim is not None and claim.kind in ("refused", "limit", "guard") and not resumed.main


def _answered(made: Made, resumed: Run, calls: Calls, view: View) -> Judged:
    """Every call of the batch has a result in the request behind the answers."""
    first = next((call for call in resumed.main if call.seq > resumed.seq), None)
    if first is None or needs_messages(view) is not None or not made.sound:
        return
    carried = calls.carried(first, made.run.session).get(made.key)
    if carried is not None and len(carried.results) == 1 and not carried.late:
        yield OK
        return
    found = 0 if carried is None else len(carried.results) + len(carried.late)
    there = "is not in it" if carried is None else f"has {found or 'no'} results right behind it, expected one"
    yield Finding(
        f"{first.id} of run {resumed.id} goes on after the answers, and {made} {there}; expected every call of the reply with its result",
        first.seq,
        related=(made.seq,),
    )


def answers_reach_their_own(view: View) -> Judged:
    """HITL-3."""
    given, calls = approvals(view), tool_calls(view)
    for run in view.runs:
        for name, count in Counter(str(one["id"]) for one in interrupts(run)).items():
            if count == 1:
                continue
            yield Finding(
                f"run {run.id}: {count} interrupts have the id {name!r}; expected one each, since an answer names its interrupt by it",
                run.terminal.seq if run.terminal else run.end_seq,
            )
        answers = [(one.asked.made, one) for one in given.of(run) if one.asked.made is not None and not one.spoken_over]
        yield from _swapped(run, answers)
        yield from _values(run, answers, calls)


def _swapped(run: Run, answers: Sequence[tuple[Made, Answer]]) -> Judged:
    """A call that was denied ran instead of one that was approved."""
    if {one.approved for _, one in answers} != {True, False}:
        # One answer alone, and equal ones, could not have gone astray: that it was heard is HITL-2's.
        return
    ran = {made.key for made, _ in answers if made.executions}
    wrong = [made for made, one in answers if not one.approved and made.key in ran]
    missed = [made for made, one in answers if one.approved and made.key not in ran]
    if wrong and missed:
        yield Finding(
            f"run {run.id}: {wrong[0]} was denied and ran, and {missed[0]} was approved and did not; expected each answer to reach "
            "its own call",
            wrong[0].executions[0].seq,
            related=(run.seq,),
        )
    elif not wrong and not missed:
        yield OK


def _values(run: Run, answers: Sequence[tuple[Made, Answer]], calls: Calls) -> Judged:
    """A value that was answered for one call and stands in the result of another."""
    first = run.main[0] if run.main else None
    texts = {made.key: _leaf(one.value) for made, one in answers}
    if first is None or len({text for text in texts.values() if text}) < 2:
        return
    carried = calls.carried(first, run.session)
    results = {made.key: carried[made.key].content for made, _ in answers if made.key in carried}
    for made, _ in answers:
        text = texts[made.key]
        if not text or made.key not in results:
            continue
        others = [other for other, _ in answers if other.key != made.key and text in results.get(other.key, "")]
        if others and text not in results[made.key] and texts[others[0].key] != text:
            yield Finding(
                f"{first.id}: the value {text!r:.80} was answered for {made} and stands in the result of {others[0]}; expected it to reach "
                "its own call",
                first.seq,
                related=(run.seq,),
            )
        elif text in results[made.key]:
            yield OK


def _leaf(value: Any) -> str:
    return value if isinstance(value, str) and len(value) > 3 else ""


def waiting_is_an_end(view: View) -> Judged:
    """HITL-4."""
    given, calls = approvals(view), tool_calls(view)
    for run in view.runs:
        waits = [made for made in calls.made if made.run is run and _has_to_wait(made, calls, view)]
        told = interrupts(run)
        about = {one.made.key for one in given.asked if one.run is run and one.made}
        if not waits:
            yield from _waits_for_nothing(run, told, about, view)
            continue
        problem = _not_told(run, waits, about, view)
        if problem is None:
            yield OK
        else:
            yield Finding(
                f"run {run.id}: {waits[0]} needs a person's answer, {problem}; expected the run to end waiting, by RUN_FINISHED "
                "with an interrupt that names the call",
                run.terminal.seq if run.terminal else run.end_seq,
                related=(waits[0].seq,),
            )


def _has_to_wait(made: Made, calls: Calls, view: View) -> bool:
    """Whether a run has to end for the sake of a call: nothing else ends it, and nothing keeps the call from being asked for."""
    run = made.run
    if not needs_approval(made) or not made.sound or made.by.role == "summary":
        return False
    if run.how not in ("returned", "raised") or run.cancelled or run.killed or kept_back(made, calls, view, _REASONS):
        return False
    if view.dialect.bad_ids == "refuse" and any(not one.sound for one in calls.batch(made)):
        return False
    return made.by.reply is not None and made.by.reply.stop == "tool_calls"


def _not_told(run: Run, waits: Sequence[Made], about: set[tuple[str, int]], view: View) -> str | None:
    later = next_main(run, waits[0].by.end_seq)
    if later is not None:
        return f"and the run asks its model again ({later.id})"
    claim = claimed(run, view)
    if run.terminal is None or run.terminal.type != "RUN_FINISHED":
        return f"and the run ends by {run.terminal.type if run.terminal else 'no terminal'}"
    outcome = run.terminal.data.get("outcome")
    kind = outcome.get("type") if isinstance(outcome, Mapping) else None
    if kind != "interrupt":
        return f"and RUN_FINISHED has the outcome {kind!r}"
    if claim is None or claim.kind != "waiting":
        return f"and the run says {claim.kind if claim else None!r}"
    # Whoever asks for one call after the other names the first of them.
    return None if any(made.key in about for made in waits) else "and no interrupt names it"


def _waits_for_nothing(run: Run, told: Sequence[Mapping[str, Any]], about: set[tuple[str, int]], view: View) -> Judged:
    claim = claimed(run, view)
    waits = claim is not None and claim.kind == "waiting"
    if (waits or told) and not about:
        yield Finding(
            f"run {run.id} waits for a person ({', '.join(str(one.get('tool') or one['id']) for one in told) or 'it does not say for what'}), "
            "but no call of it needs anybody's answer",
            run.terminal.seq if run.terminal else run.end_seq,
            level=SHOULD,
        )
    elif not (waits or told) and run.executions and any(tool.approval for tool in view.scenario.tools.values()):
        # Among tools that need an answer, those that need none ran without.
        yield OK


RULES: tuple[Rule, ...] = (
    Rule(
        id="HITL-1",
        level=MUST,
        clause="A call that a person has to allow does not run before the answer to it.",
        rationale="What was to be asked for is done already: the question is a formality, and the deed cannot be undone.",
        channels="T",
        applies=asks,
        check=nothing_runs_unasked,
        evidence=(
            f"{_ISSUES}anthropics/claude-code/issues/49667",
            f"{_ISSUES}agentscope-ai/agentscope-java/issues/649",
        ),
    ),
    Rule(
        id="HITL-2",
        level=MUST,
        clause="Only what was denied is skipped, and every call of the reply is answered, the denied ones too.",
        rationale="A denial that takes its siblings along loses work that nobody objected to, and a call left open has the next request refused.",
        channels="T,M",
        applies=asks,
        check=only_the_denied_is_skipped,
        evidence=(
            f"{_ISSUES}langgraph4j/langgraph4j/issues/393",
            f"{_ISSUES}microsoft/agent-framework/issues/3426",
        ),
    ),
    Rule(
        id="HITL-3",
        level=MUST,
        clause="What a person answers reaches the call that it answers, in whatever order calls and answers come.",
        rationale="An answer that goes astray allows what was denied.",
        channels="T",
        applies=asks,
        check=answers_reach_their_own,
        evidence=(f"{_ISSUES}langchain-ai/langgraph/issues/6626",),
    ),
    Rule(
        id="HITL-4",
        level=MUST,
        clause="A run that waits for a person ends by RUN_FINISHED with an interrupt that names the call, and says that it waits.",
        rationale="Whoever reads it as an error gives up, and whoever reads it as an answer waits for ever; in between nobody is asked.",
        channels="E",
        about_events=True,
        applies=asks,
        check=waiting_is_an_end,
        evidence=(
            f"{_ISSUES}awslabs/aidlc-workflows/issues/427",
            f"{_ISSUES}agno-agi/agno/issues/4416",
        ),
    ),
)
