"""The wire openai_responses, its replies read back by the official SDK."""

import httpx2
import openai
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reply_endpoint import ReplyEndpoint

from fake_models.chunking import chunking, per_character, whole
from fake_models.httpx_transport import transport
from fake_models.messages import (
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
from fake_models.wire import CODECS
from fake_models.wire.codec import Stamp, compact, quirks, told
from fake_models.wire.openai_responses import CODEC

STAMP = Stamp("resp_1", 1767225600, "m")
ASKED = ModelRequest("openai_responses", "m", (), stream=True, include_usage=True)
QUESTION = {"model": "any-name", "input": "现在几点"}
OSLO = ToolCall("call_a1", "get_weather", '{"city":"Oslo"}')
UTC = ToolCall("call_b2", "get_time", '{"tz":"UTC"}')
SPENT = Usage(11, 3)
#: Where texts are cut; any other text goes in one piece.
CUTS = {"Hello": ("Hel", "lo"), '{"city":"Oslo"}': ('{"ci', 'ty":"Oslo"}')}

BEGIN = ["response.created", "response.in_progress"]
ADDED, DONE = "response.output_item.added", "response.output_item.done"
TEXT = [
    ADDED,
    "response.content_part.added",
    "response.output_text.delta",
    "response.output_text.delta",
    "response.output_text.done",
    "response.content_part.done",
    DONE,
]
ARGUMENTS = "response.function_call_arguments"
STREAMS = {
    "text": (Reply((Text("Hello"),)), [*BEGIN, *TEXT, "response.completed"]),
    "function call": (
        Reply((OSLO,), stop="tool_calls"),
        [
            *BEGIN,
            ADDED,
            f"{ARGUMENTS}.delta",
            f"{ARGUMENTS}.delta",
            f"{ARGUMENTS}.done",
            DONE,
            "response.completed",
        ],
    ),
    "parallel function calls": (
        Reply((OSLO, UTC), stop="tool_calls"),
        [
            *BEGIN,
            *[ADDED, f"{ARGUMENTS}.delta", f"{ARGUMENTS}.delta", f"{ARGUMENTS}.done", DONE],
            *[ADDED, f"{ARGUMENTS}.delta", f"{ARGUMENTS}.done", DONE],
            "response.completed",
        ],
    ),
    "reasoning, then text": (
        Reply((Thinking("Think."), Text("Hello"))),
        [
            *BEGIN,
            ADDED,
            "response.reasoning_summary_part.added",
            "response.reasoning_summary_text.delta",
            "response.reasoning_summary_text.done",
            "response.reasoning_summary_part.done",
            DONE,
            *TEXT,
            "response.completed",
        ],
    ),
    "cut off": (
        Reply((Text("Hel"),), stop="length"),
        [*BEGIN, ADDED, "response.content_part.added", "response.output_text.delta", "response.incomplete"],
    ),
    "nothing": (Reply(), [*BEGIN, "response.completed"]),
    "nothing, filtered": (Reply(stop="filter"), [*BEGIN, "response.incomplete"]),
}


def cut(text):
    return CUTS.get(text, (text,) if text else ())


def client(endpoint):
    http = httpx2.Client(transport=transport(endpoint, httpx2))
    return openai.OpenAI(api_key="k", base_url="http://127.0.0.1:9/s/token/v1", http_client=http, max_retries=0)


ENDPOINT = ReplyEndpoint()
SDK = client(ENDPOINT)


def ask(reply, how="whole", cuts="character"):
    """What a reader of the SDK makes of a reply: parts, status, reason of an incomplete one, usage."""
    ENDPOINT.replies, ENDPOINT.chunking = [reply], chunking(cuts)
    return [*READERS[how](SDK, **QUESTION)]


def part_of(item):
    """The part of a reply that an output item of the SDK stands for."""
    if item.type == "reasoning":
        (summary,) = item.summary
        return Thinking(summary.text)
    if item.type == "message":
        (content,) = item.content
        return Text(content.text)
    return ToolCall(getattr(item, "call_id", None), item.name, item.arguments)


def seen(response):
    reason = response.incomplete_details and response.incomplete_details.reason
    usage = response.usage and Usage(response.usage.input_tokens, response.usage.output_tokens)
    return [part_of(item) for item in response.output], response.status, reason, usage


def read_whole(sdk, **keys):
    return seen(sdk.responses.create(**keys))


def read_last(sdk, **keys):
    """What a reader of the last event sees."""
    *_, last = sdk.responses.create(stream=True, **keys)
    return seen(last.response)


def read_joined(sdk, **keys):
    """What a reader that joins deltas sees, and the last event only for status and usage."""
    added, pieces, nulls = {}, {}, set()
    for event in sdk.responses.create(stream=True, **keys):
        if event.type == "response.output_item.added":
            added[event.output_index], pieces[event.output_index] = event.item, ""
        elif event.type == "response.content_part.added" and event.part.text is None:
            nulls.add(event.output_index)
        elif event.type.endswith(".delta"):
            pieces[event.output_index] += event.delta
    kinds = {"reasoning": Thinking, "message": Text}
    parts = [
        kinds[item.type](None if index in nulls else pieces[index])
        if item.type in kinds
        else ToolCall(getattr(item, "call_id", None), item.name, pieces[index])
        for index, item in sorted(added.items())
    ]
    return [parts, *seen(event.response)[1:]]


def read_helper(sdk, **keys):
    """What the SDK's own helper puts together; it knows complete replies only."""
    with sdk.responses.stream(**keys) as stream:
        return seen(stream.get_final_response())


READERS = {"whole": read_whole, "last": read_last, "joined": read_joined, "helper": read_helper}


@pytest.mark.parametrize(("reply", "types"), STREAMS.values(), ids=STREAMS.keys())
def test_a_stream_tells_of_its_items_in_the_providers_order(reply, types):
    payloads = CODEC.chunks(reply, STAMP, ASKED, cut)

    assert [payload["type"] for payload in payloads] == types
    assert [payload["sequence_number"] for payload in payloads] == list(range(len(types)))


@pytest.mark.parametrize("how", READERS)
@pytest.mark.parametrize(
    "name", ["text", "function call", "parallel function calls", "reasoning, then text", "nothing"]
)
def test_the_sdk_reads_back_what_the_reply_said(name, how):
    reply, _ = STREAMS[name]

    assert ask(Reply(reply.parts, usage=SPENT), how=how) == [list(reply.parts), "completed", None, SPENT]


@pytest.mark.parametrize("how", ["whole", "last", "joined"])
@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Reply((Text("Hel"),), stop="length"), "max_output_tokens"),
        (Reply((OSLO,), stop="length"), "max_output_tokens"),
        (Reply((Thinking("Hm"),), stop="length"), "max_output_tokens"),
        (Reply((Text("I"),), stop="filter"), "content_filter"),
        (Reply(stop="length"), "max_output_tokens"),
        (Reply((Text("x"),), finish="eos"), "eos"),
    ],
)
def test_the_sdk_reads_an_incomplete_reply_and_its_reason(reply, reason, how):
    assert ask(reply, how=how) == [list(reply.parts), "incomplete", reason, None]


def test_the_item_that_the_model_was_cut_off_in_is_incomplete_and_those_before_are_not():
    output = CODEC.whole(Reply((Text("a"), OSLO, UTC), stop="length"), STAMP)["output"]

    assert [item["status"] for item in output] == ["completed", "completed", "incomplete"]


@pytest.mark.parametrize("how", READERS)
@pytest.mark.parametrize(
    "parts",
    [(), (Text(None),), (Text(""),), (Text(" \n"),), (Thinking("hm"),), (Thinking(""),)],
    ids=["no parts", "null", "no characters", "blank", "thinking only", "an empty thought"],
)
def test_the_empty_shapes_stay_apart(parts, how):
    assert ask(Reply(parts), how=how)[0] == list(parts)


@pytest.mark.parametrize("how", READERS)
@pytest.mark.parametrize("arguments", ["", "{bad", "[1]", "null", '{"a":"时"}'])
def test_arguments_travel_as_they_are(arguments, how):
    assert ask(Reply((ToolCall("c", "f", arguments),)), how=how)[0] == [ToolCall("c", "f", arguments)]


@pytest.mark.parametrize("how", READERS)
@pytest.mark.parametrize(("call_id", "key"), [(None, {}), ("", {"call_id": ""}), ("c1", {"call_id": "c1"})])
def test_a_missing_call_id_is_left_out_and_an_empty_one_is_sent(call_id, key, how):
    reply = Reply((ToolCall(call_id, "f", "{}"),))
    (call,) = CODEC.whole(reply, STAMP)["output"]

    assert {name: call[name] for name in call if name == "call_id"} == key
    assert ask(reply, how=how)[0] == [ToolCall(call_id, "f", "{}")]


def test_reasoning_can_be_sent_back_to_a_provider_that_stores_nothing():
    reply = Reply((Thinking("hm"), OSLO), stop="tool_calls")
    ENDPOINT.replies = [reply, reply]

    whole_, *_ = SDK.responses.create(**QUESTION, store=False, include=["reasoning.encrypted_content"]).output
    with SDK.responses.stream(**QUESTION, store=False) as stream:
        items = [event.item for event in stream if event.type.startswith("response.output_item.")]
        last = stream.get_final_response().output[0]

    begun, done = (item.encrypted_content for item in items if item.type == "reasoning")
    assert done
    assert done != begun
    assert whole_.encrypted_content == last.encrypted_content == done


def test_items_have_ids_of_their_kind_that_no_other_reply_has():
    reply = Reply((Thinking("a"), Text("b"), OSLO, UTC))
    ids = [[item["id"] for item in CODEC.whole(reply, Stamp(f"resp_{call}", 0, "m"))["output"]] for call in "mn"]

    assert ids[0] == ["rs_resp_m_0", "msg_resp_m_1", "fc_resp_m_2", "fc_resp_m_3"]
    assert not set(ids[0]) & set(ids[1])


@pytest.mark.parametrize(("stop", "calls", "told_stop"), [("stop", (OSLO,), "tool_calls"), ("tool_calls", (), "stop")])
def test_a_complete_reply_tells_by_its_calls_alone_why_it_stopped(stop, calls, told_stop):
    assert CODEC.carried(Reply(calls, stop=stop), ASKED).stop == told_stop


@pytest.mark.parametrize("stop", ["length", "filter"])
def test_an_incomplete_reply_keeps_its_stop(stop):
    assert CODEC.carried(Reply((OSLO,), stop=stop), ASKED).stop == stop


def test_usage_is_told_once_in_the_last_event():
    payloads = CODEC.chunks(Reply((Text("Hello"),), usage=SPENT), STAMP, ASKED, cut)

    assert [payload["response"]["usage"] and payload["response"]["usage"]["total_tokens"] for payload in payloads if "response" in payload] == [None, None, 14]  # fmt: skip


def test_an_event_is_framed_with_its_name_and_nothing_ends_the_stream_but_its_last():
    assert (
        CODEC.frame({"type": "error", "message": "时"})
        == 'event: error\ndata: {"type":"error","message":"时"}\n\n'.encode()
    )
    assert CODEC.trailer == b""


@pytest.mark.parametrize(
    ("error", "type_", "code", "param"),
    [
        (ErrorReply(400, ""), "invalid_request_error", None, None),
        (
            ErrorReply(400, "", code="context_length_exceeded"),
            "invalid_request_error",
            "context_length_exceeded",
            "input",
        ),
        (ErrorReply(401, ""), "invalid_request_error", "invalid_api_key", None),
        (ErrorReply(403, ""), "invalid_request_error", None, None),
        (ErrorReply(404, ""), "invalid_request_error", "model_not_found", "model"),
        (ErrorReply(408, ""), "server_error", None, None),
        (ErrorReply(409, ""), "invalid_request_error", None, None),
        (ErrorReply(413, ""), "invalid_request_error", None, None),
        (ErrorReply(429, ""), "requests", "rate_limit_exceeded", None),
        (ErrorReply(429, "", code="insufficient_quota"), "insufficient_quota", "insufficient_quota", None),
        (ErrorReply(500, ""), "server_error", None, None),
        (ErrorReply(502, ""), "server_error", None, None),
        (ErrorReply(503, ""), "server_error", None, None),
        (ErrorReply(529, ""), "server_error", None, None),
        (ErrorReply(418, ""), "invalid_request_error", None, None),
        (ErrorReply(400, "", type="t", code="c", param="p"), "t", "c", "p"),
    ],
)
def test_the_sdk_raises_an_error_with_the_providers_words(error, type_, code, param):
    with pytest.raises(openai.APIStatusError) as raised:
        ask(Reply(error=error))

    assert (raised.value.status_code, raised.value.type, raised.value.code, raised.value.param) == (
        error.status,
        type_,
        code,
        param,
    )
    assert raised.value.body["message"]


def test_an_overflow_is_told_in_this_wires_own_words():
    told_error = CODEC.error(ErrorReply(400, "", code="context_length_exceeded"))["error"]["message"]

    assert told_error == "Your input exceeds the context window of this model. Please adjust your input and try again."


def events_of(reply):
    ENDPOINT.replies, ENDPOINT.chunking = [reply], chunking("whole")
    return list(SDK.responses.create(stream=True, **QUESTION))


def test_an_error_in_mid_stream_is_an_event_that_goes_on_with_the_numbers():
    events = events_of(Reply((Text("Hello"),), broken=ErrorEvent(ErrorReply(500, "broke"), after_chunks=1)))

    assert [event.type for event in events] == [*BEGIN, ADDED, "response.content_part.added", "error"]
    assert (events[-1].code, events[-1].message, events[-1].sequence_number) == ("server_error", "broke", 4)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ErrorReply(400, "", code="context_length_exceeded"), "context_length_exceeded"),
        (ErrorReply(500, "", type="response.failed"), "server_error"),
    ],
)
def test_an_overflow_and_what_asks_for_it_by_name_fail_the_response(error, code):
    events = events_of(Reply((Text("a"), Text("b")), broken=ErrorEvent(error, after_chunks=3)))
    failed = events[-1]

    assert (failed.type, failed.sequence_number) == ("response.failed", 11)
    assert (failed.response.status, failed.response.error.code) == ("failed", code)
    assert failed.response.id == events[0].response.id
    # Two events begin the response, six tell of its first item and three of the second, which was not done.
    assert [part_of(item) for item in failed.response.output] == [Text("a")]


def test_an_error_before_anything_else_still_has_its_code():
    (event,) = events_of(Reply(broken=ErrorEvent(ErrorReply(400, "", code="context_length_exceeded"))))

    assert (event.type, event.response.error.code) == ("response.failed", "context_length_exceeded")


def quirky(reply, name):
    reply = Reply(reply.parts, usage=reply.usage, quirks=(name,))
    said = told(CODEC, reply, ASKED)
    (quirk,) = quirks(CODEC, reply)
    return quirk.whole(CODEC.whole(said, STAMP)), quirk.chunks(CODEC.chunks(said, STAMP, ASKED, whole))


def test_a_stream_without_its_final_marker_ends_after_the_last_item():
    _, payloads = quirky(Reply((Text("x"),)), "no_final_marker")

    assert payloads[-1]["type"] == DONE


def test_usage_can_be_null_to_the_end():
    body, payloads = quirky(Reply((Text("x"),), usage=SPENT), "usage_null")

    assert body["usage"] is None
    assert payloads[-1]["response"]["usage"] is None


def test_all_calls_can_share_the_first_ones_id():
    body, payloads = quirky(Reply((Text("x"), OSLO, UTC)), "duplicate_ids")

    assert [item.get("call_id") for item in body["output"]] == [None, "call_a1", "call_a1"]
    assert len({item["id"] for item in body["output"]}) == 3
    assert [payload["item"].get("call_id") for payload in payloads if payload["type"] == ADDED] == [
        None,
        "call_a1",
        "call_a1",
    ]


def test_text_can_come_after_the_calls():
    body, payloads = quirky(Reply((Thinking("t"), Text("x"), OSLO)), "text_after_calls")

    assert [item["type"] for item in body["output"]] == ["reasoning", "function_call", "message"]
    assert [payload["output_index"] for payload in payloads if payload["type"] == ADDED] == [0, 1, 2]


def test_a_call_can_come_whole():
    reply = Reply((Text("x"), OSLO), quirks=("calls_whole",))
    events = events_of(reply)

    assert [event.item.arguments for event in events if event.type == ADDED and event.item.type == "function_call"] == [
        OSLO.arguments
    ]
    assert not [event for event in events if event.type == f"{ARGUMENTS}.delta"]
    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert ask(reply, how="helper")[0] == [Text("x"), OSLO]


WEATHER = {"type": "function", "name": "weather", "description": "Sky", "parameters": {"type": "object"}}


def decoded(**keys):
    """What the codec makes of what the SDK sends."""
    endpoint = ReplyEndpoint(Reply())
    client(endpoint).responses.create(**{"model": "any", **keys})
    (request,) = endpoint.requests
    return CODEC.decode(request["body"], request["path"])


def test_the_route_is_the_end_of_the_path():
    endpoint = ReplyEndpoint(Reply())
    client(endpoint).responses.create(**QUESTION)

    assert endpoint.requests[0]["path"] == "/s/token/v1/responses"
    assert [name for name, codec in CODECS.items() if codec.route.search("/s/token/v1/responses")] == [
        "openai_responses"
    ]
    assert not CODEC.route.search("/v1/responses/resp_1/cancel")


def test_a_request_is_read_whole():
    items = [
        {
            "role": "user",
            "content": [
                {"type": "input_text", "text": "现在"},
                {"type": "input_image"},
                {"type": "input_text", "text": "几点"},
            ],
        },
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}]},
        {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "see", "annotations": []}],
        },
        {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "weather", "arguments": "{bad"},
        {"type": "function_call", "id": "fc_2", "call_id": "c2", "name": "weather", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c2", "output": "12"},
        {
            "type": "function_call_output",
            "call_id": "c1",
            "output": [{"type": "input_text", "text": "1"}, {"type": "input_text", "text": "3"}],
        },
        {"role": "assistant", "content": "done"},
        {"type": "message", "role": "user", "content": "thanks"},
    ]

    request = decoded(
        instructions="sys",
        input=items,
        tools=[WEATHER, {"type": "web_search"}],
        tool_choice={"type": "function", "name": "weather"},
    )
    assert request == ModelRequest(
        wire="openai_responses",
        model="any",
        messages=(
            Message("system", "sys"),
            Message("user", "现在几点"),
            Message("assistant", "see", (ToolCall("c1", "weather", "{bad"), ToolCall("c2", "weather", "{}"))),
            Message("tool", "12", tool_call_id="c2"),
            Message("tool", "13", tool_call_id="c1"),
            Message("assistant", "done"),
            Message("user", "thanks"),
        ),
        tools=(ToolSpec("weather", "Sky", {"type": "object"}),),
        tool_choice="weather",
        stream=False,
        include_usage=True,
    )
    assert request.size == len(b'"sys"') + len(compact(items))


def test_a_bare_text_is_one_user_message():
    request = decoded(input="hi")

    assert request.messages == (Message("user", "hi"),)
    assert request.size == len(b'"hi"')


def test_the_sdks_own_output_is_sent_back_as_one_assistant_message():
    endpoint = ReplyEndpoint(Reply((Thinking("hm"), Text("see"), OSLO)), Reply())
    sdk = client(endpoint)
    response = sdk.responses.create(**QUESTION)
    sdk.responses.create(model="m", input=response.output)

    assert CODEC.decode(endpoint.requests[1]["body"]).messages == (Message("assistant", "see", (OSLO,)),)


def test_what_the_provider_has_stored_is_not_in_the_request():
    request = decoded(
        previous_response_id="resp_0",
        input=[
            {"type": "item_reference", "id": "fc_1"},
            {"type": "function_call_output", "call_id": "c1", "output": "12"},
        ],
    )

    assert request.messages == (Message("tool", "12", tool_call_id="c1"),)


@pytest.mark.parametrize("stream", [True, False])
def test_the_model_may_always_tell_its_usage(stream):
    request = CODEC.decode({"stream": stream})

    assert (request.stream, request.include_usage) == (stream, True)


@pytest.mark.parametrize(
    ("body", "tools"), [({}, None), ({"tools": None}, None), ({"tools": []}, ()), ({"tools": "odd"}, None)]
)
def test_no_tools_key_and_an_empty_list_differ(body, tools):
    assert CODEC.decode(body).tools == tools


@pytest.mark.parametrize(
    ("choice", "read"),
    [
        ("auto", "auto"),
        ("none", "none"),
        ("required", "required"),
        (None, None),
        (7, None),
        ({"type": "function", "name": "f"}, "f"),
        ({"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "f"}]}, "required"),
        ({"type": "web_search"}, None),
    ],
)
def test_a_tool_choice_is_read_as_its_word_or_its_tool(choice, read):
    assert CODEC.decode({"tool_choice": choice}).tool_choice == read


@pytest.mark.parametrize(
    ("items", "messages"),
    [
        ([{"type": "reasoning", "summary": []}], (Message("assistant"),)),
        ([{"type": "message", "role": "assistant", "content": []}], (Message("assistant", ""),)),
        ([{"role": "assistant", "content": "a"}, {"role": "assistant", "content": "b"}], (Message("assistant", "ab"),)),
        (
            [{"type": "function_call", "name": "f", "arguments": 3}],
            (Message("assistant", None, (ToolCall(None, "f", ""),)),),
        ),
        ([{"type": "function_call_output", "call_id": 3, "output": None}], (Message("tool"),)),
        ([{"role": "tool", "content": "x"}], (Message("tool", "x"),)),
        ([{"type": ["message"], "content": "x"}, None, 3, {"type": "web_search_call"}], ()),
    ],
)
def test_odd_items_are_read_as_far_as_they_go(items, messages):
    assert CODEC.decode({"input": items}).messages == messages


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(codec=None))
    | st.sampled_from(
        ["message", "function_call", "function_call_output", "reasoning", "assistant", "input_text", "function"]
    ),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["type", "role", "content", "text", "call_id", "output", "name", "mode", "arguments"])
            | st.text(max_size=4),
            inner,
            max_size=5,
        )
    ),
    max_leaves=16,
)
KEYS = ("model", "input", "instructions", "tools", "tool_choice", "stream", "previous_response_id")


@given(JSON | st.fixed_dictionaries({}, optional=dict.fromkeys(KEYS, JSON)))
def test_no_json_body_makes_the_reader_raise(body):
    request = CODEC.decode(body)

    assert request.size >= 0
    assert all(isinstance(message.role, str) for message in request.messages)


WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
PARTS = st.lists(
    st.builds(Text, WORDS) | st.builds(Thinking, WORDS) | st.builds(ToolCall, st.none() | WORDS, WORDS, WORDS),
    max_size=4,
)
REPLIES = st.builds(
    Reply,
    parts=PARTS.map(tuple),
    stop=st.sampled_from(["stop", "length", "filter", "tool_calls"]),
    usage=st.none() | st.builds(Usage, st.integers(0, 10**9), st.integers(0, 10**9)),
)
ENDS = {
    "stop": ("completed", None),
    "tool_calls": ("completed", None),
    "length": ("incomplete", "max_output_tokens"),
    "filter": ("incomplete", "content_filter"),
}


@settings(max_examples=40, deadline=None)
@given(REPLIES, st.sampled_from(["whole", "last", "joined"]), st.sampled_from(["whole", "character", "adversarial:7"]))
def test_any_reply_is_what_the_sdk_reads(reply, how, cuts):
    assert ask(reply, how, cuts) == [list(reply.parts), *ENDS[reply.stop], reply.usage]


def with_own_ids(parts):
    """The SDK's helper tells calls apart by their call ids, as does everybody."""
    return tuple(
        ToolCall(f"call_{number}", part.name, part.arguments) if isinstance(part, ToolCall) else part
        for number, part in enumerate(parts)
    )


@settings(max_examples=25, deadline=None)
@given(PARTS.map(with_own_ids), st.sampled_from(["whole", "character", "adversarial:11"]))
def test_any_complete_reply_is_what_the_sdks_helper_puts_together(parts, cuts):
    assert ask(Reply(parts, usage=SPENT), "helper", cuts) == [list(parts), "completed", None, SPENT]


@given(PARTS.map(with_own_ids).filter(bool))
def test_what_a_reply_said_is_what_its_items_are_read_as(parts):
    items = CODEC.whole(Reply(parts), STAMP)["output"]
    texts = [part.text for part in parts if isinstance(part, Text)]
    calls = tuple(part for part in parts if isinstance(part, ToolCall))

    assert CODEC.decode({"input": items}).messages == (Message("assistant", "".join(texts) if texts else None, calls),)


@given(REPLIES)
def test_a_stream_ends_with_the_whole_however_it_is_cut(reply):
    for pieces in (whole, per_character):
        assert CODEC.chunks(reply, STAMP, ASKED, pieces)[-1]["response"] == CODEC.whole(reply, STAMP)
