"""What no client should send, over a real socket: it is answered or ended, it is recorded, and nothing is left behind."""

import asyncio
import contextlib
import json
import struct
from datetime import UTC, datetime
from pathlib import Path

import pytest

from fake_models.chunking import WHOLE
from fake_models.http_connection import WHOLE_S, Connection
from fake_models.http_requests import MAX_BODY_BYTES, RequestParser
from fake_models.messages import Stall, World
from fake_models.routes import codec_for
from fake_models.script import FOREVER, CallTurn, ErrorTurn, Script, Turn
from fake_models.scripted_model import ScriptedModel
from fake_models.server import Server
from fake_models.wire import CODECS

CHAT = "/s/t/v1/chat/completions"
QUESTION = json.dumps({"model": "m", "messages": [{"role": "user", "content": "hello"}]}).encode()
STREAM = json.dumps({**json.loads(QUESTION), "stream": True}).encode()
TIMES = 200


FOR_EVER = Turn(say="hi", repeat=FOREVER)


class Session:
    """A host, a recorder and a guest in one, whose model says the same for ever."""

    def __init__(self, turn=FOR_EVER):
        self.records = []
        self.endpoint = ScriptedModel(
            record=lambda _source, kind, data: self.records.append((kind, data)),
            host=self,
            chunking=WHOLE,
            codecs=CODECS,
            cap=10**6,
        )
        self.endpoint.open("r1", Script((turn,)), None)
        self.calls = 0

    def next_call(self):
        self.calls += 1
        return f"m{self.calls}"

    def side(self, request, headers):
        return None

    def world(self, run, request, side):
        return World(datetime(2026, 1, 1, tzinfo=UTC), run=run)

    def pause(self, delay_s):
        raise AssertionError("no time passes here")

    def hang(self):
        raise AssertionError("this would block the loop")

    async def ahang(self):
        await asyncio.get_running_loop().create_future()

    def app(self, below):
        return None

    def tools(self):
        return ()

    async def settle(self):
        pass

    async def tool(self, name, arguments, call_id):
        return 404, None

    @property
    def kinds(self):
        return [kind for kind, _ in self.records]


def open_files():
    return len(list(Path("/proc/self/fd").iterdir()))


@contextlib.asynccontextmanager
async def serving(session):
    """A server that reports nothing, and leaves no task and no descriptor."""
    files, reported = open_files(), []
    asyncio.get_running_loop().set_exception_handler(lambda _, told: reported.append(told))
    async with asyncio.timeout(60):
        async with Server() as server:
            server.mount("t", session)
            yield server
        assert asyncio.all_tasks() == {asyncio.current_task()}
    assert open_files() == files
    assert reported == []


def post(path, body, *headers):
    lines = [f"POST {path} HTTP/1.1", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


async def heard(port, sent):
    """Status and body of the answer, after which the client goes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(sent)
    head = await reader.readuntil(b"\r\n\r\n")
    length = next(line for line in head.decode().splitlines() if line.lower().startswith("content-length"))
    body = await reader.readexactly(int(length.split(":")[1]))
    await gone(writer)
    return int(head.split()[1]), json.loads(body)


async def gone(writer):
    writer.close()
    with contextlib.suppress(ConnectionError):
        await writer.wait_closed()


def asked(session, *sent):
    async def run():
        async with serving(session) as server:
            return [await heard(server.port, one) for one in sent]

    return asyncio.run(run())


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{oops",
        b"\xff\xfe",
        b"null",
        b"[]",
        b'"text"',
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b"1" * 5000,
        QUESTION[:-1] + b',"temperature":NaN}',
        QUESTION[:-1] + b',"temperature":1e999}',
        QUESTION[:-1] + b',"user":' + b"[" * 960 + b"]" * 960 + b"}",
        QUESTION.decode().encode("utf-16"),
        b"\xef\xbb\xbf" + QUESTION,
    ],
    ids=lambda body: repr(body[:12]),
)
def test_a_body_that_is_no_json_object_is_refused_as_the_provider_does_and_recorded(body):
    session = Session()

    answers = asked(session, *[post(CHAT, body)] * TIMES)

    assert {status for status, _ in answers} == {400}
    assert {said["error"]["type"] for _, said in answers} == {"invalid_request_error"}
    assert session.kinds == ["request", "refused", "reply_done"] * TIMES
    assert session.records[1][1]["rule"] == "body_no_object"


@pytest.mark.parametrize("count", ["1" * 5000, "99999", "-1", "1.0", "x", "²"], ids=lambda count: repr(count[:8]))
def test_a_count_of_attempts_that_is_none_is_recorded_as_none(count):
    session = Session()

    ((status, _),) = asked(session, post(CHAT, QUESTION, f"X-Stainless-Retry-Count: {count}"))

    assert (status, session.records[0][1]["retry_header"]) == (200, None)


@pytest.mark.parametrize("name", ["/v1/chat/completions", "/v1beta/models/m:generateContent"])
def test_a_query_that_came_encoded_in_a_path_is_not_recorded(name):
    session = Session()

    asked(session, post(f"/s/t/x%3Fkey=KEY{name}", QUESTION))

    assert session.records[0][1]["path"] == "/x"


@pytest.mark.parametrize(
    "path", [*(codec.path for codec in CODECS.values()), "/v1beta/models/m:streamGenerateContent?alt=sse"]
)
@pytest.mark.parametrize(
    "turn",
    [
        Turn(say="half \ud83d é"),
        Turn(calls=(CallTurn("f\ud83d", {"x": "\ud83d"}),)),
        Turn(error=ErrorTurn(500, message="\ud83d")),
    ],
    ids=["text", "call", "error"],
)
def test_a_reply_with_half_a_surrogate_pair_is_utf_8_on_every_wire(path, turn):
    session = Session(turn)
    bodies = {
        "gemini": {"contents": [{"role": "user", "parts": [{"text": "hello"}]}]},
        "openai_responses": {"model": "m", "input": "hello"},
        "anthropic_messages": {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hello"}]},
    }
    codec = codec_for("POST", path.partition("?")[0])
    body = bodies.get(codec.name, json.loads(STREAM))

    came = asyncio.run(bytes_of(session, post(f"/s/t{path}", json.dumps(body).encode(), "Connection: close")))

    assert "\\ud83d" in came.decode()


def test_a_text_that_is_sent_as_it_is_is_utf_8():
    session = Session(Turn(error=ErrorTurn(502, body="<p>half \ud83d</p>")))

    came = asyncio.run(bytes_of(session, post(CHAT, QUESTION, "Connection: close")))

    assert came.endswith(b"\r\n\r\n<p>half ?</p>")


async def bytes_of(session, sent):
    async with serving(session) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(sent)
        came = await reader.read()
        await gone(writer)
        return came


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "nonsense", ""])
def test_a_body_is_judged_by_what_it_holds_whatever_it_is_called(kind):
    """Some providers mind, others do not, and an SDK never calls it anything else: no agent is helped by a refusal here."""
    ((status, _),) = asked(Session(), post(CHAT, QUESTION, f"Content-Type: {kind}"))

    assert status == 200


@pytest.mark.parametrize(
    ("path", "key"), [(CHAT, "code"), ("/s/t/v1/messages", "type"), ("/s/t/v1beta/models/m:generateContent", "status")]
)
def test_a_hundred_megabytes_are_refused_in_the_providers_shape_before_they_are_sent(path, key):
    session = Session()
    head = f"POST {path} HTTP/1.1\r\nContent-Length: {100 * 1024 * 1024}\r\n\r\n".encode()

    answers = asked(session, *[head] * TIMES)

    assert {status for status, _ in answers} == {413}
    assert all(key in said["error"] for _, said in answers)
    assert session.records == []


def test_of_a_body_whose_length_is_not_told_no_more_is_kept_than_is_allowed():
    parser = RequestParser()
    parser.feed(b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n")
    chunk = b"%x\r\n%b\r\n" % (1 << 20, b"x" * (1 << 20))

    kept = []
    for _ in range(100):
        parser.feed(chunk)
        kept.append(sum(map(len, parser._body)))

    assert max(kept) <= MAX_BODY_BYTES
    assert kept[-1] == 0


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"GET /s/t/v1/chat/completions HTTP/1.1\r\n\r\n", 405),
        (b"BREW /s/t/v1/chat/completions HTTP/1.1\r\n\r\n", 400),
        (b"DELETE /s/t/v1/models HTTP/1.1\r\n\r\n", 405),
        (post("/s/t/v1/nowhere", b"{}"), 404),
        (post("/s/unknown/v1/chat/completions", QUESTION), 404),
        (post("/s/%00/v1/chat/completions", QUESTION), 404),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400),
        (b"GET / HTTP/1.1\r\nX: " + b"x" * 200_000, 431),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_what_nothing_answers_is_refused_and_leaves_nothing_behind(sent, status):
    session = Session()

    answers = asked(session, *[sent] * TIMES)

    assert {found for found, _ in answers} == {status}
    assert all(said["error"]["message"] for _, said in answers)
    assert session.records == []


@pytest.mark.parametrize("reset", [False, True], ids=["closes", "resets"])
def test_clients_that_go_away_in_mid_stream_leave_nothing_behind(reset):
    session = Session(Turn(say="hi", repeat=FOREVER, broken=Stall(after_chunks=1)))

    async def leave(port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(post(CHAT, STREAM))
        await reader.readuntil(b"data: ")
        if reset:
            writer.get_extra_info("socket").setsockopt(1, 13, struct.pack("ii", 1, 0))
        await gone(writer)

    async def run():
        async with serving(session) as server:
            for _ in range(TIMES):
                await leave(server.port)
            while session.kinds.count("reply_done") < TIMES:  # noqa: ASYNC110 - nothing tells
                await asyncio.sleep(0)
        return {data["by"] for kind, data in session.records if kind == "reply_done"}

    assert asyncio.run(run()) == {"client"}


class Clock:
    """Remembers what is to be called later, and calls it when it is told to."""

    def __init__(self):
        self.set = []

    def __call__(self, delay_s, call):
        handle = asyncio.get_running_loop().call_later(3600, call)
        self.set.append((delay_s, handle, call))
        return handle

    def ring(self):
        for _, handle, call in self.set:
            if not handle.cancelled():
                handle.cancel()
                call()


async def refuse(request, answer):
    said = f"{request.status} {request.path}".encode()
    answer.begin(request.status, (), len(said))
    await answer.send(said, last=True)


@pytest.mark.parametrize(
    ("parts", "path"),
    [
        ((b"P",), ""),
        ((b"POST /a/b HTTP/1.1\r\nX-A", b": b\r\nX-C:"), "/a/b"),
        ((b"POST /a HTTP/1.1\r\nContent-Length: 9\r\n\r\n", b"{"), "/a"),
        ((b"POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{",), "/a"),
    ],
)
def test_a_request_that_does_not_become_whole_is_refused_when_its_time_is_over(parts, path):
    clock = Clock()

    async def run():
        made = []

        def connected():
            made.append(Connection(refuse, clock))
            return made[-1]

        listener = await asyncio.get_running_loop().create_server(connected, "127.0.0.1", 0)
        reader, writer = await asyncio.open_connection("127.0.0.1", listener.sockets[0].getsockname()[1])
        for part in parts:
            writer.write(part)
            while not clock.set:  # noqa: ASYNC110 - nothing tells
                await asyncio.sleep(0)
        await asyncio.sleep(0.01)
        clock.ring()
        came = await reader.read()
        await gone(writer)
        listener.close()
        await made[0].ended
        return came

    came = asyncio.run(run())

    assert [delay_s for delay_s, _, _ in clock.set] == [WHOLE_S]
    assert came.startswith(b"HTTP/1.1 408 ")
    assert came.endswith(f"\r\n\r\n408 {path}".encode())


def test_a_request_that_became_whole_has_all_the_time_it_wants_for_its_answer():
    clock = Clock()

    async def answered(request, answer):
        answer.begin(200, (), 0)
        answer.end()

    async def run():
        listener = await asyncio.get_running_loop().create_server(lambda: Connection(answered, clock), "127.0.0.1", 0)
        reader, writer = await asyncio.open_connection("127.0.0.1", listener.sockets[0].getsockname()[1])
        for part in (b"GET / HTTP/1.1\r\n", b"\r\n", b"GET / HTTP/1.1\r\n", b"\r\n"):
            before = len(clock.set)
            writer.write(part)
            while part.startswith(b"GET") and len(clock.set) == before:  # noqa: ASYNC110 - nothing tells
                await asyncio.sleep(0)
            if part == b"\r\n":
                await reader.readuntil(b"\r\n\r\n")
        await gone(writer)
        listener.close()

    asyncio.run(run())

    assert [handle.cancelled() for _, handle, _ in clock.set] == [True, True]
