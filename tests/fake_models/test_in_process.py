import asyncio

import pytest
from reply_endpoint import ReplyEndpoint
from shells import Bench

from fake_models.chunking import CHARACTER
from fake_models.errors import ModelError, StreamBroken
from fake_models.in_process import TURNS, CallableModel
from fake_models.messages import Cut, ErrorReply, Reply, Stall, Text, ToolCall
from fake_models.script import Turn


def nested(levels):
    value = []
    for _ in range(levels - 1):
        value = [value]
    return value


BODY = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
HELLO = Reply((Text("hello"),))


def blocking(endpoint, body=BODY):
    return CallableModel(endpoint).model(body)


def async_blocking(endpoint, body=BODY):
    return asyncio.run(CallableModel(endpoint).amodel(body))


def streaming(endpoint, body=BODY):
    return list(CallableModel(endpoint).stream_model(body))


def async_streaming(endpoint, body=BODY):
    async def read():
        return [chunk async for chunk in CallableModel(endpoint).astream_model(body)]

    return asyncio.run(read())


BLOCKING = pytest.mark.parametrize("ask", [blocking, async_blocking])
STREAMING = pytest.mark.parametrize("ask", [streaming, async_streaming])
EITHER = pytest.mark.parametrize("ask", [blocking, async_blocking, streaming, async_streaming])


def said(chunks):
    return "".join(choice["delta"].get("content") or "" for chunk in chunks for choice in chunk["choices"])


@BLOCKING
def test_a_body_goes_in_and_a_body_comes_out(ask):
    endpoint = ReplyEndpoint(HELLO)

    assert ask(endpoint)["choices"][0]["message"]["content"] == "hello"
    assert endpoint.requests == [{"wire": "openai_chat", "path": "/v1/chat/completions", "body": BODY, "headers": {}}]


@EITHER
@pytest.mark.parametrize("odd", [float("nan"), float("inf"), nested(250)], ids=["NaN", "inf", "deep"])
def test_what_is_no_json_goes_in_as_text_and_is_refused(ask, odd):
    bench = Bench(Turn(say="hi"))

    with pytest.raises(ModelError) as raised:
        ask(bench.endpoint, {**BODY, "user": odd})

    assert raised.value.status == 400
    assert isinstance(bench.records[0][1]["body"], str)
    assert bench.records[1][1]["rule"] == "body_no_object"


@STREAMING
def test_a_stream_asks_for_one_and_gives_chunks(ask):
    endpoint = ReplyEndpoint(HELLO, chunking=CHARACTER)
    chunks = ask(endpoint)

    assert endpoint.requests[0]["body"] == {**BODY, "stream": True}
    assert [chunk["choices"][0]["delta"].get("content") for chunk in chunks] == ["", "h", "e", "l", "l", "o", None]
    assert chunks[-1]["choices"][0]["finish_reason"] == "stop"
    assert [by for _, _, by in endpoint.done_calls] == ["kit"]


def test_an_absent_and_an_empty_tools_key_stay_different():
    endpoint = ReplyEndpoint(HELLO, HELLO)
    blocking(endpoint)
    blocking(endpoint, {**BODY, "tools": []})

    assert ["tools" in request["body"] for request in endpoint.requests] == [False, True]


def test_header_names_arrive_in_lower_case():
    endpoint = ReplyEndpoint(HELLO)
    CallableModel(endpoint).model(BODY, {"X-Conformance-Call": "auxiliary"})

    assert endpoint.requests[0]["headers"] == {"x-conformance-call": "auxiliary"}


@EITHER
def test_an_error_status_is_raised_with_its_body(ask):
    endpoint = ReplyEndpoint(Reply(error=ErrorReply(429, "slow down", code="rate_limit_exceeded")))

    with pytest.raises(ModelError) as caught:
        ask(endpoint)

    assert caught.value.status == 429
    assert caught.value.body["error"]["code"] == "rate_limit_exceeded"
    assert [by for _, _, by in endpoint.done_calls] == ["kit"]


@BLOCKING
def test_text_in_place_of_json_comes_as_text(ask):
    assert ask(ReplyEndpoint(Reply(error=ErrorReply(200, "", body="<html>busy</html>")))) == "<html>busy</html>"


@STREAMING
def test_a_body_that_is_no_stream_gives_no_chunks(ask):
    assert ask(ReplyEndpoint(Reply(error=ErrorReply(200, "", body={"ok": 1})))) == []


@BLOCKING
@pytest.mark.parametrize(
    "cut", [Cut(after_bytes=5), Cut(after_bytes=5, reset=True), Cut(after_chunks=2), Cut(after_chunks=0, reset=True)]
)
def test_a_whole_body_that_is_cut_is_broken(ask, cut):
    endpoint = ReplyEndpoint(Reply((Text("hello"),), broken=cut))

    with pytest.raises(StreamBroken, match="'m1' ended before the reply was whole"):
        ask(endpoint)

    assert endpoint.done_calls == [("m1", cut.after_bytes or 0, "cut")]


@STREAMING
@pytest.mark.parametrize(("chunks", "text"), [(0, ""), (1, ""), (3, "he"), (6, "hello"), (99, "hello")])
def test_a_stream_that_is_cut_cleanly_just_ends(ask, chunks, text):
    endpoint = ReplyEndpoint(Reply((Text("hello"),), broken=Cut(after_chunks=chunks)), chunking=CHARACTER)

    assert said(ask(endpoint)) == text
    assert [by for _, _, by in endpoint.done_calls] == ["cut"]


@pytest.mark.parametrize("spare", [0, 1, -1])
def test_only_chunks_that_went_out_whole_are_given(spare):
    complete = ReplyEndpoint(HELLO, chunking=CHARACTER)
    frames = CallableModel(complete).stream_model(BODY)
    next(frames)
    next(frames)
    frames.close()
    ((_, two_frames, by),) = complete.done_calls
    endpoint = ReplyEndpoint(Reply((Text("hello"),), broken=Cut(after_bytes=two_frames + spare)), chunking=CHARACTER)

    assert len(streaming(endpoint)) == (1 if spare < 0 else 2)
    assert by == "client"
    assert endpoint.done_calls == [("m1", two_frames + spare, "cut")]


def test_a_reset_is_raised_after_the_chunks_that_went_out():
    reply = Reply((Text("hello"),), broken=Cut(after_chunks=3, reset=True))
    endpoint = ReplyEndpoint(reply, chunking=CHARACTER)
    given = []

    with pytest.raises(StreamBroken):
        given.extend(CallableModel(endpoint).stream_model(BODY))

    assert said(given) == "he"


@EITHER
def test_a_stall_is_silence_until_the_run_is_over_and_then_a_break(ask):
    endpoint = ReplyEndpoint(Reply((Text("hello"),), broken=Stall(after_chunks=1)))

    with pytest.raises(StreamBroken):
        ask(endpoint)

    assert endpoint.hangs == 1
    assert [by for _, _, by in endpoint.done_calls] == ["cut"]


def test_a_cancelled_task_leaves_the_silence_as_a_client_does():
    class Silent(ReplyEndpoint):
        async def ahang(self):
            await asyncio.Event().wait()

    endpoint = Silent(Reply((Text("hello"),), broken=Stall()))

    async def leave():
        asking = asyncio.create_task(CallableModel(endpoint).amodel(BODY))
        for _ in range(TURNS + 1):
            await asyncio.sleep(0)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)

    asyncio.run(leave())

    assert endpoint.done_calls == [("m1", 0, "client")]


@EITHER
def test_a_run_beyond_its_cap_hangs_before_it_is_asked_and_async_without_blocking_the_loop(ask):
    told = []

    class Overrun(ReplyEndpoint):
        def hang(self):
            told.append(("hang", len(self.requests)))

        async def ahang(self):
            told.append(("ahang", len(self.requests)))

    endpoint = Overrun(HELLO)
    endpoint.overrun = True
    ask(endpoint)

    assert told == [("ahang" if ask in {async_blocking, async_streaming} else "hang", 0)]


def test_a_wait_lets_the_scenarios_time_pass():
    endpoint = ReplyEndpoint(Reply((Text("hello"),), wait_s=7.5))
    blocking(endpoint)

    assert endpoint.paused_s == [7.5]


@pytest.mark.parametrize(("read", "by"), [(1, "client"), (2, "client"), (3, "kit")])
def test_a_consumer_that_closes_the_stream_has_left_unless_all_was_said(read, by):
    endpoint = ReplyEndpoint(HELLO)
    chunks = CallableModel(endpoint).stream_model(BODY)
    for _ in range(read):
        next(chunks)
    chunks.close()

    assert [told for _, _, told in endpoint.done_calls] == [by]


def test_an_async_consumer_that_closes_the_stream_has_left():
    endpoint = ReplyEndpoint(HELLO)

    async def leave():
        chunks = CallableModel(endpoint).astream_model(BODY)
        await anext(chunks)
        await chunks.aclose()

    asyncio.run(leave())

    assert [told for _, _, told in endpoint.done_calls] == ["client"]


def test_a_stream_that_nobody_reads_asks_nothing():
    endpoint = ReplyEndpoint(HELLO)
    CallableModel(endpoint).stream_model(BODY)

    assert (endpoint.requests, endpoint.done_calls) == ([], [])


def test_what_went_in_does_not_change_with_the_agents_lists():
    endpoint = ReplyEndpoint(HELLO, HELLO)
    messages = [{"role": "user", "content": "hi"}]
    body = {"model": "m", "messages": messages}
    chunks = CallableModel(endpoint).stream_model(body)
    messages.append({"role": "user", "content": "later"})
    list(chunks)
    blocking(endpoint, body)
    messages.clear()

    assert [len(request["body"]["messages"]) for request in endpoint.requests] == [1, 2]


def test_what_came_out_is_the_agents_to_change():
    body = {"shared": [1]}
    endpoint = ReplyEndpoint(Reply(error=ErrorReply(200, "", body=body)))
    blocking(endpoint)["shared"].append(2)

    assert body == {"shared": [1]}


@pytest.mark.parametrize(
    ("ask", "body", "message"),
    [
        (blocking, {**BODY, "stream": True}, "call stream_model"),
        (async_blocking, {**BODY, "stream": True}, "call stream_model"),
        (streaming, {**BODY, "stream": False}, "call model"),
        (async_streaming, {**BODY, "stream": False}, "call model"),
    ],
)
def test_a_body_that_asks_for_the_other_kind_of_answer_is_an_error_of_the_caller(ask, body, message):
    with pytest.raises(ValueError, match=message):
        ask(ReplyEndpoint(HELLO), body)


def test_calls_come_out_as_the_model_spelled_them():
    reply = Reply((ToolCall("c1", "f", "{bad"),), stop="tool_calls")
    (call,) = blocking(ReplyEndpoint(reply))["choices"][0]["message"]["tool_calls"]

    assert call == {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{bad"}}


def test_an_error_brings_the_headers_that_ask_to_wait():
    endpoint = ReplyEndpoint(Reply(error=ErrorReply(503, "busy", retry_after_s=1.0)))
    with pytest.raises(ModelError) as caught:
        CallableModel(endpoint).model(BODY)
    assert caught.value.headers == {"retry-after": "1", "retry-after-ms": "1000"}


def test_what_was_asked_stays_as_it_was_when_the_agent_changes_its_body():
    endpoint = ReplyEndpoint(Reply((Text("hi"),)))
    messages = [{"role": "user", "content": "hello"}]

    CallableModel(endpoint).model({"model": "m", "messages": messages})
    messages[0]["content"] = "changed"

    assert endpoint.requests[0]["body"]["messages"] == [{"role": "user", "content": "hello"}]
