"""What a recording shows of the keys about the model's own failures. See `observers` for the table."""

from collections.abc import Iterator, Sequence
from itertools import takewhile

from conformance.dialect import EMPTY_SHAPES
from conformance.observing.sighting import Sighting, failed_as, name_out, over, way_out
from conformance.reading.causes import recovered_before, shrinkable, tried_again
from conformance.reading.classes import asked, is_empty
from conformance.reading.evidence import gated
from conformance.reading.failures import asked_to_wait_s, quota_spent
from conformance.reading.outcome import claimed
from conformance.reading.view import Call, Run, View

#: Statuses that say the request itself is wrong, so that it fails every time.
_FINAL = frozenset({400, 403, 404, 413, 422})


def empty_is(view: View) -> Iterator[Sighting]:
    """
    Which shapes count as empty, where the recording tells one that does from an answer: the declared set with these, without those.

    A run that ends as answered on such a reply may as well have finished without one (`empty_response: finish`), so that it
    shows something only beside another shape that was asked again.
    """
    counted, taken = shapes(view)
    both = counted.keys() & taken.keys()
    gone = taken.keys() - both if counted else set()
    told = {**counted, **{shape: taken[shape] for shape in gone}}
    if both or not told:
        return
    declared = view.declared.empty_is
    value = tuple(one for one in EMPTY_SHAPES if one in counted or (one in declared and one not in gone))
    news = [shape for shape in told if (shape in value) != (shape in declared)] or list(told)
    yield told[news[0]] if value == declared else Sighting(value, told[news[0]].seq, told[news[0]].saw)


def shapes(view: View) -> tuple[dict[str, Sighting], dict[str, Sighting]]:
    """The shapes of reply that were asked again or ended a run as empty, and those that a run ended on as answered."""
    counted: dict[str, Sighting] = {}
    taken: dict[str, Sighting] = {}
    if view.declared.answer_by != "text":
        return counted, taken  # what is asked again there may be an answer that was not accepted
    for run in view.runs:
        if gated(run, view):
            continue  # nor may it be here
        claim = claimed(run, view)
        loop = [call for call in run.main if call.kind != "summary"]
        for call in loop:
            shape = reply.empty if (reply := run.outcome_of(call).reply) is not None else None
            if shape is None:
                continue
            following = _next(run, call)
            saw = f"the reply to {call.id} was empty ({shape}) and "
            if following is not None:
                if following.kind != "summary":
                    seen = Sighting(view.declared.empty_is, following.seq, f"{saw}{following.id} asks again")
                    counted.setdefault(shape, seen)
            elif over(run) and claim is not None and claim.kind in ("empty", "answered"):
                seen = Sighting(view.declared.empty_is, run.end_seq, f"{saw}run {run.id} ended as {claim.kind}")
                (counted if claim.kind == "empty" else taken).setdefault(shape, seen)
    return counted, taken


def empty_response(view: View) -> Iterator[Sighting]:
    """
    What the first empty reply of a run led to.

    More retries than declared are REC-1's, and so is an empty end after retries that calls itself an answer. Fewer, after
    another cause had used up what there was, are REC-8's.
    """
    declared = view.declared
    for run in view.runs:
        loop = [call for call in run.main if call.kind != "summary"]
        empty = [is_empty(run.outcome_of(call), view.dialect) for call in loop]
        start = next((n for n, one in enumerate(empty) if one), None)
        if start is None or not over(run):
            continue
        row = [call for call, _ in takewhile(lambda pair: pair[1], zip(loop[start:], empty[start:], strict=True))]
        saw = f"the empty reply to {row[0].id} was followed by {len(row) - 1} more and run {run.id} {name_out(run)}"
        if start + len(row) < len(loop) or run.summary:
            if 0 < len(row) <= declared.empty_retries or declared.empty_response == "continue":
                yield Sighting(declared.empty_response, row[-1].end_seq, saw)
            continue
        if recovered_before(run, run.outcome_of(row[0]), view):
            continue
        value = _after_empties(run, view, len(row) - 1)
        if value is not None:
            yield Sighting(value, row[-1].end_seq, saw)


def _after_empties(run: Run, view: View, retries: int) -> object:
    declared, claim = view.declared, claimed(run, view)
    if claim is None:
        return None
    if claim.kind == "limit":
        # The closing request and its repeat may stand behind them, and look the same where the agent has no tools.
        closing = 2 if declared.limit_text == "model" else 0
        spent = run.max_iters is not None and 0 <= retries + 1 - run.max_iters <= closing
        return "continue" if spent and retries > declared.empty_retries else None
    if claim.kind == "answered":
        return "finish" if retries == 0 and way_out(run) != "error" else None
    if declared.retry_budget == "counts" and run.max_iters is not None and retries + 1 >= run.max_iters:
        return None  # no round was left to ask again in
    if claim.kind not in ("empty", "error") or (
        retries > declared.empty_retries and declared.empty_response != "continue"
    ):
        return None
    return "error" if retries == 0 else {"retry_then_error": retries}


def prompt_too_long(view: View) -> Iterator[Sighting]:
    """Whether a request that was refused for its size is followed by a smaller one. An equal one, or too many, are REC-3's."""
    declared = view.declared
    for run in view.runs:
        first = next((c for c in run.main if run.outcome_of(c).overflow and _refused(run.outcome_of(c))), None)
        if first is None or not over(run):
            continue
        later = [call for call in run.calls if call.seq > run.outcome_of(first).seq and call.kind != "auxiliary"]
        smaller = [call for call in later if call.kind == "retry" and call.request.size < first.request.size]
        if smaller and len(smaller) > declared.compactions > 0:
            continue
        if smaller:
            value: object = declared.prompt_too_long if declared.compactions else {"compact_then_error": len(smaller)}
            yield Sighting(value, smaller[0].seq, f"after the overflow of {first.id} came the smaller {smaller[0].id}")
        elif (
            not later
            and shrinkable(first)
            and not recovered_before(run, run.outcome_of(first), view)
            and failed_as(run, view, "overflow", "model_error") is not None
        ):
            yield Sighting(
                "error",
                run.end_seq,
                f"after the overflow of {first.id} run {run.id} made no smaller request and {name_out(run)}",
            )


def _refused(call: Call) -> bool:
    return call.refused is not None or (call.reply is not None and call.reply.status >= 400)


def model_error(view: View) -> Iterator[Sighting]:
    """How a run went out on a failure of the model that nothing recovered. An ordinary finish is RUN-5's."""
    for run in view.runs:
        loop = [call for call in run.calls if call.role in ("regular", "retry")]
        last = loop[-1] if loop else None
        if last is None or run.summary or not over(run) or not last.failed or last.overflow or last.reply is None:
            continue
        out = failed_as(run, view, "model_error")
        if out is not None:
            yield Sighting(
                out,
                run.end_seq,
                f"the model failed in {last.id} (status {last.reply.status}) and run {run.id} {name_out(run)}",
            )


def http_retry(view: View) -> Iterator[Sighting]:
    """
    Whether a request that failed was sent again. What the caller forbids to repeat, or asks to wait for, shows nothing.

    A request that is wrong and sent again is REC-4's, unless `all` is declared; one that is not, after another cause had used
    up what there was, is REC-8's.
    """
    for run in view.runs:
        if run.spec is not None and run.spec.limits.retries == 0:
            continue
        for call in run.calls:
            came = call.reply.status if call.reply is not None else None
            if came is None or call.role not in ("regular", "retry") or call.overflow or quota_spent(call):
                continue
            later = [one for one in run.calls if one.seq > call.end_seq]
            value = _sent_again(run, call, came, later, view)
            if value is not None:
                how = f"{later[0].id} sent it again" if later else "was not sent again"
                yield Sighting(
                    value, later[0].seq if later else run.end_seq, f"{call.id} failed with status {came} and {how}"
                )


def _sent_again(run: Run, call: Call, came: int, later: Sequence[Call], view: View) -> str | None:
    """Which value of `http_retry` a failed call shows, by what came of it."""
    everything = view.declared.http_retry == "all"
    same = any(asked(one.body) == asked(call.body) for one in run.calls if one.seq < call.seq)
    first = not same and not tried_again(run, call)
    given_up = not later and first and over(run)
    if came in _FINAL and everything:
        again = bool(later) and asked(later[0].body) == asked(call.body)
        return "all" if again else "transient" if given_up else None
    if came != 429 and came < 500:
        return None
    if later and later[0].kind == "attempt":
        return "all" if everything else "transient"
    return "none" if given_up and not (asked_to_wait_s(call) or recovered_before(run, call, view)) else None


def recovery_scope(view: View) -> Iterator[Sighting]:
    """Whether an empty reply in a later round was asked for again although the run had spent what it may."""
    allowed = view.declared.empty_retries
    if allowed == 0 or view.declared.empty_response == "continue":
        return
    for run in view.runs:
        loop = [call for call in run.main if call.kind != "summary"]
        spent = mine = 0
        for place, call in enumerate(loop):
            if call.kind == "regular":
                mine = 0
            if not is_empty(run.outcome_of(call), view.dialect):
                continue
            follows = loop[place + 1] if place + 1 < len(loop) else None
            saw = f"{call.id} was answered by an empty reply after run {run.id} had asked {spent} times again, and "
            if spent == allowed and mine == 0:
                if follows is not None and follows.kind == "retry":
                    yield Sighting("round", follows.seq, f"{saw}{follows.id} asks again")
                elif follows is None and not run.summary and over(run) and _gave_up(run, view):
                    yield Sighting("run", run.end_seq, f"{saw}the run {name_out(run)}")
            spent, mine = spent + 1, mine + 1


def _gave_up(run: Run, view: View) -> bool:
    claim = claimed(run, view)
    if claim is not None and claim.kind == "empty" and view.declared.retry_budget == "free":
        return True  # where a retry costs no round, the limit takes none away
    spent = run.max_iters is not None and run.rounds >= run.max_iters
    return not spent and claim is not None and claim.kind in ("empty", "error")


def length_stop(view: View) -> Iterator[Sighting]:
    """What the first reply cut by length led to. One that passes for a whole answer is RUN-3b's."""
    for run in view.runs:
        if not over(run) or gated(run, view):
            continue
        for call in run.main:
            reply = run.outcome_of(call).reply
            if call.kind == "summary" or reply is None or not reply.complete or reply.stop != "length":
                continue
            if reply.calls or not (reply.text or "").strip():
                break
            value = _after_cut(run, call, view)
            if value is not None:
                yield Sighting(
                    value, reply.seq, f"the reply to {call.id} was cut by length and {_what_came(run, call)}"
                )
            break


def _next(run: Run, call: Call) -> Call | None:
    return next((one for one in run.main if one.seq > run.outcome_of(call).seq), None)


def _after_cut(run: Run, call: Call, view: View) -> str | None:
    following = _next(run, call)
    if following is not None:
        return None if following.kind == "summary" else "continue"
    if failed_as(run, view, "truncated") is not None and way_out(run) != "returned":
        return "error"
    claim = claimed(run, view)
    if claim is None or claim.kind != "truncated":
        return None
    # Without events a result that says `truncated` is a flag and an error alike.
    return (
        "flag" if way_out(run) == "finished" or view.declared.length_stop == "continue" else view.declared.length_stop
    )


def _what_came(run: Run, call: Call) -> str:
    following = _next(run, call)
    return f"run {run.id} {name_out(run)}" if following is None else f"{following.id} went on"
