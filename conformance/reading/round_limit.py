"""Whether a run came to its round limit, and what stood there when it did. Reads no ending as right or wrong."""

import re
from collections.abc import Iterator
from typing import Any

from conformance.dialect import Dialect
from conformance.reading.classes import is_empty
from conformance.reading.guarding import may_be_kept
from conformance.reading.outcome import answer, answer_call, claimed, shown_elsewhere
from conformance.reading.pairing import arguments
from conformance.reading.tool_calls import extra_arguments
from conformance.reading.view import Call, Execution, Run, View
from fake_models.messages import ToolCall
from fake_models.tools import Hangs, argument_error

#: A state's name, such as `max_iterations`: no words for a reader.
_NAME = re.compile(r"[A-Za-z]+(?:[_-][A-Za-z]+)+")
#: Endings that a run at its limit may claim, rightly or not; the last where its gate still missed something. Any other kind says
#: that something else ended it.
_LIMIT_CLAIMS = frozenset({"limit", "answered", "error", "unverified"})


def last_round(run: Run) -> Call | None:
    """The call whose reply counts in round N, retries and attempts included; None where round N was never made."""
    made = [call for call in run.calls if call.role in ("regular", "retry") and call.round == run.max_iters]
    return made[-1] if made else None


def asks(call: Call, dialect: Dialect) -> bool:
    """Whether the call's whole reply asks for tools to be run, and nothing else ends the run there."""
    reply = call.reply
    if reply is None or not reply.complete or reply.stop in ("length", "filter"):
        return False
    return bool(reply.calls) and answer(call, dialect) is None


def reached(run: Run, view: View) -> bool:
    """Whether the budget was used up with the work unfinished: round N was made, and its reply asks for one more."""
    if run.max_iters is None:
        return False
    if run.max_iters == 0:
        claim = claimed(run, view)
        return bool(run.summary) or (claim is not None and claim.kind == "limit")
    last = last_round(run)
    if last is None:
        return False
    return asks(last, view.dialect) or (_empties_spend(view.dialect) and is_empty(last, view.dialect))


def _empties_spend(dialect: Dialect) -> bool:
    """Whether one more request after an empty reply costs a round: where none would be sent, the empty reply itself ends the run."""
    return dialect.empty_response == "continue" or (dialect.retry_budget == "counts" and dialect.empty_retries > 0)


def ended_there(run: Run, view: View) -> bool:
    """
    Whether the limit is what ended the run, so that its ending shows how the agent ends at the limit.

    False wherever something else may have: a cancel, a hang, a call of the last round that is not sound or failed, another
    kind of outcome.
    """
    claim = claimed(run, view)
    if run.cancelled or run.how not in ("returned", "raised") or not reached(run, view):
        return False
    if claim is not None and claim.kind not in _LIMIT_CLAIMS:
        return False
    last = last_round(run)
    if last is None or not last.said:
        return True
    if claim is not None and claim.kind == "answered" and answer_call(last, view.dialect) is not None:
        return False  # an answer beside other calls, and ANS-2's where those were not done
    return sound(last, view) and not any(one.error is not None for one in executed(run, last))


def sound(call: Call, view: View) -> bool:
    """Whether every call of the reply is one that has to run: known, its own id, arguments true to the schema, nothing to wait for, no cap beyond."""
    ids = [one.id for one in call.said]
    its_own = all(ids) and len(set(ids)) == len(ids)
    return its_own and all(_runs(one, view) for one in call.said) and not may_be_kept(call, view)


def _runs(one: ToolCall, view: View) -> bool:
    tool = view.scenario.tools.get(one.name)
    if tool is None or tool.approval or any(isinstance(outcome, Hangs) for outcome in tool.sequence):
        return False
    given = arguments_of(one)
    if given is None or argument_error(tool, given) is not None:
        return False
    return view.dialect.extra_args != "refuse" or not extra_arguments(tool, given)


def arguments_of(one: ToolCall) -> dict[str, Any] | None:
    """A call's arguments as an object, None where the text is no JSON object."""
    value = arguments(one.arguments)
    return value if isinstance(value, dict) else None


def executed(run: Run, call: Call) -> tuple[Execution, ...]:
    """The executions that the calls of this reply led to, up to the next reply of the loop."""
    if call.reply is None:
        return ()
    start = call.reply.seq
    stop = next((one.reply.seq for one in run.main if one.reply is not None and one.reply.seq > start), None)
    names = {one.name for one in call.said}
    return tuple(x for x in run.executions if x.tool in names and x.seq > start and (stop is None or x.seq < stop))


def closing(run: Run) -> Call | None:
    """The first call of the loop after round N, whatever it looks like."""
    last = last_round(run)
    if last is None:
        return run.main[0] if run.max_iters == 0 and run.main else None
    return next((call for call in run.main if call.seq > last.seq), None)


def offers_tools(run: Run) -> bool:
    """Whether the agent offers tools at all, so that a request without them says something."""
    return any(call.request.callable_tools for call in run.main)


def early_closing(run: Run, view: View) -> Call | None:
    """
    A request for a closing text in the place of a round: no tool can be called in it, and the run says that its limit was reached.

    None where it stands behind the rounds, as a summary does, or where nothing says that it closes.
    """
    claim = claimed(run, view)
    last = run.regular[-1] if run.regular else None
    if last is None or claim is None or claim.kind != "limit" or last.request.callable_tools or not view.scenario.tools:
        return None
    return (
        last if run.max_iters is not None and (last.round or 0) <= run.max_iters and run.tool_choice != "none" else None
    )


def closing_retry(run: Run, view: View) -> Call | None:
    """The same in the place of a round that was to be asked again: a retry, whose round's first request offered tools."""
    claim = claimed(run, view)
    last = run.main[-1] if run.main else None
    if last is None or last.kind != "retry" or claim is None or claim.kind != "limit" or last.request.callable_tools:
        return None
    first = next(call for call in run.main if call.round == last.round)
    return last if first.request.callable_tools else None


def rounds_made(run: Run, view: View) -> int:
    """The rounds that the model could act in."""
    return run.rounds - (early_closing(run, view) is not None)


def words_after(run: Run, view: View, seq: int) -> str | None:
    """What the user reads after that record: the result's text, else the last text message. None where there is none."""
    if run.said is not None and run.said.text is not None and run.said.text.strip():
        return run.said.text.strip()
    if "E" not in view.channels:
        return None
    shown = [one.text.strip() for one in run.shown.text_messages if one.role == "assistant" and one.seq > seq]
    # A snapshot also holds what the model said on the way, and a result names of states.
    before = [call.reply.text or "" for call in run.calls if call.reply is not None and call.reply.seq <= seq]
    elsewhere = [
        text
        for one in shown_elsewhere(run, view.dialect.final_text)
        if not _NAME.fullmatch(text := one.strip()) and not any(text in said for said in before)
    ]
    return next((text for text in (*reversed(shown), *elsewhere) if text), None)


def numbers(value: Any) -> Iterator[float]:
    """Every number in a JSON value, at any depth."""
    if isinstance(value, dict):
        for one in value.values():
            yield from numbers(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from numbers(one)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield value


def mixed(run: Run, view: View) -> bool:
    """
    Whether a child's calls may stand among the run's own.

    So it is where a reply called a child, no call beside the loop came of that, and the next request does not go on from it.
    """
    if not view.has("subagents") or run.spec is None:
        return False
    children = run.spec.knobs.get("subagents", {})
    for call in run.main if children else ():
        by = run.outcome_of(call)
        follows = next((one for one in run.main if one.seq > by.end_seq), None)
        if follows is None or not any(one.name in children for one in by.said):
            continue
        told_apart = any(one.kind == "auxiliary" and by.end_seq < one.seq < follows.seq for one in run.calls)
        if not told_apart and not any(one.call.name in children for one in follows.paired.calls):
            return True
    return False
