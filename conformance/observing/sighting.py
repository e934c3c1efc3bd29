"""One observation of a dialect key, and how a run went out. Compares nothing with a declaration."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from conformance.reading.outcome import claimed
from conformance.reading.view import Run, View

#: `returned`: without events, the run gave a result. None: it never ended.
WayOut = Literal["finished", "error", "raise", "returned"] | None


@dataclass(frozen=True, slots=True)
class Sighting:
    """A value of a key that was seen; `saw` is the sentence that says how, and `seq` the record it shows at."""

    value: Any
    seq: int
    saw: str


Observer = Callable[[View], Iterator[Sighting]]


def way_out(run: Run) -> WayOut:
    """How a run ended for its caller. The adapter's own RUN_ERROR for an exception is the exception."""
    if run.raised is not None:
        return "raise"
    if run.terminal is not None:
        return "finished" if run.terminal.type == "RUN_FINISHED" else "raise" if run.terminal.raised else "error"
    return "returned" if run.said is not None else None


def over(run: Run) -> bool:
    """Whether the agent itself brought the run to an end."""
    return not run.cancelled and run.how in ("returned", "raised")


def failed_as(run: Run, view: View, *kinds: str) -> Literal["error", "raise"] | None:
    """`raise` or `error` where the run failed, and claims one of these kinds or none in particular; else None."""
    claim = claimed(run, view)
    out = way_out(run)
    if claim is not None and claim.kind not in (*kinds, "error"):
        return None
    if out in ("raise", "error"):
        return out
    return "error" if out == "returned" and claim is not None and claim.kind in kinds else None


def name_out(run: Run) -> str:
    """How a run ended, in words."""
    out = way_out(run)
    if run.raised is not None:
        return f"raised {run.raised.exception}"
    return {
        "finished": "ended with RUN_FINISHED",
        "error": "ended with RUN_ERROR",
        "returned": "returned a result",
    }.get(out or "", "did not end")
