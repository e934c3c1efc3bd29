import httpx2
import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reply_endpoint import ReplyEndpoint

from fake_models.exchange import of_error
from fake_models.httpx_transport import transport
from fake_models.messages import ErrorReply, Reply
from fake_models.provider_rules import PROVIDER_RULES, breaches, refusal
from fake_models.wire import CODECS

CHAT_RULES = [rule for rule in PROVIDER_RULES if rule.wire == "openai_chat"]
USER = {"role": "user", "content": "hi"}
TOOL = {"type": "function", "function": {"name": "look-up_1", "parameters": {}}}


def call(*ids):
    calls = [{"id": id_, "type": "function", "function": {"name": "f", "arguments": "{}"}} for id_ in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def odd_call(**keys):
    """An assistant's one call, of which some keys are other than they should be; ... leaves a key out."""
    whole = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}, **keys}
    return {"role": "assistant", "content": None, "tool_calls": [{k: v for k, v in whole.items() if v is not ...}]}


def with_arguments(arguments):
    return odd_call(function={"name": "f", "arguments": arguments})


def result(id_):
    return {"role": "tool", "tool_call_id": id_, "content": "ok"}


def chat(*messages, **keys):
    return {"model": "m", "messages": list(messages), **keys}


def named(name):
    return {"type": "function", "function": {"name": name}}


#: rule, what trips it, the param that is named, its legal neighbour.
CASES = [
    ("model_missing", {"messages": [USER]}, None, chat(USER)),
    ("messages_missing", {"model": "m"}, "messages", chat(USER)),
    ("messages_empty", chat(), "messages", chat(USER)),
    (
        "role_unknown",
        chat(USER, {"role": "bot", "content": "x"}),
        "messages[1].role",
        chat(USER, {"role": "developer", "content": "x"}),
    ),
    (
        "content_null",
        chat(USER, {"role": "assistant", "content": None}),
        "messages.[1].content",
        chat(USER, call("a"), result("a")),
    ),
    ("content_null", chat({"role": "user"}), "messages.[0].content", chat({"role": "user", "content": ""})),
    (
        "content_null",
        chat(USER, {"role": "assistant"}),
        "messages.[1].content",
        chat(USER, {"role": "assistant", "content": None, "refusal": "no"}),
    ),
    (
        "content_no_text",
        chat({"role": "user", "content": {"type": "text", "text": "hi"}}),
        "messages[0].content",
        chat({"role": "user", "content": [{"type": "text", "text": "hi"}]}),
    ),
    (
        "call_type_missing",
        chat(USER, odd_call(type=...), result("a")),
        "messages[1].tool_calls[0].type",
        chat(USER, odd_call(), result("a")),
    ),
    *(
        (
            "call_arguments_no_text",
            chat(USER, with_arguments(arguments), result("a")),
            "messages[1].tool_calls[0].function.arguments",
            chat(USER, with_arguments('{"x":'), result("a")),
        )
        for arguments in ({"x": 1}, [], None)
    ),
    (
        "assistant_tool_calls_empty",
        chat(USER, {"role": "assistant", "content": "x", "tool_calls": []}),
        "messages[1].tool_calls",
        chat(USER, {"role": "assistant", "content": "x"}),
    ),
    ("tools_empty_array", chat(USER, tools=[]), "tools", chat(USER)),
    ("tool_name_empty", chat(USER, tools=[TOOL, named("")]), "tools[1].function.name", chat(USER, tools=[TOOL])),
    (
        "tool_name_pattern",
        chat(USER, tools=[named("a b")]),
        "tools[0].function.name",
        chat(USER, tools=[named("a-B_9")]),
    ),
    ("tool_name_pattern", chat(USER, tools=[named("时间")]), "tools[0].function.name", chat(USER, tools=[TOOL])),
    ("tool_name_dot", chat(USER, tools=[named("a.b")]), "tools[0].function.name", chat(USER, tools=[named("a_b")])),
    (
        "tool_name_dot",
        chat(USER, tools=[named("a.b")]),
        "tools[0].function.name",
        {**chat(USER, tools=[named("a.b")]), "model": "o4-mini"},
    ),
    (
        "stream_options_without_stream",
        chat(USER, stream_options={"include_usage": True}),
        "stream_options",
        chat(USER, stream=True, stream_options={"include_usage": True}),
    ),
    (
        "stream_options_without_stream",
        chat(USER, stream=False, stream_options={"include_usage": True}),
        "stream_options",
        chat(USER, stream_options=None),
    ),
    (
        "tool_choice_without_tools",
        chat(USER, tool_choice="none"),
        "tool_choice",
        chat(USER, tools=[TOOL], tool_choice="none"),
    ),
    (
        "tool_choice_unknown_name",
        chat(USER, tools=[TOOL], tool_choice=named("gone")),
        "function_call",
        chat(USER, tools=[TOOL], tool_choice=named("look-up_1")),
    ),
    (
        "tool_call_id_missing",
        chat(USER, call("a"), result("a"), result(None)),
        "messages.[3].tool_call_id",
        chat(USER, call("a"), result("a")),
    ),
    (
        "tool_call_id_missing",
        chat(USER, call("a"), result("a"), {"role": "tool", "content": "ok"}),
        "messages.[3].tool_call_id",
        chat(USER, call("a"), result("a")),
    ),
    (
        "missing_tool_results",
        chat(USER, call("a", "b"), result("b")),
        "messages.[1].role",
        chat(USER, call("a", "b"), result("b"), result("a")),
    ),
    ("missing_tool_results", chat(USER, call("a")), "messages.[1].role", chat(USER, call("a"), result("a"))),
    ("orphan_tool_message", chat(USER, result("a")), "messages.[1].role", chat(USER, call("a"), result("a"), USER)),
    (
        "tool_call_id_not_in_previous",
        chat(USER, call("a"), result("a"), result("z")),
        None,
        chat(USER, call("a", "z"), result("a"), result("z")),
    ),
    (
        "duplicate_tool_message",
        chat(USER, call("a"), result("a"), result("a")),
        "messages.[3].tool_call_id",
        chat(USER, call("a"), result("a"), call("a"), result("a")),
    ),
]
OBSERVED = {"call_type_missing", "tool_name_dot"}
IDS = [f"{rule}-{number}" for number, (rule, *_) in enumerate(CASES)]


@pytest.mark.parametrize(("rule", "bad", "param"), [row[:3] for row in CASES], ids=IDS)
def test_a_breach_is_found_alone_and_names_its_place(rule, bad, param):
    (breach,) = breaches("openai_chat", bad)

    assert (breach.rule.id, breach.param, breach.mode) == (rule, param, "observe" if rule in OBSERVED else "enforce")


class Provider(ReplyEndpoint):
    """Refuses what breaks a rule that is enforced, and answers the rest."""

    def exchange(self, wire, path, body, headers):
        for breach in breaches(wire, body):
            if breach.mode == "enforce":
                return of_error("m1", CODECS[wire], refusal(breach))
        return super().exchange(wire, path, body, headers)


PROVIDER = Provider()
HTTP = httpx2.Client(transport=transport(PROVIDER, httpx2))
SDK = openai.OpenAI(api_key="k", base_url="http://127.0.0.1:9/v1", http_client=HTTP, max_retries=0)


def sent(body):
    """The error that the official client raises for a body."""
    PROVIDER.replies = [Reply()]
    try:
        SDK.post("/chat/completions", body=body, cast_to=object)
    except openai.BadRequestError as error:
        return error
    return None


@pytest.mark.parametrize(("rule", "bad", "param", "good"), CASES, ids=IDS)
def test_the_official_client_is_refused_for_a_breach_and_not_for_its_neighbour(rule, bad, param, good):
    error = sent(bad)

    assert (error is None) is (rule in OBSERVED)
    if error is not None:
        known = next(one for one in CHAT_RULES if one.id == rule)
        assert (error.type, error.code, error.param) == (known.type, known.code, param)
    assert sent(good) is None


@pytest.mark.parametrize(
    ("id_", "rule", "mode"), [(None, "call_id_null", "enforce"), (..., "call_id_missing", "observe")]
)
@pytest.mark.parametrize("answer", [{"tool_call_id": None}, {}])
def test_a_call_and_a_result_that_both_have_no_id_are_no_pair(id_, rule, mode, answer):
    body = chat(USER, odd_call(id=id_), {"role": "tool", "content": "ok", **answer})

    first, *others = breaches("openai_chat", body)

    assert (first.rule.id, first.param, first.mode) == (rule, "messages[1].tool_calls[0].id", mode)
    assert [one.rule.id for one in others] == ["tool_call_id_missing", "missing_tool_results"]
    assert sent(body).param == ("messages[1].tool_calls[0].id" if mode == "enforce" else "messages.[2].tool_call_id")


@pytest.mark.parametrize("id_", [None, ...])
def test_a_call_without_an_id_is_never_answered(id_):
    assert breaches("openai_chat", chat(USER, odd_call(id=id_)))[-1].rule.id == "missing_tool_results"


@pytest.mark.parametrize("good", [row[3] for row in CASES], ids=IDS)
def test_the_legal_neighbour_of_a_breach_passes(good):
    assert breaches("openai_chat", good) == ()


SYSTEM = {"role": "system", "content": "s"}
LEGAL = {
    "results of the run before": chat(USER, call("a"), result("a"), {"role": "assistant", "content": "done"}, USER),
    "several user turns in a row": chat(USER, USER, USER),
    "several system messages": chat(SYSTEM, SYSTEM, USER),
    "system anywhere": chat(USER, call("a"), result("a"), SYSTEM, USER, SYSTEM),
    "assistant first": chat({"role": "assistant", "content": "hello"}, USER),
    "content as parts": chat({"role": "user", "content": [{"type": "text", "text": "hi"}]}),
    "keys of other dialects": chat(USER, top_k=3, max_tokens=5),
    "a name of many characters": chat(USER, tools=[named("a" * 200)]),
    "a function message without content": chat(USER, {"role": "function", "name": "f", "content": None}),
}


@pytest.mark.parametrize("body", LEGAL.values(), ids=LEGAL.keys())
def test_what_providers_accept_is_no_breach(body):
    assert breaches("openai_chat", body) == ()


def test_a_message_between_a_call_and_its_result_parts_them():
    parted = chat(USER, call("a"), USER, result("a"))

    assert [breach.rule.id for breach in breaches("openai_chat", parted)] == [
        "missing_tool_results",
        "orphan_tool_message",
    ]


def test_breaches_are_told_in_the_order_in_which_the_provider_looks():
    body = {"messages": [result("a"), {"role": "bot", "content": None}], "tools": [], "tool_choice": named("x")}

    assert [breach.rule.id for breach in breaches("openai_chat", body)] == [
        "model_missing",
        "role_unknown",
        "content_null",
        "tools_empty_array",
        "tool_choice_unknown_name",
        "orphan_tool_message",
    ]


@pytest.mark.parametrize(
    ("bad", "error"),
    [
        (
            chat(USER, call("a", "b")),
            ErrorReply(
                400,
                "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
                "The following tool_call_ids did not have response messages: a, b",
                type="invalid_request_error",
                param="messages.[1].role",
            ),
        ),
        (
            chat(USER, call("a"), result("a"), result(None)),
            ErrorReply(
                400,
                "Missing parameter 'tool_call_id': messages with role 'tool' must have a 'tool_call_id'.",
                type="invalid_request_error",
                param="messages.[3].tool_call_id",
            ),
        ),
        (
            chat(USER, call(None)),
            ErrorReply(
                400,
                "Invalid type for 'messages[1].tool_calls[0].id': expected a string, but got null instead.",
                type="invalid_request_error",
                code="invalid_type",
                param="messages[1].tool_calls[0].id",
            ),
        ),
        (
            chat(USER, with_arguments({}), result("a")),
            ErrorReply(
                400,
                "Invalid type for 'messages[1].tool_calls[0].function.arguments': expected a string, but got an object instead.",
                type="invalid_request_error",
                code="invalid_type",
                param="messages[1].tool_calls[0].function.arguments",
            ),
        ),
        (
            chat({"role": "user", "content": {"text": "hi"}}),
            ErrorReply(
                400,
                "Invalid type for 'messages[0].content': expected one of a string or array of objects, but got an object instead.",
                type="invalid_request_error",
                code="invalid_type",
                param="messages[0].content",
            ),
        ),
        (
            chat(USER, stream_options={"include_usage": True}),
            ErrorReply(
                400,
                "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
                type="invalid_request_error",
                param="stream_options",
            ),
        ),
        (
            chat(USER, tools=[]),
            ErrorReply(
                400,
                "Invalid 'tools': empty array. Expected an array with minimum length 1, but got an empty array instead.",
                type="invalid_request_error",
                code="empty_array",
                param="tools",
            ),
        ),
        (
            chat(USER, call("{x}"), result("{x}"), result("{x}")),
            ErrorReply(
                400,
                "Invalid parameter: Duplicate value for 'tool_call_id' of '{x}', in messages[2] and messages[3].",
                type="invalid_request_error",
                param="messages.[3].tool_call_id",
            ),
        ),
    ],
)
def test_a_refusal_is_in_the_providers_words(bad, error):
    assert refusal(breaches("openai_chat", bad)[0]) == error


@pytest.mark.parametrize(
    ("rule", "body", "param"),
    [
        ("unknown_top_level_key", chat(USER, top_k=3), "top_k"),
        ("max_tokens_on_reasoning_model", {**chat(USER, max_tokens=5), "model": "gpt-5-mini"}, "max_tokens"),
    ],
)
def test_a_rule_that_is_off_speaks_when_it_is_turned_on(rule, body, param):
    assert breaches("openai_chat", body) == ()

    (breach,) = breaches("openai_chat", body, {rule: "observe"})
    assert (breach.rule.id, breach.param, breach.mode) == (rule, param, "observe")


def test_a_rule_can_be_turned_off():
    assert breaches("openai_chat", chat(USER, tools=[]), {"tools_empty_array": "off"}) == ()


def test_another_wire_has_other_rules():
    assert breaches("no_such_wire", {}) == ()


def test_only_what_was_captured_enforces_but_for_three_rows():
    uncertain = {rule.id for rule in CHAT_RULES if rule.confidence == "B" and rule.mode == "enforce"}

    assert uncertain <= {"tools_empty_array", "tool_call_id_not_in_previous", "duplicate_tool_message"}


def test_every_rule_has_a_case_and_says_where_it_was_seen():
    off = {"unknown_top_level_key", "max_tokens_on_reasoning_model"}

    assert {rule.id for rule in CHAT_RULES} == {row[0] for row in CASES} | {"call_id_null", "call_id_missing"} | off
    assert all(rule.source for rule in PROVIDER_RULES)


JSON = st.recursive(
    st.none() | st.integers() | st.text(max_size=3) | st.sampled_from(["tool", "assistant", "a"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
MESSAGE = st.fixed_dictionaries({}, optional={"role": JSON, "content": JSON, "tool_calls": JSON, "tool_call_id": JSON})


@given(
    st.fixed_dictionaries(
        {}, optional={"model": JSON, "messages": JSON | st.lists(MESSAGE), "tools": JSON, "tool_choice": JSON | MESSAGE}
    )
)
def test_no_json_body_makes_a_rule_raise(body):
    on = {rule.id: "observe" for rule in PROVIDER_RULES}

    assert all(breach.message for breach in breaches("openai_chat", body, on))
