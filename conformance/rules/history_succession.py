"""Which request goes on from which, and where the history may have got shorter. Judges nothing."""

from collections.abc import Iterator

from conformance.reading.view import Call, Run, View
from conformance.rules.history_shape import kept

#: Bytes a token stands for where a model's window is counted in tokens.
BYTES_PER_TOKEN = 4


def mixed(view: View) -> bool:
    """Whether requests of several loops may share a run: a child's history is its own."""
    return view.has("subagents")


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


def may_shrink(before: Call, call: Call, run: Run, view: View) -> bool:
    """Whether the history had a reason to get shorter, be it before the window was full."""
    window = view.scenario.model.context_window
    full = window is not None and before.request.size > window * BYTES_PER_TOKEN // 2
    return full or shrank(before, call, run, view)
