"""The outcome of a run: what the agent claims, and what the model calls show. Compares nothing, see RUN-3."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from conformance.dialect import OUTCOMES, Dialect
from conformance.reading.agui import Event
from conformance.reading.classes import is_empty
from conformance.reading.guarding import stopped
from conformance.reading.view import Call, Reply, Run, View
from fake_models.messages import ToolCall

#: Every kind of outcome there is.
KINDS = OUTCOMES
_MARKER = re.compile(r"MAX.?(ITER|TURN|STEP|ROUND)|LIMIT", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Claim:
    """What the agent says of its end. `by` is the channel: R, E, or `raised` for an exception; `seq` where it says so."""

    kind: str
    reason: str | None
    by: str
    seq: int


def markers(run: Run, dialect: Dialect) -> tuple[Event, ...]:
    """The events that show the limit: RAW by `event.type`, CUSTOM by `name`, called as declared or, undeclared, as a limit."""
    return tuple(event for event in run.events if _marks(event, dialect.marker_name))


def marker_kind(event: Event) -> str:
    """`raw` or `custom`."""
    return event.type.lower()


def marker_payload(event: Event) -> Any:
    """What a marker carries."""
    return event.data.get("event") if event.type == "RAW" else event.data.get("value")


def _marks(event: Event, name: str | None) -> bool:
    if event.type == "RAW":
        payload = event.data.get("event")
        said = payload.get("type") if isinstance(payload, Mapping) else None
    elif event.type == "CUSTOM":
        said = event.data.get("name")
    else:
        return False
    if not isinstance(said, str):
        return False
    return said == name if name is not None else _MARKER.search(said) is not None


def claimed(run: Run, view: View) -> Claim | None:
    """What the run claims to be; None where nothing was said, which a run that never ended leaves behind."""
    if run.raised is not None:
        kind = view.dialect.exceptions.get(run.raised.exception, "error")
        return Claim(kind, run.raised.message, "raised", run.raised.seq)
    if run.said is not None:
        return Claim(run.said.kind, run.said.reason, "R", run.said.seq)
    # An agent that has a result to give and gave none is taken at its events, as one that has none.
    if "E" not in view.channels or run.terminal is None:
        return None
    kind, reason = _from_events(run.terminal, bool(markers(run, view.dialect)))
    return Claim(kind, reason, "E", run.terminal.seq)


def _from_events(end: Event, marked: bool) -> tuple[str, str | None]:  # noqa: FBT001 - both are plain facts of the stream
    if end.type == "RUN_ERROR":
        code = end.data.get("code")
        return (code if code in KINDS else "error"), str(end.data.get("message"))
    outcome = end.data.get("outcome")
    kind = outcome.get("type") if isinstance(outcome, Mapping) else None
    if kind in ("interrupt", "cancelled"):
        return ("waiting" if kind == "interrupt" else "interrupted"), None
    if marked:
        return "limit", None
    result = end.data.get("result")
    said = result.get("outcome") if isinstance(result, Mapping) else None
    return (said if isinstance(said, str) and said in KINDS else "answered"), None


def answer(call: Call, dialect: Dialect) -> str | None:
    """The final answer that a call's whole reply carries, None if it carries none."""
    reply = call.reply
    if reply is None or not reply.complete or is_empty(call, dialect):
        return None
    mine = _answer_calls(reply, dialect)
    if mine:
        return answer_call(call, dialect) if len(mine) == len(reply.calls) else None
    if reply.calls or reply.stop != "stop" or not reply.text:
        return None
    return reply.text


def answer_call(call: Call, dialect: Dialect) -> str | None:
    """The answer that a call of the answer tool gives, wherever it stands in a whole reply; None where there is none."""
    reply = call.reply
    mine = _answer_calls(reply, dialect) if reply is not None and reply.complete else []
    return _argument(mine[-1].arguments, dialect.answer_by.partition(".")[2]) if mine else None


def _answer_calls(reply: Reply, dialect: Dialect) -> list[ToolCall]:
    name = dialect.answer_by.removeprefix("tool:").partition(".")[0]
    return [one for one in reply.calls if one.name == name] if dialect.answer_by.startswith("tool:") else []


def _argument(arguments: str, name: str) -> str | None:
    try:
        value = json.loads(arguments or "{}")
    except ValueError:
        return None
    found = value.get(name) if isinstance(value, dict) else None
    return found if found is None or isinstance(found, str) else json.dumps(found, ensure_ascii=False)


def words(call: Call, dialect: Dialect) -> tuple[str, ...]:
    """All that a call's whole reply says to the user: its text, and the answer where that is a call."""
    reply = call.reply
    if reply is None or not reply.complete:
        return ()
    by_call = answer(call, dialect) if reply.calls else None
    return tuple(text for text in (reply.text, by_call) if text)


def continued(run: Run, call: Call, final: str) -> str | None:
    """The text with the cut pieces before it that it goes on from; None where there are none."""
    before = [one.reply for one in run.main if one.seq < call.seq and one.reply is not None and one.reply.complete]
    pieces = [final]
    while before and before[-1].stop == "length" and not before[-1].calls:
        pieces.insert(0, before.pop().text or "")
    return "".join(pieces) if len(pieces) > 1 else None


def last_reply(run: Run) -> Call | None:
    """The last call of the loop, the summary aside, whose reply was whole."""
    whole = [c for c in run.calls if c.role in ("regular", "retry") and c.reply is not None and c.reply.complete]
    return whole[-1] if whole else None


def last_call(run: Run) -> Call | None:
    """The last call of the loop, the summary aside, whole or not. What came after the run's end is RUN-9's."""
    calls = [c for c in run.calls if c.role in ("regular", "retry") and (c.refused or {}).get("by") != "late"]
    return calls[-1] if calls else None


def actual(run: Run, view: View) -> str | None:
    """What the model calls show the run to be; None where they leave it open."""
    found = next((kind for kind, holds in _ENDINGS if holds(run, last_call(run), view.dialect)), None)
    # A guard is met before a next round could begin, and so before the limit.
    by_guard = found in (None, "limit") and not run.summary and stopped(run, view) is not None
    return "guard" if by_guard else found


#: Causes that only a reply can be, and what a reply of that cause looks like. One that broke off may be called cut.
_SIGNS: Mapping[str, Callable[[Call], bool]] = {
    "truncated": lambda call: call.reply is not None and (call.reply.stop == "length" or not call.reply.complete),
    "filtered": lambda call: call.reply is not None and (call.reply.stop == "filter" or call.failed),
    "empty": lambda call: call.reply is not None and call.reply.empty is not None,
}


def without_a_sign(run: Run, kind: str) -> bool:
    """Whether no reply of a run could have ended it as this kind, where that is one that a reply alone can bring about."""
    return kind in _SIGNS and not any(_SIGNS[kind](call) for call in run.calls)


def _at_limit(run: Run, last: Call | None, dialect: Dialect) -> bool:
    if run.summary or run.max_iters == 0:
        return bool(run.summary) or last is None
    # An answer among other calls may be one, whatever round it came in: what came of those decides.
    return _spent(run) and last is not None and bool(last.said) and answer_call(last, dialect) is None


def _spent(run: Run) -> bool:
    return run.max_iters is not None and run.rounds >= run.max_iters


def _empty(run: Run, last: Call | None, dialect: Dialect) -> bool:
    # Where an empty reply spends a round, the last round's one ends the run as empty or as limit, and both are true.
    retried = dialect.empty_response not in ("finish", "error")
    costs = dialect.empty_response == "continue" or (dialect.retry_budget == "counts" and retried)
    return last is not None and is_empty(last, dialect) and not (costs and _spent(run))


def _cut_off(reason: str) -> "_Holds":
    """A last reply that the model broke off, and on which nothing was done any more."""

    def holds(run: Run, last: Call | None, _dialect: Dialect) -> bool:
        if last is None or last.reply is None or not last.reply.complete or last.reply.stop != reason:
            return False
        return not any(done.seq > last.seq for done in run.executions)

    return holds


_Holds = Callable[[Run, Call | None, Dialect], bool]
#: The endings that the model calls can show, the first that holds; `last` is the last call of the loop, the summary aside.
_ENDINGS: tuple[tuple[str, _Holds], ...] = (
    ("interrupted", lambda run, _last, _dialect: run.cancelled),
    ("answered", lambda _run, last, dialect: last is not None and answer(last, dialect) is not None),
    ("limit", lambda run, last, dialect: bool(run.summary) and _at_limit(run, last, dialect)),
    ("overflow", lambda _run, last, _dialect: last is not None and last.overflow),
    ("model_error", lambda _run, last, _dialect: last is not None and last.failed),
    ("empty", _empty),
    ("truncated", _cut_off("length")),
    ("filtered", _cut_off("filter")),
    ("limit", _at_limit),
)


def final_text(run: Run, view: View) -> str | None:
    """
    What the user got to read last: the result's text, else what the events show.

    Of the events, the run's last text message or a later call of the answer tool, else what is shown without a message.
    """
    if run.said is not None and run.said.text is not None:
        return run.said.text
    if "E" not in view.channels:
        return None
    shown = [(message.seq, message.text) for message in run.shown.text_messages if message.role == "assistant"]
    by_call = [one for one in shown_answers(run, view.dialect) if not shown or one[0] > shown[-1][0]]
    elsewhere = () if shown else shown_elsewhere(run, view.dialect.final_text)
    return next(iter((*elsewhere, *(text for _, text in reversed((*shown, *by_call))))), None)


def shown_answers(run: Run, dialect: Dialect) -> tuple[tuple[int, str], ...]:
    """The answers that shown calls of the answer tool carry, each with its record."""
    if not dialect.answer_by.startswith("tool:"):
        return ()
    name, _, argument = dialect.answer_by.removeprefix("tool:").partition(".")
    told = [(call.seq, _argument(call.arguments, argument)) for call in run.shown.tool_calls if call.name == name]
    return tuple((seq, text) for seq, text in told if text is not None)


#: Where a result that is an object holds its text, likeliest first.
_TEXT_FIELDS = ("text", "output", "answer", "content", "final", "response", "message", "result")


def shown_elsewhere(run: Run, final_text: str = "last_reply") -> tuple[str, ...]:
    """
    Text that is shown without a message of its own, likeliest first.

    It may stand in the last snapshot, of which only this run's part counts, or in the result that the run's end carries.
    Under `all_text` the snapshot's texts are one.
    """
    spoken = _spoken(run)
    result = run.terminal.data.get("result") if run.terminal is not None else None
    found: list[Any] = ["".join(spoken) if final_text == "all_text" else spoken[-1] if spoken else None, result]
    if isinstance(result, Mapping):
        found += [result.get(name) for name in _TEXT_FIELDS]
        found += [
            one
            for name, one in result.items()
            if name not in _TEXT_FIELDS and not (isinstance(one, str) and one in KINDS)
        ]
    return tuple(text for text in found if isinstance(text, str) and text.strip())


def _spoken(run: Run) -> list[str]:
    """What the assistant says in the last snapshot, behind the message that began this run."""
    messages = [one for one in snapshot_messages(run) if isinstance(one, Mapping)]
    asked = [place for place, one in enumerate(messages) if one.get("role") == "user"]
    own = [place for place in asked if messages[place].get("content") == run.user] or asked
    since = messages[own[-1] + 1 :] if own else messages
    texts = [one.get("content") for one in since if one.get("role") == "assistant"]
    return [text for text in texts if isinstance(text, str) and text.strip()]


def snapshot_messages(run: Run) -> tuple[Any, ...]:
    """The messages of the run's last MESSAGES_SNAPSHOT, as sent."""
    snapshots = [event.data.get("messages") for event in run.events if event.type == "MESSAGES_SNAPSHOT"]
    return tuple(snapshots[-1]) if snapshots and isinstance(snapshots[-1], list) else ()
