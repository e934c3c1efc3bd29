"""
The reference loop: rounds, recoveries, the limit, the end. One loop for every dialect, entry and way of delivery.

It is a program of steps (see `steps`): it waits for nothing and touches nothing but its own run and session.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from conformance.agent_side import Outcome, RunInput, ToolFailed
from conformance.dialect import Dialect
from conformance.reference import events
from conformance.reference.acting import Cause, Refused, checked, failed, not_run, result_text
from conformance.reference.asking import NOTHING, SPOKEN, ask, attempts, compaction_body, regular_body, summary_body
from conformance.reference.failing import Failure, failure
from conformance.reference.hearing import Said
from conformance.reference.history import compacted, is_digest, round_messages, said_message, sound_id, turns
from conformance.reference.run import Again, Ending, Parts, Run, Session, Shown, Terminal
from conformance.reference.steps import Act, Execution, Steps

LOG = logging.getLogger("conformance.reference")

#: Reasons to stop that make a reply neither an answer nor a call, by the finish reason of the wire.
CUT = {"length": "length", "content_filter": "filter"}
#: How often a reply cut by length is continued in one run.
CONTINUATIONS = 3
NUDGE = "Your last reply was empty. Answer the user or call a tool."
CONTINUE = "Your last reply was cut off. Go on from where it stopped."


class LimitReached(Exception):  # noqa: N818 - named as what happened
    """The round budget is used up and the dialect asks for an exception."""


class ModelFailed(Exception):  # noqa: N818 - named as what happened
    """The model failed for good and the dialect asks for an exception."""


class ToolCallFailed(Exception):  # noqa: N818 - named as what happened
    """A tool call failed and the dialect asks for an exception."""


RAISED: Mapping[str, type[Exception]] = {
    "limit": LimitReached,
    "model_error": ModelFailed,
    "tool_error": ToolCallFailed,
}


def play(run: Run) -> Steps[None]:
    """A whole run: its start, its rounds, its end."""
    yield events.run_started(run.thread, run.id)
    ending = yield from _rounds(run)
    yield from run.parts.finish(run, run.parts.ending(run, ending))


def _rounds(run: Run) -> Steps[Ending]:
    again = Again((), new_round=True)
    while True:
        if again.new_round:
            if not run.parts.may_begin(run.rounds, run.limit):
                return (yield from run.parts.at_the_limit(run))
            run.rounds += 1
        heard = yield from ask(run, run.parts.regular_body(run, again.nudge))
        trouble = run.parts.trouble(heard, run.dialect)
        if trouble is not None or isinstance(heard, Failure):
            next_step = yield from RECOVERIES[trouble or "model_error"](run, heard)
            if isinstance(next_step, Ending):
                return next_step
            again = next_step
            continue
        if run.dialect.recovery_scope == "round":
            run.recovered.clear()
        if heard.text.strip():
            run.texts.append(heard.text)
        if not heard.calls:
            run.session.messages.append(said_message(heard))
            return Ending("answered", "finished", text=_final_text(run, heard.text))
        ending = yield from run.parts.act(run, heard)
        if ending is not None:
            return ending
        again = Again((), new_round=True)


def trouble(heard: Said | Failure, dialect: Dialect) -> str | None:
    """Why a reply is neither an answer nor calls to run, as a key of `RECOVERIES`; None if it is one of them."""
    if isinstance(heard, Failure):
        return "overflow" if heard.kind == "overflow" else "model_error"
    if heard.stop in CUT:
        said = heard.text.strip() or heard.calls
        return CUT[heard.stop] if said or heard.stop != "length" else "overflow"
    return "empty" if heard.empty in dialect.empty_is else None


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
    head, found = turns(run.session.messages)
    if run.tried("overflow") >= run.dialect.compactions:
        return Ending("overflow", "error", f"the prompt is too long for the model: {cause}")
    if len(found) < 2:
        return Ending("overflow", "error", f"the prompt is too long for the model and too short to compact: {cause}")
    older = [*filter(is_digest, head), *(message for turn in found[:-1] for message in turn)]
    size = len(repr(run.session.messages))
    digest = yield from ask(
        run, compaction_body(run, older, size), headers={"X-Conformance-Call": "compaction"}, shown=NOTHING
    )
    run.session.messages[:] = run.parts.compacted(run.session.messages, run.parts.summary_text(digest))
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


RECOVERIES: Mapping[str, Callable[[Run, Any], Steps[Ending | Again]]] = {
    "empty": _from_empty,
    "overflow": _from_overflow,
    "length": _from_length,
    "filter": _from_filter,
    "model_error": _from_model_error,
}


def act(run: Run, said: Said) -> Steps[Ending | None]:
    """Run what may run, answer every call, and only then let the round join the history: it is never there in halves."""
    plan = [run.parts.checked(call, run.tools, run.dialect.extra_args) for call in said.calls]
    if run.rounds == run.limit and run.dialect.last_round_tools == "skip":
        skipped = not_run(f"the limit of {run.limit} rounds was reached before this call was run")
        plan = [skipped if isinstance(one, Execution) else one for one in plan]
    ready = tuple(one for one in plan if isinstance(one, Execution))
    returned = iter((yield Act(ready, run.dialect.parallel_tools == "concurrent")) if ready else ())
    results: list[str] = []
    stopping: Ending | None = None
    for call, one in zip(said.calls, plan, strict=True):
        value = next(returned) if isinstance(one, Execution) else one
        came = failed(value) if isinstance(value, ToolFailed) else value
        results.append(came.text if isinstance(came, Refused) else run.parts.result_text(came))
        if isinstance(came, Refused) and stopping is None:
            stopping = _stopped_by(came, run.dialect)
        yield events.call_result(run.message_id(), call.id, results[-1])
    run.session.messages += run.parts.round_messages(said, results)
    run.last_result = results[-1]
    return stopping


def _stopped_by(refused: Refused, dialect: Dialect) -> Ending | None:
    ways: Mapping[Cause, str] = {
        "unknown_tool": dialect.unknown_tool,
        "bad_arguments": dialect.bad_arguments,
        "tool_exception": dialect.tool_exception,
        "not_run": "observe",
    }
    endings: Mapping[str, Terminal] = {"error": "error", "raise": "raise"}
    terminal = endings.get(ways[refused.cause])
    return Ending("tool_error", terminal, refused.text) if terminal else None


def at_the_limit(run: Run) -> Steps[Ending]:
    """The budget is used up: say so in the log, then to the user, then give them the text that the dialect promises."""
    dialect, limit = run.dialect, run.limit or 0
    run.parts.log_limit(run)
    if dialect.limit_terminal == "finished":
        yield events.limit_marker(dialect.limit_marker, limit, run.rounds, run.bench.now())
    ending = Ending(
        "limit",
        _TERMINALS[dialect.limit_terminal],
        f"max_iters={limit} was reached after {run.rounds} rounds",
        facts={"maxIters": limit, "currentIter": run.rounds},
    )
    return (yield from LIMIT_TEXTS[dialect.limit_text](run, ending))


_TERMINALS: Mapping[str, Terminal] = {"finished": "finished", "flagged": "flagged", "error": "error", "raise": "raise"}


def _summarised(run: Run, ending: Ending) -> Steps[Ending]:
    heard = yield from ask(run, run.parts.summary_body(run), shown=SPOKEN)
    text = run.parts.summary_text(heard)
    if text is not None and isinstance(heard, Said):
        run.session.messages.append(said_message(replace(heard, text=text, calls=())))
        run.texts.append(text)
        return replace(ending, text=_final_text(run, text))
    cause = (
        heard.cause if isinstance(heard, Failure) else "the reply was a call" if heard.calls else "the reply was empty"
    )
    broken = replace(ending, reason=f"{ending.reason}; the summary failed: {cause}")
    if run.dialect.summary_failure == "error":
        return replace(broken, terminal="error")
    return (yield from _told(run, broken, f"{_canned(run)} The summary failed: {cause}. {_last_result(run)}".strip()))


def summary_text(heard: Said | Failure) -> str | None:
    """What a call that must answer in words said, None where it failed, said nothing or asked for a tool."""
    if isinstance(heard, Failure) or heard.calls or not heard.text.strip():
        return None
    return heard.text


def _canned_text(run: Run, ending: Ending) -> Steps[Ending]:
    return _told(run, ending, _canned(run))


def _last_result_text(run: Run, ending: Ending) -> Steps[Ending]:
    return _told(run, ending, run.last_result or _canned(run))


def _no_text(_run: Run, ending: Ending) -> Steps[Ending]:
    yield from ()  # asks for nothing
    return ending


LIMIT_TEXTS: Mapping[str, Callable[[Run, Ending], Steps[Ending]]] = {
    "model": _summarised,
    "canned": _canned_text,
    "last_result": _last_result_text,
    "none": _no_text,
}


def _told(run: Run, ending: Ending, text: str) -> Steps[Ending]:
    """The loop's own words to the user, as a message and in the history."""
    message = run.message_id()
    yield events.message_start("text", message)
    yield events.message_content("text", message, text)
    yield events.message_end("text", message)
    run.session.messages.append({"role": "assistant", "content": text})
    run.texts.append(text)
    return replace(ending, text=_final_text(run, text))


def _canned(run: Run) -> str:
    return f"The limit of {run.limit or 0} rounds was reached before there was an answer."


def _last_result(run: Run) -> str:
    return "" if run.last_result is None else f"The last result was: {run.last_result}"


def _final_text(run: Run, last: str) -> str:
    return "\n".join(run.texts) if run.dialect.final_text == "all_text" else last


def finish(run: Run, ending: Ending) -> Steps[None]:
    """Tell the ending, by the terminal it asks for, and the outcome last."""
    reason = ending.reason or ending.kind
    usage = _usage(run)
    match ending.terminal:
        case "raise":
            raise RAISED[ending.kind](reason)
        case "error":
            yield events.run_error(reason, ending.kind, usage=usage)
        case "flagged":
            yield events.run_finished(run.thread, run.id, result={"outcome": ending.kind, **ending.facts}, usage=usage)
        case "finished":
            yield events.run_finished(run.thread, run.id, usage=usage)
    yield Outcome(ending.kind, ending.reason, ending.text)


def _usage(run: Run) -> list[dict[str, int]] | None:
    """The run's total where it is told at the end, None where it is not or nothing was reported."""
    if run.dialect.usage_events != "per_run" or not run.spent:
        return None
    return [{key: sum(spent[key] for spent in run.spent) for key in ("inputTokens", "outputTokens")}]


def limit(given: RunInput, dialect: Dialect) -> int | None:
    """How many rounds a run may have, None for any number. A caller's 0 is zero."""
    allowed = given.limits.get("max_iters")
    if allowed is None:
        allowed = dialect.default_max_iters
    return allowed if isinstance(allowed, int) else None


def log_limit(run: Run) -> None:
    """An ordinary limit is no warning: whoever set it asked for this."""
    LOG.debug("reached max_iters=%d after %d rounds, no further round begins", run.limit, run.rounds)


def rounds_before(_session: Session) -> int:
    """What a run's count of rounds begins with, whatever the session did before."""
    return 0


def may_begin(rounds: int, allowed: int | None) -> bool:
    """Whether one more round may begin after so many."""
    return allowed is None or rounds < allowed


def as_it_is(_run: Run) -> Shown:
    """Everything that leaves the loop is shown as it is."""
    return lambda item: (item,)


HONEST = Parts(
    limit=limit,
    rounds_before=rounds_before,
    may_begin=may_begin,
    regular_body=regular_body,
    summary_body=summary_body,
    summary_text=summary_text,
    failure=failure,
    attempts=attempts,
    trouble=trouble,
    checked=checked,
    result_text=result_text,
    round_messages=round_messages,
    compacted=compacted,
    sound_id=sound_id,
    act=act,
    log_limit=log_limit,
    at_the_limit=at_the_limit,
    ending=lambda _run, ending: ending,
    finish=finish,
    shown=as_it_is,
)
