import asyncio
import json
from datetime import UTC, datetime

import httpx
import ollama
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reply_endpoint import ReplyEndpoint

from fake_models.chunking import CHARACTER, WHOLE, per_character
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
from fake_models.provider_rules import breaches, refusal
from fake_models.script import FOREVER, Script, Turn
from fake_models.scripted_model import ScriptedModel
from fake_models.wire import CODECS
from fake_models.wire.codec import Stamp
from fake_models.wire.ollama import CODEC

STAMP = Stamp("reply_m1", 1704067200, "fake:1b")
ASKED = ModelRequest("ollama", "fake:1b", (), stream=True, include_usage=True)
HEAD = '{"model":"fake:1b","created_at":"2024-01-01T00:00:00.000000Z",'
COUNTS = '"prompt_eval_count":11,"prompt_eval_duration":2000,"eval_count":3,"eval_duration":2000}'
DURATIONS = '"total_duration":5000,"load_duration":1000'
LAST = HEAD + '"message":{"role":"assistant","content":""},"done":true,'
STOPPED = LAST + '"done_reason":"stop",' + DURATIONS + "," + COUNTS
USER = {"role": "user", "content": "hi"}
WEATHER = {"type": "function", "function": {"name": "weather", "description": "Sky", "parameters": {"type": "object"}}}


def by_three(text):
    return tuple(text[at : at + 3] for at in range(0, len(text), 3))


def line(message):
    return HEAD + '"message":{"role":"assistant",' + message + '},"done":false}'


#: name, reply, the lines of its stream, its whole body.
SPELLED = [
    (
        "text",
        Reply((Text("Hello"),), usage=Usage(11, 3)),
        [line('"content":"Hel"'), line('"content":"lo"'), STOPPED],
        HEAD
        + '"message":{"role":"assistant","content":"Hello"},"done":true,"done_reason":"stop",'
        + DURATIONS
        + ","
        + COUNTS,
    ),
    (
        "thinking",
        Reply((Text("Hi"), Thinking("Hm.")), usage=Usage(11, 3)),
        [line('"content":"","thinking":"Hm."'), line('"content":"Hi"'), STOPPED],
        HEAD
        + '"message":{"role":"assistant","content":"Hi","thinking":"Hm."},"done":true,"done_reason":"stop",'
        + DURATIONS
        + ","
        + COUNTS,
    ),
    (
        "parallel calls, one with an id",
        Reply(
            (ToolCall("call_fx1", "get_weather", '{"city": "Oslo"}'), ToolCall(None, "get_time", '{"tz":"UTC"}')),
            stop="tool_calls",
            usage=Usage(11, 3),
        ),
        [
            line(
                '"content":"","tool_calls":[{"id":"call_fx1","function":{"index":0,"name":"get_weather","arguments":{"city":"Oslo"}}}]'
            ),
            line(
                '"content":"","tool_calls":[{"function":{"index":1,"name":"get_time","arguments":{"tz":"UTC"}}}]',
            ),
            STOPPED,
        ],
        HEAD
        + '"message":{"role":"assistant","content":"","tool_calls":['
        + '{"id":"call_fx1","function":{"index":0,"name":"get_weather","arguments":{"city":"Oslo"}}},'
        + '{"function":{"index":1,"name":"get_time","arguments":{"tz":"UTC"}}}'
        + ']},"done":true,"done_reason":"stop",'
        + DURATIONS
        + ","
        + COUNTS,
    ),
    (
        "length, no usage",
        Reply((Text("时间"),), stop="length"),
        [line('"content":"时间"'), LAST + '"done_reason":"length",' + DURATIONS + "}"],
        HEAD + '"message":{"role":"assistant","content":"时间"},"done":true,"done_reason":"length",' + DURATIONS + "}",
    ),
    (
        "nothing",
        Reply(),
        [LAST + '"done_reason":"stop",' + DURATIONS + "}"],
        HEAD + '"message":{"role":"assistant","content":""},"done":true,"done_reason":"stop",' + DURATIONS + "}",
    ),
    (
        "a raw finish reason",
        Reply(stop="length", finish="unload"),
        [LAST + '"done_reason":"unload",' + DURATIONS + "}"],
        HEAD + '"message":{"role":"assistant","content":""},"done":true,"done_reason":"unload",' + DURATIONS + "}",
    ),
]
NAMES = [row[0] for row in SPELLED]


@pytest.mark.parametrize(("reply", "lines"), [(row[1], row[2]) for row in SPELLED], ids=NAMES)
def test_a_streamed_reply_is_one_line_of_json_after_another(reply, lines):
    framed = [CODEC.frame(chunk) for chunk in CODEC.chunks(reply, STAMP, ASKED, by_three)]

    assert framed == [(text + "\n").encode() for text in lines]
    assert (CODEC.trailer, CODEC.comment) == (b"", b"")


@pytest.mark.parametrize(("reply", "body"), [(row[1], row[3]) for row in SPELLED], ids=NAMES)
def test_a_whole_reply_is_one_object(reply, body):
    assert CODEC.frame(CODEC.whole(reply, STAMP)).decode() == body + "\n"


def test_what_ends_a_line_of_text_is_escaped():
    assert CODEC.frame({"a": "\u2028\u2029\x85时"}) == '{"a":"\\u2028\\u2029\\u0085时"}\n'.encode()


@pytest.mark.parametrize(
    ("stop", "reason"), [("stop", "stop"), ("length", "length"), ("filter", "stop"), ("tool_calls", "stop")]
)
def test_the_stop_is_told_in_the_wires_words(stop, reason):
    assert CODEC.whole(Reply(stop=stop), STAMP)["done_reason"] == reason


UNREADABLE = [
    ("{bad", "invalid character 'b' looking for beginning of value"),
    ('{"x":', "unexpected end of JSON input"),
    ('{"x": "cut', "unexpected end of JSON input"),
    ("{", "unexpected end of JSON input"),
    ("[1]", "json: cannot unmarshal array into Go value of type api.ToolCallFunctionArguments"),
    ('"text"', "json: cannot unmarshal string into Go value of type api.ToolCallFunctionArguments"),
    ("true", "json: cannot unmarshal bool into Go value of type api.ToolCallFunctionArguments"),
    ("7", "json: cannot unmarshal number into Go value of type api.ToolCallFunctionArguments"),
    ("null", "json: cannot unmarshal null into Go value of type api.ToolCallFunctionArguments"),
    ('{"x": NaN}', "invalid character 'N' looking for beginning of value"),
    ('{"x": 1e999}', "json: cannot unmarshal number 1e999 into Go value of type float64"),
    ("[" * 100_000, "exceeded max depth"),
]


@pytest.mark.parametrize(("arguments", "why"), UNREADABLE, ids=[row[0][:12] for row in UNREADABLE])
def test_arguments_that_are_no_object_fail_the_whole_reply_as_the_server_does(arguments, why):
    reply = Reply(
        (Text("let me see"), ToolCall("c1", "f", "{}"), ToolCall("c2", "f", arguments)),
        stop="tool_calls",
        usage=Usage(1, 1),
        broken=Cut(after_chunks=1),
        wait_s=2.0,
        quirks=("no_index",),
    )

    message = f"error parsing tool call: raw='{arguments}', err={why}"
    assert CODEC.carried(reply, ASKED) == Reply(error=ErrorReply(500, message), broken=Cut(after_chunks=1), wait_s=2.0)


@pytest.mark.parametrize(
    ("said", "carried"),
    [
        (Reply((Text(None),)), Reply((Text(""),))),
        (Reply((ToolCall("", "f", "{}"),)), Reply((ToolCall(None, "f", "{}"),))),
        (Reply((Text("x"),), stop="filter"), Reply((Text("x"),), stop="stop")),
        (Reply(stop="filter", finish="safety"), Reply(stop="filter", finish="safety")),
        (Reply((Thinking("t"), Text("x")), stop="length"), Reply((Thinking("t"), Text("x")), stop="length")),
        (Reply((ToolCall("c1", "f", ' {"x": 1.5, "y": "时"}'),)), Reply((ToolCall("c1", "f", '{"x":1.5,"y":"时"}'),))),
        (Reply((ToolCall("c1", "f", " "),)), Reply((ToolCall("c1", "f", "{}"),))),
        (Reply(error=ErrorReply(429, "")), Reply(error=ErrorReply(429, ""))),
    ],
)
def test_what_the_wire_has_no_word_for_is_left_out(said, carried):
    assert CODEC.carried(said, ASKED) == carried


@pytest.mark.parametrize("status", [400, 401, 403, 404, 408, 409, 413, 422, 429, 500, 502, 503, 529, 418])
def test_an_error_is_one_text_which_is_the_scripts_or_the_usual_one(status):
    assert CODEC.error(ErrorReply(status, "as said", type="t", code="c", param="p")) == {"error": "as said"}
    (usual,) = CODEC.error(ErrorReply(status, "")).values()
    assert usual


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ErrorReply(500, ""), "llama runner process has terminated: exit status 2"),
        (ErrorReply(503, ""), "server busy, please try again.  maximum pending requests exceeded"),
        (
            ErrorReply(400, "", code="context_length_exceeded"),
            "request (9001 tokens) exceeds the available context size (8192 tokens), try increasing it",
        ),
        (
            ErrorReply(429, "", code="insufficient_quota"),
            "you have reached your usage limit, please upgrade to continue",
        ),
        (ErrorReply(418, ""), "HTTP status 418."),
    ],
)
def test_an_error_that_says_nothing_is_in_the_servers_words(error, message):
    assert CODEC.error(error) == CODEC.error_event(error) == {"error": message}


def called(name, arguments, **more):
    return {**more, "function": {"name": name, "arguments": arguments}}


def assistant(*calls, content=""):
    return {"role": "assistant", "content": content, "tool_calls": list(calls)}


def result(**keys):
    return {"role": "tool", "content": "ok", **keys}


def test_a_request_is_read_whole():
    body = {
        "model": "fake:1b",
        "messages": [
            {"role": "system", "content": "sys"},
            {"role": "user", "content": "现在几点", "images": ["aGk="]},
            {
                "role": "assistant",
                "content": "",
                "thinking": "hm",
                "tool_calls": [called("weather", {"city": "奥斯陆"}, id="c1")],
            },
            {"role": "tool", "content": "12", "tool_name": "weather", "tool_call_id": "c1"},
        ],
        "tools": [WEATHER],
    }

    request = CODEC.decode(body, "/api/chat")
    assert request == ModelRequest(
        wire="ollama",
        model="fake:1b",
        messages=(
            Message("system", "sys"),
            Message("user", "现在几点"),
            Message("assistant", "", (ToolCall("c1", "weather", '{"city":"奥斯陆"}'),)),
            Message("tool", "12", (), "c1"),
        ),
        tools=(ToolSpec("weather", "Sky", {"type": "object"}),),
        stream=True,
        include_usage=True,
    )
    assert request.size == len(json.dumps(body["messages"], ensure_ascii=False, separators=(",", ":")).encode())


@pytest.mark.parametrize(("keys", "stream"), [({}, True), ({"stream": None}, True), ({"stream": False}, False)])
def test_a_request_streams_unless_it_says_that_it_does_not(keys, stream):
    assert CODEC.decode(keys, "").stream is stream


@pytest.mark.parametrize(
    ("body", "tools"), [({}, None), ({"tools": None}, None), ({"tools": []}, ()), ({"tools": "odd"}, None)]
)
def test_no_tools_key_and_an_empty_list_differ(body, tools):
    assert CODEC.decode(body, "").tools == tools


F, G = called("f", {}), called("g", {})
#: name, messages, the ids of the calls, the call id of each result.
PAIRED = [
    ("in order by name", [assistant(F, G), result(tool_name="f"), result(tool_name="g")], ["#1", "#2"], ["#1", "#2"]),
    ("swapped by name", [assistant(F, G), result(tool_name="g"), result(tool_name="f")], ["#1", "#2"], ["#2", "#1"]),
    ("by the key of old", [assistant(F, G), result(name="g"), result(name="f")], ["#1", "#2"], ["#2", "#1"]),
    ("twice the same tool", [assistant(F, F), result(tool_name="f"), result(tool_name="f")], ["#1", "#2"], ["#1", "#2"]),
    ("no name", [assistant(F, G), result(), result()], ["#1", "#2"], ["#1", "#2"]),
    ("one result missing", [assistant(F, G), result(tool_name="g")], ["#1", "#2"], ["#2"]),
    ("one too many", [assistant(F), result(tool_name="f"), result(tool_name="f")], ["#1"], ["#1", "#1"]),
    ("a name that was not called", [assistant(F), result(tool_name="h")], ["#1"], [None]),
    ("no call at all", [USER, result(tool_name="f")], [], [None]),
    ("ids kept", [assistant({"id": "a", **F}, {"id": "b", **F}), result(tool_call_id="b"), result(tool_name="f")], ["a", "b"], ["b", "a"]),
    ("an id that is unknown", [assistant({"id": "a", **F}), result(tool_call_id="z")], ["a"], ["z"]),
    ("an id that is empty", [assistant({"id": "", **F}), result(tool_call_id="", tool_name="f")], ["#1"], ["#1"]),
    ("over two rounds", [assistant(F), result(tool_name="f"), assistant(F, G), result(tool_name="g"), result(tool_name="f")], ["#1", "#2", "#3"], ["#1", "#3", "#2"]),
    ("a message between", [assistant(F), USER, result(tool_name="f")], ["#1"], ["#1"]),
]  # fmt: skip


@pytest.mark.parametrize(("messages", "calls", "results"), [row[1:] for row in PAIRED], ids=[row[0] for row in PAIRED])
def test_a_result_is_its_calls_by_id_else_by_name_else_by_order(messages, calls, results):
    read = CODEC.decode({"messages": messages}, "").messages

    assert [call.id for message in read for call in message.tool_calls] == calls
    assert [message.tool_call_id for message in read if message.role == "tool"] == results


def test_made_up_ids_stay_as_the_conversation_grows():
    before = [USER, assistant(F, G), result(tool_name="f"), result(tool_name="g")]
    read = CODEC.decode({"messages": before}, "").messages

    assert CODEC.decode({"messages": [*before, assistant(F), result()]}, "").messages[: len(read)] == read


@pytest.mark.parametrize(
    ("arguments", "read"), [({"a": [1, "x"]}, '{"a":[1,"x"]}'), ('{"a": 1}', '{"a": 1}'), (None, ""), (3, "")]
)
def test_arguments_are_read_as_text(arguments, read):
    (message,) = CODEC.decode({"messages": [assistant(called("f", arguments))]}, "").messages

    assert message.tool_calls[0].arguments == read


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec=None), max_size=6),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)
CALL = JSON | st.fixed_dictionaries(
    {"id": JSON, "function": JSON | st.fixed_dictionaries({"name": JSON, "arguments": JSON})}
)
MESSAGE = JSON | st.fixed_dictionaries(
    {"role": st.sampled_from(["tool", "assistant"]) | JSON},
    optional={
        "content": JSON,
        "tool_calls": JSON | st.lists(CALL, max_size=3),
        "tool_call_id": JSON,
        "tool_name": JSON,
    },
)


@given(
    JSON
    | st.fixed_dictionaries(
        {},
        optional={"model": JSON, "messages": JSON | st.lists(MESSAGE, max_size=4), "tools": JSON, "stream": JSON},
    )
)
def test_no_json_body_makes_the_reader_raise(body):
    assert CODEC.decode(body, "/api/chat").wire == "ollama"


@given(
    st.fixed_dictionaries({}, optional={"model": JSON, "messages": JSON | st.lists(MESSAGE, max_size=4), "tools": JSON})
)
def test_no_json_body_makes_a_rule_raise(body):
    on = {"tools_not_supported": "observe"}

    assert all(breach.message for breach in breaches("ollama", body, on))


# The official client.

HOST = "http://127.0.0.1:9/s/token"


def client(*replies, chunking=WHOLE):
    endpoint = ReplyEndpoint(*replies, chunking=chunking)
    return ollama.Client(host=HOST, transport=transport(endpoint, httpx)), endpoint


def read(parts):
    """What the official client's responses say, joined."""
    parts = list(parts)
    calls = [call.function for part in parts for call in part.message.tool_calls or []]
    last = parts[-1]
    return {
        "content": "".join(part.message.content or "" for part in parts),
        "thinking": "".join(part.message.thinking or "" for part in parts),
        "calls": [(call.name, dict(call.arguments)) for call in calls],
        "done": last.done,
        "done_reason": last.done_reason,
        "counts": (last.prompt_eval_count, last.eval_count),
    }


WORDS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)
ARGUMENTS = st.dictionaries(
    st.text(st.characters(codec="utf-8"), max_size=4),
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers(-(2**53), 2**53)
        | st.floats(allow_nan=False, allow_infinity=False)
        | WORDS,
        lambda inner: st.lists(inner, max_size=2) | st.dictionaries(WORDS, inner, max_size=2),
        max_leaves=4,
    ),
    max_size=3,
)
REPLIES = st.builds(
    Reply,
    parts=st.tuples(
        st.builds(Thinking, WORDS),
        st.builds(Text, WORDS),
        st.builds(ToolCall, st.none() | WORDS, WORDS, ARGUMENTS.map(json.dumps)),
    )
    | st.lists(st.builds(ToolCall, WORDS, WORDS, ARGUMENTS.map(json.dumps)), max_size=3).map(tuple),
    stop=st.sampled_from(["stop", "length"]),
    usage=st.none() | st.builds(Usage, st.integers(0, 10**9), st.integers(0, 10**9)),
)


@pytest.mark.parametrize("chunking", [WHOLE, CHARACTER], ids=lambda one: one.name)
@pytest.mark.parametrize("stream", [True, False])
@given(reply=REPLIES)
def test_the_official_client_reads_what_was_said(stream, chunking, reply):
    sdk, _ = client(reply, chunking=chunking)
    answer = sdk.chat("fake:1b", [USER], stream=stream)

    assert read(answer if stream else [answer]) == {
        "content": "".join(part.text for part in reply.parts if isinstance(part, Text)),
        "thinking": "".join(part.text for part in reply.parts if isinstance(part, Thinking)),
        "calls": [(call.name, json.loads(call.arguments)) for call in reply.calls],
        "done": True,
        "done_reason": reply.stop,
        "counts": (None, None) if reply.usage is None else (reply.usage.input, reply.usage.output),
    }


def test_the_asynchronous_client_streams_too():
    async def asked():
        sdk = ollama.AsyncClient(host=HOST, transport=transport(ReplyEndpoint(Reply((Text("时间"),))), httpx))
        return read([part async for part in await sdk.chat("fake:1b", [USER], stream=True)])

    assert asyncio.run(asked())["content"] == "时间"


def test_what_the_official_client_sends_is_read():
    sdk, endpoint = client(Reply((ToolCall("call_1", "weather", '{"city":"Oslo"}'),)), Reply())
    heard = sdk.chat("fake:1b", [USER], tools=[WEATHER]).message
    sdk.chat("fake:1b", [USER, heard, {"role": "tool", "content": "sunny", "tool_name": "weather"}], stream=True)
    # A stream is asked for when it is read.
    list(sdk.chat("fake:1b", [USER, heard, {"role": "tool", "content": "sunny", "tool_name": "weather"}], stream=True))

    first, second = [CODEC.decode(request["body"], request["path"]) for request in endpoint.requests]
    assert (first.stream, second.stream) == (False, True)
    assert [tool.name for tool in first.tools] == ["weather"]
    assert second.tools == ()
    # The client forgets the id that it was told.
    assert second.messages == (
        Message("user", "hi"),
        Message("assistant", None, (ToolCall("#1", "weather", '{"city":"Oslo"}'),)),
        Message("tool", "sunny", (), "#1"),
    )


def test_the_official_client_raises_what_the_server_says():
    sdk, _ = client(Reply(error=ErrorReply(404, "model 'nope' not found")))

    with pytest.raises(ollama.ResponseError, match="model 'nope' not found") as raised:
        sdk.chat("nope", [USER])
    assert raised.value.status_code == 404


def test_the_official_client_raises_an_error_in_mid_stream():
    sdk, _ = client(Reply((Text("Hello"),), broken=ErrorEvent(ErrorReply(500, "unexpected EOF"), after_chunks=2)))
    heard = []

    with pytest.raises(ollama.ResponseError, match="unexpected EOF"):
        heard.extend(part.message.content for part in sdk.chat("fake:1b", [USER], stream=True))
    assert heard == ["Hello"]


CALLS = Reply((Text("hm"), ToolCall("a", "f", "{}"), ToolCall("b", "g", "{}")), stop="tool_calls", usage=Usage(11, 3))


@pytest.mark.parametrize(
    ("quirk", "done", "reason", "counts", "content"),
    [
        ("no_final_marker", False, None, (None, None), "hm"),
        ("finish_missing", True, None, (11, 3), "hm"),
        ("usage_null", True, "stop", (None, None), "hm"),
        ("index_zero", True, "stop", (11, 3), "hm"),
        ("no_index", True, "stop", (11, 3), "hm"),
        ("text_after_calls", True, "stop", (11, 3), "hm"),
        ("duplicate_ids", True, "stop", (11, 3), "hm"),
    ],
)
def test_the_official_client_reads_a_stream_with_a_quirk(quirk, done, reason, counts, content):
    sdk, _ = client(Reply(CALLS.parts, stop=CALLS.stop, usage=CALLS.usage, quirks=(quirk,)))

    assert read(sdk.chat("fake:1b", [USER], stream=True)) == {
        "content": content,
        "thinking": "",
        "calls": [("f", {}), ("g", {})],
        "done": done,
        "done_reason": reason,
        "counts": counts,
    }


def test_every_quirk_has_its_case():
    assert set(CODEC.quirks) == {
        "no_final_marker",
        "finish_missing",
        "usage_null",
        "index_zero",
        "no_index",
        "text_after_calls",
        "duplicate_ids",
    }


def streamed(quirk):
    return CODEC.quirks[quirk].chunks(CODEC.chunks(CALLS, STAMP, ASKED, per_character))


def body_with(quirk):
    return CODEC.quirks[quirk].whole(CODEC.whole(CALLS, STAMP))


def indices(*messages):
    return [call["function"].get("index") for message in messages for call in message.get("tool_calls", ())]


@pytest.mark.parametrize(("quirk", "found"), [("index_zero", [0, 0]), ("no_index", [None, None])])
def test_a_quirk_of_the_index_is_in_streams_and_in_whole_bodies(quirk, found):
    assert indices(*(chunk["message"] for chunk in streamed(quirk))) == found
    assert indices(body_with(quirk)["message"]) == found


def test_a_quirk_of_the_end_is_in_whole_bodies_too():
    assert "done_reason" not in body_with("finish_missing")
    assert (body_with("usage_null")["prompt_eval_count"], body_with("usage_null")["eval_count"]) == (None, None)


def test_text_after_calls_keeps_the_order_of_the_text():
    messages = [chunk["message"] for chunk in streamed("text_after_calls")]

    assert [message["content"] for message in messages] == ["", "", "h", "m", ""]
    assert indices(*messages[:2]) == [0, 1]


# The provider's rules.


def chat(*messages, **keys):
    return {"model": "fake:1b", "messages": list(messages), **keys}


ARGUMENTS_WORDS = (
    "json: cannot unmarshal string into Go struct field ChatRequest.messages.tool_calls.function.arguments of type "
    "api.ToolCallFunctionArguments"
)
#: rule, what trips it, the server's words, its legal neighbour.
BREACHES = [
    ("model_missing", {"messages": [USER]}, "model is required", chat(USER)),
    (
        "content_no_text",
        chat({"role": "user", "content": [{"type": "text", "text": "hi"}]}),
        "json: cannot unmarshal array into Go struct field ChatRequest.messages.content of type string",
        chat({"role": "assistant", "content": None}),
    ),
    ("arguments_no_object", chat(assistant(called("f", "{}"))), ARGUMENTS_WORDS, chat(assistant(called("f", {})))),
]


class Bench:
    """A session of one scripted model that answers `ok` and remembers what is recorded."""

    def __init__(self):
        self.records = []
        self.model = ScriptedModel(
            record=lambda source, kind, data: self.records.append((kind, data)),
            host=self,
            chunking=WHOLE,
            codecs=CODECS,
        )
        self.model.open("r1", Script((Turn("ok", repeat=FOREVER),)), "hi")

    def world(self, run, request, side):
        return World(now=datetime(2026, 1, 1, tzinfo=UTC), run=run)

    def side(self, request, headers):
        return None

    def next_call(self):
        return f"m{len(self.records)}"


def posted(body):
    """
    The answer to a body that the official client posts.

    Its `chat` checks arguments, content and model before it sends them, so the body goes in below that.
    """
    bench = Bench()
    sdk = ollama.Client(host=HOST, transport=transport(bench.model, httpx))
    try:
        return sdk._request(ollama.ChatResponse, "POST", "/api/chat", json={**body, "stream": False}), bench
    except ollama.ResponseError as refused:
        return refused, bench


@pytest.mark.parametrize(("rule", "bad", "words"), [row[:3] for row in BREACHES], ids=[row[0] for row in BREACHES])
def test_a_breach_is_refused_in_the_servers_words(rule, bad, words):
    refused, bench = posted(bad)

    assert (refused.status_code, refused.error) == (400, words)
    assert [data["rule"] for kind, data in bench.records if kind == "refused"] == [rule]


@pytest.mark.parametrize("good", [row[3] for row in BREACHES], ids=[row[0] for row in BREACHES])
def test_the_legal_neighbour_of_a_breach_is_answered(good):
    assert posted(good)[0].message.content == "ok"


LEGAL = {
    "several user turns and system messages": chat({"role": "system", "content": "s"}, USER, USER, {"role": "system", "content": "t"}),
    "a result of the run before": chat(USER, assistant(F), result(tool_name="f"), assistant(content="done"), USER),
    "no result": chat(USER, assistant(F), USER),
    "a result without a call": chat(USER, result(tool_name="f"), USER),
    "no tools": chat(USER, tools=[]),
    "null keys": chat({"role": "user", "content": "hi", "tool_calls": None}, tools=None, format=None),
}  # fmt: skip


@pytest.mark.parametrize("body", LEGAL.values(), ids=LEGAL.keys())
def test_what_the_server_leaves_to_its_model_is_no_breach(body):
    assert breaches("ollama", body) == ()


def test_that_a_model_has_no_tools_is_a_rule_to_turn_on():
    offered = chat(USER, tools=[WEATHER])
    (breach,) = breaches("ollama", offered, {"tools_not_supported": "enforce"})

    assert breaches("ollama", offered) == ()
    assert refusal(breach).message == "registry.ollama.ai/library/fake:1b does not support tools"
