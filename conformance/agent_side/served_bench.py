"""The bench of an agent in a process of its own: model and tools by HTTP, real time. Standard library only."""

import asyncio
import http.client
import importlib
import json
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from urllib.parse import quote, urlsplit

from conformance.agent_side.terms import Bench, RunInput, ToolFailed, timed_out
from fake_models.errors import ModelError, StreamBroken

#: The end of an event stream, which is no JSON.
SENTINEL = b"[DONE]"
_DATA = b"data:"
#: How long a cancelled call waits for a tool that is on its way, in seconds: no thread can be ended.
LEAVING_S = 1.0


def served_bench(given: RunInput, now: Callable[[], datetime]) -> Bench:
    """What the session's first run says of its model and tools, as a bench. OpenAI Chat is the one wire it speaks itself."""
    model, names = given.model, [tool["name"] for tool in given.input.get("tools", ())]
    ask = partial(_asked, f"{model['base_url'].rstrip('/')}/chat/completions", model["api_key"])
    call = partial(_called, given.tools_url or "")
    return Bench(
        model=partial(_whole, ask),
        stream_model=partial(_stream, ask),
        amodel=partial(_awhole, ask),
        astream_model=partial(_astream, ask),
        base_url=model["base_url"],
        api_key=model["api_key"],
        model_name=model["name"],
        transport=partial(_transport, "httpx2", "HTTPTransport"),
        async_transport=partial(_transport, "httpx2", "AsyncHTTPTransport"),
        httpx_transport=partial(_transport, "httpx", "HTTPTransport"),
        httpx_async_transport=partial(_transport, "httpx", "AsyncHTTPTransport"),
        tools={name: partial(_named, call, name) for name in names},
        atools={name: partial(_anamed, call, name) for name in names},
        call_tool=call,
        acall_tool=partial(_acalled, call),
        now=now,
        sleep=time.sleep,
        asleep=asyncio.sleep,
    )


def clock(given: RunInput) -> Callable[[], datetime]:
    """The scenario's clock: it starts with the run and goes on in real time."""
    start, begun_s = datetime.fromisoformat(given.clock), time.monotonic()
    return lambda: start + timedelta(seconds=time.monotonic() - begun_s)


# The model.

_Ask = Callable[[Mapping[str, Any], Mapping[str, str] | None], http.client.HTTPResponse]


def _asked(url: str, key: str, body: Mapping[str, Any], headers: Mapping[str, str] | None) -> http.client.HTTPResponse:
    """The response to one request, its body still to be read; an error status is raised."""
    response = _posted(url, body, {"Authorization": f"Bearer {key}", **(headers or {})})
    if response.status >= 400:
        beside = {name.lower(): value for name, value in response.headers.items()}
        raise ModelError(response.status, _json(_read(response)), beside)
    return response


def _whole(ask: _Ask, body: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> Any:
    if body.get("stream"):
        raise ValueError(
            f"the body says stream: {body['stream']!r}, expected none or false; call stream_model to stream"
        )
    return _json(_read(ask(body, headers)))


def _stream(ask: _Ask, body: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> Iterator[dict[str, Any]]:
    if body.get("stream", True) is not True:
        raise ValueError(
            f"the body says stream: {body['stream']!r}, expected none or true; call model for a whole reply"
        )
    with ask({**body, "stream": True}, headers) as response:
        for line in _lines(response):
            payload = line[len(_DATA) :].strip() if line.startswith(_DATA) else b""
            if payload == SENTINEL:
                return
            if payload:
                yield json.loads(payload)


async def _awhole(ask: _Ask, body: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> Any:
    return await asyncio.to_thread(_whole, ask, body, headers)


async def _astream(
    ask: _Ask, body: Mapping[str, Any], headers: Mapping[str, str] | None = None
) -> AsyncIterator[dict[str, Any]]:
    chunks = _stream(ask, body, headers)
    while (chunk := await asyncio.to_thread(next, chunks, None)) is not None:
        yield chunk


def _lines(response: http.client.HTTPResponse) -> Iterator[bytes]:
    try:
        yield from response
    except (http.client.HTTPException, OSError) as error:
        raise StreamBroken(f"the connection ended before the reply was whole: {error!r}") from error


def _read(response: http.client.HTTPResponse) -> bytes:
    with response:
        try:
            return response.read()
        except (http.client.HTTPException, OSError) as error:
            raise StreamBroken(f"the connection ended before the reply was whole: {error!r}") from error


def _json(content: bytes) -> Any:
    try:
        return json.loads(content)
    except ValueError:
        return content.decode("utf-8", "replace")


# Tools.


def _called(
    tools_url: str, name: str, arguments: Any, call_id: str | None = None, within_s: float | None = None
) -> Any:
    """Run one of the kit's tools; ToolFailed where it raises, refuses its arguments or takes longer than `within_s`."""
    headers = {} if call_id is None else {"X-Tool-Call-Id": call_id.encode("utf-8", "replace").decode("latin-1")}
    try:
        response = _posted(f"{tools_url.rstrip('/')}/{quote(name, safe='')}", arguments, headers, within_s)
        answer = _json(_read(response))
    except StreamBroken as broken:
        if within_s is not None and isinstance(broken.__cause__, TimeoutError):
            raise timed_out(name, within_s) from broken
        raise
    if response.status == 200:
        return answer["result"]
    error = answer["error"]
    raise ToolFailed(error["type"], error["message"], rejected=error.get("rejected", False))


async def _acalled(
    call: Callable[..., Any], name: str, arguments: Any, call_id: str | None = None, within_s: float | None = None
) -> Any:
    """As `_called`. Cancelled, it waits for the tool, so that what ran for a run is not recorded behind its end."""
    running = asyncio.ensure_future(asyncio.to_thread(call, name, arguments, call_id, within_s))
    # What a cancelled tool raises is nobody's to hear.
    running.add_done_callback(lambda done: done.cancelled() or done.exception())
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait([running], timeout=LEAVING_S)
        raise


def _named(call: Callable[..., Any], name: str, **arguments: Any) -> Any:
    return call(name, arguments)


async def _anamed(call: Callable[..., Any], name: str, **arguments: Any) -> Any:
    return await _acalled(call, name, arguments)


# HTTP.


def _posted(url: str, body: Any, headers: Mapping[str, str], within_s: float | None = None) -> http.client.HTTPResponse:
    """One request on a connection of its own, which ends with its response, or after `within_s` seconds of silence."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=within_s)
    try:
        content = json.dumps(body).encode("ascii")
        connection.request(
            "POST", parts.path, content, {"Content-Type": "application/json", "Connection": "close", **headers}
        )
        return connection.getresponse()
    except (http.client.HTTPException, OSError) as error:
        connection.close()
        raise StreamBroken(f"the connection ended before the reply began: {error!r}") from error


def _transport(library: str, name: str) -> Any:
    return getattr(importlib.import_module(library), name)()
