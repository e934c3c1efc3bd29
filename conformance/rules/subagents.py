"""SUB: agents inside a run. Judges a child by its side calls, and its parent by the rest; nothing where the two cannot be told apart."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from conformance.reading.classes import is_empty
from conformance.reading.outcome import answer_call, claimed
from conformance.reading.pairing import arguments
from conformance.reading.round_limit import rounds_made
from conformance.reading.tool_calls import tool_calls
from conformance.reading.view import Call, Run, View
from conformance.rule import MUST, OK, Finding, Judged, Rule
from fake_models.messages import ToolCall

_FORGE = "https://github.com/"


@dataclass(frozen=True, slots=True)
class _Handoff:
    """A reply of the parent's that calls children: the children's calls, all their side calls, and the parent's next request."""

    run: Run
    by: Call
    called: tuple[ToolCall, ...]
    inside: tuple[Call, ...]
    follows: Call | None


def _children(run: Run, view: View) -> Mapping[str, Any]:
    if not view.has("subagents") or run.spec is None:
        return {}
    found: Mapping[str, Any] = run.spec.knobs.get("subagents", {})
    return found


def _handoffs(run: Run, view: View) -> Iterator[_Handoff]:
    names = _children(run, view)
    for one in run.main:
        by = run.outcome_of(one)
        called = tuple(call for call in by.said if call.name in names)
        if not called:
            continue
        follows = next((later for later in run.main if later.seq > by.end_seq), None)
        until = follows.seq if follows is not None else run.end_seq
        inside = tuple(call for call in run.calls if call.kind == "auxiliary" and by.end_seq < call.seq < until)
        yield _Handoff(run, by, called, inside, follows)


def a_childs_limit_is_its_own(view: View) -> Judged:
    """Its own rounds and one closing call, the parent's rounds whole, and every call beside a child's answered."""
    for run in view.runs:
        handoffs = list(_handoffs(run, view))
        if not handoffs or run.cancelled or not any(one.inside for one in handoffs):
            continue
        for one in handoffs:
            yield from _bounded(one, _children(run, view))
            yield from _not_cut(one, view)
            yield from _answered(one, view)
        yield from _parents_rounds(run, view)


def _bounded(one: _Handoff, names: Mapping[str, Any]) -> Judged:
    for call, inside, most in _each(one, names):
        acting = [made for made in inside if made.request.callable_tools]
        if len(acting) > most or len(inside) > most + 1:
            at = acting[most] if len(acting) > most else inside[most + 1]
            yield Finding(
                f"run {one.run.id}: {call.name}, called in {one.by.id}, made {len(inside)} model calls, {len(acting)} of them with "
                f"tools; its own limit is {most} and one to close",
                at.seq,
                (one.by.seq,),
            )
        elif inside:
            yield OK


def _each(one: _Handoff, names: Mapping[str, Any]) -> Iterator[tuple[ToolCall, Sequence[Call], int]]:
    """Each child with its calls and its limit; all children of a reply as one where their tasks do not tell them apart."""
    if len(one.called) == 1:
        yield one.called[0], one.inside, names[one.called[0].name]["max_iters"]
        return
    tasks = {_task(call): call for call in one.called}
    theirs: dict[str, list[Call]] = {task: [] for task in tasks}
    for inside in one.inside:
        users = " ".join(message.content or "" for message in inside.request.messages if message.role == "user")
        mine = [task for task in tasks if task and task in users]
        if len(mine) == 1:
            theirs[mine[0]].append(inside)
    if len(tasks) == len(one.called) and sum(map(len, theirs.values())) == len(one.inside):
        for task, call in tasks.items():
            yield call, theirs[task], names[call.name]["max_iters"]
        return
    limits = [names[call.name]["max_iters"] for call in one.called]
    yield one.called[0], one.inside, sum(limits) + len(limits) - 1


def _task(call: ToolCall) -> str:
    given = arguments(call.arguments)
    return str(given.get("task", "")) if isinstance(given, dict) else ""


def _not_cut(one: _Handoff, view: View) -> Judged:
    """Whether the last thing a child's model said was a call, with rounds of the child's own left to make."""
    for call, inside, most in _each(one, _children(one.run, view)):
        if not inside or one.follows is None or len(one.called) > 1:
            continue
        sound = all(not made.failed and not is_empty(made, view.dialect) for made in inside)
        rounds = [made for made in inside if made.request.callable_tools]
        # What comes behind the rounds closes.
        asked = bool(rounds) and bool(rounds[-1].said) and answer_call(rounds[-1], view.dialect) is None
        last = inside[-1]
        if sound and len(rounds) < most and asked:
            yield Finding(
                f"run {one.run.id}: {call.name}, called in {one.by.id}, was stopped after {len(rounds)} model calls though its model "
                f"asked for more; its own limit is {most}",
                last.seq,
                (one.by.seq,),
            )


def _answered(one: _Handoff, view: View) -> Judged:
    if one.follows is None or view.dialect.tool_history != "messages" or len(one.by.said) == len(one.called):
        return
    carried = tool_calls(view).carried(one.follows, one.run.session)
    for made in tool_calls(view).made:
        if made.by.id != one.by.id:
            continue
        there = carried.get(made.key)
        if there is not None and (there.results or there.late):
            yield OK
        else:
            yield Finding(
                f"run {one.run.id}: {made.call.name} was called in {one.by.id} beside the child {one.called[0].name}, and "
                f"{one.follows.id} has no result of it; expected every call of the reply to be answered",
                one.follows.seq,
                (one.by.seq,),
            )


def _parents_rounds(run: Run, view: View) -> Judged:
    claim = claimed(run, view)
    if not run.limited or run.max_iters is None or claim is None:
        return
    made = rounds_made(run, view)
    if claim.kind == "limit" and made < run.max_iters:
        yield Finding(
            f"run {run.id} ends as limit after {made} rounds of its own, and the caller allows {run.max_iters}; a child's are none of them",
            claim.seq,
        )
    elif made > run.max_iters:
        yield Finding(
            f"run {run.id} made {made} rounds of its own, and the caller allows {run.max_iters}; a child's limit adds none",
            run.regular[-1].seq,
        )
    else:
        yield OK


def _has_children(view: View) -> str | None:
    return None if view.has("subagents") else "capability"


RULES: tuple[Rule, ...] = (
    Rule(
        id="SUB-1",
        level=MUST,
        clause="A child agent's limit is its own and spends none of its parent's, and the calls beside a child's are answered.",
        rationale="Children that share a budget starve each other or spend what nobody gave them; a call left unanswered ends the parent.",
        channels="M,T",
        applies=_has_children,
        check=a_childs_limit_is_its_own,
        evidence=(
            f"{_FORGE}NousResearch/hermes-agent/issues/2873",
            f"{_FORGE}openai/openai-agents-js/issues/444",
        ),
    ),
)
