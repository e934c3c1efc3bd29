"""One answer on its way to the agent, and what delivering it takes, as effects. Sends nothing itself."""

import math
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal, Protocol

from fake_models.breaking import sent
from fake_models.chunking import WHOLE, Chunking
from fake_models.effects import Effect, Hangup, Head, Hold, Reached, Send, Until, Wait
from fake_models.messages import Break, Cut, ErrorEvent, ErrorReply, ModelRequest, NoConnection, Reply, Stall
from fake_models.said import content, frames, payloads, whole
from fake_models.wire.codec import Codec, Stamp, quirks

#: Most bytes of a stream that leave in one write, about what a system takes at once.
JOINED_BYTES = 64 * 1024

_JSON = "application/json"

#: How an answer ended: all sent, the client left before that, or broken as scripted.
Ended = Literal["kit", "client", "cut"]


@dataclass(frozen=True, slots=True)
class Exchange:
    """
    The answer to one request: the payloads of a stream, or the one of a body.

    `apart` gives the payloads' bytes, `joined` the same in one, each made when it is asked for; the JSON values themselves over
    a wire nobody asks for. `trailer` ends a stream. `call` names it in the recording (m1, m2, ...). `headers` come beside the content type.
    Nothing of the body leaves before `held`. `reached` is called once the first chunk of a stream has left that says something.
    `after` is waited for after that and after the end: time in which a client in this process can act on what it is told beside.
    Of a stream without a break nothing that stands behind all it says leaves before `shown`.
    """

    call: str
    codec: Codec
    status: int
    apart: Callable[[], tuple[bytes, ...]]
    joined: Callable[[], bytes]
    payloads: Callable[[], tuple[Any, ...]]
    content_type: str
    streamed: bool = False
    headers: tuple[tuple[str, str], ...] = ()
    broken: Break | None = None
    wait_s: float = 0.0
    pace_s: float = 0.0
    trailer: bytes = b""
    chunking: Chunking = WHOLE
    held: Until | None = None
    reached: Callable[[], None] | None = None
    after: Until | None = None
    shown: Until | None = None

    @property
    def frames(self) -> tuple[bytes, ...]:
        """The bytes of each payload."""
        return self.apart()

    @property
    def body(self) -> Any:
        """The JSON value of a body, or a str that is sent as it is; None for a stream."""
        return None if self.streamed else self.payloads()[0]

    @property
    def chunks(self) -> tuple[Any, ...] | None:
        """The payloads of a stream; None for a body."""
        return self.payloads() if self.streamed else None


class Endpoint(Protocol):
    """What a shell needs of a model: answers, and ears for how they arrived."""

    @property
    def overrun(self) -> bool:
        """Whether the run goes on and on though it was refused: a shell hangs (`hang`, `ahang`) before it asks."""

    def exchange(self, wire: str, path: str, body: Any, headers: Mapping[str, str]) -> Exchange:
        """Decide and record the answer to `body`, which is the endpoint's alone from now on. Header names are lower case."""

    def done(self, call: str, sent_bytes: int, by: Ended) -> None:
        """Hear, once per answer, how it ended and how many bytes of the body had gone out."""

    def pause(self, delay_s: float) -> None:
        """Let the scenario's time pass; no real time does."""

    def hang(self) -> None:
        """Block until the run is over."""

    async def ahang(self) -> None:
        """Wait until the run is over or the task is cancelled."""


@dataclass(frozen=True, slots=True)
class Silence:
    """The silence of a stalled answer, which its endpoint ends."""

    endpoint: Endpoint

    def wait(self) -> None:
        """Block until then."""
        self.endpoint.hang()

    async def awaited(self) -> None:
        """Wait until then."""
        await self.endpoint.ahang()


def until(effect: Effect, endpoint: Endpoint) -> Until | None:
    """What a shell has to wait for before it goes on behind this effect, other than time; None where it is nothing."""
    match effect:
        case Hold(until=one):
            return one
        case Wait(delay_s=math.inf):
            return Silence(endpoint)
        case _:
            return None


def exchange_of(
    call: str, codec: Codec, reply: Reply, *, request: ModelRequest, stamp: Stamp, chunking: Chunking
) -> Exchange:
    """Put a reply into its wire's shape: an error, a stream where the request asks for one, or a whole body."""
    error = reply.error
    if isinstance(reply.broken, ErrorEvent) and not request.stream:
        error = reply.broken.error
    if error is not None:
        return replace(of_error(call, codec, error), broken=reply.broken, wait_s=reply.wait_s)
    said = codec, reply, request, stamp, chunking.pieces
    ends = request.stream and (not reply.quirks or all(quirk.trailer for quirk in quirks(codec, reply)))
    return Exchange(
        call,
        codec,
        200,
        lambda: frames(*said),
        lambda: whole(*said),
        lambda: payloads(*said),
        content_type=codec.stream_type if request.stream else _JSON,
        streamed=request.stream,
        broken=reply.broken,
        wait_s=reply.wait_s,
        pace_s=reply.pace_s if request.stream else 0.0,
        trailer=codec.trailer if ends else b"",
        chunking=chunking,
    )


def of_error(call: str, codec: Codec, error: ErrorReply) -> Exchange:
    """An error as its wire spells it, or with the body that it brings."""
    body = codec.error(error) if error.body is None else error.body
    # Text that is sent as it is stands for a proxy's page or for broken JSON, and the latter still claims to be JSON.
    is_page = isinstance(body, str) and body.lstrip().startswith("<")
    return Exchange(
        call,
        codec,
        error.status,
        lambda: (content(body),),
        lambda: content(body),
        lambda: (body,),
        content_type="text/html; charset=utf-8" if is_page else _JSON,
        headers=_retry_headers(error),
    )


def headers(exchange: Exchange) -> tuple[tuple[str, str], ...]:
    """What stands in its head, but for what tells its length."""
    return (("Content-Type", exchange.content_type), *exchange.headers)


def content_length(exchange: Exchange) -> int | None:
    """Bytes of the whole body, however many of them a break lets out; None for a stream."""
    return None if exchange.streamed else len(exchange.joined())


def told_in_stream(exchange: Exchange) -> Any:
    """The payload by which a stream tells of its error, in place of its rest; None where none does."""
    if not isinstance(exchange.broken, ErrorEvent) or not exchange.streamed:
        return None
    codec, broken = exchange.codec, exchange.broken
    return codec.following(codec.error_event(broken.error), sent_before(exchange, broken.after_chunks))


def sent_before(exchange: Exchange, after_chunks: int) -> tuple[Any, ...]:
    """The payloads of a stream that leave before a break after so many chunks; none of a body."""
    payloads = exchange.payloads() if exchange.streamed else ()
    return payloads[: sent(exchange.codec, payloads, after_chunks, trailer=bool(exchange.trailer))]


def effects(exchange: Exchange, *, recut: bool = True, join: bool = False) -> tuple[Effect, ...]:
    """
    What delivering takes, in order: time, head, one Send per write (or the whole body), and the break where one is scripted.

    A break counted in chunks always comes: before what ends the stream if there are fewer chunks, before the first byte of a
    body that is not streamed. One counted in bytes comes exactly there, and not at all where the body is no longer than that.
    A stall is silence until the run is over and then a reset. `recut` False: a Send is a chunk, whatever the chunking says.
    `join`: chunks that the chunking does not cut apart, and no time passes between, are sent together.
    """
    plan: list[Effect] = [Wait(exchange.wait_s)] if exchange.wait_s else []
    if isinstance(exchange.broken, NoConnection):
        return (*plan, Hangup(reset=True))
    plan.append(Head(exchange.status, headers(exchange)))
    if exchange.held is not None:
        plan.append(Hold(exchange.held))
    parts, after = _broken(exchange)
    stops = {at: stop for at, stop in _stops(exchange).items() if at <= len(parts)}
    for start, end in pairwise(sorted({0, *stops, len(parts)})):
        writes = _writes(exchange, parts[start:end], recut=recut, join=join)
        for number, data in enumerate(writes, start=1):
            last = end == len(parts) and number == len(writes)
            plan.append(Send(data, last=last and end not in stops and not after))
            if exchange.pace_s and not last:
                plan.append(Wait(exchange.pace_s))
        plan += stops.get(end, ())
    return (*plan, *after)


def _stops(exchange: Exchange) -> dict[int, tuple[Effect, ...]]:
    """What comes once so many payloads of a stream have left, where somebody wants to know of it or has to be waited for."""
    if not exchange.streamed or (exchange.reached is None and exchange.shown is None):
        return {}
    saying = [number for number, payload in enumerate(exchange.payloads(), start=1) if exchange.codec.says(payload)]
    stops: dict[int, tuple[Effect, ...]] = {}
    if saying and exchange.reached is not None:
        # A shell lets all leave before it waits, however short that is.
        stops[saying[0]] = (Wait(0.0), Reached(), *(() if exchange.after is None else (Hold(exchange.after),)))
    if saying and exchange.shown is not None and exchange.broken is None:
        stops[saying[-1]] = (*stops.get(saying[-1], ()), Hold(exchange.shown))
    return stops


def _writes(exchange: Exchange, parts: tuple[bytes, ...], *, recut: bool, join: bool) -> tuple[bytes, ...]:
    if recut and exchange.streamed and exchange.chunking.recut is not None:
        return exchange.chunking.recut(parts, exchange.codec.comment) if parts else ()
    return _joined(parts) if join and parts and not exchange.pace_s else parts


def _broken(exchange: Exchange) -> tuple[tuple[bytes, ...], tuple[Effect, ...]]:
    """The parts of the body that leave, and what comes after them."""
    apart = exchange.apart()
    parts = (*apart, exchange.trailer) if exchange.trailer else apart
    match exchange.broken:
        case None:
            return parts, ()
        case Cut(after_bytes=int(limit), reset=reset) if limit < sum(map(len, parts)):
            return tuple(_first_bytes(parts, limit)), (Hangup(reset),)
        case Cut(after_chunks=int(count), reset=reset):
            return apart[: len(sent_before(exchange, count))], (Hangup(reset),)
        case Stall(after_chunks=count):
            return apart[: len(sent_before(exchange, count))], (Wait(math.inf), Hangup(reset=True))
        case ErrorEvent(after_chunks=count) if exchange.streamed:
            before = apart[: len(sent_before(exchange, count))]
            return (*before, exchange.codec.frame(told_in_stream(exchange))), ()
        case _:
            return parts, ()


def _joined(parts: tuple[bytes, ...]) -> tuple[bytes, ...]:
    """The same bytes in few pieces, between which a slow reader is waited for."""
    whole = b"".join(parts)
    if parts and len(whole) <= JOINED_BYTES:
        return (whole,)
    return tuple(whole[at : at + JOINED_BYTES] for at in range(0, len(whole), JOINED_BYTES))


def at_once(exchange: Exchange) -> bytes | None:
    """The whole body, where it leaves in one write and nothing is waited for; else None, and `delivery` says how."""
    if exchange.broken is not None or exchange.wait_s or exchange.pace_s:
        return None
    if exchange.held is not None or exchange.reached is not None or exchange.shown is not None:
        return None
    if exchange.streamed and exchange.chunking.recut is not None:
        return None
    body = exchange.joined() + exchange.trailer
    return body if 0 < len(body) <= JOINED_BYTES else None


def delivery(
    exchange: Exchange, done: Callable[[str, int, Ended], None], *, recut: bool = True, join: bool = False
) -> Generator[Effect, None, None]:
    """
    The effects for a shell to carry out, with `done` told however the iteration ends.

    The shell must close it (`contextlib.closing`). What was yielded counts as sent. A client that leaves when only the
    trailer is missing has been told everything: SDKs stop reading at the finish reason or at the sentinel.
    """
    plan = effects(exchange, recut=recut, join=join)
    said, whole = -len(exchange.trailer), True
    for effect in plan:
        if isinstance(effect, Send):
            said += len(effect.data)
        elif isinstance(effect, Hangup):
            whole = False
    sent = 0
    by: Ended = "client"
    try:
        for effect in plan:
            if isinstance(effect, Reached):
                if exchange.reached is not None:
                    exchange.reached()
                continue
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


def _first_bytes(pieces: tuple[bytes, ...], limit: int) -> Iterator[bytes]:
    for piece in pieces:
        if limit <= 0:
            return
        yield piece[:limit]
        limit -= len(piece)
