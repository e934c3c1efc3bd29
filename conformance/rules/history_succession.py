"""Which request goes on from which, and where the history may have got shorter. Judges nothing."""

from collections.abc import Iterator, Mapping

from conformance.reading.round_limit import mixed
from conformance.reading.view import Call, Run, View
from conformance.rules.history_shape import kept

#: Bytes a token stands for where a model's window is counted in tokens.
BYTES_PER_TOKEN = 4


def any_mixed(view: View) -> bool:
    """Whether requests of several loops share a run somewhere: a child's history is its own."""
    return any(mixed(run, view) for run in view.runs)


def successive(view: View) -> Iterator[tuple[Run, Call, Call]]:
    """Each request of a conversation with the one before it that it should go on from."""
    last: dict[str, tuple[Run, Call]] = {}
    every = [(run, call) for run in view.runs for call in run.main]
    for run, call in sorted(every, key=lambda one: one[1].seq):
        came = last.get(run.session)
        if came is not None and goes_on(came[0], run, call, view):
            yield run, came[1], call
        last[run.session] = (run, call)


def goes_on(earlier: Run, run: Run, call: Call, view: View) -> bool:
    """Whether a request has to know the earlier run's: its own run, or one that the session keeps."""
    return earlier is run or (kept(earlier, view) and earlier.end_seq < call.seq)


def shrank(before: Call, call: Call, run: Run, view: View) -> bool:
    """Whether a compaction or a prompt that was too long came between two requests."""
    return any(one.kind == "compaction" or one.overflow for one in _between(before, call, run, view))


def asked_to_compact(before: Call, call: Call, run: Run, view: View) -> bool:
    """Whether a compaction was asked for between two requests, whenever its digest is put to use."""
    return any(one.kind == "compaction" for one in _between(before, call, run, view))


def _between(before: Call, call: Call, run: Run, view: View) -> Iterator[Call]:
    for other in view.runs:
        if other.session == run.session:
            yield from (one for one in other.calls if before.seq <= one.seq < call.seq)


def reasons_to_shrink(view: View) -> Mapping[str, tuple[int, ...]]:
    """Where the history of each session had a reason to get shorter, by record: a compaction, an overflow, a window half full."""
    return view.once(_reasons_to_shrink)


def _reasons_to_shrink(view: View) -> Mapping[str, tuple[int, ...]]:
    found: dict[str, tuple[int, ...]] = {}
    for run in view.runs:
        asked = (one.seq for one in run.calls if one.role == "compaction" or one.overflow)
        # What its own reply adds may be shortened as well.
        filled = (one.end_seq for one in run.calls if _fills(one, view))
        found[run.session] = (*found.get(run.session, ()), *asked, *filled)
    return found


def _fills(call: Call, view: View) -> bool:
    """Whether a request takes so much of the window that an agent may shorten the next one ahead of time."""
    window = view.scenario.model.context_window
    return window is not None and call.request.size > window * BYTES_PER_TOKEN // 2


def may_shrink(before: Call, call: Call, run: Run, view: View) -> bool:
    """Whether the history had a reason to get shorter, be it before the window was full."""
    return _fills(before, view) or shrank(before, call, run, view)
