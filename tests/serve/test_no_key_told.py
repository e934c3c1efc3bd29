"""Where the kit itself fails, what it says of that on stderr holds no header, no query and no body."""

import asyncio
from contextlib import asynccontextmanager

import httpx2
import pytest

from conformance.dialect import dialect
from conformance.serving.control import control
from conformance.serving.sessions import Manner, Sessions
from fake_models.server import Server

CANARIES = {
    "Authorization": "Bearer canary-authorization",
    "X-Api-Key": "canary-x-api-key",
    "X-Goog-Api-Key": "canary-x-goog-api-key",
    "Cookie": "session=canary-cookie",
}


class Failing:
    """A guest, an endpoint and the plans of a control route in one; whatever is asked of it fails."""

    overrun = False

    @property
    def endpoint(self):
        return self

    def app(self, below):
        return self._fail if below == "/app" else None

    async def settle(self):
        pass

    def exchange(self, wire, path, body, headers):
        raise LookupError("the kit failed")

    def __contains__(self, name):
        raise LookupError("the kit failed")

    async def tool(self, name, arguments, call_id):
        raise LookupError("the kit failed")

    async def _fail(self, scope, receive, send):
        await receive()
        raise LookupError("the kit failed")


@asynccontextmanager
async def serving():
    standing = []

    async def app(scope, receive, send):
        await control(standing[0], Failing())(scope, receive, send)

    async with Server(app=app) as server, httpx2.AsyncClient(trust_env=False) as client:
        standing.append(Sessions(server, Manner(dialect({}))))
        server.mount("t", Failing())
        yield server.url, client


@pytest.mark.parametrize(
    ("path", "named"),
    [
        ("/s/t/v1/chat/completions", "POST '/s/t/v1/chat/completions'"),
        ("/s/t/v1beta/models/m:generateContent?key=canary-query", "POST '/s/t/v1beta/models/m:generateContent'"),
        ("/s/t/x%3Fkey=canary-query/v1/chat/completions", "POST '/s/t/x'"),
        ("/s/t/tools/look", "POST '/s/t/tools/look'"),
        ("/s/t/app", "POST '/s/t/app'"),
        ("/control/sessions", "POST '/control/sessions'"),
    ],
)
def test_a_failure_is_told_with_method_and_path_alone(path, named, caplog, capfd):
    async def run():
        asyncio.get_running_loop().set_debug(True)
        async with asyncio.timeout(20), serving() as (url, client):
            body = b'{"scenario": "canary-body"}'
            return await client.post(url + path, content=body, headers=CANARIES)

    answer = asyncio.run(run())

    told = caplog.text + "".join(capfd.readouterr())
    assert answer.status_code == 500
    assert "LookupError: the kit failed" in told
    assert named in told
    assert "canary" not in told
