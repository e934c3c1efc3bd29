import itertools

import pytest

from conformance.agent_side import ToolFailed
from conformance.reference.acting import Refused, checked, failed, parsed, result_text
from conformance.reference.failing import failure
from conformance.reference.hearing import Call, Hearing, NoReply, as_chunk
from conformance.reference.history import compacted, sound_id, transcript, turns
from conformance.reference.steps import Execution
from fake_models.errors import ModelError, StreamBroken

SCHEMA = {
    "type": "object",
    "properties": {"at": {"type": "string"}, "n": {"type": "integer"}},
    "required": ["at"],
}
TOOLS = {"look": SCHEMA, "wait": {"type": "object"}}


@pytest.mark.parametrize(
    ("tool", "arguments", "extra_args", "expected"),
    [
        ("look", '{"at": "x"}', "refuse", {"at": "x"}),
        ("look", '{"at": "x", "z": 1}', "drop", {"at": "x"}),
        ("look", '{"at": "x", "z": 1}', "pass", {"at": "x", "z": 1}),
        ("wait", "", "refuse", {}),
        ("wait", " \n", "refuse", {}),
    ],
)
def test_a_valid_call_runs_with_the_models_arguments(tool, arguments, extra_args, expected):
    assert checked(Call("c1", tool, arguments), TOOLS, extra_args) == Execution(tool, expected, "c1")


@pytest.mark.parametrize(
    ("tool", "arguments", "cause", "named"),
    [
        ("peek", "{}", "unknown_tool", ("peek", "look", "wait")),
        ("look", '{"at": ', "bad_arguments", ("look", '{"at": ')),
        ("look", "[1]", "bad_arguments", ("JSON object",)),
        ("look", '{"at": NaN}', "bad_arguments", ("JSON object",)),
        ("look", '{"n": 1}', "bad_arguments", ("at",)),
        ("look", '{"at": 5}', "bad_arguments", ("at", "string")),
        ("look", '{"at": "x", "n": "7"}', "bad_arguments", ("n", "integer")),
        ("look", '{"at": "x", "z": 1}', "bad_arguments", ("z",)),
    ],
)
def test_a_call_that_must_not_run_is_refused_with_what_is_wrong(tool, arguments, cause, named):
    refused = checked(Call("c1", tool, arguments), TOOLS, "refuse")
    assert isinstance(refused, Refused)
    assert refused.cause == cause
    assert refused.text.startswith("Error: ")
    assert all(name in refused.text for name in named)


def test_arguments_that_a_schema_allows_beyond_its_properties_are_no_extra():
    open_schema = {"open": {"type": "object", "additionalProperties": True}}
    assert checked(Call("c1", "open", '{"any": 1}'), open_schema, "refuse") == Execution("open", {"any": 1}, "c1")


@pytest.mark.parametrize(
    ("value", "text"), [("as it is", "as it is"), ({"a": "ü"}, '{"a": "ü"}'), (None, "null"), (0, "0")]
)
def test_a_result_is_read_as_text_or_as_json(value, text):
    assert result_text(value) == text


def test_a_failed_tool_says_its_type_and_message():
    assert failed(ToolFailed("ValueError", "no")) == Refused("tool_exception", "Error: ValueError: no")
    assert failed(ToolFailed("ArgumentError", "no", rejected=True)).cause == "bad_arguments"


@pytest.mark.parametrize(("text", "value"), [("{}", {}), ("", {}), ("[]", None), ("1", None), ("{", None)])
def test_argument_text_is_an_object_or_nothing(text, value):
    assert parsed(text) == value


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ModelError(400, {"error": {"code": "context_length_exceeded"}}), "overflow"),
        (ModelError(400, {"error": {"message": "prompt is too long: 9 tokens > 8 maximum"}}), "overflow"),
        (ModelError(413, "maximum context length is 8192 tokens"), "overflow"),
        (ModelError(400, {"error": {"message": "Your conversation does not fit."}}), "final"),
        (ModelError(429, {"error": {"message": "too many tokens, maximum context length"}}), "transient"),
        (ModelError(429, {"error": {"code": "insufficient_quota"}}), "final"),
        (ModelError(401, {}), "final"),
        (ModelError(408, None), "transient"),
        (ModelError(529, "overloaded"), "transient"),
        (StreamBroken("cut"), "transient"),
        (NoReply("no reply"), "final"),
    ],
)
def test_a_failure_is_an_overflow_transient_or_final(error, kind):
    assert failure(error).kind == kind


def test_an_error_that_is_none_of_the_models_is_raised_again():
    with pytest.raises(KeyError):
        failure(KeyError("ours"))


def test_a_failure_names_status_and_code_and_quotes_nothing():
    cause = failure(ModelError(401, {"error": {"message": "bad key sk-1234", "code": "invalid_api_key"}})).cause
    assert "401" in cause
    assert "invalid_api_key" in cause
    assert "sk-1234" not in cause


def hearing():
    taken, numbers = set(), itertools.count(1)

    def sound(given):
        found = sound_id(given, taken)
        taken.add(found)
        return found

    return Hearing(sound, lambda: f"m{next(numbers)}", frozenset({"text", "reasoning", "calls"}))


def heard(*deltas):
    one = hearing()
    events = [event for delta in deltas for event in one.hear({"id": "r", "choices": [{"delta": delta}]})]
    return one, [*events, *one.end()]


def call(index, id=None, name=None, arguments=None):
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    return {"index": index, "function": function} | ({} if id is None else {"id": id})


def test_deltas_are_joined_by_index_and_only_a_new_id_opens_a_call():
    one, _ = heard(
        {"tool_calls": [call(0, "a", "look", "")]},
        {"tool_calls": [call(1, "b", "wait", "")]},
        {"tool_calls": [call(0, None, None, '{"at"')]},
        {"tool_calls": [call(0, "", None, ':"x"')]},
        {"tool_calls": [call(0, "a", None, "}")]},
        {"tool_calls": [call(0, "c", "look", "{}")]},
    )
    assert one.reply().calls == (Call("a", "look", '{"at":"x"}'), Call("b", "wait", ""), Call("c", "look", "{}"))


@pytest.mark.parametrize(
    ("pieces", "shown"),
    [
        (["{}"], []),
        (["{", "}"], []),
        ([" { ", " } "], []),
        ([""], []),
        (["{", '"at":"x"}'], ['{"at":"x"}']),
        (['{"at":', '"x"}'], ['{"at":', '"x"}']),
        (["{"], ["{"]),
    ],
)
def test_arguments_are_shown_as_they_come_unless_the_object_has_no_members(pieces, shown):
    _, events = heard(*({"tool_calls": [call(0, "a", "look", piece)]} for piece in pieces))
    assert [event["delta"] for event in events if event["type"] == "TOOL_CALL_ARGS"] == shown


def test_white_space_alone_is_no_message_and_joins_the_one_that_follows():
    _, events = heard({"content": " "}, {"content": "\n"}, {"content": "x"}, {"content": " "})
    assert [event.get("delta") for event in events] == [None, " \nx", " ", None]
    assert heard({"content": " \n"})[1] == []


def test_messages_are_closed_before_another_kind_opens():
    _, events = heard({"reasoning_content": "Hm."}, {"content": "Now."}, {"tool_calls": [call(0, "a", "look", "{}")]})
    assert [event["type"] for event in events] == [
        "REASONING_MESSAGE_START",
        "REASONING_MESSAGE_CONTENT",
        "REASONING_MESSAGE_END",
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_CONTENT",
        "TEXT_MESSAGE_END",
        "TOOL_CALL_START",
        "TOOL_CALL_END",
    ]


@pytest.mark.parametrize(
    ("delta", "shape"),
    [
        ({"content": ""}, "no_parts"),
        ({"content": None}, "null"),
        ({"content": " "}, "blank"),
        ({"content": None, "reasoning_content": "Hm."}, "thinking"),
        ({"content": "0"}, ""),
    ],
)
def test_an_empty_reply_has_a_shape(delta, shape):
    assert heard(delta)[0].reply().empty == shape


@pytest.mark.parametrize("body", ["<html>", None, {}, {"choices": []}, {"error": {"code": "x"}}])
def test_a_200_that_is_no_reply_is_none(body):
    with pytest.raises(NoReply):
        as_chunk(body)


@pytest.mark.parametrize(
    ("given", "taken", "expected"),
    [("a", set(), "a"), ("", set(), "call_1"), ("a", {"a"}, "call_2"), ("", {"x", "call_3"}, "call_4")],
)
def test_an_id_is_kept_where_it_is_sound(given, taken, expected):
    assert sound_id(given, taken) == expected


CONVERSATION = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "one"},
    {"role": "assistant", "content": None, "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": "{}"}}]},
    {"role": "tool", "tool_call_id": "a", "content": "1"},
    {"role": "user", "content": "two"},
    {"role": "assistant", "content": None, "tool_calls": [{"id": "b", "function": {"name": "f", "arguments": "{}"}}]},
    {"role": "tool", "tool_call_id": "b", "content": "2"},
]


def test_a_turn_is_a_user_message_and_all_that_follows_it():
    head, found = turns(CONVERSATION)
    assert (len(head), [len(turn) for turn in found]) == (1, [3, 3])


@pytest.mark.parametrize("digest", ["They said one.", None])
def test_compaction_keeps_the_system_text_and_the_last_turn_whole(digest):
    short = compacted(CONVERSATION, digest)
    assert short[0] == CONVERSATION[0]
    assert short[-3:] == CONVERSATION[-3:]
    assert len(short) == (5 if digest else 4)
    assert compacted(short, None) == [CONVERSATION[0], *CONVERSATION[-3:]]


def test_a_transcript_stays_within_its_bound():
    long = [{"role": "user", "content": "x" * 1000}] * 10
    assert len(transcript(long, 1000)) <= 1010
