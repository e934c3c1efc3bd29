"""A tool that an agent in its own process cancels: no thread can be ended, so what it did is waited for, and not for ever."""

import asyncio
import threading

import pytest

from conformance.agent_side import served_bench


class Tool:
    """Runs until it is let go, and then raises."""

    def __init__(self):
        self.started, self.let_go, self.done = threading.Event(), threading.Event(), []

    def __call__(self, name, arguments, call_id, within_s=None):
        self.started.set()
        self.let_go.wait()
        self.done.append((name, arguments, call_id))
        raise KeyError(name)

    async def cancelled(self, *, let_go):
        call = asyncio.create_task(served_bench._acalled(self, "book", {}, "c1"))
        await asyncio.to_thread(self.started.wait)
        call.cancel()
        if let_go:
            self.let_go.set()
        with pytest.raises(asyncio.CancelledError):
            await call


def test_a_cancelled_call_is_over_once_its_tool_is(monkeypatch):
    monkeypatch.setattr(served_bench, "LEAVING_S", 600)
    tool = Tool()

    async def run():
        await tool.cancelled(let_go=True)
        assert tool.done == [("book", {}, "c1")]

    asyncio.run(run())


def test_a_cancelled_call_does_not_wait_for_a_tool_that_hangs(monkeypatch):
    monkeypatch.setattr(served_bench, "LEAVING_S", 0)
    tool = Tool()

    async def run():
        await tool.cancelled(let_go=False)
        assert tool.done == []
        tool.let_go.set()

    asyncio.run(run())
