"""Coroutines that run at once up to where they wait, and are a task only from there on. Decides nothing."""

import asyncio
from collections.abc import Coroutine, Generator
from typing import Any


def started(coroutine: Coroutine[Any, Any, None]) -> asyncio.Task[None] | None:
    """
    Run a coroutine, called from the loop but from no task; gives the task that goes on where it waits, None where it never does.

    Most answers wait for nothing, and a task with a turn of the loop of its own costs more than they do. Until its first wait
    there is no current task, so that `asyncio.timeout` and what else asks for one must come after. Python 3.12 can do the same.
    """
    try:
        awaited = coroutine.send(None)
    except StopIteration:
        return None
    return asyncio.get_running_loop().create_task(_Rest(coroutine, awaited))


class _Rest(Coroutine[Any, Any, None]):
    """
    What is left of a coroutine that waits for `awaited` already.

    A task that is cancelled before its first step throws into what it has not begun: a generator would end there, and the
    coroutine, which did begin, would never hear of it.
    """

    def __init__(self, coroutine: Coroutine[Any, Any, None], awaited: Any) -> None:
        self._coroutine = coroutine
        self._awaited = [awaited]

    def send(self, value: Any) -> Any:
        """Wait for what was awaited already, then go on."""
        return self._awaited.pop() if self._awaited else self._coroutine.send(value)

    def throw(self, *error: Any) -> Any:
        """Whatever ends the wait, the coroutine is to hear it."""
        self._awaited.clear()
        return self._coroutine.throw(*error)

    def close(self) -> None:
        """End the coroutine where it waits."""
        self._coroutine.close()

    def __await__(self) -> Generator[Any, Any, None]:
        return self._coroutine.__await__()
