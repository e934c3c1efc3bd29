"""One HTTP/1.1 connection: requests are handed on in order, answers are written as they come. Decides no answer."""

import asyncio
import contextlib
import fcntl
import socket
import struct
import termios
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from functools import lru_cache
from http.client import responses
from typing import cast
from urllib.parse import unquote

from fake_models.eager import started
from fake_models.http_requests import Awaited, Refused, Request, RequestParser

#: Requests that may wait behind the one being answered before the client is no longer listened to.
PIPELINED = 16
#: How long a client may take over a request from its first byte to its last, in seconds: a loopback is fast, and a client that dribbles holds
#: a socket for ever.
WHOLE_S = 60.0
#: How long a refused client is listened to after its answer, in seconds.
LINGER_S = 1.0
#: How often a reset looks whether all was delivered, in seconds.
_LOOK_S = 0.001
#: The lowest status that answers a request.
_FINAL = 200
#: Statuses whose answers end with their headers, in HTTP/1.1; none may say how long a body is.
_BODILESS = frozenset((*range(100, _FINAL), 204, 304))

#: Answers a request at once, or gives what is left to do because it waits for something.
Handle = Callable[["Request | Refused", "Answer"], Awaitable[None] | None]
Later = Callable[[float, Callable[[], None]], asyncio.TimerHandle]


class Answer:
    """
    The answer to one request: `begin`, `send` as often as there is something, then `end`, or `reset` in its place.

    Where `end` comes before all that `begin` promised, the connection is closed, by which a client knows.
    """

    __slots__ = (
        "_can_chunk",
        "_chunked",
        "_connection",
        "_held",
        "_missing",
        "_with_body",
        "begun",
        "ended",
        "keep_alive",
        "request",
    )

    def __init__(self, connection: "Connection", request: Request | Refused) -> None:
        self.request = request
        self._connection = connection
        self._with_body = isinstance(request, Refused) or request.method != "HEAD"
        self._can_chunk = isinstance(request, Request) and request.version == "1.1"
        self._chunked = False
        self._missing = 0
        self._held = b""
        #: Whether the connection can carry another request after this answer.
        self.keep_alive = isinstance(request, Request) and request.keep_alive
        self.begun = False
        self.ended = False

    @property
    def task(self) -> asyncio.Task[None] | None:
        """The task that it is waited in; None where nothing was waited for yet."""
        return self._connection.task

    def begin(self, status: int, headers: Iterable[tuple[str, str]], length: int | None) -> None:
        """
        Give status and headers, which leave with what comes next; `flush` if that is a while.

        `length` is that of the body, None where only its end will tell.
        """
        self.begun = True
        if status in _BODILESS:
            self._with_body, length = False, None
            # A client waits for another answer behind one that only informs.
            self.keep_alive = self.keep_alive and status >= _FINAL
        elif length is None:
            self._chunked = self._can_chunk
            self.keep_alive = self.keep_alive and self._can_chunk
        self._missing = length or 0
        self._held = _head(status, tuple(headers), length, chunked=self._chunked, keep_alive=self.keep_alive)

    async def send(self, data: bytes, *, last: bool = False) -> None:
        """
        Send a part of the body as a write of its own, once the system took all before it; the `last` ends the answer.

        Nothing is awaited after the write: whatever the client does next, the caller has gone on before it is heard of.
        """
        await self._connection.flushed()
        self.send_now(data, last=last)

    @property
    def at_once(self) -> bool:
        """Whether the system took all that was written, so that nothing needs to be waited for."""
        return self._connection.writable

    def send_now(self, data: bytes, *, last: bool = False) -> None:
        """`send`, for one who asked whether the answer can be sent `at_once`."""
        self._missing -= len(data)
        if data and self._with_body:
            self._held += b"%x\r\n%b\r\n" % (len(data), data) if self._chunked else data
        if last:
            self.end()
        else:
            self.flush()

    def end(self) -> None:
        """All that will come is sent."""
        if self.ended:
            return
        self.ended = True
        if self._chunked and self._with_body:
            self._held += b"0\r\n\r\n"
        elif self._missing > 0 and self._with_body:
            self.keep_alive = False
        self.flush()

    def flush(self) -> None:
        """Let leave what waits for more to leave with."""
        held, self._held = self._held, b""
        if held:
            self._connection.write(held)

    async def reset(self) -> None:
        """Abort the connection once the client's side has all that was sent."""
        self.flush()
        await self._connection.delivered()
        self._connection.abort()


def _named(request: Request | Refused) -> str:
    """A request as it may be written anywhere: headers, queries and bodies hold keys."""
    asked = request.method if isinstance(request, Request) else f"refused with {request.status},"
    return f"{asked} {unquote(request.path).partition('?')[0]!r}"


# Typed: 429.0 is 429 and written differently.
@lru_cache(1024, typed=True)
def _head(
    status: int, headers: tuple[tuple[str, str], ...], length: int | None, *, chunked: bool, keep_alive: bool
) -> bytes:
    """Status line and headers."""
    if length is not None:
        headers = (*headers, ("Content-Length", str(length)))
    elif chunked:
        headers = (*headers, ("Transfer-Encoding", "chunked"))
    headers = (*headers, ("Connection", "keep-alive" if keep_alive else "close"))
    lines = [f"HTTP/1.1 {status} {responses.get(status, '')}", *(f"{name}: {value}" for name, value in headers)]
    return "\r\n".join((*lines, "", "")).encode("latin-1", "replace")


class Connection(asyncio.Protocol):
    """
    A client, from its first byte to its last.

    `handle` answers one request at a time, at once up to where it waits, and then in a task that is cancelled when the client leaves or `abort` is called. Where it
    does not come to the end of its answer the connection is reset, since half an answer must not look whole; what it raises
    the loop's exception handler hears. A client that closes its sending side has left: that is all one sees of a client
    that is gone. `later` calls something after so many seconds, and gives what cancels it.
    """

    #: Set by `connection_made`, which comes first of all that the loop calls.
    _transport: asyncio.Transport

    def __init__(self, handle: Handle, later: Later | None = None) -> None:
        self._handle = handle
        self._later = later or asyncio.get_running_loop().call_later
        self._deadline: asyncio.TimerHandle | None = None
        self._parser = RequestParser()
        self._waiting: deque[Request | Refused] = deque()
        self._task: asyncio.Task[None] | None = None
        self._linger: asyncio.TimerHandle | None = None
        #: Whether the transport may be used: an abort of one that was lost is an error of the loop's.
        self._there = False
        self._over = False
        self._writable = asyncio.Event()
        self._writable.set()
        #: Done when the socket is closed and the task has ended.
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by the loop when the client is there."""
        self._transport = cast("asyncio.Transport", transport)
        self._there = True
        # Without a buffer of its own, it can be written to exactly when the system took all that was written.
        self._transport.set_write_buffer_limits(high=0)
        if self._over:
            self.abort()

    def data_received(self, data: bytes) -> None:
        """Called by the loop with what the client sent."""
        if self._over:
            return
        for found in self._parser.feed(data):
            if not isinstance(found, Awaited):
                self._stop_watching()
                self._waiting.append(found)
            elif self._task is None and not self._waiting:
                # Otherwise it would land inside another answer; and no client waits for it for ever.
                self.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        if self._parser.begun and self._deadline is None:
            self._deadline = self._later(WHOLE_S, self._too_slow)
        self._go_on()
        if len(self._waiting) > PIPELINED:
            self._transport.pause_reading()

    def _go_on(self) -> None:
        """Answer what waits, one by one, as long as no answer waits for something."""
        while self._waiting and self._task is None:
            answer = Answer(self, self._waiting.popleft())
            self._transport.resume_reading()
            try:
                rest = self._handle(answer.request, answer)
            except Exception as error:  # noqa: BLE001 - as in `_finish`
                self._report(answer.request, error)
                rest = None
            if rest is None and answer.ended:
                self._after(answer)
            else:
                self._task = started(self._finish(rest, answer))

    def _too_slow(self) -> None:
        self._deadline = None
        self._waiting.append(self._parser.give_up(408, f"the request was not whole after {WHOLE_S:g} seconds"))
        self._go_on()

    def _stop_watching(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def eof_received(self) -> None:
        """Called by the loop when the client will send no more; the loop then closes the transport."""
        self._leave()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - the loop's signature
        """Called by the loop when the client is gone."""
        self._there = False
        self._leave()
        if self._linger is not None:
            self._linger.cancel()
        if self._task is None:
            self.ended.set_result(None)
        else:
            self._task.add_done_callback(lambda _: self.ended.set_result(None))

    def pause_writing(self) -> None:
        """Called by the loop when the client reads more slowly than it is written to."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """Called by the loop when the system took all that was written."""
        self._writable.set()

    def write(self, data: bytes) -> None:
        """Write to the client, if it is still there."""
        if not self._transport.is_closing():
            self._transport.write(data)

    @property
    def task(self) -> asyncio.Task[None] | None:
        """The task in which an answer waits for something."""
        return self._task

    @property
    def writable(self) -> bool:
        """Whether the system took all that was written."""
        return self._writable.is_set()

    async def flushed(self) -> None:
        """Wait until the system took all that was written."""
        if not self._writable.is_set():
            await self._writable.wait()

    async def delivered(self) -> None:
        """Wait until the client's system has it too; what it has not, a reset takes back."""
        await self.flushed()
        while _undelivered(self._transport):  # noqa: ASYNC110 - the system tells only who asks
            await asyncio.sleep(_LOOK_S)

    def abort(self) -> None:
        """Reset the connection, whatever it is at."""
        self._leave()
        if self._there:
            _reset(self._transport)

    async def _finish(self, rest: Awaitable[None] | None, answer: Answer) -> None:
        try:
            try:
                if rest is not None:
                    await rest
            except Exception as error:  # noqa: BLE001 - reported, and no fault of one request may end the others
                self._report(answer.request, error)
            if not answer.ended:
                await answer.reset()
        except asyncio.CancelledError:
            self.abort()
            raise
        self._after(answer)
        # Where nothing was waited for after all, whoever called goes on.
        if self._task is not None:
            self._task = None
            self._go_on()

    def _after(self, answer: Answer) -> None:
        if not answer.keep_alive:
            self._close(listening=isinstance(answer.request, Refused))

    def _report(self, request: Request | Refused, error: Exception) -> None:
        told = {"message": f"a request was not answered as it should be: {_named(request)}", "exception": error}
        asyncio.get_running_loop().call_exception_handler(told)

    def _close(self, *, listening: bool) -> None:
        """End the connection; a client that may be sending still is heard out for a while, or it would miss its answer."""
        self._over = True
        self._waiting.clear()
        self._stop_watching()
        if not listening:
            self._transport.close()
            return
        with contextlib.suppress(OSError):  # a client that is gone
            self._transport.write_eof()
        self._linger = asyncio.get_running_loop().call_later(LINGER_S, self.abort)

    def _leave(self) -> None:
        self._over = True
        self._stop_watching()
        self._waiting.clear()
        if self._task is not None and self._task is not asyncio.current_task():
            self._task.cancel()


def _undelivered(transport: asyncio.Transport) -> bool:
    """Whether the system still holds what the client's has not taken; False where it does not tell or the client is gone."""
    with contextlib.suppress(OSError):
        return not transport.is_closing() and any(
            fcntl.ioctl(transport.get_extra_info("socket").fileno(), termios.TIOCOUTQ, bytes(4))
        )
    return False


def _reset(transport: asyncio.Transport) -> None:
    if not transport.is_closing():
        # Lingering for no time is how a socket is told to end with a reset.
        now = struct.pack("ii", 1, 0)
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, now)
    transport.abort()
