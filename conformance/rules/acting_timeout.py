"""ACT-9: a tool that does not come back is left, and the model is told. A tool that answered is not taken for one."""

import re
from collections.abc import Mapping

from conformance.reading.containment import carries
from conformance.reading.tool_calls import FAILED, NOT_RUN, Calls, Made, as_text, next_main, tool_calls
from conformance.reading.view import Execution, Run, View
from conformance.rule import MUST, OK, Finding, Judged, Rule
from conformance.rules.acting_once import kept_back

_TIMED_OUT = re.compile(r"time[ds]?[ -]?out|not done within|took too long|超时", re.IGNORECASE)


def never_came_back(execution: Execution) -> bool:
    """Whether its tool hung: what ends it later is the kit, when the session is over."""
    return execution.end_seq is None or (execution.error or {}).get("type") == "Interrupted"


def within_s(run: Run, view: View) -> float | None:
    """Seconds that a tool may take: the caller's, else the declared ones; None where neither is a number."""
    asked = run.spec.limits.tool_timeout_s if run.spec is not None else None
    found = _declared(view).get("seconds") if asked is None else asked
    return float(found) if isinstance(found, int | float) and not isinstance(found, bool) else None


def _declared(view: View) -> Mapping[str, object]:
    declared = view.capabilities.get("tool_timeout")
    return declared if isinstance(declared, Mapping) else {}


def _act_9(view: View) -> Judged:
    calls = tool_calls(view)
    for made in calls.made:
        run, limit_s = made.run, within_s(made.run, view)
        if limit_s is None or not made.ran or run.cancelled:
            continue
        if any(never_came_back(one) for one in made.ran):
            # Beyond the deadline the kit ends a run before the agent has to.
            if limit_s < view.scenario.deadline_s:
                yield from _was_left(made, limit_s, calls, view)
        elif run.spec is not None and run.spec.limits.tool_timeout_s is not None:
            yield from _in_time(made, calls)


def _was_left(made: Made, limit_s: float, calls: Calls, view: View) -> Judged:
    retries, hung = _declared(view).get("retries"), [one for one in made.ran if never_came_back(one)]
    if isinstance(retries, int) and not isinstance(retries, bool):
        if len(made.ran) > 1 + retries:
            yield Finding(
                f"{made} ran {len(made.ran)} times ({', '.join(one.id for one in made.ran)}) since it did not come back; the declared "
                f"number of retries is {retries}",
                made.ran[1 + retries].seq,
                related=(made.seq,),
            )
        else:
            yield OK
    if made.run.how in ("hung", "died"):
        yield Finding(
            f"{hung[-1].id}: {made} did not come back within {limit_s:g} s, and {made.run.id} {made.run.how}; expected a result that "
            "says so",
            hung[-1].seq,
        )
        return
    follows = next_main(made.run, hung[-1].seq)
    if follows is None:
        if made.run.how in ("returned", "raised") and not _may_end(made, calls, view):
            yield Finding(
                f"{hung[-1].id}: {made} did not come back within {limit_s:g} s, and {made.run.id} ended without another request; "
                "expected a result that says so",
                made.run.end_seq,
                related=(hung[-1].seq,),
            )
        return
    if made.ran[-1] not in hung:
        return  # a retry came back, and its result is HIS-10's
    there = calls.carried(follows, made.run.session).get(made.key)
    if view.dialect.tool_history != "messages" or there is None or not (there.results or there.late):
        return  # that it has no result at all is HIS-1's
    if FAILED.search(there.content) or NOT_RUN.search(there.content):
        yield OK
    else:
        yield Finding(
            f"{follows.id} carries {as_text(there.content)} for {made}, which did not come back within {limit_s:g} s; expected a result "
            "that says so",
            follows.seq,
            related=(hung[-1].seq,),
        )


def _may_end(made: Made, calls: Calls, view: View) -> bool:
    """Whether a run may end behind a tool that failed: by its dialect, at its limit or at a guard."""
    run = made.run
    spent = run.max_iters is not None and run.rounds >= run.max_iters
    return (
        spent
        or view.dialect.tool_exception != "observe"
        or any(kept_back(one, calls, view) for one in calls.batch(made))
    )


def _in_time(made: Made, calls: Calls) -> Judged:
    """A tool that answered, in a run whose tools are given little time."""
    done = made.ran[-1]
    follows = next_main(made.run, done.end_seq or done.seq)
    there = calls.carried(follows, made.run.session).get(made.key) if follows is not None else None
    if follows is None or there is None or done.error is not None or not (there.results or there.late):
        return
    if not _TIMED_OUT.search(as_text(done.value)) and carries(there.content, done.value):
        if _TIMED_OUT.search(there.content):
            yield Finding(
                f"{follows.id} carries {as_text(there.content)} for {made}, which had come back in {done.id} with "
                f"{as_text(done.value)}; expected what it returned",
                follows.seq,
                related=(done.seq,),
            )
        return
    yield OK


_ISSUES = "https://github.com"

ACT_9 = Rule(
    id="ACT-9",
    level=MUST,
    clause="A tool that outlives its timeout becomes a result that says so, after no more retries than declared; one that came "
    "back in time keeps its result.",
    rationale="One tool that hangs must not hold a run for ever, and must not be started over and over either.",
    evidence=(
        f"{_ISSUES}/langchain-ai/langgraph/issues/6486",
        f"{_ISSUES}/CopilotKit/CopilotKit/issues/2416",
    ),
    channels="T,M",
    applies=lambda view: None if view.has("tool_timeout") else "capability",
    check=_act_9,
)
