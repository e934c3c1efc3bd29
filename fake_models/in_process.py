"""The model as four callables: bodies in, bodies or chunks out, no bytes between. Decides nothing; the endpoint does."""

import asyncio
from collections.abc import AsyncIterator, Generator, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from fake_models.bodies import json_or_text
from fake_models.effects import Hangup, Hold, Send, Wait
from fake_models.errors import ModelError, StreamBroken
from fake_models.exchange import Endpoint, Exchange, delivery, sent_before, told_in_stream, until
from fake_models.messages import ErrorEvent
from fake_models.wire import CODECS
from fake_models.wire.codec import compact

#: Turns of the event loop that a client's other tasks are given: what one of them puts into a queue another takes out and hands on.
TURNS = 4


@dataclass(frozen=True, slots=True)
class CallableModel:
    """
    A model that an agent in this process calls.

    All four raise `ModelError` on an error status and `StreamBroken` where the answer is broken as scripted; a stream that is
    cut cleanly just ends, and one that tells of an error gives that as its last chunk. What goes in and out is copied as JSON, so that a later change of it changes nobody else's; a body
    with what JSON does not have, such as NaN, goes in as text and is refused, as over HTTP. The
    streaming two ask with the first `next`, so that an iterator nobody reads leaves no open answer behind.
    """

    endpoint: Endpoint
    wire: str = "openai_chat"
    #: Sent with every request, under what the caller gives: an SDK sends its key too.
    headers: Mapping[str, str] = field(default_factory=dict)

    def model(self, body: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> Any:
        """Body of the reply: a dict, or text where the script sends text that is no JSON."""
        (reply,) = _each(self.endpoint, self._steps(_unstreamed(body), headers))
        return reply

    def stream_model(
        self, body: Mapping[str, Any], headers: Mapping[str, str] | None = None
    ) -> Iterator[dict[str, Any]]:
        """Chunks of the reply. `stream: true` is added where the body has no `stream`."""
        return _each(self.endpoint, self._steps(_streamed(body), headers))

    async def amodel(self, body: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> Any:
        """`model` for async agents: a stalled answer waits without blocking the loop."""
        (reply,) = [step async for step in _aeach(self.endpoint, self._steps(_unstreamed(body), headers))]
        return reply

    def astream_model(
        self, body: Mapping[str, Any], headers: Mapping[str, str] | None = None
    ) -> AsyncIterator[dict[str, Any]]:
        """`stream_model` for async agents."""
        return _aeach(self.endpoint, self._steps(_streamed(body), headers))

    def _steps(self, body: Any, headers: Mapping[str, str] | None) -> Generator[Any, None, None]:
        """What the agent gets, one by one; a `Hold` where the shell must stay silent until it may go on."""
        lowered = {name.lower(): value for name, value in (*self.headers.items(), *(headers or {}).items())}
        path = CODECS[self.wire].path
        exchange = self.endpoint.exchange(self.wire, path, body, lowered)
        chunks = iter(_payloads(exchange))
        with closing(delivery(exchange, self.endpoint.done, recut=False)) as effects:
            for effect in effects:
                if (silent := until(effect, self.endpoint)) is not None:
                    yield Hold(silent)
                    continue
                match effect:
                    case Wait(delay_s=delay_s):
                        self.endpoint.pause(delay_s)
                    case Send(data=data):
                        # A frame that was cut reaches no client's parser, and the trailer carries no chunk.
                        chunk = next(chunks, None)
                        if chunk is not None and data == exchange.codec.frame(chunk):
                            yield _copy(chunk)
                    case Hangup(reset=reset) if reset or not exchange.streamed:
                        raise StreamBroken(_broken(exchange))
                    case _:
                        pass
        if exchange.after is not None:
            yield Hold(exchange.after)
        yield from _whole(exchange, asked_to_stream=isinstance(body, dict) and bool(body.get("stream")))


def _whole(exchange: Exchange, *, asked_to_stream: bool) -> Iterator[Any]:
    """The body of what is no stream; an error is raised."""
    if exchange.status >= 400:
        raise ModelError(
            exchange.status, _copy(exchange.body), {name.lower(): value for name, value in exchange.headers}
        )
    if not exchange.streamed and not asked_to_stream:
        yield _copy(exchange.body)


def _payloads(exchange: Exchange) -> tuple[Any, ...]:
    """What a stream carries, an error that ends it included."""
    chunks = exchange.chunks or ()
    if isinstance(exchange.broken, ErrorEvent):
        return (*sent_before(exchange, exchange.broken.after_chunks), told_in_stream(exchange))
    return chunks


def _each(endpoint: Endpoint, steps: Generator[Any, None, None]) -> Iterator[Any]:
    if endpoint.overrun:
        endpoint.hang()
    with closing(steps):
        for step in steps:
            if isinstance(step, Hold):
                step.until.wait()
            else:
                yield step


async def _aeach(endpoint: Endpoint, steps: Generator[Any, None, None]) -> AsyncIterator[Any]:
    if endpoint.overrun:
        await endpoint.ahang()
    with closing(steps):
        # Nothing comes over a wire at once: the client's other tasks go on before the request leaves, and behind each chunk.
        await _others()
        for step in steps:
            if isinstance(step, Hold):
                await step.until.awaited()
            else:
                yield step
                await _others()


async def _others() -> None:
    for _ in range(TURNS):
        await asyncio.sleep(0)


def _unstreamed(body: Mapping[str, Any]) -> Any:
    if body.get("stream"):
        raise ValueError(
            f"the body says stream: {body['stream']!r}, expected none or false; call stream_model to stream"
        )
    return _copy(dict(body))


def _streamed(body: Mapping[str, Any]) -> Any:
    if body.get("stream", True) is not True:
        raise ValueError(
            f"the body says stream: {body['stream']!r}, expected none or true; call model for a whole reply"
        )
    return _copy({**body, "stream": True})


def _copy(value: Any) -> Any:
    return json_or_text(compact(value))


def _broken(exchange: Exchange) -> str:
    return f"the connection of answer {exchange.call!r} ended before the reply was whole: {exchange.broken!r}"
