"""AG-UI event streams: chunks expanded, messages and tool calls joined. Pure; refuses nothing and judges no rule."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

#: Events by which something that the model says goes out: text, thinking, a call.
DELTAS = frozenset(
    {
        *("TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_CHUNK", "REASONING_MESSAGE_CONTENT", "REASONING_MESSAGE_CHUNK"),
        *("THINKING_TEXT_MESSAGE_CONTENT", "TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_CHUNK"),
    }
)


@dataclass(frozen=True)
class Event:
    """One AG-UI event in camelCase, as received. `raised`: the adapter's own RUN_ERROR for an exception."""

    seq: int
    data: Mapping[str, Any]
    raised: bool = False

    @cached_property
    def type(self) -> str:
        """The event's type, "" where it has none."""
        kind = self.data.get("type")
        return kind if isinstance(kind, str) else ""


@dataclass(frozen=True, slots=True)
class TextMessage:
    """A text message as the user saw it: its deltas joined. `closed` tells whether its end was seen."""

    id: str
    role: str
    text: str
    seq: int
    closed: bool


@dataclass(frozen=True, slots=True)
class ShownCall:
    """A tool call as events show it: its argument deltas joined. `end_seq` is None where its end was not seen."""

    id: str
    name: str
    arguments: str
    seq: int
    end_seq: int | None


@dataclass(frozen=True, slots=True)
class ShownResult:
    """A tool result as an event shows it; `content` is its text, that of content parts joined."""

    call_id: str
    content: str
    event: Event

    @property
    def seq(self) -> int:
        """The event's record."""
        return self.event.seq


@dataclass(frozen=True, slots=True)
class Refusal:
    """What the published client refuses, in words, at which record."""

    seq: int
    message: str


@dataclass(frozen=True, slots=True)
class _Chunks:
    """
    One kind of chunk, and the events it abbreviates.

    `opening` are the fields an opener must have, `fixed` those that a later chunk may repeat but not change.
    """

    start: str
    content: str
    end: str
    opening: tuple[str, ...]
    fixed: tuple[str, ...]


_CHUNKS: Mapping[str, _Chunks] = {
    "TEXT_MESSAGE_CHUNK": _Chunks(
        "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", ("messageId",), ("role", "name")
    ),
    "REASONING_MESSAGE_CHUNK": _Chunks(
        "REASONING_MESSAGE_START", "REASONING_MESSAGE_CONTENT", "REASONING_MESSAGE_END", ("messageId",), ()
    ),
    "TOOL_CALL_CHUNK": _Chunks(
        "TOOL_CALL_START",
        "TOOL_CALL_ARGS",
        "TOOL_CALL_END",
        ("toolCallId", "toolCallName"),
        ("toolCallName", "parentMessageId"),
    ),
}
#: Events between two chunks that leave the chunked message open.
_TRANSPARENT = frozenset(
    ["RAW", "ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA", "REASONING_ENCRYPTED_VALUE", "SUBAGENT_STARTED"]
)
#: Events that close the chunked messages of every lane; all others close the one of their own lane.
_CLOSES_ALL = frozenset(["RUN_STARTED", "RUN_FINISHED", "RUN_ERROR", "MESSAGES_SNAPSHOT"])


@dataclass(frozen=True, slots=True)
class _Open:
    """A message that chunks keep open; `refused` where its opener was, so that what continues it is not blamed again."""

    kind: str
    opener: Mapping[str, Any]
    refused: bool = False


def value(event: Event, name: str) -> Any:
    """A field by its camelCase name, None where it is absent or null; a snake_case spelling is read too, see EVT-1b."""
    data = event.data
    found = data.get(name)
    return data.get(_snake(name)) if found is None else found


@cache
def _snake(name: str) -> str:
    return "".join(f"_{char.lower()}" if char.isupper() else char for char in name)


def expand(events: Sequence[Event]) -> tuple[tuple[Event, ...], tuple[Refusal, ...]]:
    """
    The stream with its chunks as the starts, contents and ends they abbreviate, and the chunks the client refuses.

    A made event carries the record of the event that caused it. Chunks are followed per lane (subagentRunId). The end of the
    stream closes nothing. A refused chunk is left out.
    """
    if not any(event.type in _CHUNKS for event in events):
        return tuple(events), ()
    done: list[Event] = []
    refused: list[Refusal] = []
    lanes: dict[Any, _Open] = {}
    for event in events:
        lane = value(event, "subagentRunId")
        kind = _CHUNKS.get(event.type)
        if kind is None:
            if event.type not in _TRANSPARENT:
                for closing in tuple(lanes) if event.type in _CLOSES_ALL else (lane,):
                    done += _closed(lanes.pop(closing, None), event)
            done.append(event)
            continue
        current = lanes.get(lane)
        if current is None or not _continues(current, event):
            done += _closed(current, event)
            lacking = next((name for name in kind.opening if value(event, name) is None), None)
            current = lanes[lane] = _Open(event.type, event.data, refused=lacking is not None)
            if lacking is not None:
                refused.append(
                    Refusal(event.seq, f"{event.type} opens without {lacking}; its first chunk must name it")
                )
            else:
                done.append(_made(event, kind.start, event.data))
        elif (changed := _changed(kind, current, event)) is not None and not current.refused:
            was, now = Event(0, current.opener), value(event, changed)
            refused.append(
                Refusal(
                    event.seq,
                    f"{event.type} of {value(was, kind.opening[0])!r} says {changed} {now!r}, its first chunk said "
                    f"{value(was, changed)!r}",
                )
            )
        if not current.refused and isinstance(value(event, "delta"), str):
            done.append(_made(event, kind.content, current.opener, delta=value(event, "delta")))
    return tuple(done), tuple(refused)


def _continues(current: _Open, event: Event) -> bool:
    if current.kind != event.type:
        return False
    name = _CHUNKS[event.type].opening[0]
    said = value(event, name)
    return said is None or said == value(Event(0, current.opener), name)


def _changed(kind: _Chunks, current: _Open, event: Event) -> str | None:
    was = Event(0, current.opener)
    return next(
        (name for name in kind.fixed if value(event, name) is not None and value(event, name) != value(was, name)), None
    )


def _closed(current: _Open | None, event: Event) -> list[Event]:
    if current is None or current.refused:
        return []
    return [_made(event, _CHUNKS[current.kind].end, current.opener)]


def _made(cause: Event, kind: str, opener: Mapping[str, Any], **more: Any) -> Event:
    kept = {name: said for name, said in opener.items() if name not in ("type", "delta", "rawEvent", "timestamp")}
    return Event(cause.seq, {**kept, "type": kind, **more})


def text_messages(events: Sequence[Event]) -> tuple[TextMessage, ...]:
    """
    The text messages of a stream, in the order they were opened, chunks expanded.

    A message whose id is opened again is a message of its own: what it says then was said later.
    """
    return _messages(events, "TEXT_MESSAGE", "assistant")


def reasoning_messages(events: Sequence[Event]) -> tuple[TextMessage, ...]:
    """The reasoning messages of a stream, read as text messages are."""
    return _messages(events, "REASONING_MESSAGE", "reasoning")


class Stream:
    """The events of a stream and what they join to, each joined once."""

    def __init__(self, events: Sequence[Event]) -> None:
        self.events = events

    @cached_property
    def text_messages(self) -> tuple[TextMessage, ...]:
        """See `text_messages`."""
        return text_messages(self.events)

    @cached_property
    def reasoning_messages(self) -> tuple[TextMessage, ...]:
        """See `reasoning_messages`."""
        return reasoning_messages(self.events)

    @cached_property
    def tool_calls(self) -> tuple[ShownCall, ...]:
        """See `tool_calls`."""
        return tool_calls(self.events)

    @cached_property
    def tool_results(self) -> tuple[ShownResult, ...]:
        """See `tool_results`."""
        return tool_results(self.events)


def _messages(events: Sequence[Event], prefix: str, role: str) -> tuple[TextMessage, ...]:
    return tuple(
        TextMessage(
            id=str(value(start, "messageId")),
            role=str(value(start, "role") or role),
            text="".join(deltas),
            seq=start.seq,
            closed=end is not None,
        )
        for start, deltas, end in _joined(
            events, (f"{prefix}_START", f"{prefix}_CONTENT", f"{prefix}_END"), "messageId"
        )
    )


def tool_calls(events: Sequence[Event]) -> tuple[ShownCall, ...]:
    """The tool calls of a stream, in the order they were opened, chunks expanded; an id opened again is a call of its own."""
    return tuple(
        ShownCall(
            id=str(value(start, "toolCallId")),
            name=str(value(start, "toolCallName")),
            arguments="".join(deltas),
            seq=start.seq,
            end_seq=end,
        )
        for start, deltas, end in _joined(events, ("TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END"), "toolCallId")
    )


def tool_results(events: Sequence[Event]) -> tuple[ShownResult, ...]:
    """The tool results of a stream, in order."""
    return tuple(
        ShownResult(str(value(event, "toolCallId")), _plain(value(event, "content")), event)
        for event in events
        if event.type == "TOOL_CALL_RESULT"
    )


def _plain(content: Any) -> str:
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, Mapping))
    return content if isinstance(content, str) else ""


def _joined(
    events: Sequence[Event], types: tuple[str, str, str], name: str
) -> list[tuple[Event, list[str], int | None]]:
    """Per bracket its start, its deltas and the record of its end; what belongs to no open bracket is left out."""
    start, content, end = types
    brackets: list[tuple[Event, list[str], int | None]] = []
    at: dict[Any, int] = {}
    for event in expand(events)[0]:
        if event.type not in types or not isinstance(key := value(event, name), str):
            continue
        if event.type == start:
            at[key] = len(brackets)
            brackets.append((event, [], None))
        elif key in at and event.type == content:
            brackets[at[key]][1].append(str(value(event, "delta") or ""))
        elif key in at and event.type == end:
            place = at.pop(key)
            brackets[place] = (*brackets[place][:2], event.seq)
    return brackets
