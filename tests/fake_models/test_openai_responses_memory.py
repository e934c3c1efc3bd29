"""Requests that go on from a stored response: what is kept, how they are resumed, and what the official SDK is answered."""

from datetime import UTC, datetime

import httpx2
import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fake_models.chunking import WHOLE
from fake_models.httpx_transport import transport
from fake_models.messages import Cut, Message, ToolCall, World
from fake_models.provider_rules import breaches
from fake_models.script import CallTurn, ErrorTurn, Script, Turn
from fake_models.scripted_model import ScriptedModel
from fake_models.wire import CODECS, memory
from fake_models.wire.memory import Earlier, remembered
from fake_models.wire.openai_responses import CODEC
from fake_models.wire.openai_responses_memory import MEMORY

HI = {"role": "user", "content": "hi"}
SYSTEM = {"role": "developer", "content": "be brief"}
SAID = {"id": "msg_1", "type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "ho"}]}
CALLED = {"id": "fc_1", "type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}
RESPONSE = {"id": "resp_1", "output": [SAID, CALLED]}
TOOL = {"type": "function", "name": "look", "parameters": {"type": "object", "properties": {}}, "strict": False}


def output(id_):
    return {"type": "function_call_output", "call_id": id_, "output": "42"}


KEPT = MEMORY.kept({"instructions": "s", "tools": [TOOL], "input": [SYSTEM, HI]}, lambda: RESPONSE)


@pytest.mark.parametrize(
    ("sent", "whole"),
    [
        (
            {"previous_response_id": "resp_1", "input": [output("a")]},
            {"input": [SYSTEM, HI, SAID, CALLED, output("a")]},
        ),
        (
            {"previous_response_id": "resp_1", "input": "go on", "instructions": "now"},
            {"input": [SYSTEM, HI, SAID, CALLED, {"role": "user", "content": "go on"}], "instructions": "now"},
        ),
        ({"previous_response_id": "resp_1", "input": []}, {"input": [SYSTEM, HI, SAID, CALLED]}),
        ({"previous_response_id": "resp_1"}, {}),
        (
            {"input": [HI, {"type": "item_reference", "id": "fc_1"}, output("a")]},
            {"input": [HI, CALLED, output("a")]},
        ),
        ({"input": [HI, {"id": "msg_1"}]}, {"input": [HI, SAID]}),
    ],
)
def test_a_request_that_goes_on_is_resumed_as_though_it_had_been_sent_whole(sent, whole):
    assert MEMORY.resumed(sent, KEPT) == whole


@pytest.mark.parametrize(
    "body",
    [
        {"input": [HI]},
        {"input": "hi"},
        {"previous_response_id": "resp_2", "input": "hi"},
        {"previous_response_id": None, "input": "hi"},
        {"previous_response_id": ["resp_1"], "input": [HI]},
        {"input": [{"type": "item_reference", "id": "fc_2"}]},
        {"conversation": "conv_1", "input": "hi"},
        {},
    ],
)
def test_a_request_that_names_nothing_kept_is_taken_as_it_came(body):
    assert MEMORY.resumed(body, KEPT) is body


def test_nothing_is_kept_of_a_request_that_is_not_to_be_stored():
    assert MEMORY.kept({"input": "hi", "store": False}, lambda: RESPONSE) == {}
    assert MEMORY.kept({"input": "hi", "store": True}, lambda: RESPONSE).keys() == {"resp_1", "msg_1", "fc_1"}


def test_a_session_keeps_the_latest_replies_and_not_all(monkeypatch):
    monkeypatch.setattr(memory, "MOST", 2)
    kept = {}
    for number in range(5):
        kept = remembered(kept, {f"resp_{number}": ()})

    assert list(kept) == ["resp_3", "resp_4"]


def test_a_refusal_names_the_place_in_the_request_as_it_was_sent():
    whole = MEMORY.resumed({"model": "m", "previous_response_id": "resp_1", "input": [output("a"), output("")]}, KEPT)

    assert [breach.param for breach in breaches(CODEC.name, whole) if breach.rule.id == "call_id_empty"] == [
        "input[1].call_id"
    ]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["", "resp_1", "fc_1", "item_reference"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["id", "type", "role", "input", "content"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["input", "previous_response_id", "store", "instructions"]), JSON))
def test_nothing_that_a_body_holds_trips_it(body):
    whole = MEMORY.resumed(body, KEPT)
    CODEC.decode(whole)
    breaches(CODEC.name, whole)
    MEMORY.kept(whole, lambda: RESPONSE)


class Host:
    """A session whose only world is its clock."""

    calls = 0

    def world(self, run, request, side):
        self.asked = request
        return World(now=datetime(2026, 1, 1, tzinfo=UTC), run=run)

    def side(self, request, headers):
        return None

    def next_call(self):
        self.calls += 1
        return f"m{self.calls}"


class Chat:
    """A model on Responses, the official SDK before it, and what was recorded."""

    def __init__(self, *turns, **options):
        self.host, self.records = Host(), []
        self.model = ScriptedModel(
            record=lambda source, kind, data: self.records.append((kind, data)),
            host=self.host,
            chunking=WHOLE,
            codecs=CODECS,
            **options,
        )
        http = httpx2.Client(transport=transport(self.model, httpx2))
        self.sdk = openai.OpenAI(api_key="k", base_url="http://127.0.0.1:9/v1", http_client=http, max_retries=0)
        self.model.open("r1", Script(turns), "what?")

    def ask(self, given, **more):
        return self.sdk.responses.create(model="m", input=given, tools=[TOOL], **more)

    def refused(self, given, **more):
        with pytest.raises(openai.BadRequestError) as caught:
            self.ask(given, **more)
        error = caught.value
        return error.type, error.code, error.param, error.body["message"]

    @property
    def seen(self):
        return self.host.asked.messages

    @property
    def last(self):
        return self.records[-1]


LOOK = CallTurn("look", {})
THREE = Turn(calls=(LOOK, LOOK, LOOK))
ANSWER = Turn(say="42")


def three():
    """A model that has just asked for three calls at once."""
    chat = Chat(THREE, ANSWER, ANSWER)
    return chat, chat.ask([SYSTEM, {"role": "user", "content": "what?"}], instructions="once").id


CALLS = tuple(ToolCall(f"call_{number}", "look", "{}") for number in (1, 2, 3))
BEFORE = (Message("developer", "be brief"), Message("user", "what?"), Message("assistant", None, CALLS))
OUTPUTS = [output(call.id) for call in CALLS]
RESULTS = tuple(Message("tool", "42", tool_call_id=call.id) for call in CALLS)


@pytest.mark.parametrize("stream", [False, True])
def test_two_runs_of_new_items_only_are_seen_as_one_conversation(stream):
    chat = Chat(THREE, ANSWER)
    first = chat.ask([SYSTEM, {"role": "user", "content": "what?"}], instructions="once")
    told = chat.ask(OUTPUTS, previous_response_id=first.id, stream=stream)
    second = list(told)[-1].response if stream else told
    assert chat.seen == (*BEFORE, *RESULTS)
    assert chat.host.asked.size > len(b"be brief what? 42 42 42")
    chat.model.close("r1")
    chat.model.open("r2", Script((ANSWER,)), "and now?")
    chat.ask("and now?", previous_response_id=second.id)

    assert chat.seen == (*BEFORE, *RESULTS, Message("assistant", "42"), Message("user", "and now?"))
    asked = [data for kind, data in chat.records if kind == "request"]
    assert [one["run"] for one in asked] == ["r1", "r1", "r2"]
    assert asked[2]["body"] == {
        "model": "m",
        "input": "and now?",
        "tools": [TOOL],
        "previous_response_id": second.id,
    }


def test_a_conversation_may_be_gone_on_from_an_earlier_response_again():
    chat, first = three()
    chat.ask(OUTPUTS, previous_response_id=first)
    chat.ask(OUTPUTS, previous_response_id=first)

    assert chat.seen == (*BEFORE, *RESULTS)


def missing(number):
    return "invalid_request_error", None, "input", f"No tool output found for function call call_{number}."


def orphan(id_):
    return (
        "invalid_request_error",
        None,
        "input",
        f"No tool call found for function call output with call_id {id_}.",
    )


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ([OUTPUTS[0], OUTPUTS[2]], missing(2)),
        ([{"role": "user", "content": "never mind"}], missing(1)),
        ([*OUTPUTS, output("call_9")], orphan("call_9")),
        ([*OUTPUTS, OUTPUTS[0]], orphan("call_1")),
    ],
    ids=["one of three missing", "a new turn", "unknown", "twice"],
)
def test_outputs_are_paired_with_the_stored_calls(given, error):
    chat, first = three()

    assert chat.refused(given, previous_response_id=first) == error


def unknown(id_):
    return (
        "invalid_request_error",
        "previous_response_not_found",
        "previous_response_id",
        f"Previous response with id '{id_}' not found.",
    )


def test_an_unknown_id_is_refused_and_recorded_as_the_providers_word():
    chat, _ = three()

    assert chat.refused(OUTPUTS, previous_response_id="resp_0") == unknown("resp_0")
    kind, data = chat.last[0], chat.records[-2][1]
    assert kind == "reply_done"
    assert (data["by"], data["rule"], data["status"]) == ("provider", "previous_response_not_found", 400)


def test_a_response_that_was_not_stored_is_not_found():
    chat = Chat(THREE, ANSWER)
    first = chat.ask("what?", store=False).id

    assert chat.refused(OUTPUTS, previous_response_id=first) == unknown(first)


def test_another_sessions_response_is_not_found():
    _, first = three()

    assert Chat(ANSWER).refused(OUTPUTS, previous_response_id=first) == unknown(first)


def test_a_reply_that_broke_off_was_made_and_an_error_was_not():
    chat = Chat(Turn(say="4", broken=Cut(after_bytes=5)), Turn(error=ErrorTurn(500)), ANSWER, ANSWER)
    with pytest.raises(openai.APIConnectionError):
        chat.ask("what?")
    with pytest.raises(openai.InternalServerError):
        chat.ask("what?")
    chat.ask("and?", previous_response_id="resp_m1")

    assert chat.seen == (Message("user", "what?"), Message("assistant", "4"), Message("user", "and?"))
    assert chat.refused("and?", previous_response_id="resp_m2") == unknown("resp_m2")


def test_the_window_is_that_of_the_whole_conversation():
    chat = Chat(ANSWER, ANSWER, context_window=100)
    first = chat.ask("what?" + "x" * 300).id

    assert chat.refused("y" * 90, previous_response_id=first)[1] == "context_length_exceeded"


def test_an_input_is_missing_though_a_response_is_named():
    chat, first = three()

    with pytest.raises(openai.BadRequestError, match="Missing required parameter: 'input'"):
        chat.sdk.responses.create(model="m", previous_response_id=first)


def test_an_item_of_a_stored_response_is_what_its_reference_stands_for():
    chat = Chat(Turn(calls=(LOOK,)), ANSWER)
    called = chat.ask("what?").output[0].id
    chat.ask([HI, {"type": "item_reference", "id": called}, output("call_1")])

    assert chat.seen == (Message("user", "hi"), Message("assistant", None, CALLS[:1]), RESULTS[0])


def test_the_items_that_were_kept_are_told_apart_from_those_sent():
    whole = MEMORY.resumed({"previous_response_id": "resp_1", "input": [output("a")]}, KEPT)

    assert [isinstance(item, Earlier) for item in whole["input"]] == [True] * 4 + [False]
