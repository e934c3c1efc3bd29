"""What a recording shows of the keys about guards and the caller's hooks. See `observers` for the table."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from conformance.observing.sighting import Sighting, name_out, over, way_out
from conformance.reading.outcome import claimed
from conformance.reading.told import OBSERVING, callbacks
from conformance.reading.tool_calls import Made, equal, next_main, tool_calls
from conformance.reading.view import Run, View

#: Endings that an exception out of a hook may claim.
_FAILURES = frozenset({"error", "tool_error"})


def on_guard(view: View) -> Iterator[Sighting]:
    """What came of the first call beyond a cap that did not run. One that ran all the same is GRD-1's or GRD-2's."""
    if not view.has("guards"):
        return
    for run in view.runs:
        stopped = _first_stopped(run, view)
        if stopped is None:
            continue
        made, setting = stopped
        following, claim = next_main(run, made.by.end_seq), claimed(run, view)
        saw = f"{setting} kept the call {made.call.name} of {made.by.id} from running, and "
        if following is not None:
            if following.kind != "summary":
                yield Sighting("refuse", following.seq, f"{saw}{following.id} went on")
        elif over(run) and claim is not None and claim.kind == "guard":
            yield Sighting("stop", run.end_seq, f"{saw}run {run.id} {name_out(run)}")


def _first_stopped(run: Run, view: View) -> tuple[Made, str] | None:
    """The first valid call that a cap on calls forbids, with the setting; None where there is none, or where it ran."""
    mine = [
        one
        for one in tool_calls(view).made
        if one.run.id == run.id and one.sound and one.whole and one.flaw is None and one.by.role != "summary"
    ]
    most, same = (_cap(run, view, name) for name in ("max_tool_calls", "max_same_call"))
    for place, made in enumerate(mine):
        setting = None
        if most is not None and place >= most:
            setting = f"max_tool_calls {most}"
        elif same is not None and _in_a_row(mine[:place], made) >= same:
            setting = f"max_same_call {same}"
        if setting is not None:
            return None if made.ran else (made, setting)
        if not made.ran:
            return None  # something else kept it from running, so that what is counted from here on is open
    return None


def _cap(run: Run, view: View, name: str) -> int | None:
    """A figure as the caller set it, else as the agent declares it."""
    asked = getattr(run.spec.limits, name) if run.spec is not None else None
    figures = view.capabilities.get("guards")
    declared = figures.get(name) if isinstance(figures, Mapping) else None
    cap = asked if asked is not None else declared
    return cap if isinstance(cap, int) else None


def _in_a_row(before: Sequence[Made], made: Made) -> int:
    """How many calls directly before were equal and brought the same."""
    count = 0
    results: list[Any] = []
    for one in reversed(before):
        if one.call.name != made.call.name or not equal(one.arguments, made.arguments) or not one.ran:
            break
        results.append((one.ran[-1].value, one.ran[-1].error))
        if results[-1] != results[0]:
            break
        count += 1
    return count


def listener_errors(view: View) -> Iterator[Sighting]:
    """
    What came of an exception that the caller's own hook raised: the run went on, or it failed there.

    A guardrail that raises has crashed, which is CB-3's.
    """
    for run in view.runs:
        called = next((one for one in callbacks(run) if one.hook in OBSERVING and one.does == {"raise"}), None)
        if called is None:
            continue
        following, claim, out = next_main(run, called.seq), claimed(run, view), way_out(run)
        saw = f"{called}, which raises, was called in run {run.id}, and "
        if following is not None:
            yield Sighting("isolated", following.seq, f"{saw}{following.id} went on")
        elif not over(run) or claim is None:
            continue
        elif claim.kind == "answered" and out in ("finished", "returned"):
            yield Sighting("isolated", run.end_seq, f"{saw}the run was answered")
        elif claim.kind in _FAILURES and out in ("error", "raise"):
            yield Sighting("propagate", run.end_seq, f"{saw}the run {name_out(run)}")
