from datetime import UTC, datetime

import anthropic
import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fake_models.chunking import WHOLE
from fake_models.httpx_transport import transport
from fake_models.messages import World
from fake_models.provider_rules import PROVIDER_RULES, Known, breaches
from fake_models.script import FOREVER, CallTurn, Script, Turn
from fake_models.scripted_model import ScriptedModel
from fake_models.wire import CODECS
from fake_models.wire.anthropic_messages import SIGNATURE

WIRE = "anthropic_messages"
BASE_URL = "http://127.0.0.1:9/s/token"
RULES = {rule.id: rule for rule in PROVIDER_RULES if rule.wire == WIRE}
USER = {"role": "user", "content": "hi"}
ANSWER = {"role": "assistant", "content": "ok"}
SYSTEM = {"role": "system", "content": "s"}


def tool(name, **keys):
    return {"name": name, "input_schema": {"type": "object"}, **keys}


def text(words):
    return {"type": "text", "text": words}


def use(id_, **keys):
    return {"type": "tool_use", "id": id_, "name": "f", "input": {}, **keys}


def result(id_, **keys):
    return {"type": "tool_result", "tool_use_id": id_, "content": "ok", **keys}


def thought(**keys):
    return {"type": "thinking", "thinking": "hm", **keys}


def without_input(id_):
    return {"type": "tool_use", "id": id_, "name": "f"}


def assistant(*blocks):
    return {"role": "assistant", "content": list(blocks)}


def calls(*ids):
    return {"role": "assistant", "content": [use(id_) for id_ in ids]}


def user(*blocks):
    return {"role": "user", "content": list(blocks)}


#: Says nothing and sets an option from here on.
DIRECTIVE = {"role": "system", "content": [], "output_config": {"effort": "low"}}


def asked(*messages, **keys):
    return {"model": "m", "max_tokens": 9, "messages": list(messages), **keys}


def without(key):
    return {name: value for name, value in asked(USER).items() if name != key}


MISSING = "`tool_use` ids were found without `tool_result` blocks immediately after: "
MISSING_END = ". Each `tool_use` block must have a corresponding `tool_result` block in the next message."
ORPHAN = "unexpected `tool_use_id` found in `tool_result` blocks: "
ORPHAN_END = ". Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
ID_PATTERN = "tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"
NAME_PATTERN = "custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'"
LATE = (
    "Did not find 2 tool_result block(s) at the beginning of this message. Messages following tool_use blocks must begin with a "
    "matching number of tool_result blocks."
)
TWICE = "each tool_use must have a single result. Found multiple `tool_result` blocks with id: "
NOT_A_LIST = "Input should be a valid array"
ELSEWHERE = "; the directive-only form (content: [] with output_config) is accepted at any position"

#: What the official client sends: rule, what trips it, the provider's words, the legal neighbour.
CASES = [
    (
        "tool_choice_any_without_tools",
        asked(USER, tool_choice={"type": "any"}),
        "tool_choice.any may only be specified while providing tools",
        asked(USER, tool_choice={"type": "any"}, tools=[tool("f")]),
    ),
    (
        "tool_choice_any_without_tools",
        asked(USER, tool_choice={"type": "any"}, tools=[]),
        "tool_choice.any may only be specified while providing tools",
        asked(USER, tools=[]),
    ),
    (
        "tool_choice_unknown",
        asked(USER, tool_choice={"type": "tool", "name": "gone"}, tools=[tool("f")]),
        "Tool 'gone' not found in provided tools",
        asked(USER, tool_choice={"type": "tool", "name": "f"}, tools=[tool("f")]),
    ),
    (
        "tool_name_pattern",
        asked(USER, tools=[tool("f"), tool("a.b")]),
        f"tools.1.{NAME_PATTERN}",
        asked(USER, tools=[tool("f"), tool("a-B_9")]),
    ),
    (
        "tool_name_pattern",
        asked(USER, tools=[tool("a" * 129)]),
        f"tools.0.{NAME_PATTERN}",
        asked(USER, tools=[tool("a" * 128)]),
    ),
    ("tool_name_pattern", asked(USER, tools=[tool("")]), f"tools.0.{NAME_PATTERN}", asked(USER, tools=[tool("f")])),
    (
        "tool_names_unique",
        asked(USER, tools=[tool("f"), tool("g"), tool("f")]),
        "tools: Tool names must be unique.",
        asked(USER, tools=[tool("f"), tool("g"), tool("F")]),
    ),
    ("messages_empty", asked(), "messages: at least one message is required", asked(USER)),
    (
        "role_unknown",
        asked(USER, {"role": "tool", "content": "x"}),
        'messages: Unexpected role "tool". Allowed roles are "user" or "assistant"',
        asked(USER, SYSTEM),
    ),
    ("content_missing", asked(USER, {"role": "assistant"}), "messages.1.content: Field required", asked(USER, ANSWER)),
    (
        "content_no_list",
        asked(USER, {"role": "assistant", "content": None}, USER),
        f"messages.1.content: {NOT_A_LIST}",
        asked(USER, {"role": "assistant", "content": []}, USER),
    ),
    (
        "tool_use_id_pattern",
        asked(USER, calls("functions.f:0"), user(result("functions.f:0"))),
        f"messages.1.content.0.{ID_PATTERN}",
        asked(USER, calls("functions_f-0"), user(result("functions_f-0"))),
    ),
    (
        "tool_use_id_pattern",
        asked(USER, calls("a", ""), user(result("a"), result(""))),
        f"messages.1.content.1.{ID_PATTERN}",
        asked(USER, calls("a", "b"), user(result("a"), result("b"))),
    ),
    (
        "tool_use_input_not_dict",
        asked(USER, {"role": "assistant", "content": [text("x"), use("a", input="{}")]}, user(result("a"))),
        "messages.1.content.1.tool_use.input: Input should be a valid dictionary",
        asked(USER, {"role": "assistant", "content": [text("x"), use("a", input={})]}, user(result("a"))),
    ),
    (
        "tool_use_input_missing",
        asked(USER, assistant(text("x"), without_input("a")), user(result("a"))),
        "messages.1.content.1.tool_use.input: Field required",
        asked(USER, assistant(text("x"), use("a")), user(result("a"))),
    ),
    (
        "input_schema_type_missing",
        asked(USER, tools=[tool("f"), {"name": "g", "input_schema": {"properties": {}}}]),
        "tools.1.custom.input_schema.type: Field required",
        asked(USER, tools=[tool("f"), tool("g")]),
    ),
    (
        "tool_result_error_empty",
        asked(USER, calls("a"), user(result("a", is_error=True, content=""))),
        "messages.2.content.0.tool_result: content cannot be empty if `is_error` is true",
        asked(USER, calls("a"), user(result("a", is_error=True))),
    ),
    (
        "tool_result_error_empty",
        asked(USER, calls("a"), user({"type": "tool_result", "tool_use_id": "a", "is_error": True})),
        "messages.2.content.0.tool_result: content cannot be empty if `is_error` is true",
        asked(USER, calls("a"), user(result("a", content=""))),
    ),
    (
        "thinking_signature_missing",
        asked(USER, assistant(thought(), use("a")), user(result("a"))),
        "messages.1.content.0.thinking.signature: Field required",
        asked(USER, assistant(thought(signature=SIGNATURE), use("a")), user(result("a"))),
    ),
    (
        "thinking_signature_changed",
        asked(USER, assistant(thought(signature=""), text("x")), USER),
        "messages.1.content.0: Invalid `signature` in `thinking` block",
        asked(USER, assistant(thought(signature="of a conversation with another server"), text("x")), USER),
    ),
    (
        "blank_text_block",
        asked(USER, assistant(text(" \n")), USER),
        "messages: text content blocks must contain non-whitespace text",
        asked(USER, assistant(text(" \n"), text("x")), USER),
    ),
    (
        "blank_text_block",
        asked(user(text(" "))),
        "messages: text content blocks must contain non-whitespace text",
        asked(user(text("x"))),
    ),
    (
        "system_message_first",
        asked(SYSTEM, USER),
        f"messages.0: use the top-level 'system' parameter for the initial system prompt{ELSEWHERE}",
        asked(USER, system="s"),
    ),
    (
        "system_message_misplaced",
        asked(USER, SYSTEM, SYSTEM, USER),
        f"messages.2: role 'system' must precede an 'assistant' message or end the array{ELSEWHERE}",
        asked(USER, SYSTEM, SYSTEM, ANSWER, USER, SYSTEM),
    ),
    (
        "user_content_empty",
        asked(USER, ANSWER, user(), user()),
        "messages.2: user messages must have non-empty content",
        asked(USER, ANSWER, user(), USER),
    ),
    (
        "user_content_empty",
        asked({"role": "user", "content": ""}),
        "messages.0: user messages must have non-empty content",
        asked({"role": "user", "content": " "}),
    ),
    (
        "empty_text_block",
        asked(USER, {"role": "assistant", "content": [text(""), use("a")]}, user(result("a"))),
        "messages: text content blocks must be non-empty",
        asked(USER, {"role": "assistant", "content": [use("a")]}, user(result("a"))),
    ),
    (
        "duplicate_tool_use_id",
        asked(USER, calls("a", "a"), user(result("a"))),
        "messages.1.content.1: `tool_use` ids must be unique",
        asked(USER, calls("a"), user(result("a")), calls("a"), user(result("a"))),
    ),
    (
        "missing_tool_result",
        asked(USER, ANSWER, USER, calls("a", "b", "c"), user(result("b"))),
        f"messages.3: {MISSING}a, c{MISSING_END}",
        asked(USER, ANSWER, USER, calls("a", "b", "c"), user(result("b"), result("c"), result("a"))),
    ),
    (
        "missing_tool_result",
        asked(USER, calls("a"), USER),
        f"messages.1: {MISSING}a{MISSING_END}",
        asked(USER, calls("a"), user(result("a")), USER),
    ),
    (
        "missing_tool_result",
        asked(USER, calls("a")),
        f"messages.1: {MISSING}a{MISSING_END}",
        asked(USER, calls("a"), user(result("a"))),
    ),
    (
        "orphan_tool_result",
        asked(user(result("a"))),
        f"messages.0.content.0: {ORPHAN}a{ORPHAN_END}",
        asked(USER, calls("a"), user(result("a"))),
    ),
    (
        "orphan_tool_result",
        asked(USER, calls("a"), user(result("a"), result("z"))),
        f"messages.2.content.1: {ORPHAN}z{ORPHAN_END}",
        asked(USER, calls("a", "z"), user(result("a"), result("z"))),
    ),
    (
        "orphan_tool_result",
        asked(USER, calls("a"), user(result("a")), ANSWER, user(result("a"))),
        f"messages.4.content.0: {ORPHAN}a{ORPHAN_END}",
        asked(USER, calls("a"), user(result("a")), ANSWER, USER),
    ),
    (
        "duplicate_tool_result",
        asked(USER, calls("a"), user(result("a"), result("a"))),
        f"messages.2.content.1: {TWICE}a",
        asked(USER, calls("a", "b"), user(result("a"), result("b"))),
    ),
]
#: What the official client does not send: it wants these keys before it asks.
RAW_CASES = [
    ("model_missing", without("model"), "model: Field required"),
    ("messages_missing", without("messages"), "messages: Field required"),
    ("messages_no_list", {**asked(), "messages": "hi"}, f"messages: {NOT_A_LIST}"),
    ("messages_no_list", {**asked(), "messages": None}, f"messages: {NOT_A_LIST}"),
    ("max_tokens_missing", without("max_tokens"), "max_tokens: Field required"),
]
IDS = [f"{rule}-{number}" for number, (rule, *_) in enumerate(CASES)]
RAW_IDS = [f"{rule}-{number}" for number, (rule, *_) in enumerate(RAW_CASES)]

THINKING = {"type": "enabled", "budget_tokens": 1024}

LEGAL = {
    "several user turns in a row": asked(USER, USER, USER),
    "an answer to begin with": asked(ANSWER, USER),
    "several answers in a row": asked(USER, ANSWER, ANSWER),
    "several results in one message": asked(USER, calls("a", "b"), user(result("b"), result("a"))),
    "results in several messages of one turn": asked(USER, calls("a", "b"), user(result("a")), user(result("b"))),
    "calls in several messages of one turn": asked(USER, calls("a"), calls("b"), user(result("a"), result("b"))),
    "text behind a result": asked(USER, calls("a"), user(result("a"), text("go on"))),
    "a result of the run before": asked(USER, calls("a"), user(result("a")), ANSWER, USER),
    "a run begun right after results": asked(USER, calls("a"), user(result("a")), USER, ANSWER, USER),
    "system as blocks": asked(USER, system=[text("a"), text("b")]),
    "system messages behind results": asked(USER, calls("a"), user(result("a")), SYSTEM, SYSTEM),
    "an empty last answer": asked(USER, {"role": "assistant", "content": []}),
    "tools that the provider runs": asked(USER, tools=[{"type": "web_search_20250305", "name": "web_search"}]),
    "directives anywhere": asked(DIRECTIVE, USER, DIRECTIVE, USER, calls("a"), DIRECTIVE, user(result("a")), DIRECTIVE),
    "a directive behind an answer": asked(USER, ANSWER, DIRECTIVE, USER),
    "a system message behind what the provider's tool found": asked(
        USER, assistant({"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}), SYSTEM
    ),
    "white space beside a call": asked(USER, assistant(text(" "), use("a")), user(result("a"))),
    "a thought that is kept": asked(USER, assistant(thought(signature=SIGNATURE), text("x")), USER),
    "calls that came without a thought": asked(USER, calls("a"), user(result("a")), thinking=THINKING, max_tokens=2048),
    "no tools in a list": asked(USER, tools=[]),
    "no choice of tools": asked(USER, tools=[tool("f")], tool_choice={"type": "none"}),
    "more tokens than a model may say": {**asked(USER, max_tokens=8000), "model": "claude-3-haiku"},
}


class Provider:
    """A scripted model that always answers, or plays these turns, and what it recorded."""

    def __init__(self, *turns):
        self.records = []
        self.model = ScriptedModel(
            record=lambda _, kind, data: self.records.append((kind, data)), host=self, chunking=WHOLE, codecs=CODECS
        )
        self.model.open("r1", Script(turns or (Turn(say="ok", repeat=FOREVER),)), None)
        self.http = httpx2.Client(transport=transport(self.model, httpx2))
        self.client = anthropic.Anthropic(api_key="k", base_url=BASE_URL, http_client=self.http, max_retries=0)

    def world(self, run, request, side):
        return World(now=datetime(2026, 1, 1, tzinfo=UTC), run=run)

    def side(self, request, headers):
        return None

    def next_call(self):
        return f"m{len(self.records)}"

    def of(self, kind):
        return [data for known, data in self.records if known == kind]


def envelope(message):
    return {"type": "error", "error": {"type": "invalid_request_error", "message": message}, "request_id": "req_fake"}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(("rule", "bad", "message"), [row[:3] for row in CASES], ids=IDS)
def test_a_breach_is_refused_to_the_official_client_in_the_providers_words(rule, bad, message, stream):
    provider = Provider()
    with pytest.raises(anthropic.BadRequestError) as refused:
        provider.client.messages.create(**bad, stream=stream)

    assert refused.value.body == envelope(message)
    assert [(one["by"], one["rule"], one["status"]) for one in provider.of("refused")] == [("provider", rule, 400)]


@pytest.mark.parametrize(("rule", "bad", "message"), RAW_CASES, ids=RAW_IDS)
def test_a_breach_that_no_client_lets_through_is_refused_too(rule, bad, message):
    provider = Provider()
    refused = provider.http.post(f"{BASE_URL}/v1/messages", json=bad)

    assert (refused.status_code, refused.json()) == (400, envelope(message))
    assert [one["rule"] for one in provider.of("refused")] == [rule]


@pytest.mark.parametrize("good", [row[3] for row in CASES], ids=IDS)
def test_the_legal_neighbour_of_a_breach_is_answered(good):
    provider = Provider()

    assert provider.client.messages.create(**good).content[0].text == "ok"
    assert (provider.of("refused"), provider.of("reply")[0]["observed"]) == ([], [])


@pytest.mark.parametrize("body", LEGAL.values(), ids=LEGAL)
def test_what_the_provider_accepts_is_answered(body):
    provider = Provider()

    assert provider.client.messages.create(**body).content[0].text == "ok"
    assert (provider.of("refused"), provider.of("reply")[0]["observed"]) == ([], [])


@pytest.mark.parametrize(("rule", "bad"), [row[:2] for row in (*CASES, *RAW_CASES)], ids=[*IDS, *RAW_IDS])
def test_a_breach_breaks_one_rule_alone(rule, bad):
    assert [breach.rule.id for breach in breaches(WIRE, bad)] == [rule]


#: What is answered and noted: rule, what trips it, the words that tell of it, the legal neighbour.
NOTED = [
    (
        "tool_result_not_first",
        asked(USER, calls("a", "b"), user(result("a"), text("go on"), result("b"))),
        f"messages.2: {LATE}",
        asked(USER, calls("a", "b"), user(result("a"), result("b"), text("go on"))),
    ),
    (
        "tool_choice_auto_without_tools",
        asked(USER, tool_choice={"type": "auto"}),
        "tool_choice.auto may only be specified while providing tools",
        asked(USER, tool_choice={"type": "auto"}, tools=[tool("f")]),
    ),
    (
        "input_schema_missing",
        asked(USER, tools=[{"name": "f"}]),
        "tools.0.custom.input_schema: Field required",
        asked(USER, tools=[{"type": "bash_20250124", "name": "bash"}]),
    ),
    (
        "tool_id_missing",
        asked(USER, assistant({"type": "tool_use", "name": "f", "input": {}}), user({"type": "tool_result"})),
        "messages.1.content.0.tool_use.id: Field required",
        asked(USER, calls("a"), user(result("a"))),
    ),
    (
        "system_message_after_answer",
        asked(USER, ANSWER, SYSTEM),
        "messages.2: role 'system' must follow a 'user' message",
        asked(USER, ANSWER, USER, SYSTEM),
    ),
]
NOTED_IDS = [row[0] for row in NOTED]


@pytest.mark.parametrize(("rule", "bad", "message"), [row[:3] for row in NOTED], ids=NOTED_IDS)
def test_what_is_known_by_hearsay_is_answered_and_noted(rule, bad, message):
    provider = Provider()

    assert provider.client.messages.create(**bad).content[0].text == "ok"
    assert {*provider.of("reply")[0]["observed"]} == {rule}
    assert breaches(WIRE, bad)[0].message == message


def test_no_number_of_tokens_which_no_client_sends_is_answered_and_noted():
    provider = Provider()
    answered = provider.http.post(f"{BASE_URL}/v1/messages", json=asked(USER, max_tokens=None))

    assert answered.json()["content"][0]["text"] == "ok"
    assert provider.of("reply")[0]["observed"] == ["max_tokens_null"]


@pytest.mark.parametrize("good", [row[3] for row in NOTED], ids=NOTED_IDS)
def test_the_legal_neighbour_of_hearsay_is_not_noted(good):
    provider = Provider()

    assert provider.client.messages.create(**good).content[0].text == "ok"
    assert provider.of("reply")[0]["observed"] == []


LEFT_OUT = (
    "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{}`. When `thinking` is enabled, a final "
    "`assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` "
    "blocks). We recommend you include thinking blocks from previous turns. To avoid this requirement, disable `thinking`. "
    "Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking"
)
FORGED = "messages.1.content.0: Invalid `signature` in `thinking` block"


def given_back(change, *later, stream=False, **keys):
    """What the provider says to the tool turn that it gave, thought and all, once the agent has changed its blocks."""
    provider = Provider(
        Turn(think="hm", say="let me", calls=(CallTurn("f", {}, id="a", id_shape="given"),)),
        Turn(say="ok", repeat=FOREVER),
    )
    keys = {"tools": [tool("f")], "thinking": THINKING, "max_tokens": 2048, **keys}
    if stream:
        with provider.client.messages.stream(**asked(USER, **keys)) as told:
            answer = told.get_final_message()
    else:
        answer = provider.client.messages.create(**asked(USER, **keys))
    blocks = change(list(answer.to_param()["content"]))
    body = asked(USER, assistant(*blocks), user(result("a")), *later, **keys)
    try:
        return provider.client.messages.create(**body).content[0].text
    except anthropic.BadRequestError as refused:
        return refused.body["error"]["message"]


def signed(signature):
    return lambda blocks: [blocks[0].model_copy(update={"signature": signature}), *blocks[1:]]


@pytest.mark.parametrize(
    ("change", "answer"),
    [
        (lambda blocks: blocks, "ok"),
        (lambda blocks: blocks[1:], LEFT_OUT.format("text")),
        (lambda blocks: blocks[2:], LEFT_OUT.format("tool_use")),
        (lambda blocks: [blocks[1], blocks[0], blocks[2]], LEFT_OUT.format("text")),
        (lambda blocks: [{"type": "redacted_thinking", "data": "x"}, *blocks[1:]], "ok"),
        (signed("Zm9yZ2Vk"), FORGED),
        (signed(""), FORGED),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_a_thought_comes_back_with_its_calls_as_it_was_given(change, answer, stream):
    assert given_back(change, stream=stream) == answer


@pytest.mark.parametrize("thinking", [{"type": "disabled"}, {"type": "adaptive"}])
def test_a_thought_may_be_left_out_where_the_request_does_not_ask_for_thoughts(thinking):
    assert given_back(lambda blocks: blocks[2:], thinking=thinking) == "ok"


def test_a_thought_of_a_loop_that_is_over_may_be_left_out():
    assert given_back(lambda blocks: blocks[2:], ANSWER, USER) == "ok"


def test_an_id_that_comes_again_without_a_thought_asks_for_none():
    call = CallTurn("f", {}, id="a", id_shape="given")
    provider = Provider(Turn(think="hm", calls=(call,)), Turn(calls=(call,)), Turn(say="ok"))
    keys = {"tools": [tool("f")], "thinking": THINKING, "max_tokens": 2048}
    for _ in range(2):
        provider.client.messages.create(**asked(USER, **keys))

    assert provider.client.messages.create(**asked(USER, calls("a"), user(result("a")), **keys)).content[0].text == "ok"


ASIDE = [
    ("unknown_key", asked(USER, tool_chioce=1), "tool_chioce: Extra inputs are not permitted"),
    (
        "max_tokens_above_model",
        {**asked(USER, max_tokens=8000), "model": "claude-3-opus"},
        "max_tokens: 8000 > 4096, which is the maximum allowed number of output tokens for claude-3-opus",
    ),
    (
        "roles_alternate_legacy",
        asked(USER, USER),
        'messages: roles must alternate between "user" and "assistant", but found multiple "user" roles in a row',
    ),
    ("first_must_be_user_legacy", asked(ANSWER), 'messages: first message must use the "user" role'),
    (
        "empty_message_legacy",
        asked(USER, {"role": "assistant", "content": ""}, USER),
        "messages.1: all messages must have non-empty content except for the optional final assistant message",
    ),
]


@pytest.mark.parametrize(("rule", "body", "message"), ASIDE, ids=[row[0] for row in ASIDE])
def test_a_rule_that_is_off_speaks_when_it_is_turned_on(rule, body, message):
    assert breaches(WIRE, body) == ()

    (breach,) = breaches(WIRE, body, {rule: "observe"})
    assert (breach.rule.id, breach.message) == (rule, message)


def test_breaches_are_told_in_the_order_in_which_the_provider_looks():
    body = {
        "tool_choice": {"type": "tool", "name": "x"},
        "tools": [tool("a b"), tool("a b")],
        "messages": [{"role": "bot", "content": "x"}, calls(":"), user(result("z")), user()],
        "strange": 1,
    }

    assert [breach.rule.id for breach in breaches(WIRE, body, {"unknown_key": "enforce"})] == [
        "model_missing",
        "tool_choice_unknown",
        "tool_name_pattern",
        "tool_name_pattern",
        "tool_names_unique",
        "role_unknown",
        "tool_use_id_pattern",
        "max_tokens_missing",
        "unknown_key",
        "missing_tool_result",
        "orphan_tool_result",
    ]


def test_every_rule_has_a_case_and_says_where_it_was_seen():
    tripped = {row[0] for row in (*CASES, *RAW_CASES, *ASIDE, *NOTED)} | {"thinking_left_out", "max_tokens_null"}

    assert set(RULES) == tripped
    assert all(rule.source for rule in RULES.values())


def test_only_what_was_captured_enforces_but_for_two_results():
    assert {id_ for id_, rule in RULES.items() if rule.confidence == "B" and rule.mode == "enforce"} == {
        "duplicate_tool_result"
    }


JSON = st.recursive(
    st.none()
    | st.integers()
    | st.text(max_size=3)
    | st.sampled_from(
        ["user", "assistant", "system", "tool_use", "tool_result", "text", "thinking", "tool", "any", "a"]
    ),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "text", "id", "name", "input", "tool_use_id", "signature"]), inner, max_size=4
        )
    ),
    max_leaves=8,
)
MESSAGE = st.fixed_dictionaries({}, optional={"role": JSON, "content": JSON | st.lists(JSON, max_size=3)})


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "model": JSON,
            "max_tokens": JSON,
            "messages": JSON | st.lists(MESSAGE, max_size=4),
            "tools": JSON | st.lists(JSON, max_size=3),
            "tool_choice": JSON,
            "thinking": JSON | st.just(THINKING),
        },
    )
)
def test_no_json_body_makes_a_rule_raise(body):
    assert all(
        breach.message for breach in breaches(WIRE, body, dict.fromkeys(RULES, "observe"), Known(thoughts={"a"}))
    )
