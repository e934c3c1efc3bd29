"""Turns that contradict themselves are told with their place; so are personas given what they leave alone."""

import json

import pytest

from conformance.loading import lint, schema_check
from conformance.loading.lint_turns import WORDS
from conformance.scenario import scenario
from fake_models.wire import anthropic_messages, gemini, ollama, openai_chat, openai_responses

TOOL = {"description": "d", "parameters": {"type": "object"}, "returns": 1}
CALLS = {"say": "x", "call": ["look", "look"], "usage": {"input": 1, "output": 1}}


def found(turn, **more):
    data = {"id": "x", "title": "t", "why": "w", "tools": {"look": TOOL}} | more
    data |= {"runs": [{"user": "hello", "model": [turn, {"say": "end"}]}]}
    assert schema_check.problems(data) == []
    return [
        (problem.where.removeprefix("runs[0].model[0]."), problem.message)
        for problem in lint.problems(scenario(data), ())
    ]


@pytest.mark.parametrize(
    ("turn", "where", "says"),
    [
        (CALLS | {"quirks": ["index_zero", "no_index"]}, "quirks[1]", "'index_zero' and 'no_index' exclude each other"),
        (CALLS | {"quirks": ["usage_null", "usage_cumulative"]}, "quirks[1]", "exclude each other"),
        ({"say": "x", "quirks": ["no_index"]}, "quirks[0]", "'no_index' changes nothing here: it needs a call"),
        ({"say": "x", "quirks": ["calls_whole"]}, "quirks[0]", "it needs a call"),
        ({"say": "x", "quirks": ["ids_repeated"]}, "quirks[0]", "it needs a call"),
        ({"call": "look", "quirks": ["text_after_calls"]}, "quirks[0]", "it needs a text and a call"),
        ({"call": "look", "quirks": ["duplicate_ids"]}, "quirks[0]", "it needs two calls"),
        ({"say": "x", "quirks": ["usage_null"]}, "quirks[0]", "it needs `usage`"),
        ({"say": "x", "usage": "none", "quirks": ["usage_last"]}, "quirks[0]", "it needs `usage`"),
        ({"say": "x", "quirks": ["usage_bare"]}, "quirks[0]", "it needs `usage`"),
        (CALLS | {"quirks": ["usage_last", "usage_bare"]}, "quirks[1]", "exclude each other"),
        ({"say": "x", "finish": "odd", "quirks": ["finish_missing"]}, "quirks[0]", "it needs no `finish`"),
        (
            CALLS | {"quirks": ["ids_repeated", "prompt_blocked"]},
            "quirks",
            "no wire has all of ids_repeated, prompt_blocked",
        ),
        (
            {"say": "x", "finish": "length"},
            "finish",
            "came 'length', which says stop: length, but this turn has stop: stop",
        ),
        ({"call": "look", "finish": "stop"}, "finish", "write `stop: stop` as well"),
        ({"say": "x", "stop": "stop", "finish": "SAFETY"}, "finish", "write `stop: filter` as well"),
        ({"say": "x", "finish": "tool_use"}, "finish", "write `stop: tool_calls` as well"),
    ],
)
def test_a_turn_that_contradicts_itself_is_told_at_its_place(turn, where, says):
    [(place, message)] = found(turn)

    assert place == where
    assert says in message


@pytest.mark.parametrize(
    "turn",
    [
        CALLS | {"quirks": ["index_zero", "ids_repeated", "usage_null"]},
        CALLS | {"quirks": ["text_after_calls", "duplicate_ids"]},
        {"answer": "x", "quirks": ["no_index"]},
        {"say": "x", "finish": "odd"},
        {"say": "x", "stop": "length", "finish": "length"},
        {"call": "look", "stop": "stop", "finish": "stop"},
        {"call": "look", "finish": "STOP"},
        {"say": "x", "quirks": ["no_final_marker"]},
    ],
)
def test_one_that_does_not_is_left_alone(turn):
    assert found(turn) == []


TOLD = (
    openai_chat.FINISH_REASONS,
    openai_responses.INCOMPLETE_REASONS,
    anthropic_messages.STOP_REASONS,
    gemini.FINISH_REASONS,
    # The wire says "stop" of everything but a length; whoever writes that word means a stop.
    {"stop": ollama.DONE_REASONS["stop"], "length": ollama.DONE_REASONS["length"]},
)


def test_the_words_are_those_that_the_wires_send():
    words = [(word, stop) for reasons in TOLD for stop, word in reasons.items()]

    assert [(word, stop) for word, stop in words if stop not in WORDS[word]] == []


def test_a_rate_is_for_personas_that_go_by_it():
    data = {"id": "x", "title": "t", "why": "w", "runs": [{"user": "hello"}]}
    model = {"persona": "echo", "seed": 1, "rate": 0.5}

    [problem] = lint.problems(scenario(data | {"model": model}), ())

    assert problem.where == "model.rate"
    assert "only flaky and chaos go by" in problem.message
    assert lint.problems(scenario(data | {"model": model | {"persona": "flaky"}}), ()) == []


@pytest.mark.parametrize(
    ("turn", "says"),
    [
        ({"error": {"status": 429.0}}, "came 429.0, expected an integer"),
        ({"error": {"status": 204, "body": "x"}}, "came 204, expected none of 204, 205, 304"),
        ({"error": {"status": 304}}, "came 304, expected none of"),
        ({"error": {"status": 100}}, "came 100, expected at least 200"),
        ({"error": {"status": 200}}, "'body' must be written here"),
        ({"error": {"status": 201, "code": "x"}}, "'body' must be written here"),
        ({"error": {"status": 429, "retry_after": float("nan")}}, "came nan, which JSON does not have"),
        ({"error": {"status": 500, "body": {"x": [float("-inf")]}}}, "came -inf, which JSON does not have"),
        ({"say": "x", "wait_s": float("inf")}, "came inf, which JSON does not have"),
        ({"say": "x", "stall": {"after_chunks": 1.0}}, "came 1.0, expected an integer"),
        ({"say": "x", "stall": {"after_chunks": 1e9}}, "came 1000000000.0, expected an integer"),
        ({"say": "x", "stall": {"after_chunks": 10**9}}, "came 1000000000, expected at most 1000000"),
        ({"say": "x", "cut": {"after_bytes": 10**9}}, "expected at most 67108864"),
        ({"say": "x", "error_event": {"status": 500, "after_chunks": 1.0}}, "came 1.0, expected an integer"),
        ({"say": "x", "usage": {"input": 7.0, "output": 1}}, "came 7.0, expected an integer"),
        ({"say": "x", "repeat": 2.0}, "came 2.0, expected an integer or a text"),
        ({"say": "half \ud83d"}, "holds half a character"),
        ({"error": {"status": 500, "body": json.loads("[" * 100 + "]" * 100)}}, "nested deeper than 64"),
    ],
)
def test_the_schema_takes_only_what_can_be_played(turn, says):
    data = {"id": "x", "title": "t", "why": "w", "runs": [{"user": "hello", "model": [turn]}]}

    assert [problem.message for problem in schema_check.problems(data) if says in problem.message]


def test_a_status_below_300_may_bring_a_body():
    data = {"id": "x", "title": "t", "why": "w"}
    turn = {"error": {"status": 200, "body": "<html>"}}

    assert schema_check.problems(data | {"runs": [{"user": "hello", "model": [turn]}]}) == []


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("clock", "9999-12-31T23:59:59+00:00", "of the years 1970 to 2999"),
        ("clock", "0001-01-01T00:00:00+14:00", "of the years 1970 to 2999"),
        ("clock", "2026-01-01T00:00:00", "with an offset"),
        ("cap", 3.0, "came 3.0, expected an integer"),
        ("runs", [{"user": "", "model": [{"say": "x"}]}], 'came "", expected a text that is not empty'),
    ],
)
def test_a_scenario_that_could_not_be_played_is_refused(key, value, says):
    data = {"id": "x", "title": "t", "why": "w", "runs": [{"user": "hello", "model": [{"say": "x"}]}]} | {key: value}

    [problem] = schema_check.problems(data)

    assert says in problem.message


@pytest.mark.parametrize("blank", [" ", "\n", "\u3000"])
def test_a_blank_user_text_is_told(blank):
    data = {"id": "x", "title": "t", "why": "w", "runs": [{"user": blank, "model": [{"say": "x"}]}]}

    [problem] = lint.problems(scenario(data), ())

    assert problem.where == "runs[0].user"
    assert "expected a text that is not blank" in problem.message
