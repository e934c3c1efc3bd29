"""What a run had to recover from, call by call: the cause, and the request that came of it. Judges nothing."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from conformance.dialect import Dialect
from conformance.reading.classes import TRANSIENT, is_empty
from conformance.reading.failures import quota_spent, status
from conformance.reading.view import Call, Run, View

#: `transient`: a status after which the same request may well be answered.
Cause = Literal["empty", "overflow", "transient"]

#: Turns of the user in a prompt that can be shrunk for sure: fewer than two older ones count as too short.
_SHRINKABLE_TURNS = 4


@dataclass(frozen=True, slots=True)
class Trouble:
    """A call that has to be recovered from. `follows` is the loop's next request, None where there was none."""

    cause: Cause
    call: Call
    follows: Call | None


def cause(call: Call, dialect: Dialect) -> Cause | None:
    """What is to be recovered from after a call; None where it went well, or where nothing helps."""
    if is_empty(call, dialect):
        return "empty"
    if call.overflow:
        return "overflow"
    return "transient" if comes_and_goes(call) else None


def comes_and_goes(call: Call) -> bool:
    """Whether the status that came is one that the dialect's `transient` means: 408, 409, 429 but for a spent quota, 5xx."""
    came = status(call)
    if call.refused is not None or came is None or quota_spent(call):
        return False
    return came in TRANSIENT or came >= 500


def tried_again(run: Run, call: Call) -> bool:
    """
    Whether a call is itself another try after a failure that may pass, though it may be none in the same words.

    A body that holds a number of its own, in `metadata` or `user`, is another one each time it is sent.
    """
    before = [one for one in run.calls if one.seq < call.seq and one.role in ("regular", "retry")]
    return call.kind in ("attempt", "retry") and bool(before) and comes_and_goes(before[-1])


def troubles(run: Run, view: View) -> tuple[Trouble, ...]:
    """All that the loop of a run had to recover from, in order; summaries and side calls aside."""
    loop = [call for call in run.calls if call.role in ("regular", "retry")]
    following = {before.id: after for before, after in pairwise(loop)}
    found = ((cause(call, view.dialect), call) for call in loop)
    return tuple(Trouble(why, call, following.get(call.id)) for why, call in found if why is not None)


def recovered_before(run: Run, call: Call, view: View) -> bool:
    """Whether the run had recovered from another cause by then, which may have used up what it has for all of them."""
    mine = cause(call, view.dialect)
    return any(one.call.seq < call.seq and one.cause != mine and one.follows is not None for one in troubles(run, view))


def shrinkable(call: Call) -> bool:
    """Whether a request has enough older turns that a smaller one can be asked for."""
    return sum(message.role == "user" for message in call.request.messages) >= _SHRINKABLE_TURNS
