"""ACT-2 to ACT-5: what the model is told of a call that failed or could not run. Says nothing of calls that went well."""

import re
from collections.abc import Callable, Mapping
from typing import Literal

from conformance.reading.containment import carries
from conformance.reading.outcome import claimed
from conformance.reading.tool_calls import (
    FAILED,
    NOT_RUN,
    Calls,
    Made,
    as_text,
    equal,
    next_main,
    said_in,
    tool_calls,
    wrong_fields,
)
from conformance.reading.view import Call, Execution, View
from conformance.rule import OK, SHOULD, Finding, Judged, Right
from conformance.rules.acting_once import FEEDBACK, ends_the_run, run_ended

#: Outcomes that end a run on purpose before a failed call is fed back.
_OTHER_ENDS = frozenset(
    {"limit", "guard", "gate", "unverified", "interrupted", "waiting", "refused", "overflow", "model_error"}
)


#: Words by which an answer says that a call went well.
_WENT_WELL = re.compile(
    r"\b(ran|done|ok|okay|success\w*|succeeded|completed?|executed|finished)\b|成功|完成", re.IGNORECASE
)


def act_2(view: View) -> Judged:
    """A tool that raised becomes a result that says so, and nothing beside it is lost."""
    calls = tool_calls(view)
    for made in calls.made:
        # Where a tool was tried again, the last try is the one the model reads of.
        last = made.ran[-1] if made.ran else None
        if last is not None and last.error is not None and made.whole and made.by.role != "summary":
            yield from _told_of_failure(made, last, calls, view)


def _told_of_failure(made: Made, failed: Execution, calls: Calls, view: View) -> Judged:
    words = str((failed.error or {}).get("message", ""))
    answer = _answer(made, failed.end_seq or failed.seq, "tool_exception", calls, view)
    if isinstance(answer, str):
        missing = carries(answer, words)
        if missing or not answer.strip():
            yield Finding(
                f"{failed.id}: {made} raised {words!r}, but its result does not say so: {as_text(answer)}",
                failed.end_seq or failed.seq,
                related=(made.seq,),
            )
        else:
            yield OK
        yield from _siblings_keep_theirs(made, failed, calls, view)
    elif answer is not None:
        yield answer


def _siblings_keep_theirs(made: Made, failed: Execution, calls: Calls, view: View) -> Judged:
    follows = next_main(made.run, failed.end_seq or failed.seq)
    if follows is None or view.dialect.tool_history == "text":
        return
    carried = calls.carried(follows, made.run.session)
    for one in calls.batch(made):
        done = [x for x in one.ran if x.error is None and x.end_seq is not None and x.end_seq < follows.seq]
        if done and (one.key not in carried or not carried[one.key].results):
            yield Finding(
                f"{follows.id}: {one} returned {as_text(done[-1].value)} beside {made}, which failed, and lost its result",
                follows.seq,
                related=(done[-1].seq, failed.seq),
            )


def _answer(made: Made, seq: int, key: str, calls: Calls, view: View) -> str | Finding | Literal[Right.OK] | None:
    """
    What the model was told of a call that failed or could not run, in the first request after a record.

    A judgement instead where the dialect lets it end the run, or where the run stopped without telling; None where nothing
    can be said, since the run was ended by something else.
    """
    follows = next_main(made.run, seq)
    declared = getattr(view.dialect, key)
    if declared != "observe":
        if follows is None:
            return OK
        return Finding(
            f"{follows.id}: the run went on after {made} failed, although {key} is {declared}, which ends it",
            follows.seq,
            related=(made.seq,),
            fits=(key, "observe"),
        )
    if follows is None:
        return None if _ended_otherwise(made, calls, view) else _stopped(made, key, view)
    return _told_in(follows, made, calls, view)


def _told_in(follows: Call, made: Made, calls: Calls, view: View) -> str | Finding | None:
    if view.dialect.tool_history == "text":
        return said_in(follows)
    carried = calls.carried(follows, made.run.session).get(made.key)
    if carried is None and _cut_off(made):
        # A reply that was cut may be asked for again as if it had not been said.
        return None
    if carried is None or not (carried.results or carried.late):
        lacks = "the request holds no such call" if carried is None else "it has no result"
        return Finding(
            f"{follows.id}: {made} was not answered: {lacks}, expected a result that says what was wrong",
            follows.seq,
            related=(made.seq,),
        )
    return carried.content


def _stopped(made: Made, key: str, view: View) -> Finding:
    claim = claimed(made.run, view)
    said = f" as {claim.kind}" if claim else ""
    return Finding(
        f"{made.run.id} ended{said} after {made} failed, and the model was not told; expected the failure as the call's result "
        f"and one more request ({key} is observe)",
        made.run.end_seq,
        related=(made.seq,),
        fits=(key, "raise" if made.run.raised else "error"),
    )


def _ended_otherwise(made: Made, calls: Calls, view: View) -> bool:
    """Whether the run ended before its next request for another reason than the failed call."""
    run, claim = made.run, claimed(made.run, view)
    spent = run.max_iters is not None and (made.by.round or 0) >= run.max_iters
    # A reply that was cut off may end the run by itself, whatever its calls came to.
    return (
        spent
        or _cut_off(made)
        or run_ended(made, calls, view)
        or (claim is not None and claim.kind in _OTHER_ENDS)
        or any(one.key != made.key and ends_the_run(one, calls, view) for one in calls.batch(made))
    )


def _cut_off(made: Made) -> bool:
    return made.by.reply is not None and made.by.reply.stop in ("length", "filter")


def cannot_run(
    flaw: str, because: Callable[[Made], str], helps: Callable[[Made, str, View], str | None]
) -> Callable[[View], Judged]:
    """The check of a call that must run nothing and be answered. `helps` says what a helpful answer lacks."""

    def check(view: View) -> Judged:
        calls = tool_calls(view)
        for made in calls.made:
            if made.flaw != flaw or not made.whole or made.by.role == "summary":
                continue
            ran = _ran_in_spite(made, calls, view)
            if ran is not None:
                did = "was called" if (ran.error or {}).get("rejected") else "ran"
                yield Finding(
                    f"{ran.id}: {made} {because(made)}, and {ran.tool} {did} with {as_text(ran.arguments)}",
                    ran.seq,
                    (made.seq,),
                )
                continue
            answer = _answer(made, made.by.end_seq, FEEDBACK[flaw], calls, view)
            if not isinstance(answer, str):
                if answer is not None:
                    yield answer
            elif not answer.strip():
                yield Finding(f"{made} {because(made)}, and its result is blank, expected what was wrong", made.seq)
            else:
                yield OK
                lacks = _glad(answer, view) or helps(made, answer, view)
                if lacks is not None:
                    yield Finding(
                        f"{made} {because(made)}; its result {lacks}: {as_text(answer)}", made.seq, level=SHOULD
                    )

    return check


def _ran_in_spite(made: Made, calls: Calls, view: View) -> Execution | None:
    """What ran for a call that must not: its own executions, or for an unknown name what nobody called with its arguments."""
    if made.flaw == "unknown":
        follows = next_main(made.run, made.by.end_seq)
        until = follows.seq if follows else made.run.end_seq
        mine = [x for x in calls.strays if made.seq < x.seq < until and equal(x.arguments, made.arguments)]
        # Asking for a name that no tool has runs nothing, whoever finds that out.
        return next((x for x in (*made.ran, *mine) if not (x.error or {}).get("rejected")), None)
    # Under `loop` not even the tool's own check may be reached.
    by_loop = made.flaw == "misfit" and view.dialect.type_check == "tool"
    return next(iter(made.ran if by_loop else made.executions), None)


def _glad(answer: str, view: View) -> str | None:
    """What is wrong with an answer that reads as a success. A history in words holds other results too."""
    if view.dialect.tool_history == "text" or FAILED.search(answer) or NOT_RUN.search(answer):
        return None
    return "reads as if it had run, expected words that say it did not" if _WENT_WELL.search(answer) else None


def _says(answer: str, name: str) -> bool:
    """Whether a name stands in an answer as a word of its own."""
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", answer) is not None


def names_the_tools(made: Made, answer: str, view: View) -> str | None:
    """What the answer to an unknown name lacks: that name and those that exist. Of arguments that cannot be read it may speak instead."""
    if not isinstance(made.arguments, Mapping):
        return None
    missing = [name for name in (made.call.name, *view.scenario.tools) if name and not _says(answer, name)]
    return (
        f"does not name {', '.join(map(repr, missing))}, expected the name that is unknown and those that exist"
        if missing
        else None
    )


def names_the_fields(made: Made, answer: str, _view: View) -> str | None:
    """What the answer to bad arguments lacks: the names of the arguments that are wrong."""
    missing = [name for name in wrong_fields(made) if not _says(answer, name)]
    return f"does not name the argument {', '.join(map(repr, missing))}" if missing else None
