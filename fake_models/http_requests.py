"""Bytes of one HTTP/1.1 client to requests, in order, each whole or refused. Pure; answers nothing and knows no socket."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum, auto
from functools import lru_cache
from typing import cast

import httptools

#: Most bytes of a request line with its headers. A little more gets through, since it is measured a piece at a time.
MAX_HEAD_BYTES = 64 * 1024
#: Most bytes of a body, as it is once chunks are joined: as many as Anthropic takes, and no provider takes more.
MAX_BODY_BYTES = 32 * 1024 * 1024
#: How much is parsed before the limits are looked at.
_PIECE = 16 * 1024
#: A target's path: the target may hold a query, and is absolute where a client takes this server for a proxy.
_PATH = re.compile(r"(?:https?://[^/?#]*)?([^?#]*)(?:\?([^#]*))?", re.IGNORECASE)
#: Where a head says how long its body is.
_LENGTH = re.compile(rb"\r\ncontent-length: (\d{1,7})\r\n", re.IGNORECASE)
#: Most bytes of a head that is kept, and of heads that a connection keeps: a client has one or two.
_KEPT_BYTES = 4096
_KEPT = 8
#: Heads with one of these are not kept: what comes after them is not just a body of the length told.
_UNLIKE = ("transfer-encoding", "expect", "upgrade")


@dataclass(frozen=True, slots=True)
class Request:
    """
    A request that came whole.

    `path` is percent-encoded still, since only then a `%2F` is no separator; `query` is what stands behind its `?`. Header names are lower case; the values of one that came
    twice are joined by a comma. `version` is "1.1" or "1.0".
    """

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    version: str
    keep_alive: bool
    query: str = ""


@dataclass(frozen=True, slots=True)
class Refused:
    """A request that is none, or too large; no other comes after it. `path` as far as it was heard."""

    status: int
    message: str
    path: str = ""


@lru_cache(1024)
def _key(name: bytes) -> str:
    """A header's name as it is known by; clients have few."""
    return name.decode("latin-1").lower()


def _again(known: Request, length: str, body: bytes) -> Request:
    """Another request with the head of one that is known, but for its length."""
    headers = {**known.headers, "content-length": length}
    return Request(known.method, known.path, headers, body, known.version, known.keep_alive, known.query)


def _is_plain(request: Request, after: bytes) -> bool:
    """Whether a request is a head and then a body of the length that it tells, after which another may come."""
    return request.keep_alive and request.body == after and not any(key in request.headers for key in _UNLIKE)


class Awaited(Enum):
    """What a client waits for in the middle of a request."""

    CONTINUE = auto()


class RequestParser:
    """
    What one connection sent so far.

    Its `on_...` methods are the parser library's to call.
    """

    def __init__(self) -> None:
        self._library = httptools.HttpRequestParser(self)
        self._found: list[Request | Refused | Awaited] = []
        self._refused = False
        self._kept: dict[tuple[bytes, bytes], Request] = {}
        self._begin()

    def feed(self, data: bytes) -> list[Request | Refused | Awaited]:
        """
        What became complete with these bytes.

        A client sends the same head with every request, but for the length of the body. One that came before is not read again.
        """
        if self.begun or self._refused or (length := _LENGTH.search(data, 0, _KEPT_BYTES)) is None:
            return self._parsed(data)
        end = data.find(b"\r\n\r\n", length.start(), _KEPT_BYTES) + 4
        if len(data) - end != int(length[1]):
            return self._parsed(data)
        around = data[: length.start(1)], data[length.end(1) : end]
        if (known := self._kept.get(around)) is not None:
            return [_again(known, length[1].decode(), data[end:])]
        found = self._parsed(data)
        # Bytes that hold one whole request and nothing else, as the library sees it.
        if (
            len(found) == 1
            and len(self._kept) < _KEPT
            and isinstance(one := found[0], Request)
            and _is_plain(one, data[end:])
        ):
            self._kept[around] = replace(one, body=b"")
        return found

    def _parsed(self, data: bytes) -> list[Request | Refused | Awaited]:
        rest = memoryview(data)
        while rest and not self._refused:
            piece = rest[:_PIECE]
            taken = len(piece)
            try:
                self._library.feed_data(piece)
            except httptools.HttpParserUpgrade as upgrade:
                taken = upgrade.args[0]
                self._stay()
            except httptools.HttpParserError as error:
                self._refuse(400, f"this is no HTTP/1.1 request: {error}")
            self._measure_head(taken)
            rest = rest[taken:]
        found, self._found = self._found, []
        return found

    def give_up(self, status: int, message: str) -> Refused:
        """Refuse the request that has begun and is not whole; nothing more is heard."""
        self._refuse(status, message)
        return cast("Refused", self._found.pop())

    def on_message_begin(self) -> None:
        """Called at the first byte of a request."""
        self.begun = True

    def on_url(self, part: bytes) -> None:
        """Called with the target, which may come in several parts."""
        self._target += part

    def on_header(self, name: bytes, value: bytes) -> None:
        """Called once per header, and per trailer, which nobody needs."""
        if self._in_head:
            self._head.append((name, value))

    def on_headers_complete(self) -> None:
        """Called when the body begins, if there is one."""
        self._in_head = False
        headers = self._headers
        for name, value in self._head:
            key, text = _key(name), value.decode("utf-8", "replace")
            headers[key] = f"{headers[key]}, {text}" if key in headers else text
        self._version = self._library.get_http_version()
        # The library speaks of the message that it is in, so that this cannot be asked later.
        self._keep_alive = self._library.should_keep_alive()
        self._method = self._library.get_method().decode("latin-1")
        self._comes_again = self._library.should_upgrade() and self._method != "CONNECT"
        if int(headers.get("content-length", "0")) > MAX_BODY_BYTES:
            self._refuse_body()
        elif "expect" in headers and not self._comes_again and headers["expect"].lower() == "100-continue":
            self._found.append(Awaited.CONTINUE)

    def on_body(self, part: bytes) -> None:
        """Called with each part of the body."""
        self._body.append(part)
        self._body_bytes += len(part)
        if self._body_bytes > MAX_BODY_BYTES:
            self._body.clear()
            self._refuse_body()

    def on_message_complete(self) -> None:
        """Called when a request has come whole."""
        if self._comes_again:
            return
        if not self._refused:
            path, query = self._path_and_query()
            self._found.append(
                Request(
                    self._method,
                    path or "/",
                    self._headers,
                    b"".join(self._body),
                    self._version,
                    self._keep_alive,
                    query,
                )
            )
        self._begin()

    def _begin(self) -> None:
        self._target = b""
        self._head: list[tuple[bytes, bytes]] = []
        self._headers: dict[str, str] = {}
        self._body: list[bytes] = []
        self._body_bytes = 0
        self._in_head = True
        self._head_bytes = 0
        self._comes_again = False
        #: Whether there is more of a request to come.
        self.begun = False

    def _stay(self) -> None:
        """
        Begin anew after a request for another protocol.

        Some clients ask for HTTP/2 by the way, and an answer in this protocol means no. The library takes all after such a
        head for the other protocol, the body too, so that it is given the head once more without the wish.
        """
        head = b""
        if self._comes_again:
            first = f"{self._method} {self._target.decode('latin-1')} HTTP/{self._version}\r\n"
            kept = (b"%b: %b\r\n" % header for header in self._head if header[0].lower() != b"upgrade")
            head = b"".join((first.encode("latin-1"), *kept, b"\r\n"))
            self._begin()
        self._library = httptools.HttpRequestParser(self)
        self._library.feed_data(head)

    def _measure_head(self, taken: int) -> None:
        # The library keeps a header to itself until it is whole, so what counts is what it was given.
        self._head_bytes += taken if self._in_head else 0
        if self._head_bytes > MAX_HEAD_BYTES:
            self._refuse(431, f"the request line and headers are longer than {MAX_HEAD_BYTES} bytes; send less")

    def _refuse_body(self) -> None:
        self._refuse(413, f"the body is longer than {MAX_BODY_BYTES} bytes; send less")

    def _refuse(self, status: int, message: str) -> None:
        if not self._refused:
            self._refused = True
            self.begun = False
            self._found.append(Refused(status, message, self._path_and_query()[0]))

    def _path_and_query(self) -> tuple[str, ...]:
        return _PATH.match(self._target.decode("latin-1")).groups(default="")  # type: ignore[union-attr] # matches any text
