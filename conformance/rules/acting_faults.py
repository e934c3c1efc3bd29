"""ACT-13: each call runs once, whatever fails around it. Counts executions, not requests."""

from collections.abc import Sequence

from conformance.reading.classes import asked
from conformance.reading.tool_calls import Calls, Made, as_text, equal, tool_calls
from conformance.reading.view import Call, Execution, View
from conformance.rule import MUST, OK, Finding, Judged, Rule
from conformance.rules.acting_cut import broke_off_in
from conformance.rules.acting_once import first_of_timeouts, kept_back, may_stay


def _act_13(view: View) -> Judged:
    calls = tool_calls(view)
    for made in calls.made:
        if made.by.role == "summary" or not made.whole or not _asks_for_one(made, view):
            continue
        twins = _broken_before(made, calls, view)
        faults = _faults(made, view)
        if twins or faults:
            yield from _once(made, twins, faults, calls, view)
        if (namesake := _namesake(made, calls)) is not None and view.dialect.bad_ids == "repair":
            yield from _new_call(made, namesake, calls, view)
    for stray in calls.strays:
        yield from _again(stray, calls, view)


def _asks_for_one(made: Made, view: View) -> bool:
    return made.flaw is None or (made.flaw == "extra" and view.dialect.extra_args != "refuse")


def _once(made: Made, twins: Sequence[Made], faults: Sequence[Call], calls: Calls, view: View) -> Judged:
    """Over a call and its first, broken telling it runs once."""
    same = [one for one in twins if equal(one.arguments, made.arguments)]
    # What ran for a broken telling may serve the whole one as well.
    every = {x.id: x for x in (*(x for one in same for x in one.ran), *first_of_timeouts(made, view))}
    ran = sorted(every.values(), key=lambda x: x.seq)
    if len(ran) > 1:
        between = [one.id for one in faults if ran[0].seq < one.end_seq < ran[-1].seq] or [one.by.id for one in same]
        # Run twice with no fault in between is ACT-1's.
        if between:
            yield Finding(
                f"{made} ran {len(ran)} times ({', '.join(x.id for x in ran)}), with the failure of {', '.join(between)} "
                "in between; expected once, whatever has to be asked for again",
                ran[1].seq,
                related=(made.seq, ran[0].seq),
            )
    elif ran:
        yield OK
    elif not may_stay(made, calls, view):
        failed = [one.by.id for one in twins] or [one.id for one in faults]
        yield Finding(
            f"{made} never ran, and {', '.join(failed)} failed; expected it to run once all the same",
            made.seq,
        )


def _broken_before(made: Made, calls: Calls, view: View) -> list[Made]:
    """The same call in replies that broke off and that this call's reply was asked for in place of."""
    whole = [one.by.seq for one in calls.made if one.run is made.run and one.whole and one.by.seq < made.by.seq]
    since = max(whole, default=0)
    return [
        one
        for one in calls.made
        if one.run is made.run
        and not one.whole
        and since < one.by.seq < made.by.seq
        and one.call.name == made.call.name
        and one.place == made.place
        and _reached(one, view)
        and _asked_anew(made, one, view)
    ]


def _reached(made: Made, view: View) -> bool:
    """Whether anything of a broken reply's call came to the agent, or ran for it."""
    return bool(made.executions) or broke_off_in(made, view)


def _asked_anew(made: Made, broken: Made, view: View) -> bool:
    """Whether a reply was asked for in place of a broken one, and not as what comes next: then the call is a further one."""
    if view.dialect.tool_history == "text":
        return bool(asked(made.by.body) == asked(broken.by.body))
    return len(made.by.paired.calls) <= len(broken.by.paired.calls)


def _faults(made: Made, view: View) -> list[Call]:
    """The requests of the session that failed after a call was said."""
    return [
        call
        for run in view.runs
        if run.session == made.run.session
        for call in run.calls
        if call.seq > made.by.end_seq and call.reply is not None and not call.reply.complete
    ]


def _namesake(made: Made, calls: Calls) -> Made | None:
    """A call of the session said before or beside this one that has its id and asks for something else."""
    return next(
        (
            one
            for one in calls.made
            if made.call.id
            and one.call.id == made.call.id
            and one.whole
            and one.run.session == made.run.session
            and (one.seq < made.seq or one.by.id == made.by.id)
            and not (one.call.name == made.call.name and equal(one.arguments, made.arguments))
        ),
        None,
    )


def _new_call(made: Made, namesake: Made, calls: Calls, view: View) -> Judged:
    if first_of_timeouts(made, view):
        yield OK
    elif not kept_back(made, calls, view):
        yield Finding(
            f"{made} has the id of {namesake}, which asked for something else, and never ran; expected a call of its own: "
            f"{as_text(made.arguments)}",
            made.seq,
            related=(namesake.seq,),
        )


def _again(stray: Execution, calls: Calls, view: View) -> Judged:
    """What runs in a run in which nobody called it, and ran for a call of an earlier one, after something failed."""
    session = next(run.session for run in view.runs if run.id == stray.run)
    for made in calls.made:
        before = [x for x in made.ran if x.run != stray.run and x.seq < stray.seq]
        same = made.call.name == stray.tool and equal(made.arguments, stray.arguments)
        if (
            before
            and same
            and made.run.session == session
            and (made.run.raised or made.run.cancelled or _faults(made, view))
        ):
            yield Finding(
                f"{stray.id}: {stray.tool} ran with {as_text(stray.arguments)} in {stray.run}, in which nobody called it, and "
                f"had run as {before[0].id} for {made}; expected what was done before a failure not to be done again",
                stray.seq,
                related=(before[0].seq,),
            )
            return


_ISSUES = "https://github.com"

ACT_13 = Rule(
    id="ACT-13",
    level=MUST,
    clause="A call runs exactly once, also where a reply breaks off, a request is sent again, a run is resumed or a hook fails. "
    "The same id with other arguments is a new call.",
    rationale="A booking that is made twice because a connection broke is paid twice.",
    evidence=(
        f"{_ISSUES}/openai/codex/issues/28641",
        f"{_ISSUES}/livekit/agents/issues/3702",
        f"{_ISSUES}/CopilotKit/CopilotKit/issues/2416",
        f"{_ISSUES}/huggingface/smolagents/pull/2768",
    ),
    channels="T",
    check=_act_13,
)
