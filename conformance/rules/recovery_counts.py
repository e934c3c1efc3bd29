"""How often a run tried to recover from one cause: the count that REC-1, REC-3 and REC-8 hold against a declaration. No rule."""

from collections.abc import Iterator
from itertools import pairwise

from conformance.reading.classes import is_empty
from conformance.reading.outcome import claimed
from conformance.reading.view import Call, Run, View
from conformance.rule import OK, Finding, Judged


def loop(run: Run) -> list[tuple[Call, Call]]:
    """The calls of the loop, each with the attempt whose reply counts; summaries are SUM-4's."""
    return [(call, run.outcome_of(call)) for call in run.main if call.kind != "summary"]


def spent(run: Run, view: View, *, on_empty: bool) -> Iterator[tuple[Call, Call, int]]:
    """Each repetition after an empty reply (or an overflow): what failed, the next call, and how many its scope has had."""
    count = 0
    for (_, before), (call, _) in pairwise(loop(run)):
        if call.kind == "regular" and view.dialect.recovery_scope == "round":
            count = 0
        if is_empty(before, view.dialect) if on_empty else before.overflow:
            count += 1
            yield before, call, count


def within(run: Run, view: View, *, on_empty: bool, allowed: int, key: str) -> Judged:
    """Hold each repetition after an empty reply (or an overflow) against how many are allowed."""
    what = "an empty reply" if on_empty else "an overflow"
    most = max((count for *_, count in spent(run, view, on_empty=on_empty)), default=0)
    word = "retry_then_error" if on_empty else "compact_then_error"
    for before, call, count in spent(run, view, on_empty=on_empty):
        if count <= allowed:
            yield OK
        else:
            scope = "its round" if view.dialect.recovery_scope == "round" else run.id
            yield Finding(
                f"{call.id} is repetition {count} after {what} in {scope} ({before.id}), expected at most {allowed} under "
                f"{key} {getattr(view.dialect, key)!r}",
                call.seq,
                related=(before.seq,),
                fits=(key, {word: most}) if _of_itself(run, view) else None,
            )


def _of_itself(run: Run, view: View) -> bool:
    """Whether the run stopped repeating by a bound of its own: not at its limit, and not because the kit ended it."""
    claim = claimed(run, view)
    capped = any((call.refused or {}).get("by") == "cap" for call in run.calls)
    return (
        run.how in ("returned", "raised")
        and not capped
        and claim is not None
        and claim.kind not in ("limit", "interrupted")
    )
