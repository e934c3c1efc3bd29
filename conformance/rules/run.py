"""RUN: how a run ends, and that what it says of its end is true. Judges the ending only; the stream's form is EVT's."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from conformance.distinguish import signature
from conformance.reading.agui import Event, value
from conformance.reading.approvals import may_wait
from conformance.reading.evidence import gated
from conformance.reading.failures import retries_at_the_deadline, still_retrying, trails_off
from conformance.reading.guarding import may_end_by_guard
from conformance.reading.outcome import KINDS, Claim, actual, answer, claimed, last_call, without_a_sign
from conformance.reading.told import may_keep_back
from conformance.reading.tool_calls import tool_calls
from conformance.reading.view import Call, Run, View
from conformance.rule import MUST, OK, SHOULD, Finding, Judged, Right, Rule
from conformance.rules.run_errors import errors_mean_failures
from conformance.rules.run_secrets import no_secret_shows
from conformance.rules.run_text import the_text_is_the_models
from conformance.rules.sessions import broken_past

_ISSUES = "https://github.com/"
_TERMINAL = ("RUN_FINISHED", "RUN_ERROR")
#: Outcomes that only the agent knows of, no model call shows them, and what makes them possible.
_UNSEEN: Mapping[str, Callable[[Run, View], bool]] = {
    "guard": lambda run, view: may_end_by_guard(run, view) or may_keep_back(run, view.scenario.tools, view),
    "gate": gated,
    "unverified": gated,
    "waiting": may_wait,
    "interrupted": lambda run, _view: run.cancelled,
    "refused": lambda _run, _view: True,
    "tool_error": lambda _run, _view: True,
}
#: What a reason has to speak of to tell that a reply was cut.
_CUT = re.compile(
    r"length|limit|max.?(output|completion)?.?tokens|truncat|filter|\bcut|incomplete|partial|safety|block|截断|长度|过滤",
    re.IGNORECASE,
)


def one_terminal_and_last(view: View) -> Judged:
    """RUN-1."""
    for run in view.runs:
        if run.killed:
            continue  # the kit took its agent away before it could come to an end
        faults = [
            *_part(run.id, run.events, run.end_seq, run.how, is_open=still_retrying(run)),
            *(fault for part in _parts(run.strays) for fault in _part(run.id, part, part[-1].seq, run.how)),
            *(
                Finding(f"run {run.id}: RUN_STARTED comes a second time with this run's id {run.id!r}", event.seq)
                for event in run.strays
                if event.type == "RUN_STARTED" and value(event, "runId") == run.given.get("runId", run.id)
            ),
        ]
        yield from faults
        if not faults and not still_retrying(run):
            yield OK


def _end_is_open(view: View) -> str | None:
    """RUN-1 cannot be decided where all that is missing is the end of a run that was not over."""
    wrong = any(isinstance(one, Finding) for one in one_terminal_and_last(view))
    return None if wrong else retries_at_the_deadline(view)


def _parts(events: Sequence[Event]) -> list[list[Event]]:
    parts: list[list[Event]] = []
    for event in events:
        if event.type == "RUN_STARTED" or not parts:
            parts.append([])
        parts[-1].append(event)
    return parts


def _part(run: str, events: Sequence[Event], end_seq: int, how: str, *, is_open: bool = False) -> Iterator[Finding]:
    """
    One run's part of a stream: RUN_STARTED, then what happened, then its only terminal. RUN_ERROR alone will do.

    `is_open`: it may still come to its terminal.
    """
    if not events and is_open:
        return
    if not events:
        yield Finding(
            f"run {run}: no event came (the run {_HOW.get(how, how)}); RUN_STARTED and a terminal were expected",
            end_seq,
        )
        return
    ends = [event for event in events if event.type in _TERMINAL]
    if events[0].type != "RUN_STARTED" and not (len(events) == 1 and events[0].type == "RUN_ERROR"):
        yield Finding(f"run {run}: the first event is {events[0].type}, expected RUN_STARTED", events[0].seq)
    if not ends and not is_open:
        yield Finding(
            f"run {run}: no terminal event (the run {_HOW.get(how, how)}, its last event is {events[-1].type}); RUN_FINISHED or "
            "RUN_ERROR was expected",
            events[-1].seq,
        )
    elif len(ends) > 1:
        came = ", ".join(event.type for event in ends)
        yield Finding(
            f"run {run}: {len(ends)} terminal events ({came}), expected one", ends[1].seq, related=(ends[0].seq,)
        )
    elif ends and events[-1] is not ends[0]:
        late = events[events.index(ends[0]) + 1]
        yield Finding(f"run {run}: {late.type} comes after {ends[0].type}, which must be the last event", late.seq)


_HOW = {
    "returned": "returned",
    "raised": "raised",
    "died": "died",
    "hung": "hung",
    "cap": "was ended at the cap on requests",
    "cancelled": "was cancelled",
}


def _lost(run: Run, view: View) -> str:
    """What was last seen of an agent that fell silent, or whose process is gone."""
    seen = run.end.get("last_seen")
    last = f"; the last thing seen was {seen['kind']}, record {seen['seq']}" if seen else ""
    if run.how == "hung":
        return f"run {run.id} hung{last}; an end within {view.scenario.deadline_s} s of silence was expected"
    wrong = next((record.data["why"] for record in run.garbage if "why" in record.data), None)
    lines = [
        line for tail in ("stdout_tail", "stderr_tail") for line in run.end.get(tail, "").split("\n") if line.strip()
    ]
    wrote = f"; the last it wrote: {lines[-1][-200:]!r}" if lines else ""
    what = "the agent's process ended" if wrong is None else f"the agent was ended, since {wrong}"
    if wrong is None and seen and seen["kind"] == "kit/run_start":
        what += " before it did anything of this run (a process serves run after run, until it is told bye)"
    return f"run {run.id} died: {what}{last}{wrote}; a run that comes to its own end was expected"


def the_run_ends(view: View) -> Judged:
    """RUN-2."""
    for run in view.runs:
        # A default beyond the scenario's cap cannot be seen to hold, nor to fail.
        unlimited = not run.limited and (run.max_iters is None or run.max_iters + 5 > view.scenario.cap)
        refused = [call for call in run.calls if call.refused is not None and call.refused.get("by") == "cap"]
        allowed = None if run.limited or run.max_iters is None else run.max_iters + 5
        if run.killed:
            continue
        if run.how in ("hung", "died"):
            yield Finding(_lost(run, view), run.end_seq)
        elif unlimited and refused:
            # The agent said that it has no bound below the cap; of none at all LIM-8 warns.
            continue
        elif run.how == "cap" or refused:
            seq = refused[0].seq if refused else run.end_seq
            what = (
                f"sent more than {view.scenario.cap} requests" if refused else f"left {run.end_seq - run.seq} records"
            )
            yield Finding(f"run {run.id} {what} and had to be stopped", seq)
        elif allowed is not None and len(run.main) > allowed:
            yield Finding(
                f"run {run.id} made {len(run.main)} model calls with no limit from the caller; by the declared default of "
                f"{run.max_iters} rounds at most {allowed} were expected",
                run.main[allowed].seq,
            )
        else:
            yield OK


def the_outcome_is_true(view: View) -> Judged:
    """RUN-3, one recording."""
    for run in view.runs:
        claim, really = claimed(run, view), actual(run, view)
        if "R" in view.channels and run.how == "returned" and not (run.said or run.raised or run.cancelled):
            message = f"run {run.id} returned without an outcome; channel R is declared, so one was expected"
            yield Finding(message, run.end_seq, level=SHOULD)
        if claim is not None and {claim.kind, really} == {"truncated", "filtered"}:
            at = last_call(run)
            yield Finding(f"run {run.id} says {claim.kind!r}, but {_shown(really, at)}", claim.seq, level=SHOULD)
        if claim is None or _undecided(run, view, claim.kind):
            continue
        if run.cancelled:
            # Cancelling is a race that the agent may lose: an answer that was whole by then is one.
            really = "answered" if claim.kind == "answered" and _answered(run, view) else "interrupted"
        at = last_call(run)
        if claim.kind not in KINDS:
            known = ", ".join(sorted(KINDS))
            yield Finding(
                f"run {run.id} says {claim.kind!r}, which is no kind of outcome; known are {known}", claim.seq
            )
        elif (claim.kind == "answered") != (really == "answered"):
            yield Finding(
                f"run {run.id} says {claim.kind!r}, but {_shown(really, at)}",
                claim.seq,
                related=(at.seq,) if at else (),
            )
        elif (
            really not in (None, claim.kind)
            and not (claim.kind in _UNSEEN and _UNSEEN[claim.kind](run, view))
            and _names_another(claim.kind, claim.by, really, run)
        ):
            yield Finding(f"run {run.id} says {claim.kind!r}, but {_shown(really, at)}", claim.seq, level=SHOULD)
        elif really is None and (why := _unexplained(claim, run, view)) is not None:
            yield Finding(why, claim.seq, related=(at.seq,) if at else (), level=SHOULD)
        else:
            yield OK


#: What a reply is not, in words, where a run ends by a name that only such a reply gives it.
_LOOKS = {"truncated": "cut off", "filtered": "filtered", "empty": "empty"}


def _unexplained(claim: Claim, run: Run, view: View) -> str | None:
    """What is odd about an end that the model calls leave open."""
    if without_a_sign(run, claim.kind):
        return f"run {run.id} says {claim.kind!r}, but no reply of its model was {_LOOKS[claim.kind]}"
    if claim.kind == "error" and not _something_failed(run, view):
        return f"run {run.id} ended as error ({(claim.reason or '')[:120]!r}), but nothing that was seen had failed"
    return None


def _something_failed(run: Run, view: View) -> bool:
    """Whether a tool, a call of the model, a request of the agent, its limit or what it was given gave a reason to end in error."""
    if run.max_iters is not None and len(run.main) >= run.max_iters:
        return True
    asked = any(call.failed or call.refused is not None for call in run.calls)
    return (
        asked
        or broken_past(run.given.get("messages") or ()) is not None
        or may_keep_back(run, view.scenario.tools, view)
        or any(one.error is not None or one.end_seq is None for one in run.executions)
        or any(made.flaw is not None or not made.sound for made in tool_calls(view).made if made.run.id == run.id)
    )


def _undecided(run: Run, view: View, kind: str) -> bool:
    """What other clauses judge, and what the model's replies leave open."""
    really, last = actual(run, view), last_call(run)
    finished = really == "empty" and view.dialect.empty_response == "finish"
    # A stream that just ended may have been whole: REC-7 doubts it, as a SHOULD.
    if really in ("truncated", "filtered") or finished or (last is not None and trails_off(last, view)):
        return True
    if really == "answered" and kind in ("gate", "unverified") and gated(run, view):
        return True
    if really == "answered" and kind == "guard" and _UNSEEN["guard"](run, view):
        return True
    reply = last.reply if last is not None else None
    # What looks empty and is declared to be an answer has no truthful name: neither answered nor empty.
    if reply is not None and reply.complete and reply.empty is not None and reply.empty not in view.dialect.empty_is:
        return True
    if really is not None or reply is None or not reply.complete:
        return False
    answer_tool = view.dialect.answer_by.removeprefix("tool:").rpartition(".")[0]
    # An answer call beside others is ANS-1's; a text that stops for calls it does not make is REC-11's.
    return any(call.name == answer_tool for call in reply.calls) or (not reply.calls and reply.stop == "tool_calls")


def _answered(run: Run, view: View) -> bool:
    last = last_call(run)
    return last is not None and answer(last, view.dialect) is not None


def _names_another(kind: str, by: str, really: str | None, run: Run) -> bool:
    if by == "raised" or (kind == "error" and by == "E"):
        return False
    if really == "empty" and kind in ("error", "model_error") and _by_its_provider(last_call(run)):
        return False
    spent = run.max_iters is not None and run.rounds >= run.max_iters
    return not (kind == "limit" and really in ("empty", "guard") and spent)


def _by_its_provider(call: Call | None) -> bool:
    """Whether a reply is empty since its wire had no way to say what the model said, and gave a reason of its own instead."""
    return call is not None and call.reply is not None and not call.reply.parts and "finish" in call.reply.altered


def _shown(really: str | None, at: Call | None) -> str:
    where = f" (see {at.id})" if at is not None else ""
    if really is None:
        return f"the model gave no final answer{where}" if at is not None else "no model call was made"
    return f"the model calls show {really!r}{where}"


def no_other_cause_looks_like_an_answer(views: Sequence[View]) -> Iterator[tuple[int, Finding | Literal[Right.OK]]]:
    """RUN-3, all recordings of an agent: what a program can read of an answer is read of nothing else."""
    ended = [
        (index, view, run, actual(run, view))
        for index, view in enumerate(views)
        for run in view.runs
        if run.how in ("returned", "raised") and not (run.cancelled and _answered(run, view))
    ]
    answers = {
        signature(run, view): (view, run)
        for _, view, run, really in ended
        if really == "answered" and not _not_accepted(run, view) and _says_so(run, view)
    }
    for index, view, run, really in ended:
        if really in (None, "answered") or not answers or _undecided(run, view, "") or claimed(run, view) is None:
            continue
        alike = answers.get(signature(run, view))
        if alike is None:
            yield index, OK
        else:
            yield (
                index,
                Finding(
                    f"run {run.id} ended by {really!r} with nothing that tells it from the answer of run {alike[1].id} in "
                    f"{alike[0].scenario.id!r}; a terminal, status, code, marker or class of its own was expected",
                    run.end_seq,
                ),
            )


def _says_so(run: Run, view: View) -> bool:
    """Whether an answer is called one: what it is called otherwise tells nothing of how answers look."""
    claim = claimed(run, view)
    return claim is None or claim.kind == "answered"


def _not_accepted(run: Run, view: View) -> bool:
    """Whether the run says that its gate did not let the answer pass."""
    claim = claimed(run, view)
    return claim is not None and claim.kind in ("gate", "unverified") and gated(run, view)


def a_cut_reply_can_be_told(view: View) -> Judged:
    """RUN-3b."""
    for run in view.runs:
        really, claim = actual(run, view), claimed(run, view)
        if really not in ("truncated", "filtered") or claim is None or run.cancelled:
            continue
        # Under `flag` the text is an answer with a flag on it, and the reason is that flag where it speaks of the cut.
        flagged = view.dialect.length_stop == "flag" and _CUT.search(claim.reason or "") is not None
        if claim.kind != "answered" or flagged or (run.terminal is not None and run.terminal.type == "RUN_ERROR"):
            yield OK
        else:
            at = last_call(run)
            yield Finding(
                f"run {run.id} says 'answered' of a reply that was {really} ({at.id if at else '?'}); an outcome that tells it from a "
                "whole one was expected",
                claim.seq,
            )


def a_model_failure_is_no_finish(view: View) -> Judged:
    """RUN-5."""
    for run in view.runs:
        last = last_call(run)
        if last is None or not last.failed or last.overflow or run.summary or run.cancelled or trails_off(last, view):
            continue
        if run.how not in ("returned", "raised") or (last.reply is None and last.refused is None):
            continue
        told = [claimed(run, view)]
        if {"E", "R"} <= view.channels and run.raised is None and run.events:
            # A client that sees only the events must be able to tell as well.
            told.append(claimed(replace(run, said=None), replace(view, channels=view.channels - {"R"})))
        quiet = [one for one in told if one is None or one.kind == "answered"]
        if quiet:
            how = "; ".join(
                "it ended without an outcome" if one is None else f"it ended as an ordinary finish ({one.by})"
                for one in quiet
            )
            yield Finding(
                f"run {run.id}: {last.id} failed with {_failure(last)} and nothing recovered it, but {how}; an end that a program can "
                "tell from an answer was expected",
                run.terminal.seq if run.terminal else run.end_seq,
                related=(last.seq,),
            )
        else:
            yield OK


def _failure(call: Call) -> str:
    if call.refused is not None:
        return f"a refusal ({call.refused.get('status')})"
    if call.reply is None:
        return "no reply"
    if call.reply.status != 200:
        return f"status {call.reply.status}"
    return "a 200 that is no reply" if "error" in (call.reply.fault or {}) else "a broken reply"


def an_answer_stays_an_answer(view: View) -> Judged:
    """RUN-10."""
    for run in view.runs:
        claim, really = claimed(run, view), actual(run, view)
        if run.cancelled or claim is None:
            continue
        failed = [one for one in run.executions if one.error is not None]
        if really == "answered" and (failed or run.limited):
            if _undecided(run, view, claim.kind):
                continue
            error = run.terminal is not None and run.terminal.type == "RUN_ERROR"
            if claim.kind == "answered" and not error:
                yield OK
            else:
                what = (
                    f"a tool failed ({failed[0].id})" if failed else f"{run.rounds} of {run.max_iters} rounds were made"
                )
                said = "ends with RUN_ERROR" if error else f"says {claim.kind!r}"
                yield Finding(
                    f"run {run.id} {said}, but the model answered; that {what} is no failure of the run", claim.seq
                )
        elif really in ("model_error", "overflow") and run.max_iters is not None and run.rounds >= run.max_iters:
            last = last_call(run)
            if claim.kind == "limit":
                yield Finding(
                    f"run {run.id} says 'limit', but {last.id if last else 'its last call'} ended it first by {really!r}; the first "
                    "cause was expected",
                    claim.seq,
                )
            elif claim.kind in (really, "error"):
                yield OK


RULES: tuple[Rule, ...] = (
    Rule(
        id="RUN-1",
        level=MUST,
        clause="A run's events begin with RUN_STARTED and end with its only terminal event; RUN_ERROR alone will do.",
        rationale="Without one clear end a client waits for ever, or takes a broken run for a good one.",
        channels="E",
        about_events=True,
        check=one_terminal_and_last,
        unable=_end_is_open,
        evidence=(
            f"{_ISSUES}agentscope-ai/agentscope-java/issues/2642",
            f"{_ISSUES}ag-ui-protocol/ag-ui/issues/1892",
            f"{_ISSUES}ag-ui-protocol/ag-ui/issues/2416",
        ),
    ),
    Rule(
        id="RUN-2",
        level=MUST,
        clause="A run ends: it is never silent for as long as the deadline, and never sends more requests than the cap allows.",
        rationale="A loop without an end costs money by the minute and answers nobody.",
        channels="",
        check=the_run_ends,
        unable=retries_at_the_deadline,
        evidence=(
            f"{_ISSUES}crewAIInc/crewAI/issues/1656",
            f"{_ISSUES}spring-projects/spring-ai/issues/3333",
            f"{_ISSUES}agent0ai/agent-zero/issues/1882",
        ),
    ),
    Rule(
        id="RUN-3",
        level=MUST,
        clause=(
            "A run is called answered only if the model gave a final answer, and a program can tell every other ending from an answer. "
            "Which other ending it was is named rightly (SHOULD)."
        ),
        rationale="Whoever calls an agent acts on its outcome; success by default hides every failure.",
        channels="R,E,M",
        check=the_outcome_is_true,
        suite=no_other_cause_looks_like_an_answer,
        evidence=(
            f"{_ISSUES}mastra-ai/mastra/issues/12596",
            f"{_ISSUES}ClickHouse/nerve/issues/292",
            f"{_ISSUES}mcp-use/mcp-use/issues/220",
        ),
    ),
    Rule(
        id="RUN-3b",
        level=SHOULD,
        clause="A reply that was cut by length or by a filter can be told from a whole one.",
        rationale="Half an answer that looks like a whole one is believed.",
        channels="R",
        keys=("length_stop",),
        check=a_cut_reply_can_be_told,
        evidence=(f"{_ISSUES}deepset-ai/haystack/issues/12300",),
    ),
    Rule(
        id="RUN-4",
        level=MUST,
        clause="RUN_ERROR means that a failure escaped the loop: a failed tool that was fed back is none, nor is a limit that ends in a finish.",
        rationale="A client drops what a failed run did; an error for normal business throws good work away.",
        channels="E",
        about_events=True,
        keys=(
            "limit_terminal",
            "summary_failure",
            "tool_exception",
            "unknown_tool",
            "bad_arguments",
            "empty_response",
            "prompt_too_long",
            "length_stop",
            "on_guard",
            "model_error",
        ),
        check=errors_mean_failures,
        evidence=(
            f"{_ISSUES}agentscope-ai/agentscope/issues/1805",
            f"{_ISSUES}google/adk-python/issues/3618",
        ),
    ),
    Rule(
        id="RUN-5",
        level=MUST,
        clause="A model failure that nothing recovered never ends as an ordinary finish.",
        rationale="The user reads an empty or a half answer and does not learn that the model was never heard.",
        channels="E,R,M",
        keys=("model_error",),
        check=a_model_failure_is_no_finish,
        evidence=(
            f"{_ISSUES}assistant-ui/assistant-ui/pull/5898",
            f"{_ISSUES}ag-ui-protocol/ag-ui/issues/2300",
            f"{_ISSUES}ClickHouse/nerve/issues/292",
        ),
    ),
    Rule(
        id="RUN-6",
        level=MUST,
        clause="No key, authorization or cookie shows in events, result, error or log; an error names its cause by status or provider code (SHOULD).",
        rationale="Events and logs travel to browsers and files that secrets must not reach, and an error without its cause cannot be acted on.",
        channels="E,R,L",
        check=no_secret_shows,
        evidence=(
            f"{_ISSUES}opendev-to/opendev/pull/207",
            f"{_ISSUES}anomalyco/opencode/issues/21326",
        ),
    ),
    Rule(
        id="RUN-8",
        level=MUST,
        clause="The final text of an answer or a summary is what the model said, once, white space around it aside; a message's deltas join to it.",
        rationale="A doubled, glued or shortened text is all that the user gets to see.",
        channels="E,R",
        keys=("final_text",),
        check=the_text_is_the_models,
        evidence=(
            f"{_ISSUES}ag-ui-protocol/ag-ui/issues/742",
            f"{_ISSUES}spring-projects/spring-ai/issues/5167",
            f"{_ISSUES}crewAIInc/crewAI/issues/3847",
        ),
    ),
    Rule(
        id="RUN-10",
        level=MUST,
        clause="A failed tool, or a limit that was not reached, turns no answer into a failure; of two causes the first one counts.",
        rationale="A run that recovered is a good run, and a cause that is overwritten sends people looking in the wrong place.",
        channels="R,E",
        check=an_answer_stays_an_answer,
        evidence=(
            f"{_ISSUES}Agenta-AI/agenta/issues/4976",
            f"{_ISSUES}openai/openai-agents-python/pull/4606",
            f"{_ISSUES}mcp-use/mcp-use/issues/220",
        ),
    ),
)
