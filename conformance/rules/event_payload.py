"""EVT: what an event of the agent's own carries, judged on the limit marker. Whether a marker has to come is LIM-5's."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from conformance.reading.agui import Event
from conformance.reading.outcome import marker_payload, markers
from conformance.reading.round_limit import numbers, reached, rounds_made
from conformance.reading.view import Run, View
from conformance.rule import OK, SHOULD, Finding, Judged, Rule

_ISSUES = "https://github.com/"
_ROUNDS = r"(iter(ation)?|turn|step|round)s?"
#: Names of a figure, in small letters alone, that is the budget, and of one that says how far the run came.
_BUDGET = re.compile(rf"(max|limit|budget|allowed).*{_ROUNDS}|{_ROUNDS}.*(max|limit|budget|allowed)")
_SO_FAR = re.compile(
    rf"(current|used|made|done|completed|reached|count|num|total|last).*{_ROUNDS}|^{_ROUNDS}(used|made|done|count)?$|{_ROUNDS}reached$"
)
#: What a figure with such a name may count instead: another unit, other rounds than those of the run, another limit than its own.
_OTHER = re.compile(
    r"index|id$|remain|left|per|token|retr|time|second|default|global|session|thread|conversation|unused|refus|paus|abandon|fail|skip|user"
)


def the_marker_is_whole(view: View) -> Judged:
    """Of several events that look like a marker one has to be right: the others may speak of another limit."""
    for run in view.runs:
        found = markers(run, view.dialect)
        if not found or run.max_iters is None or not reached(run, view):
            continue
        wrong = [(event, fault) for event in found if (fault := _fault(event, run, view)) is not None]
        if len(wrong) < len(found):
            yield OK
        else:
            event, fault = wrong[0]
            yield Finding(f"run {run.id}: the limit marker, a {event.type} event, {fault}", event.seq)


def _fault(event: Event, run: Run, view: View) -> str | None:
    payload = marker_payload(event)
    if not isinstance(payload, Mapping):
        return f"carries {payload!r:.120}; an object with its type and its figures was expected"
    if view.dialect.limit_unit != "rounds":
        # Its figures may be in the framework's own unit.
        return None if any(True for _ in numbers(payload)) else f"carries no figure: {payload!r:.120}"
    if run.max_iters not in set(numbers(payload)):
        return f"carries {payload!r:.120}; the budget {run.max_iters} was expected in it as a number"
    made = rounds_made(run, view)
    for name, figure in _figures(payload):
        letters = _letters(name)
        if _OTHER.search(letters):
            continue
        budget, so_far = _BUDGET.search(letters) is not None, _SO_FAR.search(letters) is not None
        # The round that was refused at its entry may be the one that is named.
        right = ({run.max_iters} if budget else set()) | ({made, made + 1} if so_far else set())
        if right and figure not in right:
            wanted = f"the {made} rounds that were made were" if so_far else f"the budget {run.max_iters} was"
            return f"says {name} {figure!r}; {wanted} expected"
    return None


def _figures(value: Any) -> Iterator[tuple[str, float]]:
    """Every number of an object with the name it stands under, at any depth."""
    if isinstance(value, Mapping):
        for name, one in value.items():
            if isinstance(one, int | float) and not isinstance(one, bool):
                yield name, one
            else:
                yield from _figures(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _figures(one)


def _letters(name: str) -> str:
    return re.sub(r"[^a-z]", "", name.lower())


RULES: tuple[Rule, ...] = (
    Rule(
        id="EVT-5",
        level=SHOULD,
        clause=(
            "What AG-UI has no event for travels as RAW or CUSTOM with its payload whole: the limit marker is an object with its type "
            "and the true figures."
        ),
        rationale="A client that shows how far a run came has nothing else to go by; a sentence or a wrong count cannot be shown.",
        channels="E",
        about_events=True,
        keys=("limit_marker", "marker_name", "limit_unit"),
        check=the_marker_is_whole,
        evidence=(
            f"{_ISSUES}mastra-ai/mastra/issues/12596",
            f"{_ISSUES}agentscope-ai/agentscope/issues/1805",
        ),
    ),
)
