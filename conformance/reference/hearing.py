"""
A reply while it is heard: its deltas joined by index, and the events that show it as it grows. Pure; asks nobody.

A reply that is not streamed is heard as one delta, so that both ways in share every rule of joining.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from conformance.reference import events
from conformance.reference.events import Event, Kind


class NoReply(ValueError):  # noqa: N818 - named as what came
    """A 200 that is no reply; `code` is the provider's where it sent an error body."""

    def __init__(self, message: str, code: str | None = None) -> None:
        self.code = code
        super().__init__(message)


class ToldError(ValueError):
    """A stream that tells of an error in place of its rest; `body` is the chunk that tells of it."""

    def __init__(self, body: Mapping[str, Any]) -> None:
        self.body = body
        super().__init__("the model told of an error in the middle of its reply")


@dataclass(frozen=True, slots=True)
class Call:
    """
    A call of a whole reply.

    `id` is sound: never empty and unique in the session; `given` is the model's own. `arguments` is what the model wrote.
    """

    id: str
    tool: str
    arguments: str
    given: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Said:
    """
    A whole reply.

    `stop` is the model's finish reason, `usage` None where it reported none. `empty` is the shape of a reply that says
    nothing, called as the dialect's `empty_is`, else "".
    """

    id: str
    text: str
    thinking: str
    calls: tuple[Call, ...]
    stop: str
    usage: Mapping[str, int] | None
    empty: str


@dataclass(slots=True)
class _Partial:
    """A call still being spelled. `given` is the model's id, `id` ours from the moment it is shown; `held` is not shown yet."""

    given: str = ""
    id: str = ""
    tool: str = ""
    arguments: str = ""
    held: str = ""


@dataclass(slots=True)
class Hearing:
    """
    One reply as it comes in.

    `sound_id` turns the id a model gave into the one used, `message_id` makes one for a message. `shown` names what the user
    sees of it: text, reasoning, calls.
    """

    sound_id: Callable[[str], str]
    message_id: Callable[[], str]
    shown: frozenset[str]
    id: str = ""
    stop: str | None = None
    usage: Mapping[str, int] | None = None
    said: dict[Kind, str] = field(default_factory=lambda: {"text": "", "reasoning": ""})
    _null: bool = True
    _held: dict[Kind, str] = field(default_factory=lambda: {"text": "", "reasoning": ""})
    _open: tuple[Kind, str] | None = None
    _at: dict[int, _Partial] = field(default_factory=dict)
    _partials: list[_Partial] = field(default_factory=list)

    def hear(self, chunk: Any) -> Iterator[Event]:
        """
        Take in one chunk.

        Raises:
            ToldError: it is an error in place of a chunk.
            NoReply: it is no chunk at all.
        """
        if isinstance(chunk, Mapping) and chunk.get("error"):
            raise ToldError(chunk)
        if not isinstance(chunk, Mapping) or not isinstance(chunk.get("choices"), list):
            raise no_reply(chunk)
        self.id = chunk.get("id") or self.id
        if spent := chunk.get("usage"):
            self.usage = {"inputTokens": spent["prompt_tokens"], "outputTokens": spent["completion_tokens"]}
        for choice in chunk["choices"]:
            delta = choice.get("delta") or {}
            yield from self._say("reasoning", delta.get("reasoning_content") or "")
            self._null = self._null and delta.get("content") is None
            yield from self._say("text", delta.get("content") or "")
            for position, call in enumerate(delta.get("tool_calls") or ()):
                yield from self._call(call.get("index", position), call)
            self.stop = choice.get("finish_reason") or self.stop

    def end(self) -> Iterator[Event]:
        """Close what is open, whether or not the reply came to its own end."""
        yield from self._close()
        for call in self.announced:
            if call.held.strip() and not _is_empty_object(call.held):
                yield events.call_args(call.id, call.held)
            yield events.call_end(call.id)

    @property
    def announced(self) -> tuple[_Partial, ...]:
        """The calls that the user has seen begin."""
        return tuple(call for call in self._partials if call.id and "calls" in self.shown)

    def reply(self) -> Said:
        """The reply that was heard, once it has ended."""
        calls = tuple(Call(call.id, call.tool, call.arguments, call.given) for call in self._partials)
        text, thinking = self.said["text"], self.said["reasoning"]
        return Said(self.id, text, thinking, calls, self.stop or "", self.usage, "" if calls else self._empty())

    def _empty(self) -> str:
        if self.said["text"].strip():
            return ""
        if self.said["reasoning"]:
            return "thinking"
        return "blank" if self.said["text"] else "null" if self._null else "no_parts"

    def _say(self, kind: Kind, piece: str) -> Iterator[Event]:
        self.said[kind] += piece
        if not piece or kind not in self.shown:
            return
        if self._open is None or self._open[0] != kind:
            # White space alone is no message, and nobody knows yet whether more will come.
            self._held[kind] += piece
            if not self._held[kind].strip():
                return
            piece, self._held[kind] = self._held[kind], ""
            yield from self._close()
            self._open = (kind, self.message_id())
            yield events.message_start(*self._open)
        yield events.message_content(*self._open, piece)

    def _close(self) -> Iterator[Event]:
        if self._open is not None:
            yield events.message_end(*self._open)
            self._open = None

    def _call(self, index: int, delta: Mapping[str, Any]) -> Iterator[Event]:
        function = delta.get("function") or {}
        given = delta.get("id") or ""
        call = self._at.get(index)
        if call is None or (given and call.given and given != call.given):
            call = self._at[index] = _Partial()
            self._partials.append(call)
        call.given = call.given or given
        call.tool = call.tool or function.get("name") or ""
        piece = function.get("arguments") or ""
        call.arguments += piece
        call.held += piece
        if not call.id and call.tool:
            call.id = self.sound_id(call.given)
            if "calls" in self.shown:
                yield from self._close()
                yield events.call_start(call.id, call.tool)
        # An object without members is not worth an event, and `{` may still become one.
        if call.id and "calls" in self.shown and "".join(call.held.split()) not in ("", "{", "{}"):
            yield events.call_args(call.id, call.held)
            call.held = ""


def as_chunk(body: Any) -> Any:
    """A reply that is not streamed, as the one chunk that says it all."""
    if not isinstance(body, Mapping) or not isinstance(body.get("choices"), list) or not body["choices"]:
        raise no_reply(body)
    return {**body, "choices": [{**choice, "delta": choice.get("message")} for choice in body["choices"]]}


def no_reply(body: Any) -> NoReply:
    """Why a 200's body is no reply, with the provider's code where it sent one."""
    error = body.get("error") if isinstance(body, Mapping) else None
    code = error.get("code") if isinstance(error, Mapping) else None
    return NoReply("the model answered 200 with a body that is no reply", code if isinstance(code, str) else None)


def _is_empty_object(text: str) -> bool:
    try:
        return bool(json.loads(text) == {})
    except ValueError:
        return False
