"""
The class of each model call of a run: attempt, side call, retry, summary or regular, and the round it belongs to.

Computed from the recording and never stored, so that old recordings are judged by new rules. The first class that fits wins,
in the order of the functions below.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from conformance.dialect import Dialect
from conformance.reading.view import Call
from fake_models.matching import misfit, when
from fake_models.messages import ModelRequest, World

SideCall = Literal["auxiliary", "compaction"]
SIDE_CALLS: Mapping[str, SideCall] = {"auxiliary": "auxiliary", "compaction": "compaction"}
#: A dialect's `side_calls`: conditions in the script's `when` language, any of which makes a call one of that class.
SideCalls = Mapping[str, Sequence[Mapping[str, Any]]]

#: Statuses after which client libraries send the same request again.
TRANSIENT = frozenset({408, 409, 429})
#: Body keys that say how a reply is delivered, not what is asked.
_DELIVERY = ("model", "stream", "stream_options")


@dataclass(frozen=True, slots=True)
class _State:
    """What the calls so far amount to: rounds begun, whether the last of them still lacks a reply, summaries asked for."""

    rounds: int = 0
    last: Call | None = None
    summaries: int = 0


@dataclass(frozen=True, slots=True)
class _Terms:
    """What the classes of a run depend on beside its calls."""

    limit: int | None
    dialect: Dialect
    now: World


def classify(calls: Sequence[Call], limit: int | None, dialect: Dialect, now: World) -> tuple[Call, ...]:
    """The calls of one run with `kind`, `role`, `repeats` and `round` set. `limit` is the budget in rounds, None for none."""
    terms = _Terms(limit, dialect, now)
    done: list[Call] = []
    state = _State()
    for call in calls:
        one, state = _class(call, done, state, terms)
        done.append(one)
    return tuple(done)


def _class(call: Call, before: Sequence[Call], state: _State, terms: _Terms) -> tuple[Call, _State]:
    side = call.side or side_class(call.request, terms.dialect.side_calls, terms.now)
    repeated = _repeated(call, before, SIDE_CALLS.get(side or ""))
    if repeated is not None:
        one = replace(
            call, kind="attempt", role=repeated.role, repeats=repeated.repeats or repeated.id, round=repeated.round
        )
        # The chain's latest reply is the one that counts for what comes next.
        follows = state.last is not None and one.repeats == (state.last.repeats or state.last.id)
        return one, replace(state, last=one) if follows else state
    if side is not None:
        return replace(call, kind=side, role=side), state
    if _is_retry(state, terms):
        empty = state.last is not None and is_empty(state.last, terms.dialect)
        spends = empty and terms.dialect.retry_budget == "counts"
        rounds = state.rounds + spends
        one = replace(call, kind="retry", role="retry", round=rounds)
        return one, replace(state, rounds=rounds, last=one)
    if _is_summary(state, terms):
        one = replace(call, kind="summary", role="summary")
        return one, replace(state, last=one, summaries=state.summaries + 1)
    one = replace(call, kind="regular", role="regular", round=state.rounds + 1)
    return one, replace(state, rounds=state.rounds + 1, last=one)


def _repeated(call: Call, before: Sequence[Call], side: SideCall | None) -> Call | None:
    """The call that this one sends again: the one before it in its lane, since side calls come beside the loop."""
    lane = (
        [one for one in before if one.role == side] if side else [one for one in before if one.role not in SIDE_CALLS]
    )
    if not lane:
        return None
    last = lane[-1]
    if call.retry_header:
        return last
    over = last.done_seq is not None or last.refused_seq is not None
    same = over and over_before(last, call) and transient(last) and asked(last.body) == asked(call.body)
    return last if same else None


def over_before(last: Call, call: Call) -> bool:
    """Whether the last call had ended when this one began."""
    return last.end_seq < call.seq


def transient(call: Call) -> bool:
    """Whether the call failed in a way that client libraries repeat: no response, 408, 409, 429, 5xx, a broken stream."""
    if call.refused is not None:
        return False
    if call.reply is None:
        return True
    # A stream that told of an error broke as that error would have, whatever status its head had.
    status = told_error(call.reply.fault, "error_event").get("status", call.reply.status)
    return status in TRANSIENT or status >= 500 or (status == 200 and not call.reply.complete)


def told_error(fault: Mapping[str, Any] | None, kind: str | None = None) -> Mapping[str, Any]:
    """
    The error that a recorded fault tells of, empty where it tells of none.

    It came in the reply's place (`error`) or in the middle of it (`error_event`); `kind` asks for one of them alone.
    """
    found = fault or {}
    instead, amid = found.get("error") or {}, (found.get("error_event") or {}).get("error") or {}
    told: Mapping[str, Any] = {"error": instead, "error_event": amid}[kind] if kind else instead or amid
    return told


def asked(body: Any) -> Any:
    """What a body asks, without how it is delivered."""
    if not isinstance(body, Mapping):
        return body
    return {key: value for key, value in body.items() if key not in _DELIVERY}


def side_class(request: ModelRequest, side_calls: SideCalls, now: World) -> SideCall | None:
    """The side class that the agent's declared matchers give a request: `compaction`, `auxiliary`, or None."""
    fits = (
        kind
        for kind in SIDE_CALLS.values()
        if any(misfit(when(w), request, now) is None for w in side_calls.get(kind, ()))
    )
    return next(fits, None)


def is_empty(call: Call, dialect: Dialect) -> bool:
    """Whether the call's whole reply is empty as the dialect understands it."""
    return call.reply is not None and call.reply.complete and call.reply.empty in dialect.empty_is


def _is_retry(state: _State, terms: _Terms) -> bool:
    limit, dialect = terms.limit, terms.dialect
    last = state.last
    if last is None or last.role == "summary":
        return False
    if is_empty(last, dialect):
        spent = dialect.retry_budget == "counts" and limit is not None and state.rounds >= limit
        return dialect.empty_response != "continue" and not spent
    if last.overflow or transient(last):
        return True
    cut_short = last.reply is not None and last.reply.complete and last.reply.stop == "length"
    return cut_short and dialect.length_stop == "continue"


def _is_summary(state: _State, terms: _Terms) -> bool:
    limit, dialect = terms.limit, terms.dialect
    if dialect.limit_text != "model" or limit is None or state.rounds < limit:
        return False
    if state.summaries == 0:
        return True
    last = state.last
    repeatable = (
        last is not None and last.role == "summary" and (last.failed or is_empty(last, dialect) or bool(last.said))
    )
    return state.summaries == 1 and repeatable
