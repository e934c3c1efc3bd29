"""What a plain client sees of a scripted model, over each shell that speaks HTTP, and what the model recorded of it."""

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime

import httpx2

from fake_models.chunking import WHOLE
from fake_models.httpx_transport import transport
from fake_models.messages import World
from fake_models.script import Script
from fake_models.scripted_model import ScriptedModel
from fake_models.server import Server
from fake_models.wire import CODECS

#: A request of each wire as its provider takes it, but for whether it streams: path and body.
REQUESTS = {
    "openai_chat": ("/v1/chat/completions", {"model": "m", "messages": [{"role": "user", "content": "hello"}]}),
    "openai_responses": ("/v1/responses", {"model": "m", "input": [{"role": "user", "content": "hello"}]}),
    "anthropic_messages": (
        "/v1/messages",
        {"model": "m", "max_tokens": 100, "messages": [{"role": "user", "content": "hello"}]},
    ),
    "gemini": ("/v1beta/models/m:generateContent", {"contents": [{"role": "user", "parts": [{"text": "hello"}]}]}),
    "ollama": ("/api/chat", {"model": "m", "messages": [{"role": "user", "content": "hello"}]}),
}


def request(wire, *, stream):
    """Path and body of a request of that wire."""
    path, body = REQUESTS[wire]
    if wire == "gemini":
        return (path.replace(":generate", ":streamGenerate") + "?alt=sse" if stream else path), body
    return path, {**body, "stream": stream}


class Bench:
    """A host with its records, and the model of one run; also the guest of a server. Time passes only in `slept_s`."""

    def __init__(self, *turns, chunking=WHOLE):
        self.records = []
        self.ended = asyncio.Event()
        self.slept_s = []
        self.hangs = 0
        self.endpoint = ScriptedModel(
            record=self._record,
            host=self,
            chunking=chunking,
            codecs=CODECS,
        )
        self.endpoint.open("r1", Script(turns), "hello")

    def _record(self, source, kind, data):
        self.records.append((kind, data))
        if kind in {"reply_done", "refused"}:
            self.ended.set()

    def world(self, run, request, side):
        return World(now=datetime(2026, 1, 1, tzinfo=UTC), run=run)

    def side(self, request, headers):
        return None

    def next_call(self):
        return f"m{sum(kind == 'request' for kind, _ in self.records) + 1}"

    def pause(self, delay_s):
        self.slept_s.append(delay_s)

    def hang(self):
        self.hangs += 1

    async def ahang(self):
        self.hangs += 1

    def app(self, below):
        return None

    async def settle(self):
        pass

    def told(self, kind):
        """The data of the last record of that kind."""
        return [data for one, data in self.records if one == kind][-1]


@dataclass(frozen=True)
class Seen:
    """What came: status (None: nothing), headers, body, and whether the connection broke."""

    status: int | None
    headers: dict
    body: bytes
    broke: bool


async def _read(client, url, wire, *, stream):
    path, body = request(wire, stream=stream)
    status, headers, came, broke = None, {}, b"", False
    try:
        async with client.stream(
            "POST", f"{url}{path}", json=body, headers={"Accept-Encoding": "identity"}
        ) as response:
            status, headers = response.status_code, dict(response.headers)
            async for data in response.aiter_raw():
                came += data
    except httpx2.TransportError:
        broke = True
    return Seen(status, headers, came, broke)


def over_transport(bench, wire, *, stream):
    async def read():
        async with httpx2.AsyncClient(transport=transport(bench.endpoint, httpx2)) as client:
            return await _read(client, "http://127.0.0.1:9", wire, stream=stream)

    return asyncio.run(read())


def over_server(bench, wire, *, stream):
    async def no_time(_):
        pass

    async def read():
        async with Server(sleep=no_time) as server, httpx2.AsyncClient(timeout=20) as client:
            seen = await _read(client, server.mount("s", bench), wire, stream=stream)
            # The end is recorded when the server has noticed it, which may be after the client has.
            await asyncio.wait_for(bench.ended.wait(), 20)
            return seen

    return asyncio.run(read())


SHELLS = {"transport": over_transport, "server": over_server}
