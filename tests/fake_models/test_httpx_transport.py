import asyncio

import httpx
import httpx2
import openai
import pytest
from reply_endpoint import ReplyEndpoint

from fake_models.chunking import CHARACTER, WHOLE
from fake_models.httpx_transport import transport
from fake_models.messages import Cut, ErrorReply, Reply, Stall, Text, Thinking, ToolCall, Usage

BASE_URL = "http://127.0.0.1:9/s/token/v1"
QUESTION = {"model": "any-name", "messages": [{"role": "user", "content": "现在几点"}]}


def client(endpoint, max_retries=0):
    http = httpx2.Client(transport=transport(endpoint, httpx2))
    return openai.OpenAI(api_key="k", base_url=BASE_URL, http_client=http, max_retries=max_retries)


def async_client(endpoint, max_retries=0):
    http = httpx2.AsyncClient(transport=transport(endpoint, httpx2))
    return openai.AsyncOpenAI(api_key="k", base_url=BASE_URL, http_client=http, max_retries=max_retries)


def seen(message, finish_reason, usage):
    return {
        "content": message.content,
        "thinking": getattr(message, "reasoning_content", None),
        "calls": [(call.id, call.function.name, call.function.arguments) for call in message.tool_calls or []],
        "finish_reason": finish_reason,
        "usage": None if usage is None else (usage.prompt_tokens, usage.completion_tokens),
    }


def seen_whole(completion):
    (choice,) = completion.choices
    return seen(choice.message, choice.finish_reason, completion.usage)


def seen_stream(chunks):
    """What a plain reader of chunks puts together: texts joined, calls joined by index."""
    content, thinking, calls, finish_reason, usage = None, None, {}, None, None
    for chunk in chunks:
        usage = chunk.usage or usage
        for choice in chunk.choices:
            delta = choice.delta
            content = content if delta.content is None else (content or "") + delta.content
            thought = getattr(delta, "reasoning_content", None)
            thinking = thinking if thought is None else (thinking or "") + thought
            for call in delta.tool_calls or []:
                id_, name, arguments = calls.get(call.index, (call.id, call.function.name, ""))
                calls[call.index] = (id_, name, arguments + call.function.arguments)
            finish_reason = choice.finish_reason or finish_reason
    return {
        "content": content,
        "thinking": thinking,
        "calls": [calls[index] for index in sorted(calls)],
        "finish_reason": finish_reason,
        "usage": None if usage is None else (usage.prompt_tokens, usage.completion_tokens),
    }


def blocking(endpoint):
    return seen_whole(client(endpoint).chat.completions.create(**QUESTION))


def async_blocking(endpoint):
    async def ask():
        return seen_whole(await async_client(endpoint).chat.completions.create(**QUESTION))

    return asyncio.run(ask())


STREAM = {**QUESTION, "stream": True, "stream_options": {"include_usage": True}}


def streaming(endpoint):
    return seen_stream(client(endpoint).chat.completions.create(**STREAM))


def async_streaming(endpoint):
    async def ask():
        stream = await async_client(endpoint).chat.completions.create(**STREAM)
        return seen_stream([chunk async for chunk in stream])

    return asyncio.run(ask())


WAYS = [blocking, async_blocking, streaming, async_streaming]
NOTHING = {"content": None, "thinking": None, "calls": [], "finish_reason": "stop", "usage": None}
CALLED = {**NOTHING, "finish_reason": "tool_calls"}

REPLIES = {
    "text": (Reply((Text("hello"),)), {**NOTHING, "content": "hello"}),
    "non-ASCII": (Reply((Text("时间查询完成 🙂"),)), {**NOTHING, "content": "时间查询完成 🙂"}),
    "separators inside": (Reply((Text("a\r\n\n\u2028b\x85"),)), {**NOTHING, "content": "a\r\n\n\u2028b\x85"}),
    "thinking": (Reply((Thinking("hm"), Text("yes"))), {**NOTHING, "thinking": "hm", "content": "yes"}),
    "one call": (
        Reply((ToolCall("c1", "f", '{"x":"时"}'),), stop="tool_calls"),
        {**CALLED, "calls": [("c1", "f", '{"x":"时"}')]},
    ),
    "parallel calls": (
        Reply((ToolCall("c1", "f", "{}"), ToolCall("c2", "f", '{"x":2}')), stop="tool_calls"),
        {**CALLED, "calls": [("c1", "f", "{}"), ("c2", "f", '{"x":2}')]},
    ),
    "malformed arguments": (
        Reply((ToolCall("c1", "f", '{"x": Oslo'),), stop="tool_calls"),
        {**CALLED, "calls": [("c1", "f", '{"x": Oslo')]},
    ),
    "no arguments": (Reply((ToolCall("c1", "f", ""),), stop="tool_calls"), {**CALLED, "calls": [("c1", "f", "")]}),
    "ids missing and empty": (
        Reply((ToolCall(None, "f", "{}"), ToolCall("", "g", "{}")), stop="tool_calls"),
        {**CALLED, "calls": [(None, "f", "{}"), ("", "g", "{}")]},
    ),
    "text and call": (
        Reply((Text("let me see"), ToolCall("c1", "f", "{}")), stop="tool_calls"),
        {**CALLED, "content": "let me see", "calls": [("c1", "f", "{}")]},
    ),
    "no parts": (Reply(), {**NOTHING, "content": ""}),
    "null": (Reply((Text(None),)), NOTHING),
    "blank": (Reply((Text(" \n"),)), {**NOTHING, "content": " \n"}),
    "thinking only": (Reply((Thinking("hm"),)), {**NOTHING, "thinking": "hm"}),
    "usage": (Reply((Text("x"),), usage=Usage(11, 3)), {**NOTHING, "content": "x", "usage": (11, 3)}),
    "cut by length": (Reply((Text("x"),), stop="length"), {**NOTHING, "content": "x", "finish_reason": "length"}),
    "filtered": (Reply((Text("x"),), stop="filter"), {**NOTHING, "content": "x", "finish_reason": "content_filter"}),
}


@pytest.mark.parametrize("chunking", [WHOLE, CHARACTER])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("reply", "expected"), REPLIES.values(), ids=REPLIES.keys())
def test_the_sdk_hears_what_the_reply_says(reply, expected, way, chunking):
    endpoint = ReplyEndpoint(reply, chunking=chunking)

    assert way(endpoint) == expected
    assert [by for _, _, by in endpoint.done_calls] == ["kit"]


def test_the_request_arrives_as_sent():
    endpoint = ReplyEndpoint(Reply())
    blocking(endpoint)
    (request,) = endpoint.requests

    assert (request["wire"], request["path"]) == ("openai_chat", "/s/token/v1/chat/completions")
    assert request["body"] == QUESTION
    assert request["headers"]["authorization"] == "Bearer k"


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, openai.BadRequestError),
        (401, openai.AuthenticationError),
        (403, openai.PermissionDeniedError),
        (404, openai.NotFoundError),
        (409, openai.ConflictError),
        (422, openai.UnprocessableEntityError),
        (429, openai.RateLimitError),
        (500, openai.InternalServerError),
        (529, openai.InternalServerError),
    ],
)
@pytest.mark.parametrize("way", WAYS)
def test_an_error_status_raises_the_sdks_own_class(way, status, error):
    endpoint = ReplyEndpoint(Reply(error=ErrorReply(status, "as said", code="c")))

    with pytest.raises(error) as caught:
        way(endpoint)

    assert (caught.value.status_code, caught.value.code) == (status, "c")
    assert caught.value.body["message"] == "as said"


def test_the_sdk_comes_back_at_once_where_the_error_says_so():
    later = Reply(error=ErrorReply(429, "slow down", retry_after_s=0))
    endpoint = ReplyEndpoint(later, later, Reply((Text("hello"),)))
    completion = client(endpoint, max_retries=2).chat.completions.create(**QUESTION)

    assert completion.choices[0].message.content == "hello"
    assert [request["headers"]["x-stainless-retry-count"] for request in endpoint.requests] == ["0", "1", "2"]
    assert [by for _, _, by in endpoint.done_calls] == ["kit"] * 3


@pytest.mark.parametrize("way", [streaming, async_streaming])
def test_a_stream_that_is_cut_cleanly_just_ends(way):
    endpoint = ReplyEndpoint(Reply((Text("hello"),), broken=Cut(after_chunks=3)), chunking=CHARACTER)

    assert way(endpoint) == {**NOTHING, "content": "he", "finish_reason": None}
    assert [by for _, _, by in endpoint.done_calls] == ["cut"]


@pytest.mark.parametrize("way", [streaming, async_streaming])
@pytest.mark.parametrize(
    "broken", [Cut(after_chunks=3, reset=True), Cut(after_bytes=100, reset=True), Stall(after_chunks=1)], ids=repr
)
def test_a_stream_that_is_reset_raises(way, broken):
    endpoint = ReplyEndpoint(Reply((Text("hello"),), broken=broken), chunking=CHARACTER)

    with pytest.raises((openai.APIConnectionError, httpx2.ReadError)):
        way(endpoint)

    assert [by for _, _, by in endpoint.done_calls] == ["cut"]
    assert endpoint.hangs == int(isinstance(broken, Stall))


@pytest.mark.parametrize("way", [blocking, async_blocking])
@pytest.mark.parametrize(
    ("broken", "cause"),
    [
        (Cut(after_bytes=9), httpx2.RemoteProtocolError),
        (Cut(after_bytes=9, reset=True), httpx2.ReadError),
        (Cut(after_chunks=1), httpx2.RemoteProtocolError),
        (Stall(), httpx2.ReadError),
    ],
    ids=repr,
)
def test_a_whole_body_that_is_broken_is_a_connection_error(way, broken, cause):
    endpoint = ReplyEndpoint(Reply((Text("hello"),), broken=broken))

    with pytest.raises(openai.APIConnectionError) as caught:
        way(endpoint)

    assert isinstance(caught.value.__cause__, cause)
    assert endpoint.done_calls == [("m1", getattr(broken, "after_bytes", None) or 0, "cut")]


def test_a_reader_that_stops_early_has_left():
    endpoint = ReplyEndpoint(Reply((Text("hello"),)), chunking=CHARACTER)
    stream = client(endpoint).chat.completions.create(**STREAM)
    next(iter(stream))
    stream.close()

    assert [by for _, _, by in endpoint.done_calls] == ["client"]


@pytest.mark.parametrize("way", WAYS)
def test_a_run_beyond_its_cap_hangs_before_it_is_asked_and_async_without_blocking_the_loop(way):
    told = []

    class Overrun(ReplyEndpoint):
        def hang(self):
            told.append(("hang", len(self.requests)))

        async def ahang(self):
            told.append(("ahang", len(self.requests)))

    endpoint = Overrun(Reply((Text("hello"),)))
    endpoint.overrun = True
    way(endpoint)

    assert told == [("ahang" if way in {async_blocking, async_streaming} else "hang", 0)]


def test_a_wait_lets_the_scenarios_time_pass():
    endpoint = ReplyEndpoint(Reply((Text("hello"),), wait_s=7.5))
    blocking(endpoint)

    assert endpoint.paused_s == [7.5]


def test_the_models_can_be_listed():
    assert [model.id for model in client(ReplyEndpoint()).models.list()] == ["fake-model"]


@pytest.mark.parametrize(
    ("method", "path", "content", "status", "message"),
    [
        ("POST", "/v1/embeddings", b"{}", 404, "POST /v1/embeddings"),
        ("GET", "/v1/chat/completions", b"", 405, "GET is not allowed on /v1/chat/completions"),
    ],
)
def test_what_no_wire_knows_is_answered_in_json_and_reaches_no_script(method, path, content, status, message):
    endpoint = ReplyEndpoint()
    with httpx2.Client(transport=transport(endpoint, httpx2)) as http:
        response = http.request(method, f"http://127.0.0.1:9{path}", content=content)

    assert response.status_code == status
    assert message in response.json()["error"]["message"]
    assert endpoint.requests == []


@pytest.mark.parametrize(
    ("content", "body"), [(b"{oops", "{oops"), (b"[1]", [1]), (b"\xff", "\ufffd"), (b"[" * 100_000, "[" * 100_000)]
)
def test_a_body_that_is_no_json_object_reaches_the_endpoint_which_judges_it(content, body):
    asked = []

    class Refusing(ReplyEndpoint):
        def exchange(self, wire, path, body, headers):
            asked.append(body)
            return super().exchange(wire, path, {}, headers)

    with httpx2.Client(transport=transport(Refusing(Reply((Text("no"),))), httpx2)) as http:
        http.post("http://127.0.0.1:9/v1/chat/completions", content=content)

    assert asked == [body]


@pytest.mark.parametrize("library", [httpx, httpx2])
def test_both_libraries_get_their_own_errors(library):
    endpoint = ReplyEndpoint(Reply((Text("hello"),)), Reply((Text("hello"),), broken=Cut(after_bytes=3, reset=True)))
    with library.Client(transport=transport(endpoint, library), base_url="http://127.0.0.1:9") as http:
        answer = http.post("/chat/completions", json=QUESTION)
        with pytest.raises(library.ReadError):
            http.post("/chat/completions", json=QUESTION)

    assert answer.json()["choices"][0]["message"]["content"] == "hello"
    assert answer.headers["content-type"] == "application/json"
