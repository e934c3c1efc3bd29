"""What follows a reply that is neither an answer nor calls to run: another try, within bounds, or the end."""

from collections.abc import Callable, Mapping
from typing import Any

from conformance.dialect import Dialect
from conformance.reference import events
from conformance.reference.acting import not_run
from conformance.reference.asking import NOTHING, ask, compaction_body
from conformance.reference.ending import CANCELLED, by_failure
from conformance.reference.failing import Failure
from conformance.reference.hearing import Said
from conformance.reference.history import is_digest, turns
from conformance.reference.run import Again, Ending, Run, Terminal
from conformance.reference.steps import Steps

#: Reasons to stop that make a reply neither an answer nor a call, by the finish reason of the wire.
CUT = {"length": "length", "content_filter": "filter"}
#: How often a reply cut by length is continued in one run.
CONTINUATIONS = 3
NUDGE = "Your last reply was empty. Answer the user or call a tool."
CONTINUE = "Your last reply was cut off. Go on from where it stopped."


def trouble(heard: Said | Failure, dialect: Dialect) -> str | None:
    """Why a reply is neither an answer nor calls to run, as a key of `RECOVERIES`; None if it is one of them."""
    if isinstance(heard, Failure):
        return (
            "given_up" if by_failure(heard) is not None else "overflow" if heard.kind == "overflow" else "model_error"
        )
    if heard.stop in CUT:
        said = heard.text.strip() or heard.calls
        return CUT[heard.stop] if said or heard.stop != "length" else "overflow"
    return "empty" if heard.empty in dialect.empty_is else None


def compact(run: Run) -> Steps[bool]:
    """Replace the older turns of the history by their digest; False, and nothing done, where there are fewer than two."""
    head, found = turns(run.session.messages)
    if len(found) < 2:
        return False
    older = [*filter(is_digest, head), *(message for turn in found[:-1] for message in turn)]
    size = len(repr(run.session.messages))
    digest = yield from ask(
        run, compaction_body(run, older, size), headers={"X-Conformance-Call": "compaction"}, shown=NOTHING
    )
    run.session.replaced += [one for one in older if not is_digest(one)]
    run.session.messages[:] = run.parts.compacted(run.session.messages, run.parts.summary_text(digest))
    return True


def _from_empty(run: Run, _heard: Said) -> Steps[Ending | Again]:
    yield from ()  # asks for nothing
    way, nudge = run.dialect.empty_response, ({"role": "user", "content": NUDGE},)
    if way == "continue":
        return Again(nudge, new_round=True)
    if run.tried("empty") < run.dialect.empty_retries:
        return Again(nudge, new_round=run.dialect.retry_budget == "counts")
    if way == "finish":
        # Nothing is made up: the run ends as if the silence had been the answer, which is what this dialect declares.
        return Ending("answered", "finished")
    return Ending("empty", "error", f"the model's reply was empty, after {run.dialect.empty_retries} retries")


def _from_overflow(run: Run, heard: Said | Failure) -> Steps[Ending | Again]:
    cause = heard.cause if isinstance(heard, Failure) else "the model stopped for length and said nothing"
    if run.tried("overflow") >= run.dialect.compactions:
        return Ending("overflow", "error", f"the prompt is too long for the model: {cause}")
    if not (yield from compact(run)):
        return Ending("overflow", "error", f"the prompt is too long for the model and too short to compact: {cause}")
    return Again((), new_round=False)


def _from_length(run: Run, heard: Said) -> Steps[Ending | Again]:
    return _cut(run, heard, "truncated", "the model's reply was cut by its length limit")


def _from_filter(run: Run, heard: Said) -> Steps[Ending | Again]:
    return _cut(run, heard, "filtered", "the model's reply was cut by a content filter")


def _cut(run: Run, heard: Said, kind: str, reason: str) -> Steps[Ending | Again]:
    """A reply that is not whole: nothing of it runs, and what was said of it stays."""
    refused = not_run("the reply that held this call was cut, so it was never run").text
    for call in heard.calls:
        yield events.call_result(run.message_id(), call.id, refused)
    if heard.calls or heard.text.strip():
        run.session.messages += run.parts.round_messages(heard, [refused for _ in heard.calls])
    way = run.dialect.length_stop
    if way == "continue" and kind == "truncated" and run.tried("length") < CONTINUATIONS:
        run.texts.append(heard.text)
        return Again(({"role": "user", "content": CONTINUE},), new_round=False)
    return Ending(kind, "flagged" if way == "flag" else "error", reason, heard.text or None)


def _from_model_error(run: Run, heard: Failure) -> Steps[Ending | Again]:
    yield from ()  # asks for nothing
    terminal: Terminal = "raise" if run.dialect.model_error == "raise" else "error"
    return Ending("model_error", terminal, heard.cause)


def _from_given_up(_run: Run, heard: Failure) -> Steps[Ending | Again]:
    yield from ()  # asks for nothing
    return by_failure(heard) or CANCELLED


RECOVERIES: Mapping[str, Callable[[Run, Any], Steps[Ending | Again]]] = {
    "empty": _from_empty,
    "overflow": _from_overflow,
    "length": _from_length,
    "filter": _from_filter,
    "model_error": _from_model_error,
    "given_up": _from_given_up,
}
