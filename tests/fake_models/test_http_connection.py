"""What one client sees of a connection, byte by byte, with an answer that is none of the model's."""

import asyncio
import contextlib
from functools import partial

import pytest

from fake_models.http_connection import PIPELINED, Connection
from fake_models.http_requests import MAX_BODY_BYTES, Refused

GET = b"GET /a HTTP/1.1\r\n\r\n"
POST = b"POST /b HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}"
OLD = b"GET /a HTTP/1.0\r\n\r\n"


async def echo(request, answer):
    """Says what was asked."""
    if isinstance(request, Refused):
        said, status = b"refused", request.status
    else:
        said, status = f"{request.method} {request.path} ".encode() + request.body, 200
    answer.begin(status, (), len(said))
    await answer.send(said)
    answer.end()


async def stream(request, answer):
    answer.begin(200, (("Content-Type", "text/event-stream"),), None)
    for piece in (b"ab", b"", b"cde"):
        await answer.send(piece)
    answer.end()


async def short(request, answer):
    answer.begin(200, (), 10)
    await answer.send(b"abc")
    answer.end()


async def torn(request, answer):
    answer.begin(200, (), 10)
    await answer.send(b"abc")
    await answer.reset()


async def says_status(status, length, request, answer):
    answer.begin(status, (("X", "y"),), length)
    await answer.send(b"abc")
    answer.end()


@contextlib.asynccontextmanager
async def listening(handle):
    """A port, and the connections that were made to it; all have ended when this is left."""
    made = []

    def connected():
        made.append(Connection(handle))
        return made[-1]

    listener = await asyncio.get_running_loop().create_server(connected, "127.0.0.1", 0)
    try:
        yield listener.sockets[0].getsockname()[1], made
    finally:
        listener.close()
        for connection in made:
            connection.abort()
        await asyncio.gather(*(connection.ended for connection in made))
        assert asyncio.all_tasks() == {asyncio.current_task()}


async def ask(port, *parts, eof=False):
    """All that comes back until the connection ends, and whether a reset ended it."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        for part in parts:
            writer.write(part)
            await writer.drain()
            await asyncio.sleep(0)
        if eof:
            writer.write_eof()
        return await read_all(reader)
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


async def read_all(reader):
    came = b""
    try:
        while data := await reader.read(65536):
            came += data
    except ConnectionResetError:
        return came, True
    return came, False


def answered(handle, *parts, eof=False):
    async def run():
        async with listening(handle) as (port, _), asyncio.timeout(10):
            return await ask(port, *parts, eof=eof)

    return asyncio.run(run())


def whole(body, *, status="200 OK", stays=True):
    """An answer as it must look, byte by byte."""
    kept = "keep-alive" if stays else "close"
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\nConnection: {kept}\r\n\r\n".encode() + body


LAST = b"GET /z HTTP/1.1\r\nConnection: close\r\n\r\n"
GOODBYE = whole(b"GET /z ", stays=False)
ANSWERS = {
    "one that stays and one that goes": (echo, GET + LAST, whole(b"GET /a ") + GOODBYE),
    "pipelined": (
        echo,
        GET + POST + GET + LAST,
        b"".join(map(whole, (b"GET /a ", b"POST /b {}", b"GET /a "))) + GOODBYE,
    ),
    "HTTP/1.0": (echo, OLD, whole(b"GET /a ", stays=False)),
    "HEAD": (echo, b"HEAD /a HTTP/1.1\r\n\r\n" + LAST, whole(b"HEAD /a ").removesuffix(b"HEAD /a ") + GOODBYE),
    "no HTTP": (echo, b"\x16\x03\x01", whole(b"refused", status="400 Bad Request", stays=False)),
    "no HTTP after a request": (
        echo,
        GET + b"\x00",
        whole(b"GET /a ") + whole(b"refused", status="400 Bad Request", stays=False),
    ),
    "too long a head": (
        echo,
        b"GET / HTTP/1.1\r\nX: " + b"x" * 200_000,
        whole(b"refused", status="431 Request Header Fields Too Large", stays=False),
    ),
    "a stream": (
        stream,
        GET + LAST,
        b"".join(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\nConnection: %b\r\n\r\n"
            b"2\r\nab\r\n3\r\ncde\r\n0\r\n\r\n" % kept
            for kept in (b"keep-alive", b"close")
        ),
    ),
    "a stream to HTTP/1.0 ends with the connection": (
        stream,
        b"GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\nabcde",
    ),
    **{
        f"{status} has no body, however long it is said to be": (
            partial(says_status, status, length),
            GET + LAST,
            b"".join(
                f"HTTP/1.1 {status} {words}\r\nX: y\r\nConnection: {kept}\r\n\r\n".encode()
                for kept in ("keep-alive", "close")
            ),
        )
        for status, words in ((204, "No Content"), (304, "Not Modified"))
        for length in (0, 3, None)
    },
    "no more is sent behind what only informs": (
        partial(says_status, 103, None),
        GET,
        b"HTTP/1.1 103 Early Hints\r\nX: y\r\nConnection: close\r\n\r\n",
    ),
    "a body cut short ends the connection": (
        short,
        GET,
        b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\nConnection: keep-alive\r\n\r\nabc",
    ),
}


@pytest.mark.parametrize("step", [None, 1])
@pytest.mark.parametrize(("handle", "sent", "expected"), ANSWERS.values(), ids=ANSWERS.keys())
def test_bytes_in_and_bytes_out(handle, sent, expected, step):
    step = step if step and len(sent) < 1000 else len(sent)
    parts = [sent[at : at + step] for at in range(0, len(sent), step)]

    assert answered(handle, *parts) == (expected, False)


@pytest.mark.parametrize("last", [LAST, OLD], ids=["HTTP/1.1", "HTTP/1.0"])
def test_after_a_request_that_is_to_be_the_last_nothing_is_heard(last):
    asked = []

    async def remember(request, answer):
        asked.append(request)
        await echo(request, answer)

    answered(remember, last + GET)

    assert len(asked) == 1


def test_a_reset_comes_after_what_was_sent_and_is_one():
    expected = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\nConnection: keep-alive\r\n\r\nabc"

    assert answered(torn, GET) == (expected, True)


def test_a_reset_takes_nothing_back_from_a_slow_reader():
    size = 20_000_000

    async def much(request, answer):
        answer.begin(200, (), size + 1)
        await answer.send(b"x" * size)
        await answer.reset()

    async def run():
        async with listening(much) as (port, _), asyncio.timeout(10):
            reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1000)
            writer.write(GET)
            await asyncio.sleep(0.1)
            came, reset = await read_all(reader)
            writer.close()
            return len(came.partition(b"\r\n\r\n")[2]), reset

    assert asyncio.run(run()) == (size, True)


def test_a_client_that_waits_is_let_go_on_before_its_body():
    async def run():
        async with listening(echo) as (port, _), asyncio.timeout(10):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"POST /b HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\nConnection: close\r\n\r\n")
            first = await reader.readuntil(b"\r\n\r\n")
            writer.write(b"{}")
            rest, _ = await read_all(reader)
            writer.close()
            return first, rest

    assert asyncio.run(run()) == (b"HTTP/1.1 100 Continue\r\n\r\n", whole(b"POST /b {}", stays=False))


def test_a_client_that_waits_while_another_answer_is_written_gets_nothing_in_between():
    waiting = b"POST /b HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}"

    assert answered(echo, GET + waiting) == (whole(b"GET /a ") + whole(b"POST /b {}", stays=False), False)


def test_a_client_that_goes_on_sending_too_long_a_body_reads_why_it_was_refused():
    head = b"POST /b HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % (MAX_BODY_BYTES + 1)
    body = [b"x" * 1_000_000] * 20

    came, reset = answered(echo, head, *body, eof=True)

    assert came == whole(b"refused", status="413 Request Entity Too Large", stays=False)
    assert not reset


@pytest.mark.parametrize("sent", [b"", b"GET /a HT", b"POST /b HTTP/1.1\r\nContent-Length: 9\r\n\r\n{"])
def test_half_a_request_is_no_request(sent):
    asked = []

    async def remember(request, answer):
        asked.append(request)

    assert answered(remember, sent, eof=True) == (b"", False)
    assert asked == []


@pytest.mark.parametrize("leave", ["close", "abort"])
def test_a_client_that_leaves_cancels_its_handler(leave):
    async def run():
        begun, ended = asyncio.Event(), asyncio.Event()

        async def silent(request, answer):
            begun.set()
            try:
                await asyncio.get_running_loop().create_future()
            finally:
                ended.set()

        async with listening(silent) as (port, _), asyncio.timeout(10):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(GET)
            await begun.wait()
            writer.close() if leave == "close" else writer.transport.abort()
            await ended.wait()

    asyncio.run(run())


def test_a_handler_that_does_not_come_to_its_end_resets_the_connection_and_is_reported():
    async def broken(request, answer):
        answer.begin(200, (), 3)
        raise LookupError("lost")

    reported = []

    async def run():
        asyncio.get_running_loop().set_exception_handler(lambda _, told: reported.append(told["exception"]))
        async with listening(broken) as (port, _), asyncio.timeout(10):
            return await ask(port, GET)

    _, reset = asyncio.run(run())

    assert reset
    assert [type(error) for error in reported] == [LookupError]


def test_a_status_is_written_as_it_is_given_whatever_was_written_before():
    statuses = iter((429, 429.0, 429))

    async def refuse(request, answer):
        answer.begin(next(statuses), (), 0)
        answer.end()

    came, _ = answered(refuse, GET + GET + LAST)

    assert [line.split()[1] for line in came.splitlines() if line.startswith(b"HTTP")] == [b"429", b"429.0", b"429"]


def test_a_slow_reader_is_waited_for():
    size, parts = 500_000, 40
    sent = []

    async def much(request, answer):
        answer.begin(200, (), size * parts)
        for number in range(parts):
            await answer.send(b"x" * size)
            sent.append(number)
        answer.end()

    async def run():
        async with listening(much) as (port, _), asyncio.timeout(10):
            reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1000)
            writer.write(b"GET /a HTTP/1.1\r\nConnection: close\r\n\r\n")
            await asyncio.sleep(0.1)
            before = len(sent)
            came, _ = await read_all(reader)
            writer.close()
            return before, len(came.partition(b"\r\n\r\n")[2])

    before, came = asyncio.run(run())

    assert before < parts
    assert came == size * parts


def test_a_client_that_sends_on_and_on_is_answered_in_order_however_long_it_waits():
    number = PIPELINED * 4
    let = []

    async def gated(request, answer):
        await let[0].wait()
        await echo(request, answer)

    async def run():
        let.append(asyncio.Event())
        async with listening(gated) as (port, _), asyncio.timeout(10):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            for at in range(number):
                writer.write(b"GET /%d HTTP/1.1\r\n\r\n" % at)
                await asyncio.sleep(0)
            writer.write(LAST)
            let[0].set()
            came, _ = await read_all(reader)
            writer.close()
            return came

    assert asyncio.run(run()) == b"".join(whole(b"GET /%d " % at) for at in range(number)) + GOODBYE


def test_a_connection_that_was_aborted_before_it_was_made_is_reset_when_it_is():
    async def run():
        def aborted():
            connection = Connection(echo)
            connection.abort()
            return connection

        async with asyncio.timeout(10):
            listener = await asyncio.get_running_loop().create_server(aborted, "127.0.0.1", 0)
            came = await ask(listener.sockets[0].getsockname()[1])
            listener.close()
            return came

    assert asyncio.run(run()) == (b"", True)


def test_an_abort_resets_a_connection_that_waits_for_its_next_request():
    async def run():
        async with listening(echo) as (port, connections), asyncio.timeout(10):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(GET)
            await reader.readexactly(len(whole(b"GET /a ")))
            connections[0].abort()
            _, reset = await read_all(reader)
            connections[0].abort()
            writer.close()
            return reset

    assert asyncio.run(run())
