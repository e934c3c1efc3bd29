"""
What an agent gives in a run: how all of it is taken, in whichever process, and how it is said by the command protocol.

Standard library only; decides nothing and repairs nothing.
"""

import contextlib
import inspect
import logging
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from typing import Any

from conformance.agent_side.figures import MAX_ERROR_CHARS, MAX_LOG_CHARS, MAX_TEXT_CHARS
from conformance.agent_side.terms import Outcome

#: Most of a log record's message that is shown where it is no text, in characters.
MAX_SHOWN_CHARS = 500

Say = Callable[[Mapping[str, Any]], None]
#: The run whose code this thread or task is running; None where that is not known, as on a thread that the agent began itself.
RUNNING: ContextVar[str | None] = ContextVar("running", default=None)


class Taker:
    """Says each event, and keeps the Outcome for the end."""

    def __init__(self, run: str, say: Say) -> None:
        self._run = run
        self._say = say
        self._outcome: Outcome | None = None

    def __call__(self, item: Any) -> None:
        """Take one item; TypeError where it is neither an event nor the one Outcome."""
        if isinstance(item, Outcome) and self._outcome is None:
            self._outcome = item
        else:
            self._say({"type": "event", "run": self._run, "event": _event(item)})

    def log(self, level: str, logger: str, message: str) -> None:
        """Say a log record."""
        self._say({"type": "log", "run": self._run, "level": level, "logger": logger, "message": message})

    def result(self) -> dict[str, Any]:
        """The message that ends the run."""
        if self._outcome is None:
            return {"type": "result", "run": self._run, "outcome": None, "text": None}
        reason, text = (
            None if one is None else word(one)[:MAX_TEXT_CHARS] for one in (self._outcome.reason, self._outcome.text)
        )
        said = {"kind": word(self._outcome.kind)[:MAX_TEXT_CHARS], "reason": reason}
        return {"type": "result", "run": self._run, "outcome": said, "text": text}


async def taken(made: Any, take: Callable[[Any], None]) -> None:
    """Take all in one task: what an agent opens between two items has to be closed in the task that opened it."""
    items = await made if inspect.isawaitable(made) else made
    if not hasattr(items, "__aiter__"):
        for item in items:
            take(item)
        return
    try:
        async for item in items:
            take(item)
    finally:
        if hasattr(items, "aclose"):
            await items.aclose()


def _event(item: Any) -> Any:
    """An AG-UI event as JSON: a dict as it is, a model of ag_ui in camelCase."""
    if hasattr(item, "model_dump"):
        return item.model_dump(by_alias=True, exclude_none=True, mode="json")
    if isinstance(item, Mapping):
        return dict(item)
    raise TypeError(f"the agent yielded {word(item)[:80]}, expected AG-UI events and, last, one Outcome")


def word(value: Any) -> str:
    """A text as it is, and of anything else what it shows of itself, so that it is judged and not lost."""
    if isinstance(value, str):
        return str.__str__(value)
    try:
        return str.__str__(repr(value))
    except BaseException:  # noqa: BLE001 - a foreign __repr__ may do anything
        return f"({type(value).__name__}, which cannot be read)"


def raised(run: str, error: BaseException) -> dict[str, Any]:
    """The message that ends a run by what it raised."""
    return {"type": "error", "run": run, "exception": type(error).__name__, "message": text_of(error)}


def text_of(error: BaseException) -> str:
    """An exception's message, whatever its class makes of it."""
    try:
        return str.__str__(str(error))[:MAX_ERROR_CHARS]
    except BaseException:  # noqa: BLE001 - a foreign __str__ may do anything, and so may end the process
        return "(its message cannot be read)"


class Records(logging.Handler):
    """Hands on each log record: its level, its logger's name and its message; with `run` none that is known to be another's."""

    def __init__(self, hear: Callable[[str, str, str], Any], run: str | None = None) -> None:
        super().__init__(logging.DEBUG)
        self._hear = hear
        self._run = run
        #: The root's level before the first of those that listen at once.
        self.found_level = logging.NOTSET

    def emit(self, record: logging.LogRecord) -> None:
        """Hand on one."""
        if self._run is not None and RUNNING.get() not in (None, self._run):
            return
        try:
            message = record.getMessage()
        except Exception:  # noqa: BLE001 - arguments that do not fit their message are the agent's
            message = record.msg if isinstance(record.msg, str) else word(record.msg)[:MAX_SHOWN_CHARS]
        self._hear(record.levelname, record.name, message[:MAX_LOG_CHARS])


@contextlib.contextmanager
def logs(run: str, hear: Callable[[str, str, str], Any]) -> Iterator[None]:
    """Hear what the agent logs in a run: a handler at the root, at DEBUG, while the run lasts."""
    root, handler = logging.getLogger(), Records(hear, run)
    handler.found_level = next((one.found_level for one in root.handlers if isinstance(one, Records)), root.level)
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        yield
    finally:
        root.removeHandler(handler)
        # Of runs side by side the one that ends last puts back what the first one found.
        if not any(isinstance(one, Records) for one in root.handlers):
            root.setLevel(handler.found_level)
