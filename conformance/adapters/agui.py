"""
`agui:URL`: an agent behind an AG-UI endpoint, reached as the published client reaches it: one POST a run, one event stream back.

Nothing is started and nothing is asked of it beforehand, so who it is comes from its URL and what it can do from its user. The
way to its model and tools is told with each run, in `forwardedProps.conformance`; an agent whose base URL is fixed uses
`/s/fixed/v1` on a port that its user chose. See docs/agui.md.
"""

import asyncio
import contextlib
import secrets
import socket
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

import httpx2

from conformance.adapters import sse
from conformance.adapters.base import Adapter, Agent, End, How
from conformance.adapters.endpoint import EVENT_STREAM, Endpoint, endpoint, posted, refusal
from conformance.adapters.guest import Guest
from conformance.adapters.taking import Flood, Taker
from conformance.adapters.watching import ends
from conformance.agent_side import RunInput
from conformance.errors import AgentError, SpecError
from conformance.recorder import Recorder
from conformance.session import SHOWN_S, Session
from fake_models.errors import ListenError
from fake_models.server import Server

#: The token of agents that cannot be told one: it stands for the session whose run was begun last.
FIXED = "fixed"
#: How long the endpoint may take to show that it is there, in seconds.
REACH_S = 5.0
#: How many rounds of the event loop without anything new mean that nothing is left to read. From a socket to a recorded event
#: it takes two, and a few more where TLS lies between.
ROUNDS = 32
#: Most of an answer that is no event stream that is read, and of a frame that is shown, in characters.
SHOWN_CHARS = 500

_HEADERS = {"Content-Type": "application/json", "Accept": EVENT_STREAM}


@dataclass(frozen=True, slots=True)
class _Handle:
    """One open session, and the token by which the agent reaches it."""

    guest: Guest
    token: str


class _Stream:
    """One run's connection: what is heard on it is taken."""

    def __init__(self, take: Taker) -> None:
        self._take = take
        self._frames = sse.Frames()
        self._heard = 0
        self._over = False
        self._readable: Callable[[], bool] = lambda: False
        self.work: asyncio.Task[How]

    async def read(self, client: httpx2.AsyncClient, place: Endpoint, body: bytes) -> How:
        """
        Post the run and take its events until the stream ends; gives how.

        Raises:
            AgentError: what answers is no AG-UI agent, or nothing does.
        """
        answered = False
        try:
            async with client.stream("POST", place.url, content=body, headers=_HEADERS) as response:
                answered = True
                self._readable = partial(_readable, response.extensions["network_stream"])
                return await self._answer(response, place)
        except Flood:
            return "cap"
        except httpx2.RequestError as error:
            if not answered and not _left(error):
                raise _unreachable(place, error) from error
            if rest := self._frames.rest:
                self._take.garbage(rest[:SHOWN_CHARS], "the connection broke within this frame")
            return "died"
        finally:
            self._over = True

    async def caught_up(self) -> None:
        """All that is readable now is taken."""
        quiet = 0
        while quiet < ROUNDS and not self._over:
            before = self._heard
            await asyncio.sleep(0)
            quiet = 0 if self._heard != before or self._readable() else quiet + 1

    async def _answer(self, response: httpx2.Response, place: Endpoint) -> How:
        if response.status_code >= 500:
            self._take.raised(f"HTTP {response.status_code}", await _beginning(response))
            return "raised"
        if refusal(response.status_code, response.headers, "") is not None:
            why = refusal(response.status_code, response.headers, await _beginning(response))
            raise AgentError(f"{place.name}: {why}")
        try:
            async for chunk in response.aiter_bytes():
                self._heard += 1
                for data in self._frames.feed(chunk):
                    self._said(data)
        except sse.Refused as refused:
            self._take.garbage(self._frames.rest[:SHOWN_CHARS], str(refused))
            return "cap"
        for data in self._frames.end():
            self._said(data)
        return "returned"

    def _said(self, data: str) -> None:
        try:
            self._take.event(sse.event(data))
        except sse.Refused as refused:
            self._take.garbage(data[:SHOWN_CHARS], str(refused))


def _readable(network: Any) -> bool:
    """Whether more has come; what the other side's TCP holds back until it is acknowledged is made to come first."""
    if hasattr(socket, "TCP_QUICKACK"):
        with contextlib.suppress(OSError):
            network.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
    return bool(network.get_extra_info("is_readable"))


async def _beginning(response: httpx2.Response) -> str:
    """The first characters of a body; one that breaks off is shown as far as it came."""
    # Whatever charset it names: some that Python knows are none of text.
    body = b""
    with contextlib.suppress(httpx2.RequestError):
        async for part in response.aiter_bytes():
            body += part
            if len(body) >= 4 * SHOWN_CHARS:
                break
    return body.decode("utf-8", "replace")[:SHOWN_CHARS]


def _left(error: httpx2.RequestError) -> bool:
    """Whether the other side had taken the connection and then went, as an agent that dies does."""
    broken = isinstance(error, httpx2.NetworkError) and not isinstance(error, httpx2.ConnectError)
    # What the library says where not one byte came back; all its other protocol errors are of something that speaks no HTTP.
    return broken or (isinstance(error, httpx2.RemoteProtocolError) and "without sending a response" in str(error))


def _unreachable(place: Endpoint, error: httpx2.RequestError) -> AgentError:
    said = str(error) or type(error).__name__
    if "CERTIFICATE_VERIFY_FAILED" in said:
        todo = "name its certificate, or that of who signed it, in SSL_CERT_FILE, or take http"
    elif isinstance(error, httpx2.RemoteProtocolError) or "SSL" in said:
        todo = "is it http where https was named, or the other way round?"
    else:
        todo = "start the agent first, and see that host and port are its own"
    return AgentError(f"{place.name}: cannot be reached: {said}; {todo}")


class AGUIEndpoint:
    """An `Agent` behind a URL."""

    stuck = False
    apart = True
    can_be_killed = False
    on_time: Callable[[datetime], None]

    def __init__(self, place: Endpoint, server: Server, client: httpx2.AsyncClient, shown_s: float = SHOWN_S) -> None:
        self.info = place.info
        self.on_time = lambda _now: None
        self._place = place
        self._server = server
        self._client = client
        self._shown_s = shown_s
        self._streams: dict[str, _Stream] = {}
        self._fixed: Guest | None = None

    async def open(self, session: Session) -> _Handle:
        """Begin a session; the agent hears of it with its first run."""
        token = secrets.token_hex(8)
        guest = Guest(session, self._catch_up)
        shown_s = self._shown_s if "E" in self.info.channels else None
        session.served(self._server.mount(token, guest), token, shown_s=shown_s)
        return _Handle(guest, token)

    async def run(self, handle: _Handle, given: RunInput, recorder: Recorder, *, deadline_s: float) -> End:
        """Drive one run and watch that something goes on. AgentError where it turns out that no AG-UI agent is there."""
        await self._fix(handle.guest)
        # Sessions share nothing, and the published client keeps no cookies.
        self._client.cookies.clear()
        take = Taker(given.run, recorder, shows="E" in self.info.channels, hear=handle.guest.session.hear)
        stream = self._streams[given.run] = _Stream(take)
        work = stream.work = asyncio.create_task(stream.read(self._client, self._place, posted(given)))
        try:
            how = await ends(
                work, lambda: recorder.stirred, deadline_s, lambda: handle.guest.session.overran(given.run)
            )
            if how is None:
                return End("cancelled" if work.cancelled() else work.result())
            # What it still says while its connection is closed is the kit's doing and belongs to no record.
            recorder.mute(given.run)
            return End(how)
        finally:
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)
            del self._streams[given.run]

    def kill(self, handle: _Handle, run: str) -> None:
        """Do nothing: what is behind a URL cannot be killed, and says so."""

    def cancel(self, handle: _Handle, run: str) -> None:  # noqa: ARG002 - the seam's signature
        """Close the run's connection, which is all that a client of AG-UI can do."""
        if run in self._streams:
            self._streams[run].work.cancel()

    async def close(self, handle: _Handle) -> None:
        """End a session; the agent is told nothing, since AG-UI has no word for it."""
        if self._fixed is handle.guest:
            await self._fix(None)
        await self._server.unmount(handle.token)

    async def _fix(self, guest: Guest | None) -> None:
        """From now on the fixed token is this guest's, or nobody's."""
        if self._fixed is guest:
            return
        if self._fixed is not None:
            await self._server.unmount(FIXED)
        if guest is not None:
            self._server.mount(FIXED, guest)
        self._fixed = guest

    async def _catch_up(self) -> None:
        for stream in tuple(self._streams.values()):
            await stream.caught_up()


def _client(place: Endpoint) -> httpx2.AsyncClient:
    """One connection a run, without time limits: the kit has its own. Nothing on this machine is asked through a proxy."""
    direct: dict[str, Any] = {"http://": None, "https://": None} if place.loopback else {}
    return httpx2.AsyncClient(timeout=None, limits=httpx2.Limits(max_keepalive_connections=0), mounts=direct)


async def _reach(client: httpx2.AsyncClient, place: Endpoint) -> None:
    """Ask for what does nothing, so that an agent that is not there is told once and not once a scenario."""
    try:
        async with client.stream("OPTIONS", place.url, timeout=REACH_S):
            pass
    except (httpx2.ReadTimeout, httpx2.WriteTimeout):
        # Something is there; what it makes of a run is what counts.
        return
    except httpx2.RequestError as error:
        raise _unreachable(place, error) from error


@contextlib.asynccontextmanager
async def connect(spec: str, *, shown_s: float = SHOWN_S) -> AsyncIterator[Agent]:
    """The agent at a URL; `shown_s` is that of `Session.served`."""
    place = endpoint(spec)
    try:
        httpx2.URL(place.url)
    except httpx2.InvalidURL as error:
        raise SpecError(f"agent 'agui:{spec}': {error}") from error
    async with reached(place, shown_s) as agent:
        yield agent


@contextlib.asynccontextmanager
async def reached(place: Endpoint, shown_s: float = SHOWN_S) -> AsyncIterator[Agent]:
    """
    The agent at this place, with a server of its own for its model and tools; nothing of either is left when the block ends.

    Raises:
        AgentError: nobody is there, or the model's port is taken.
    """
    async with contextlib.AsyncExitStack() as stack:
        try:
            server = await stack.enter_async_context(Server(place.model_port))
        except ListenError as error:
            raise AgentError(f"{place.name}: its model {error}") from error
        client = await stack.enter_async_context(_client(place))
        await _reach(client, place)
        yield AGUIEndpoint(place, server, client, shown_s)


AGUI = Adapter("agui", "agui:URL[#CAPABILITY,...,model_port=N], an AG-UI endpoint over HTTP, docs/agui.md", connect)
