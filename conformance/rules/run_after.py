"""RUN: a run that has told its end is over: what it still asks, does or sends is late. Judges no ending itself."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from conformance.reading.agui import Event, value
from conformance.reading.classes import SIDE_CALLS
from conformance.reading.view import Call, Execution, Run, View
from conformance.rule import MUST, OK, Finding, Judged, Rule

_Thing = TypeVar("_Thing", Call, Execution, Event)

_ISSUES = "https://github.com/"
_TERMINAL = ("RUN_FINISHED", "RUN_ERROR")


@dataclass(frozen=True, slots=True)
class _End:
    """Where a run ended for its caller, and by what."""

    seq: int
    by: str


def nothing_follows_the_end(view: View) -> Judged:
    """RUN-9: records of the run behind its end, those behind the kit's own `run_end` too."""
    for run in view.runs:
        end = _end(run, view)
        if end is None:
            continue
        beside = _other_parts(run, end)
        late = [
            *_late([call for call in run.calls if _is_late(call, end)], beside, _request),
            *_late([x for x in run.executions if x.seq > end.seq], beside, _execution),
            *_late(_late_events(run, end) if "E" in view.channels else [], (), _event),
        ]
        for what, seqs in late:
            more = f" and {len(seqs) - 1} more like it" if len(seqs) > 1 else ""
            yield Finding(
                f"run {run.id} ended with {end.by} (record {end.seq}), and after that {what}{more}; nothing of a run was expected "
                "after its end",
                seqs[0],
                related=(end.seq, *seqs[1:]),
            )
        if not late:
            yield OK


def _end(run: Run, view: View) -> _End | None:
    """The terminal event, else the result, else the return; None where the kit had to end the run."""
    ends = [event for event in run.events if event.type in _TERMINAL] if "E" in view.channels else []
    if ends:
        return _End(ends[0].seq, ends[0].type)
    told = [one.seq for one in (run.said, run.raised) if one is not None]
    if told:
        return _End(min(told), "its result" if run.raised is None else "an exception")
    return _End(run.end_seq, "its return") if run.how in ("returned", "raised") else None


def _is_late(call: Call, end: _End) -> bool:
    """A compaction may still follow the end while the run is open, and what is marked as standing beside the loop always may."""
    if call.seq < end.seq or call.role == "auxiliary":
        return False
    return call.role not in SIDE_CALLS or (call.refused or {}).get("by") == "late"


def _other_parts(run: Run, end: _End) -> tuple[tuple[int, int], ...]:
    """From where to where the parts of other runs reach that the same stream goes on with: what happens there is theirs."""
    spans: list[tuple[int, int]] = []
    open_since: int | None = None
    for event in (one for one in run.strays if one.seq > end.seq):
        if event.type == "RUN_STARTED":
            open_since = None if _names_this(event, run) else event.seq
        elif event.type in _TERMINAL and open_since is not None:
            spans.append((open_since, event.seq))
            open_since = None
    return tuple(spans) if open_since is None else (*spans, (open_since, run.end_seq))


def _late_events(run: Run, end: _End) -> list[Event]:
    """The adapter's own word for an exception is no event of the agent's; one terminal too many is."""
    again = next((one.seq for one in run.strays if one.type == "RUN_STARTED" and _names_this(one, run)), None)
    mine = [*run.events, *(one for one in run.strays if again is not None and one.seq == again)]
    return [event for event in mine if event.seq > end.seq and not event.raised]


def _names_this(event: Event, run: Run) -> bool:
    return bool(value(event, "runId") == run.given.get("runId", run.id))


def _late(
    things: Sequence[_Thing], beside: Sequence[tuple[int, int]], name: Callable[[_Thing], str]
) -> Iterator[tuple[str, list[int]]]:
    """What of these things came late, told by the first of them, and where each stands."""
    mine = [one for one in things if not any(first < one.seq < last for first, last in beside)]
    if mine:
        yield name(mine[0]), [one.seq for one in mine]


def _request(call: Call) -> str:
    return f"{call.id} asked its model again (a call beside the loop is marked by a header or declared in side_calls)"


def _execution(one: Execution) -> str:
    return f"{one.id} ran {one.tool}"


def _event(event: Event) -> str:
    return f"{event.type or 'an event'} was sent"


RULES: tuple[Rule, ...] = (
    Rule(
        id="RUN-9",
        level=MUST,
        clause="After its terminal event, or its result where there are no events, a run asks its model nothing, runs no tool and sends no event.",
        rationale="Whoever was told that a run is over acts on it; what still happens then is paid for and seen by nobody.",
        # An agent without events ends with its result: R stands in for E.
        channels="M,T,E,R",
        check=nothing_follows_the_end,
        evidence=(
            f"{_ISSUES}google/adk-python/pull/6769",
            f"{_ISSUES}ag-ui-protocol/ag-ui/issues/2813",
            f"{_ISSUES}ag-ui-protocol/ag-ui/issues/1892",
        ),
    ),
)
