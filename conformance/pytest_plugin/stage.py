"""
Where agents are played in a pytest session: one thread with an event loop, and on it a connection for each agent.

Tests call it from their own thread, also from one that runs an event loop. Judges nothing.
"""

import asyncio
import threading
from collections.abc import AsyncIterator, Coroutine, Mapping
from concurrent.futures import Future
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, TypeVar

from conformance import elsewhere
from conformance.adapters.base import Agent
from conformance.adapters.in_process import frozen
from conformance.adapters.ways import ADAPTERS
from conformance.agent_side import AgentInfo, InProcessAgent
from conformance.cell import Cell
from conformance.certify import connect
from conformance.errors import AgentError
from conformance.recording import Recording
from conformance.runner import declared, play
from conformance.scenario import Scenario
from fake_models.server import Server

T = TypeVar("T")


class Stage:
    """Plays scenarios, and runs what else of a session needs an event loop, until it is closed."""

    def __init__(self) -> None:
        self._loop: Future[asyncio.AbstractEventLoop] = Future()
        self._kept: dict[str, Agent] = {}
        self._holding: list[asyncio.Task[None]] = []
        self._stuck: dict[str, elsewhere.Elsewhere] = {}
        self._rest = AsyncExitStack()
        self._server: Server | None = None
        self._thread = threading.Thread(target=self._serve, name="conformance", daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        # With a factory, since a Runner without one sets and unsets the thread's event loop for whoever asks for it.
        with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
            runner.run(self._until_closed())

    async def _until_closed(self) -> None:
        self._closed = asyncio.Event()
        self._loop.set_result(asyncio.get_running_loop())
        await self._closed.wait()
        await self._rest.aclose()
        # How an agent takes its leave is its own affair, as it is after a play.
        await asyncio.gather(*self._holding, return_exceptions=True)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """What a coroutine gives that runs on the stage's loop."""
        future = asyncio.run_coroutine_threadsafe(work, self._loop.result())
        try:
            return future.result()
        except BaseException:
            # Where the test was interrupted, so is what it waited for.
            future.cancel()
            raise

    def close(self) -> None:
        """Close all connections and end the thread; closing again does nothing."""
        if self._thread.is_alive():
            self._loop.result().call_soon_threadsafe(self._closed.set)
            self._thread.join()

    def info(self, agent: str | InProcessAgent) -> AgentInfo:
        """
        Who an agent is.

        Raises:
            AgentError: it cannot be found or opened.
        """
        return self.run(self._info(agent))

    def play(
        self, agent: str | InProcessAgent, plan: Scenario, cell: Cell, override: Mapping[str, Any] | None = None
    ) -> Recording:
        """
        Play a scenario to an agent, judged under its own dialect but for the keys of `override`.

        Raises:
            AgentError: the agent cannot be opened, or the scenario cannot be played to it.
        """
        return self.run(self._play(agent, plan, cell, override))

    async def server(self) -> Server:
        """The session's loopback server, on the stage's loop; it listens from the first time it is asked for."""
        if self._server is None:
            self._server = await self._rest.enter_async_context(Server())
        return self._server

    async def _info(self, agent: str | InProcessAgent) -> AgentInfo:
        async with self._reached(agent) as one:
            return one.info

    async def _play(
        self, agent: str | InProcessAgent, plan: Scenario, cell: Cell, override: Mapping[str, Any] | None
    ) -> Recording:
        key = f"{agent} {override}"
        if key in self._stuck:
            return await self._stuck[key](plan, cell)
        async with self._reached(agent) as one:
            under = declared(one.info, override)
            if cell.stream and not one.info.capabilities.get("streaming"):
                raise AgentError(
                    f"agent {one.info.name!r}: it declares no capability 'streaming', so it is not played in {cell.name}"
                )
            recording = await play(one, plan, cell, under)
            if one.stuck and isinstance(agent, str):
                # Something of it still runs in this process and cannot be ended; what comes is played in another one.
                self._stuck[key] = await self._rest.enter_async_context(elsewhere.child(agent, override))
        return recording

    @asynccontextmanager
    async def _reached(self, agent: str | InProcessAgent) -> AsyncIterator[Agent]:
        if isinstance(agent, InProcessAgent):
            async with frozen(agent) as one:
                yield one
            return
        adapter = ADAPTERS.get(agent.partition(":")[0])
        if adapter is None or not adapter.keeps:
            async with connect(agent) as one:
                yield one
            return
        if agent not in self._kept:
            opened: asyncio.Future[Agent] = asyncio.get_running_loop().create_future()
            holding = asyncio.create_task(self._hold(agent, opened))
            self._kept[agent] = await opened
            self._holding.append(holding)
        yield self._kept[agent]

    async def _hold(self, spec: str, opened: "asyncio.Future[Agent]") -> None:
        """Hold a connection open. One task opens and closes it, as what counts on task groups needs it."""
        try:
            async with connect(spec) as one:
                opened.set_result(one)
                await self._closed.wait()
        except AgentError as error:
            if opened.done():
                raise
            opened.set_exception(error)
