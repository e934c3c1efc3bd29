"""REC-3: what an agent does when the model says that the prompt is too long."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from conformance.reading.outcome import claimed
from conformance.reading.view import Run, View
from conformance.rule import OK, Finding, Judged
from conformance.rules.recovery_counts import loop, within

#: Bytes of a request's messages that one token stands for: the estimator that scenarios call bytes/4.
BYTES_PER_TOKEN = 4
#: Body keys that say how a reply is delivered. Unlike in the classes of calls the model's name stays: another model may have
#: a larger window.
_DELIVERY = ("stream", "stream_options")


def rec_3(view: View) -> Judged:
    """What was too long is asked again in fewer bytes, as often as declared."""
    for run in view.runs:
        yield from _shrinks(run)
        if any(replied.overflow for _, replied in loop(run)):
            yield from within(run, view, on_empty=False, allowed=view.dialect.compactions, key="prompt_too_long")
            yield from _overflow_end(run, view)
        yield from _compactions_fit(run, view)


def _shrinks(run: Run) -> Judged:
    conversation = Counter(call.id for call in run.main)
    for call in run.calls:
        if not call.overflow or call.role == "auxiliary":
            continue
        later = [one for one in run.calls if one.seq > call.end_seq]
        same = next((one for one in later if _asks(one.body) == _asks(call.body)), None)
        follows = next((one for one in later if one.id in conversation), None)
        if same is not None:
            yield Finding(
                f"{same.id} sends the request of {call.id} again, which was too long ({call.request.size} bytes of messages), "
                "expected a smaller one or none",
                same.seq,
                related=(call.seq,),
            )
        elif (
            call.role == "compaction"
            or follows is None
            or follows.kind == "summary"
            or follows.request.model != call.request.model
        ):
            # Nothing smaller is owed: the request was for a compaction or another model, or nothing more was asked.
            yield OK
        elif follows.request.size >= call.request.size:
            yield Finding(
                f"{follows.id} has {follows.request.size} bytes of messages after {call.id} was too long with "
                f"{call.request.size}, expected fewer",
                follows.seq,
                related=(call.seq,),
            )
        else:
            yield OK


def _asks(body: Any) -> Any:
    return {key: value for key, value in body.items() if key not in _DELIVERY} if isinstance(body, Mapping) else body


def _overflow_end(run: Run, view: View) -> Judged:
    last, claim = loop(run)[-1][1], claimed(run, view)
    if not last.overflow or run.summary or claim is None or run.cancelled:
        return
    if claim.kind == "answered":
        yield Finding(
            f"{run.id} ended as answered, but its last request, {last.id}, was too long for the model, expected the outcome "
            "overflow",
            claim.seq,
            related=(last.seq,),
        )
    else:
        yield OK


def _compactions_fit(run: Run, view: View) -> Judged:
    window = view.scenario.model.context_window
    for call in run.calls:
        if window is None or call.kind != "compaction":
            continue
        tokens = -(-call.request.size // BYTES_PER_TOKEN)
        if tokens > window:
            yield Finding(
                f"{call.id}, a compaction, has {tokens} tokens ({call.request.size} bytes of messages) and the model's window "
                f"{window}, expected a request that fits it",
                call.seq,
            )
        else:
            yield OK
