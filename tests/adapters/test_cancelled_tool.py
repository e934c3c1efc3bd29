"""A tool that an agent in its own process cancels: no thread can be ended, so what it did is waited for, and not for ever."""

import asyncio
import threading

import pytest

from conformance.agent_side import served_bench


async def cancelled(tool, started):
    call = asyncio.create_task(served_bench._acalled(tool, "book", {}, "c1"))
    await asyncio.to_thread(started.wait)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call


def test_a_cancelled_call_is_over_once_its_tool_is():
    started, done = threading.Event(), []

    def tool(name, arguments, call_id):
        started.set()
        done.append((name, arguments, call_id))
        raise KeyError(name)

    asyncio.run(cancelled(tool, started))
    assert done == [("book", {}, "c1")]


def test_a_cancelled_call_does_not_wait_for_a_tool_that_hangs(monkeypatch):
    monkeypatch.setattr(served_bench, "LEAVING_S", 0)
    started, released = threading.Event(), threading.Event()

    def tool(_name, _arguments, _call_id):
        started.set()
        released.wait()

    async def run():
        await cancelled(tool, started)
        released.set()

    asyncio.run(run())
