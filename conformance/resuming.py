"""How a run answers the one before it: a scenario's answers put to the interrupts that an agent showed. Pure; asks no agent."""

from collections.abc import Mapping, Sequence
from typing import Any


def waiting(events: Sequence[Mapping[str, Any]]) -> tuple[Mapping[str, Any], ...]:
    """
    The interrupts that a run's events leave open: those of its last RUN_FINISHED.

    Each gets the `tool` that it is about, where the events name it.
    """
    ends = [event for event in events if event.get("type") in ("RUN_FINISHED", "RUN_ERROR")]
    outcome = ends[-1].get("outcome") if ends and ends[-1]["type"] == "RUN_FINISHED" else None
    if not isinstance(outcome, Mapping) or outcome.get("type") != "interrupt":
        return ()
    interrupts = outcome.get("interrupts")
    tools = {event.get("toolCallId"): event.get("toolCallName") for event in _starts(events)}
    return tuple(
        {**one, "tool": tools.get(one.get("toolCallId"))}
        for one in (interrupts if isinstance(interrupts, Sequence) else ())
        if isinstance(one, Mapping) and isinstance(one.get("id"), str)
    )


def _starts(events: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [
        event
        for event in events
        if event.get("type") in ("TOOL_CALL_START", "TOOL_CALL_CHUNK")
        and isinstance(event.get("toolCallId"), str)
        and isinstance(event.get("toolCallName"), str)
    ]


def answers(
    given: Sequence[Mapping[str, Any]], interrupts: Sequence[Mapping[str, Any]]
) -> tuple[dict[str, Any], ...] | None:
    """
    A scenario's answers as AG-UI resume entries, in the interrupts' order; None where nothing waits that they could answer.

    An answer that names a tool goes to the first interrupt of that tool that is not answered yet, one that names none to the
    first that is left. An answer too many is not given, and an interrupt that none is for stays open.
    """
    left = list(range(len(interrupts)))
    chosen: dict[int, Mapping[str, Any]] = {}
    for one in sorted(given, key=lambda one: "tool" not in one):
        at = next((n for n in left if one.get("tool") in (None, interrupts[n]["tool"])), None)
        if at is not None:
            left.remove(at)
            chosen[at] = one
    entries = tuple(_entry(interrupts[at]["id"], chosen[at]) for at in sorted(chosen))
    return entries or None


def _entry(interrupt: str, answer: Mapping[str, Any]) -> dict[str, Any]:
    # A refusal is an answer as well: `cancelled` would say that nobody gave one.
    payload = {key: answer[key] for key in ("approved", "value") if key in answer}
    return {"interruptId": interrupt, "status": "resolved", "payload": payload}
