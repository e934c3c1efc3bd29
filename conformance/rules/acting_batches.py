"""ACT-8: calls of one reply all run, and each is answered by its own result."""

from collections.abc import Iterator
from typing import Any

from conformance.reading.containment import carries, scalars
from conformance.reading.pairing import Paired
from conformance.reading.tool_calls import Calls, Made, as_text, next_main, tool_calls
from conformance.reading.view import Execution, View
from conformance.rule import MUST, OK, Finding, Judged, Rule
from conformance.rules.acting_once import first_of_timeouts, may_stay


def _act_8(view: View) -> Judged:
    calls = tool_calls(view)
    for made in calls.made:
        several = len(calls.batch(made)) > 1
        if not several or not made.whole or made.by.role == "summary" or made.flaw not in (None, "extra"):
            continue
        if made.flaw == "extra" and view.dialect.extra_args == "refuse":
            continue
        if first_of_timeouts(made, view):
            yield from _answered_by_its_own(made, calls, view)
        elif not may_stay(made, calls, view):
            beside = ", ".join(str(one.call.id) for one in calls.batch(made) if one.key != made.key)
            yield Finding(f"{made} never ran, said beside {beside}; expected all calls of a reply to run", made.seq)


def _answered_by_its_own(made: Made, calls: Calls, view: View) -> Judged:
    swapped = _has_anothers(made, calls, view)
    if swapped is None:
        yield OK
        return
    seq, call_id, other, said = swapped
    yield Finding(
        f"{call_id}: the result of {made} holds what {other} gave, and not what its own tool gave, "
        f"{as_text(came_of(made.ran[-1]))}; it says {as_text(said)}",
        seq,
        related=(made.ran[-1].seq, other.ran[-1].seq),
    )


def _has_anothers(made: Made, calls: Calls, view: View) -> tuple[int, str, Made, str] | None:
    """The call of the same reply whose result stands where this one's should, in the first request that carries it."""
    own = made.ran[-1]
    follows = next_main(made.run, own.end_seq or own.seq)
    if own.end_seq is None or follows is None or view.dialect.tool_history == "text" or not _told_apart(made, calls):
        return None
    seen = calls.carried(follows, made.run.session).get(made.key)
    if seen is None or not seen.results or not carries(seen.content, came_of(own)):
        return None
    for other in calls.batch(made):
        if other.key != made.key and other.ran and _is_of(seen, other.ran[-1], own):
            return follows.seq, follows.id, other, seen.content
    return None


def _told_apart(made: Made, calls: Calls) -> bool:
    """Whether ids tell the calls of a reply apart; what becomes of ids that do not is HIS-3b's."""
    return all(one.sound for one in calls.batch(made))


def _is_of(seen: Paired, other: Execution, own: Execution) -> bool:
    """Whether a result says all that another execution gave; what both gave, and true, false and null, tell nothing."""
    mark = [one for one in _telling(other) if one not in list(_telling(own))]
    return bool(mark) and not carries(seen.content, mark)


def _telling(execution: Execution) -> Iterator[Any]:
    return (one for one in scalars(came_of(execution)) if one not in (None, "", 0, 1))


def came_of(execution: Execution) -> Any:
    """What an execution gave: a value, or the words of its failure."""
    return execution.value if execution.error is None else execution.error.get("message", "")


ACT_8 = Rule(
    id="ACT-8",
    level=MUST,
    clause="Parallel calls all run, and each result goes to its own call.",
    rationale="A call that is lost among its siblings, or answered with another's result, gives the model wrong facts that look "
    "right.",
    evidence=(
        "https://github.com/generative-computing/mellea/issues/1431",
        "https://github.com/huggingface/smolagents/issues/2457",
        "https://github.com/anthropics/claude-code/issues/39830",
    ),
    channels="T,M",
    keys=("tool_exception",),
    check=_act_8,
)
