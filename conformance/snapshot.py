"""
A recording's stable text: one line per model call, tool run and event, in order, for people to read and to diff.

Ids are numbered anew (calls c1, messages t1), times, usage, logs and provider noise are left out, so that the same run gives
the same bytes. Of an agent in a process of its own each run is told in three sections, model, tools, events: between them the order is
no matter of the agent's alone.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from conformance.printable import printable
from conformance.reading.agui import Event
from conformance.reading.outcome import claimed
from conformance.reading.view import Call, Execution, Run, View

#: Longest value that is shown whole, in characters.
SHOWN = 200
#: Event fields that a line does not show: its type, ids shown by number, and what changes from run to run.
_QUIET = frozenset(
    {
        *("type", "threadId", "runId", "timestamp", "rawEvent", "metadata", "input", "usage"),
        *("messageId", "toolCallId", "toolCallName", "parentMessageId", "role", "delta"),
    }
)


@dataclass(frozen=True, slots=True)
class _Line:
    """A line and the records it tells of."""

    seqs: tuple[int, ...]
    text: str


class _Names:
    """Numbers for ids, in order of their first appearance."""

    def __init__(self, letter: str) -> None:
        self._letter = letter
        self._known: dict[Any, str] = {}

    def __getitem__(self, key: Any) -> str:
        if key is None or key == "":
            return "-" if key is None else '""'
        key = key if isinstance(key, str) else value_text(key)
        return self._known.setdefault(key, f"{self._letter}{len(self._known) + 1}")


def stable_text(view: View) -> str:
    """The recording as text; equal behaviour gives equal text."""
    blocks = [[_title(view), _counts(view)], *([line.text for line in block] for block in _blocks(view))]
    return "\n\n".join("\n".join(map(printable, block)) for block in blocks) + "\n"


def line_of(view: View, seq: int) -> str | None:
    """The line that tells of a record, or the nearest one before it; None where nothing came before."""
    lines = [line for block in _blocks(view) for line in block]
    at = _place(lines, seq)
    return None if at is None else printable(lines[at].text)


def around(view: View, seq: int, reach: int = 2) -> tuple[tuple[bool, str], ...]:
    """The lines around the one that `line_of` gives, `reach` to either side, each with whether it is that one."""
    lines = [line for block in _blocks(view) for line in block]
    at = _place(lines, seq)
    if at is None:
        return ()
    first = max(at - reach, 0)
    return tuple((n == at, printable(line.text)) for n, line in enumerate(lines[first : at + reach + 1], start=first))


def _place(lines: Sequence[_Line], seq: int) -> int | None:
    exact = [at for at, line in enumerate(lines) if seq in line.seqs]
    before = [at for at, line in enumerate(lines) if min(line.seqs) <= seq]
    found = exact or sorted(before, key=lambda at: min(lines[at].seqs))
    return found[-1] if found else None


def told(view: View) -> tuple[tuple[int, str], ...]:
    """The lines that tell of records, each with the first of them: the stable text without its head."""
    return tuple((line.seqs[0], printable(line.text)) for block in _blocks(view) for line in block)


def summed_up(view: View) -> str:
    """The line of the head that says how it ended and how much of everything there was."""
    return printable(_counts(view))


def value_text(value: Any) -> str:
    """A value as canonical JSON, cut at 200 characters with its length and hash."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    if len(text) <= SHOWN:
        return text
    digest = hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:12]
    return f"{text[:SHOWN]}… ({len(text)} characters, {digest})"


def _title(view: View) -> str:
    head = view.recording.header
    cell = "streaming" if head.cell.get("stream") else "blocking"
    return " · ".join((view.scenario.id, str(head.agent.get("name")), head.wire, cell, str(head.cell.get("chunking"))))


def _counts(view: View) -> str:
    kinds = [call.kind for run in view.runs for call in run.calls]
    counted = [kind for kind in kinds if kind not in ("attempt", "auxiliary")]
    parts = ", ".join(f"{counted.count(kind)} {kind}" for kind in dict.fromkeys(counted))
    last = view.runs[-1] if view.runs else None
    claim = claimed(last, view) if last else None
    ran = sum(len(run.executions) for run in view.runs)
    events = sum(len(run.events) + len(run.strays) for run in view.runs)
    return " · ".join(
        (
            last.terminal.type if last and last.terminal else "no terminal event",
            claim.kind if claim else "no outcome",
            f"{_many(len(counted), 'model call')}{f' ({parts})' if parts else ''}",
            _many(kinds.count("attempt"), "attempt"),
            _many(ran, "tool run"),
            _many(events, "event"),
        )
    )


def _many(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _run_line(run: Run, session: str) -> str:
    limits = " ".join(f"{name}={value}" for name, value in _start(run).items())
    return " ".join(filter(None, ("run", run.id, session, limits, value_text(run.user) if run.user else "resume")))


def _start(run: Run) -> Mapping[str, Any]:
    return {"max_iters": run.max_iters} if run.limited else {}


def _blocks(view: View) -> list[list[_Line]]:
    """The lines of each run; ids are numbered over the whole recording."""
    calls, messages, sessions = _Names("c"), _Names("t"), _Names("s")
    order = _in_sections if view.recording.header.apart else _as_it_came
    return [list(_block(run, sessions[run.session], order(run), calls, messages)) for run in view.runs]


_Thing = Call | Execution | Event


def _as_it_came(run: Run) -> list[_Thing]:
    things: list[_Thing] = [*run.calls, *run.executions, *run.events, *run.strays]
    return sorted(things, key=lambda one: one.seq)


def _in_sections(run: Run) -> list[_Thing]:
    """Model, tools in the order of their calls, events."""
    made = [
        part.get("id") for call in run.calls if call.reply for part in call.reply.parts if part["type"] == "tool_call"
    ]

    def place(one: Execution) -> tuple[int, int]:
        return made.index(one.call_id) if one.call_id in made else len(made), one.seq

    events = sorted([*run.events, *run.strays], key=lambda one: one.seq)
    return [*run.calls, *sorted(run.executions, key=place), *events]


def _block(run: Run, session: str, things: Iterable[_Thing], calls: _Names, messages: _Names) -> Iterable[_Line]:
    yield _Line((run.seq,), _run_line(run, session))
    for thing in things:
        if isinstance(thing, Call):
            replied = thing.reply.seq if thing.reply else thing.seq
            yield _Line((thing.seq, replied, thing.end_seq), _call_line(thing, calls))
        elif isinstance(thing, Execution):
            yield _Line((thing.seq, thing.end_seq or thing.seq), _execution_line(thing, calls))
        elif not _is_usage(thing):
            yield _Line((thing.seq,), _event_line(thing, calls, messages))
    for record in run.garbage:
        yield _Line((record.seq,), f"E ? {value_text(record.data.get('line'))}")
    if run.raised:
        yield _Line((run.raised.seq,), f"! raised {run.raised.exception}: {value_text(run.raised.message)}")
    if run.how not in ("returned", "raised"):
        yield _Line((run.end_seq,), f"! {run.how}")


def _is_usage(event: Event) -> bool:
    return event.type == "CUSTOM" and event.data.get("name") == "token_usage"


def _call_line(call: Call, calls: _Names) -> str:
    asked = ", ".join(
        _role(m.role, [one.id for one in m.tool_calls] or [m.tool_call_id], calls) for m in call.request.messages
    )
    tools = ",".join(call.request.callable_tools) or "none"
    choice = call.request.tool_choice
    forced = f" choice={choice}" if choice not in (None, "auto", "none") else ""
    return f"M {call.id} {call.kind} [{asked}] tools={tools}{forced} -> {_reply(call, calls)}"


def _role(role: str, ids: Sequence[str | None], calls: _Names) -> str:
    known = [calls[one] for one in ids if one is not None]
    return f"{role}({','.join(known)})" if known else role


def _reply(call: Call, calls: _Names) -> str:
    if call.refused is not None:
        return f"refused by {call.refused['by']} ({call.refused['status']}) {value_text(call.refused['message'])}"
    if call.reply is None:
        return "no reply"
    if call.reply.status != 200:
        return f"error {call.reply.status}"
    said = ", ".join(_part(part, calls) for part in call.reply.parts) or "nothing"
    return f"{said} ({call.reply.stop}{'' if call.reply.complete else ', broken'})"


def _part(part: Mapping[str, Any], calls: _Names) -> str:
    if part["type"] == "tool_call":
        return f"call {calls[part.get('id')]} {part['name']} {_cut(part['arguments'])}"
    return "think" if part["type"] == "thinking" else f"text {value_text(part['text'])}"


def _cut(text: str) -> str:
    return text if len(text) <= SHOWN else value_text(text)


def _execution_line(run: Execution, calls: _Names) -> str:
    head = f"T {run.id} {calls[run.call_id]} {run.tool} {value_text(run.arguments)}"
    if run.error is not None:
        return f"{head} -> {'rejected' if run.error.get('rejected') else 'raised'} {run.error.get('type')}: {value_text(run.error.get('message'))}"
    return f"{head} -> {value_text(run.value)}" if run.end_seq is not None else f"{head} -> never came back"


def _event_line(event: Event, calls: _Names, messages: _Names) -> str:
    data = event.data
    parts = ["E", event.type or "?"]
    if "toolCallId" in data:
        parts.append(calls[data["toolCallId"]])
        parts += [str(data["toolCallName"])] if "toolCallName" in data else []
        parts += [value_text(data["content"])] if "content" in data else []
    elif "messageId" in data:
        parts.append(messages[data["messageId"]])
    parts += [value_text(data["delta"])] if "delta" in data else []
    parts += _rest(event)
    return " ".join(parts)


def _rest(event: Event) -> list[str]:
    data = event.data
    if event.type == "RAW":
        payload = data.get("event")
        if isinstance(payload, Mapping):
            kept = {key: value for key, value in payload.items() if key not in ("type", "replyId", "createdAt")}
            return [str(payload.get("type")), value_text(kept)]
        return [value_text(payload)]
    if event.type == "CUSTOM":
        return [str(data.get("name")), value_text(data.get("value"))]
    if event.type == "MESSAGES_SNAPSHOT":
        return []
    rest = {
        key: value
        for key, value in data.items()
        if key not in _QUIET and not (key == "content" and "toolCallId" in data)
    }
    return [value_text(rest)] if rest else []
