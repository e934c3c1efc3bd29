import pytest
from gemini_bench import Bench, client
from google.genai import errors, types
from hypothesis import given
from hypothesis import strategies as st

from fake_models.provider_rules import PROVIDER_RULES, Known, breaches, known_rule
from fake_models.script import FOREVER, CallTurn, Turn


def user(text="hi"):
    return types.Content(role="user", parts=[types.Part.from_text(text=text)])


def model(text):
    return types.Content(role="model", parts=[types.Part.from_text(text=text)])


def calls(*names):
    return types.Content(role="model", parts=[types.Part.from_function_call(name=name, args={}) for name in names])


def signed(*contents):
    """The same, where the first call of each content has a signature."""
    first = [content.parts[0] for content in contents]
    assert all(part.function_call for part in first)
    return [
        types.Content(
            role=content.role, parts=[part.model_copy(update={"thought_signature": b"s"}), *content.parts[1:]]
        )
        for content, part in zip(contents, first, strict=True)
    ]


def results(*names, role="user"):
    parts = [types.Part.from_function_response(name=name, response={"result": "ok"}) for name in names]
    return types.Content(role=role, parts=parts)


def asked(*contents, **config):
    return {"contents": list(contents), "config": types.GenerateContentConfig(**config)}


def tool(*names):
    return types.Tool(function_declarations=[types.FunctionDeclaration(name=name) for name in names])


EMPTY = types.HttpOptions(extra_body={"contents": []})

COUNT = (
    "Please ensure that the number of function response parts is equal to the number of function call parts of the function call "
    "turn."
)
ORDER = "Please ensure that function response turn comes immediately after a function call turn."
CALL_ORDER = (
    "Please ensure that function call turn comes immediately after a user turn or after a function response turn."
)


MIXED = (
    "Please ensure that function call turn contains at least one function_call part which can not be mixed with "
    "function_response parts."
)
DATA = "required oneof field 'data' must have one initialized field\n"


def unsigned_words(name, position):
    return (
        "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and "
        f"missing thought_signature may lead to degraded model performance. Additional data, function call `default_api:{name}` , "
        f"position {position}. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details."
    )


def name_words(i, j):
    return (
        f"* GenerateContentRequest.tools[{i}].function_declarations[{j}].name: Invalid function name. Must start with a letter or "
        "an underscore. Must be alphameric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum "
        "length of 64."
    )


#: rule, what trips it, the provider's words, its legal neighbour.
BREACHES = [
    (
        "contents_empty",
        asked(user(), http_options=EMPTY),
        "* GenerateContentRequest.contents: contents is not specified\n",
        asked(user()),
    ),
    (
        "function_name",
        asked(user(), tools=[tool("f", "look up")]),
        name_words(0, 1),
        asked(user(), tools=[tool("f", "_look.up:1-B")]),
    ),
    ("function_name", asked(user(), tools=[tool("1st")]), name_words(0, 0), asked(user(), tools=[tool("first1")])),
    ("function_name", asked(user(), tools=[tool("时间")]), name_words(0, 0), asked(user(), tools=[tool("time")])),
    (
        "function_name",
        asked(user(), tools=[tool("a" * 129)]),
        name_words(0, 0),
        asked(user(), tools=[tool("a" * 128)]),
    ),
    (
        "parts_empty",
        asked(user(), types.Content(role="model"), user()),
        "* GenerateContentRequest.contents[1].parts: contents.parts must not be empty.\n",
        asked(user(), model(""), user()),
    ),
    (
        "parts_empty",
        asked(user(), types.Content(role="model", parts=[]), user()),
        "* GenerateContentRequest.contents[1].parts: contents.parts must not be empty.\n",
        asked(user(), user()),
    ),
    (
        "part_without_data",
        asked(types.Content(role="user", parts=[types.Part(text="hi"), types.Part()])),
        f"* GenerateContentRequest.contents[0].parts[1].data: {DATA}",
        asked(types.Content(role="user", parts=[types.Part(text="hi"), types.Part(text="")])),
    ),
    (
        "part_without_data",
        asked(user(), types.Content(role="model", parts=[types.Part(thought_signature=b"s")]), user()),
        f"* GenerateContentRequest.contents[1].parts[0].data: {DATA}",
        asked(user(), types.Content(role="model", parts=[types.Part(text="", thought_signature=b"s")]), user()),
    ),
    (
        "function_response_name",
        asked(user(), calls("f"), results("")),
        "* GenerateContentRequest.contents[2].parts[0].function_response.name: Name cannot be empty.\n",
        asked(user(), calls("f"), results("f")),
    ),
    (
        "function_names_unique",
        asked(user(), tools=[tool("f", "g"), tool("f")]),
        "Duplicate function declaration found: f",
        asked(user(), tools=[tool("f", "g"), tool("F")]),
    ),
    (
        "role_unknown",
        asked(user(), types.Content(role="assistant", parts=[types.Part(text="x")]), user()),
        "Please use a valid role: user, model.",
        asked(user(), model("x"), user()),
    ),
    (
        "role_unknown",
        asked(types.Content(role="system", parts=[types.Part(text="x")]), user()),
        "Please use a valid role: user, model.",
        asked(user(), system_instruction="x"),
    ),
    (
        "function_parts_mixed",
        asked(types.Content(role="user", parts=[*user().parts, *calls("f").parts, *results("f").parts])),
        MIXED,
        asked(user(), calls("f"), results("f", role="tool")),
    ),
    (
        "function_call_order",
        asked(calls("f"), results("f")),
        CALL_ORDER,
        asked(user(), calls("f"), results("f")),
    ),
    (
        "function_response_count",
        asked(user(), calls("f", "g"), results("f")),
        COUNT,
        asked(user(), calls("f", "g"), results("f", "g")),
    ),
    (
        "function_response_count",
        asked(user(), calls("f", "g"), results("f"), results("g")),
        COUNT,
        asked(user(), calls("f", "g"), results("g", "f")),
    ),
    (
        "function_response_count",
        asked(user(), calls("f"), results("f", "f")),
        COUNT,
        asked(user(), calls("f"), results("f"), calls("f"), results("f")),
    ),
    (
        "function_response_count",
        asked(user(), calls("f"), user("and?")),
        COUNT,
        asked(user(), calls("f"), results("f"), user("and?")),
    ),
    ("function_response_count", asked(user(), calls("f")), COUNT, asked(user(), model("f"))),
    (
        "function_response_order",
        asked(user(), results("f")),
        ORDER,
        asked(user(), calls("f"), results("f")),
    ),
    (
        "function_response_order",
        asked(user(), calls("f"), results("f"), model("done"), results("f")),
        ORDER,
        asked(user(), calls("f"), results("f"), model("done"), user("and?"), calls("f"), results("f")),
    ),
]
IDS = [f"{rule}-{number}" for number, (rule, *_) in enumerate(BREACHES)]


def ask(keys, model="m", **options):
    bench = Bench(Turn("ok", repeat=FOREVER), **options)
    try:
        return client(bench.model).models.generate_content(model=model, **keys).text, bench
    except errors.ClientError as refused:
        return refused, bench


@pytest.mark.parametrize(("rule", "bad", "words"), [row[:3] for row in BREACHES], ids=IDS)
def test_a_breach_is_refused_in_the_providers_words(rule, bad, words):
    refused, bench = ask(bad)

    assert (refused.code, refused.status, refused.message) == (400, "INVALID_ARGUMENT", words)
    assert refused.details == {"error": {"code": 400, "message": words, "status": "INVALID_ARGUMENT"}}
    assert [(data["by"], data["rule"]) for data in bench.recorded("refused")] == [("provider", rule)]


@pytest.mark.parametrize("good", [row[3] for row in BREACHES], ids=IDS)
def test_the_legal_neighbour_of_a_breach_is_answered(good):
    answered, bench = ask(good)

    assert answered == "ok"
    assert [data["observed"] for data in bench.recorded("reply")] == [[]]


def test_a_breach_is_refused_where_a_stream_was_asked_for_too():
    bench = Bench(Turn("ok"))

    with pytest.raises(errors.ClientError, match="number of function response parts"):
        list(client(bench.model).models.generate_content_stream(model="m", contents=[user(), calls("f"), user()]))


def test_a_rule_that_is_only_observed_is_told_with_the_reply():
    answered, bench = ask(asked(user(), calls("f")), rule_modes={"function_response_count": "observe"})

    assert answered == "ok"
    assert bench.recorded("reply")[0]["observed"] == ["function_response_count"]


#: To models that sign calls: what is answered.
SIGNED = [
    (asked(user(), calls("f"), results("f")), unsigned_words("f", 2)),
    (asked(user(), *signed(calls("f")), results("f")), "ok"),
    # The model signs the first of a batch alone.
    (asked(user(), *signed(calls("f", "g")), results("f", "g")), "ok"),
    # The chunks of a stream, kept one by one.
    (asked(user(), model("let me"), *signed(calls("f")), calls("g"), results("f", "g")), "ok"),
    (asked(user(), model("let me"), calls("f"), *signed(calls("g")), results("f", "g")), unsigned_words("f", 3)),
    (asked(user(), *signed(calls("f")), results("f"), calls("g"), results("g")), unsigned_words("g", 4)),
    # What was said before the user's last words is not looked at.
    (asked(user(), calls("f"), results("f"), model("done"), user("and?")), "ok"),
]


@pytest.mark.parametrize(("keys", "answer"), SIGNED)
@pytest.mark.parametrize("model", ["gemini-3-pro-preview", "gemini-3.1-flash"])
def test_a_model_that_signs_its_calls_wants_the_signature_back(keys, answer, model):
    answered, bench = ask(keys, model)

    assert getattr(answered, "message", answered) == answer
    assert [data["rule"] for data in bench.recorded("refused")] == ["thought_signature_missing"] * (answer != "ok")


@pytest.mark.parametrize("model", ["gemini-2.5-flash", "m"])
def test_other_models_take_calls_without_a_signature(model):
    assert ask(asked(user(), calls("f"), results("f")), model)[0] == "ok"


def test_a_call_that_the_official_client_keeps_has_the_signature_that_was_given():
    bench = Bench(Turn(calls=(CallTurn("f"),)), Turn("ok"))
    chat = client(bench.model).chats.create(model="gemini-3-pro-preview")
    chat.send_message("hi")

    assert chat.send_message(results("f").parts).text == "ok"


LEGAL = {
    "what goes on from a cached call": asked(results("f"), model("done"), user(), cached_content="cachedContents/c"),
    "a call to what is cached": asked(calls("f"), results("f"), cached_content="cachedContents/c"),
    "the results of the run before": asked(user(), calls("f"), results("f"), model("done"), user("and?")),
    "several users in a row": asked(user(), user(), user()),
    "users between results and calls": asked(user(), calls("f"), results("f"), user(), calls("g"), results("g")),
    "results of the role that older clients give them": asked(user(), calls("f"), results("f", role="function")),
    "the chunks of a stream, kept one by one": asked(user(), model("let "), model("me see"), calls("f"), results("f")),
    "parallel calls, each in a chunk of its own": asked(user(), calls("f"), calls("g"), results("f", "g")),
    "the model speaks first": asked(model("hello"), user()),
    "results beside words": asked(
        user(), calls("f"), types.Content(role="user", parts=[*results("f").parts, *user("and?").parts])
    ),
    "no functions": asked(user(), tools=[types.Tool(google_search=types.GoogleSearch())]),
}


@pytest.mark.parametrize("keys", LEGAL.values(), ids=LEGAL.keys())
def test_what_the_provider_accepts_is_answered(keys):
    assert ask(keys)[0] == "ok"


def test_what_clients_of_other_languages_spell_otherwise_is_read_the_same():
    call, result = {"function_call": {"name": "f"}}, {"function_response": {"name": "f", "response": {}}}
    contents = [{"parts": {"text": "hi"}}, {"role": "model", "parts": call}, {"role": "function", "parts": result}]

    assert breaches("gemini", {"contents": contents}) == ()
    assert breaches("gemini", {"contents": {"parts": {"text": "hi"}}}) == ()
    assert [breach.rule.id for breach in breaches("gemini", {"contents": contents[:2]})] == ["function_response_count"]
    assert [
        breach.message
        for breach in breaches("gemini", {"contents": contents, "tools": {"function_declarations": {"name": ""}}})
    ] == [name_words(0, 0)]


def test_a_function_is_named_by_its_tool_and_its_own_place():
    # The official client puts all functions into one tool.
    tools = [{"functionDeclarations": [{"name": "f"}]}, {"functionDeclarations": [{"name": "g"}, {"name": "look up"}]}]

    (breach,) = breaches("gemini", {"contents": [{"parts": [{"text": "hi"}]}], "tools": tools})

    assert breach.message == name_words(1, 1)


@pytest.mark.parametrize("body", [{}, {"contents": None}, {"contents": []}])
def test_contents_may_be_missing_in_several_ways(body):
    assert [breach.rule.id for breach in breaches("gemini", body)] == ["contents_empty"]


def test_every_rule_is_enforced_and_tells_where_it_was_seen():
    rules = [rule for rule in PROVIDER_RULES if rule.wire == "gemini"]

    assert {rule.id for rule in rules} == {rule for rule, *_ in BREACHES} | {"thought_signature_missing"}
    assert all((rule.confidence, rule.mode) == ("A", "enforce") and "#" in rule.source for rule in rules)
    assert known_rule("gemini", "function_response_count").status == 400


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
PART = st.dictionaries(st.sampled_from(["functionCall", "functionResponse", "text"]), JSON, max_size=2)
CONTENT = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "model"]) | JSON, "parts": JSON | st.lists(PART, max_size=3)}
)
TOOL = st.fixed_dictionaries(
    {"functionDeclarations": JSON | st.lists(st.fixed_dictionaries({"name": JSON}), max_size=2)}
)


@given(
    st.fixed_dictionaries(
        {}, optional={"contents": JSON | st.lists(CONTENT, max_size=4), "tools": JSON | st.lists(TOOL, max_size=2)}
    )
)
def test_no_json_body_makes_the_checks_raise(body):
    assert all(breach.mode == "enforce" for breach in breaches("gemini", body, known=Known("gemini-3")))
