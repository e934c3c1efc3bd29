"""The evidence that a run's completion gate asks for, and how much of it there was. Judges no ending."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from conformance.reading.outcome import answer
from conformance.reading.view import Call, Execution, Run, View

#: What is found of the evidence: it is there, or why it is not. `none`: nothing was run that could be taken for it. `stale`: it
#: is older than the last change. `unfit`: a check that failed, another tool's, or the wanted words told by someone else. `open`:
#: the check and the change overlapped, and either order is true.
Evidence = Literal["met", "none", "stale", "unfit", "open"]


def requirement(run: Run, view: View) -> Mapping[str, Any] | None:
    """What this run has to show before it may finish: its `gate` knob, where the agent has a gate."""
    if not view.has("completion_gate") or run.spec is None:
        return None
    wanted: Mapping[str, Any] | None = run.spec.knobs.get("gate")
    return wanted


def gated(run: Run, view: View) -> bool:
    """Whether an answer may be sent back to the model, because the run asks for evidence that may be missing."""
    return requirement(run, view) is not None


def evidence(run: Run, view: View, until: int) -> Evidence:
    """What the executions that had ended before the record `until` show; `met` where nothing is asked for."""
    wanted = requirement(run, view)
    if wanted is None:
        return "met"
    done = [one for one in run.executions if one.end_seq is not None and one.end_seq < until]
    changes = [one for one in done if one.tool in wanted.get("since", ())]
    good = [one for one in done if _shows(one, wanted)]
    if any(all(one.seq > (change.end_seq or 0) for change in changes) for one in good):
        return "met"
    if any(all((one.end_seq or 0) > change.seq for change in changes) for one in good):
        return "open"
    return "stale" if good else "unfit" if _looks_like_it(run, wanted, done, until) else "none"


def offers(run: Run, view: View) -> Iterator[tuple[Call, Evidence]]:
    """The answers that the model gave in rounds of the loop, each with the evidence there was by then."""
    for call in run.main:
        replied = run.outcome_of(call)
        if call.kind != "summary" and answer(replied, view.dialect) is not None:
            yield replied, evidence(run, view, replied.end_seq)


def retries(view: View) -> int:
    """How often the agent's gate says that it sends an answer back; once where it gives no figure."""
    figures = view.capabilities.get("completion_gate")
    count = figures.get("retries") if isinstance(figures, Mapping) else None
    return count if isinstance(count, int) and not isinstance(count, bool) else 1


def _shows(one: Execution, wanted: Mapping[str, Any]) -> bool:
    return one.tool == wanted["tool"] and one.error is None and wanted.get("contains", "") in _text(one.value)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _looks_like_it(run: Run, wanted: Mapping[str, Any], done: list[Execution], until: int) -> bool:
    """Whether something was there that a careless gate may take for evidence."""
    changes, words = wanted.get("since", ()), wanted.get("contains")
    said = (call.reply.text or "" for call in run.main if call.reply is not None and call.reply.seq < until)
    return any(one.tool not in changes for one in done) or (words is not None and any(words in text for text in said))
