"""REC-4 and REC-5: which failed requests are sent again, how often, and after what pause."""

import json
from collections.abc import Mapping
from typing import Literal

from conformance.reading.causes import comes_and_goes, tried_again
from conformance.reading.failures import asked_to_wait_s, names, quota_spent, status, still_retrying
from conformance.reading.view import Call, Run, View
from conformance.rule import OK, SHOULD, Finding, Judged, Right

#: Statuses that say the request itself is wrong, so that it fails every time.
_WRONG = frozenset({400, 403, 404, 413, 422})
#: The provider does not know the credentials: others may be tried, once.
_UNKNOWN_KEY = 401


def everything_is_sent_again(view: View) -> str | None:
    """`applies` of REC-4: who declares `all` is not bound by it."""
    return "dialect" if view.dialect.http_retry == "all" else None


def nothing_is_sent_again(view: View) -> str | None:
    """`applies` of REC-5: who declares `none` owes no second attempt. That there is none is DIA-1's to see."""
    return "dialect" if view.dialect.http_retry == "none" else None


def rec_4(view: View) -> Judged:
    """What fails every time is not sent again."""
    keys = _credentials(view)
    for run in view.runs:
        told: set[str] = set()
        for call in run.calls:
            if not _fails_every_time(call) or (body := _written(call)) in told:
                continue
            told.add(body)
            again = [one for one in run.calls if one.seq > call.end_seq and _written(one) == body]
            yield _sent_once(call, again, keys) if again else OK


def _fails_every_time(call: Call) -> bool:
    # A refusal for the script's sake or at the cap is the kit's own, and an overflow is REC-3's.
    if call.overflow or (call.refused is not None and call.refused.get("by") != "provider"):
        return False
    return status(call) in _WRONG or status(call) == _UNKNOWN_KEY or quota_spent(call)


def _written(call: Call) -> str:
    # The whole body: a request without the stream that the server does not know, or to another model, is another request.
    return json.dumps(call.body, sort_keys=True)


def _credentials(view: View) -> Mapping[str, tuple[str, ...]]:
    asked = (record.data for record in view.recording.records if record.kind == "model/request")
    return {data["call"]: tuple(data.get("secrets") or ()) for data in asked}


def _sent_once(call: Call, again: list[Call], keys: Mapping[str, tuple[str, ...]]) -> Finding | Literal[Right.OK]:
    came, first = status(call), again[0]
    if came == _UNKNOWN_KEY and len(again) == 1 and (not keys[call.id] or keys[first.id] != keys[call.id]):
        return OK
    times = "" if len(again) == 1 else f", and {len(again) - 1} more after it"
    said = f" ({names(call)[0]})" if names(call) else ""
    return Finding(
        f"{first.id} sends the request of {call.id} again{times}, which had failed with status {came}{said}; {_expected(call)}",
        first.seq,
        related=(call.seq, *(one.seq for one in again[1:])),
        fits=None if quota_spent(call) else ("http_retry", "all"),
    )


def _expected(call: Call) -> str:
    if quota_spent(call):
        return "no waiting brings a spent quota back: expected the run to end, the client library's own retries too"
    if status(call) == _UNKNOWN_KEY:
        return "expected at most one more request, with other credentials"
    return "the same request is wrong every time: expected another one or none"


def rec_5(view: View) -> Judged:
    """What fails for now is sent again, and not for ever."""
    moments = {record.seq: record.at_s for record in view.recording.records}
    for run in view.runs:
        for call in run.calls:
            if comes_and_goes(call) and call.kind != "attempt":
                yield from _sent_again(run, call, view)
            if comes_and_goes(call):
                yield from _paused(run, call, moments)


def _sent_again(run: Run, call: Call, view: View) -> Judged:
    chain = run.attempts_of(call)
    stopped = next((one for one in chain if one.refused is not None and one.refused.get("by") == "cap"), None)
    if stopped is not None or (run.how == "cap" and chain[-1] is run.calls[-1]):
        yield Finding(
            f"{call.id} failed with status {status(call)} and was sent again {len(chain) - 1} times, until the cap of "
            f"{view.scenario.cap} requests stopped it; expected a bound",
            (stopped or chain[-1]).seq,
            related=(call.seq,),
        )
    elif still_retrying(run) and chain[-1] is run.calls[-1]:
        yield Finding(
            f"{call.id} failed with status {status(call)} and was still being sent again when the deadline of "
            f"{view.scenario.deadline_s} s came ({len(chain)} requests)",
            chain[-1].seq,
            related=(call.seq,),
            level=SHOULD,
        )
    elif len(chain) > 1 or _went_on(run, call):
        yield OK
    elif _owes_another(run, call):
        yield Finding(
            f"{call.id} failed with status {status(call)}, which may pass, and {run.id} ended without another attempt; expected "
            f"at least one under http_retry {view.dialect.http_retry!r}",
            run.end_seq,
            related=(call.seq,),
        )


def _went_on(run: Run, call: Call) -> bool:
    """Whether it was recovered from in another way, as by another model."""
    return any(one.seq > call.end_seq and one.role != "auxiliary" for one in run.calls)


def _owes_another(run: Run, call: Call) -> bool:
    forbidden = run.spec is not None and run.spec.limits.retries == 0
    ended = run.how in ("returned", "raised") and not run.cancelled
    # A summary or a side call may do without, and nobody has to wait for as long as a server asks.
    mine = call.role in ("regular", "retry") and not tried_again(run, call)
    return ended and mine and not forbidden and not asked_to_wait_s(call)


def _paused(run: Run, call: Call, moments: Mapping[int, float]) -> Judged:
    """
    The pause before the next attempt, as a SHOULD.

    Only where the scenario's clock moved: an agent that sleeps for real does not move it, and looks like one that does not
    pause at all.
    """
    again = next((one for one in run.calls if one.seq > call.end_seq and one.kind == "attempt"), None)
    wanted_s = asked_to_wait_s(call)
    if again is None or not wanted_s:
        return
    waited_s = moments[again.seq] - moments[call.end_seq]
    if 0 < waited_s < wanted_s:
        yield Finding(
            f"{again.id} was sent {waited_s:g} s after {call.id} had failed with status {status(call)} and asked for {wanted_s:g} s; "
            "expected Retry-After to be honoured",
            again.seq,
            related=(call.seq,),
            level=SHOULD,
        )
    elif waited_s:
        yield OK
