"""
Plays scenarios in a child process, for an agent that hung in this one and cannot be ended here.

The child (`conformance.child`) is started when it is first needed, ended when its agent hangs there too, and started anew for the next job.
"""

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from conformance.cell import Cell
from conformance.errors import AgentError
from conformance.recording import Recording, loads
from conformance.scenario import Scenario

Elsewhere = Callable[[Scenario, Cell], Awaitable[Recording]]
#: The module that the child runs. It is named and not imported, since it uses what uses this one.
CHILD = "conformance.child"
#: Longest answer line: a recording of a flooding agent.
MAX_ANSWER = 256 * 1024 * 1024
#: After so many children in a row that gave no recording the rest is not played.
FAILED = 3
#: What a child may take beside its runs' own deadlines: to start, import the agent and answer.
START_S = 60


class _Child:
    """One child at a time, started on demand."""

    def __init__(self, spec: str, override: Mapping[str, Any] | None) -> None:
        self._job = {"agent": spec, "dialect": override}
        # Where the kit was started, wherever a hung agent has gone since.
        self._cwd = Path.cwd()
        self._process: asyncio.subprocess.Process | None = None
        self._failed = 0

    async def play(self, plan: Scenario, cell: Cell) -> Recording:
        """The recording of one scenario, played in the child."""
        if self._failed >= FAILED:
            raise AgentError(f"scenario {plan.id!r}: the agent hung {FAILED} times in a row; it is not tried again")
        process = self._process or await self._start()
        job = self._job | {"scenario": plan.data, "cell": asdict(cell)}
        assert process.stdin is not None and process.stdout is not None  # noqa: S101, PT018 - both are pipes
        patience_s = START_S + 10 * plan.deadline_s * len(plan.runs)
        try:
            process.stdin.write(json.dumps(job).encode() + b"\n")
            await process.stdin.drain()
            async with asyncio.timeout(patience_s):
                line = await process.stdout.readline()
            answer = json.loads(line)
        except (TimeoutError, ConnectionError, ValueError) as error:
            await self.end()
            self._failed += 1
            raise AgentError(
                f"scenario {plan.id!r}: the child process that played it gave no answer: {error!r}"
            ) from error
        if answer.get("stuck"):
            await self.end()
        if "error" in answer:
            self._failed += bool(answer.get("stuck"))
            raise AgentError(answer["error"])
        self._failed = 0
        return loads(answer["recording"], plan.id)

    async def _start(self) -> asyncio.subprocess.Process:
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            CHILD,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=MAX_ANSWER,
            start_new_session=True,
            cwd=self._cwd,
        )
        return self._process

    async def end(self) -> None:
        """End the child and all it started."""
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


@contextlib.asynccontextmanager
async def child(spec: str, override: Mapping[str, Any] | None) -> AsyncIterator[Elsewhere]:
    """A place to play elsewhere; nothing is started until it is used, and nothing is left afterwards."""
    one = _Child(spec, override)
    try:
        yield one.play
    finally:
        await one.end()
