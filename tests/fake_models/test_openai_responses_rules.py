"""What OpenAI refuses on Responses, each refusal met by the official SDK, and what stands right beside it and passes."""

import httpx2
import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reply_endpoint import ReplyEndpoint

from fake_models.exchange import of_error
from fake_models.httpx_transport import transport
from fake_models.messages import Reply
from fake_models.provider_rules import PROVIDER_RULES, breaches, refusal
from fake_models.wire import CODECS

WIRE = "openai_responses"
RULES = {rule.id: rule for rule in PROVIDER_RULES if rule.wire == WIRE}
USER = {"role": "user", "content": "hi"}
SYSTEM = {"role": "system", "content": "s"}
TOOL = {"type": "function", "name": "look-up_1", "parameters": {}, "strict": False}


class Provider(ReplyEndpoint):
    """Refuses what breaks a rule, whatever its mode unless it is off, and answers the rest."""

    def exchange(self, wire, path, body, headers):
        found = breaches(wire, body)
        self.found = [breach.rule.id for breach in found]
        if not found:
            return super().exchange(wire, path, body, headers)
        error = refusal(found[0])
        return of_error("m1", CODECS[wire], error)


PROVIDER = Provider()
HTTP = httpx2.Client(transport=transport(PROVIDER, httpx2))
SDK = openai.OpenAI(api_key="k", base_url="http://127.0.0.1:9/v1", http_client=HTTP, max_retries=0)


def sent(body):
    """What comes of a body that the SDK sends: the rules it broke, and the error raised for the first of them."""
    PROVIDER.replies = [Reply()]
    try:
        SDK.responses.create(extra_body=body)
    except openai.BadRequestError as error:
        return PROVIDER.found, error
    return PROVIDER.found, None


def call(id_, **keys):
    return {"type": "function_call", "call_id": id_, "name": "f", "arguments": "{}", **keys}


def output(id_, **keys):
    return {"type": "function_call_output", "call_id": id_, "output": "ok", **keys}


def custom(id_, **keys):
    return {"type": "custom_tool_call", "call_id": id_, "name": "f", "input": "x", **keys}


def custom_output(id_, **keys):
    return {"type": "custom_tool_call_output", "call_id": id_, "output": "ok", **keys}


def without(item, key):
    return {name: value for name, value in item.items() if name != key}


def thought(id_):
    return {"type": "reasoning", "id": id_, "summary": []}


def asked(*items, **keys):
    return {"model": "m", "input": list(items), **keys}


def parts(role, *types):
    return {"role": role, "content": [{"type": kind, "text": "x"} for kind in types]}


CHAT_CALL = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
CHAT_TOOL = {"type": "function", "function": {"name": "f", "parameters": {}}}
ORPHAN = "No tool call found for function call output with call_id a."
CUSTOM_ORPHAN = "No tool call found for custom tool call output with call_id a."
#: rule, what trips it, code, param, message (or how it begins), the legal neighbour.
CASES = [
    (
        "model_missing",
        {"input": "hi"},
        "missing_required_parameter",
        "model",
        "Missing required parameter: 'model'.",
        {"input": "hi", "prompt": {"id": "pmpt_1"}},
    ),
    (
        "messages_instead_of_input",
        {**asked(USER), "messages": [USER]},
        "unsupported_parameter",
        None,
        "Unsupported parameter: 'messages'. In the Responses API, this parameter has moved to 'input'.",
        asked(USER),
    ),
    (
        "input_missing",
        {"model": "m"},
        "missing_required_parameter",
        "input",
        "Missing required parameter: 'input'.",
        {"model": "m", "prompt": {"id": "pmpt_1"}},
    ),
    (
        "input_missing",
        {"model": "m", "instructions": "s"},
        "missing_required_parameter",
        "input",
        "Missing required parameter: 'input'.",
        {"model": "m", "conversation": "conv_0"},
    ),
    *(
        (
            "message_tool_calls",
            asked(USER, {"role": "assistant", "tool_calls": [CHAT_CALL], **said}),
            "unknown_parameter",
            "input[1].tool_calls",
            "Unknown parameter: 'input[1].tool_calls'.",
            asked(USER, {"role": "assistant", "content": "x"}, call("a"), output("a")),
        )
        for said in ({"content": "x"}, {"content": ""}, {"content": "x", "type": "message"})
    ),
    (
        "role_unknown",
        asked(USER, {"role": "tool", "content": "x"}),
        "invalid_value",
        "input[1]",
        "Invalid value: 'tool'. Supported values are: 'assistant', 'system', 'developer', and 'user'.",
        asked(USER, {"role": "developer", "content": "x"}),
    ),
    (
        "role_unknown",
        asked({}),
        "invalid_value",
        "input[0]",
        "Invalid value: ''. Supported values are: 'assistant', 'system', 'developer', and 'user'.",
        asked({"id": "msg_1"}),
    ),
    (
        "content_missing",
        asked({"role": "user"}),
        "missing_required_parameter",
        "input[0].content",
        "Missing required parameter: 'input[0].content'.",
        asked({"role": "user", "content": ""}),
    ),
    (
        "content_type_unknown",
        asked(parts("user", "input_text", "text")),
        "invalid_value",
        "input[0].content[1].type",
        "Invalid value: 'text'. Supported values are: 'input_text', 'input_image', 'input_audio', 'output_text', 'refusal', ",
        asked(parts("user", "input_text", "input_text")),
    ),
    (
        "assistant_content_input_text",
        asked(USER, parts("assistant", "input_text")),
        "invalid_value",
        "input[1].content[0]",
        "Invalid value: 'input_text'. Supported values are: 'output_text' and 'refusal'.",
        asked(USER, parts("assistant", "output_text")),
    ),
    (
        "user_content_output_text",
        asked(parts("user", "output_text")),
        "invalid_value",
        "input[0].content[0]",
        "Invalid value: 'output_text'. Supported values are: 'input_text', 'input_image', 'input_file', 'scoped_content', and ",
        asked(parts("user", "input_text")),
    ),
    (
        "item_member_missing",
        asked(USER, call("a"), without(output("a"), "output")),
        "missing_required_parameter",
        "input[2].output",
        "Missing required parameter: 'input[2].output'.",
        asked(USER, call("a"), output("a", output="")),
    ),
    (
        "item_member_missing",
        asked(without(call("a"), "name"), output("a")),
        "missing_required_parameter",
        "input[0].name",
        "Missing required parameter: 'input[0].name'.",
        asked(call("a"), output("a")),
    ),
    (
        "call_id_empty",
        asked(call(""), output("")),
        "empty_string",
        "input[0].call_id",
        "Invalid 'input[0].call_id': empty string. Expected a string with minimum length 1, but got an empty string instead.",
        asked(call("a"), output("a")),
    ),
    (
        "call_id_too_long",
        asked(call("a" * 65), output("a" * 65)),
        "string_above_max_length",
        "input[0].call_id",
        "Invalid 'input[0].call_id': string too long. Expected a string with maximum length 64, but got a string with length 65 ",
        asked(call("a" * 64), output("a" * 64)),
    ),
    (
        "item_id_prefix",
        asked(call("call_a", id="call_a"), output("call_a")),
        "invalid_value",
        "input[0].id",
        "Invalid 'input[0].id': 'call_a'. Expected an ID that begins with 'fc'.",
        asked(call("call_a", id="fc_a"), output("call_a")),
    ),
    (
        "tool_type_missing",
        asked(USER, tools=[TOOL, without(TOOL, "type")]),
        "missing_required_parameter",
        "tools[1].type",
        "Missing required parameter: 'tools[1].type'.",
        asked(USER, tools=[TOOL, {"type": "web_search"}]),
    ),
    (
        "tool_name_missing",
        asked(USER, tools=[CHAT_TOOL]),
        "missing_required_parameter",
        "tools[0].name",
        "Missing required parameter: 'tools[0].name'.",
        asked(USER, tools=[TOOL]),
    ),
    (
        "tool_name_empty",
        asked(USER, tools=[{**TOOL, "name": ""}]),
        "empty_string",
        "tools[0].name",
        "Invalid 'tools[0].name': empty string. Expected a string with minimum length 1, but got an empty string instead.",
        asked(USER, tools=[{**TOOL, "name": "f"}]),
    ),
    (
        "tool_name_pattern",
        asked(USER, tools=[TOOL, {**TOOL, "name": "fs.read"}]),
        "invalid_value",
        "tools[1].name",
        "Invalid 'tools[1].name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.",
        asked(USER, tools=[TOOL, {**TOOL, "name": "fs-read_9"}]),
    ),
    (
        "tool_choice_unknown",
        asked(USER, tools=[TOOL], tool_choice="any"),
        "invalid_value",
        "tool_choice",
        "Invalid value: 'any'. Supported values are: 'none', 'auto', and 'required'.",
        asked(USER, tools=[TOOL], tool_choice="required"),
    ),
    (
        "tool_choice_name_missing",
        asked(USER, tools=[TOOL], tool_choice={"type": "function", "function": {"name": "look-up_1"}}),
        "missing_required_parameter",
        "tool_choice.name",
        "Missing required parameter: 'tool_choice.name'.",
        asked(USER, tools=[TOOL], tool_choice={"type": "function", "name": "look-up_1"}),
    ),
    (
        "tool_choice_unknown_name",
        asked(USER, tools=[TOOL], tool_choice={"type": "function", "name": "gone"}),
        None,
        "tool_choice",
        "Tool choice 'function' not found in 'tools' parameter.",
        asked(USER, tools=[TOOL], tool_choice={"type": "allowed_tools", "mode": "auto", "tools": []}),
    ),
    (
        "tool_choice_without_tools",
        asked(USER, tool_choice="required"),
        None,
        "tool_choice",
        "Tool choice 'required' must be specified with 'tools' parameter.",
        asked(USER, tool_choice="auto"),
    ),
    (
        "input_empty",
        asked(),
        "missing_required_parameter",
        None,
        "One of \"input\" or \"previous_response_id\" or 'prompt' or 'conversation' must be provided.",
        asked(conversation="conv_0"),
    ),
    (
        "input_empty",
        {"model": "m", "input": ""},
        "missing_required_parameter",
        None,
        "One of \"input\" or \"previous_response_id\" or 'prompt' or 'conversation' must be provided.",
        {"model": "m", "input": " "},
    ),
    (
        "previous_response_not_found",
        asked(USER, previous_response_id="resp_0"),
        "previous_response_not_found",
        "previous_response_id",
        "Previous response with id 'resp_0' not found.",
        asked(USER, previous_response_id=None),
    ),
    (
        "duplicate_item_id",
        asked(call("a", id="fc_1"), output("a"), call("b", id="fc_1"), output("b")),
        None,
        "input",
        "Duplicate item found with id fc_1. Remove duplicate items from your input and try again.",
        asked(call("a", id="fc_1"), output("a"), call("b", id="fc_2"), output("b")),
    ),
    (
        "reasoning_without_its_item",
        asked(USER, thought("rs_1"), USER),
        None,
        "input",
        "Item 'rs_1' of type 'reasoning' was provided without its required following item.",
        asked(USER, thought("rs_1"), {"role": "assistant", "content": "x"}, USER),
    ),
    (
        "reasoning_without_its_item",
        asked(USER, thought("rs_1")),
        None,
        "input",
        "Item 'rs_1' of type 'reasoning' was provided without its required following item.",
        asked(USER, thought("rs_1"), call("a"), output("a")),
    ),
    (
        "orphan_output",
        asked(USER, output("a")),
        None,
        "input",
        ORPHAN,
        asked(USER, output("a"), conversation="conv_0"),
    ),
    ("orphan_output", asked(USER, output("a")), None, "input", ORPHAN, asked(USER, {"id": "fc_1"}, output("a"))),
    (
        "orphan_output",
        asked(USER, custom_output("a")),
        None,
        "input",
        CUSTOM_ORPHAN,
        asked(USER, custom("a"), custom_output("a")),
    ),
    (
        "duplicate_output",
        asked(custom("a"), custom_output("a"), custom_output("a")),
        None,
        "input",
        CUSTOM_ORPHAN,
        asked(custom("a"), custom_output("a"), custom("a"), custom_output("a")),
    ),
    (
        "missing_output",
        asked(custom("a"), call("b"), output("b")),
        None,
        "input",
        "No tool output found for custom tool call a.",
        asked(custom("a"), call("b"), output("b"), custom_output("a")),
    ),
    (
        "duplicate_output",
        asked(call("a"), output("a"), output("a")),
        None,
        "input",
        ORPHAN,
        asked(call("a"), output("a"), call("a"), output("a")),
    ),
    (
        "missing_output",
        asked(call("a"), call("b"), output("b")),
        None,
        "input",
        "No tool output found for function call a.",
        asked(call("a"), call("b"), output("b"), output("a")),
    ),
    (
        "missing_output",
        asked(call("a"), conversation="conv_0"),
        None,
        "input",
        "No tool output found for function call a.",
        asked(call("a"), output("a"), conversation="conv_0"),
    ),
]
IDS = [f"{row[0]}-{number}" for number, row in enumerate(CASES)]


@pytest.mark.parametrize(("rule", "bad", "code", "param", "message"), [row[:5] for row in CASES], ids=IDS)
def test_a_breach_alone_is_raised_by_the_sdk_in_the_providers_words(rule, bad, code, param, message):
    found, error = sent(bad)

    assert set(found) == {rule}
    assert (error.status_code, error.type, error.code, error.param) == (400, "invalid_request_error", code, param)
    assert error.body["message"].startswith(message)


@pytest.mark.parametrize("good", [row[5] for row in CASES], ids=IDS)
def test_the_legal_neighbour_of_a_breach_passes(good):
    assert sent(good) == ([], None)


LEGAL = {
    "a bare text": {"model": "m", "input": "hi"},
    "results of the run before": asked(USER, call("a"), output("a"), {"role": "assistant", "content": "done"}, USER),
    "several user turns in a row": asked(USER, USER, USER),
    "several system messages": asked(SYSTEM, SYSTEM, USER),
    "system anywhere": asked(USER, call("a"), output("a"), SYSTEM, USER, SYSTEM),
    "assistant first": asked({"role": "assistant", "content": "hello"}, USER),
    "a message between a call and its output": asked(call("a"), USER, output("a")),
    "content of a scope": asked({"role": "user", "content": [{"type": "scoped_content"}]}),
    "no calls of a message": asked({"role": "assistant", "content": "x", "tool_calls": None}),
    "an empty list of tools": asked(USER, tools=[], tool_choice="auto"),
    "a choice of none without tools": asked(USER, tool_choice="none"),
    "keys of other dialects": asked(USER, top_k=3, max_tokens=5),
    "a model of no name": {"model": None, "input": "hi"},
    "an output that came before": asked(output("a"), USER, conversation="conv_1"),
    "an output as parts": asked(call("a"), output("a", output=[{"type": "input_text", "text": "x"}])),
    "items of tools that the provider runs": asked(
        USER, {"type": "web_search_call", "id": "ws_1", "status": "completed"}
    ),
    "reasoning in several items": asked(thought("rs_1"), thought("rs_2"), call("a"), output("a")),
    "a refusal that was said": asked(
        USER, {"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]}, USER
    ),
    "a forced function that is offered by a stored prompt": asked(
        USER, prompt={"id": "p"}, tool_choice={"type": "function", "name": "f"}
    ),
}


@pytest.mark.parametrize("body", LEGAL.values(), ids=LEGAL.keys())
def test_what_the_provider_accepts_is_no_breach(body):
    assert sent(body) == ([], None)


def test_an_output_before_its_call_leaves_both_alone():
    found, _ = sent(asked(output("a"), call("a")))

    assert found == ["orphan_output", "missing_output"]


def test_an_output_of_another_kind_answers_no_call():
    found, error = sent(asked(custom("a"), output("a")))

    assert found == ["orphan_output", "missing_output"]
    assert error.body["message"] == ORPHAN


def test_a_call_and_an_output_whose_ids_are_null_are_no_pair():
    for one, other in ((call, output), (custom, custom_output)):
        assert sent(asked(one(None), other(None)))[0] == ["orphan_output", "missing_output"]


def test_a_history_of_chat_is_told_first_of_its_calls():
    found, error = sent(
        asked(USER, {"role": "assistant", "content": None, "tool_calls": [CHAT_CALL]}, {"role": "tool"})
    )

    assert found[0] == "message_tool_calls"
    assert error.param == "input[1].tool_calls"


def test_a_body_of_chat_is_told_first_where_its_messages_belong():
    found, _ = sent({"model": "m", "messages": [USER], "tools": [CHAT_TOOL]})

    assert found == ["messages_instead_of_input", "input_missing", "tool_name_missing"]


def test_a_call_without_an_id_is_told_so_before_its_output_is_looked_for():
    found, _ = sent(asked(without(call("a"), "call_id"), without(output("a"), "call_id")))

    assert found == ["item_member_missing", "item_member_missing"]


def test_breaches_are_told_in_the_order_in_which_the_provider_looks():
    body = {"input": [{"role": "bot"}, output("a"), call("b")], "tools": [{}], "tool_choice": "x"}

    assert [breach.rule.id for breach in breaches(WIRE, body)] == [
        "model_missing",
        "role_unknown",
        "tool_type_missing",
        "tool_choice_unknown",
        "orphan_output",
        "missing_output",
    ]


def test_an_unknown_key_is_told_when_the_rule_is_turned_on():
    (breach,) = breaches(WIRE, asked(USER, top_k=3), {"unknown_top_level_key": "observe"})

    assert (breach.param, breach.message) == ("top_k", "Unknown parameter: 'top_k'.")


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES.keys())
def test_only_what_was_captured_enforces_but_for_a_second_output(rule):
    assert rule.source
    assert rule.confidence == "A" or rule.mode == "observe" or rule.id == "duplicate_output"


def test_every_rule_has_a_case_but_the_one_that_is_off():
    assert set(RULES) == {row[0] for row in CASES} | {"unknown_top_level_key"}


JSON = st.recursive(
    st.none() | st.integers() | st.text(max_size=3) | st.sampled_from(["function_call", "message", "reasoning", "a"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
ITEM = st.fixed_dictionaries(
    {}, optional=dict.fromkeys(("type", "role", "content", "id", "call_id", "output", "name"), JSON)
)
BODY = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(("model", "input", "tools", "tool_choice", "prompt", "messages"), JSON),
        "input": JSON | st.lists(ITEM | st.fixed_dictionaries({"role": JSON, "content": st.lists(ITEM)}), max_size=5),
        "tools": JSON | st.lists(ITEM, max_size=3),
        "tool_choice": JSON | ITEM,
    },
)


@given(BODY)
def test_no_json_body_makes_a_rule_raise(body):
    on = dict.fromkeys(RULES, "observe")

    assert all(breach.message for breach in breaches(WIRE, body, on))
