"""REC-1 and REC-2: what an agent does when the model answers nothing."""

from collections.abc import Iterator
from itertools import pairwise

from conformance.reading.classes import asked, is_empty
from conformance.reading.evidence import gated
from conformance.reading.outcome import claimed, final_text
from conformance.reading.tool_calls import as_text, next_main, tool_calls
from conformance.reading.view import Call, Run, View
from conformance.rule import OK, SHOULD, Finding, Judged
from conformance.rules.recovery_counts import loop, within


def rec_1(view: View) -> Judged:
    """An empty reply is asked for again as declared, and ends the run as what it is."""
    for run in view.runs:
        empties = [replied for _, replied in loop(run) if is_empty(replied, view.dialect)]
        if empties and view.dialect.empty_response != "continue":
            yield from within(run, view, on_empty=True, allowed=view.dialect.empty_retries, key="empty_response")
        if empties:
            yield from _empty_end(run, view)
        yield from _not_empty(run, view)


def _empty_end(run: Run, view: View) -> Judged:
    last, claim = loop(run)[-1][1], claimed(run, view)
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
    for _, replied in loop(run):
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
    if gated(run, view) or view.dialect.answer_by != "text":
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


def rec_2(view: View) -> Judged:
    """The next request after an empty reply is another one."""
    for run in view.runs:
        for (_, before), (call, _) in pairwise(loop(run)):
            if not is_empty(before, view.dialect):
                continue
            if _differs(before, call):
                yield OK
            else:
                yield Finding(
                    f"{call.id} asks the same as {before.id}, which was answered by an empty reply; expected a request that "
                    "differs, such as by a nudge behind the history",
                    call.seq,
                    related=(before.seq,),
                )


def _differs(before: Call, call: Call) -> bool:
    return call.request.model != before.request.model or asked(call.body) != asked(before.body)
