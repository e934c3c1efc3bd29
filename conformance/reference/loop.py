"""
The reference loop: rounds from the first request to the end. One loop for every dialect, capability, entry and way of delivery.

It is a program of steps (see `steps`): it waits for nothing and touches nothing but its own run and session.
"""

from conformance.reference import (
    answering,
    approval,
    calling,
    children,
    ending,
    events,
    gate,
    guards,
    limiting,
    recovering,
    telling,
)
from conformance.reference.acting import checked, result_text
from conformance.reference.asking import ask, attempts, bounded, regular_body, summary_body, too_large
from conformance.reference.breaker import broken
from conformance.reference.failing import Failure, failure
from conformance.reference.hearing import Said
from conformance.reference.history import compacted, round_messages, said_message, sound_id
from conformance.reference.run import Again, Ending, Parts, Run, Shown
from conformance.reference.sessions import entered, repaired
from conformance.reference.steps import Steps


def play(run: Run) -> Steps[None]:
    """A whole run: its start, its rounds, its end."""
    yield events.run_started(run.thread, run.id)
    yield from telling.step(run, "run", run.id, "running", "the caller asked")
    try:
        end = run.parts.ending(run, (yield from _whole(run)))
    except Exception as error:
        yield from telling.broken_off(run, f"the loop broke down: {type(error).__name__}")
        raise
    yield from telling.over(run, end)
    yield from run.parts.finish(run, end)


def _whole(run: Run) -> Steps[Ending]:
    if run.refused:
        return Ending("refused", "error", "another run of this session goes on")
    if (waiting := run.session.waiting) is not None:
        # What nobody answered for, because the user spoke instead, is not allowed.
        run.session.waiting = None
        plan = run.parts.resumed(waiting, run.given.input.get("resume") or ())
        early = yield from _acted(run, calling.carry_out(run, waiting.said, plan))
        run.session.messages += run.sent
        if early is not None:
            return early
    return (yield from _rounds(run))


def _rounds(run: Run) -> Steps[Ending]:
    again = Again((), new_round=True)
    while True:
        if (spent := run.parts.over_budget(run)) is not None:
            return spent
        if again.new_round:
            if not run.parts.may_begin(run.rounds, run.limit):
                return gate.marked(run, (yield from run.parts.at_the_limit(run)))
            run.rounds += 1
        heard = yield from _heard(run, again)
        trouble = run.parts.trouble(heard, run.dialect)
        if trouble is not None or isinstance(heard, Failure):
            next_step = yield from recovering.RECOVERIES[trouble or "model_error"](run, heard)
            if isinstance(next_step, Ending):
                return next_step
            again = next_step
            continue
        if run.dialect.recovery_scope == "round":
            run.recovered.clear()
        if heard.text.strip():
            run.texts.append(heard.text)
        end = (yield from _acted(run, run.parts.act(run, heard))) if heard.calls else _answered(run, heard)
        if end is not None:
            return end
        again = Again((), new_round=True)


def _heard(run: Run, again: Again) -> Steps[Said | Failure]:
    """The reply to the next request of the loop, which is made smaller first where it is known to be too large."""
    body = run.parts.regular_body(run, again.nudge)
    if run.parts.too_large(run, body) and (yield from recovering.compact(run)):
        body = run.parts.regular_body(run, again.nudge)
    return (yield from ask(run, body))


def _answered(run: Run, heard: Said) -> Ending | None:
    """The answer ends the run, unless the gate misses something: then the model is told what, so many times."""
    run.session.messages.append(said_message(heard))
    return _accepted(run, heard.text)


def _acted(run: Run, acting: Steps[Ending | None]) -> Steps[Ending | None]:
    """The calls of a reply; one that was the answer is shown as what it is to the user, the model's words."""
    end = yield from acting
    if end is not None or run.answer is None:
        return end
    answer, run.answer = run.answer, None
    yield from events.message("text", run.message_id(), answer)
    run.texts.append(answer)
    return _accepted(run, answer)


def _accepted(run: Run, answer: str) -> Ending | None:
    missing = run.parts.unmet(run)
    if missing is None:
        return Ending("answered", "finished", text=ending.final_text(run, answer))
    return run.parts.sent_back(run, missing)


def as_it_is(_run: Run) -> Shown:
    """Everything that leaves the loop is shown as it is."""
    return lambda item: (item,)


HONEST = Parts(
    limit=limiting.limit,
    entered=entered,
    repaired=repaired,
    rounds_before=limiting.rounds_before,
    may_begin=limiting.may_begin,
    regular_body=regular_body,
    summary_body=summary_body,
    summary_text=limiting.summary_text,
    failure=failure,
    attempts=attempts,
    trouble=recovering.trouble,
    checked=checked,
    result_text=result_text,
    bounded=bounded,
    round_messages=round_messages,
    compacted=compacted,
    sound_id=sound_id,
    act=calling.act,
    settled=answering.settled,
    child=children.child,
    run_child=lambda run, one: children.called(run, one, _rounds),
    to_approve=approval.to_approve,
    resumed=approval.resumed,
    admitted=guards.admitted,
    over_the_cap=guards.over_the_cap,
    over_budget=guards.over_budget,
    broken=broken,
    within_s=guards.within_s,
    noted=guards.noted,
    after_tool=guards.after_tool,
    brought_about=telling.brought_about,
    unmet=gate.unmet,
    sent_back=gate.sent_back,
    too_large=too_large,
    log_limit=limiting.log_limit,
    at_the_limit=limiting.at_the_limit,
    ending=lambda _run, end: end,
    finish=ending.finish,
    shown=as_it_is,
)
