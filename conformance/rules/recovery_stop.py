"""REC-11: what a reply holds says what it is, whatever reason it gives for having stopped. Cuts are none of its reasons."""

from conformance.reading.evidence import gated
from conformance.reading.outcome import claimed
from conformance.reading.tool_calls import Calls, next_main, tool_calls
from conformance.reading.view import Call, Run, View
from conformance.rule import OK, SHOULD, Finding, Judged, Rule
from conformance.rules.acting_once import OTHER_REASONS, kept_back

#: Wires whose reason for a call is the same as for a text.
_ONE_WORD_FOR_BOTH = frozenset({"gemini", "ollama"})


def _rec_11(view: View) -> Judged:
    calls = tool_calls(view)
    for run in view.runs:
        for call in run.main:
            replied = run.outcome_of(call)
            reply = replied.reply
            if reply is None or not reply.complete or call.kind == "summary":
                continue
            if reply.calls and reply.stop == "stop":
                yield from _calls_run(replied, calls, view)
            elif not reply.calls and reply.stop == "tool_calls" and (reply.text or "").strip():
                yield from _text_answers(run, replied, view)


def _calls_run(replied: Call, calls: Calls, view: View) -> Judged:
    for made in calls.made:
        if made.by.id != replied.id or made.flaw is not None or not made.sound:
            continue
        if made.ran:
            yield OK
        elif not kept_back(made, calls, view, OTHER_REASONS):
            yield Finding(
                f"{made} never ran: its reply gave the reason 'stop' and held a call all the same; expected the calls of a reply to "
                "decide, not the reason it stopped for",
                made.seq,
            )


def _text_answers(run: Run, replied: Call, view: View) -> Judged:
    follows, claim = next_main(run, replied.end_seq), claimed(run, view)
    if gated(run, view) or view.dialect.answer_by != "text" or run.cancelled:
        return
    if view.recording.header.wire in _ONE_WORD_FOR_BOTH:
        return
    if follows is not None:
        yield Finding(
            f"{follows.id} was sent although {replied.id} was answered with a text and no call; expected the run to end on it, whatever "
            "the reason 'tool_calls' promised",
            follows.seq,
            related=(replied.seq,),
        )
    elif claim is not None and claim.kind != "answered":
        yield Finding(
            f"{run.id} ended as {claim.kind} although {replied.id} was answered with a text; expected an answer, whatever the reason "
            "'tool_calls' promised",
            claim.seq,
            related=(replied.seq,),
        )
    elif claim is not None:
        yield OK


_ISSUES = "https://github.com"

REC_11 = Rule(
    id="REC-11",
    level=SHOULD,
    clause="The calls in a reply decide what comes next, and not the reason it gives for having stopped: calls beside 'stop' run, "
    "and a text beside 'tool_calls' with no call is an answer.",
    rationale="Providers and the servers that imitate them disagree on the reason: who goes by it drops work that was asked for, or "
    "waits for a call that never comes.",
    evidence=(
        f"{_ISSUES}/vercel/workflow/issues/1387",
        f"{_ISSUES}/mastra-ai/mastra/pull/14187",
        f"{_ISSUES}/Mirascope/mirascope/pull/257",
    ),
    channels="M",
    check=_rec_11,
)
