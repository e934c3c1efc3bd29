"""HIS-9: a history that was made shorter keeps calls and results together. Asks for no reason to shorten it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from conformance.reading.pairing import Paired, align, pair
from conformance.reading.tool_calls import Calls, Made, tool_calls
from conformance.reading.view import Call, Run, View
from conformance.rule import MUST, OK, Finding, Judged, Rule
from conformance.rules.declared_never import unless_seen
from conformance.rules.history_shape import needs_messages
from conformance.rules.history_succession import any_mixed, goes_on, shrank
from fake_models.messages import Message, ToolCall


def _his_9(view: View) -> Judged:
    calls = tool_calls(view)
    told: set[tuple[str, str | None, int]] = set()
    for run, call, known, before in _shorter(view):
        fresh = _said_since(before, call, run, calls)
        found = align((*(one.call for one in known), *fresh), call.paired.calls)[: len(known)]
        had_orphans = {o.result.message.tool_call_id for o in before.paired.orphans} if before is not None else set()
        orphans = [o for o in call.paired.orphans if o.result.message.tool_call_id not in had_orphans]
        shorter = call.kind == "compaction" or (before is not None and shrank(before, call, run, view))
        halves = any(one is not None and not (one.results or one.late) for one in found)
        if not (shorter or orphans or halves or None in found):
            continue
        if call.kind == "compaction" and not call.paired.calls and not orphans:
            # A digest is often asked for in words alone.
            continue
        for orphan in orphans:
            mark = (run.session, orphan.result.message.tool_call_id, -1)
            if mark not in told:
                told.add(mark)
                yield Finding(
                    f"{call.id}: the history was made shorter, and the result at messages[{orphan.result.index}] (call id "
                    f"{orphan.result.message.tool_call_id!r}) lost its call; expected both or neither",
                    call.seq,
                )
        for one, there in zip(known, found, strict=True):
            if there is None or there.results or there.late:
                if not orphans:
                    yield OK
            elif (mark := (run.session, there.call.id, there.index)) not in told:
                told.add(mark)
                yield Finding(
                    f"{call.id}: the history was made shorter, and call {there.call.id!r} ({one.call.name}) of "
                    f"messages[{there.index}] lost its result; expected both or neither",
                    call.seq,
                )


def _never_shortens(view: View) -> bool:
    return view.dialect.prompt_too_long == "error" and not view.has("compaction")


def _applies(view: View) -> str | None:
    return needs_messages(view) or unless_seen(_his_9, _never_shortens)(view)


def _shorter(view: View) -> Iterator[tuple[Run, Call, list[Paired], Call | None]]:
    """
    Each request that may have left something out: with the answered calls of the request before it, and that request.

    The first request of a session is measured at the history that the caller gave.
    """
    if any_mixed(view):
        return
    given = [one for one in pair([_message(one) for one in view.scenario.history]).calls if one.results]
    last: dict[str, tuple[Run, Call]] = {}
    every = [(run, call) for run in view.runs for call in run.calls if call.kind not in ("attempt", "auxiliary")]
    for run, call in sorted(every, key=lambda one: one[1].seq):
        came = last.get(run.session)
        if came is None:
            known, before = given, None
        elif goes_on(came[0], run, call, view):
            known, before = [one for one in came[1].paired.calls if one.results or one.late], came[1]
        else:
            known, before = [], None
        if known:
            yield run, call, known, before
        if call.kind != "compaction":
            last[run.session] = (run, call)


def _message(given: Mapping[str, Any]) -> Message:
    made = [
        ToolCall(one.get("id"), one["function"]["name"], one["function"].get("arguments", ""))
        for one in given.get("toolCalls") or ()
    ]
    return Message(given["role"], None, tuple(made), given.get("toolCallId"))


def _said_since(before: Call | None, call: Call, run: Run, calls: Calls) -> list[ToolCall]:
    """The calls that the model made between two requests."""
    said: Sequence[Made] = calls.said_before(call, run.session)
    return [made.call for made in said if before is not None and made.by.seq >= before.seq]


_ISSUES = "https://github.com"

HIS_9 = Rule(
    id="HIS-9",
    level=MUST,
    clause="A history that is trimmed or compacted keeps a call together with its result, or drops both.",
    rationale="Half a pair is refused by the provider, so that the cure for a long conversation ends it.",
    evidence=(
        f"{_ISSUES}/langchain-ai/langchain/issues/38352",
        f"{_ISSUES}/BerriAI/litellm/issues/10696",
        f"{_ISSUES}/langchain4j/langchain4j/issues/3133",
        f"{_ISSUES}/letta-ai/letta/issues/2605",
    ),
    channels="M",
    keys=("tool_history", "prompt_too_long"),
    applies=_applies,
    check=_his_9,
)
