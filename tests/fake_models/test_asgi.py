"""Any ASGI application stands behind the loopback server: it sees the request whole, and its answer leaves as it comes."""

import asyncio
import contextlib
import json

import httpx2
import pytest
from reply_endpoint import ReplyEndpoint
from starlette.applications import Starlette
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from fake_models.server import Server


class Host:
    """A guest that is an application and nothing else."""

    def __init__(self, app):
        self.endpoint = ReplyEndpoint()
        self._app = app

    def app(self, below):
        return self._app

    async def settle(self):
        raise AssertionError("nobody asks for the model")

    def tools(self):
        raise AssertionError("nobody asks for the tools")

    async def tool(self, name, arguments, call_id):
        raise AssertionError("nobody calls a tool")


@contextlib.asynccontextmanager
async def served(app):
    async with asyncio.timeout(20), Server() as server, httpx2.AsyncClient(trust_env=False) as client:
        url = server.mount("t o", Host(app))
        yield url, client, server


def answer_of(app, method="GET", below="", **request):
    async def run():
        async with served(app) as (url, client, _):
            return await client.request(method, url + below, **request)

    return asyncio.run(run())


def starlette(endpoint, path="/{rest:path}"):
    return Starlette(routes=[Route(path, endpoint, methods=["GET", "POST", "DELETE", "HEAD"])])


async def seen(request):
    return JSONResponse(
        {
            "method": request.method,
            "path": request.url.path,
            "raw": request.scope["raw_path"].decode(),
            "query": dict(request.query_params),
            "header": dict(request.scope["headers"])[b"x-said"].decode(),
            "body": (await request.body()).decode(),
        }
    )


def test_the_application_sees_the_request_with_the_path_that_is_its_own():
    headers = {"X-Said": "é".encode()}
    answer = answer_of(starlette(seen), "POST", "/a%2Fb/c%20d?x=1&y=%C3%A9", content="körper".encode(), headers=headers)
    assert answer.json() == {
        "method": "POST",
        "path": "/a/b/c d",
        "raw": "/a%2Fb/c%20d",
        "query": {"x": "1", "y": "é"},
        "header": "é",
        "body": "körper",
    }


@pytest.mark.parametrize("size", [0, 1, 2_000_000])
def test_a_body_comes_and_goes_whole(size):
    async def echo(request):
        return Response(await request.body())

    assert answer_of(starlette(echo), "POST", "/x", content=b"x" * size).content == b"x" * size


def test_status_and_headers_are_the_applications_own_and_the_connection_stays_the_servers():
    async def odd(_):
        response = PlainTextResponse("no", status_code=418, headers={"X-Two": "1", "Connection": "upgrade"})
        response.headers.append("x-two", "2")
        return response

    answer = answer_of(starlette(odd), below="/x")
    assert (answer.status_code, answer.text) == (418, "no")
    assert answer.headers.get_list("x-two") == ["1", "2"]
    assert (answer.headers.get_list("connection"), answer.headers.get_list("content-length")) == (["keep-alive"], ["2"])


def test_the_head_of_an_answer_alone_is_sent_where_that_is_asked():
    async def page(_):
        return PlainTextResponse("four")

    answer = answer_of(starlette(page), "HEAD", "/x")
    assert (answer.headers["content-length"], answer.content) == ("4", b"")


def test_a_part_of_a_stream_leaves_before_the_next_is_made():
    async def run():
        heard = asyncio.Event()

        async def parts():
            yield b"one"
            await heard.wait()
            yield b""
            yield b"two"

        async def stream(_):
            return StreamingResponse(parts())

        async with served(starlette(stream)) as (url, client, _), client.stream("GET", f"{url}/x") as answer:
            came = []
            async for part in answer.aiter_raw():
                came.append(part)
                heard.set()
            return answer.headers["transfer-encoding"], came

    assert asyncio.run(run()) == ("chunked", [b"one", b"two"])


def test_an_application_whose_client_leaves_is_cancelled():
    async def run():
        began, ended = asyncio.Event(), asyncio.get_running_loop().create_future()

        async def app(scope, receive, send):
            await receive()
            began.set()
            try:
                await receive()
            except asyncio.CancelledError:
                ended.set_result("cancelled")
                raise

        async with served(app) as (url, client, _):
            asked = asyncio.create_task(client.get(f"{url}/x"))
            await began.wait()
            asked.cancel()
            return await ended

    assert asyncio.run(run()) == "cancelled"


def test_after_its_answer_an_application_hears_that_the_request_is_over():
    async def run():
        heard = asyncio.get_running_loop().create_future()

        async def app(scope, receive, send):
            await receive()
            waiting = asyncio.create_task(receive())
            await send({"type": "http.response.start", "status": 204})
            await send({"type": "http.response.body"})
            heard.set_result((await waiting, await receive()))

        async with served(app) as (url, client, _):
            answer = await client.get(f"{url}/x")
            return answer.status_code, await heard

    assert asyncio.run(run()) == (204, ({"type": "http.disconnect"}, {"type": "http.disconnect"}))


def test_what_still_waits_in_an_application_when_its_session_ends_is_cancelled():
    async def run():
        began = asyncio.Event()

        async def app(scope, receive, send):
            began.set()
            await asyncio.get_running_loop().create_future()

        async with served(app) as (url, client, server):
            asked = asyncio.create_task(client.get(f"{url}/x"))
            await began.wait()
            await server.unmount("t o")
            with pytest.raises(httpx2.ReadError):
                await asked
            return (await client.get(f"{url}/x")).status_code

    assert asyncio.run(run()) == 404


def raising(*messages):
    async def app(scope, receive, send):
        for message in messages:
            await send(message)
        raise ZeroDivisionError

    return app


START = {"type": "http.response.start", "status": 200, "headers": []}
PART = {"type": "http.response.body", "body": b"half", "more_body": True}


@pytest.mark.parametrize(
    ("messages", "expected"),
    [((), "The kit failed to answer: ZeroDivisionError()"), ((START, PART), None)],
    ids=["before its answer", "within it"],
)
def test_an_application_that_fails_is_reported_and_its_answer_does_not_look_whole(messages, expected):
    async def run():
        told = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context["exception"]))
        async with served(raising(*messages)) as (url, client, _):
            try:
                said = (await client.get(f"{url}/x")).text
            except httpx2.RequestError:
                said = None
            return said, told

    said, told = asyncio.run(run())
    assert expected is None if said is None else json.loads(said)["error"]["message"] == expected
    assert [type(one) for one in told] == [ZeroDivisionError]
