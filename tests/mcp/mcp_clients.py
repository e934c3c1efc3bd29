"""A session served for tests, and the protocol's official client in each way that it can reach the session's tools."""

import asyncio
import contextlib
import gc
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mcp
from mcp.client.stdio import StdioServerParameters

from conformance.adapters.guest import Guest
from conformance.agent_side import RunInput
from conformance.dialect import Dialect
from conformance.recorder import Recorder
from conformance.scenario import scenario
from conformance.session import Session
from fake_models.server import Server

#: The last version of the protocol that begins with a handshake, and the one whose requests stand alone.
ERAS = {"handshake": "legacy", "without handshake": "auto"}
#: What `conformance mcp` runs, wherever it was installed.
COMMAND = ("-c", "from conformance.cli import main; main()", "mcp")


def by_http(url, era, **options):
    return mcp.Client(f"{url}/mcp", mode=ERAS[era], **options)


def by_stdio(url, era, **options):
    command = StdioServerParameters(command=sys.executable, args=[*COMMAND, f"{url}/tools"])
    return mcp.Client(command, mode=ERAS[era], **options)


def tool(**outcome):
    return {"description": "Does it.", "parameters": {"type": "object", "properties": {}}} | outcome


def plan(tools, model=({"say": "Fine."},)):
    run = {"user": "Well?", "model": list(model)}
    return scenario({"id": "served", "title": "Is asked.", "why": "A test asks.", "tools": tools, "runs": [run]})


@dataclass(frozen=True)
class Served:
    """One session behind its URL. `settled` is how often the agent's own channel was read."""

    url: str
    server: Server
    session: Session
    recorder: Recorder
    settled: list[None]
    recorded: asyncio.Event

    def of(self, kind) -> list[Any]:
        return [record.data for record in self.recorder.records if record.kind == kind]

    @property
    def told(self):
        """What was run, and how each ended."""
        return [record.kind.removeprefix("tool/") for record in self.recorder.records if record.source == "tool"]

    async def until(self, kind):
        while not self.of(kind):
            self.recorded.clear()
            await self.recorded.wait()

    async def quiet(self):
        """Until the server waits for nothing that was asked of this session."""
        if tasks := self.server._mounted["t"].tasks:
            await asyncio.wait(tuple(tasks))

    async def over(self):
        await self.server.unmount("t")


@contextlib.asynccontextmanager
async def serving(tools, model=({"say": "Fine."},)):
    """The session's run is open; when the block ends no task and no descriptor is left."""
    gc.collect()
    files, one = open_files(), plan(tools, model)
    async with asyncio.timeout(30):
        async with Server() as server:
            recorded, settled = asyncio.Event(), []
            recorder = Recorder(one.clock, keep=lambda _record: recorded.set())
            session = Session("s1", one, Dialect(), recorder)
            session.begin(RunInput("r1", "s1", {}), one.runs[0])

            async def settle():
                settled.append(None)

            yield Served(server.mount("t", Guest(session, settle)), server, session, recorder, settled, recorded)
        # A client's sockets are closed by tasks of its own.
        if left := asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.wait(left)
    gc.collect()
    assert open_files() == files


def open_files():
    return len(list(Path("/proc/self/fd").iterdir()))
