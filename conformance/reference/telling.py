"""Those who listen to a run: the caller's hooks, the record of its steps, the debug log. Told only where a run asks for it."""

import logging
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Any

from conformance.reference import events
from conformance.reference.history import is_digest
from conformance.reference.run import Ending, Run
from conformance.reference.steps import Steps

LOG = logging.getLogger("conformance.reference")

#: The state that a run's own step ends in, by its outcome; all others failed.
ENDED: Mapping[str, str] = {
    "answered": "done",
    "limit": "done",
    "unverified": "done",
    "waiting": "waiting",
    "interrupted": "cancelled",
}


def hooks(run: Run, hook: str, tool: str | None = None, call: str | None = None) -> Steps[Ending | None]:
    """Call every hook of this kind and tell of it; gives the end that they bring about, None where the run goes on."""
    does: set[str] = set()
    for one in run.given.knobs.get("callbacks", ()):
        if one["hook"] == hook and (tool is None or one.get("tool") in (None, tool)):
            yield events.callback(hook, tool, call)
            does.add(one.get("does", "tell"))
    return run.parts.brought_about(run, hook, tool, does)


def brought_about(run: Run, hook: str, tool: str | None, does: AbstractSet[str]) -> Ending | None:
    """
    The end that hooks bring about by what they do: tell, raise, stop, trip.

    A guardrail that crashed is as good as one that tripped. The exception of a hook that only looks on is its own affair, unless
    the dialect lets it through.
    """
    at = hook if tool is None else f"{hook} at {tool!r}"
    if hook == "guardrail" and does & {"trip", "raise"}:
        return Ending("guard", "error", f"the {at} {'tripped' if 'trip' in does else 'crashed'}")
    if "raise" in does and run.dialect.listener_errors == "propagate":
        return Ending("error", "raise", f"the hook {at} raised")
    return Ending("guard", "error", f"the hook {at} asked to stop") if "stop" in does else None


def step(run: Run, kind: str, name: str, state: str, reason: str, **more: Any) -> Steps[None]:
    """Tell that a step of the run is in this state from now on, and why."""
    if run.given.knobs.get("debug"):
        # Nothing of the reason: it may name the limit, which is logged once.
        LOG.debug("%s is %s", kind, state)
    run.running.pop((kind, name), None)
    if state == "running":
        run.running[kind, name] = None
    if run.given.knobs.get("tracing"):
        yield events.record(kind, name, state, reason=reason, **more)


def broken_off(run: Run, reason: str) -> Steps[None]:
    """What still goes on of a run has failed with it, the innermost first."""
    for kind, name in reversed(tuple(run.running)):
        yield from step(run, kind, name, "failed", reason)


def over(run: Run, end: Ending) -> Steps[None]:
    """Tell how the run came to its end, what it answered, and how much of the conversation is kept."""
    if end.text is not None and end.kind in ("answered", "limit"):
        yield from step(run, "answer", "final", "done", "it is what the user gets to read", result=end.text)
    why = end.kind if end.reason is None else f"{end.kind}: {end.reason}"
    kept = [*run.session.replaced, *(one for one in run.session.messages if not is_digest(one))]
    yield from step(run, "run", run.id, ENDED.get(end.kind, "failed"), why, messages=len(kept))
