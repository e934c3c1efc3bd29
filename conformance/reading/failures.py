"""What went wrong with a model call: its status, the provider's words, where its reply broke. Judges nothing."""

from collections.abc import Mapping
from typing import Any, Literal

from conformance.reading.classes import transient
from conformance.reading.view import Call, Run

#: A 429 of this code or type is cured by paying, not by waiting.
QUOTA = "insufficient_quota"

#: `connection`: it broke, or a body that is not streamed ended too early. `call`: the stream just ended while a call was
#: being spelled. `text`: it just ended, and no call had begun.
Break = Literal["connection", "call", "text"]


def status(call: Call) -> int | None:
    """The HTTP status that came, None where nothing came."""
    if call.refused is not None:
        return int(call.refused["status"])
    return call.reply.status if call.reply is not None else None


def error(call: Call) -> Mapping[str, Any]:
    """The scripted error in a reply's place, empty where there was none."""
    found = (call.reply.fault or {}).get("error") if call.reply is not None else None
    return found if isinstance(found, Mapping) else {}


def names(call: Call) -> tuple[str, ...]:
    """What the provider called it: code, type and message of the body that was sent."""
    body = error(call).get("body")
    said = body.get("error") if isinstance(body, Mapping) else None
    fields = said if isinstance(said, Mapping) else {}
    return tuple(str(fields[key]) for key in ("code", "type", "message") if fields.get(key))


def quota_spent(call: Call) -> bool:
    """Whether a 429 says that there is no more to spend."""
    return status(call) == 429 and QUOTA in names(call)


def asked_to_wait_s(call: Call) -> float | None:
    """Seconds that the provider asked to wait before the next request, None where it asked for none."""
    given = error(call).get("retry_after_s")
    return float(given) if isinstance(given, int | float) else None


def no_reply(call: Call) -> bool:
    """Whether it is a 200 whose body is no reply."""
    return status(call) == 200 and bool(error(call))


def broke(call: Call) -> Break | None:
    """
    How a reply broke before it was whole; None where it did not, or where enough was sent that it may have been whole.

    A stream that is cut behind its finish reason is whole to all clients but those that wait for the sentinel.
    """
    reply = call.reply
    if reply is None or reply.complete or call.done_seq is None or error(call):
        return None
    fault = reply.fault or {}
    found = fault.get("cut") or fault.get("stall")
    if not isinstance(found, Mapping):
        return None
    if not call.request.stream:
        return "connection"
    sent, before_calls, before_finish = found.get("after_chunks"), *_chunks(call)
    if sent is None or sent > before_finish:
        return None
    if "stall" in fault or found.get("reset"):
        return "connection"
    return "call" if reply.calls and sent > before_calls else "text"


def _chunks(call: Call) -> tuple[int, int]:
    """How many chunks of a stream come before the first call and before the finish reason, at least: texts may come in more."""
    reply = call.reply
    if reply is None:
        return 0, 0
    said = 1 + bool(reply.thinking) + bool(reply.text)
    return said, said + sum(1 + bool(one.arguments) for one in reply.calls)


def trails_off(call: Call) -> bool:
    """Whether its stream just ended, without a finish reason and with no call begun: that it was whole cannot be ruled out."""
    return broke(call) == "text"


def still_retrying(run: Run) -> bool:
    """Whether the silence at the end is a pause between attempts: the last request failed for now, and more were on their way."""
    last = run.calls[-1] if run.calls else None
    if last is None or last.reply is None or last.done_seq is None or not transient(last):
        return False
    since = [x.seq for x in run.executions] + [event.seq for event in run.events]
    return (last.kind in ("attempt", "retry") or bool(asked_to_wait_s(last))) and not any(
        seq > last.end_seq for seq in since
    )
