"""RUN-4: whether RUN_ERROR stands for a failure that escaped the loop. One check, no rule of its own."""

from collections.abc import Sequence

from conformance.reading.classes import is_empty
from conformance.reading.guarding import figure
from conformance.reading.outcome import actual, claimed, last_call
from conformance.reading.told import may_keep_back
from conformance.reading.tool_calls import Made
from conformance.reading.tool_calls import tool_calls as calls_made
from conformance.reading.view import Run, View
from conformance.rule import OK, Finding, Judged

#: Endings that only the agent knows of; RUN_ERROR and RUN_FINISHED are both open to them.
_OWN_ENDINGS = frozenset({"gate", "unverified", "waiting", "refused", "interrupted"})
#: The dialect key that decides on a call, by what is wrong with it.
_DECIDES = {
    "unknown": "unknown_tool",
    "malformed": "bad_arguments",
    "misfit": "bad_arguments",
    "extra": "bad_arguments",
}


def errors_mean_failures(view: View) -> Judged:
    """Judge every run that ended by itself and had something to fail on; one whose failure cannot be seen is left alone."""
    everything = calls_made(view).made
    for run in view.runs:
        if run.terminal is None or run.cancelled or run.how not in ("returned", "raised"):
            continue
        made = [one for one in everything if one.run.id == run.id]
        if run.terminal.type == "RUN_FINISHED":
            if _had_trouble(run, view, made):
                yield OK
        elif _escaped(run, view, made):
            yield OK
        elif (innocent := _innocent(run, view, made)) is not None:
            what = f" ({run.raised.exception} was raised)" if run.raised else ""
            yield Finding(
                f"run {run.id} ends with RUN_ERROR{what}, but {innocent}; RUN_FINISHED was expected", run.terminal.seq
            )


def _had_trouble(run: Run, view: View, made: Sequence[Made]) -> bool:
    return (
        actual(run, view) != "answered"
        or any(call.failed or is_empty(call, view.dialect) for call in run.calls)
        or any(_key(one) is not None for one in made)
    )


def _key(made: Made) -> str | None:
    """The dialect key that says what a call that went wrong does to the run; None for one that went well."""
    errors = [ran.error for ran in made.executions if ran.error is not None]
    if any(error.get("rejected") for error in errors):
        return "bad_arguments"
    return "tool_exception" if errors else _DECIDES.get(made.flaw or "")


def _escaped(run: Run, view: View, made: Sequence[Made]) -> bool:
    """Whether something went wrong that the dialect lets end the run."""
    read, last, claim = view.dialect, last_call(run), claimed(run, view)
    kind = claim.kind if claim is not None else None
    return (
        last is None
        or ((last.failed or last.overflow) and not run.summary)
        or any(getattr(read, key) != "observe" for one in made if (key := _key(one)) is not None)
        or (read.bad_ids == "refuse" and any(not one.sound for one in made))
        or kind in _OWN_ENDINGS
        or (kind == "guard" and (read.on_guard == "stop" or _may_stop(run, view)))
        or (read.summary_failure == "error" and _summary_failed(run, view))
        or (read.listener_errors == "propagate" and may_keep_back(run, view.scenario.tools, view))
        or _ends_in_error(actual(run, view), view)
        or (kind == "limit" and _cut_at_the_limit(run, view))
        or (read.length_stop == "error" and last.reply is not None and last.reply.stop == "length")
    )


def _may_stop(run: Run, view: View) -> bool:
    """Whether something else than a cap on calls may have ended the run as a guard does: its token budget, or a hook's wish."""
    return may_keep_back(run, view.scenario.tools, view) or figure("token_budget", run, view) is not None


def _summary_failed(run: Run, view: View) -> bool:
    summary = run.outcome_of(run.summary[-1]) if run.summary else None
    return summary is not None and (summary.failed or is_empty(summary, view.dialect) or bool(summary.said))


def _cut_at_the_limit(run: Run, view: View) -> bool:
    """Whether the last round was used up by a reply cut in its calls, which are the model's to ask for again."""
    spent = run.max_iters is not None and run.rounds >= run.max_iters
    last, read = last_call(run), view.dialect
    cut = actual(run, view) == "truncated" and last is not None and bool(last.said)
    return spent and cut and read.limit_terminal in ("error", "raise")


def _ends_in_error(really: str | None, view: View) -> bool:
    read = view.dialect
    at_limit = read.limit_terminal in ("error", "raise")
    return {
        "limit": at_limit,
        "empty": at_limit if read.empty_response == "continue" else read.empty_response != "finish",
        "truncated": read.length_stop != "flag",
        "filtered": True,
    }.get(really or "", False)


def _innocent(run: Run, view: View, made: Sequence[Made]) -> str | None:
    """What the run came to, where that is no failure of the loop; None where it cannot be seen."""
    read, last, really = view.dialect, last_call(run), actual(run, view)
    at = last.id if last is not None else "none"
    fed_back = [one for one in made if last is not None and one.by.id == last.id and _key(one) is not None]
    told = {
        "answered": f"the model answered in {at}",
        "limit": f"the round limit of {run.max_iters} ends as limit_terminal {read.limit_terminal!r}",
        "empty": f"an empty reply ({at}) ends as empty_response {read.empty_response!r}",
        "truncated": f"a reply cut by length ({at}) is flagged under length_stop 'flag'",
    }
    if really is None and fed_back:
        key = _key(fed_back[0])
        return f"{fed_back[0]} only had to be fed back to the model ({key}: observe)"
    return told.get(really or "")
