"""Coroutines that run at once up to where they wait, and are a task only from there on. Decides nothing."""

import asyncio
import types
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
    return asyncio.get_running_loop().create_task(_rest(coroutine, awaited))


@types.coroutine
def _rest(coroutine: Coroutine[Any, Any, None], awaited: Any) -> Generator[Any, Any, None]:
    """What is left of a coroutine that waits for `awaited` already."""
    while True:
        broken: BaseException | None = None
        try:
            value = yield awaited
        except BaseException as error:  # noqa: BLE001 - whatever ends the wait, the coroutine is to hear it
            broken = error
        try:
            awaited = coroutine.send(value) if broken is None else coroutine.throw(broken)
        except StopIteration:
            return
