"""The server over a real port: what an SDK hears, what a guest is told, and that nothing is left behind."""

import asyncio
import contextlib
import json
import threading
from pathlib import Path

import httpx2
import openai
import pytest
from reply_endpoint import ReplyEndpoint

from fake_models.chunking import CHARACTER, WHOLE
from fake_models.errors import ListenError
from fake_models.exchange import exchange_of
from fake_models.httpx_transport import transport
from fake_models.messages import Cut, ErrorReply, Reply, Stall, Text, Thinking, ToolCall, Usage
from fake_models.server import MOST_BRACES, Server
from fake_models.wire import CODECS
from fake_models.wire.codec import Stamp

QUESTION = {"model": "any-name", "messages": [{"role": "user", "content": "现在几点"}]}
STREAM = {**QUESTION, "stream": True, "stream_options": {"include_usage": True}}
HELLO = Reply((Text("hello"),))


class Endpoint(ReplyEndpoint):
    """Hangs until let go, as a session does."""

    def __init__(self, *replies, **options):
        super().__init__(*replies, **options)
        self.ended = asyncio.Event()
        self.silent = asyncio.Event()

    def hang(self):
        raise AssertionError("this would block the loop")

    def done(self, call, sent_bytes, by):
        super().done(call, sent_bytes, by)
        self.ended.set()

    async def ahang(self):
        self.hangs += 1
        self.silent.set()
        await asyncio.get_running_loop().create_future()


class Session:
    """A guest that remembers in which order it was told what."""

    def __init__(self, *replies, answers=(200, {"result": 1}), **options):
        self.endpoint = Endpoint(*replies, **options)
        self.answers = answers
        self.told = []

    def app(self, below):
        return None

    async def settle(self):
        await asyncio.sleep(0)
        self.told.append(("settle", len(self.endpoint.requests)))

    async def tool(self, name, arguments, call_id):
        self.told.append((name, arguments, call_id))
        return self.answers


def open_files():
    return len(list(Path("/proc/self/fd").iterdir()))


@contextlib.asynccontextmanager
async def serving(*sessions, **options):
    """A server whose sessions are mounted as s0, s1, ...; it leaves no task and no socket."""
    files = open_files()
    async with asyncio.timeout(20):
        async with Server(**options) as server:
            yield server, [server.mount(f"s{number}", session) for number, session in enumerate(sessions)]
        # An SDK's streams may still be on their way to be closed, in tasks that have no name.
        assert [task for task in asyncio.all_tasks() if "Connection" in repr(task.get_coro())] == []
        assert open_files() == files


def sdk(url, **options):
    options = {"max_retries": 0, "timeout": 10, **options}
    return openai.AsyncOpenAI(api_key="k", base_url=f"{url}/v1", **options)


async def raw(server, *parts, read=True):
    """All that comes back until the connection ends."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    for part in parts:
        writer.write(part)
    came = b""
    with contextlib.suppress(ConnectionResetError):
        while read and (data := await reader.read(65536)):
            came += data
    writer.close()
    with contextlib.suppress(ConnectionError):
        await writer.wait_closed()
    return came


def post(path, body=b"{}", *headers):
    lines = [f"POST {path} HTTP/1.1", "Connection: close", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


def read_answer(came):
    head, _, body = came.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)


# What an SDK hears.

REPLIES = {
    "text": HELLO,
    "non-ASCII": Reply((Text("时间查询完成 🙂\u2028"),)),
    "thinking": Reply((Thinking("hm"), Text("yes")), usage=Usage(11, 3)),
    "calls": Reply((Text("see"), ToolCall("c1", "f", "{}"), ToolCall(None, "g", '{"x": Oslo')), stop="tool_calls"),
    "nothing": Reply(),
    "null": Reply((Text(None),)),
    "cut by length": Reply((Text("x"),), stop="length"),
    "long": Reply((Text("x" * 500_000),)),
    "an error": Reply(error=ErrorReply(429, "slow down", code="c", retry_after_s=2)),
    "an error of no usual status": Reply(error=ErrorReply(529, "overloaded")),
    "a page": Reply(error=ErrorReply(502, "bad", body="<html>bad gateway</html>")),
    "an empty page": Reply(error=ErrorReply(500, "bad", body="")),
    "cut cleanly": Reply((Text("hello"),), broken=Cut(after_chunks=3)),
    "cut cleanly by bytes": Reply((Text("hello"),), broken=Cut(after_bytes=100)),
    "cut by bytes beyond the end": Reply((Text("hello"),), broken=Cut(after_bytes=100_000_000)),
    "reset": Reply((Text("hello"),), broken=Cut(after_chunks=3, reset=True)),
    "reset by bytes": Reply((Text("hello"),), broken=Cut(after_bytes=100, reset=True)),
    "reset at once": Reply((Text("hello"),), broken=Cut(after_bytes=0, reset=True)),
}


async def heard(client, url, body):
    """Status, headers that say something, bytes, and what went wrong."""
    came, broken = b"", None
    try:
        async with client.stream("POST", f"{url}/v1/chat/completions", json=body) as response:
            told = {name: response.headers.get(name) for name in ("content-type", "retry-after", "retry-after-ms")}
            async for data in response.aiter_raw():
                came += data
    except httpx2.TransportError as error:
        broken = type(error)
    return response.status_code, told, came, broken


@pytest.mark.parametrize("chunking", [WHOLE, CHARACTER])
@pytest.mark.parametrize("body", [QUESTION, STREAM], ids=["blocking", "streaming"])
@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES.keys())
def test_a_client_hears_over_the_server_what_it_hears_over_the_transport(reply, body, chunking):
    if reply is REPLIES["long"] and chunking is CHARACTER:
        reply = Reply((Text("x" * 3000),))

    async def run():
        expected = ReplyEndpoint(reply, chunking=chunking)
        session = Session(reply, chunking=chunking)
        async with httpx2.AsyncClient(transport=transport(expected, httpx2)) as client:
            by_transport = await heard(client, "http://127.0.0.1:9", body)
        async with serving(session) as (_, (url,)), httpx2.AsyncClient(timeout=10) as client:
            by_server = await heard(client, url, body)
            await session.endpoint.ended.wait()
        assert by_server == by_transport
        assert session.endpoint.done_calls == expected.done_calls
        assert session.endpoint.requests[0]["body"] == expected.requests[0]["body"]

    asyncio.run(run())


CALLS = Reply((ToolCall("c1", "f", '{"x":"时"}'), ToolCall("c2", "g", "{}")), stop="tool_calls")


def test_the_sdk_hears_a_whole_reply_sync_and_async():
    def ask(url):
        with openai.OpenAI(api_key="k", base_url=f"{url}/v1", max_retries=0, timeout=10) as client:
            return client.chat.completions.create(**QUESTION)

    async def run():
        async with serving(Session(HELLO, CALLS)) as (_, (url,)):
            async with sdk(url) as client:
                said = await client.chat.completions.create(**QUESTION)
            answer = await asyncio.to_thread(ask, url)
        return said.choices[0].message.content, [
            (call.id, call.function.name, call.function.arguments) for call in answer.choices[0].message.tool_calls
        ]

    assert asyncio.run(run()) == ("hello", [("c1", "f", '{"x":"时"}'), ("c2", "g", "{}")])


def test_the_sdk_hears_a_stream_and_its_usage():
    async def run():
        reply = Reply((Text("hello"),), usage=Usage(11, 3))
        async with serving(Session(reply, chunking=CHARACTER)) as (_, (url,)), sdk(url) as client:
            chunks = [chunk async for chunk in await client.chat.completions.create(**STREAM)]
        said = [choice.delta.content for chunk in chunks for choice in chunk.choices if choice.delta.content]
        return said, chunks[-1].usage.total_tokens

    assert asyncio.run(run()) == (list("hello"), 14)


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (Reply(error=ErrorReply(401, "no")), openai.AuthenticationError),
        (Reply(error=ErrorReply(404, "no")), openai.NotFoundError),
        (Reply(error=ErrorReply(503, "no")), openai.InternalServerError),
        (Reply((Text("hi"),), broken=Cut(after_bytes=5)), openai.APIConnectionError),
        (Reply((Text("hi"),), broken=Cut(after_bytes=5, reset=True)), openai.APIConnectionError),
        (Reply((Text("hi"),), broken=Cut(after_chunks=1)), openai.APIConnectionError),
    ],
    ids=repr,
)
def test_the_sdk_raises_what_it_raises_for_a_provider(reply, error):
    async def run():
        async with serving(Session(reply)) as (_, (url,)), sdk(url) as client:
            with pytest.raises(error):
                await client.chat.completions.create(**QUESTION)

    asyncio.run(run())


def test_the_sdk_comes_back_on_the_same_connection_where_the_error_says_so():
    async def run():
        later = Reply(error=ErrorReply(429, "slow down", retry_after_s=0))
        session = Session(later, later, HELLO)
        async with serving(session) as (_, (url,)), sdk(url, max_retries=2) as client:
            said = await client.chat.completions.create(**QUESTION)
        counts = [request["headers"]["x-stainless-retry-count"] for request in session.endpoint.requests]
        return said.choices[0].message.content, counts

    assert asyncio.run(run()) == ("hello", ["0", "1", "2"])


async def listen(client, body, hear=lambda: None):
    answer = await client.chat.completions.create(**body)
    if body.get("stream"):
        async for _ in answer:
            hear()


@pytest.mark.parametrize("body", [QUESTION, STREAM], ids=["blocking", "streaming"])
def test_a_stall_is_silence_until_the_client_has_waited_long_enough(body):
    async def run():
        session = Session(Reply((Text("hello"),), broken=Stall(after_chunks=2)), chunking=CHARACTER)
        async with serving(session) as (_, (url,)), sdk(url, timeout=0.2) as client:
            with pytest.raises((openai.APITimeoutError, httpx2.ReadTimeout)):
                await listen(client, body)
            await session.endpoint.ended.wait()
        return session.endpoint.hangs, [by for _, _, by in session.endpoint.done_calls]

    assert asyncio.run(run()) == (1, ["client"])


def test_a_stall_ends_with_a_reset_when_the_run_is_over():
    async def run():
        session = Session(Reply((Text("hello"),), broken=Stall(after_chunks=2)))
        over = asyncio.Event()
        session.endpoint.ahang = over.wait
        async with serving(session) as (_, (url,)), sdk(url) as client:
            with pytest.raises((openai.APIConnectionError, httpx2.ReadError)):
                await listen(client, STREAM, over.set)
        return [by for _, _, by in session.endpoint.done_calls]

    assert asyncio.run(run()) == ["cut"]


def test_a_wait_passes_in_the_scenarios_time_and_then_in_real_time():
    async def run():
        session = Session(Reply((Text("hello"),), wait_s=7.5))
        slept = []

        async def sleep(delay_s):
            slept.append((delay_s, session.endpoint.paused_s.copy()))

        async with serving(session, sleep=sleep) as (_, (url,)), sdk(url) as client:
            await client.chat.completions.create(**QUESTION)
        return slept

    assert asyncio.run(run()) == [(7.5, [7.5])]


def test_a_client_that_leaves_during_a_wait_is_noticed():
    async def run():
        session = Session(Reply((Text("hello"),), wait_s=3600))
        async with serving(session) as (_, (url,)), sdk(url, timeout=0.2) as client:
            with pytest.raises(openai.APITimeoutError):
                await client.chat.completions.create(**QUESTION)
            await session.endpoint.ended.wait()
        return session.endpoint.done_calls

    assert asyncio.run(run()) == [("m1", 0, "client")]


def test_a_run_beyond_its_cap_is_left_waiting_without_being_asked_and_blocks_no_other():
    async def run():
        endless, other = Session(HELLO), Session(HELLO)
        endless.endpoint.overrun = True
        async with serving(endless, other) as (_, urls), sdk(urls[0]) as stuck, sdk(urls[1]) as client:
            asking = asyncio.create_task(stuck.chat.completions.create(**QUESTION))
            await endless.endpoint.silent.wait()
            said = await client.chat.completions.create(**QUESTION)
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
        return said.choices[0].message.content, endless.endpoint.requests

    assert asyncio.run(run()) == ("hello", [])


def test_an_answer_is_heard_to_have_ended_before_the_next_request_is():
    """Else a recording would show a request while the one before it was still being answered."""

    async def run():
        told = []

        class Ordered(Endpoint):
            def exchange(self, wire, path, body, headers):
                exchange = super().exchange(wire, path, body, headers)
                told.append(f"asked {exchange.call}")
                return exchange

            def done(self, call, sent_bytes, by):
                told.append(f"done {call}")

        session = Session()
        session.endpoint = Ordered(*[HELLO] * 20, chunking=CHARACTER)
        async with serving(session) as (_, (url,)), sdk(url) as client:
            for number in range(20):
                await listen(client, STREAM if number % 2 else QUESTION)
        return told

    assert asyncio.run(run()) == [f"{what} m{number}" for number in range(1, 21) for what in ("asked", "done")]


# What a guest is told.


def test_a_request_arrives_as_sent_with_its_path_below_the_token():
    async def run():
        session = Session(HELLO)
        async with serving(session) as (_, (url,)), sdk(url) as client:
            await client.chat.completions.create(**QUESTION)
        (request,) = session.endpoint.requests
        return session.told, request

    told, request = asyncio.run(run())

    assert told == [("settle", 0)]
    assert (request["wire"], request["path"], request["body"]) == ("openai_chat", "/v1/chat/completions", QUESTION)
    assert request["headers"]["authorization"] == "Bearer k"


@pytest.mark.parametrize(
    "target",
    [
        "/s/s0/chat/completions",
        "/s/s0/any/base/v1/chat/completions?api-version=1",
        "/s/%730/v1/chat%2Fcompletions",
        "http://127.0.0.1:1/s/s0/v1/chat/completions",
    ],
)
def test_a_wire_is_told_by_the_end_of_the_path(target):
    async def run():
        session = Session(HELLO)
        async with serving(session) as (server, _):
            return read_answer(await raw(server, post(target, json.dumps(QUESTION).encode())))

    status, body = asyncio.run(run())

    assert (status, body["choices"][0]["message"]["content"]) == (200, "hello")


@pytest.mark.parametrize(("content", "body"), [(b"{oops", "{oops"), (b"[1]", [1]), (b"", ""), (b"\xff", "\ufffd")])
def test_a_body_that_is_no_json_object_reaches_the_endpoint_which_judges_it(content, body):
    async def run():
        session = Session()
        asked = []

        def exchange(wire, path, given, headers):
            asked.append(given)
            codec = CODECS[wire]
            return exchange_of("m1", codec, HELLO, request=codec.decode({}), stamp=Stamp("i", 1, "m"), chunking=WHOLE)

        session.endpoint.exchange = exchange
        async with serving(session) as (server, _):
            await raw(server, post("/s/s0/v1/chat/completions", content))
        return asked

    assert asyncio.run(run()) == [body]


@pytest.mark.parametrize(
    ("path", "content", "headers", "told"),
    [
        ("look", b'{"x": [1]}', ["X-Tool-Call-Id: c1"], ("look", {"x": [1]}, "c1")),
        ("look", b"{}", [], ("look", {}, None)),
        ("look", b"{}", ["X-Tool-Call-Id:"], ("look", {}, "")),
        ("a%2Fb%20%E6%97%B6", b"{}", [], ("a/b 时", {}, None)),
        ("a/b", b"{}", [], ("a/b", {}, None)),
        ("", b"{}", [], ("", {}, None)),
        ("look", b"", [], ("look", "", None)),
        ("look", b"[1]", [], ("look", "[1]", None)),
        ("look", b'{"x": Oslo', [], ("look", '{"x": Oslo', None)),
        ("look", b"\xff", [], ("look", "\ufffd", None)),
        ("look", b"[" * 100_000, [], ("look", "[" * 100_000, None)),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_a_tool_call_reaches_the_guest_after_it_settled(path, content, headers, told):
    async def run():
        session = Session()
        async with serving(session) as (server, _):
            answer = read_answer(await raw(server, post(f"/s/s0/tools/{path}", content, *headers)))
        return session.told, answer

    assert asyncio.run(run()) == ([("settle", 0), told], (200, {"result": 1}))


@pytest.mark.parametrize(
    "answers", [(422, {"error": {"type": "ArgumentError", "message": "x: 时"}}), (404, {"error": {}}), (200, None)]
)
def test_what_became_of_a_tool_call_is_the_guests_to_say(answers):
    async def run():
        async with serving(Session(answers=answers)) as (server, _):
            return read_answer(await raw(server, post("/s/s0/tools/look")))

    assert asyncio.run(run()) == answers


def test_a_tool_that_hangs_is_cancelled_when_its_caller_leaves():
    async def run():
        begun, ended = asyncio.Event(), asyncio.Event()

        async def tool(name, arguments, call_id):
            begun.set()
            try:
                await asyncio.get_running_loop().create_future()
            finally:
                ended.set()

        session = Session()
        session.tool = tool
        async with serving(session) as (server, _):
            _, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(post("/s/s0/tools/look"))
            await begun.wait()
            writer.close()
            await ended.wait()

    asyncio.run(run())


def test_the_models_can_be_listed():
    async def run():
        async with serving(Session()) as (_, (url,)), sdk(url) as client:
            return [model.id for model in (await client.models.list()).data]

    assert asyncio.run(run()) == ["fake-model"]


@pytest.mark.parametrize(
    ("method", "target", "status", "message"),
    [
        ("GET", "/", 404, "below /s/TOKEN"),
        ("OPTIONS", "*", 404, "OPTIONS *"),
        ("GET", "/s/", 404, "GET /s/"),
        ("POST", "/s/over/v1/chat/completions", 404, "No session 'over' is open"),
        ("GET", "/s/over/v1/models", 404, "No session 'over' is open"),
        ("POST", "/s/over/tools/look", 404, "No session 'over' is open"),
        ("POST", "/s/s0", 404, "POST /v1/chat/completions"),
        ("POST", "/s/s0/v1/embeddings", 404, "Unknown request URL: POST /v1/embeddings"),
        ("POST", "/s/s0/tools", 405, "POST is not allowed on /tools. GET and HEAD is answered there."),
        ("PUT", "/s/s0/tools", 405, "PUT is not allowed on /tools"),
        ("POST", "/s/s0/toolsx", 404, "POST /toolsx"),
        ("GET", "/s/s0/v1/chat/completions", 405, "GET is not allowed on /v1/chat/completions"),
        ("OPTIONS", "/s/s0/v1/chat/completions", 405, "OPTIONS is not allowed"),
        ("GET", "/s/s0/tools/look", 405, "GET is not allowed on /tools/look"),
        ("CONNECT", "127.0.0.1:80", 404, "CONNECT 127.0.0.1:80"),
    ],
)
def test_what_nothing_answers_is_refused_in_the_providers_shape_and_reaches_no_guest(method, target, status, message):
    async def run():
        session = Session()
        async with serving(session) as (server, _):
            came = await raw(server, f"{method} {target} HTTP/1.1\r\nConnection: close\r\n\r\n".encode())
        assert session.told == []
        allowed = b"GET, HEAD" if target == "/s/s0/tools" else b"POST"
        assert (b"\r\nAllow: %b\r\n" % allowed in came) == (status == 405)
        return read_answer(came)

    found, body = asyncio.run(run())

    assert found == status
    assert message in body["error"]["message"]
    assert body["error"]["type"] == "invalid_request_error"


def test_bad_http_is_refused_in_the_providers_shape():
    async def run():
        async with serving(Session()) as (server, _):
            return read_answer(await raw(server, b"hello\r\n\r\n"))

    status, body = asyncio.run(run())

    assert (status, body["error"]["type"]) == (400, "invalid_request_error")
    assert "HTTP" in body["error"]["message"]


def failing(*_):
    raise LookupError("lost")


async def failing_soon(*_):
    failing()


def with_failing_exchange(session):
    session.endpoint.exchange = failing


def with_failing_settle(session):
    session.settle = failing_soon


def with_failing_exchange_at_once(session):
    session.settle = lambda: None
    session.endpoint.exchange = failing


def with_failing_tool(session):
    session.tool = failing_soon


@pytest.mark.parametrize(
    ("breaks", "path"),
    [
        (with_failing_exchange, "/s/s0/v1/chat/completions"),
        (with_failing_exchange_at_once, "/s/s0/v1/chat/completions"),
        (with_failing_settle, "/s/s0/v1/chat/completions"),
        (with_failing_settle, "/s/s0/tools/look"),
        (with_failing_tool, "/s/s0/tools/look"),
    ],
)
def test_a_guests_own_fault_is_a_500_and_is_reported(breaks, path):
    reported = []

    async def run():
        asyncio.get_running_loop().set_exception_handler(lambda _, told: reported.append(told["exception"]))
        session = Session()
        breaks(session)
        async with serving(session) as (server, _):
            return read_answer(await raw(server, post(path)))

    status, body = asyncio.run(run())

    assert (status, body["error"]["type"]) == (500, "server_error")
    assert "lost" in body["error"]["message"]
    assert [type(error) for error in reported] == [LookupError]


def test_a_guests_fault_in_the_middle_of_an_answer_resets_the_connection_and_is_reported():
    reported = []

    async def run():
        asyncio.get_running_loop().set_exception_handler(lambda _, told: reported.append(told["exception"]))
        session = Session(Reply((Text("hello"),), broken=Stall(after_chunks=1)))
        session.endpoint.ahang = failing_soon
        async with serving(session) as (_, (url,)), sdk(url) as client:
            with pytest.raises((openai.APIConnectionError, httpx2.ReadError)):
                await listen(client, STREAM)

    asyncio.run(run())

    assert [type(error) for error in reported] == [LookupError]


def test_a_body_of_more_objects_than_any_provider_takes_is_refused_before_it_is_read():
    async def run():
        session = Session(HELLO)
        async with serving(session) as (server, _):
            content = b'{"messages":[' + b"{}," * MOST_BRACES + b"{}]}"
            return read_answer(await raw(server, post("/s/s0/v1/messages", content))), session.endpoint.requests

    (status, body), requests = asyncio.run(run())
    assert (status, body["error"]["type"], requests) == (413, "request_too_large", [])


# A guest that waits for nothing.


@pytest.mark.parametrize("chunking", [WHOLE, CHARACTER], ids=lambda one: one.name)
@pytest.mark.parametrize("asked", [QUESTION, STREAM], ids=["whole", "streamed"])
@pytest.mark.parametrize(
    "reply",
    [
        HELLO,
        Reply((Text("x" * 1000),)),
        Reply((Text("hello"),), broken=Cut(after_bytes=20)),
        Reply((Text("hello"),), wait_s=0.001, pace_s=0.001),
        Reply(error=ErrorReply(429, "slow down", retry_after_s=1)),
    ],
    ids=["short", "long", "cut", "slow", "error"],
)
def test_an_answer_is_the_same_whether_its_guest_waits_or_not(reply, asked, chunking):
    async def run(settle):
        session = Session(reply, reply, chunking=chunking)
        session.settle = settle or session.settle
        async with serving(session) as (server, _):
            content = json.dumps(asked).encode()
            one = post("/s/s0/v1/chat/completions", content)
            came = await raw(server, one.replace(b"Connection: close", b"Connection: keep-alive") + one)
        return came, session.endpoint.done_calls

    assert asyncio.run(run(lambda: None)) == asyncio.run(run(None))


def test_a_request_is_answered_where_it_is_heard_without_a_task():
    async def run():
        session, tasks = Session(HELLO), []
        session.settle = lambda: tasks.append(asyncio.current_task())
        async with serving(session) as (server, _):
            await raw(server, post("/s/s0/v1/chat/completions", json.dumps(STREAM).encode()))
        return tasks, session.endpoint.done_calls[0][2]

    assert asyncio.run(run()) == ([None], "kit")


# Sessions, ports and the end.


def test_two_hundred_sessions_at_once_do_not_touch_each_other():
    async def ask(server, number):
        body = json.dumps({**(STREAM if number % 2 else QUESTION), "user": str(number)}).encode()
        came = await raw(server, post(f"/s/s{number}/v1/chat/completions", body))
        tool = await raw(server, post(f"/s/s{number}/tools/t{number}"))
        return f"I am {number}.".encode() in came, read_answer(tool)

    async def run():
        sessions = [
            Session(Reply((Text(f"I am {number}."),)), answers=(200, {"result": number})) for number in range(200)
        ]
        async with serving(*sessions) as (server, _):
            answers = await asyncio.gather(*(ask(server, number) for number in range(200)))
        users = [[request["body"]["user"] for request in session.endpoint.requests] for session in sessions]
        return answers, users, [session.told[-1][0] for session in sessions]

    answers, users, tools = asyncio.run(run())

    assert answers == [(True, (200, {"result": number})) for number in range(200)]
    assert users == [[str(number)] for number in range(200)]
    assert tools == [f"t{number}" for number in range(200)]


def test_unmounting_ends_what_waits_below_the_token_and_nothing_else():
    async def run():
        one, other = (Session(Reply((Text("hi"),), broken=Stall()), HELLO) for _ in range(2))
        async with serving(one, other) as (server, urls), sdk(urls[0]) as first, sdk(urls[1]) as second:
            asking = [asyncio.create_task(client.chat.completions.create(**QUESTION)) for client in (first, second)]
            await one.endpoint.silent.wait()
            await other.endpoint.silent.wait()
            await server.unmount("s0")
            told = one.endpoint.done_calls.copy()
            with pytest.raises(openai.APIConnectionError):
                await asking[0]
            with pytest.raises(openai.NotFoundError, match="No session 's0' is open"):
                await first.chat.completions.create(**QUESTION)
            going_on = not asking[1].done()
            asking[1].cancel()
            await asyncio.gather(*asking, return_exceptions=True)
        return told, going_on, len(one.endpoint.requests)

    assert asyncio.run(run()) == ([("m1", 0, "client")], True, 1)


def test_a_guest_may_end_its_own_session():
    async def run():
        session = Session()
        async with serving(session) as (server, _):

            async def tool(name, arguments, call_id):
                await server.unmount("s0")
                return 200, {"result": "bye"}

            session.tool = tool
            return read_answer(await raw(server, post("/s/s0/tools/leave")))

    assert asyncio.run(run()) == (200, {"result": "bye"})


def test_a_token_is_mounted_once_and_again_after_it_was_unmounted():
    async def run():
        async with serving(Session()) as (server, _):
            with pytest.raises(ValueError, match="'s0' is mounted already"):
                server.mount("s0", Session())
            await server.unmount("s0")
            return server.mount("s0", Session()) == f"http://127.0.0.1:{server.port}/s/s0"

    assert asyncio.run(run())


@pytest.mark.parametrize("token", ["fixed", "a/b", "ü ?#%2F", "."])
def test_any_token_finds_its_guest(token):
    async def run():
        async with serving() as (server, _):
            url = server.mount(token, Session())
            return read_answer(
                await raw(server, post(url.removeprefix(f"http://127.0.0.1:{server.port}") + "/tools/t"))
            )

    assert asyncio.run(run()) == (200, {"result": 1})


def test_a_port_is_taken_as_given_and_again_at_once():
    async def run():
        async with serving(Session()) as (server, _):
            port = server.port
            await raw(server, post("/s/s0/tools/t"))
        async with serving(Session(), port=port) as (server, _):
            return server.port == port, read_answer(await raw(server, post("/s/s0/tools/t")))[0]

    assert asyncio.run(run()) == (True, 200)


def test_a_port_in_use_is_told_with_what_to_do():
    async def run():
        async with serving() as (server, _):
            with pytest.raises(ListenError, match=rf"127\.0\.0\.1, port {server.port}: .*port 0 takes a free one"):
                async with Server(server.port):
                    pass

    asyncio.run(run())


def test_a_port_that_is_none_is_told_with_what_to_do():
    async def run():
        with pytest.raises(ListenError, match=r"port 70000: .*port 0 takes a free one"):
            async with Server(70000):
                pass

    asyncio.run(run())


async def idle(server):
    """A client that stays after its answer."""
    _, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(b"GET /s/s0/v1/models HTTP/1.1\r\n\r\n")
    return writer


async def half(server):
    _, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(b"POST /s/s0/v1/chat/completions HTTP/1.1\r\nContent-Le")
    return writer


async def just_there(server):
    _, writer = await asyncio.open_connection("127.0.0.1", server.port)
    return writer


async def refused(server):
    _, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(b"\x00")
    return writer


async def stalled(server):
    _, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(post("/s/s0/v1/chat/completions", json.dumps(STREAM).encode()))
    return writer


@pytest.mark.parametrize("rounds", range(5))
@pytest.mark.parametrize("client", [idle, half, just_there, refused, stalled])
def test_leaving_ends_every_connection_at_whatever_point_it_is(client, rounds):
    async def run():
        files, threads = open_files(), threading.active_count()
        session = Session(*[Reply((Text("hi"),), broken=Stall(after_chunks=1))] * 3)
        async with asyncio.timeout(10):
            async with Server() as server:
                server.mount("s0", session)
                writers = [await client(server) for _ in range(3)]
                for _ in range(rounds):
                    await asyncio.sleep(0)
            for writer in writers:
                writer.close()
                with contextlib.suppress(ConnectionError):
                    await writer.wait_closed()
        return open_files() - files, asyncio.all_tasks() - {asyncio.current_task()}, threading.active_count() - threads

    assert asyncio.run(run()) == (0, set(), 0)
