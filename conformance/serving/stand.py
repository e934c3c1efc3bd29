"""A server with sessions for as long as it is wanted: chooses what stands, says when it does, and ends when it is told to."""

import asyncio
import ipaddress
import json
import signal
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from conformance.errors import ConformanceError, LoadError, guess
from conformance.scenario import Scenario
from conformance.serving.plans import at, persona_plan, unplayable
from conformance.serving.sessions import Manner, Sessions
from fake_models.personas import PERSONAS, Persona
from fake_models.server import Server


def scenarios(selectors: Sequence[str]) -> dict[str, Scenario]:
    """
    The scenarios that these name, by id: an id of the kit's, a file or a folder.

    Raises:
        LoadError: one names nothing, has a problem, or cannot be played without a runner.
    """
    # Files, YAML and the schema take longer to import than a server to start.
    from conformance.loading.loader import find, library, load_all  # noqa: PLC0415

    plans = load_all(find(selectors, [library()]))
    if odd := list(unplayable(plans)):
        raise LoadError(odd)
    return {plan.id: plan for plan in plans}


def personas(names: Sequence[str], seed: int) -> dict[str, Scenario]:
    """The personas of these names, by name; their clock is the real one. Raises ConformanceError for a name that is none."""
    for name in names:
        if name not in PERSONAS:
            raise ConformanceError(f"--persona {name!r}: there is no such persona{guess(name, PERSONAS)}")
    now = at(datetime.now(UTC))
    return {name: persona_plan(Persona(name, seed), now) for name in names}


async def stand(
    plays: Mapping[str, Scenario],
    manner: Manner,
    *,
    host: str,
    port: int,
    ready: Callable[[str], None],
) -> None:
    """
    Let each of these stand below its name until SIGTERM comes; `ready` is given one line of JSON that says where.

    Raises:
        ListenError: the port cannot be had.
    """

    async def app(scope: Any, receive: Any, send: Any) -> None:
        # Its library takes longer to import than all this takes to start, and many never ask for it.
        from conformance.serving.control import control  # noqa: PLC0415

        if not made:
            made.append(control(sessions, plays))
        await made[0](scope, receive, send)

    made: list[Callable[..., Any]] = []
    server = Server(port, host=host, app=app)
    sessions = Sessions(server, manner)
    over = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, over.set)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    async with server:
        standing = {name: dict(sessions.open(plan, name).base_urls) for name, plan in plays.items()}
        ready(json.dumps({"ready": True, "control": f"{server.url}/control", "sessions": standing}))
        await over.wait()


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches what listens there."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
