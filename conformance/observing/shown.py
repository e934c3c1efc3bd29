"""What a recording shows of the keys about what the caller sees: events, usage, text, exceptions. See `observers`."""

from collections.abc import Iterator

from conformance.observing.sighting import Sighting
from conformance.reading.classes import is_empty
from conformance.reading.outcome import actual, answer, continued, last_reply, words
from conformance.reading.usage_reports import call_reports, reported, totals
from conformance.reading.view import Call, View

#: Causes that an exception can stand for and that the model calls prove.
_PROVEN = frozenset({"limit", "model_error", "overflow", "empty", "truncated", "filtered"})


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


def exceptions(view: View) -> Iterator[Sighting]:
    """What a declared exception meant, where the model calls prove its cause."""
    declared = view.declared.exceptions
    for run in view.runs:
        if run.raised is None or declared.get(run.raised.exception) not in _PROVEN:
            continue
        kind, name = actual(run, view), run.raised.exception
        if kind in _PROVEN:
            saw = f"run {run.id} raised {name} and its model calls show {kind}"
            yield Sighting(dict(declared) | {name: kind}, run.raised.seq, saw)
