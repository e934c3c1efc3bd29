"""Requests come out of bytes, however the bytes come in."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fake_models.http_requests import MAX_BODY_BYTES, MAX_HEAD_BYTES, Awaited, Refused, Request, RequestParser

POST = b"POST /s/t/v1/chat/completions HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}"
GET = b"GET /s/t/v1/models HTTP/1.1\r\nHost: a\r\n\r\n"


def request(method="GET", path="/", headers=None, body=b"", *, version="1.1", keep_alive=True, query=""):
    return Request(method, path, headers or {}, body, version, keep_alive, query)


POSTED = request("POST", "/s/t/v1/chat/completions", {"host": "a", "content-length": "2"}, b"{}")
GOT = request("GET", "/s/t/v1/models", {"host": "a"})

REQUESTS = {
    "with a body": (POST, [POSTED]),
    "without a body": (GET, [GOT]),
    "pipelined": (POST + GET + POST, [POSTED, GOT, POSTED]),
    "chunked": (
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1;x=y\r\n}\r\n0\r\nLate: 1\r\n\r\n" + GET,
        [request("POST", "/", {"transfer-encoding": "chunked"}, b"{}"), GOT],
    ),
    "empty lines first": (b"\r\n\r\n" + GET, [GOT]),
    "query": (b"GET /a?b=/c#d HTTP/1.1\r\n\r\n", [request(path="/a", query="b=/c")]),
    "absolute": (b"GET http://127.0.0.1:80/a/b?c HTTP/1.1\r\n\r\n", [request(path="/a/b", query="c")]),
    "absolute without a path": (b"GET HTTP://h?c=/d HTTP/1.1\r\n\r\n", [request(path="/", query="c=/d")]),
    "two slashes": (b"GET //h/a HTTP/1.1\r\n\r\n", [request(path="//h/a")]),
    "percent-encoded": (b"GET /a%2Fb HTTP/1.1\r\n\r\n", [request(path="/a%2Fb")]),
    "asterisk": (b"OPTIONS * HTTP/1.1\r\n\r\n", [request("OPTIONS", "*")]),
    "a header twice": (
        b"GET / HTTP/1.1\r\nX-A: 1\r\nx-a: 2\r\nE:\r\n\r\n",
        [request(headers={"x-a": "1, 2", "e": ""})],
    ),
    "a header in UTF-8": (b"GET / HTTP/1.1\r\nX: \xe6\x97\xb6\r\n\r\n", [request(headers={"x": "时"})]),
    "HTTP/1.0": (b"GET / HTTP/1.0\r\n\r\n", [request(version="1.0", keep_alive=False)]),
    "HTTP/1.0 that stays": (
        b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
        [request(headers={"connection": "keep-alive"}, version="1.0")],
    ),
    "the last": (
        b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n",
        [request(headers={"connection": "close"}, keep_alive=False)],
    ),
    "waits before its body": (
        b"POST / HTTP/1.1\r\nExpect: 100-Continue\r\nContent-Length: 1\r\n\r\nx",
        [Awaited.CONTINUE, request("POST", "/", {"expect": "100-Continue", "content-length": "1"}, b"x")],
    ),
    "asks for HTTP/2": (
        b"POST / HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: 1\r\n\r\nx" + GET,
        [request("POST", "/", {"connection": "Upgrade", "content-length": "1"}, b"x"), GOT],
    ),
    "asks for a tunnel": (b"CONNECT a:80 HTTP/1.1\r\n\r\n" + GET, [request("CONNECT", "a:80"), GOT]),
}


def fed(data, size):
    parser = RequestParser()
    return [found for at in range(0, len(data), size) for found in parser.feed(data[at : at + size])]


@pytest.mark.parametrize("size", [1, 3, 10_000])
@pytest.mark.parametrize(("data", "expected"), REQUESTS.values(), ids=REQUESTS.keys())
def test_a_request_comes_out_as_it_was_sent(data, expected, size):
    assert fed(data, size) == expected


REFUSED = {
    "garbage": (b"\x16\x03\x01\x02\x00\x01\x00", 400),
    "no method": (b"GET\r\n\r\n", 400),
    "another protocol": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
    "a length that is none": (b"POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n", 400),
    "two ways to tell the length": (
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n",
        400,
    ),
    "a chunk that is none": (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
    "a header that never ends": (b"GET / HTTP/1.1\r\nX: " + b"x" * (MAX_HEAD_BYTES + 20_000), 431),
    "a target that never ends": (b"GET /" + b"x" * (MAX_HEAD_BYTES + 20_000), 431),
    "headers without number": (b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 20_000, 431),
    "a body said to be too long": (b"POST / HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % (MAX_BODY_BYTES + 1), 413),
    "one that waits to be let": (
        b"POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n" % (MAX_BODY_BYTES + 1),
        413,
    ),
}


@pytest.mark.parametrize("size", [1, 10_000, 1_000_000])
@pytest.mark.parametrize(("data", "status"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_no_request_or_too_large_is_refused_once_and_nothing_comes_after(data, status, size):
    parser = RequestParser()
    found = [one for at in range(0, len(data), size) for one in parser.feed(data[at : at + size])]

    assert [(type(one), one.status) for one in found] == [(Refused, status)]
    assert parser.feed(GET) == []


def test_what_came_before_a_bad_request_stands():
    found = RequestParser().feed(GET + b"\x00\x01" + GET)

    assert found[0] == GOT
    assert [one.status for one in found[1:]] == [400]


def test_a_chunked_body_is_refused_when_it_becomes_too_long():
    parser = RequestParser()
    parser.feed(b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n")
    chunk = b"800000\r\n" + b"x" * 0x800000 + b"\r\n"

    assert [one for _ in range(4) for one in parser.feed(chunk)] == []
    assert [one.status for one in parser.feed(b"1\r\nx\r\n0\r\n\r\n" + GET)] == [413]


def test_a_body_of_just_the_limit_is_taken():
    (found,) = RequestParser().feed(
        b"POST / HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % MAX_BODY_BYTES + b"x" * MAX_BODY_BYTES
    )

    assert len(found.body) == MAX_BODY_BYTES


@given(st.binary(max_size=200), st.integers(1, 50))
def test_bytes_of_any_kind_raise_nothing(data, size):
    assert all(isinstance(one, Request | Refused | Awaited) for one in fed(data, size))


PIECES = [*GET.splitlines(keepends=True), *POST.splitlines(keepends=True)]
PIECES += [b"Upgrade: h2c\r\n", b"Connection: upgrade\r\n", b"CONNECT a:1 HTTP/1.1\r\n", b"Expect: 100-continue\r\n"]
PIECES += [
    b"Transfer-Encoding: chunked\r\n",
    b"1\r\nx\r\n",
    b"0\r\n\r\n",
    b"\r\n",
    b" x\r\n",
    b"\xff",
    b"GET / HTTP/1.0\r\n",
]


@given(st.lists(st.sampled_from(PIECES), max_size=30), st.integers(1, 50))
def test_pieces_of_requests_in_any_order_raise_nothing_and_give_the_same_however_they_are_cut(pieces, size):
    data = b"".join(pieces)

    assert fed(data, size) == fed(data, max(1, len(data)))


HEAD = b"POST /a?b HTTP/1.1\r\nHost: a\r\ncontent-length: %d\r\nX-A: 1\r\n\r\n"


def sent_by(body, head=HEAD):
    return head % len(body) + body


def heard(body):
    return request("POST", "/a", {"host": "a", "content-length": str(len(body)), "x-a": "1"}, body, query="b")


@pytest.mark.parametrize("size", [1, 7, 40, 10_000])
def test_a_head_that_comes_again_says_the_same_with_a_body_of_its_own(size):
    bodies = [b"{}", b'{"a":1}', b"", b"\r\n\r\n", b"x" * 5000, b"{}"]
    parser = RequestParser()
    found = [
        one
        for body in bodies
        for at in range(0, len(sent_by(body)), size)
        for one in parser.feed(sent_by(body)[at : at + size])
    ]

    assert found == list(map(heard, bodies))


def test_a_head_that_comes_again_is_still_read_as_the_rest_says():
    parser = RequestParser()
    once = sent_by(b"{}")

    assert parser.feed(once) == parser.feed(once) == [heard(b"{}")]
    assert parser.feed(once + once) == [heard(b"{}")] * 2
    assert parser.feed(once[:-1]) == []
    assert parser.feed(once[-1:] + once) == [heard(b"{}")] * 2
    assert [one.status for one in parser.feed(HEAD.replace(b"X-A", b"X A") % 2 + b"{}")] == [400]
    assert parser.feed(once) == []


def test_only_what_may_come_again_is_kept():
    odd = (
        b"POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n{}",
        b"POST / HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: 2\r\n\r\n{}",
        b"GET / HTTP/1.1\r\n\r\nPOST / HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}",
    )
    for data in odd:
        parser = RequestParser()
        assert parser.feed(data) == parser.feed(data) == RequestParser().feed(data)
