"""STR-3: the calls of a streamed reply come out as they were spelled. Judges streams that only index and id tell apart."""

from collections.abc import Iterator, Sequence

from conformance.reading.round_limit import executed, last_round
from conformance.reading.tool_calls import Made, as_text, equal, tool_calls
from conformance.reading.view import Call, Execution, Run, View, may_skip_its_last
from conformance.rule import OK, Finding, Judged

#: Ways to stream calls for which a reader needs the clause: how the deltas come, and what joins them.
JOINED = {
    "ids_repeated": "every delta repeats its call's id, which goes on with the call",
    "ids_empty": "every further delta has an empty id, which goes on with the call",
    "calls_interleaved": "the deltas of several calls come by turns, and belong by their index",
    "index_zero": "all calls are on one index, and a new id opens a new call",
}


def each_call_came_out(view: View) -> Judged:
    """STR-3."""
    for run in view.runs:
        for call in run.calls if run.stream else ():
            quirk = next((name for name in _quirks(call) if name in JOINED), None)
            if quirk is None or not call.said or run.cancelled or _left_out(run, call, view):
                continue
            said = [one for one in tool_calls(view).made if one.by.id == call.id]
            ran = list(_ran_for(run, call))
            # Calls that are not to run say nothing about how they were joined.
            if any(one.flaw is not None for one in said):
                continue
            wrong = _unlike(said, ran) or _torn(run, call, view)
            if wrong is None:
                yield OK
            else:
                yield Finding(f"{wrong}; of {call.id} {JOINED[quirk]}", call.reply.seq if call.reply else call.seq)


def _quirks(call: Call) -> Sequence[str]:
    return (call.reply.fault or {}).get("quirks", ()) if call.reply is not None else ()


def _left_out(run: Run, call: Call, view: View) -> bool:
    """Whether the calls are those of the last allowed round, which the dialect lets an agent skip."""
    last = last_round(run)
    skips = may_skip_its_last(run, view.dialect) and last is not None and last.id == call.id
    return skips and not executed(run, call)


def _ran_for(run: Run, call: Call) -> Iterator[Execution]:
    """What ran between the reply and the loop's next request."""
    following = next((one.seq for one in run.main if one.seq > call.end_seq), None)
    return (x for x in run.executions if x.seq > call.seq and (following is None or x.seq < following))


def _torn(run: Run, call: Call, view: View) -> str | None:
    """
    More calls in the next request than the model made; None where there are no more.

    The first piece of a call that was torn often lacks the arguments that it needs, so that nothing runs for it.
    """
    following = next((one for one in run.main if one.seq > call.end_seq), None)
    if following is None or view.dialect.tool_history != "messages":
        return None
    more = len(following.paired.calls) - len(call.paired.calls)
    made = len(call.said)
    return f"{following.id} carries {more} calls of {call.id}, and the model made {made}" if more > made else None


def _unlike(said: Sequence[Made], ran: Sequence[Execution]) -> str | None:
    """The first thing that ran and was not said, or was said and did not run; None where they are the same calls."""
    left = list(said)
    for one in ran:
        mine = next((m for m in left if m.call.name == one.tool and equal(m.arguments, one.arguments)), None)
        if mine is None:
            spelled = ", ".join(f"{m.call.name} {as_text(m.arguments)}" for m in said)
            return f"{one.id} runs {one.tool} {as_text(one.arguments)}, but the model spelled {spelled}"
        left.remove(mine)
    return f"{left[0]} with {as_text(left[0].arguments)} did not run" if left else None
