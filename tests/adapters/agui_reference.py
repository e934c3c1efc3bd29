"""The reference agent behind an AG-UI endpoint, and a server to put any ASGI app on: what a user would write, in the small."""

import asyncio
import contextlib
import json
import socket
from dataclasses import replace

import uvicorn

from conformance.agent_side import Outcome, RunInput
from conformance.agent_side.served_bench import clock, served_bench
from conformance.reference import reference


def given(posted):
    """A posted RunAgentInput as the run it is."""
    told = dict(posted["forwardedProps"]["conformance"])
    tools = told.pop("tools")
    return RunInput(run=posted["runId"], session=posted["threadId"], input=posted | {"tools": tools}, **told)


class ReferenceApp:
    """An ASGI app. It keeps sessions by their thread, as the reference does by its bench."""

    def __init__(self, keys=None):
        # Its back-off is the scenario's time and not ours.
        self._agent = reference(
            keys, entry="async", bench=lambda bench: replace(bench, asleep=lambda _: asyncio.sleep(0))
        )
        self._sessions = {}

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http" or scope["method"] != "POST":
            await _answer(send, 405, b"text/plain", b"POST a run")
            return
        run = given(json.loads(await _body(receive)))
        runner = self._sessions.get(run.session)
        if runner is None:
            runner = self._sessions[run.session] = self._agent.open(served_bench(run, clock(run)))
        await _begin(send, 200, b"text/event-stream")
        async for item in runner.run(run):
            if isinstance(item, Outcome):
                continue
            await send({"type": "http.response.body", "body": frame(item), "more_body": True})
        await send({"type": "http.response.body", "body": b""})


def frame(item):
    if hasattr(item, "model_dump"):
        item = item.model_dump(by_alias=True, exclude_none=True, mode="json")
    return b"data: " + json.dumps(item, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n\n"


async def _body(receive):
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + message["body"], message.get("more_body", False)
    return body


async def _begin(send, status, kind):
    await send({"type": "http.response.start", "status": status, "headers": [(b"content-type", kind)]})


async def _answer(send, status, kind, body):
    await _begin(send, status, kind)
    await send({"type": "http.response.body", "body": body})


@contextlib.asynccontextmanager
async def served(app):
    """The app on a free port, in this event loop; gives its URL."""
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(app, log_config=None, lifespan="off", ws="none", timeout_graceful_shutdown=1)
    server = _Server(config)
    task = asyncio.create_task(server.serve(sockets=[listener]))
    while not server.started:  # noqa: ASYNC110 - it tells nobody when it is
        await asyncio.sleep(0.001)
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/agent"
    finally:
        server.should_exit = True
        await task
        listener.close()


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self):
        yield
