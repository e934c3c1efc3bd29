"""One answer on its way to the agent, and what delivering it takes, as effects. Sends nothing itself."""

import math
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from fake_models.chunking import WHOLE, Chunking
from fake_models.effects import Effect, Hangup, Head, Send, Wait
from fake_models.messages import Break, Cut, ErrorEvent, ErrorReply, ModelRequest, NoConnection, Reply, Stall
from fake_models.wire.codec import Codec, Stamp, compact

#: How an answer ended: all sent, the client left before that, or broken as scripted.
Ended = Literal["kit", "client", "cut"]


@dataclass(frozen=True, slots=True)
class Exchange:
    """
    The answer to one request.

    Exactly one of `body` (a JSON value, or a str sent as it is) and `chunks` (stream payloads, unframed) is set; `trailer`
    ends a stream. `call` names it in the recording (m1, m2, ...). `headers` come beside the content type.
    """

    call: str
    codec: Codec
    status: int
    body: Any = None
    chunks: tuple[Any, ...] | None = None
    headers: tuple[tuple[str, str], ...] = ()
    broken: Break | None = None
    wait_s: float = 0.0
    pace_s: float = 0.0
    trailer: bytes = b""
    chunking: Chunking = WHOLE


class Endpoint(Protocol):
    """What a shell needs of a model: answers, and ears for how they arrived."""

    @property
    def overrun(self) -> bool:
        """Whether the run goes on and on though it was refused: a shell hangs (`hang`, `ahang`) before it asks."""

    def exchange(self, wire: str, path: str, body: Any, headers: Mapping[str, str]) -> Exchange:
        """Decide and record the answer to `body`. Header names are lower case."""

    def done(self, call: str, sent_bytes: int, by: Ended) -> None:
        """Hear, once per answer, how it ended and how many bytes of the body had gone out."""

    def pause(self, delay_s: float) -> None:
        """Let the scenario's time pass; no real time does."""

    def hang(self) -> None:
        """Block until the run is over."""

    async def ahang(self) -> None:
        """Wait until the run is over or the task is cancelled."""


def exchange_of(
    call: str, codec: Codec, reply: Reply, *, request: ModelRequest, stamp: Stamp, chunking: Chunking
) -> Exchange:
    """Put a reply into its wire's shape: an error, a stream where the request asks for one, or a whole body."""
    error = reply.error
    if isinstance(reply.broken, ErrorEvent) and not request.stream:
        error = reply.broken.error
    if error is not None:
        body = codec.error(error) if error.body is None else error.body
        headers = _retry_headers(error)
        return Exchange(call, codec, error.status, body=body, headers=headers, broken=reply.broken, wait_s=reply.wait_s)
    quirks = [codec.quirks[name] for name in reply.quirks]
    if request.stream:
        chunks = codec.chunks(reply, stamp, request, chunking.pieces)
        for quirk in quirks:
            chunks = quirk.chunks(chunks)
        return Exchange(
            call,
            codec,
            200,
            chunks=chunks,
            broken=reply.broken,
            wait_s=reply.wait_s,
            pace_s=reply.pace_s,
            trailer=codec.trailer if all(quirk.trailer for quirk in quirks) else b"",
            chunking=chunking,
        )
    body = codec.whole(reply, stamp)
    for quirk in quirks:
        body = quirk.whole(body)
    return Exchange(call, codec, 200, body=body, broken=reply.broken, wait_s=reply.wait_s)


def content_length(exchange: Exchange) -> int | None:
    """Bytes of the whole body, however many of them a break lets out; None for a stream."""
    return None if exchange.chunks is not None else len(_content(exchange.body))


def effects(exchange: Exchange, *, recut: bool = True) -> Iterator[Effect]:
    """
    What delivering takes, in order: time, head, one Send per write (or the whole body), and the break where one is scripted.

    A break counted in chunks always comes: before the trailer if there are fewer chunks, before the first byte of a body
    that is not streamed. One counted in bytes comes exactly there, and not at all where the body is no longer than that.
    A stall is silence until the run is over and then a reset. `recut` False: a Send is a chunk, whatever the chunking says.
    """
    if exchange.wait_s:
        yield Wait(exchange.wait_s)
    if isinstance(exchange.broken, NoConnection):
        yield Hangup(reset=True)
        return
    yield Head(exchange.status, (("Content-Type", _content_type(exchange)), *exchange.headers))
    writes, after = _broken(exchange)
    if recut and exchange.chunks is not None and exchange.chunking.recut is not None:
        writes = exchange.chunking.recut(writes, exchange.codec.comment)
    for number, data in enumerate(writes):
        if number and exchange.pace_s:
            yield Wait(exchange.pace_s)
        yield Send(data)
    yield from after


def _broken(exchange: Exchange) -> tuple[tuple[bytes, ...], tuple[Effect, ...]]:
    """The parts of the body that leave, and what comes after them."""
    if exchange.chunks is None:
        frames: tuple[bytes, ...] = ()
        parts: tuple[bytes, ...] = (_content(exchange.body),)
    else:
        frames = tuple(exchange.codec.frame(chunk) for chunk in exchange.chunks)
        parts = (*frames, exchange.trailer) if exchange.trailer else frames
    match exchange.broken:
        case Cut(after_bytes=int(limit), reset=reset) if limit < sum(map(len, parts)):
            return tuple(_first_bytes(parts, limit)), (Hangup(reset),)
        case Cut(after_chunks=int(count), reset=reset):
            return frames[:count], (Hangup(reset),)
        case Stall(after_chunks=count):
            return frames[:count], (Wait(math.inf), Hangup(reset=True))
        case ErrorEvent(error=error, after_chunks=count) if exchange.chunks is not None:
            return (*frames[:count], exchange.codec.frame(exchange.codec.error_event(error))), ()
        case _:
            return parts, ()


def delivery(
    exchange: Exchange, done: Callable[[str, int, Ended], None], *, recut: bool = True
) -> Generator[Effect, None, None]:
    """
    The effects for a shell to carry out, with `done` told however the iteration ends.

    The shell must close it (`contextlib.closing`). What was yielded counts as sent. A client that leaves when only the
    trailer is missing has been told everything: SDKs stop reading at the finish reason or at the sentinel.
    """
    plan = tuple(effects(exchange, recut=recut))
    said = sum(len(effect.data) for effect in plan if isinstance(effect, Send)) - len(exchange.trailer)
    whole = not any(isinstance(effect, Hangup) for effect in plan)
    sent = 0
    by: Ended = "client"
    try:
        for effect in plan:
            if isinstance(effect, Send):
                sent += len(effect.data)
                by = "kit" if whole and sent >= said else "client"
            elif isinstance(effect, Hangup):
                by = "cut"
            yield effect
    finally:
        done(exchange.call, sent, by)


def _retry_headers(error: ErrorReply) -> tuple[tuple[str, str], ...]:
    if error.retry_after_s is None:
        return ()
    seconds = error.retry_after_s
    return (("Retry-After", str(math.ceil(seconds))), ("retry-after-ms", str(max(1, round(seconds * 1000)))))


def _content_type(exchange: Exchange) -> str:
    if exchange.chunks is not None:
        return exchange.codec.stream_type
    # Text that is sent as it is stands for a proxy's page or for broken JSON, and the latter still claims to be JSON.
    is_page = isinstance(exchange.body, str) and exchange.body.lstrip().startswith("<")
    return "text/html; charset=utf-8" if is_page else "application/json"


def _content(body: Any) -> bytes:
    return body.encode() if isinstance(body, str) else compact(body)


def _first_bytes(pieces: tuple[bytes, ...], limit: int) -> Iterator[bytes]:
    for piece in pieces:
        if limit <= 0:
            return
        yield piece[:limit]
        limit -= len(piece)
