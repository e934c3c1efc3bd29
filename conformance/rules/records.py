"""OBS: an agent's own record of its steps is whole and true, and keeping it changes nothing. Judges no event beside the record."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby, pairwise
from types import MappingProxyType
from typing import Any

from conformance.reading.containment import carries
from conformance.reading.outcome import KINDS, actual, claimed
from conformance.reading.told import OBSERVING, Step, recorded, told_at_the_end
from conformance.reading.tool_calls import as_text, tool_calls
from conformance.reading.view import Call, Execution, Run, View
from conformance.rule import MUST, OK, SHOULD, Finding, Judged, Rule
from conformance.rules.streaming_plays import parted

_ISSUES = "https://github.com/"
#: Ends of a run that leave an agent no time to tell what became of its steps.
_NO_TIME = frozenset({"died", "hung"})
#: What a step may become, by what it is; "" is a step that nothing was told of before. A failed one may be tried again.
PATHS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "": frozenset({"running", "waiting", "done", "failed", "skipped", "cancelled"}),
        "running": frozenset({"waiting", "done", "failed", "skipped", "cancelled"}),
        "waiting": frozenset({"running", "done", "failed", "skipped", "cancelled"}),
        "failed": frozenset({"running"}),
        "done": frozenset(),
        "skipped": frozenset(),
        "cancelled": frozenset(),
    }
)
#: Kinds of step that take time, and so cannot be done without ever having run.
_TAKES_TIME = frozenset({"tool", "model", "run"})
#: Characters of a result beyond which a record may cut it.
_LARGE = 500
_STATUS_OF_ERROR = frozenset({"failed", "cancelled"})


def keeps_records(view: View) -> str | None:
    """Binds agents that say they record their steps."""
    return None if view.has("records") else "capability"


def _could_tell(view: View) -> Iterator[tuple[Run, tuple[Step, ...]]]:
    for run, steps in recorded(view):
        if run.how not in _NO_TIME and (run.spec is None or run.spec.kill is None):
            yield run, steps


def tool_steps_are_whole(view: View) -> Judged:
    """OBS-1, by the call's id: an execution without one is not looked for."""
    for run, steps in _could_tell(view):
        by_call: dict[str, list[Execution]] = {}
        for x in run.executions:
            if x.call_id:
                by_call.setdefault(x.call_id, []).append(x)
        for call_id, ran in by_call.items():
            mine = [one for one in steps if one.kind == "tool" and one.call_id == call_id]
            wrong = _before(ran, mine, run) or _after(ran, mine)
            yield wrong if wrong is not None else OK
        yield from _never_ran(run, steps, view)


def _never_ran(run: Run, steps: Sequence[Step], view: View) -> Judged:
    """Calls of the kit's tools for which nothing ran in the whole recording, and that the record has as done."""
    every = tool_calls(view).made
    made = {one.call.id: one for one in every if one.run.session == run.session and one.tool and one.sound}
    for last in {one.name: one for one in steps if one.kind == "tool"}.values():
        idle = made.get(last.call_id or "")
        if idle is not None and not idle.executions and last.state == "done":
            yield Finding(
                f"step {last.name!r} ends as 'done', but {idle} never ran; expected skipped, failed or cancelled",
                last.seq,
                (idle.seq,),
            )


def _before(ran: Sequence[Execution], mine: Sequence[Step], run: Run) -> Finding | None:
    first = ran[0]
    if any(one.state == "running" and one.seq < first.seq for one in mine):
        return None
    late = next((one for one in mine if one.state == "running"), None)
    if late is not None and late is mine[0] and told_at_the_end(run):
        return None
    came = (
        "its step is not recorded at all"
        if not mine
        else "its step was recorded as running only after that"
        if late
        else "its step was never recorded as running"
    )
    return Finding(
        f"{first.id}: {first.tool} ({first.call_id}) ran, and {came}; a step that runs was expected to be recorded before it",
        first.seq,
        tuple(one.seq for one in mine[:1]),
    )


def _after(ran: Sequence[Execution], mine: Sequence[Step]) -> Finding | None:
    first, last = mine[0], mine[-1]
    if last.state == "running":
        return None  # OBS-3's
    failed = ran[-1].error is not None or ran[-1].end_seq is None
    lacking = [
        what
        for what, there in (
            ("result", last.data.get("result") is not None or (last.state != "done" and bool(last.reason))),
            ("duration_s", _is_duration(last.data.get("duration_s"))),
        )
        if not there
    ]
    if lacking:
        return Finding(
            f"step {last.name!r} ends as {last.state!r} without {' and '.join(lacking)}, expected what came of {ran[-1].tool}, and in "
            f"how many seconds; it carries {as_text(dict(last.data))}",
            last.seq,
            (first.seq, ran[-1].seq),
        )
    if last.state == "done" and not failed and (lost := _lost(last.data["result"], ran[-1].value)):
        return Finding(
            f"step {last.name!r} records the result {as_text(last.data['result'])}, but {ran[-1].id} ({ran[-1].tool}) returned "
            f"{as_text(ran[-1].value)}; {as_text(lost[0])} is not in it",
            last.seq,
            (ran[-1].seq,),
        )
    true = last.state in _STATUS_OF_ERROR if failed else last.state == "done"
    if not true and not (not failed and (ran[-1].end_seq or 0) > last.seq):
        came = "failed" if failed else "returned"
        return Finding(
            f"step {last.name!r} ends as {last.state!r}, but {ran[-1].id} ({ran[-1].tool}) {came}; expected "
            f"{'failed' if failed else 'done'!r}",
            last.seq,
            (ran[-1].seq,),
        )
    return None


def _lost(told: Any, value: Any) -> tuple[Any, ...]:
    """What of a value is not in a result as it is told; a large one may be cut."""
    if len(json.dumps(value, ensure_ascii=False)) > _LARGE:
        return ()
    return carries(told if isinstance(told, str) else json.dumps(told, ensure_ascii=False), value)


def _is_duration(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0


def the_end_is_recorded(view: View) -> Judged:
    """OBS-2. What the reason says is free text; one that opens with a kind of outcome has to be the run's own."""
    for run, steps in _could_tell(view):
        claim = claimed(run, view)
        if claim is None:
            continue
        own = [one for one in steps if one.kind == "run"]
        why = own[-1] if own else None
        opens = why.reason.partition(":")[0].strip().casefold() if why is not None else ""
        if why is None or why.state == "running" or not why.reason.strip():
            came = (
                "has no step of kind 'run'"
                if why is None
                else f"leaves step {why.name!r} as {why.state!r} with the reason {why.reason!r}"
            )
            yield Finding(
                f"the record of run {run.id} {came}; its end, {claim.kind!r}, was expected there with the reason",
                run.end_seq if why is None else why.seq,
            )
        elif opens in KINDS and opens != claim.kind:
            yield Finding(
                f"the record of run {run.id} says that it stopped as {opens!r}, but the run says {claim.kind!r}",
                why.seq,
                (claim.seq,),
            )
        else:
            yield OK
        if claim.kind == "answered" and actual(run, view) == "answered":
            yield from _answer_step(run, steps)


def _answer_step(run: Run, steps: Sequence[Step]) -> Judged:
    if any(one.kind == "answer" and one.state == "done" for one in steps):
        yield OK
    else:
        yield Finding(
            f"run {run.id} was answered, but its record has no step of kind 'answer' that is done; one was expected",
            run.end_seq,
        )


def nothing_goes_on_forever(view: View) -> Judged:
    """OBS-3, step by step."""
    for run, steps in _could_tell(view):
        claim = claimed(run, view)
        end = claim.kind if claim is not None else run.how
        for last in {one.name: one for one in steps}.values():
            if last.state == "running":
                message = f"run {run.id} is over ({end}), but its step {last.name!r} is still running; its end was expected to be recorded"
                yield Finding(message, last.seq, (run.end_seq,))
            else:
                yield OK


def steps_go_a_legal_way(view: View) -> Judged:
    """OBS-4. The reason is owed for every change but the begin; what says the same state again is no change."""
    for _, steps in recorded(view):
        by_name: dict[str, list[Step]] = {}
        for one in steps:
            by_name.setdefault(one.name, []).append(one)
        for mine in by_name.values():
            for before, after in pairwise((None, *mine)):
                if after is not None and (before is None or before.state != after.state):
                    yield _step_taken(before, after) or OK


def _step_taken(before: Step | None, after: Step) -> Finding | None:
    was = before.state if before is not None else ""
    related = (before.seq,) if before is not None else ()
    if after.state not in PATHS:
        known = ", ".join(one for one in PATHS if one)
        return Finding(f"step {after.name!r} is {after.state!r}; the states are {known}", after.seq, related)
    if was in PATHS and after.state not in PATHS[was]:
        then = ", ".join(sorted(PATHS[was])) or "nothing"
        return Finding(
            f"step {after.name!r} was {was!r} and becomes {after.state!r}; what may follow is {then}",
            after.seq,
            related,
        )
    if not was and after.state == "done" and after.kind in _TAKES_TIME:
        return Finding(f"step {after.name!r} is done and was never running", after.seq)
    if after.state != "running" and not after.reason.strip():
        return Finding(
            f"step {after.name!r} becomes {after.state!r} without a reason; one was expected", after.seq, related
        )
    return None


def the_history_outlives_compaction(view: View) -> Judged:
    """OBS-5, of runs behind a compaction whose record says how many messages are kept. A request before it shows how many there were."""
    for run, steps in _could_tell(view):
        mine = [call for one in view.runs if one.session == run.session for call in one.calls]
        made = next((call for call in mine if call.kind == "compaction" and call.done_seq is not None), None)
        told = [one for one in steps if one.kind == "run" and _is_count(one.data.get("messages"))]
        if made is None or not told or told[-1].seq < made.seq:
            continue
        before = [call for call in mine if call.seq < made.seq and call.role != "auxiliary"]
        least = max((_turns(call) for call in before), default=0)
        kept, last = told[-1].data["messages"], told[-1]
        if not least:
            continue
        if kept < least:
            yield Finding(
                f"the record of run {run.id} keeps {kept} messages behind the compaction {made.id}, but {least} turns of user and "
                "agent had been sent before it; the whole history was expected to be kept",
                last.seq,
                (made.seq,),
            )
        else:
            yield OK


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _turns(call: Call) -> int:
    """How often user and agent took turns in a request: what stands between two user texts counts once, however it is stored."""
    roles = [message.role == "user" for message in call.request.messages if message.role not in ("system", "developer")]
    return len(list(groupby(roles)))


def watching_changes_nothing(view: View) -> Judged:
    """OBS-6: sessions of one scenario that are alike but for who watches are held against the first of them."""
    for base, others in _alike(view):
        for other in others:
            for difference in parted(_only(other, view), _only(base, view), ("requests", "outcome")):
                if difference is None:
                    yield OK
                else:
                    knobs = ", ".join(f"{as_text(_knobs(one[0]))} in {one[0].id}" for one in (other, base))
                    yield Finding(
                        f"{difference.message} ({knobs}); the same was expected, whoever watches", difference.seq
                    )


def _alike(view: View) -> list[tuple[list[Run], list[list[Run]]]]:
    """The sessions that ask the same, the first of each lot with all that differ from it in who watches."""
    sessions: dict[str, list[Run]] = {}
    for run in view.runs:
        if run.spec is not None:
            sessions.setdefault(run.session, []).append(run)
    lots: list[list[list[Run]]] = []
    for runs in sessions.values():
        lot = next((one for one in lots if _asks(one[0], view) == _asks(runs, view)), None)
        if lot is None:
            lots.append([runs])
        else:
            lot.append(runs)
    return [(lot[0], [one for one in lot[1:] if list(map(_knobs, one)) != list(map(_knobs, lot[0]))]) for lot in lots]


def _asks(runs: Sequence[Run], view: View) -> list[Any]:
    """What a session is for, who watches it and its users' wording aside; unlike all else where a hook may decide something."""
    planned = {run.id: data for run, data in zip(view.runs, view.scenario.data["runs"], strict=False)}
    aside = {"session", "knobs", "expect", "user"}
    same = [{key: value for key, value in planned[run.id].items() if key not in aside} for run in runs]
    return [*same, *(run.id for run in runs if not _only_watched(run, view)), *(_other_knobs(run) for run in runs)]


def _only_watched(run: Run, view: View) -> bool:
    ways = {"tell", "raise"} if view.dialect.listener_errors == "isolated" else {"tell"}
    hooks = _knobs(run).get("callbacks", ())
    return all(one["hook"] in OBSERVING and one.get("does", "tell") in ways for one in hooks)


def _knobs(run: Run) -> Mapping[str, Any]:
    return run.spec.knobs if run.spec is not None else {}


def _other_knobs(run: Run) -> Mapping[str, Any]:
    return {key: value for key, value in _knobs(run).items() if key not in ("tracing", "debug", "callbacks")}


def _only(runs: Sequence[Run], view: View) -> View:
    """A view of one session, its users' wording made the same."""
    return replace(view, runs=tuple(_worded_alike(run, runs) for run in runs), _made={})


def _worded_alike(run: Run, runs: Sequence[Run]) -> Run:
    def alike(call: Call) -> Call:
        said = call.request.messages
        for place, one in enumerate(runs):
            if one.user:
                token = f"<what the user says in run {place + 1}>"
                said = tuple(
                    replace(message, content=message.content.replace(one.user, token)) if message.content else message
                    for message in said
                )
        return replace(call, request=replace(call.request, messages=said))

    return replace(run, calls=tuple(map(alike, run.calls)))


RULES: tuple[Rule, ...] = (
    Rule(
        id="OBS-1",
        level=MUST,
        clause="The step of a tool is recorded before the tool starts, and ends with its result, its status and how long it took.",
        rationale="A record that is written afterwards says nothing of the tool that never came back.",
        channels="E,T",
        check=tool_steps_are_whole,
        evidence=(
            f"{_ISSUES}langwatch/langwatch/issues/3438",
            f"{_ISSUES}elastic/kibana/pull/277689",
            f"{_ISSUES}Arize-ai/openinference/issues/3343",
        ),
        about_events=True,
        applies=keeps_records,
    ),
    Rule(
        id="OBS-2",
        level=MUST,
        clause="The final answer is a step of its own, and the record of the run says why the run stopped.",
        rationale="Who reads the record later asks two things first: what was the answer, and why was that the end.",
        channels="E",
        check=the_end_is_recorded,
        evidence=(
            f"{_ISSUES}huggingface/smolagents/issues/1879",
            f"{_ISSUES}openai/openai-agents-python/issues/4070",
        ),
        about_events=True,
        applies=keeps_records,
    ),
    Rule(
        id="OBS-3",
        level=MUST,
        clause="Whatever ended the run, none of its steps stays recorded as running.",
        rationale="A step that runs for ever on paper is waited for, counted and billed by whoever trusts the record.",
        channels="E",
        check=nothing_goes_on_forever,
        evidence=(
            f"{_ISSUES}mastra-ai/mastra/pull/22398",
            f"{_ISSUES}mlflow/mlflow/pull/22731",
        ),
        about_events=True,
        applies=keeps_records,
    ),
    Rule(
        id="OBS-4",
        level=SHOULD,
        clause="Each change of a step's state has a reason, and the states follow each other in a legal order.",
        rationale="A step that is skipped without a word, or comes back from done, cannot be explained to anyone.",
        channels="E",
        check=steps_go_a_legal_way,
        evidence=(
            f"{_ISSUES}UsefulSoftwareCo/executor/pull/992",
            f"{_ISSUES}elastic/kibana/pull/277689",
        ),
        about_events=True,
        applies=keeps_records,
    ),
    Rule(
        id="OBS-5",
        level=SHOULD,
        clause="The whole history outlives a compaction: the record of the run goes on keeping every message that was sent before it.",
        rationale="A compaction is for the model's window. If it is the only copy that shrinks, nothing can be looked up any more.",
        channels="E,M",
        check=the_history_outlives_compaction,
        evidence=(f"{_ISSUES}NousResearch/hermes-agent/issues/92080",),
        about_events=True,
        applies=keeps_records,
    ),
    Rule(
        id="OBS-6",
        level=MUST,
        clause="Whether steps are recorded, a hook that looks on raises, or debug logging is on: the requests and the outcome are the same.",
        rationale="A fault that goes away while someone looks is never found, and one that comes only then is blamed on the agent.",
        channels="M,R",
        check=watching_changes_nothing,
        evidence=(
            f"{_ISSUES}alyf-de/ask_alyf/pull/139",
            f"{_ISSUES}nlpodyssey/openai-agents-go/issues/13",
            f"{_ISSUES}strands-agents/harness-sdk/pull/1797",
        ),
        keys=("listener_errors",),
        applies=keeps_records,
    ),
)
