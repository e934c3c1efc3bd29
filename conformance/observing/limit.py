"""What a recording shows of the keys about the round limit, where a run was ended by it. See `observers` for the table."""

from collections.abc import Iterator

from conformance.dialect import Dialect
from conformance.observing.sighting import Sighting, WayOut, name_out, over, way_out
from conformance.reading.classes import is_empty
from conformance.reading.containment import carries, scalars
from conformance.reading.outcome import answer, claimed, marker_kind, markers
from conformance.reading.round_limit import (
    closing,
    ended_there,
    executed,
    last_round,
    offers_tools,
    sound,
    words_after,
)
from conformance.reading.view import Call, Run, View, ends_between_steps

#: Under which any name that speaks of a limit is a marker's.
_UNNAMED = Dialect()


def limit_text(view: View) -> Iterator[Sighting]:
    """
    What the user read at the limit.

    A closing call is the model's text where it offers no tools, or where it stands in the place of a declared summary: a
    summary that offers tools is SUM-1's, and one round too many is LIM-1's.
    """
    declared = view.declared.limit_text
    for run in view.runs:
        if not ended_there(run, view):
            continue
        last, extra = last_round(run), closing(run)
        if extra is not None:
            if declared == "model" or (extra.request.callable_tools == () and _has_tools(run, view)):
                yield Sighting(
                    "model",
                    extra.seq,
                    f"{extra.id} asked the model for a text after round {run.max_iters} of run {run.id}",
                )
            continue
        if last is not None:
            yield from _fixed_text(run, view, declared, words_after(run, view, last.end_seq))


def _fixed_text(run: Run, view: View, declared: str, text: str | None) -> Iterator[Sighting]:
    made = f"run {run.id} made its {run.max_iters} rounds and asked the model for no closing text"
    if text is not None and text == _message(run):
        text = None
    if text is None:
        if declared in ("canned", "last_result") and way_out(run) in ("error", "raise"):
            yield Sighting(declared, run.end_seq, f"{made}, and its error can be read")
        elif {"E", "R"} & view.channels and (declared != "last_result" or _has_result(run)):
            yield Sighting("none", run.end_seq, f"{made} and shows none")
        return
    if any(text in (call.reply.text or "") for call in run.calls if call.reply is not None):
        return  # words the model said beside a call; whose text that is stays open
    kept = _carries_last_result(run, text)
    if declared == "last_result" and not _has_result(run):
        # There is none to show: a text of its own stands in for it.
        return
    if declared == "canned":
        value = "last_result" if kept and _is_last_result(run, text) else "canned"
    else:
        value = "last_result" if kept else "canned"
    yield Sighting(value, run.end_seq, f"{made} and shows {text[:80]!r}")


def _message(run: Run) -> str | None:
    if run.raised is not None:
        return run.raised.message.strip()
    message = run.terminal.data.get("message") if run.terminal is not None else None
    return message.strip() if isinstance(message, str) else None


def _has_result(run: Run) -> bool:
    """Whether any tool gave a result that a text could show."""
    return any(
        x.end_seq is not None and x.error is None and any(True for _ in scalars(x.value)) for x in run.executions
    )


def _carries_last_result(run: Run, text: str) -> bool:
    done = [x.value for x in run.executions if x.end_seq is not None and x.error is None]
    return bool(done) and any(True for _ in scalars(done[-1])) and not carries(text, done[-1])


def _is_last_result(run: Run, text: str) -> bool:
    done = [x.value for x in run.executions if x.end_seq is not None and x.error is None]
    return text == str(done[-1]).strip()


def _has_tools(run: Run, view: View) -> bool:
    return offers_tools(run) or (run.max_iters == 0 and bool(view.scenario.tools))


def limit_terminal(view: View) -> Iterator[Sighting]:
    """
    How the run ended at the limit.

    A plain finish without marker or flag hides the limit: that is LIM-5's or RUN-3's under `finished` and `flagged`.
    """
    declared = view.declared.limit_terminal
    for run in view.runs:
        if not ended_there(run, view) or not spoke(run, view):
            continue
        value = _terminal(run, view, declared)
        if value is not None:
            yield Sighting(value, run.end_seq, f"run {run.id} used up its {run.max_iters} rounds and {name_out(run)}")


def _terminal(run: Run, view: View, declared: str) -> str | None:
    out = way_out(run)
    if out in ("raise", "error"):
        return out
    claim = claimed(run, view)
    marked = bool(markers(run, view.dialect))
    flagged = not marked and claim is not None and claim.kind == "limit"
    if out == "returned":
        # Without events a result can be a normal finish, a flag or an error alike; only an exception it is not.
        return declared if declared != "raise" else "flagged" if flagged else None
    if out is None:
        return None
    if declared in ("finished", "flagged"):
        return declared
    return "flagged" if flagged else "finished"


def spoke(run: Run, view: View) -> bool:
    """Whether no closing text was asked for, or the model gave one: a closing call that came to nothing ends as `summary_failure` says."""
    extra = closing(run)
    return extra is None or closing_text(run, view) is not None


def closing_text(run: Run, view: View) -> str | None:
    """The text of the last closing call, None where it failed, was empty or asked for a tool."""
    extra = closing(run)
    later = [call for call in run.calls if extra is not None and call.seq >= extra.seq and call.role == extra.role]
    last = later[-1] if later else None
    if last is None or last.failed or last.said or is_empty(last, view.dialect) or last.reply is None:
        return None
    return (last.reply.text or "").strip() or None


def ending(run: Run, view: View) -> tuple[str, WayOut] | None:
    """The pair in which a run ended at its limit, coarsely: whose text there was, and the way out. None where that stays open."""
    if not ended_there(run, view) or not spoke(run, view):
        return None
    last, extra = last_round(run), closing(run)
    if extra is not None:
        return ("a text by the model", way_out(run)) if extra.request.callable_tools == () else None
    text = words_after(run, view, last.end_seq if last else run.seq)
    if text is not None and any(text in (call.reply.text or "") for call in run.calls if call.reply is not None):
        return None
    return ("no text" if text is None or text == _message(run) else "a text of its own"), way_out(run)


def limit_marker(view: View) -> Iterator[Sighting]:
    """The kind of the markers, where all are of one."""
    for run in view.runs:
        found = markers(run, view.dialect)
        kinds = {marker_kind(event) for event in found}
        if ended_there(run, view) and len(kinds) == 1:
            yield Sighting(kinds.pop(), found[0].seq, f"run {run.id} shows its limit as a {found[0].type} event")


def marker_name(view: View) -> Iterator[Sighting]:
    """
    Whether the marker is called as declared. A limit that no event shows is LIM-5's, and so is an event under any other name.

    What an event means that does not speak of a limit, only its declaration says.
    """
    declared = view.declared.marker_name
    for run in view.runs:
        if not ended_there(run, view) or way_out(run) != "finished":
            continue
        named, speaking = markers(run, view.declared), markers(run, _UNNAMED)
        if named:
            yield Sighting(declared, named[0].seq, f"run {run.id} shows its limit by its {named[0].type} event")
        elif speaking:
            yield Sighting(
                None,
                speaking[0].seq,
                f"run {run.id} shows its limit by a {speaking[0].type} event of another name, which speaks of a limit",
            )


def summary_tools(view: View) -> Iterator[Sighting]:
    """How the closing call keeps the model from calling; one that does not is SUM-1's."""
    for run in view.runs:
        for call in run.summary:
            if call.request.callable_tools or not _has_tools(run, view):
                continue
            offered = [tool.name for tool in call.request.tools or ()]
            saw = f"the summary request {call.id} " + (
                f"declares {offered!r} with choice none" if offered else "has no tools"
            )
            yield Sighting("choice_none" if offered else "none", call.seq, saw)


def summary_failure(view: View) -> Iterator[Sighting]:
    """How a run ends whose closing call came to nothing."""
    for run in view.runs:
        if not run.summary or not over(run) or closing_text(run, view) is not None:
            continue
        if any(call.refused is not None for call in run.calls if call.role == "summary"):
            # Refused for what the agent sent, which other rules name.
            continue
        if any(executed(run, call) for call in run.summary):
            continue  # a round too many, which only its place makes a closing call
        if view.declared.limit_terminal not in ("finished", "flagged"):
            continue
        out, saw = way_out(run), f"the summary of run {run.id} failed and the run {name_out(run)}"
        if out in ("error", "raise"):
            yield Sighting("error", run.end_seq, saw)
        elif out == "finished" and words_after(run, view, run.summary[0].seq):
            yield Sighting("fallback", run.end_seq, f"{saw} and a text")


def last_round_tools(view: View) -> Iterator[Sighting]:
    """Whether the calls of round N ran: all or none of them. Some of them is LIM-3's."""
    if "T" not in view.channels:
        return
    for run in view.runs:
        last = last_round(run)
        if last is None or not last.said or not ended_there(run, view) or not sound(last, view):
            continue
        if ends_between_steps(run, view.dialect):
            continue
        ran = len(executed(run, last))
        names = ", ".join(call.name for call in last.said)
        if ran >= len(last.said):
            yield Sighting("run", last.end_seq, f"the calls of the last round of run {run.id} ({names}) ran")
        elif ran == 0:
            yield Sighting("skip", last.end_seq, f"the calls of the last round of run {run.id} ({names}) did not run")


def retry_budget(view: View) -> Iterator[Sighting]:
    """Whether a run whose empty replies were retried came to its limit with or without those retries counted."""
    if view.declared.empty_response == "continue":
        return  # nothing is retried, and every empty reply spends its round
    for run in view.runs:
        claim = claimed(run, view)
        if run.max_iters is None or claim is None or not over(run):
            continue
        asked = [call for call in run.main if call.request.callable_tools and call.kind != "summary"]
        empties = [call for call in asked if is_empty(run.outcome_of(call), view.dialect)]
        spent, total = len([call for call in empties if call is not asked[-1]]), len(asked)
        if not spent:
            continue
        saw = f"run {run.id} offered tools {total} times, {spent} of them answered by an empty reply, with max_iters {run.max_iters}"
        if total > run.max_iters >= total - spent:
            yield Sighting("free", run.end_seq, saw)
        elif claim.kind == "limit" and total == run.max_iters and answer(asked[-1], view.dialect) is None:
            yield Sighting("counts", run.end_seq, f"{saw}, and ended at its limit")


def default_max_iters(view: View) -> Iterator[Sighting]:
    """After how many rounds a run without a limit of the caller's says that its limit was reached."""
    for run in view.runs:
        claim = claimed(run, view)
        if run.limited or claim is None or claim.kind != "limit" or not over(run):
            continue
        marked = markers(run, view.dialect)
        until = marked[0].seq if marked else run.end_seq
        asked: list[Call] = [c for c in run.main if c.kind != "retry" and c.request.callable_tools and c.seq < until]
        if asked:
            yield Sighting(
                len(asked),
                run.end_seq,
                f"run {run.id}, with no limit set, ended at its limit after {len(asked)} rounds",
            )
