"""REC-9: how often a request that failed is sent again, counted over all layers. Whether it may be at all is REC-4's and REC-5's."""

from collections.abc import Mapping

from conformance.reading.classes import asked
from conformance.reading.failures import status
from conformance.reading.view import Call, Run, View
from conformance.rule import MUST, OK, Finding, Judged, Rule


def bound(run: Run, view: View) -> int | None:
    """How many further requests a failed one may have: the caller's figure, else the declared one; None where there is none."""
    declared = view.capabilities.get("retries")
    asked = run.spec.limits.retries if run.spec is not None else None
    found = (declared.get("http") if isinstance(declared, Mapping) else None) if asked is None else asked
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def _rec_9(view: View) -> Judged:
    for run in view.runs:
        most = bound(run, view)
        if most is None:
            continue
        if not run.calls and run.spec is not None and run.spec.limits.retries is not None and _owes_a_request(run):
            yield Finding(
                f"{run.id} sent no request at all; retries is {most}, which counts further ones: expected the first one",
                run.end_seq,
            )
        chains = _chains(run)
        if most == 0 and run.calls and not chains:
            yield OK
        for chain in chains:
            if len(chain) - 1 > most:
                yield Finding(
                    f"{chain[0].id} failed with {_what(chain[0])} and was followed by {len(chain) - 1} further requests, "
                    f"{', '.join(call.id for call in chain[1:])}; retries is {most}, expected at most that many over all layers",
                    chain[most + 1].seq,
                    related=(chain[0].seq,),
                )
            elif not (run.how == "hung" and chain[-1] is run.calls[-1]):
                yield OK


def _owes_a_request(run: Run) -> bool:
    return run.max_iters != 0 and run.user is not None and run.how in ("returned", "raised") and not run.cancelled


def _chains(run: Run) -> list[list[Call]]:
    """
    Each request that failed, with those that came for it: the same again, and one reworded in its place.

    An overflow is answered by another request, and one that the kit itself refused by no retry.
    """
    found: list[list[Call]] = []
    for lane in (("regular", "retry"), ("summary",), ("compaction",), ("auxiliary",)):
        before: Call | None = None
        for call in (one for one in run.calls if one.role in lane):
            # A summary that is asked for again may be the one stricter repeat that SUM-2 allows.
            if before is not None and _fails(before) and (call.kind in ("attempt", "retry") or _same(before, call)):
                found[-1].append(call)
            elif _fails(call):
                found.append([call])
            before = call
    return found


def _same(before: Call, call: Call) -> bool:
    return bool(asked(before.body) == asked(call.body))


def _fails(call: Call) -> bool:
    return call.failed and not call.overflow and (call.refused is None or call.refused.get("by") == "provider")


def _what(call: Call) -> str:
    came = status(call)
    return f"status {came}" if came is not None and came != 200 else "a broken reply"


_ISSUES = "https://github.com"

REC_9 = Rule(
    id="REC-9",
    level=MUST,
    clause="A request that failed has at most as many further ones as the caller's retries, else the declared number, over all "
    "layers together; with 0 it is the only one, and is sent.",
    rationale="Layers that each retry multiply, and a zero that means no request, or one more all the same, is not what was set.",
    evidence=(
        f"{_ISSUES}/SWE-agent/SWE-agent/pull/1558",
        f"{_ISSUES}/coddy-project/coddy-agent/pull/329",
        f"{_ISSUES}/SWE-agent/mini-swe-agent/issues/921",
    ),
    channels="M",
    applies=lambda view: None if view.has("retries") else "capability",
    check=_rec_9,
)
