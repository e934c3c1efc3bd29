"""An ASGI application behind the loopback server: one request to scope and messages, and what it sends to an answer."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any
from urllib.parse import unquote

from fake_models.http_connection import Answer
from fake_models.http_requests import Request

Message = MutableMapping[str, Any]
#: As the ASGI specification, version 3, has it.
App = Callable[[Message, Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]], Awaitable[None]]


async def serve(app: App, request: Request, path: str, answer: Answer) -> None:
    """
    Let `app` answer. `path` is what it sees as its own, percent-encoded still.

    Its answer is sent as it comes, each part a write. A client that leaves cancels the task this runs in, which is how the
    application hears of it. It is told of requests alone, of no lifespan.
    """
    given = iter(({"type": "http.request", "body": request.body, "more_body": False},))
    over = asyncio.Event()

    async def receive() -> Message:
        if (message := next(given, None)) is not None:
            return message
        await over.wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in message.get("headers", ())]
            answer.begin(message["status"], _own(headers), _length(headers))
        elif message["type"] == "http.response.body":
            more = message.get("more_body", False)
            if data := message.get("body", b""):
                await answer.send(data, last=not more)
            if more:
                answer.flush()
            else:
                answer.end()
                over.set()

    # Applications ask which task they are, see `eager`: from here on they are one.
    await asyncio.sleep(0)
    await app(_scope(request, path), receive, send)


def _scope(request: Request, path: str) -> Message:
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": request.version,
        "method": request.method,
        "scheme": "http",
        "path": unquote(path),
        "raw_path": path.encode("latin-1"),
        "query_string": request.query.encode("latin-1"),
        "root_path": "",
        "headers": [(name.encode("latin-1"), value.encode()) for name, value in request.headers.items()],
        "server": None,
        "client": None,
    }


def _own(headers: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Without those that the connection speaks for itself."""
    return [(name, value) for name, value in headers if name.lower() not in ("content-length", "connection")]


def _length(headers: Iterable[tuple[str, str]]) -> int | None:
    return next((int(value) for name, value in headers if name.lower() == "content-length"), None)
