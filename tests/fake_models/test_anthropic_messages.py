import asyncio
import hashlib
import json
from dataclasses import replace
from datetime import UTC, datetime
from unittest.mock import ANY

import anthropic
import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reply_endpoint import ReplyEndpoint

from fake_models.chunking import CHARACTER, WHOLE, per_character, whole
from fake_models.httpx_transport import transport
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
    World,
)
from fake_models.script import CallTurn, Script, Turn
from fake_models.scripted_model import ScriptedModel
from fake_models.wire import CODECS
from fake_models.wire.anthropic_messages import CODEC, SIGNATURE
from fake_models.wire.codec import Stamp, told

BASE_URL = "http://127.0.0.1:9/s/token"
QUESTION = {"model": "any-name", "max_tokens": 100, "messages": [{"role": "user", "content": "现在几点"}]}
STAMP = Stamp("msg_1", 1767225600, "m")
PLAIN = ModelRequest("anthropic_messages", "m", ())
STREAM = ModelRequest("anthropic_messages", "m", (), stream=True)


def client(endpoint, **options):
    http = httpx2.Client(transport=transport(endpoint, httpx2))
    return anthropic.Anthropic(**{"api_key": "k", "base_url": BASE_URL, "max_retries": 0} | options, http_client=http)


def async_client(endpoint):
    http = httpx2.AsyncClient(transport=transport(endpoint, httpx2))
    return anthropic.AsyncAnthropic(api_key="k", base_url=BASE_URL, max_retries=0, http_client=http)


def block(part):
    match part.type:
        case "text":
            return ("text", part.text)
        case "thinking":
            return ("thinking", part.thinking, part.signature)
        case "tool_use":
            return ("tool_use", part.id, part.name, part.input)
    raise AssertionError(part)


def seen(message):
    usage = message.usage and (message.usage.input_tokens, message.usage.output_tokens)
    return {
        "content": [block(part) for part in message.content],
        "stop": message.stop_reason,
        "sequence": message.stop_sequence,
        "usage": usage,
    }


def blocking(endpoint):
    return seen(client(endpoint).messages.create(**QUESTION))


def beta(endpoint):
    return seen(client(endpoint).beta.messages.create(**QUESTION, betas=["some-beta"]))


def helped(endpoint):
    with client(endpoint).messages.stream(**QUESTION) as stream:
        return seen(stream.get_final_message())


def beta_helped(endpoint):
    with client(endpoint).beta.messages.stream(**QUESTION) as stream:
        return seen(stream.get_final_message())


def async_blocking(endpoint):
    async def ask():
        return seen(await async_client(endpoint).messages.create(**QUESTION))

    return asyncio.run(ask())


def async_helped(endpoint):
    async def ask():
        async with async_client(endpoint).messages.stream(**QUESTION) as stream:
            return seen(await stream.get_final_message())

    return asyncio.run(ask())


def read(events):
    """What a plain reader of events puts together; the raw text of arguments as well."""
    message, texts = None, {}
    for event in events:
        match event.type:
            case "message_start":
                message = event.message
            case "content_block_start":
                message.content.append(event.content_block)
                texts[event.index] = ""
            case "content_block_delta":
                delta = event.delta
                if delta.type == "signature_delta":
                    message.content[event.index].signature = delta.signature
                else:
                    texts[event.index] += getattr(
                        delta, {"input_json_delta": "partial_json"}.get(delta.type, delta.type[:-6])
                    )
            case "content_block_stop":
                part = message.content[event.index]
                if part.type == "tool_use":
                    part.input = texts[event.index]
                else:
                    setattr(part, part.type, texts[event.index])
            case "message_delta":
                message.stop_reason = event.delta.stop_reason
                message.stop_sequence = event.delta.stop_sequence
                if message.usage and event.usage:
                    message.usage.output_tokens = event.usage.output_tokens
    return seen(message)


def streaming(endpoint):
    return read(client(endpoint).messages.create(**QUESTION, stream=True))


WHOLE_WAYS = [blocking, beta, async_blocking]
HELPED_WAYS = [helped, beta_helped, async_helped]
#: What a reply without usage is said to have used has a test of its own.
NOTHING = {"content": [], "stop": "end_turn", "sequence": None, "usage": ANY}
HELLO = {**NOTHING, "content": [("text", "Hello")]}
WEATHER = ToolCall("toolu_a1", "get_weather", '{"city":"Oslo"}')
OSLO = ("tool_use", "toolu_a1", "get_weather", {"city": "Oslo"})
TIME = ToolCall("toolu_b2", "get_time", '{"tz":"UTC"}')
USED = {**NOTHING, "stop": "tool_use"}

REPLIES = {
    "text": (Reply((Text("Hello"),)), HELLO),
    "usage": (Reply((Text("Hello"),), usage=Usage(11, 3)), {**HELLO, "usage": (11, 3)}),
    "no figures are not zeros": (Reply((Text("Hello"),), usage=Usage(0, 0)), {**HELLO, "usage": (0, 0)}),
    "non-ASCII": (Reply((Text("时间查询完成 🙂"),)), {**NOTHING, "content": [("text", "时间查询完成 🙂")]}),
    "separators inside": (
        Reply((Text("a\r\n\n\u2028b\x85"),)),
        {**NOTHING, "content": [("text", "a\r\n\n\u2028b\x85")]},
    ),
    "thinking": (
        Reply((Thinking("Think."), Text("Hello"))),
        {**NOTHING, "content": [("thinking", "Think.", SIGNATURE), ("text", "Hello")]},
    ),
    "one call": (Reply((WEATHER,), stop="tool_calls"), {**USED, "content": [OSLO]}),
    "text and parallel calls": (
        Reply((Text("Hello"), WEATHER, TIME), stop="tool_calls"),
        {**USED, "content": [("text", "Hello"), OSLO, ("tool_use", "toolu_b2", "get_time", {"tz": "UTC"})]},
    ),
    "a call without arguments": (
        Reply((ToolCall("toolu_a1", "get_weather", ""),), stop="tool_calls"),
        {**USED, "content": [("tool_use", "toolu_a1", "get_weather", {})]},
    ),
    "arguments that are no object": (
        Reply((ToolCall("c1", "f", "[1, 2]"),), stop="tool_calls"),
        {**USED, "content": [("tool_use", "c1", "f", [1, 2])]},
    ),
    "ids missing and empty": (
        Reply((ToolCall(None, "f", "{}"), ToolCall("", "g", "{}")), stop="tool_calls"),
        {**USED, "content": [("tool_use", None, "f", {}), ("tool_use", "", "g", {})]},
    ),
    "no parts": (Reply(), NOTHING),
    "null": (Reply((Text(None),)), NOTHING),
    "empty text": (Reply((Text(""),)), {**NOTHING, "content": [("text", "")]}),
    "blank": (Reply((Text(" \n"),)), {**NOTHING, "content": [("text", " \n")]}),
    "thinking only": (Reply((Thinking("hm"),)), {**NOTHING, "content": [("thinking", "hm", SIGNATURE)]}),
    "cut by length": (Reply((Text("Hello"),), stop="length"), {**HELLO, "stop": "max_tokens"}),
    "refused": (Reply(stop="filter"), {**NOTHING, "stop": "refusal"}),
    "stopped by a sequence": (
        Reply((Text("Hello"),), finish="stop_sequence"),
        {**HELLO, "stop": "stop_sequence", "sequence": "###"},
    ),
    "paused": (Reply((Text("Hello"),), finish="pause_turn"), {**HELLO, "stop": "pause_turn"}),
    "window exceeded": (
        Reply((Text("Hello"),), finish="model_context_window_exceeded"),
        {**HELLO, "stop": "model_context_window_exceeded"},
    ),
    "an unknown reason": (Reply((Text("Hello"),), finish="weird"), {**HELLO, "stop": "weird"}),
}


@pytest.mark.parametrize("way", WHOLE_WAYS)
@pytest.mark.parametrize(("reply", "expected"), REPLIES.values(), ids=REPLIES)
def test_the_official_client_reads_from_a_whole_body_what_the_reply_says(way, reply, expected):
    assert way(ReplyEndpoint(reply)) == expected


@pytest.mark.parametrize("chunking", [WHOLE, CHARACTER], ids=lambda one: one.name)
@pytest.mark.parametrize("way", HELPED_WAYS)
@pytest.mark.parametrize(("reply", "expected"), REPLIES.values(), ids=REPLIES)
def test_the_official_client_puts_together_from_a_stream_what_the_reply_says(way, reply, expected, chunking):
    assert way(ReplyEndpoint(reply, chunking=chunking)) == expected


MALFORMED = ['{"x": Oslo', '{"ci', "Oslo", '{"x": NaN}', '{"x": 1e999}', "[" * 3000]


@pytest.mark.parametrize("arguments", [*MALFORMED, "[1, 2]", "", "{}", '"a"', '{"x": "时"}'])
def test_arguments_stream_as_they_were_said(arguments):
    reply = Reply((ToolCall("c1", "f", arguments),), stop="tool_calls")
    ((_, _, _, text),) = streaming(ReplyEndpoint(reply, chunking=CHARACTER))["content"]

    assert text == arguments
    assert told(CODEC, reply, STREAM).parts == reply.parts


@pytest.mark.parametrize("arguments", MALFORMED)
def test_arguments_that_are_no_json_are_a_text_in_a_whole_body_and_in_the_recording(arguments):
    reply = Reply((ToolCall("c1", "f", arguments),), stop="tool_calls")
    ((_, _, _, received),) = blocking(ReplyEndpoint(reply))["content"]
    (recorded,) = told(CODEC, reply, PLAIN).calls

    assert received == json.loads(recorded.arguments) == arguments


@pytest.mark.parametrize(
    ("arguments", "carried"), [("", "{}"), ('{"x": 1}', '{"x": 1}'), ("[1]", "[1]"), ("null", "null")]
)
def test_arguments_that_are_json_are_recorded_as_they_were_said_and_none_as_an_empty_object(arguments, carried):
    (call,) = told(CODEC, Reply((ToolCall("c1", "f", arguments),)), PLAIN).calls

    assert call.arguments == carried


@pytest.mark.parametrize("request_", [PLAIN, STREAM])
def test_a_null_text_is_no_part_in_the_recording_either(request_):
    assert told(CODEC, Reply((Text(None), Text("x"))), request_).parts == (Text("x"),)


def test_a_stream_cut_in_a_call_at_the_token_limit_keeps_its_half():
    reply = Reply((ToolCall("toolu_a1", "get_weather", '{"ci'),), stop="length")

    assert streaming(ReplyEndpoint(reply))["content"] == [("tool_use", "toolu_a1", "get_weather", '{"ci')]
    assert helped(ReplyEndpoint(reply)) == {
        **NOTHING,
        "content": [("tool_use", "toolu_a1", "get_weather", {})],
        "stop": "max_tokens",
    }


def test_a_stream_that_breaks_off_leaves_what_was_said_without_a_reason():
    reply = Reply((Text("Hello"),), broken=Cut(after_chunks=2))

    assert helped(ReplyEndpoint(reply)) == {**HELLO, "stop": None}


def test_an_error_in_mid_stream_is_raised_in_the_providers_words():
    overloaded = ErrorReply(529, "")
    reply = Reply((Text("Hello"),), broken=ErrorEvent(overloaded, after_chunks=2))

    with pytest.raises(anthropic.APIStatusError) as raised:
        helped(ReplyEndpoint(reply))

    assert raised.value.body == {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}


ENDED = (
    b'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},'
    b'"usage":{"input_tokens":11,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":3}}\n\n'
)


def test_a_stream_has_the_events_of_the_provider_in_its_order():
    reply = Reply((Thinking("hm"), Text("Hello"), WEATHER), stop="tool_calls", usage=Usage(11, 3))

    assert CODEC.chunks(reply, STAMP, STREAM, whole) == (
        {
            "type": "message_start",
            "message": {
                "id": "msg_1",
                "type": "message",
                "role": "assistant",
                "model": "m",
                "content": [],
                "stop_reason": None,
                "stop_sequence": None,
                "usage": {
                    "input_tokens": 11,
                    "cache_creation_input_tokens": 0,
                    "cache_read_input_tokens": 0,
                    "output_tokens": 1,
                },
            },
        },
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "thinking", "thinking": "", "signature": ""},
        },
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": SIGNATURE}},
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "Hello"}},
        {"type": "content_block_stop", "index": 1},
        {
            "type": "content_block_start",
            "index": 2,
            "content_block": {"type": "tool_use", "id": "toolu_a1", "name": "get_weather", "input": {}},
        },
        {"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": ""}},
        {
            "type": "content_block_delta",
            "index": 2,
            "delta": {"type": "input_json_delta", "partial_json": '{"city":"Oslo"}'},
        },
        {"type": "content_block_stop", "index": 2},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "tool_use", "stop_sequence": None},
            "usage": {
                "input_tokens": 11,
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": 0,
                "output_tokens": 3,
            },
        },
    )


def test_an_event_is_named_by_its_type_and_the_stream_ends_with_a_stop():
    reply = Reply(usage=Usage(11, 3))

    assert CODEC.frame(CODEC.chunks(reply, STAMP, STREAM, whole)[-1]) == ENDED
    assert CODEC.trailer == b'event: message_stop\ndata: {"type":"message_stop"}\n\n'


def test_a_ping_between_any_two_events_changes_nothing():
    reply = Reply((Text("Hello"), WEATHER), stop="tool_calls")
    frames = [CODEC.frame(chunk) for chunk in CODEC.chunks(reply, STAMP, STREAM, per_character)]
    stream = CODEC.comment.join((*frames, CODEC.trailer))
    http = httpx2.Client(
        transport=httpx2.MockTransport(
            lambda _: httpx2.Response(200, headers={"Content-Type": CODEC.stream_type}, content=stream)
        )
    )
    with anthropic.Anthropic(api_key="k", base_url=BASE_URL, http_client=http).messages.stream(**QUESTION) as events:
        assert seen(events.get_final_message()) == {**USED, "content": [("text", "Hello"), OSLO]}


@pytest.mark.parametrize(("request_", "usage"), [(PLAIN, (3, 3)), (STREAM, (3, 3))])
def test_usage_that_no_script_gives_is_counted_at_four_bytes_a_token(request_, usage):
    # 12 bytes asked, 9 + 2 said: three tokens each.
    reply = Reply((Text("时间点"), ToolCall("c1", "f", "{}")), stop="tool_calls")

    assert told(CODEC, reply, replace(request_, measured=lambda: 12)).usage == Usage(*usage)


def test_a_reply_that_says_no_usage_names_no_figure():
    start, *_, end = CODEC.chunks(Reply(), STAMP, STREAM, whole)

    assert (start["message"]["usage"], end["usage"]) == ({}, {})
    assert CODEC.whole(Reply(), STAMP)["usage"] == {}


def test_an_empty_output_is_none_at_the_start_either():
    start, *_ = CODEC.chunks(Reply(usage=Usage(5, 0)), STAMP, STREAM, whole)

    assert start["message"]["usage"]["output_tokens"] == 0


ERRORS = [
    (400, "invalid_request_error", anthropic.BadRequestError),
    (401, "authentication_error", anthropic.AuthenticationError),
    (402, "billing_error", anthropic.APIStatusError),
    (403, "permission_error", anthropic.PermissionDeniedError),
    (404, "not_found_error", anthropic.NotFoundError),
    (408, "timeout_error", anthropic.APIStatusError),
    (409, "conflict_error", anthropic.ConflictError),
    (413, "request_too_large", anthropic.APIStatusError),
    (418, "invalid_request_error", anthropic.APIStatusError),
    (429, "rate_limit_error", anthropic.RateLimitError),
    (500, "api_error", anthropic.InternalServerError),
    (502, "api_error", anthropic.InternalServerError),
    (503, "api_error", anthropic.InternalServerError),
    (504, "timeout_error", anthropic.InternalServerError),
    (529, "overloaded_error", anthropic.InternalServerError),
    (599, "api_error", anthropic.InternalServerError),
]


@pytest.mark.parametrize(("status", "type_", "raised"), ERRORS)
def test_an_error_is_raised_by_the_official_client_with_the_providers_type(status, type_, raised):
    with pytest.raises(raised) as caught:
        blocking(ReplyEndpoint(Reply(error=ErrorReply(status, ""))))

    assert caught.value.status_code == status
    assert caught.value.body["type"] == "error"
    assert caught.value.body["error"]["type"] == type_
    assert caught.value.body["error"]["message"]
    assert caught.value.body["request_id"]


@pytest.mark.parametrize("status", [row[0] for row in ERRORS])
def test_the_scripts_own_words_stand_as_they_are(status):
    assert CODEC.error(ErrorReply(status, "as said", type="odd"))["error"] == {"type": "odd", "message": "as said"}


def test_an_overflow_is_told_in_the_providers_words_and_its_code_among_the_details():
    error = CODEC.error(ErrorReply(400, "", code="context_length_exceeded"))["error"]

    assert error == {
        "type": "invalid_request_error",
        "message": "prompt is too long: 9001 tokens > 8192 maximum",
        "details": {"error_code": "context_length_exceeded"},
    }


CREDIT = (
    "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase "
    "credits."
)


def test_a_spent_quota_is_the_bad_request_that_the_provider_makes_of_it():
    # The words and the status of anthropics/anthropic-sdk-typescript#618; they do not ask to come back later.
    spent = ErrorReply(429, "", code="insufficient_quota", retry_after_s=0)
    with pytest.raises(anthropic.BadRequestError) as caught:
        blocking(ReplyEndpoint(Reply(error=spent)))

    assert caught.value.body["error"] == {"type": "invalid_request_error", "message": CREDIT}
    assert told(CODEC, Reply(error=spent), PLAIN).error.status == 400


def test_a_spent_quota_is_told_in_mid_stream_in_the_same_words():
    reply = Reply((Text("Hello"),), broken=ErrorEvent(ErrorReply(429, "", code="insufficient_quota"), after_chunks=2))

    with pytest.raises(anthropic.APIStatusError) as raised:
        helped(ReplyEndpoint(reply))

    assert raised.value.body["error"] == {"type": "invalid_request_error", "message": CREDIT}


@pytest.mark.parametrize(
    "error",
    [
        ErrorReply(429, ""),
        ErrorReply(402, "", code="insufficient_quota"),
        ErrorReply(429, "as said", code="insufficient_quota"),
        ErrorReply(429, "", code="insufficient_quota", body={"as": "said"}),
    ],
)
def test_no_other_error_becomes_another(error):
    assert told(CODEC, Reply(error=error), PLAIN).error == error


def test_the_official_client_finds_the_code_of_an_error():
    with pytest.raises(anthropic.BadRequestError) as caught:
        blocking(ReplyEndpoint(Reply(error=ErrorReply(400, "no", code="context_length_exceeded"))))

    assert caught.value.body["error"]["details"]["error_code"] == "context_length_exceeded"


TALK = Reply((Text("Hello"), WEATHER, TIME), stop="tool_calls", usage=Usage(11, 3))


def strange(*quirks, reply=TALK):
    return ReplyEndpoint(replace(reply, quirks=quirks))


def events(*quirks):
    return list(client(strange(*quirks)).messages.create(**QUESTION, stream=True))


def test_no_final_marker_leaves_out_the_stop_alone():
    assert [event.type for event in events("no_final_marker")] == [event.type for event in events()][:-1]
    assert events()[-1].type == "message_stop"


def test_finish_missing_leaves_the_reason_null():
    assert helped(strange("finish_missing"))["stop"] is None
    assert blocking(strange("finish_missing"))["stop"] is None


@pytest.mark.parametrize(
    ("quirks", "start", "end"),
    [
        ((), (11, 1), (11, 3)),
        (("usage_bare",), (11, 1), (None, 3)),
        (("usage_last",), (0, 0), (11, 3)),
    ],
)
def test_usage_stands_where_the_quirk_says_and_comes_to_the_same(quirks, start, end):
    first, *_, last, _ = events(*quirks)

    assert (first.message.usage.input_tokens, first.message.usage.output_tokens) == start
    assert (last.usage.input_tokens, last.usage.output_tokens) == end
    assert helped(strange(*quirks))["usage"] == (11, 3)


def test_usage_null_is_null_everywhere_and_recorded_as_none():
    first, *_, last, _ = events("usage_null")

    assert (first.message.usage, last.usage) == (None, None)
    assert blocking(strange("usage_null"))["usage"] is None
    assert told(CODEC, Reply(usage=Usage(1, 1), quirks=("usage_null",)), STREAM).usage is None


@pytest.mark.parametrize("way", [helped, blocking])
def test_duplicate_ids_give_every_call_the_first_ones(way):
    content = way(strange("duplicate_ids"))["content"]

    assert [one[1] for one in content if one[0] == "tool_use"] == ["toolu_a1", "toolu_a1"]


@pytest.mark.parametrize("way", [helped, blocking])
def test_text_after_calls_comes_last(way):
    content = way(strange("text_after_calls"))["content"]

    assert [one[0] for one in content] == ["tool_use", "tool_use", "text"]


@pytest.mark.parametrize("name", CODEC.quirks)
@pytest.mark.parametrize("reply", [Reply(), Reply((Thinking("x"),)), Reply((ToolCall(None, "f", ""),)), TALK])
def test_a_quirk_fits_every_reply(name, reply):
    assert events(name)
    assert client(strange(name, reply=reply)).messages.create(**QUESTION).id == "chatcmpl-1"


@pytest.mark.parametrize(
    ("path", "answered"),
    [
        ("/v1/messages", True),
        ("/s/token/v1/messages", True),
        ("/messages", True),
        ("/v1/messages/count_tokens", False),
        ("/v1/messages/batches", False),
        ("/v1/chat/completions", False),
    ],
)
def test_the_route_is_told_by_the_end_of_the_path(path, answered):
    assert bool(CODEC.route.search(path)) is answered


def test_the_wire_stands_in_the_table_by_its_name():
    assert CODECS["anthropic_messages"] is CODEC


LOOK = {"name": "look", "description": "Sky", "input_schema": {"type": "object"}}
SYSTEM = [{"type": "text", "text": "be ", "cache_control": {"type": "ephemeral"}}, {"type": "text", "text": "brief"}]
ASKED = {
    "model": "any-name",
    "max_tokens": 100,
    "system": SYSTEM,
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "现在"}, {"type": "text", "text": "几点"}]},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "redacted_thinking", "data": "x"},
                {"type": "text", "text": "let me see"},
                {"type": "tool_use", "id": "c1", "name": "look", "input": {"at": "天"}},
                {"type": "tool_use", "id": "c2", "name": "look", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": "12"},
                {
                    "type": "tool_result",
                    "tool_use_id": "c2",
                    "is_error": True,
                    "content": [{"type": "text", "text": "no "}, {"type": "text", "text": "sky"}],
                },
                {"type": "text", "text": "go on"},
            ],
        },
        {"role": "assistant", "content": "noted"},
        {"role": "system", "content": "be kind"},
    ],
    "tools": [LOOK, {"type": "web_search_20250305", "name": "web_search"}],
    "tool_choice": {"type": "tool", "name": "look"},
}


@pytest.mark.parametrize("stream", [False, True])
def test_a_request_of_the_official_client_is_read_whole(stream):
    endpoint = ReplyEndpoint(Reply())
    made = client(endpoint).messages.create(**ASKED, stream=stream)
    if stream:
        list(made)
    (sent,) = endpoint.requests
    sizes = [
        json.dumps(ASKED[key], ensure_ascii=False, separators=(",", ":")).encode() for key in ("messages", "system")
    ]

    request = CODEC.decode(sent["body"], sent["path"])
    assert request == ModelRequest(
        wire="anthropic_messages",
        model="any-name",
        messages=(
            Message("system", "be brief"),
            Message("user", "现在几点"),
            Message("assistant", "let me see", (ToolCall("c1", "look", '{"at":"天"}'), ToolCall("c2", "look", "{}"))),
            Message("tool", "12", tool_call_id="c1"),
            Message("tool", "no sky", tool_call_id="c2"),
            Message("user", "go on"),
            Message("assistant", "noted"),
            Message("system", "be kind"),
        ),
        tools=(ToolSpec("look", "Sky", {"type": "object"}),),
        tool_choice="look",
        stream=stream,
        include_usage=True,
    )
    assert request.size == sum(map(len, sizes))


def test_a_reply_given_back_by_the_official_client_is_read_as_it_was_said():
    endpoint = ReplyEndpoint(Reply((Thinking("hm"), Text("Hello"), WEATHER), stop="tool_calls"), Reply())
    answer = client(endpoint).messages.create(**QUESTION)
    client(endpoint).messages.create(**QUESTION | {"messages": [*QUESTION["messages"], answer.to_param()]})

    assert CODEC.decode(endpoint.requests[-1]["body"]).messages[-1] == Message("assistant", "Hello", (WEATHER,))


@pytest.mark.parametrize(
    ("message", "read_"),
    [
        ({"role": "user", "content": ""}, [Message("user", "")]),
        ({"role": "user", "content": []}, [Message("user", "")]),
        ({"role": "user"}, [Message("user", None)]),
        ({"role": "user", "content": [{"type": "image"}]}, [Message("user", "")]),
        ({"role": "assistant", "content": []}, [Message("assistant", "")]),
        ({"role": "assistant", "content": [{"type": "thinking", "thinking": "x"}]}, [Message("assistant", "")]),
        (
            {"role": "assistant", "content": [{"type": "tool_use", "name": "f"}]},
            [Message("assistant", None, (ToolCall(None, "f", ""),))],
        ),
        ({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a"}]}, [Message("tool", None, (), "a")]),
        (
            {"role": "user", "content": [{"type": "text", "text": "t"}, {"type": "tool_result", "content": "r"}]},
            [Message("tool", "r"), Message("user", "t")],
        ),
        ({"role": "assistant", "content": [{"type": "tool_result", "content": "r"}]}, [Message("assistant", "")]),
    ],
)
def test_a_message_is_read_as_far_as_it_goes(message, read_):
    assert CODEC.decode({"messages": [message]}).messages == tuple(read_)


@pytest.mark.parametrize(
    ("system", "messages"),
    [(None, ()), ("", (Message("system", ""),)), ("s", (Message("system", "s"),)), ([], (Message("system", ""),))],
)
def test_a_system_prompt_is_a_first_message_where_there_is_one(system, messages):
    assert CODEC.decode({"system": system}).messages == messages


@pytest.mark.parametrize(
    ("choice", "read_"),
    [
        ({"type": "auto"}, "auto"),
        ({"type": "any"}, "required"),
        ({"type": "none"}, "none"),
        ({"type": "tool", "name": "f"}, "f"),
        ({"type": "tool"}, None),
        ({"type": "odd"}, None),
        ({"type": ["auto"]}, None),
        ("auto", None),
        (None, None),
    ],
)
def test_a_tool_choice_is_read_in_the_words_of_all_wires(choice, read_):
    assert CODEC.decode({"tool_choice": choice}).tool_choice == read_


@pytest.mark.parametrize(
    ("body", "tools"),
    [
        ({}, None),
        ({"tools": None}, None),
        ({"tools": []}, ()),
        ({"tools": [{"type": "bash_20250124", "name": "bash"}]}, ()),
        ({"tools": [{"type": "custom", "name": "f"}]}, (ToolSpec("f", "", {}),)),
    ],
)
def test_tools_are_those_that_a_scenario_can_have(body, tools):
    assert CODEC.decode(body).tools == tools


class Host:
    """A host that remembers what is recorded."""

    def __init__(self):
        self.records = []

    def model(self, *turns):
        model = ScriptedModel(
            record=lambda *record: self.records.append(record), host=self, chunking=WHOLE, codecs=CODECS
        )
        model.open("r1", Script(turns), None)
        return model

    def world(self, run, request, side):
        return World(now=datetime(2026, 1, 1, tzinfo=UTC), run=run)

    def side(self, request, headers):
        return None

    def next_call(self):
        return f"m{len(self.records)}"


@pytest.mark.parametrize(
    ("key", "header"),
    [
        ({"api_key": "sk-secret"}, {}),
        ({"auth_token": "sk-secret", "api_key": None}, {}),
        ({"api_key": "other"}, {"x-api-key": "sk-secret"}),
    ],
    ids=["bearer", "token", "x-api-key"],
)
def test_only_a_digest_of_a_key_is_recorded_however_it_is_sent(key, header):
    host = Host()
    client(host.model(Turn(say="ok")), **key).messages.create(**QUESTION, extra_headers=header)

    (_, _, request), (_, _, reply), _ = host.records
    assert "sk-secret" not in repr(host.records)
    assert hashlib.sha256(b"sk-secret").hexdigest()[:16] in request["secrets"]
    assert (request["wire"], request["path"]) == ("anthropic_messages", "/s/token/v1/messages")
    assert reply["stop"] == "stop"


def test_a_recording_tells_of_a_malformed_call_what_the_agent_got():
    host = Host()
    turn = Turn(calls=(CallTurn("f", raw="{bad", id="c1"),))
    got = client(host.model(turn)).messages.create(
        **QUESTION, tools=[{"name": "f", "input_schema": {"type": "object"}}]
    )

    (_, _, _), (_, _, reply), _ = host.records
    (said,) = [part for part in reply["parts"] if part["type"] == "tool_call"]
    assert json.loads(said["arguments"]) == got.content[0].input == "{bad"


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(codec=None))
    | st.sampled_from(["user", "assistant", "system", "text", "tool_use", "tool_result", "tool", "any"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["type", "text", "content", "id", "name", "input", "tool_use_id", "role"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(
    st.dictionaries(st.sampled_from(["model", "messages", "system", "tools", "tool_choice", "stream"]), JSON)
    | st.fixed_dictionaries({"messages": st.lists(st.fixed_dictionaries({"role": JSON, "content": JSON}))})
)
def test_no_json_body_makes_the_reader_raise(body):
    assert CODEC.decode(body).size >= 0


@given(JSON)
def test_no_json_at_all_makes_the_reader_raise(body):
    assert CODEC.decode(body).wire == "anthropic_messages"


TEXTS = st.text(st.characters(codec="utf-8"), max_size=12)
OBJECTS = st.dictionaries(TEXTS, TEXTS | st.integers(-9, 9) | st.none() | st.lists(TEXTS, max_size=2), max_size=3)
CALLS = st.builds(
    lambda call_id, name, arguments: ToolCall(call_id, name, json.dumps(arguments)), st.none() | TEXTS, TEXTS, OBJECTS
)
PARTS = st.lists(st.builds(Text, TEXTS) | st.builds(Thinking, TEXTS) | CALLS, max_size=4).map(tuple)
SAID = st.builds(
    Reply,
    PARTS,
    st.sampled_from(["stop", "length", "filter", "tool_calls"]),
    st.builds(Usage, st.integers(0, 99), st.integers(0, 99)),
)
STOPS = {"end_turn": "stop", "max_tokens": "length", "refusal": "filter", "tool_use": "tool_calls"}


def said(message):
    """The reply that a client's message stands for, arguments read."""
    parts = []
    for part in message["content"]:
        match part:
            case ("text", text):
                parts.append(Text(text))
            case ("thinking", text, _):
                parts.append(Thinking(text))
            case ("tool_use", id_, name, arguments):
                parts.append(ToolCall(id_, name, arguments))
    return Reply(tuple(parts), STOPS[message["stop"]], Usage(*message["usage"]))


def with_arguments_read(reply):
    parts = [
        ToolCall(one.id, one.name, json.loads(one.arguments)) if isinstance(one, ToolCall) else one
        for one in reply.parts
    ]
    return Reply(tuple(parts), reply.stop, reply.usage)


@pytest.mark.parametrize("chunking", [WHOLE, CHARACTER], ids=lambda one: one.name)
@pytest.mark.parametrize("way", [blocking, helped])
@given(reply=SAID)
def test_a_reply_comes_back_from_the_official_client_as_it_was(way, chunking, reply):
    assert said(way(ReplyEndpoint(reply, chunking=chunking))) == with_arguments_read(reply)
