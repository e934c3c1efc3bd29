"""STR: what streaming may change. Compares plays of one scenario in its cells; what is said in every one is for other rules."""

from collections.abc import Callable, Iterator, Sequence
from math import inf
from typing import Literal

from conformance.reading.agui import DELTAS
from conformance.reading.view import View
from conformance.rule import MUST, OK, SHOULD, Finding, Judged, Level, Right, Rule
from conformance.rules.streaming_joined import each_call_came_out
from conformance.rules.streaming_plays import (
    Aspect,
    Difference,
    cell_name,
    pairs,
    parted,
    same_wire,
    scenarios,
)
from fake_models.records import BREAKS

#: Events by which a text goes out.
_TEXTS = frozenset({"TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_CHUNK"})

#: Faults by which a stream ends as they say, whatever its agent shows.
_BREAKS = frozenset(BREAKS.values())

Suite = Iterator[tuple[int, Finding | Literal[Right.OK]]]


def _streams(view: View) -> str | None:
    return None if view.has("streaming") else "capability"


def _nothing_alone(_view: View) -> Judged:
    """One recording shows no difference."""
    return iter(())


def _level(view: View, base: View, one: Difference) -> Level | None:
    """
    None for the rule's own level.

    The clause speaks of plays without faults, and of one wire: bodies differ from wire to wire for many good reasons. What ran
    and how it ended does not.
    """
    other_wire = one.aspect == "requests" and not same_wire(view, base)
    return SHOULD if one.faults or other_wire else None


def _compared(
    views: Sequence[View], aspects: Sequence[Aspect], mine: Callable[[View], bool] = lambda _view: True
) -> Suite:
    """Each play held against the first cell of its scenario, with the first cell that differs named in every finding."""
    for places in scenarios(views):
        first = None
        for place, bases in pairs(views, places):
            view = views[place]
            if not mine(view):
                continue
            # What one repeat of the first cell does too is no matter of cells.
            each = [(views[base], parted(view, views[base], aspects)) for base in bases]
            base, found = min(each, key=lambda one: sum(part is not None for part in one[1]))
            for one in found:
                if one is None:
                    yield place, OK
                    continue
                first = first or cell_name(view)
                after = f", after a fault of the model ({', '.join(sorted(one.faults))})" if one.faults else ""
                message = f"{one.message}, as in {cell_name(base)}{after}; the first cell that differs is {first}"
                yield place, Finding(message, one.seq, level=_level(view, base, one))


def cells_are_equal(views: Sequence[View]) -> Suite:
    """STR-1."""
    return _compared(views, ("requests", "executions", "outcome"))


def chunks_do_not_matter(views: Sequence[View]) -> Suite:
    """STR-2."""
    return _compared(
        views, ("executions", "shown", "text"), lambda view: bool(view.recording.header.cell.get("stream"))
    )


def deltas_go_out(view: View) -> Judged:
    """STR-4."""
    for run in view.runs:
        for call in run.main if run.stream else ():
            reply = call.reply
            if reply is None or not reply.complete or call.done_seq is None or not (reply.text or "").strip():
                continue
            if any(reply.seq < event.seq < call.done_seq and event.type in DELTAS for event in run.events):
                yield OK
                continue
            # From another process an event may be on its way while the reply ends. The end waits for it, but not where it is scripted.
            if view.recording.header.apart and not _BREAKS.isdisjoint(reply.fault or ()):
                continue
            # What comes after the next request may be of the next reply.
            until = min((one.seq for one in run.calls if one.seq > call.done_seq), default=inf)
            late = [event for event in run.events if call.done_seq < event.seq < until and event.type in _TEXTS]
            if late:
                message = f"the text of {call.id} is shown only when its reply was complete (record {call.done_seq}), first by {late[0].type}"
                yield Finding(
                    f"{message}; an event while it came was expected", late[0].seq, related=(reply.seq, call.done_seq)
                )


_ISSUES = "https://github.com/"

RULES: tuple[Rule, ...] = (
    Rule(
        id="STR-1",
        level=MUST,
        clause="Without faults, a scenario goes the same way in every cell, streamed or not: equal requests, stream keys aside, "
        "equal executions, equal outcome.",
        rationale="An agent that was tried one way and deployed the other fails where nobody looked.",
        channels="M,T",
        applies=_streams,
        check=_nothing_alone,
        suite=cells_are_equal,
        evidence=(
            f"{_ISSUES}MervinPraison/PraisonAI/pull/4346",
            f"{_ISSUES}google/adk-python/issues/627",
        ),
    ),
    Rule(
        id="STR-2",
        level=MUST,
        clause="However a reply is cut into chunks, its text and the arguments of its calls come out the same.",
        rationale="Where chunks end is the network's whim; a character lost there is lost at random, and nobody finds out why.",
        channels="T,E",
        applies=_streams,
        check=_nothing_alone,
        suite=chunks_do_not_matter,
        evidence=(f"{_ISSUES}librefang/librefang/issues/3448", f"{_ISSUES}danielmiessler/Fabric/pull/2203"),
    ),
    Rule(
        id="STR-3",
        level=MUST,
        clause="Deltas of calls are joined by index: a new id that is not empty opens a new call, an empty, repeated or null one "
        "goes on with the one that is open.",
        rationale="Two calls joined to one, or one torn into two, are calls that nobody made.",
        channels="T",
        applies=_streams,
        check=each_call_came_out,
        evidence=(
            f"{_ISSUES}QwenLM/Qwen-Agent/pull/943",
            f"{_ISSUES}JetBrains/koog/pull/2052",
            f"{_ISSUES}symfony/ai/pull/2220",
            f"{_ISSUES}huggingface/smolagents/pull/1958",
        ),
    ),
    Rule(
        id="STR-4",
        level=SHOULD,
        clause="What the model says goes out while it says it, not when it is done.",
        rationale="A stream that is held back makes a user wait for the whole of it, and looks like a hang.",
        channels="E,M",
        about_events=True,
        applies=_streams,
        check=deltas_go_out,
        evidence=(f"{_ISSUES}macanderson/stella/pull/226", f"{_ISSUES}langgenius/dify/pull/37600"),
    ),
)
