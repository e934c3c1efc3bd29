"""What plays of one scenario in several cells have to share, and where two of them part. Judges nothing."""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, zip_longest
from typing import Any, Literal

from conformance.cell import cell_of
from conformance.reading.conversation import conversation
from conformance.reading.outcome import claimed, final_text
from conformance.reading.pairing import arguments
from conformance.reading.tool_calls import as_text, equal, tool_calls
from conformance.reading.view import Call, Execution, Run, View
from fake_models.records import BREAKS

#: What two plays can share. `text` is the final one, `shown` the calls that the events show.
Aspect = Literal["requests", "executions", "outcome", "text", "shown"]
ALL: frozenset[Aspect] = frozenset(("requests", "executions", "outcome", "text", "shown"))

#: What has to be equal in spite of a fault that the model was made to have. A status comes before any byte of a reply, so that
#: no cell shows more of it than another. A 200 that is no reply is a failure, however it is read. Where a reply breaks, what
#: came by then differs from cell to cell, and so may all that follows. Quirks belong to streams alone, and what a wire
#: could not say is another reply.
FAULTED: Mapping[str, frozenset[Aspect]] = {
    "error": frozenset(("requests", "executions", "outcome")),
    "no_reply": frozenset(("executions", "outcome")),
    "broken": frozenset(),
    "quirk": frozenset(),
    "altered": frozenset(),
}
_BREAKS = frozenset(BREAKS.values())

#: Keys of a body that say how the reply is to come, that were compared as what they mean, or that name the call: not the request.
_ASIDE = frozenset(
    {
        *("stream", "stream_options", "messages", "input", "instructions", "system", "contents", "systemInstruction"),
        *("system_instruction", "tools", "tool_choice", "toolConfig", "tool_config", "previous_response_id"),
        *("metadata", "user", "safety_identifier", "prompt_cache_key"),
    }
)
#: What is another one in each play of an agent that looks at a clock or throws dice.
_PASSING = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\b[0-9a-f]{32}\b"
    r"|\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?)?(?:Z|[+-]\d\d:?\d\d)?|\b\d\d:\d\d:\d\d(?:\.\d+)?",
    re.IGNORECASE,
)
_DIGITS = re.compile(r"\d+")
_INSTRUCTIONS = ("system", "developer")
_CONVERSATION = ("regular", "retry", "summary", "compaction")


@dataclass(frozen=True, slots=True)
class Difference:
    """Where a play leaves another: `message` has both, `seq` is a record of the play and `faults` are what came before it."""

    aspect: Aspect
    message: str
    seq: int
    faults: frozenset[str] = frozenset()


def cell_name(view: View) -> str:
    """The cell that a play was made in."""
    return cell_of(view.recording.header).name


def scenarios(views: Sequence[View]) -> list[list[int]]:
    """The places of the plays of each scenario, in the order played."""
    found: dict[str, list[int]] = defaultdict(list)
    for index, view in enumerate(views):
        found[view.scenario.id].append(index)
    return list(found.values())


def pairs(views: Sequence[View], places: Sequence[int]) -> Iterator[tuple[int, list[int]]]:
    """
    Each play of a scenario with those it is held against: on its own wire the first cell, else the first cell of all.

    Repeats of one cell are held against none of it.
    """
    firsts: dict[str, str] = {}
    for place in places:
        firsts.setdefault(views[place].recording.header.wire, cell_name(views[place]))
    for place in places:
        first = firsts[views[place].recording.header.wire]
        base = first if cell_name(views[place]) != first else next(iter(firsts.values()))
        if cell_name(views[place]) != base:
            yield place, [one for one in places if cell_name(views[one]) == base]


def parted(view: View, base: View, aspects: Iterable[Aspect]) -> list[Difference | None]:
    """Run by run whether a play goes as another does: None where it does; nothing where neither is to be held against the other."""
    if any(spec.start == "with" for spec in view.scenario.runs):
        # Runs beside each other race, and may do so otherwise each time.
        return []
    looked = tuple(aspects)
    found: list[Difference | None] = []
    for place, (mine, other) in enumerate(zip(view.runs, base.runs, strict=False)):
        if not all(run.how in ("returned", "raised") and not run.cancelled for run in (mine, other)):
            break
        if _raced(mine, view) or _raced(other, base):
            break
        faults = _faults(view, base, place)
        allowed = _spared(faults)
        # Requests are held against each other as far as the first fault.
        differing = (
            _DIFFERING[one](view, base, place, faults) for one in looked if one in allowed or one == "requests"
        )
        first = next((one for one in differing if one is not None), None)
        if first is not None:
            found.append(first)
            break
        if allowed.intersection(looked):
            found.append(None)
    return found


def _raced(run: Run, view: View) -> bool:
    """Whether what a run shows is a race, which may end otherwise each time: of calls side by side, with each other or with its end."""
    return _outcomes_raced(run, view) or _end_raced(run, view)


def _outcomes_raced(run: Run, view: View) -> bool:
    """Calls of one tool whose outcomes depend on which comes first overlapped, or did not begin in the order they were said."""
    several = {name for name, tool in view.scenario.tools.items() if len(tool.sequence) > 1}
    mine = [one for one in run.executions if one.tool in several]
    if any(one.tool == after.tool and after.seq < (one.end_seq or run.end_seq) for one, after in pairwise(mine)):
        return True
    made = [one for one in tool_calls(view).made if one.run.id == run.id]
    begun = {name: [ran.seq for one in made if one.call.name == name for ran in one.executions] for name in several}
    return any(seqs != sorted(seqs) for seqs in begun.values())


def _end_raced(run: Run, view: View) -> bool:
    """What a tool's result brought about raised the run, while others of its reply, side by side with it, may not have begun."""
    last = run.main[-1] if run.main else None
    if run.how != "raised" or last is None or view.dialect.parallel_tools == "sequential":
        return False
    return len(last.said) > 1 and any(one.seq > last.seq for one in run.executions)


def _spared(faults: Iterable[str]) -> frozenset[Aspect]:
    """What has to be equal in spite of these faults."""
    return frozenset.intersection(ALL, *(FAULTED[one] for one in faults))


def same_wire(view: View, base: View) -> bool:
    """Whether two plays speak one wire, so that equal requests have equal bodies."""
    return view.recording.header.wire == base.recording.header.wire


def _faults(view: View, base: View, place: int) -> frozenset[str]:
    """What was wrong with the model in either play until the end of a run."""
    if place < 0:
        return frozenset()
    one, other = (each.once(_all_faults)[: place + 1] for each in (view, base))
    return frozenset(kind for run in (*one, *other) for kind in run) | _altered(view, base, place)


def _all_faults(view: View) -> tuple[frozenset[str], ...]:
    return tuple(frozenset(filter(None, map(fault, run.calls))) for run in view.runs)


def _altered(view: View, base: View, place: int) -> frozenset[str]:
    """Whether the model said another thing in one play than in the other, since a wire has no word for it."""
    said = [
        [
            set(call.reply.altered) & {"parts", "stop"}
            for run in one.runs[: place + 1]
            for call in run.calls
            if call.reply
        ]
        for one in (view, base)
    ]
    other = any(map(any, said)) if not same_wire(view, base) else said[0] != said[1] and any(map(any, said))
    return frozenset(("altered",)) if other else frozenset()


def fault(call: Call) -> str | None:
    """What was wrong with the model's side of a call, as a key of `FAULTED`; a refusal of what the agent sent is no such thing."""
    if call.reply is None:
        return (
            None
            if call.refused is not None and call.refused.get("by") != "window"
            else "error"
            if call.refused
            else "broken"
        )
    told = call.reply.fault or {}
    if _BREAKS & set(told) or (call.reply.status == 200 and call.failed and "error" not in told):
        return "broken"
    if "error" in told:
        return "no_reply" if call.reply.status == 200 else "error"
    return "quirk" if told else None


def _requests(view: View, base: View, place: int, _faults_by_then: frozenset[str]) -> Difference | None:
    """The first request that is another one, before the first fault behind which requests may differ."""
    faults = _faults(view, base, place - 1)
    read = _to_the_field if same_wire(view, base) else _by_meaning
    asked, expected = (one.once(read)[one.runs[place].id] for one in (view, base))
    for mine, other in zip_longest(asked, expected):
        if "requests" not in _spared(faults):
            return None
        if mine is None or other is None:
            run = view.runs[place]
            came, wanted = len(asked), len(expected)
            more = f"; {mine.call.id} has no like" if mine is not None else ""
            message = f"run {run.id} makes {came} request{'' if came == 1 else 's'}, expected {wanted}{more}"
            return Difference("requests", message, mine.call.seq if mine is not None else run.end_seq, faults)
        if (what := _first(mine.holds, other.holds)) is not None:
            return Difference("requests", f"{mine.call.id} is another request: {what}", mine.call.seq, faults)
        faults |= frozenset(filter(None, (fault(mine.call), fault(other.call)))) | _altered(view, base, place)
    return None


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request with what it holds, by name: field by field, or what it means on any wire."""

    call: Call
    holds: tuple[tuple[str, Any], ...]


def _to_the_field(view: View) -> Mapping[str, Sequence[_Asked]]:
    return {run.id: [_Asked(call, tuple(_fields(call))) for call in _conversation(run)] for run in view.runs}


def _by_meaning(view: View) -> Mapping[str, Sequence[_Asked]]:
    thoughts = [call.reply.thinking for run in view.runs for call in run.calls if call.reply and call.reply.thinking]
    return {run.id: [_Asked(call, tuple(_meaning(call, thoughts))) for call in _conversation(run)] for run in view.runs}


def _conversation(run: Run) -> Iterator[Call]:
    return (call for call in run.calls if call.kind in _CONVERSATION and (call.refused or {}).get("by") != "late")


def _fields(call: Call) -> Iterator[tuple[str, Any]]:
    """A request field by field: messages in order with the results at their calls, tools, and what else the body says."""
    found = call.paired
    orphans = {one.result.index for one in found.orphans}
    for index, message in enumerate(call.request.messages):
        content = _steady(message.content or "", message.role)
        if content and (message.role != "tool" or index in orphans):
            yield f"messages[{index}], {message.role}", content
        for one in found.calls:
            if one.index == index:
                yield f"messages[{index}], call of {one.call.name}", arguments(one.call.arguments)
                yield f"the result of that call of {one.call.name}", _steady(one.content, "tool")
    for tool in call.request.tools or ():
        yield f"tool {tool.name}", [tool.description, tool.parameters]
    yield "tool_choice", call.request.tool_choice
    body = call.body if isinstance(call.body, Mapping) else {}
    for key in sorted(body.keys() - _ASIDE):
        yield str(key), body[key]


def _meaning(call: Call, thoughts: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """What a request says on any wire: no ids, no system text, no white space."""
    for one in conversation(call, thoughts):
        named = f"call of {one.name} with its result" if one.kind == "call" else f"{one.kind} text"
        yield named, [one.arguments, _PASSING.sub("#", one.text)] if one.kind == "call" else _PASSING.sub("#", one.text)
    yield "tools that can be called", sorted(call.request.callable_tools)


def _steady(content: str, role: str) -> str:
    """A text without what passes: in system text, where clocks and counters stand, no number at all."""
    return (_DIGITS if role in _INSTRUCTIONS else _PASSING).sub("#", content.strip())


def _first(mine: Sequence[tuple[str, Any]], other: Sequence[tuple[str, Any]]) -> str | None:
    if mine == other:
        return None
    for one, two in zip_longest(mine, other):
        if one is None or two is None:
            name, value = one or two
            came, lacking = ("has", "the other none") if one is not None else ("lacks", "the other has it")
            return f"it {came} {name} {as_text(value)}, {lacking}"
        if one[0] != two[0]:
            return f"it has {one[0]} {as_text(one[1])} where the other has {two[0]} {as_text(two[1])}"
        if not equal(one[1], two[1]):
            return f"{one[0]} is {as_text(one[1])}, expected {as_text(two[1])}"
    return None


def _executions(view: View, base: View, place: int, faults: frozenset[str]) -> Difference | None:
    """Which tools ran with which arguments; concurrent ones run in any order."""
    mine, other = (sorted(one.runs[place].executions, key=_ran) for one in (view, base))
    for one, two in zip_longest(mine, other):
        if one is None or two is None or one.tool != two.tool or not equal(one.arguments, two.arguments):
            run = view.runs[place]
            seq = one.seq if one is not None else run.end_seq
            message = f"run {run.id} runs {_told(one)}, expected {_told(two)}"
            return Difference("executions", message, seq, faults)
    return None


def _ran(one: Execution) -> str:
    return f"{one.tool} {json.dumps(one.arguments, sort_keys=True)}"


def _told(one: Execution | None) -> str:
    return "no further tool" if one is None else f"{one.tool} {as_text(one.arguments)}"


def _outcome(view: View, base: View, place: int, faults: frozenset[str]) -> Difference | None:
    """How the run ends; after a fault only whether it was answered."""
    mine, other = (_ending(one.runs[place], one, bool(faults)) for one in (view, base))
    if mine == other:
        return None
    run = view.runs[place]
    return Difference("outcome", f"run {run.id} ends as {_plain(mine)}, expected {_plain(other)}", run.end_seq, faults)


def _ending(run: Run, view: View, faulted: bool) -> tuple[str, ...]:  # noqa: FBT001 - a fact of both plays
    claim = claimed(run, view)
    if claim is None:
        return ("no outcome",)
    if faulted:
        return ("answered" if claim.kind == "answered" else "not answered",)
    terminal = run.terminal.type if run.terminal is not None and "E" in view.channels else ""
    return (claim.kind, terminal)


def _plain(ending: Sequence[str]) -> str:
    return " by ".join(filter(None, ending))


def _text(view: View, base: View, place: int, faults: frozenset[str]) -> Difference | None:
    mine, other = ((final_text(one.runs[place], one) or "").strip() for one in (view, base))
    if mine == other:
        return None
    run = view.runs[place]
    at = next((at for at, (a, b) in enumerate(zip_longest(mine, other)) if a != b), 0)
    start = max(at - 20, 0)
    message = (
        f"run {run.id}: the text differs from character {at + 1} on: {as_text(mine[start : at + 40])}, expected "
        f"{as_text(other[start : at + 40])}"
    )
    return Difference("text", message, run.terminal.seq if run.terminal else run.end_seq, faults)


def _shown(view: View, base: View, place: int, faults: frozenset[str]) -> Difference | None:
    """The arguments in the events, where both plays show any."""
    mine, other = (one.runs[place].shown.tool_calls for one in (view, base))
    if not mine or not other:
        return None
    for one, two in zip(mine, other, strict=False):
        came, expected = arguments(one.arguments), arguments(two.arguments)
        if one.name == two.name and not equal(came, expected):
            message = f"run {view.runs[place].id} shows {one.name} {as_text(came)}, expected {as_text(expected)}"
            return Difference("shown", message, one.seq, faults)
    return None


_DIFFERING = {
    "requests": _requests,
    "executions": _executions,
    "outcome": _outcome,
    "text": _text,
    "shown": _shown,
}
