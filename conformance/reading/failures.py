"""What went wrong with a model call: its status, the provider's words, where its reply broke. Judges nothing."""

from collections.abc import Mapping
from typing import Any, Literal

from conformance.reading.classes import told_error, transient
from conformance.reading.stream_places import sent
from conformance.reading.view import Call, Reply, Run, View

#: A 429 of this code or type is cured by paying, not by waiting.
QUOTA = "insufficient_quota"

#: `connection`: it broke, or a body that is not streamed ended too early. `call`: the stream just ended while a call was
#: being spelled. `text`: it just ended, and no call had begun. `error`: it told of an error in place of its rest.
Break = Literal["connection", "call", "text", "error"]


def status(call: Call) -> int | None:
    """The HTTP status that came, None where nothing came."""
    if call.refused is not None:
        return int(call.refused["status"])
    if call.reply is None or "refuse" in (call.reply.fault or {}):
        return None
    return call.reply.status


def error(call: Call) -> Mapping[str, Any]:
    """The scripted error in a reply's place or in the middle of it, empty where there was none."""
    return told_error(call.reply.fault) if call.reply is not None else {}


def names(call: Call) -> tuple[str, ...]:
    """What the provider called it: code, type (or status) and message of the body that was sent, in whichever wire's shape."""
    body = error(call).get("body")
    if isinstance(body, list) and body:
        body = body[0]
    said = body.get("error", body) if isinstance(body, Mapping) else None
    fields = {"message": said} if isinstance(said, str) else said if isinstance(said, Mapping) else {}
    found = (str(fields[key]) for key in ("code", "type", "status", "message") if fields.get(key))
    # Events that are errors say so in their type, which names none.
    return tuple(name for name in found if name != "error")


def quota_spent(call: Call) -> bool:
    """Whether a 429 says that there is no more to spend."""
    return status(call) == 429 and QUOTA in names(call)


def asked_to_wait_s(call: Call) -> float | None:
    """Seconds that the provider asked to wait before the next request, None where it asked for none."""
    given = error(call).get("retry_after_s")
    return float(given) if isinstance(given, int | float) else None


def no_reply(call: Call) -> bool:
    """Whether it is a 200 whose body is no reply."""
    return status(call) == 200 and call.reply is not None and bool(told_error(call.reply.fault, "error"))


def broke(call: Call, view: View) -> Break | None:
    """
    How a reply broke before it was whole; None where it did not, or where enough was sent that it may have been whole.

    A stream that is cut behind its finish reason is whole to all clients but those that wait for the sentinel.
    """
    reply = call.reply
    if reply is None or call.done_seq is None:
        return None
    if reply.unfinished:
        return "text"
    fault = reply.fault or {}
    if reply.complete or "error" in fault:
        return None
    if "error_event" in fault:
        # Without a stream it is an answer with an error status.
        return "error" if call.request.stream else None
    cut = fault.get("cut") or fault.get("stall")
    if "refuse" in fault or (cut and not call.request.stream):
        return "connection"
    return _cut(call, reply, cut, view) if cut else None


def _cut(call: Call, reply: Reply, cut: Mapping[str, Any], view: View) -> Break | None:
    after_chunks = cut.get("after_chunks")
    if after_chunks is None:
        return None
    came = sent(reply, call.request, view.recording.header, after_chunks)
    if came.finished:
        return None
    # Only a cut says whether it resets; a silence ends in one.
    if cut.get("reset", True):
        return "connection"
    return "call" if came.calls else "text"


def trails_off(call: Call, view: View) -> bool:
    """Whether its stream just ended, without a finish reason and with no call begun: that it was whole cannot be ruled out."""
    return broke(call, view) == "text"


def still_retrying(run: Run) -> bool:
    """Whether the deadline came in a pause between attempts: the last request failed for now, and more were on their way."""
    last = run.calls[-1] if run.calls and run.how == "hung" else None
    if last is None or last.reply is None or last.done_seq is None or not transient(last):
        return False
    since = [x.seq for x in run.executions] + [event.seq for event in run.events]
    return (last.kind in ("attempt", "retry") or bool(asked_to_wait_s(last))) and not any(
        seq > last.end_seq for seq in since
    )


def retries_at_the_deadline(view: View) -> str | None:
    """Why nothing can be said of how a run ends: it was still waiting to ask its model again. None where none was."""
    waiting = next((run for run in view.runs if still_retrying(run)), None)
    return None if waiting is None else f"run {waiting.id} still retried its model when the deadline came"
