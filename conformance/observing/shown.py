"""What a recording shows of the keys about what the caller sees: events, usage, text, exceptions. See `observers`."""

from collections.abc import Iterator

from conformance.observing.sighting import Sighting
from conformance.reading.classes import SIDE_CALLS, is_empty
from conformance.reading.outcome import actual, answer, claimed, continued, last_reply, words
from conformance.reading.outcome import final_text as final_text_of
from conformance.reading.round_limit import arguments_of, ended_there, executed
from conformance.reading.usage_reports import call_reports, reported, totals
from conformance.reading.view import Call, Run, View

#: Causes that an exception can stand for and that a recording proves.
_PROVEN = frozenset({"limit", "model_error", "overflow", "empty", "truncated", "filtered", "tool_error"})


def reasoning_events(view: View) -> Iterator[Sighting]:
    """Whether thinking beside an answer or a call is shown. Thinking shown as text is EVT-6's."""
    if "E" not in view.channels:
        return
    for run in view.runs:
        thought = [call for call in map(run.outcome_of, run.main) if _thinks(call) and not is_empty(call, view.dialect)]
        shown = next((event for event in run.events if event.type.startswith(("REASONING_", "THINKING_"))), None)
        if shown is not None:
            yield Sighting("on", shown.seq, f"run {run.id} has a {shown.type} event")
        elif thought and run.events:
            yield Sighting(
                "off",
                thought[0].end_seq,
                f"the model thought in {thought[0].id} and no reasoning event of run {run.id} shows it",
            )


def _thinks(call: Call) -> bool:
    return call.reply is not None and call.reply.complete and bool((call.reply.thinking or "").strip())


def usage_events(view: View) -> Iterator[Sighting]:
    """Whether usage is reported per call, per run or not at all, where the model reported some."""
    if "U" not in view.channels:
        return
    for run in view.runs:
        told = [call for call in run.main if reported(call)]
        if not told or run.raised is not None or run.terminal is None:
            continue
        each, whole = call_reports(run), totals(run)
        saw = f"the model reported usage in {', '.join(call.id for call in told)}, and run {run.id} has {len(each)} reports per call and {'a' if whole else 'no'} total"
        if each or whole:
            both = bool(each) and whole is not None and view.declared.usage_events != "none"
            value = view.declared.usage_events if both else "per_call" if each else "per_run"
        else:
            value = "none"
        yield Sighting(value, told[-1].end_seq, saw)


def final_text(view: View) -> Iterator[Sighting]:
    """Whether an answered run's text is the last reply's or all that was said, where the two differ."""
    for run in view.runs:
        last = last_reply(run)
        whole = answer(last, view.dialect) if last is not None else None
        if last is None or whole is None or run.said is None or run.said.text is None or run.summary:
            continue
        told = "".join(text for call in run.main for text in words(run.outcome_of(call), view.dialect))
        given, everything, final = (_packed(text) for text in (run.said.text, told, whole))
        joined = continued(run, last, whole)
        # An answer put together from its cut pieces is one reply to whoever continues.
        if joined is not None and given == _packed(joined):
            continue
        if everything != final and given in (everything, final):
            value = "all_text" if given == everything else "last_reply"
            yield Sighting(
                value,
                run.said.seq,
                f"the text of run {run.id} is {'all the model said' if value == 'all_text' else 'its last reply'}",
            )


def _packed(text: str) -> str:
    return "".join(text.split())


def answer_by(view: View) -> Iterator[Sighting]:
    """Whether an answer was the text of a reply, or an argument of a call of a tool that is the agent's own and runs nothing."""
    own = {
        tool.name
        for run in view.runs
        for call in run.main
        for tool in call.request.tools or ()
        if tool.name not in view.scenario.tools
    }
    for run in view.runs:
        last, claim, text = last_reply(run), claimed(run, view), (final_text_of(run, view) or "").strip()
        if last is None or last.reply is None or claim is None or claim.kind != "answered" or not text:
            continue
        saw = f"run {run.id} was answered by "
        if len(last.reply.calls) == 1 and last.reply.calls[0].name in own and not executed(run, last):
            one = last.reply.calls[0]
            names = [name for name, value in (arguments_of(one) or {}).items() if value == text]
            if len(names) == 1:
                value = f"tool:{one.name}.{names[0]}"
                yield Sighting(value, last.reply.seq, f"{saw}{last.id}, a call of {one.name}")
        elif view.declared.answer_by != "text" and not own and not last.reply.calls and last.reply.text:
            yield Sighting("text", last.reply.seq, f"{saw}the text of {last.id}, and no request offers an answer tool")


def exceptions(view: View) -> Iterator[Sighting]:
    """What a declared exception meant, where the recording proves its cause."""
    declared = view.declared.exceptions
    for name, seen in causes(view):
        if declared.get(name) in _PROVEN:
            yield Sighting(dict(declared) | {name: seen.value}, seen.seq, seen.saw)


def causes(view: View) -> Iterator[tuple[str, Sighting]]:
    """Each exception that came out of the agent and whose cause is proven, by its class: the kind of outcome that it means."""
    for run in view.runs:
        if run.raised is None:
            continue
        kind = _cause(run, view)
        if kind is not None:
            saw = f"run {run.id} raised {run.raised.exception} and "
            saw += "its tool had just raised that" if kind == "tool_error" else f"its model calls show {kind}"
            yield run.raised.exception, Sighting(kind, run.raised.seq, saw)


def _cause(run: Run, view: View) -> str | None:
    """A tool that raised after the last reply is the cause where the exception tells its message, and else may be."""
    last = run.executions[-1] if run.executions else None
    if last is not None and last.error is not None and last.seq > max((call.end_seq for call in run.calls), default=0):
        told = run.raised.message if run.raised is not None else ""
        message = str(last.error.get("message") or "")
        return "tool_error" if message and message in told and not last.error.get("rejected") else None
    kind = actual(run, view)
    asked = sum(call.role not in SIDE_CALLS for call in run.calls)
    if kind != "limit" and run.max_iters is not None and asked >= run.max_iters:
        return None  # as many requests as there are rounds: where each spends one, the limit is as much the cause
    # A call of the last round that is not sound may be what ended the run as well.
    return kind if kind in _PROVEN and (kind != "limit" or ended_there(run, view)) else None
