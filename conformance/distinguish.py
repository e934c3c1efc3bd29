"""What a program can read of each ending, by what caused it: over a suite, a table of causes and signatures. Judges nothing."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from conformance.cell import cell_of
from conformance.reading.outcome import actual, claimed, markers
from conformance.reading.view import Run, View

#: Causes that no model call shows: the agent's word is all there is.
TOLD_ONLY = frozenset({"guard", "gate", "unverified", "waiting", "interrupted", "refused", "tool_error"})


@dataclass(frozen=True, slots=True)
class Signature:
    """All that a program can read of an ending, free text aside; None where there is no such thing."""

    terminal: str | None = None
    code: str | None = None
    outcome: str | None = None
    status: tuple[str, ...] = ()
    marker: bool = False
    exception: str | None = None
    said: str | None = None

    def __str__(self) -> str:
        """What is there, in words."""
        parts = (
            self.terminal,
            f"code {self.code}" if self.code is not None else None,
            f"outcome {self.outcome}" if self.outcome is not None else None,
            f"result {' '.join(self.status)}" if self.status else None,
            "marker" if self.marker else None,
            f"raises {self.exception}" if self.exception is not None else None,
            f"says {self.said}" if self.said is not None else None,
        )
        return ", ".join(filter(None, parts)) or "nothing"

    def data(self) -> dict[str, Any]:
        """As plain data, without what is not there."""
        every = asdict(self) | {"status": list(self.status)}
        return {key: value for key, value in every.items() if value not in (None, [], False)}


@dataclass(frozen=True, slots=True)
class Cause:
    """
    The runs of one cause that ended with one signature; the names are those of the first.

    `like_an_answer`: runs that were answered have this signature too. Whether that is wrong is for RUN-3, which knows what a
    dialect allows.
    """

    cause: str
    signature: Signature
    runs: int
    scenario: str
    cell: str
    run: str
    like_an_answer: bool


def signature(run: Run, view: View) -> Signature:
    """What a program can read of the run's end."""
    end = run.terminal.data if run.terminal is not None else {}
    result, outcome, code = end.get("result"), end.get("outcome"), end.get("code")
    told = [(name, result.get(name)) for name in ("status", "outcome")] if isinstance(result, dict) else []
    kind = outcome.get("type") if isinstance(outcome, dict) else None
    return Signature(
        terminal=end.get("type"),
        code=None if code is None else f"{code}",
        outcome=None if kind is None else f"{kind}",
        status=tuple(f"{name} {one}" for name, one in told if one is not None),
        marker=bool(markers(run, view.dialect)),
        exception=run.raised.exception if run.raised else None,
        said=run.said.kind if run.said else None,
    )


def cause(run: Run, view: View) -> str | None:
    """What ended a run: what the model calls show, but for what only the agent can know; None where nobody tells."""
    claim = claimed(run, view)
    if claim is not None and claim.kind in TOLD_ONLY:
        return claim.kind
    return actual(run, view) or (claim.kind if claim is not None else None)


def distinguished(views: Sequence[View]) -> tuple[Cause, ...]:
    """Every cause with every signature that its runs ended with, answers first, then in the order first seen."""
    found: dict[tuple[str, Signature], list[tuple[View, Run]]] = {}
    for view in views:
        for run in view.runs:
            why = cause(run, view) if run.how in ("returned", "raised") else None
            if why is not None:
                found.setdefault((why, signature(run, view)), []).append((view, run))
    answers = {read for why, read in found if why == "answered"}
    rows = [_row(why, read, runs, read in answers) for (why, read), runs in found.items()]
    return tuple(sorted(rows, key=lambda row: row.cause != "answered"))


def _row(why: str, read: Signature, runs: Sequence[tuple[View, Run]], shared: bool) -> Cause:  # noqa: FBT001 - a fact
    view, run = runs[0]
    return Cause(
        cause=why,
        signature=read,
        runs=len(runs),
        scenario=view.scenario.id,
        cell=cell_of(view.recording.header).name,
        run=run.id,
        like_an_answer=shared and why != "answered",
    )
