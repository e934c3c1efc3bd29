"""ACT-14: in what order the calls of one reply run, and whether two at once. Compares records, not clocks."""

from collections.abc import Iterator
from itertools import pairwise

from conformance.reading.tool_calls import Made, tool_calls
from conformance.reading.view import Execution, View
from conformance.rule import MUST, OK, Finding, Judged, Rule


def any_order(view: View) -> str | None:
    """
    `applies` of ACT-14: `concurrent` is leave to overlap and no duty.

    Calls that may overlap reach their tools in whichever order the network brings them.
    """
    return "dialect" if view.dialect.parallel_tools == "concurrent" else None


def _act_14(view: View) -> Judged:
    for batch in _batches(view):
        for (one, earlier), (other, later) in pairwise(batch):
            # Of a tool that never came back only its timeout could tell when it was given up.
            if earlier.end_seq is None:
                continue
            if later.seq < earlier.seq:
                yield Finding(
                    f"{later.id} ({other}) began before {earlier.id} ({one}), which the model called first; expected calls to run in "
                    f"the order of the reply under parallel_tools {view.dialect.parallel_tools!r}",
                    later.seq,
                    related=(earlier.seq,),
                    fits=("parallel_tools", "concurrent"),
                )
            elif later.seq < earlier.end_seq:
                yield Finding(
                    f"{later.id} ({other}) began while {earlier.id} ({one}) was still running; expected one after the other under "
                    f"parallel_tools {view.dialect.parallel_tools!r}",
                    later.seq,
                    related=(earlier.seq,),
                    fits=("parallel_tools", "concurrent"),
                )
            else:
                yield OK


def _batches(view: View) -> Iterator[list[tuple[Made, Execution]]]:
    """
    What ran of each whole reply, in call order.

    A scenario tells an agent of no tool that it only reads. So of `read_only` those tools alone are held to their order
    whose runs count: they surely are none.
    """
    calls = tool_calls(view)
    for first in calls.made:
        if first.place == 0 and first.whole and first.by.role != "summary":
            yield [
                (made, made.executions[0])
                for made in calls.batch(first)
                if made.executions
                and (view.dialect.parallel_tools == "sequential" or (made.tool is not None and made.tool.counts))
            ]


_ISSUES = "https://github.com"

ACT_14 = Rule(
    id="ACT-14",
    level=MUST,
    clause="Calls of one reply run in the order and with the overlap that is declared: one after the other in the model's order "
    "where that is `sequential`, and those that change something where it is `read_only`.",
    rationale="Who declares an order lets a model rely on it: a pilot who is ordered before the berth is booked goes to the "
    "wrong one.",
    evidence=(
        f"{_ISSUES}/SamSaffron/term-llm/pull/436",
        f"{_ISSUES}/earendil-works/pi/issues/2692",
        f"{_ISSUES}/karthink/gptel/issues/970",
    ),
    channels="T",
    keys=("parallel_tools",),
    applies=any_order,
    check=_act_14,
)
