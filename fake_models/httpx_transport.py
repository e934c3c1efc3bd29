"""The model as a transport for any SDK built on httpx2 or httpx: bytes as on a wire, no socket. Decides nothing."""

from collections.abc import AsyncIterator, Generator, Iterator
from types import ModuleType
from typing import Any

from fake_models.bodies import json_or_text
from fake_models.effects import Effect, Hangup, Head, Send, Until, Wait
from fake_models.exchange import Endpoint, delivery, until
from fake_models.routes import codec_for, unmodelled
from fake_models.wire.codec import compact


class _Nothing:
    """What has happened already."""

    def wait(self) -> None:
        """Go on."""

    async def awaited(self) -> None:
        """Go on."""


NOTHING = _Nothing()


def transport(endpoint: Endpoint, library: ModuleType) -> Any:
    """
    Give a transport for clients of `library`, which is the module httpx2 or httpx; sync and async clients may share it.

    The wire is chosen by the end of the request's path, so any base URL will do. `library` is passed in so that neither of
    the two need be installed for the other's sake. Breaks are raised as that library's own errors.
    """
    lib: Any = library
    body_of = _body_class(endpoint, lib)

    class Transport(lib.BaseTransport, lib.AsyncBaseTransport):  # type: ignore[misc] # bases known at run time only
        def handle_request(self, request: Any) -> Any:
            content = request.read()
            if endpoint.overrun:
                endpoint.hang()
            return self._response(request, content)

        async def handle_async_request(self, request: Any) -> Any:
            content = await request.aread()
            if endpoint.overrun:
                await endpoint.ahang()
            return self._response(request, content)

        def _response(self, request: Any, content: bytes) -> Any:
            path = request.url.path
            codec = codec_for(request.method, path)
            if codec is None:
                said = unmodelled(request.method, path)
                return lib.Response(said.status, headers=list(said.headers), content=compact(said.body))
            exchange = endpoint.exchange(codec.name, path, json_or_text(content), dict(request.headers))
            effects = delivery(exchange, endpoint.done)
            head = _head(effects, endpoint)
            if head is None:
                effects.close()
                raise lib.ConnectError("connection refused", request=request)
            stream = body_of(effects, framed=exchange.streamed, request=request, after=exchange.after or NOTHING)
            return lib.Response(head.status, headers=list(head.headers), stream=stream)

    return Transport()


def _body_class(endpoint: Endpoint, lib: Any) -> Any:
    """Bytes of one response, for sync and async clients; closing it tells the endpoint how far it got."""

    class Body(lib.SyncByteStream, lib.AsyncByteStream):  # type: ignore[misc] # bases known at run time only
        def __init__(self, effects: Generator[Effect, None, None], *, framed: bool, request: Any, after: Until) -> None:
            self._effects = effects
            self._framed = framed
            self._request = request
            self._after = after

        def __iter__(self) -> Iterator[bytes]:
            for effect in self._effects:
                if (silent := until(effect, endpoint)) is not None:
                    silent.wait()
                else:
                    yield _bytes(lib, effect, endpoint, framed=self._framed, request=self._request)

        async def __aiter__(self) -> AsyncIterator[bytes]:
            for effect in self._effects:
                if (silent := until(effect, endpoint)) is not None:
                    await silent.awaited()
                else:
                    yield _bytes(lib, effect, endpoint, framed=self._framed, request=self._request)
            await self._after.awaited()

        def close(self) -> None:
            self._effects.close()

        async def aclose(self) -> None:
            self._effects.close()

    return Body


def _bytes(lib: Any, effect: Effect, endpoint: Endpoint, *, framed: bool, request: Any) -> bytes:
    match effect:
        case Send(data=data):
            return data
        case Wait(delay_s=delay_s):
            endpoint.pause(delay_s)
        case Hangup(reset=True):
            raise lib.ReadError("connection reset by peer", request=request)
        case Hangup() if not framed:
            # A real client knows by the content length that the body is not whole; an event stream has none.
            raise lib.RemoteProtocolError(
                "peer closed connection without sending complete message body", request=request
            )
    return b""


def _head(effects: Generator[Effect, None, None], endpoint: Endpoint) -> Head | None:
    """Status and headers; None where the connection is gone before them."""
    for effect in effects:
        if isinstance(effect, Head):
            return effect
        if isinstance(effect, Wait):
            endpoint.pause(effect.delay_s)
        if isinstance(effect, Hangup):
            return None
    raise AssertionError("a delivery has no head; effects() yields one before any byte")
