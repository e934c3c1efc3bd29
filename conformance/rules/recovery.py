"""REC: what an agent does when the model answers nothing, or says that the prompt is too long."""

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from conformance.reading.classes import is_empty
from conformance.reading.outcome import claimed, final_text
from conformance.reading.tool_calls import as_text, next_main, tool_calls
from conformance.reading.view import Call, Run, View
from conformance.rule import MUST, OK, SHOULD, Finding, Judged, Rule

#: Bytes of a request's messages that one token stands for: the estimator that scenarios call bytes/4.
BYTES_PER_TOKEN = 4
#: Body keys that say how a reply is delivered. Unlike in the classes of calls the model's name stays: another model may have
#: a larger window.
_DELIVERY = ("stream", "stream_options")


def _loop(run: Run) -> list[tuple[Call, Call]]:
    """The calls of the loop, each with the attempt whose reply counts; summaries are SUM-4's."""
    return [(call, run.outcome_of(call)) for call in run.main if call.kind != "summary"]


def _spent(run: Run, view: View, *, on_empty: bool) -> Iterator[tuple[Call, Call, int]]:
    """Each repetition after an empty reply (or an overflow): what failed, the next call, and how many its scope has had."""
    count = 0
    for (_, before), (call, _) in pairwise(_loop(run)):
        if call.kind == "regular" and view.dialect.recovery_scope == "round":
            count = 0
        if is_empty(before, view.dialect) if on_empty else before.overflow:
            count += 1
            yield before, call, count


def _rec_1(view: View) -> Judged:
    for run in view.runs:
        empties = [replied for _, replied in _loop(run) if is_empty(replied, view.dialect)]
        if empties and view.dialect.empty_response != "continue":
            yield from _within(run, view, on_empty=True, allowed=view.dialect.empty_retries, key="empty_response")
        if empties:
            yield from _empty_end(run, view)
        yield from _not_empty(run, view)


def _within(run: Run, view: View, *, on_empty: bool, allowed: int, key: str) -> Judged:
    what = "an empty reply" if on_empty else "an overflow"
    for before, call, count in _spent(run, view, on_empty=on_empty):
        if count <= allowed:
            yield OK
        else:
            scope = "its round" if view.dialect.recovery_scope == "round" else run.id
            yield Finding(
                f"{call.id} is repetition {count} after {what} in {scope} ({before.id}), expected at most {allowed} under "
                f"{key} {getattr(view.dialect, key)!r}",
                call.seq,
                related=(before.seq,),
            )


def _empty_end(run: Run, view: View) -> Judged:
    loop, claim = _loop(run), claimed(run, view)
    last = loop[-1][1]
    if not is_empty(last, view.dialect) or run.summary or claim is None or run.cancelled:
        return
    if view.dialect.empty_response == "finish":
        invented = next((text for text in _shown(run, view) if not _of_the_model(text, run)), None)
        if invented is not None:
            yield Finding(
                f"{run.id} ended on the empty reply of {last.id} and shows {as_text(invented)}, which the model never said, "
                "expected no text",
                claim.seq,
                related=(last.seq,),
            )
        else:
            yield OK
        yield Finding(
            f"{run.id} ended as {claim.kind} on the empty reply of {last.id}: empty_response 'finish' leaves the "
            "user without an answer and without a reason",
            claim.seq,
            related=(last.seq,),
            level=SHOULD,
        )
    elif claim.kind == "answered":
        yield Finding(
            f"{run.id} ended as answered, but the last reply, to {last.id}, was empty ({last.reply.empty if last.reply else None}), "
            "expected the outcome empty",
            claim.seq,
            related=(last.seq,),
            fits=("empty_response", "finish"),
        )
    else:
        yield OK


def _shown(run: Run, view: View) -> Iterator[str]:
    """All that a user reads of a run: the result's text, and the messages of the stream."""
    texts = [final_text(run, view)]
    if "E" in view.channels:
        texts += [message.text for message in run.shown.text_messages if message.role == "assistant"]
    yield from (text.strip() for text in texts if text is not None and text.strip())


def _of_the_model(text: str, run: Run) -> bool:
    """Whether a text is what the model said in this run: a piece of one reply, or several replies put together."""
    said = [(call.reply.text or "").strip() for call in run.calls if call.reply is not None]
    if any(text in one for one in said):
        return True
    rest = text
    for one in sorted(filter(None, said), key=len, reverse=True):
        rest = rest.replace(one, "")
    return not rest.strip()


def _not_empty(run: Run, view: View) -> Judged:
    """Replies that look like nothing and are not: a blank text beside a call, and a text of one character."""
    for _, replied in _loop(run):
        reply = replied.reply
        if reply is None or not reply.complete or is_empty(replied, view.dialect) or reply.text is None:
            continue
        if replied.said and not reply.text.strip() and reply.stop == "tool_calls":
            yield from _kept_its_calls(run, replied, view)
        elif not replied.said and len(reply.text.strip()) == 1 and reply.stop == "stop":
            yield from _taken_as_answer(run, replied, view)


def _kept_its_calls(run: Run, replied: Call, view: View) -> Judged:
    follows, claim = next_main(run, replied.end_seq), claimed(run, view)
    calls = tool_calls(view)
    mine = [made for made in calls.made if made.by.id == replied.id]
    carried = calls.carried(follows, run.session) if follows else {}
    names = ", ".join(made.call.name for made in mine)
    if any(made.executions for made in mine):
        yield OK
    elif follows is None:
        if claim is not None and claim.kind == "empty":
            yield Finding(
                f"{run.id} ended as empty, but the reply to {replied.id} called {names} beside a blank text; a reply with a "
                "call is not empty",
                claim.seq,
                related=(replied.seq,),
            )
    elif view.dialect.tool_history == "text" or any(made.key in carried for made in mine):
        yield OK
    else:
        yield Finding(
            f"{follows.id} asks again as if the reply to {replied.id} had been empty, but it called {names} beside a blank "
            "text; a reply with a call is not empty",
            follows.seq,
            related=(replied.seq,),
        )


def _taken_as_answer(run: Run, replied: Call, view: View) -> Judged:
    text = replied.reply.text if replied.reply else None
    follows = next_main(run, replied.end_seq)
    claim = claimed(run, view)
    if view.has("completion_gate") or view.dialect.answer_by != "text":
        return
    if follows is not None:
        yield Finding(
            f"{follows.id} was sent after {replied.id} was answered {text!r}, expected the run to end: a short text is not empty",
            follows.seq,
            related=(replied.seq,),
        )
    elif claim is not None and claim.kind == "empty":
        yield Finding(
            f"{run.id} ended as empty after {replied.id} was answered {text!r}: a short text is not empty",
            claim.seq,
            related=(replied.seq,),
        )
    else:
        yield OK


def _rec_3(view: View) -> Judged:
    for run in view.runs:
        yield from _shrinks(run)
        if any(replied.overflow for _, replied in _loop(run)):
            yield from _within(run, view, on_empty=False, allowed=view.dialect.compactions, key="prompt_too_long")
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
    last, claim = _loop(run)[-1][1], claimed(run, view)
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


_ISSUES = "https://github.com"

RULES: tuple[Rule, ...] = (
    Rule(
        id="REC-1",
        level=MUST,
        clause="An empty reply is asked for again at most as often as declared, and then the run ends as what it is, without an "
        "answer made up. A blank text beside a call, or a short text, is not empty.",
        rationale="Models do answer nothing now and then: taken for an answer it leaves the user with silence, and repeated "
        "without bound it burns the budget.",
        evidence=(
            f"{_ISSUES}/google/adk-python/issues/3525",
            f"{_ISSUES}/google-gemini/gemini-cli/issues/7230",
            f"{_ISSUES}/lsdefine/GenericAgent/issues/201",
            f"{_ISSUES}/crewAIInc/crewAI/issues/2885",
        ),
        channels="M,E,R",
        keys=("empty_response", "empty_is", "recovery_scope"),
        check=_rec_1,
    ),
    Rule(
        id="REC-3",
        level=MUST,
        clause="After an overflow the same request is never sent again: the next one is smaller, as often as declared and no "
        "more. A compaction's own request fits the model's window, and a run that cannot shrink ends as an overflow.",
        rationale="The same prompt is too long every time; an agent that repeats it spends hours and money on refusals.",
        evidence=(
            f"{_ISSUES}/anomalyco/opencode/issues/27924",
            f"{_ISSUES}/anthropics/claude-code/issues/26317",
            f"{_ISSUES}/SWE-agent/mini-swe-agent/issues/921",
            f"{_ISSUES}/openclaw/openclaw/issues/150447",
        ),
        channels="M",
        keys=("prompt_too_long", "recovery_scope"),
        check=_rec_3,
    ),
)
