import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fake_models.chunking import chunking, per_character, whole
from fake_models.messages import ErrorReply, Message, ModelRequest, Reply, Text, Thinking, ToolCall, ToolSpec, Usage
from fake_models.wire import CODECS
from fake_models.wire.codec import Stamp
from fake_models.wire.openai_chat import CODEC

STAMP = Stamp("chatcmpl-1", 1767225600, "m")
PLAIN = ModelRequest("openai_chat", "m", (), stream=True)
WITH_USAGE = ModelRequest("openai_chat", "m", (), stream=True, include_usage=True)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec=None)),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)
WEATHER = {"type": "function", "function": {"name": "weather", "description": "Sky", "parameters": {"type": "object"}}}


def deltas(reply, request=PLAIN, chunking=whole):
    return [choice["delta"] for chunk in CODEC.chunks(reply, STAMP, request, chunking) for choice in chunk["choices"]]


def test_the_table_of_wires_names_each_by_its_own_name():
    assert all(name == codec.name for name, codec in CODECS.items())
    assert CODECS["openai_chat"] is CODEC


@pytest.mark.parametrize(
    ("name", "text", "pieces"),
    [
        ("whole", "时间 ok", ("时间 ok",)),
        ("whole", "", ()),
        ("character", "时a🙂", ("时", "a", "🙂")),
        ("character", "", ()),
    ],
)
def test_a_chunking_cuts_a_text_into_pieces_that_join_to_it(name, text, pieces):
    assert chunking(name).pieces(text) == pieces


CONTENTS = [
    ("text", (Text("hi"),), "hi"),
    ("two texts", (Text("a"), Text("b")), "ab"),
    ("no parts", (), ""),
    ("null", (Text(None),), None),
    ("blank", (Text(" \n"),), " \n"),
    ("thinking only", (Thinking("hm"),), None),
    ("a call only", (ToolCall("c1", "f", "{}"),), None),
    ("text and call", (Text("let me see"), ToolCall("c1", "f", "{}")), "let me see"),
]


@pytest.mark.parametrize(("parts", "content"), [row[1:] for row in CONTENTS], ids=[row[0] for row in CONTENTS])
def test_the_content_of_a_whole_reply_tells_the_empty_shapes_apart(parts, content):
    assert CODEC.whole(Reply(parts), STAMP)["choices"][0]["message"]["content"] == content


@pytest.mark.parametrize("chunking", [whole, per_character])
@pytest.mark.parametrize(("parts", "content"), [row[1:] for row in CONTENTS], ids=[row[0] for row in CONTENTS])
def test_the_content_of_a_streamed_reply_joins_to_the_same(parts, content, chunking):
    pieces = [delta["content"] for delta in deltas(Reply(parts), chunking=chunking) if "content" in delta]

    assert pieces[0] in {"", None}
    assert (None if pieces == [None] else "".join(pieces)) == content


def test_a_stream_opens_with_the_role_then_thinks_then_speaks_then_calls():
    reply = Reply(
        (Text("ab"), Thinking("hm"), ToolCall("c1", "f", '{"x":1}'), ToolCall("c2", "g", "")), stop="tool_calls"
    )

    assert deltas(reply) == [
        {"role": "assistant", "content": "", "refusal": None},
        {"reasoning_content": "hm"},
        {"content": "ab"},
        {"tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": {"name": "f", "arguments": ""}}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": '{"x":1}'}}]},
        {"tool_calls": [{"index": 1, "id": "c2", "type": "function", "function": {"name": "g", "arguments": ""}}]},
        {},
    ]


def test_arguments_stream_in_the_pieces_of_the_chunking():
    pieces = [
        delta["tool_calls"][0]["function"]["arguments"]
        for delta in deltas(Reply((ToolCall("c1", "f", "{}"),)), chunking=per_character)
        if "tool_calls" in delta
    ]

    assert pieces == ["", "{", "}"]


@pytest.mark.parametrize(("call_id", "spelled"), [(None, {}), ("", {"id": ""}), ("c1", {"id": "c1"})])
def test_a_missing_id_is_left_out_and_an_empty_one_is_sent(call_id, spelled):
    reply = Reply((ToolCall(call_id, "f", "{}"),))
    (whole_call,) = CODEC.whole(reply, STAMP)["choices"][0]["message"]["tool_calls"]
    (first, _) = [delta["tool_calls"][0] for delta in deltas(reply) if "tool_calls" in delta]

    rest = {"type": "function", "function": {"name": "f", "arguments": "{}"}}
    assert whole_call == {**spelled, **rest}
    assert first == {"index": 0, **spelled, "type": "function", "function": {"name": "f", "arguments": ""}}


@pytest.mark.parametrize(
    ("stop", "reason"),
    [("stop", "stop"), ("length", "length"), ("filter", "content_filter"), ("tool_calls", "tool_calls")],
)
def test_the_stop_is_told_in_the_wires_words(stop, reason):
    reply = Reply((Text("x"),), stop=stop)
    reasons = [chunk["choices"][0]["finish_reason"] for chunk in CODEC.chunks(reply, STAMP, PLAIN, whole)]

    assert CODEC.whole(reply, STAMP)["choices"][0]["finish_reason"] == reason
    assert reasons == [None, None, reason]


@pytest.mark.parametrize(
    ("usage", "request_", "keys"),
    [
        (Usage(11, 3), WITH_USAGE, [None, None, None, 14]),
        (Usage(11, 3), PLAIN, ["absent"] * 3),
        (None, WITH_USAGE, ["absent"] * 3),
    ],
    ids=["asked and known", "not asked", "asked and unknown"],
)
def test_a_stream_reports_usage_in_a_last_chunk_where_it_is_asked_for_and_known(usage, request_, keys):
    chunks = CODEC.chunks(Reply((Text("x"),), usage=usage), STAMP, request_, whole)

    assert [(chunk.get("usage", "absent") or {"total_tokens": None}) for chunk in chunks] == [
        key
        if key == "absent"
        else {"total_tokens": None}
        if key is None
        else {"prompt_tokens": 11, "completion_tokens": 3, "total_tokens": 14}
        for key in keys
    ]
    assert [len(chunk["choices"]) for chunk in chunks] == [1, 1, 1, *([0] if 14 in keys else [])]


def test_a_whole_reply_without_usage_has_no_usage_key():
    assert "usage" not in CODEC.whole(Reply(), STAMP)
    assert CODEC.whole(Reply(usage=Usage(0, 0)), STAMP)["usage"]["total_tokens"] == 0


def test_an_event_is_framed_as_utf_8_and_the_stream_ends_with_its_sentinel():
    assert CODEC.frame({"a": "时"}) == 'data: {"a":"时"}\n\n'.encode()
    assert CODEC.trailer == b"data: [DONE]\n\n"


@pytest.mark.parametrize(
    ("error", "type_", "code", "param"),
    [
        (ErrorReply(400, ""), "invalid_request_error", None, None),
        (
            ErrorReply(400, "", code="context_length_exceeded"),
            "invalid_request_error",
            "context_length_exceeded",
            "messages",
        ),
        (ErrorReply(401, ""), "invalid_request_error", "invalid_api_key", None),
        (ErrorReply(404, ""), "invalid_request_error", "model_not_found", None),
        (ErrorReply(429, ""), "requests", "rate_limit_exceeded", None),
        (ErrorReply(429, "", code="insufficient_quota"), "insufficient_quota", "insufficient_quota", None),
        (ErrorReply(500, ""), "server_error", None, None),
        (ErrorReply(503, ""), "server_error", None, None),
        (ErrorReply(418, ""), "invalid_request_error", None, None),
        (ErrorReply(599, ""), "server_error", None, None),
        (ErrorReply(400, "", type="t", code="c", param="p"), "t", "c", "p"),
    ],
)
def test_an_error_is_filled_in_with_the_providers_words_for_its_status(error, type_, code, param):
    spelled = CODEC.error(error)["error"]

    assert {key: spelled[key] for key in ("type", "code", "param")} == {"type": type_, "code": code, "param": param}
    assert spelled["message"]


@pytest.mark.parametrize("status", [400, 401, 403, 404, 408, 409, 413, 422, 429, 500, 502, 503, 529])
def test_the_scripts_own_message_stands_as_it_is(status):
    assert CODEC.error(ErrorReply(status, "as said"))["error"]["message"] == "as said"


def test_a_request_is_read_whole():
    call = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": "{bad"}}
    body = {
        "model": "any",
        "messages": [
            {"role": "system", "content": "sys"},
            {
                "role": "user",
                "content": [{"type": "text", "text": "现在"}, {"type": "image_url"}, {"type": "text", "text": "几点"}],
            },
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": "12"},
        ],
        "tools": [WEATHER],
        "tool_choice": {"type": "function", "function": {"name": "weather"}},
        "stream": True,
        "stream_options": {"include_usage": True},
    }

    request = CODEC.decode(body)
    assert request == ModelRequest(
        wire="openai_chat",
        model="any",
        messages=(
            Message("system", "sys"),
            Message("user", "现在几点"),
            Message("assistant", None, (ToolCall("c1", "weather", "{bad"),)),
            Message("tool", "12", (), "c1"),
        ),
        tools=(ToolSpec("weather", "Sky", {"type": "object"}),),
        tool_choice="weather",
        stream=True,
        include_usage=True,
    )
    assert request.size == len(json.dumps(body["messages"], ensure_ascii=False, separators=(",", ":")).encode())


def test_the_size_is_in_utf_8_bytes_of_compact_json():
    assert CODEC.decode({"messages": [{"role": "时"}]}).size == len(b'[{"role":"xxx"}]')


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
        (None, None),
        (7, None),
        ({"type": "function", "function": {"name": "f"}}, "f"),
        ({"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": []}}, "required"),
    ],
)
def test_a_tool_choice_is_read_as_its_word_or_its_tool(choice, read):
    assert CODEC.decode({"tool_choice": choice}).tool_choice == read


@pytest.mark.parametrize(
    "body",
    [
        [],
        {"messages": "text", "tools": {"a": 1}, "stream": "yes", "stream_options": 3, "model": 4},
        {
            "messages": [
                None,
                3,
                {"role": 3, "content": 4, "tool_calls": [1, {"function": 2}, {"id": 3}], "tool_call_id": 5},
            ]
        },
        {"messages": [{"role": "user", "content": ["x", {"type": "text"}, {"type": "text", "text": 3}]}]},
        {
            "tools": [None, {"function": 3}, {"function": {"name": 3, "parameters": 4}}],
            "tool_choice": {"function": {"name": 3}},
        },
    ],
)
def test_an_odd_body_is_read_as_far_as_it_goes(body):
    assert CODEC.decode(body).wire == "openai_chat"


@given(
    st.dictionaries(st.sampled_from(["model", "messages", "tools", "tool_choice", "stream", "stream_options"]), JSON)
)
def test_no_json_body_makes_the_reader_raise(body):
    assert CODEC.decode(body).size >= 0


@given(st.lists(st.fixed_dictionaries({"role": JSON, "content": JSON, "tool_calls": JSON, "tool_call_id": JSON})))
def test_no_json_message_makes_the_reader_raise(messages):
    assert len(CODEC.decode({"messages": messages}).messages) == len(messages)
