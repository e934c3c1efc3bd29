import math
from dataclasses import replace

import pytest

from fake_models.chunking import CHARACTER, WHOLE, Chunking, whole
from fake_models.effects import Hangup, Head, Hold, Reached, Send, Wait
from fake_models.exchange import JOINED_BYTES, Exchange, at_once, delivery, effects, exchange_of, of_error
from fake_models.messages import Cut, ErrorReply, ModelRequest, Reply, Stall, Text
from fake_models.wire.codec import Stamp
from fake_models.wire.openai_chat import CODEC

CHUNKS = ({"n": 1}, {"n": 2})
FRAMES = (b'data: {"n":1}\n\n', b'data: {"n":2}\n\n')
DONE = b"data: [DONE]\n\n"
STREAM = b"".join((*FRAMES, DONE))
STREAM_HEAD = Head(200, (("Content-Type", "text/event-stream"),))
JSON_HEAD = Head(200, (("Content-Type", "application/json"),))


def Last(data):  # noqa: N802 - beside Send
    return Send(data, last=True)


def stream(frames=FRAMES, **changes):
    said = (lambda: frames, lambda: b"".join(frames), lambda: CHUNKS)
    whole = Exchange("m1", CODEC, 200, *said, "text/event-stream", streamed=True, trailer=CODEC.trailer)
    return replace(whole, **changes)


def body(said=None, **changes):
    said = {"a": "时"} if said is None else said
    return replace(of_error("m1", CODEC, ErrorReply(200, "", body=said)), **changes)


BODY = '{"a":"时"}'.encode()

DELIVERIES = {
    "a stream": (stream(), [STREAM_HEAD, *map(Send, FRAMES), Last(DONE)]),
    "a whole body": (body(), [JSON_HEAD, Last(BODY)]),
    "a wait comes before the first byte": (body(wait_s=2.5), [Wait(2.5), JSON_HEAD, Last(BODY)]),
    "own headers come beside": (
        body(headers=(("X-A", "1"),)),
        [Head(200, (("Content-Type", "application/json"), ("X-A", "1"))), Last(BODY)],
    ),
    "cut before the first chunk": (stream(broken=Cut(after_chunks=0)), [STREAM_HEAD, Hangup(reset=False)]),
    "cut after a chunk": (
        stream(broken=Cut(after_chunks=1, reset=True)),
        [STREAM_HEAD, Send(FRAMES[0]), Hangup(reset=True)],
    ),
    "cut before the trailer": (
        stream(broken=Cut(after_chunks=2)),
        [STREAM_HEAD, *map(Send, FRAMES), Hangup(reset=False)],
    ),
    "cut after more chunks than there are": (
        stream(broken=Cut(after_chunks=9)),
        [STREAM_HEAD, *map(Send, FRAMES), Hangup(reset=False)],
    ),
    "a body has no chunk to be cut after": (
        body(broken=Cut(after_chunks=3, reset=True)),
        [JSON_HEAD, Hangup(reset=True)],
    ),
    "cut inside a character": (body(broken=Cut(after_bytes=7)), [JSON_HEAD, Send(BODY[:7]), Hangup(reset=False)]),
    "a cut at the end cuts nothing": (body(broken=Cut(after_bytes=len(BODY))), [JSON_HEAD, Last(BODY)]),
    "stalled at once": (stream(broken=Stall()), [STREAM_HEAD, Wait(math.inf), Hangup(reset=True)]),
    "stalled after a chunk": (
        stream(broken=Stall(after_chunks=1)),
        [STREAM_HEAD, Send(FRAMES[0]), Wait(math.inf), Hangup(reset=True)],
    ),
    "a body stalls before its first byte": (
        body(broken=Stall(after_chunks=1)),
        [JSON_HEAD, Wait(math.inf), Hangup(reset=True)],
    ),
}


@pytest.mark.parametrize(("exchange", "expected"), DELIVERIES.values(), ids=DELIVERIES.keys())
def test_an_exchange_is_delivered_by(exchange, expected):
    assert list(effects(exchange)) == expected


JOINED = {
    "a stream leaves at once": (stream(), [STREAM_HEAD, Last(STREAM)]),
    "up to a break": (
        stream(broken=Cut(after_chunks=2, reset=True)),
        [STREAM_HEAD, Send(b"".join(FRAMES)), Hangup(reset=True)],
    ),
    "a break before the first chunk": (stream(broken=Cut(after_chunks=0)), [STREAM_HEAD, Hangup(reset=False)]),
    "up to a silence": (
        stream(broken=Stall(after_chunks=2)),
        [STREAM_HEAD, Send(b"".join(FRAMES)), Wait(math.inf), Hangup(reset=True)],
    ),
    "time between chunks keeps them apart": (
        stream(pace_s=1.0),
        [STREAM_HEAD, Send(FRAMES[0]), Wait(1.0), Send(FRAMES[1]), Wait(1.0), Last(DONE)],
    ),
    "so does a chunking that cuts writes": (
        stream(chunking=Chunking("halves", whole, lambda parts, _: (b"".join(parts)[:5], b"".join(parts)[5:]))),
        [STREAM_HEAD, Send(STREAM[:5]), Last(STREAM[5:])],
    ),
    "a long one leaves in parts": (
        stream(frames=(b"x" * JOINED_BYTES, b"y"), trailer=b"z"),
        [STREAM_HEAD, Send(b"x" * JOINED_BYTES), Last(b"yz")],
    ),
    "a body": (body(), [JSON_HEAD, Last(BODY)]),
}


@pytest.mark.parametrize(("exchange", "expected"), JOINED.values(), ids=JOINED.keys())
def test_what_may_leave_together_does_where_it_is_asked_for(exchange, expected):
    assert list(effects(exchange, join=True)) == expected


@pytest.mark.parametrize("limit", range(len(STREAM)))
def test_a_cut_after_bytes_is_exact_to_the_byte(limit):
    played = list(effects(stream(broken=Cut(after_bytes=limit))))

    assert b"".join(effect.data for effect in played if isinstance(effect, Send)) == STREAM[:limit]
    assert played[-1] == Hangup(reset=False)


@pytest.mark.parametrize(
    ("text", "content_type"),
    [
        ("<html>busy</html>", "text/html; charset=utf-8"),
        ('{"choices": [', "application/json"),
        ("", "application/json"),
    ],
)
def test_text_in_place_of_json_is_sent_as_it_is(text, content_type):
    assert list(effects(body(text))) == [
        Head(200, (("Content-Type", content_type),)),
        Last(text.encode()),
    ]


@pytest.mark.parametrize(
    ("seconds", "headers"),
    [
        (None, ()),
        (0, (("Retry-After", "0"), ("retry-after-ms", "1"))),
        (1.5, (("Retry-After", "2"), ("retry-after-ms", "1500"))),
        (20, (("Retry-After", "20"), ("retry-after-ms", "20000"))),
    ],
)
def test_an_error_says_in_both_headers_when_to_come_back(seconds, headers):
    reply = Reply(error=ErrorReply(429, "slow down", retry_after_s=seconds))

    assert answer(reply).headers == headers


def answer(reply, *, streamed=True, chunking=WHOLE):
    request = ModelRequest("openai_chat", "m", (), stream=streamed)
    return exchange_of("m1", CODEC, reply, request=request, stamp=Stamp("id", 1, "m"), chunking=chunking)


def test_an_error_is_never_a_stream_and_its_own_body_stands():
    spelled = answer(Reply(error=ErrorReply(500, "x")))
    given = answer(Reply(error=ErrorReply(200, "x", body="<p>")))

    assert (spelled.status, spelled.chunks, spelled.body["error"]["message"]) == (500, None, "x")
    assert (given.status, given.chunks, given.body) == (200, None, "<p>")


@pytest.mark.parametrize("streamed", [True, False])
def test_a_reply_is_streamed_where_the_request_asks_for_it(streamed):
    exchange = answer(Reply((Text("hi"),), broken=Stall(2), wait_s=3), streamed=streamed)

    assert (exchange.chunks is not None, exchange.body is None) == (streamed, streamed)
    assert (exchange.status, exchange.broken, exchange.wait_s) == (200, Stall(2), 3)


def played(exchange, steps):
    told = []
    running = delivery(exchange, lambda *how: told.append(how))
    for _, _ in zip(range(steps), running, strict=False):
        pass
    running.close()
    return told


SIZE = len(FRAMES[0])
ENDINGS = {
    "all": (stream(), 9, [("m1", len(STREAM), "kit")]),
    "all but the trailer": (stream(), 3, [("m1", 2 * SIZE, "kit")]),
    "left between chunks": (stream(), 2, [("m1", SIZE, "client")]),
    "left at the head": (stream(), 1, [("m1", 0, "client")]),
    "a whole body": (body(), 9, [("m1", len(BODY), "kit")]),
    "an empty body": (body(""), 9, [("m1", 0, "kit")]),
    "cut": (stream(broken=Cut(after_chunks=1)), 9, [("m1", SIZE, "cut")]),
    "left before the cut": (stream(broken=Cut(after_chunks=2)), 3, [("m1", 2 * SIZE, "client")]),
    "silent to the end of the run": (stream(broken=Stall(1)), 9, [("m1", SIZE, "cut")]),
    "left in the silence": (stream(broken=Stall(1)), 3, [("m1", SIZE, "client")]),
}


@pytest.mark.parametrize(("exchange", "steps", "told"), ENDINGS.values(), ids=ENDINGS.keys())
def test_an_endpoint_is_told_once_how_the_answer_ended(exchange, steps, told):
    assert played(exchange, steps) == told


CODEC_STREAM = Reply((Text("one"),))


def watched(**changes):
    """A real stream, whose first payload says nothing yet."""
    return replace(answer(CODEC_STREAM), **changes)


def kinds(exchange, **ways):
    return [type(effect) for effect in effects(exchange, **ways)]


def test_nothing_of_a_held_answer_leaves_before_it_is_let_go():
    until = object()
    for exchange in (watched(held=until), body(held=until)):
        plan = effects(exchange)
        assert [type(effect) for effect in plan[:2]] == [Head, Hold]
        assert plan[1].until is until
        assert at_once(exchange) is None


@pytest.mark.parametrize("join", [False, True])
def test_who_wants_to_know_hears_of_the_first_chunk_that_says_something_once_it_has_left(join):
    heard = []
    exchange = watched(reached=lambda: heard.append(len(sent)))
    saying = next(n for n, chunk in enumerate(exchange.chunks, start=1) if CODEC.says(chunk))
    sent = bytearray()
    for effect in delivery(exchange, lambda *_how: None, join=join):
        sent += effect.data if isinstance(effect, Send) else b""
    assert heard == [sum(map(len, exchange.frames[:saying]))]
    assert bytes(sent) == exchange.joined() + exchange.trailer
    assert at_once(exchange) is None


def test_a_shell_waits_before_and_after_it_is_told_where_time_is_to_be_given():
    after = object()
    plan = effects(watched(reached=lambda: None, after=after))
    at = kinds(watched(reached=lambda: None, after=after)).index(Reached)
    assert plan[at - 1] == Wait(0.0)
    assert plan[at + 1] == Hold(after)


def held_behind(exchange):
    """How many bytes leave before and after the hold, which is there once."""
    plan = effects(exchange, join=True)
    at = [type(effect) for effect in plan].index(Hold)
    assert [type(effect) for effect in plan].count(Hold) == 1
    return tuple(sum(len(one.data) for one in part if isinstance(one, Send)) for part in (plan[:at], plan[at:]))


@pytest.mark.parametrize(("pieces", "number"), [(WHOLE, 1), (CHARACTER, 3)], ids=["in one", "in three"])
def test_what_is_behind_all_that_a_stream_says_leaves_once_that_is_shown(pieces, number):
    exchange = replace(answer(CODEC_STREAM, chunking=pieces), shown=object())
    said = [n for n, chunk in enumerate(exchange.chunks, start=1) if CODEC.says(chunk)]
    assert len(said) == number
    before = sum(map(len, exchange.frames[: said[-1]]))
    assert held_behind(exchange) == (before, len(exchange.joined() + exchange.trailer) - before)
    assert at_once(exchange) is None


def test_where_nothing_is_behind_it_the_end_itself_waits():
    whole, shown = watched(), object()
    said = next(n for n, chunk in enumerate(whole.chunks, start=1) if CODEC.says(chunk))
    short = {"payloads": lambda: whole.chunks[:said], "apart": lambda: whole.frames[:said], "trailer": b""}
    assert effects(replace(whole, shown=shown, **short))[-2:] == (Send(whole.frames[said - 1]), Hold(shown))


def test_a_body_and_a_stream_that_says_nothing_or_breaks_wait_for_nothing_to_be_shown():
    silent = answer(Reply((Text(""),)))
    for exchange in (body(), silent, watched(broken=Cut(after_chunks=2)), watched(broken=Cut(after_bytes=10**6))):
        assert Hold not in kinds(replace(exchange, shown=object()))


def test_the_first_chunk_that_says_something_is_told_before_the_last_one_is_shown():
    exchange = watched(reached=lambda: None, after=(after := object()), shown=(shown := object()))
    at = kinds(exchange).index(Reached)
    assert effects(exchange)[at + 1 : at + 3] == (Hold(after), Hold(shown))


def test_a_stream_that_breaks_before_it_says_anything_reaches_nothing():
    exchange = watched(reached=lambda: None, broken=Cut(after_chunks=0))
    assert Reached not in kinds(exchange)
