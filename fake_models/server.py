"""The model and the tools of many sessions on a loopback port: effects to bytes, in real time. Decides no answer."""

import asyncio
import math
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, closing
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Protocol, Self
from urllib.parse import quote, unquote

from fake_models import asgi
from fake_models.asgi import App
from fake_models.bodies import json_or_text
from fake_models.effects import Hangup, Head, Hold, Reached, Send, Wait
from fake_models.errors import ListenError
from fake_models.exchange import Endpoint, Exchange, at_once, content_length, delivery, headers
from fake_models.http_connection import Answer, Connection
from fake_models.http_requests import Refused, Request
from fake_models.routes import Unasked, codec_for, error_body, not_allowed, unmodelled
from fake_models.same_site import stray
from fake_models.wire.codec import Codec, compact

HOST = "127.0.0.1"
#: Header by which a tool is told which of the model's calls it answers.
CALL_ID_HEADER = "x-tool-call-id"
#: Clients that may knock at once; all sessions of a test run do.
BACKLOG = 1024

#: Path below a session's where its tools stand.
TOOLS = "/tools/"
#: The methods that list them.
LISTED_BY = ("GET", "HEAD")

#: Most objects of a model's request, about. Anthropic takes 100,000 messages, OpenAI 2,048; all others wait while they are read.
MOST_BRACES = 250_000

_SESSION = re.compile(r"/s/(?P<token>[^/]+)(?P<below>/.*)?")


class Guest(Protocol):
    """What stands behind a token: one session's model and tools."""

    @property
    def endpoint(self) -> Endpoint:
        """The session's model."""

    def app(self, below: str) -> App | None:
        """What answers the path below the token, percent-encoded still, in place of model and tools; None: these do."""

    def settle(self) -> Awaitable[None] | None:
        """Awaited before a request or a tool call is handed on, so that what the agent did before it can be heard first; None: nothing has to be."""

    def tools(self) -> Sequence[Mapping[str, Any]]:
        """The tools that there are: `name`, `description`, `parameters`."""

    async def tool(self, name: str, arguments: Any, call_id: str | None) -> tuple[int, Any]:
        """
        Run a tool; gives status and JSON body.

        `arguments` is the text as it came where that is no JSON object; the guest refuses it. Cancelled when the client leaves.
        """


@dataclass(frozen=True, slots=True)
class _Mounted:
    guest: Guest
    answers: set[Answer] = field(default_factory=set)

    @property
    def tasks(self) -> set[asyncio.Task[Any]]:
        """The tasks in which its answers wait for something."""
        return {answer.task for answer in self.answers if answer.task is not None}


class Server:
    """
    Serves while it is entered (`async with`), on the loop it was entered on, where all its methods are called.

    `port` 0 takes a free one, which `port` tells from then on. `host` is this machine alone unless another is given. `sleep` is how a scenario's wait becomes real time. `app`
    answers what is asked below `app_path`, which belongs to no session. Leaving ends every connection and task.
    """

    def __init__(
        self,
        port: int = 0,
        *,
        host: str = HOST,
        sleep: Callable[[float], Awaitable[Any]] = asyncio.sleep,
        app: App | None = None,
        app_path: str = "/control",
    ) -> None:
        self.port = port
        self.host = host
        self._sleep = sleep
        self._app = app
        self._app_path = app_path
        self._mounted: dict[str, _Mounted] = {}
        self._connections: set[Connection] = set()
        self._leaving = AsyncExitStack()

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        try:
            listener = await loop.create_server(self._connected, self.host, self.port, backlog=BACKLOG)
        except (OSError, OverflowError, ValueError) as error:  # the last of a host that cannot be one
            raise ListenError(self.host, self.port, error) from error
        self.port = listener.sockets[0].getsockname()[1]
        self._leaving.push_async_callback(self._close, listener)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._leaving.aclose()

    @property
    def url(self) -> str:
        """Where everything stands, without a slash at its end."""
        return f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"

    def mount(self, token: str, guest: Guest) -> str:
        """Answer what is asked below the token from now on; gives the URL below which tools and wires stand."""
        if token in self._mounted:
            raise ValueError(f"token {token!r} is mounted already; unmount it first, or take another")
        self._mounted[token] = _Mounted(guest)
        return f"{self.url}/s/{quote(token, safe='')}"

    async def unmount(self, token: str) -> None:
        """Answer 404 from now on. What still waits is cancelled and its connection reset; after this the guest hears nothing."""
        tasks = self._mounted.pop(token).tasks - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def _connected(self) -> Connection:
        connection = Connection(self._handle)
        self._connections.add(connection)
        connection.ended.add_done_callback(lambda _: self._connections.discard(connection))
        return connection

    async def _close(self, listener: asyncio.Server) -> None:
        listener.close()
        # One round of the loop, in which a client that was accepted just now becomes a connection.
        await asyncio.sleep(0)
        connections = tuple(self._connections)
        for connection in connections:
            connection.abort()
        await asyncio.gather(*(connection.ended for connection in connections))
        await listener.wait_closed()
        self._mounted.clear()

    def _handle(self, request: Request | Refused, answer: Answer) -> Awaitable[None] | None:
        """Answer at once what waits for nothing, as nearly all does; gives the rest of what waits."""
        try:
            rest = self._route(request, answer)
        except Exception as error:  # noqa: BLE001 - told to the client first
            rest = _failed(error)
        return None if rest is None else self._guarded(rest, request, answer)

    async def _guarded(self, rest: Awaitable[None], request: Request | Refused, answer: Answer) -> None:
        try:
            await rest
        except Exception as error:
            if not answer.begun:
                await _say(answer, _wrong(request, f"The kit failed to answer: {error!r}", 500))
            raise

    def _route(self, request: Request | Refused, answer: Answer) -> Awaitable[None] | None:
        if isinstance(request, Refused):
            return _say(answer, _wrong(request, request.message, request.status))
        if self._app is not None and f"{request.path}/".startswith(f"{self._app_path}/"):
            return self._apply(self._app, request, request.path, answer)
        token, below, path = _addressed(request.path)
        mounted = self._mounted.get(token) if token is not None else None
        if mounted is None:
            return _say(answer, _wrong(request, _stray(request, token), 404))
        rest = self._serve(mounted.guest, request, below, path, answer)
        return None if rest is None else _noted(mounted, answer, rest)

    def _serve(self, guest: Guest, request: Request, below: str, path: str, answer: Answer) -> Awaitable[None] | None:
        if (app := guest.app(below)) is not None:
            return self._apply(app, request, below, answer)
        if (codec := codec_for(request.method, path)) is not None and not below.startswith(TOOLS):
            settling = guest.settle()
            if settling is None and not guest.endpoint.overrun:
                return self._ask(guest.endpoint, codec, path, request, answer)
            return self._ask_later(settling, guest.endpoint, codec, path, request, answer)
        if below.startswith(TOOLS) and request.method == "POST":
            return _run_tool(guest, request, below, answer)
        return _say(answer, _unasked(guest, request.method, below, path))

    def _apply(self, app: App, request: Request, path: str, answer: Answer) -> Awaitable[None]:
        """Let an application answer. It may change what stands here, so no page from elsewhere may ask it."""
        if (why := stray(request.headers, self.host, self.port)) is not None:
            return _say(answer, Unasked(403, {"error": {"message": why}}))
        return asgi.serve(app, request, path, answer)

    async def _ask_later(  # noqa: PLR0917 - what `_ask` takes
        self,
        settling: Awaitable[None] | None,
        endpoint: Endpoint,
        codec: Codec,
        path: str,
        request: Request,
        answer: Answer,
    ) -> None:
        if settling is not None:
            await settling
        if endpoint.overrun:
            await endpoint.ahang()
        rest = self._ask(endpoint, codec, path, request, answer)
        if rest is not None:
            await rest

    def _ask(
        self, endpoint: Endpoint, codec: Codec, path: str, request: Request, answer: Answer
    ) -> Awaitable[None] | None:
        if len(request.body) > MOST_BRACES and request.body.count(b"{") > MOST_BRACES:
            return _say(answer, _wrong(request, f"the body has more than {MOST_BRACES} objects; send fewer", 413))
        exchange = endpoint.exchange(codec.name, path, json_or_text(request.body), request.headers)
        whole = at_once(exchange) if answer.at_once else None
        if whole is None:
            return self._deliver(exchange, endpoint, answer)
        answer.begin(exchange.status, headers(exchange), None if exchange.streamed else len(whole))
        # First, so that what is done because of it comes before the client can act on the answer.
        endpoint.done(exchange.call, len(whole), "kit")
        answer.send_now(whole, last=True)
        return None

    async def _deliver(self, exchange: Exchange, endpoint: Endpoint, answer: Answer) -> None:
        with closing(delivery(exchange, endpoint.done, join=True)) as effects:
            for effect in effects:
                match effect:
                    case Head():
                        answer.begin(effect.status, effect.headers, content_length(exchange))
                    case Send(data=data, last=last):
                        await answer.send(data, last=last)
                    case Hold(until=until):
                        answer.flush()
                        await until.awaited()
                    case Wait(delay_s=math.inf):
                        answer.flush()
                        await endpoint.ahang()
                    case Wait(delay_s=delay_s):
                        answer.flush()
                        endpoint.pause(delay_s)
                        await self._sleep(delay_s)
                    case Hangup(reset=True):
                        await answer.reset()
                    case Hangup() | Reached():
                        pass  # the end of the answer is it, and comes too early
        answer.end()


@lru_cache(1024)
def _addressed(path: str) -> tuple[str | None, str, str]:
    """The token in a path, None where there is none, and what is below it, percent-encoded still and decoded."""
    found = _SESSION.fullmatch(path)
    below = (found["below"] or "") if found else ""
    return unquote(found["token"]) if found else None, below, unquote(below)


async def _say(answer: Answer, said: Unasked) -> None:
    content = compact(said.body)
    answer.begin(said.status, said.headers, len(content))
    await answer.send(content, last=True)


def _unasked(guest: Guest, method: str, below: str, path: str) -> Unasked:
    """What is said without model and tools being asked."""
    if below == TOOLS[:-1]:
        return Unasked(200, guest.tools()) if method in LISTED_BY else not_allowed(method, path, LISTED_BY)
    return not_allowed(method, path) if below.startswith(TOOLS) else unmodelled(method, path)


async def _run_tool(guest: Guest, request: Request, below: str, answer: Answer) -> None:
    if (settling := guest.settle()) is not None:
        await settling
    name = unquote(below.removeprefix(TOOLS))
    given = json_or_text(request.body)
    arguments = given if isinstance(given, dict) else request.body.decode("utf-8", "replace")
    await _say(answer, Unasked(*await guest.tool(name, arguments, request.headers.get(CALL_ID_HEADER))))


async def _noted(mounted: _Mounted, answer: Answer, rest: Awaitable[None]) -> None:
    """The rest of an answer, which the end of its session cuts off."""
    mounted.answers.add(answer)
    try:
        await rest
    finally:
        mounted.answers.discard(answer)


async def _failed(error: Exception) -> None:
    raise error


def _wrong(request: Request | Refused, message: str, status: int) -> Unasked:
    return Unasked(status, error_body(message, unquote(request.path), status))


def _stray(request: Request, token: str | None) -> str:
    asked = f"{request.method} {request.path}"
    if token is None:
        return f"Unknown request URL: {asked}. A session's model and tools stand below /s/TOKEN."
    return f"Unknown request URL: {asked}. No session {token!r} is open: it is over, or the base URL is another's."
