"""One answer on its way to the agent, and what delivering it takes, as effects. Sends nothing itself."""

import math
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from fake_models.effects import Effect, Hangup, Head, Send, Wait
from fake_models.messages import Cut, ErrorReply, ModelRequest, Reply, Stall
from fake_models.wire.codec import Chunking, Codec, Stamp, compact

#: How an answer ended: all sent, the client left before that, or broken as scripted.
Ended = Literal["kit", "client", "cut"]


@dataclass(frozen=True, slots=True)
class Exchange:
    """
    The answer to one request.

    Exactly one of `body` (a JSON value, or a str sent as it is) and `chunks` (stream payloads, unframed) is set.
    `call` names it in the recording (m1, m2, ...). `headers` come beside the content type.
    """

    call: str
    codec: Codec
    status: int
    body: Any = None
    chunks: tuple[Any, ...] | None = None
    headers: tuple[tuple[str, str], ...] = ()
    broken: Cut | Stall | None = None
    wait_s: float = 0.0


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
    if reply.error is not None:
        error = reply.error
        body = codec.error(error) if error.body is None else error.body
        headers = _retry_headers(error)
        return Exchange(call, codec, error.status, body=body, headers=headers, broken=reply.broken, wait_s=reply.wait_s)
    if request.stream:
        chunks = codec.chunks(reply, stamp, request, chunking)
        return Exchange(call, codec, 200, chunks=chunks, broken=reply.broken, wait_s=reply.wait_s)
    return Exchange(call, codec, 200, body=codec.whole(reply, stamp), broken=reply.broken, wait_s=reply.wait_s)


def content_length(exchange: Exchange) -> int | None:
    """Bytes of the whole body, however many of them a break lets out; None for a stream."""
    return None if exchange.chunks is not None else len(_content(exchange.body))


def effects(exchange: Exchange) -> Iterator[Effect]:
    """
    What delivering takes, in order: time, head, one Send per chunk (or the whole body), and the break where one is scripted.

    A break counted in chunks always comes: before the trailer if there are fewer chunks, before the first byte of a body
    that is not streamed. One counted in bytes comes exactly there, and not at all where the body is no longer than that.
    A stall is silence until the run is over and then a reset.
    """
    if exchange.wait_s:
        yield Wait(exchange.wait_s)
    yield Head(exchange.status, (("Content-Type", _content_type(exchange)), *exchange.headers))
    frames = tuple(exchange.codec.frame(chunk) for chunk in exchange.chunks or ())
    trailer = _trailer(exchange)
    pieces = (*frames, *((trailer,) if trailer else ())) if exchange.chunks is not None else (_content(exchange.body),)
    match exchange.broken:
        case Cut(after_bytes=int(limit), reset=reset) if limit < sum(map(len, pieces)):
            yield from (Send(piece) for piece in _first_bytes(pieces, limit))
            yield Hangup(reset)
        case Cut(after_chunks=int(count), reset=reset):
            yield from (Send(piece) for piece in frames[:count])
            yield Hangup(reset)
        case Stall(after_chunks=count):
            yield from (Send(piece) for piece in frames[:count])
            yield Wait(math.inf)
            yield Hangup(reset=True)
        case _:
            yield from (Send(piece) for piece in pieces)


def delivery(exchange: Exchange, done: Callable[[str, int, Ended], None]) -> Generator[Effect, None, None]:
    """
    The effects for a shell to carry out, with `done` told however the iteration ends.

    The shell must close it (`contextlib.closing`). What was yielded counts as sent. A client that leaves when only the
    trailer is missing has been told everything: SDKs stop reading at the finish reason or at the sentinel.
    """
    plan = tuple(effects(exchange))
    said = sum(len(effect.data) for effect in plan if isinstance(effect, Send)) - len(_trailer(exchange))
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


def _trailer(exchange: Exchange) -> bytes:
    return b"" if exchange.chunks is None else exchange.codec.trailer


def _content(body: Any) -> bytes:
    return body.encode() if isinstance(body, str) else compact(body)


def _first_bytes(pieces: tuple[bytes, ...], limit: int) -> Iterator[bytes]:
    for piece in pieces:
        if limit <= 0:
            return
        yield piece[:limit]
        limit -= len(piece)
