"""REC-13: an agent that can shorten its history looks at a request's size before it is refused for it."""

from conformance.reading.causes import shrinkable
from conformance.reading.view import Call, Run, View
from conformance.rule import OK, SHOULD, Finding, Judged, Rule
from conformance.rules.history_succession import BYTES_PER_TOKEN


def _rec_13(view: View) -> Judged:
    window = view.scenario.model.context_window
    if window is None:
        return
    room = window * BYTES_PER_TOKEN
    for run in view.runs:
        before: Call | None = None
        for call in run.calls:
            if call.kind not in ("regular", "retry", "summary"):
                continue
            if call.request.size > room and shrinkable(call):
                yield Finding(
                    f"{call.id} holds {call.request.size} bytes of messages, and the model's window {room} ({window} tokens); expected "
                    "it to be made smaller before it goes out",
                    call.seq,
                )
            elif call.request.size <= room and _made_smaller(run, call, before, view):
                yield OK
            before = call


def _made_smaller(run: Run, call: Call, before: Call | None, view: View) -> bool:
    """Whether it was shortened although nothing had been refused for its size."""
    if any(one.overflow and one.seq < call.seq for one in run.calls):
        return False
    since = before.seq if before is not None else run.seq
    if any(one.kind == "compaction" and since < one.seq < call.seq for one in run.calls):
        return True
    if before is not None:
        # Without a nudge it may be a little smaller as well.
        return _nearly_full(before, view) and call.request.size < before.request.size
    given = sum(message.get("role") == "user" for message in view.scenario.history)
    sent = sum(message.role == "user" for message in call.request.messages)
    return view.before(run) is None and sent < given


def _nearly_full(call: Call, view: View) -> bool:
    return call.request.size * 2 > (view.scenario.model.context_window or 0) * BYTES_PER_TOKEN


_ISSUES = "https://github.com"

REC_13 = Rule(
    id="REC-13",
    level=SHOULD,
    clause="A request is measured before it goes out, in every round: one that is larger than the model's window is made smaller "
    "first, as far as there is something to leave out.",
    rationale="A refusal costs a round trip, and in a loop of tools the window fills between two turns of the user.",
    evidence=(
        f"{_ISSUES}/aaif-goose/goose/issues/11072",
        f"{_ISSUES}/anomalyco/opencode/issues/27924",
    ),
    channels="M",
    applies=lambda view: None if view.has("compaction") else "capability",
    check=_rec_13,
)
