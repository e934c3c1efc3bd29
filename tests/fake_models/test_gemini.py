import asyncio
import hashlib
import itertools
import json

import httpx2
import pytest
from gemini_bench import BASE_URL, KEY, Bench, client
from google.genai import errors, types
from hypothesis import given
from hypothesis import strategies as st
from reply_endpoint import ReplyEndpoint

from fake_models.chunking import CHARACTER, WHOLE
from fake_models.httpx_transport import transport
from fake_models.in_process import CallableModel
from fake_models.messages import (
    Cut,
    ErrorEvent,
    ErrorReply,
    Message,
    ModelRequest,
    Reply,
    Text,
    Thinking,
    ToolCall,
    ToolSpec,
    Usage,
)
from fake_models.overflow import is_overflow
from fake_models.script import FOREVER, CallTurn, ErrorTurn, Turn
from fake_models.wire import CODECS
from fake_models.wire.codec import Stamp, told
from fake_models.wire.gemini import CODEC

STAMP = Stamp("reply_m1", 1767225600, "fake-model")
ASKED = ModelRequest("gemini", "fake-model", (), stream=True, include_usage=True)
USAGE = {"usageMetadata": {"promptTokenCount": 11, "candidatesTokenCount": 3, "totalTokenCount": 14}}
NAMES = {"modelVersion": "fake-model", "responseId": "reply_m1"}
#: base64 of the reply's id
SIGNED = {"thoughtSignature": "cmVwbHlfbTE="}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec=None), max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


def by_three(text):
    return tuple(text[at : at + 3] for at in range(0, len(text), 3))


def payload(candidate, usage=USAGE):
    return {"candidates": [{**candidate, "index": 0}], **usage, **NAMES}


def said(*parts, **more):
    return payload({"content": {"parts": list(parts), "role": "model"}, **more})


def finish(reason):
    return said({"text": ""}, finishReason=reason)


def call(name, args, **named):
    return {"functionCall": {**named, "name": name, "args": args}}


OSLO = ToolCall(None, "get_weather", '{"city": "Oslo"}')
UTC = ToolCall(None, "get_time", '{"tz":"UTC"}')
SPENT = Usage(11, 3)
PROMPT_ONLY = {"usageMetadata": {"promptTokenCount": 11, "totalTokenCount": 11}}
MALFORMED = {"finishReason": "MALFORMED_FUNCTION_CALL", "finishMessage": "Malformed function call"}

#: name, reply, the payloads of its stream in texts of three characters, its whole body.
SPELLED = [
    (
        "text",
        Reply((Text("Hello"),), usage=SPENT),
        [said({"text": "Hel"}), said({"text": "lo"}), finish("STOP")],
        said({"text": "Hello"}, finishReason="STOP"),
    ),
    (
        "a call",
        Reply((OSLO,), stop="tool_calls", usage=SPENT),
        [said({**call("get_weather", {"city": "Oslo"}), **SIGNED}), finish("STOP")],
        said({**call("get_weather", {"city": "Oslo"}), **SIGNED}, finishReason="STOP"),
    ),
    (
        "a call with an id",
        Reply((ToolCall("fc_1", "f", ""),), stop="tool_calls", usage=SPENT),
        [said({**call("f", {}, id="fc_1"), **SIGNED}), finish("STOP")],
        said({**call("f", {}, id="fc_1"), **SIGNED}, finishReason="STOP"),
    ),
    (
        "parallel calls",
        Reply((OSLO, UTC), stop="tool_calls", usage=SPENT),
        [said({**call("get_weather", {"city": "Oslo"}), **SIGNED}, call("get_time", {"tz": "UTC"})), finish("STOP")],
        said({**call("get_weather", {"city": "Oslo"}), **SIGNED}, call("get_time", {"tz": "UTC"}), finishReason="STOP"),
    ),
    (
        "thinking",
        Reply((Thinking("Think."), Text("Hi")), usage=SPENT),
        [
            said({"text": "Thi", "thought": True}),
            said({"text": "nk.", "thought": True}),
            said({"text": "Hi"}),
            finish("STOP"),
        ],
        said({"text": "Think.", "thought": True}, {"text": "Hi"}, finishReason="STOP"),
    ),
    (
        "cut by length",
        Reply((Text("Hel"),), stop="length", usage=SPENT),
        [said({"text": "Hel"}), finish("MAX_TOKENS")],
        said({"text": "Hel"}, finishReason="MAX_TOKENS"),
    ),
    (
        "length with nothing said",
        Reply((), stop="length", usage=Usage(11, 0)),
        [payload({"content": {"role": "model"}, "finishReason": "MAX_TOKENS"}, PROMPT_ONLY)],
        payload({"content": {"role": "model"}, "finishReason": "MAX_TOKENS"}, PROMPT_ONLY),
    ),
    (
        "filtered",
        Reply((), stop="filter", usage=SPENT),
        [payload({"finishReason": "SAFETY"})],
        payload({"finishReason": "SAFETY"}),
    ),
    (
        "filtered in the middle",
        Reply((Text("Hel"),), stop="filter", usage=SPENT),
        [said({"text": "Hel"}), payload({"finishReason": "SAFETY"})],
        said({"text": "Hel"}, finishReason="SAFETY"),
    ),
    (
        "a malformed call",
        Reply((ToolCall("c", "f", "print(x"),), stop="tool_calls", usage=Usage(11, 0)),
        [payload({"content": {"role": "model"}, **MALFORMED}, PROMPT_ONLY)],
        payload({"content": {"role": "model"}, **MALFORMED}, PROMPT_ONLY),
    ),
    (
        "a blocked prompt",
        Reply((), stop="filter", usage=Usage(11, 0), quirks=("prompt_blocked",)),
        [{"promptFeedback": {"blockReason": "SAFETY"}, **PROMPT_ONLY, "modelVersion": "fake-model"}],
        {"promptFeedback": {"blockReason": "SAFETY"}, **PROMPT_ONLY, "modelVersion": "fake-model"},
    ),
    (
        "no usage, a raw finish",
        Reply((Text("x"),), finish="RECITATION"),
        [
            payload({"content": {"parts": [{"text": "x"}], "role": "model"}}, {}),
            payload({"content": {"parts": [{"text": ""}], "role": "model"}, "finishReason": "RECITATION"}, {}),
        ],
        payload({"content": {"parts": [{"text": "x"}], "role": "model"}, "finishReason": "RECITATION"}, {}),
    ),
]


def streamed(reply, pieces=by_three):
    chunks = CODEC.chunks(told(CODEC, reply, ASKED), STAMP, ASKED, pieces)
    for name, quirk in CODEC.quirks.items():
        chunks = quirk.chunks(chunks) if name in reply.quirks else chunks
    return list(chunks)


def unstreamed(reply):
    body = CODEC.whole(told(CODEC, reply, ASKED), STAMP)
    for name, quirk in CODEC.quirks.items():
        body = quirk.whole(body) if name in reply.quirks else body
    return body


@pytest.mark.parametrize(("reply", "chunks"), [row[1:3] for row in SPELLED], ids=[row[0] for row in SPELLED])
def test_a_streamed_reply_is_spelled_as_the_provider_does(reply, chunks):
    assert streamed(reply) == chunks


@pytest.mark.parametrize(("reply", "body"), [row[1::2] for row in SPELLED], ids=[row[0] for row in SPELLED])
def test_a_whole_reply_is_spelled_as_the_provider_does(reply, body):
    assert unstreamed(reply) == body


def test_the_wire_stands_in_the_table_under_its_name():
    assert CODECS["gemini"] is CODEC


def test_an_event_is_framed_in_utf_8_and_nothing_ends_the_stream_or_keeps_it_alive():
    assert CODEC.frame({"a": "时"}) == 'data: {"a":"时"}\n\n'.encode()
    assert (CODEC.trailer, CODEC.comment, CODEC.stream_type) == (b"", b"", "text/event-stream")


@pytest.mark.parametrize(
    ("path", "model"),
    [
        ("/v1beta/models/gemini-9:generateContent", "gemini-9"),
        ("/v1/models/gemini-9:streamGenerateContent", "gemini-9"),
        ("/s/token/v1/models/gemini-9:generateContent", "gemini-9"),
        ("/v1beta1/projects/p/locations/l/publishers/google/models/gemini-9:generateContent", "gemini-9"),
        ("/v1beta/tunedModels/my-own:generateContent", "my-own"),
        ("/v1/projects/p/locations/l/endpoints/123:generateContent", "123"),
        ("/v1beta/models/llama3:8b:generateContent", "llama3:8b"),
    ],
)
def test_the_path_names_the_model_under_every_version_and_prefix(path, model):
    assert CODEC.route.search(path)
    assert CODEC.decode({}, path).model == model


@pytest.mark.parametrize(
    "path",
    [
        "/v1beta/models",
        "/v1beta/models/m",
        "/v1beta/models/m:countTokens",
        "/v1/models/m:generateContent/x",
        "/models/:",
    ],
)
def test_other_paths_are_not_this_wire(path):
    assert not CODEC.route.search(path)


@pytest.mark.parametrize(
    ("path", "body", "streams"),
    [
        ("/v1beta/models/m:generateContent", {}, False),
        ("/v1beta/models/m:streamGenerateContent", {}, True),
        ("/v1beta/models/m:generateContent", {"stream": True}, True),
    ],
)
def test_the_path_asks_for_a_stream_or_the_body_does(path, body, streams):
    assert CODEC.decode(body, path).stream is streams


# What the official client hears.


def merged(parts):
    """Parts as kinds and texts, neighbours of one kind joined, since neither a cut nor an empty text is a part of what was said."""
    kinds = [
        ("call", part.function_call.id, part.function_call.name, part.function_call.args)
        if part.function_call
        else ("thinking" if part.thought else "text", part.text)
        for part in parts
    ]
    joined = []
    for kind, group in itertools.groupby(kinds, key=lambda row: row[0]):
        rows = list(group)
        joined += rows if kind == "call" else [(kind, "".join(text for _, text in rows))]
    return [row for row in joined if row[0] == "call" or row[1]]


def heard(responses):
    candidates = [one for response in responses for one in response.candidates or ()]
    reasons = [one.finish_reason.name for one in candidates if one.finish_reason]
    usage = responses[-1].usage_metadata
    return {
        "parts": merged([part for one in candidates if one.content for part in one.content.parts or ()]),
        "finish": reasons,
        "usage": usage and (usage.prompt_token_count, usage.candidates_token_count, usage.total_token_count),
        "named": {(one.response_id, one.model_version) for one in responses},
    }


ASK = {"model": "fake-model", "contents": "hi"}


def plain(sdk):
    return [sdk.models.generate_content(**ASK)]


def stream(sdk):
    return list(sdk.models.generate_content_stream(**ASK))


def async_plain(sdk):
    async def ask():
        return [await sdk.aio.models.generate_content(**ASK)]

    return asyncio.run(ask())


def async_stream(sdk):
    async def ask():
        return [chunk async for chunk in await sdk.aio.models.generate_content_stream(**ASK)]

    return asyncio.run(ask())


WAYS = [plain, stream, async_plain, async_stream]


def hears(parts, finish="STOP", usage=None):
    return {"parts": parts, "finish": [finish], "usage": usage, "named": {("chatcmpl-1", "any-name")}}


HEARD = {
    "text": (Reply((Text("hello"),), usage=Usage(11, 3)), hears([("text", "hello")], usage=(11, 3, 14))),
    "non-ASCII": (Reply((Text("时间查询完成 🙂"),)), hears([("text", "时间查询完成 🙂")])),
    "separators inside": (Reply((Text("a\r\n\n\u2028b\x85"),)), hears([("text", "a\r\n\n\u2028b\x85")])),
    "thinking": (Reply((Thinking("hm"), Text("yes"))), hears([("thinking", "hm"), ("text", "yes")])),
    "one call": (
        Reply((ToolCall("c1", "f", '{"x":"时"}'),), stop="tool_calls"),
        hears([("call", "c1", "f", {"x": "时"})]),
    ),
    "parallel calls": (
        Reply((ToolCall("c1", "f", "{}"), ToolCall("c2", "f", '{"x":2}')), stop="tool_calls"),
        hears([("call", "c1", "f", {}), ("call", "c2", "f", {"x": 2})]),
    ),
    "text and call": (
        Reply((Text("let me see"), ToolCall("c1", "f", " ")), stop="tool_calls"),
        hears([("text", "let me see"), ("call", "c1", "f", {})]),
    ),
    "ids missing and empty": (
        Reply((ToolCall(None, "f", "{}"), ToolCall("", "g", "{}")), stop="tool_calls"),
        hears([("call", None, "f", {}), ("call", "", "g", {})]),
    ),
    "length": (Reply((Text("he"),), stop="length"), hears([("text", "he")], "MAX_TOKENS")),
    "filter": (Reply((), stop="filter"), hears([], "SAFETY")),
    "nothing": (Reply(()), hears([])),
    "null": (Reply((Text(None),)), hears([])),
    "blank": (Reply((Text(" \n"),)), hears([("text", " \n")])),
    "thinking only": (Reply((Thinking("hm"),)), hears([("thinking", "hm")])),
    "malformed arguments": (
        Reply((Text("let me see"), ToolCall("c1", "f", '{"x": Oslo')), stop="tool_calls"),
        hears([], "MALFORMED_FUNCTION_CALL"),
    ),
    "arguments that are a list": (
        Reply((ToolCall("c1", "f", "[1]"),), stop="tool_calls"),
        hears([], "MALFORMED_FUNCTION_CALL"),
    ),
    "raw finish": (Reply((Text("x"),), finish="RECITATION"), hears([("text", "x")], "RECITATION")),
    "no output": (Reply((), usage=Usage(11, 0)), hears([], usage=(11, None, 11))),
    "calls in chunks of their own": (
        Reply((OSLO, UTC), stop="tool_calls", quirks=("calls_whole",)),
        hears([("call", None, "get_weather", {"city": "Oslo"}), ("call", None, "get_time", {"tz": "UTC"})]),
    ),
    "text after calls": (
        Reply(
            (Thinking("hm"), Text("there"), ToolCall("c1", "f", "{}")), stop="tool_calls", quirks=("text_after_calls",)
        ),
        hears([("thinking", "hm"), ("call", "c1", "f", {}), ("text", "there")]),
    ),
    "duplicate ids": (
        Reply((ToolCall("c1", "f", "{}"), ToolCall("c2", "g", "{}")), stop="tool_calls", quirks=("duplicate_ids",)),
        hears([("call", "c1", "f", {}), ("call", "c1", "g", {})]),
    ),
    "usage last": (
        Reply((Text("x"),), usage=Usage(11, 3), quirks=("usage_last",)),
        hears([("text", "x")], usage=(11, 3, 14)),
    ),
    "usage null": (Reply((Text("x"),), usage=Usage(11, 3), quirks=("usage_null",)), hears([("text", "x")])),
    "finish missing": (
        Reply((Text("x"),), quirks=("finish_missing",)),
        {**hears([("text", "x")]), "finish": []},
    ),
    "prompt blocked": (
        Reply((Text("x"),), quirks=("prompt_blocked",)),
        {**hears([]), "finish": [], "named": {(None, "any-name")}},
    ),
}


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@pytest.mark.parametrize(("reply", "expected"), HEARD.values(), ids=HEARD.keys())
def test_the_official_client_hears_what_the_reply_said(reply, expected, way):
    assert heard(way(client(ReplyEndpoint(reply)))) == expected


@pytest.mark.parametrize(("reply", "expected"), HEARD.values(), ids=HEARD.keys())
def test_the_official_client_hears_the_same_one_character_at_a_time(reply, expected):
    assert heard(stream(client(ReplyEndpoint(reply, chunking=CHARACTER)))) == expected


@pytest.mark.parametrize("version", ["v1", "v1beta"])
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_both_versions_of_the_path_are_answered(way, version):
    endpoint = ReplyEndpoint(Reply((Text("hello"),)))

    assert heard(way(client(endpoint, api_version=version))) == hears([("text", "hello")])
    assert endpoint.requests[0]["path"].startswith(f"/s/token/{version}/models/fake-model:")


ARGUMENTS = st.dictionaries(
    st.text(max_size=5),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
        max_leaves=6,
    ),
    max_size=3,
)
PARTS = st.lists(
    st.builds(Text, st.text(min_size=1))
    | st.builds(Thinking, st.text(min_size=1))
    | st.builds(ToolCall, st.none() | st.text(min_size=1), st.text(min_size=1), ARGUMENTS.map(json.dumps)),
    max_size=5,
).map(tuple)
REPLIES = st.builds(
    Reply,
    PARTS,
    stop=st.sampled_from(["stop", "length", "tool_calls"]),
    usage=st.none() | st.builds(Usage, st.integers(0, 10**6), st.integers(1, 10**6)),
)


def of_reply(reply):
    parts = [
        types.Part(function_call=types.FunctionCall(id=part.id, name=part.name, args=json.loads(part.arguments)))
        if isinstance(part, ToolCall)
        else types.Part(text=part.text, thought=isinstance(part, Thinking))
        for part in reply.parts
    ]
    usage = reply.usage and (reply.usage.input, reply.usage.output, reply.usage.input + reply.usage.output)
    return hears(merged(parts), "MAX_TOKENS" if reply.stop == "length" else "STOP", usage)


@given(REPLIES, st.sampled_from([WHOLE, CHARACTER]))
def test_saying_a_reply_and_hearing_it_gives_the_reply(reply, chunking):
    sdk = client(ReplyEndpoint(reply, reply, chunking=chunking))

    assert heard(plain(sdk)) == heard(stream(sdk)) == of_reply(reply)


def test_only_the_last_chunk_has_usage_where_the_quirk_asks_for_it_and_every_chunk_has_it_otherwise():
    def counted(reply):
        return ["usageMetadata" in chunk for chunk in streamed(reply)]

    assert counted(Reply((Text("Hello"),), usage=SPENT)) == [True, True, True]
    assert counted(Reply((Text("Hello"),), usage=SPENT, quirks=("usage_last",))) == [False, False, True]
    assert unstreamed(Reply(quirks=("usage_null",)))["usageMetadata"] is None


def test_each_call_has_a_chunk_of_its_own_where_the_quirk_asks_for_it():
    reply = Reply((OSLO, UTC), stop="tool_calls", quirks=("calls_whole",), usage=SPENT)

    assert streamed(reply) == [
        said({**call("get_weather", {"city": "Oslo"}), **SIGNED}),
        said(call("get_time", {"tz": "UTC"})),
        finish("STOP"),
    ]


# What of a reply the wire can say.


@pytest.mark.parametrize(
    ("reply", "left"),
    [
        (Reply((Text(None), Text("x"))), Reply((Text("x"),))),
        (Reply((ToolCall("c", "f", '{"x": 1, "y":\n"时"}'),)), Reply((ToolCall("c", "f", '{"x":1,"y":"时"}'),))),
        (Reply((ToolCall("c", "f", " "),)), Reply((ToolCall("c", "f", "{}"),))),
        (
            Reply((Text("x"), ToolCall("c", "f", "{}"), ToolCall("d", "g", "{bad")), stop="tool_calls", usage=SPENT),
            Reply((), usage=SPENT, finish="MALFORMED_FUNCTION_CALL"),
        ),
        (Reply((ToolCall("c", "f", "3"),)), Reply((), finish="MALFORMED_FUNCTION_CALL")),
        (Reply((ToolCall("c", "f", '{"x": NaN}'),)), Reply((), finish="MALFORMED_FUNCTION_CALL")),
        (Reply((ToolCall("c", "f", '{"x": 1e999}'),)), Reply((), finish="MALFORMED_FUNCTION_CALL")),
        (Reply((ToolCall("c", "f", "[" * 10**5),)), Reply((), finish="MALFORMED_FUNCTION_CALL")),
        (Reply((ToolCall("c", "f", "{bad"),), finish="OTHER"), Reply((), finish="OTHER")),
        (
            Reply((Text("x"), ToolCall("c", "f", '{"x": "Os'), Text("y")), stop="length"),
            Reply((Text("x"),), stop="length"),
        ),
        (Reply(error=ErrorReply(500, "")), Reply(error=ErrorReply(500, ""))),
    ],
)
def test_what_the_wire_cannot_say_is_not_said(reply, left):
    assert CODEC.carried(reply, ASKED) == left


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_a_malformed_call_is_recorded_as_the_client_hears_it(way):
    bench = Bench(Turn(calls=(CallTurn("f", raw="print(x"),), usage=Usage(11, 0)))

    assert heard(way(client(bench.model)))["finish"] == ["MALFORMED_FUNCTION_CALL"]
    (reply,) = bench.recorded("reply")
    assert (reply["parts"], reply["stop"], reply["fault"]) == ([], "stop", {"finish": "MALFORMED_FUNCTION_CALL"})


# Errors.


def google(type_, **more):
    return {"@type": f"type.googleapis.com/google.rpc.{type_}", **more}


@pytest.mark.parametrize(
    ("error", "spelled"),
    [
        (
            ErrorReply(
                400,
                "Please ensure that the number of function response parts is equal to the number of function call parts of the "
                "function call turn.",
                type="INVALID_ARGUMENT",
            ),
            {
                "code": 400,
                "message": "Please ensure that the number of function response parts is equal to the number of function call "
                "parts of the function call turn.",
                "status": "INVALID_ARGUMENT",
            },
        ),
        (
            ErrorReply(400, "", code="API_KEY_INVALID"),
            {
                "code": 400,
                "message": "API key not valid. Please pass a valid API key.",
                "status": "INVALID_ARGUMENT",
                "details": [google("ErrorInfo", reason="API_KEY_INVALID", domain="googleapis.com")],
            },
        ),
        (
            ErrorReply(429, "", code="insufficient_quota", retry_after_s=0),
            {
                "code": 429,
                "message": "You exceeded your current quota, please check your plan and billing details.",
                "status": "RESOURCE_EXHAUSTED",
                "details": [
                    google("ErrorInfo", reason="insufficient_quota", domain="googleapis.com"),
                    google("RetryInfo", retryDelay="0s"),
                ],
            },
        ),
        (
            ErrorReply(429, "", retry_after_s=1.5),
            {
                "code": 429,
                "message": "Resource has been exhausted (e.g. check quota).",
                "status": "RESOURCE_EXHAUSTED",
                "details": [google("RetryInfo", retryDelay="1.5s")],
            },
        ),
        (
            ErrorReply(503, ""),
            {"code": 503, "message": "The model is overloaded. Please try again later.", "status": "UNAVAILABLE"},
        ),
        (ErrorReply(418, ""), {"code": 418, "message": "HTTP status 418.", "status": "INVALID_ARGUMENT"}),
        (ErrorReply(599, "as said"), {"code": 599, "message": "as said", "status": "INTERNAL"}),
    ],
)
def test_an_error_is_spelled_as_the_provider_does(error, spelled):
    assert CODEC.error(error) == CODEC.error_event(error) == {"error": spelled}


STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    408: "DEADLINE_EXCEEDED",
    409: "ABORTED",
    413: "INVALID_ARGUMENT",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    502: "UNAVAILABLE",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
    529: "UNAVAILABLE",
}


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@pytest.mark.parametrize(("status", "word"), STATUSES.items())
def test_the_official_client_raises_an_error_with_the_providers_word_for_its_status(status, word, way):
    with pytest.raises(errors.ServerError if status >= 500 else errors.ClientError) as raised:
        way(client(ReplyEndpoint(Reply(error=ErrorReply(status, "")))))

    assert (raised.value.code, raised.value.status) == (status, word)
    assert raised.value.message


@pytest.mark.parametrize("way", [stream, async_stream], ids=lambda way: way.__name__)
def test_an_error_in_mid_stream_reaches_the_official_client_behind_what_was_said(way):
    broken = ErrorEvent(ErrorReply(503, ""), after_chunks=2)

    with pytest.raises(errors.ServerError, match="The model is overloaded"):
        way(client(ReplyEndpoint(Reply((Text("Hello"),), broken=broken))))


def test_a_stream_cut_before_its_last_chunk_shows_it_by_the_finish_reason_it_lacks():
    cut = Reply((Text("Hello"),), broken=Cut(after_chunks=2))

    assert heard(stream(client(ReplyEndpoint(cut)))) == {**hears([("text", "Hello")]), "finish": []}


@pytest.mark.parametrize("spelling", ["gemini", "provider", "code"])
def test_an_overflow_is_told_in_words_that_are_recognised(spelling):
    bench = Bench(Turn(overflow=spelling))

    with pytest.raises(errors.ClientError) as raised:
        plain(client(bench.model))

    assert raised.value.message == ("The input token count (9001) exceeds the maximum number of tokens allowed (8192).")
    assert is_overflow(raised.value.code, raised.value.details)


def test_a_usual_overflow_is_recognised_too():
    bench = Bench(Turn(error=ErrorTurn(400, code="context_length_exceeded")))

    with pytest.raises(errors.ClientError, match="exceeds the maximum number of tokens") as raised:
        plain(client(bench.model))

    assert is_overflow(raised.value.code, raised.value.details)


def test_no_other_usual_error_is_taken_for_an_overflow():
    for status in STATUSES:
        assert not is_overflow(status, CODEC.error(ErrorReply(status, "")))


# Requests.

WEATHER = {"type": "object", "properties": {"city": {"type": "string"}}}
CAMEL = {
    "systemInstruction": {"parts": [{"text": "Be "}, {"text": "brief."}]},
    "contents": [
        {"parts": [{"text": "hi"}]},
        {
            "role": "model",
            "parts": [
                {"text": "hm", "thought": True},
                {"text": "let me see"},
                {"functionCall": {"id": "c1", "name": "weather", "args": {"city": "时"}}, "thoughtSignature": "c2ln"},
            ],
        },
        {
            "role": "user",
            "parts": [{"functionResponse": {"id": "c1", "name": "weather", "response": {"result": "snow"}}}],
        },
    ],
    "tools": [
        {
            "functionDeclarations": [
                {"name": "weather", "description": "Sky", "parametersJsonSchema": WEATHER},
                {"name": "clock"},
            ]
        },
        {"googleSearch": {}},
    ],
    "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["weather"]}},
}
SNAKE = {
    "system_instruction": {"parts": {"text": "Be brief."}},
    "contents": [
        {"role": "user", "parts": {"text": "hi"}},
        {
            "role": "model",
            "parts": [
                {"text": "let me see"},
                {"function_call": {"id": "c1", "name": "weather", "args": {"city": "时"}}},
            ],
        },
        {"role": "function", "parts": [{"function_response": {"name": "weather", "response": {"output": "snow"}}}]},
    ],
    "tools": {
        "function_declarations": [
            {"name": "weather", "description": "Sky", "parameters_json_schema": WEATHER},
            {"name": "clock", "parameters": {}},
        ]
    },
    "tool_config": {"function_calling_config": {"mode": "ANY", "allowed_function_names": ["weather"]}},
}


def compact(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


@pytest.mark.parametrize(
    ("body", "system"),
    [(CAMEL, CAMEL["systemInstruction"]), (SNAKE, SNAKE["system_instruction"])],
    ids=["camel", "snake"],
)
def test_a_request_is_read_whole_in_both_spellings(body, system):
    request = CODEC.decode(body, "/v1beta/models/m:streamGenerateContent")
    assert request == ModelRequest(
        wire="gemini",
        model="m",
        messages=(
            Message("system", "Be brief."),
            Message("user", "hi"),
            Message("assistant", "let me see", (ToolCall("c1", "weather", '{"city":"时"}'),)),
            Message("tool", "snow", (), "c1"),
        ),
        tools=(ToolSpec("weather", "Sky", WEATHER), ToolSpec("clock", "", {})),
        tool_choice="weather",
        stream=True,
        include_usage=True,
    )
    assert request.size == len(compact(system)) + len(compact(body["contents"]))


def model(*parts):
    return {"role": "model", "parts": list(parts)}


def user(*parts):
    return {"role": "user", "parts": list(parts)}


def result(name, response, **named):
    return {"functionResponse": {**named, "name": name, "response": response}}


def tool(call_id, content):
    return Message("tool", content, (), call_id)


HI = {"text": "hi"}
CONVERSATIONS = {
    "ids missing: paired by name and order": (
        [
            model(call("f", {"n": 1}), call("g", {}), call("f", {"n": 2})),
            user(result("f", {"result": "1"}), result("f", {"result": "2"}), result("g", {"result": "3"})),
        ],
        [
            Message(
                "assistant",
                None,
                (
                    ToolCall("made_up_1", "f", '{"n":1}'),
                    ToolCall("made_up_2", "g", "{}"),
                    ToolCall("made_up_3", "f", '{"n":2}'),
                ),
            ),
            tool("made_up_1", "1"),
            tool("made_up_3", "2"),
            tool("made_up_2", "3"),
        ],
    ),
    "ids in any order": (
        [
            model(call("f", {}, id="a"), call("f", {}, id="b")),
            user(result("f", {"result": "2"}, id="b"), result("f", {"result": "1"}, id="a")),
        ],
        [
            Message("assistant", None, (ToolCall("a", "f", "{}"), ToolCall("b", "f", "{}"))),
            tool("b", "2"),
            tool("a", "1"),
        ],
    ),
    "only the calls have ids": (
        [model(call("f", {}, id="a")), user(result("f", {"result": "1"}))],
        [Message("assistant", None, (ToolCall("a", "f", "{}"),)), tool("a", "1")],
    ),
    "only the results have ids": (
        [model(call("f", {}, id="")), user(result("f", {"result": "1"}, id="x"))],
        [Message("assistant", None, (ToolCall("made_up_1", "f", "{}"),)), tool("made_up_1", "1")],
    ),
    "a result of no call": (
        [user(result("f", {"result": "1"})), user(result("g", {"result": "2"}, id="x"))],
        [tool("made_up_result_1", "1"), tool("x", "2")],
    ),
    "a second result of one call": (
        [model(call("f", {})), user(result("f", {"result": "1"}), result("f", {"result": "2"}))],
        [
            Message("assistant", None, (ToolCall("made_up_1", "f", "{}"),)),
            tool("made_up_1", "1"),
            tool("made_up_result_2", "2"),
        ],
    ),
    "results before the text beside them": (
        [model(call("f", {}, id="a")), user(HI, result("f", {"result": "1"}, id="a"))],
        [Message("assistant", None, (ToolCall("a", "f", "{}"),)), tool("a", "1"), Message("user", "hi")],
    ),
    "the chunks of a stream, kept one by one": (
        [
            model({"text": "hm", "thought": True}),
            model({"text": "he"}),
            model({"text": "llo"}),
            model(call("f", {}, id="a")),
        ],
        [Message("assistant", "hello", (ToolCall("a", "f", "{}"),))],
    ),
    "users in a row": ([user(HI), user(HI)], [Message("user", "hi"), Message("user", "hi")]),
    "no text at all": ([user({"inlineData": {"data": ""}})], [Message("user", None)]),
    "another role": ([{"role": "system", "parts": [HI]}], [Message("system", "hi")]),
}


@pytest.mark.parametrize(("contents", "messages"), CONVERSATIONS.values(), ids=CONVERSATIONS.keys())
def test_contents_become_messages(contents, messages):
    assert list(CODEC.decode({"contents": contents}).messages) == messages


def test_a_made_up_id_stays_what_it_was_when_the_conversation_grows():
    first = [user(HI), model(call("f", {})), user(result("f", {"result": "1"}))]
    later = [*first, model(call("f", {})), user(result("f", {"result": "2"}))]

    before, after = CODEC.decode({"contents": first}).messages, CODEC.decode({"contents": later}).messages

    assert after[: len(before)] == before
    assert [message.tool_call_id for message in after if message.role == "tool"] == ["made_up_1", "made_up_2"]


@pytest.mark.parametrize(
    ("response", "content"),
    [
        ({"result": "snow"}, "snow"),
        ({"output": "snow"}, "snow"),
        ({"error": "no sky"}, "no sky"),
        ({"result": {"deg": 1, "sky": "雪"}}, '{"deg":1,"sky":"雪"}'),
        ({"result": None}, "null"),
        ({"result": ""}, ""),
        ({"result": False}, "false"),
        ({"result": [1, 2]}, "[1,2]"),
        ({"deg": 1}, '{"deg":1}'),
        ({"result": "a", "error": "b"}, '{"result":"a","error":"b"}'),
        ({}, "{}"),
    ],
)
def test_a_result_is_read_out_of_its_wrapper(response, content):
    (message,) = CODEC.decode({"contents": [user(result("f", response))]}).messages

    assert message.content == content


@pytest.mark.parametrize(
    ("body", "tools"),
    [
        ({}, None),
        ({"tools": None}, None),
        ({"tools": []}, ()),
        ({"tools": "odd"}, None),
        ({"tools": [{"googleSearch": {}}]}, ()),
        (
            {"tools": [{"functionDeclarations": [{"name": "a"}]}, {"functionDeclarations": [{"name": "b"}]}]},
            (ToolSpec("a", "", {}), ToolSpec("b", "", {})),
        ),
        (
            {"tools": [{"functionDeclarations": [{"name": "a", "parameters": {"type": "OBJECT"}}]}]},
            (ToolSpec("a", "", {"type": "OBJECT"}),),
        ),
    ],
)
def test_the_functions_of_all_tools_are_the_tools_offered(body, tools):
    assert CODEC.decode(body).tools == tools


@pytest.mark.parametrize(
    ("calling", "choice"),
    [
        ({"mode": "AUTO"}, "auto"),
        ({"mode": "ANY"}, "required"),
        ({"mode": "NONE"}, "none"),
        ({"mode": "VALIDATED"}, "auto"),
        ({"mode": "ANY", "allowedFunctionNames": ["f"]}, "f"),
        ({"mode": "ANY", "allowedFunctionNames": ["f", "g"]}, "required"),
        ({"mode": "ANY", "allowedFunctionNames": [3]}, "required"),
        ({"mode": "VALIDATED", "allowedFunctionNames": ["f"]}, "auto"),
        ({"mode": "any"}, "required"),
        ({"mode": 3}, None),
        ({}, None),
        (None, None),
    ],
)
def test_a_calling_mode_is_read_as_a_tool_choice(calling, choice):
    assert CODEC.decode({"toolConfig": {"functionCallingConfig": calling}}).tool_choice == choice


KEYS = ["contents", "systemInstruction", "system_instruction", "tools", "toolConfig", "tool_config", "stream"]


@given(st.dictionaries(st.sampled_from(KEYS), JSON), st.text())
def test_no_json_body_and_no_path_make_the_reader_raise(body, path):
    assert CODEC.decode(body, path).size >= 0


PART = st.fixed_dictionaries(
    {}, optional=dict.fromkeys(("text", "thought", "functionCall", "function_call", "functionResponse"), JSON)
)
RESPONSE = st.fixed_dictionaries({}, optional=dict.fromkeys(("id", "name", "response", "args"), JSON))


CALL_AND_RESULT = st.builds(lambda one: {"functionCall": one, "functionResponse": one}, RESPONSE)


@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "role": st.sampled_from(["user", "model", "function"]) | JSON,
                "parts": JSON | st.lists(PART | CALL_AND_RESULT, max_size=3),
            }
        ),
        max_size=3,
    )
)
def test_no_json_content_makes_the_reader_raise(contents):
    assert CODEC.decode({"contents": contents}).size >= 0


@pytest.mark.parametrize("body", [[], "text", 3, None])
def test_a_body_that_is_no_object_is_read_as_an_empty_one(body):
    assert CODEC.decode(body).messages == ()


# What the official client sends.

WEATHER_TOOL = types.Tool(
    function_declarations=[
        types.FunctionDeclaration(name="weather", description="Sky", parameters_json_schema=WEATHER),
    ]
)


def test_a_loop_of_the_official_client_is_read_as_one_conversation():
    calls = (ToolCall("c1", "weather", '{"city":"Oslo"}'), ToolCall("c2", "weather", '{"city":"Rome"}'))
    endpoint = ReplyEndpoint(
        Reply((Thinking("hm"), Text("let me see"), *calls), stop="tool_calls"), Reply((Text("done"),))
    )
    sdk = client(endpoint)
    config = types.GenerateContentConfig(
        system_instruction="Be brief.",
        tools=[WEATHER_TOOL],
        tool_config=types.ToolConfig(function_calling_config=types.FunctionCallingConfig(mode="AUTO")),
    )
    contents = [types.Content(role="user", parts=[types.Part.from_text(text="sky?")])]

    response = sdk.models.generate_content(model="fake-model", contents=contents, config=config)
    contents.append(response.candidates[0].content)
    contents.append(
        types.Content(
            role="user",
            parts=[
                types.Part.from_function_response(name=one.name, response={"result": one.args["city"]})
                for one in response.function_calls
            ],
        )
    )
    sdk.models.generate_content(model="fake-model", contents=contents, config=config)

    sent = endpoint.requests[-1]
    request = CODEC.decode(sent["body"], sent["path"])
    assert request == ModelRequest(
        wire="gemini",
        model="fake-model",
        messages=(
            Message("system", "Be brief."),
            Message("user", "sky?"),
            Message("assistant", "let me see", calls),
            Message("tool", "Oslo", (), "c1"),
            Message("tool", "Rome", (), "c2"),
        ),
        tools=(ToolSpec("weather", "Sky", WEATHER),),
        tool_choice="auto",
        stream=False,
        include_usage=True,
    )
    assert request.size == len(compact(sent["body"]["contents"])) + len(compact(sent["body"]["systemInstruction"]))
    signature = sent["body"]["contents"][1]["parts"][2]["thoughtSignature"]
    assert signature == "Y2hhdGNtcGwtMQ=="  # base64 of chatcmpl-1, the id of the first reply


def test_a_chat_of_the_official_client_that_streams_is_read_as_one_message_per_reply():
    endpoint = ReplyEndpoint(Reply((Text("hello"),)), Reply((Text("bye"),)), chunking=CHARACTER)
    chat = client(endpoint).chats.create(model="fake-model")

    for question in ("hi", "and?"):
        list(chat.send_message_stream(question))

    sent = endpoint.requests[-1]
    assert CODEC.decode(sent["body"], sent["path"]).messages == (
        Message("user", "hi"),
        Message("assistant", "hello"),
        Message("user", "and?"),
    )


def test_a_vertex_client_is_answered_too():
    endpoint = ReplyEndpoint(Reply((Text("hello"),)))

    assert plain(client(endpoint, vertexai=True))[0].text == "hello"
    assert endpoint.requests[0]["path"].endswith("/publishers/google/models/fake-model:generateContent")


def test_a_key_is_recorded_as_a_digest_from_the_header_and_not_at_all_from_the_query():
    bench = Bench(Turn("ok", repeat=FOREVER))

    plain(client(bench.model))
    http = httpx2.Client(transport=transport(bench.model, httpx2))
    asked = http.post(
        f"{BASE_URL}/v1beta/models/m:generateContent?key={KEY}", json={"contents": [{"parts": [{"text": "hi"}]}]}
    )

    assert asked.json()["candidates"][0]["content"]["parts"] == [{"text": "ok"}]
    assert KEY not in json.dumps(bench.records)
    assert [data["secrets"] for data in bench.recorded("request")] == [
        [hashlib.sha256(KEY.encode()).hexdigest()[:16]],
        [],
    ]


def test_a_caller_in_the_process_asks_on_the_codecs_path_and_streams_by_the_body():
    endpoint = ReplyEndpoint(Reply((Text("a"),)), Reply((Text("b"),)))
    asker = CallableModel(endpoint, wire="gemini")
    body = {"contents": [user(HI)]}

    assert asker.model(body)["candidates"][0]["content"]["parts"] == [{"text": "a"}]
    assert [chunk["candidates"][0]["content"]["parts"] for chunk in asker.stream_model(body)] == [
        [{"text": "b"}],
        [{"text": ""}],
    ]
    assert {sent["path"] for sent in endpoint.requests} == {"/v1beta/models/fake-model:generateContent"}
