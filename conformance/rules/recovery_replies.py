"""REC-7 and REC-12: half a reply, or what is none, is not taken for a whole one."""

from conformance.reading.failures import broke, no_reply
from conformance.reading.outcome import claimed
from conformance.reading.view import Call, Execution, Run, View
from conformance.rule import OK, SHOULD, Finding, Judged, Level

_HOW = {
    "connection": "the connection broke before the reply to {id} was whole",
    "call": "the stream of the reply to {id} ended while a call was being spelled",
    "text": "the stream of the reply to {id} ended without a finish reason",
    "error": "the stream of the reply to {id} told of an error in place of its rest",
}


def rec_7(view: View) -> Judged:
    """A broken reply is neither acted on nor taken for an answer."""
    for run in view.runs:
        for call in run.calls:
            how = broke(call, view)
            if how is None or call.role in ("auxiliary", "compaction", "summary"):
                continue
            # A clean end in the middle of a text looks like a whole reply to whoever does not ask for the finish reason.
            level = SHOULD if how == "text" else None
            yield from _taken_for_whole(run, call, view, _HOW[how].format(id=call.id), level)


def rec_12(view: View) -> Judged:
    """A 200 without a reply in it is neither acted on nor taken for an answer."""
    for run in view.runs:
        for call in run.calls:
            if no_reply(call) and call.role not in ("auxiliary", "compaction", "summary"):
                yield from _taken_for_whole(run, call, view, f"{call.id} got a 200 with a body that is no reply", None)


def _taken_for_whole(run: Run, call: Call, view: View, what: str, level: Level | None) -> Judged:
    ran = _acted_on(run, call)
    claim, follows = claimed(run, view), _next(run, call)
    if ran is not None:
        yield Finding(
            f"{what}, and {ran.id} ({ran.tool}) ran after it; expected nothing of it to run",
            ran.seq,
            related=(call.seq,),
            level=level,
        )
    elif follows is not None:
        yield OK
    elif run.cancelled or claim is None:
        return
    elif claim.kind == "answered":
        yield Finding(
            f"{what}, and {run.id} ended as answered; expected another request or a failure",
            claim.seq,
            related=(call.seq,),
            level=level,
        )
    else:
        yield OK


def _next(run: Run, call: Call) -> Call | None:
    # From the reply on and not from its end: who gives up a stream and leaves it open ends it when nobody looks any more.
    since = call.end_seq if call.reply is None else call.reply.seq
    return next((one for one in run.calls if one.seq > since and one.role != "auxiliary"), None)


def _acted_on(run: Run, call: Call) -> Execution | None:
    """What ran between the end of a reply and the next request. Before that end an agent may have run what was whole by then."""
    follows = _next(run, call)
    until = follows.seq if follows is not None else run.end_seq
    return next((one for one in run.executions if call.end_seq < one.seq < until), None)
