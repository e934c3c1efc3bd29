"""
An AG-UI endpoint that is started, played and ended: a program whose first line on stdout is the `ready` of the command protocol with,
as `url`, where runs are posted. Whatever else it writes is shown where it ends too early, and judged by nobody.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import replace

from conformance.adapters import protocol
from conformance.adapters.agui import reached
from conformance.adapters.base import Agent
from conformance.adapters.command import Program, last_words
from conformance.adapters.endpoint import Endpoint, endpoint
from conformance.adapters.process import Patience, Process
from conformance.errors import AgentError, SpecError
from conformance.session import SHOWN_S


@contextlib.asynccontextmanager
async def connected(
    program: Program,
    patience: Patience = Patience(),  # noqa: B008 - frozen
    *,
    shown_s: float = SHOWN_S,
) -> AsyncIterator[Agent]:
    """The agent behind the endpoint that the program serves; nothing of it is left when the block ends."""
    first: asyncio.Future[bytes | None] = asyncio.get_running_loop().create_future()

    def settle(line: bytes | None) -> None:
        if not first.done():
            first.set_result(line)

    process = Process(lambda line, _whole: settle(line), lambda: settle(None), patience)
    try:
        await process.start(program.command, env=program.env, cwd=program.cwd)
    except OSError as error:
        raise AgentError(f"{program.name}: the system does not start it: {error}") from error
    try:
        place = await _introduced(program, process, first, patience.ready_s)
        async with reached(place, shown_s) as agent:
            yield agent
    finally:
        await process.end()


async def _introduced(
    program: Program, process: Process, first: "asyncio.Future[bytes | None]", within_s: float
) -> Endpoint:
    try:
        async with asyncio.timeout(within_s):
            line = await asyncio.shield(first)
        why = "it ended before it said where it serves"
    except TimeoutError:
        line, why = None, f"it did not say within {within_s} s where it serves"
    if line is not None:
        try:
            said = protocol.message(line, whole=True)
            return replace(endpoint(said["url"]), info=protocol.info_of(said))
        except (protocol.ProtocolError, SpecError) as error:
            why = str(error)
        except KeyError:
            why = "its first line is a ready without the url that runs are posted to"
    code = process.exit_code
    await process.end()
    raise AgentError(f"{program.name}: {why}{last_words(process, code)}")
