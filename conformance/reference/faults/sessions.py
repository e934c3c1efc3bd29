"""Faults of sessions: what they share, how they take two runs at once, what they make of a stored history."""
# ruff: noqa: D103 - the table of mutants says each fault in a sentence

import threading
from collections.abc import Callable, Sequence
from typing import SupportsIndex

from conformance.reference.history import Message
from conformance.reference.run import Ending, Run, Session
from conformance.reference.sessions import entered

#: Longest that a session waits for another one's run, in seconds. A mutant must not hang where the kit never lets that run end.
PATIENCE_S = 2.0


def one_history() -> Callable[[], Session]:
    messages: list[Message] = []
    return lambda: Session(messages=messages)


def one_door() -> Callable[[], Session]:
    """What opens sessions of which one runs at a time, and which stays shut while a person is asked."""
    runs: list[str] = []
    return lambda: Session(open=runs)


class _Queue(list[str]):
    """Runs that go on, in which each waits until it is alone."""

    def __init__(self) -> None:
        super().__init__()
        self._left = threading.Condition()

    def append(self, run: str) -> None:
        """Wait until nobody is in it."""
        with self._left:
            self._left.wait_for(lambda: not self, PATIENCE_S)
            super().append(run)

    def remove(self, run: str) -> None:
        """Let the next one in."""
        with self._left:
            super().remove(run)
            self._left.notify_all()

    def __getitem__(self, at: SupportsIndex | slice) -> str:  # type: ignore[override]
        """Whoever is in it is the first."""
        return list(self)[-1]


def one_queue() -> Callable[[], Session]:
    """What opens sessions that wait for each other."""
    runs = _Queue()
    return lambda: Session(open=runs)


def a_waiting_run_stays(run: Run, ending: Ending) -> Ending:
    if ending.kind == "waiting":
        run.session.open.append(run.given.run)
    return ending


def everyone_enters(session: Session, run: str) -> bool:
    session.open.append(run)
    return True


def busy_from_the_first_reply_on(session: Session, run: str) -> bool:
    if session.messages and session.messages[-1]["role"] != "user":
        return entered(session, run)
    return everyone_enters(session, run)


def stored_as_it_is(messages: Sequence[Message]) -> list[Message]:
    return list(messages)


def stored_calls_are_refused(messages: Sequence[Message]) -> list[Message]:
    if any(message.get("tool_calls") for message in messages):
        raise ValueError("a stored history must hold no calls")
    return list(messages)
