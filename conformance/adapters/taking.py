"""Takes what an agent says in one run and records it, within bounds. Translates nothing and repairs nothing."""

from collections.abc import Callable, Mapping
from typing import Any

from conformance.agent_side import Outcome
from conformance.agent_side.figures import MAX_LINE_BYTES, MAX_LOG_CHARS, MAX_TEXT_CHARS
from conformance.plain import measured, shown
from conformance.recorder import Recorder

#: Most events of one run; a flood ends there. The longest honest stream of the library has some 300.
MAX_EVENTS = 10_000
#: Largest event, in characters of JSON: the line limit of the command protocol.
MAX_EVENT_CHARS = MAX_LINE_BYTES
#: Most characters of all events and logs of one run: a flood of large ones ends there. Ten results of a megabyte are no flood.
MAX_RUN_CHARS = 32 * 1024 * 1024


class Flood(Exception):  # noqa: N818 - what happened, not an error of ours
    """The agent says more than any run needs."""


class Garbled(Exception):  # noqa: N818 - what happened, not an error of ours
    """What the agent yields is neither an event nor the one Outcome."""


class Taker:
    """
    Takes what an agent says in one run: an event, an outcome, a log record, or something else, which is garbage.

    `hear` is told of each event once it is recorded.

    Raises:
        Flood: from any of them, once it is too much.
    """

    def __init__(
        self,
        run: str,
        recorder: Recorder,
        *,
        shows: bool,
        hear: Callable[[str, Mapping[str, Any]], None] = lambda _run, _event: None,
    ) -> None:
        self.run = run
        self._recorder = recorder
        self._shows = shows
        self._hear = hear
        self._taken = 0
        self._chars_left = MAX_RUN_CHARS
        self._said = False
        self._failed = False
        self._garbled = False

    def __call__(self, item: Any) -> None:
        """
        Take what an agent in this process yields.

        Raises:
            Garbled: it is none of these, and no rule on events would hear of it, since the agent shows none.
        """
        if isinstance(item, Outcome) and self._said:
            self.garbage(shown(item), "a run yields one Outcome, and this is its second")
        elif isinstance(item, Outcome):
            self.outcome(item.kind, item.reason, item.text)
        else:
            self.event(item)
        if self._garbled and not self._shows:
            raise Garbled

    def event(self, item: Any) -> None:
        """Take an event: a mapping in camelCase, or a model of ag_ui."""
        event, chars = _event(item)
        self._count(chars)
        if event is None:
            self.garbage(shown(item))
            return
        self._failed = self._failed or event.get("type") == "RUN_ERROR"
        self._recorder("agent", "event", {"run": self.run, "event": event, "raised": False})
        self._hear(self.run, event)

    def outcome(self, kind: Any, reason: Any, text: Any) -> None:
        """Take the word on how the run ended."""
        self._said = True
        said = {"kind": _said(kind), "reason": _said(reason), "text": _said(text)}
        self._recorder("agent", "outcome", {"run": self.run, **said})

    def log(self, level: str, logger: str, message: str) -> None:
        """Take a log record."""
        self._count(len(message))
        data = {"run": self.run, "level": level, "logger": logger, "message": message[:MAX_LOG_CHARS]}
        self._recorder("agent", "log", data)

    def garbage(self, line: str, why: str = "an event or an Outcome was expected") -> None:
        """Take what is none of these; `why` says what was expected and what to do."""
        self._garbled = True
        self._recorder("agent", "garbage", {"run": self.run, "line": line, "why": why})

    def raised(self, exception: str, message: str) -> None:
        """Take an exception; it is an event, too, unless the agent told of its failure itself."""
        self._recorder("agent", "raised", {"run": self.run, "exception": exception, "message": message})
        if self._shows and not self._failed:
            event = {"type": "RUN_ERROR", "message": message, "rawEvent": {"raised": exception}}
            self._recorder("agent", "event", {"run": self.run, "event": event, "raised": True})

    def _count(self, chars: int) -> None:
        self._taken += 1
        self._chars_left -= chars
        if self._taken > MAX_EVENTS or self._chars_left < 0:
            raise Flood


def _event(item: Any) -> tuple[dict[str, Any] | None, int]:
    """The event as plain camelCase JSON of its own, and its size; None for what is no event or larger than one may be."""
    try:
        if hasattr(item, "model_dump"):
            item = item.model_dump(by_alias=True, exclude_none=True, mode="json")
        return measured(item, MAX_EVENT_CHARS) if isinstance(item, Mapping) else (None, 0)
    except Exception:  # noqa: BLE001 - a foreign object may do anything when it is looked at
        return None, 0


def _said(value: Any) -> str | None:
    """A word of an outcome; what is no text is shown instead, so that it is judged and not lost."""
    if value is None:
        return None
    return str.__str__(value)[:MAX_TEXT_CHARS] if isinstance(value, str) else shown(value)
