"""The sessions that stand on a server, by token: opened, begun anew, closed, each with a model, tools and records of its own."""

import asyncio
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from conformance.adapters.guest import Guest
from conformance.agent_side import RunInput
from conformance.dialect import Dialect
from conformance.errors import ConformanceError, guess
from conformance.recorder import Recorder
from conformance.recording import Recording
from conformance.run_input import limits
from conformance.scenario import Scenario
from conformance.serving.plans import waits_for_anyone
from conformance.session import Session
from fake_models.script import Turn
from fake_models.server import Server
from fake_models.wire import CODECS

#: Most records that a session holds, some 3,000 requests: more than an agent makes in a test, and some 10 MB.
MOST_RECORDS = 10_000
#: Most bytes of requests and answers that they tell of, since one request may be as long as thousands.
MOST_BYTES = 64 * 1024 * 1024
#: Most sessions that a message names.
MOST_NAMED = 10


class TokenTaken(ConformanceError):  # noqa: N818 - what became of the token
    """A session of this token stands already."""


class NoSession(ConformanceError):  # noqa: N818 - what was asked for
    """No session of this token stands."""


@dataclass(frozen=True, slots=True)
class Manner:
    """What all sessions share. `cap` None: a scenario's own, and none where a persona answers whoever asks."""

    under: Dialect
    chunking: str = "whole"
    cap: int | None = None
    most_records: int = MOST_RECORDS
    most_bytes: int = MOST_BYTES


@dataclass(frozen=True, slots=True)
class Standing:
    """An open session; its wires and tools are below `url`."""

    token: str
    plan: Scenario
    url: str
    session: Session
    recorder: Recorder
    manner: Manner

    @property
    def base_urls(self) -> Mapping[str, str]:
        """What an SDK of each wire takes as its base URL."""
        return {codec.name: f"{self.url}{codec.base}" for codec in CODECS.values()}

    def interject(self, turn: Turn) -> None:
        """Let this turn answer the next request."""
        self.session.model.interject(turn)

    def recording(self) -> Recording:
        """What was recorded so far."""
        # What reads recordings takes longer to import than a server to start.
        from conformance.serving.journal import journal  # noqa: PLC0415

        dropped, records = self.recorder.dropped, self.recorder.records
        return journal(self.plan, records, self.manner.under, chunking=self.manner.chunking, dropped=dropped)


class Sessions:
    """All sessions on one server, on whose loop every method is called."""

    def __init__(self, server: Server, manner: Manner) -> None:
        self._server = server
        self._manner = manner
        self._standing: dict[str, Standing] = {}
        # Of two who reset or close the same session at once, the second one finds what the first one left.
        self._changing = asyncio.Lock()

    def __iter__(self) -> Iterator[Standing]:
        return iter(self._standing.values())

    def of(self, token: str) -> Standing:
        """The session of this token; raises NoSession."""
        if token not in self._standing:
            raise NoSession(f"no session {token!r} is open{guess(token, self._standing, most=MOST_NAMED)}")
        return self._standing[token]

    def open(self, plan: Scenario, token: str) -> Standing:
        """Play `plan` to whoever asks below the token; raises TokenTaken. All its runs are open: a request's texts tell which it is of."""
        if token in self._standing:
            raise TokenTaken(f"session {token!r} is open already; close or reset it, or take another token")
        manner = self._manner
        recorder = Recorder(plan.clock, most=manner.most_records, most_bytes=manner.most_bytes)
        cap = math.inf if waits_for_anyone(plan) and manner.cap is None else manner.cap
        # Nobody would end what is left waiting here, so whoever is past the cap is refused as often as it asks.
        session = Session(token, plan, manner.under, recorder, chunking=manner.chunking, cap=cap, patience=math.inf)
        for number, spec in enumerate(plan.runs, start=1):
            session.begin(RunInput(run=f"r{number}", session=token, input={}, limits=limits(spec)), spec)
        url = self._server.mount(token, Guest(session))
        session.served(url, token)
        made = self._standing[token] = Standing(token, plan, url, session, recorder, manner)
        return made

    async def reset(self, token: str) -> Standing:
        """Begin the session anew, its records, its script and its counts; what still waits is cut off. Raises NoSession."""
        async with self._changing:
            plan = self.of(token).plan
            await self._closed(token)
            return self.open(plan, token)

    async def close(self, token: str) -> None:
        """End the session; raises NoSession."""
        async with self._changing:
            self.of(token)
            await self._closed(token)

    async def _closed(self, token: str) -> None:
        await self._server.unmount(token)
        self._standing.pop(token).session.release()
