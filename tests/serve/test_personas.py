"""Personas: what each is known for, the same for the same seed, and never a reason for a script's rule to fire."""

import json
from collections import Counter
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fake_models.arguments import arguments
from fake_models.messages import Message, ModelRequest, Text, ToolCall, ToolSpec, World
from fake_models.personas import PERSONAS, Persona, reply
from fake_models.script import Cursor, Missed, Script, Turn, answer, aside, unplayed

WORLD = World(now=datetime(2026, 1, 1, tzinfo=UTC))
TIDE = ToolSpec(
    "tide",
    "The tide at a place.",
    {
        "type": "object",
        "properties": {
            "place": {"type": "string"},
            "days": {"type": "integer", "minimum": 1},
            "note": {"type": "string"},
        },
        "required": ["place", "days"],
    },
)


def request(*texts, tools=(TIDE,), choice=None):
    """A user's texts, with a tool's result behind a text that begins with `=`."""
    messages = tuple(
        Message("tool", text, tool_call_id="c") if text[0] == "=" else Message("user", text) for text in texts
    )
    return ModelRequest("openai_chat", "m", messages, tools=tools, tool_choice=choice, measured=lambda: 400)


ASKED = request("How high is the tide?")


def said(name, asked=ASKED, count=0, **traits):
    return reply(Persona(name, **traits), asked, WORLD, count)


def texts(one):
    return "".join(part.text or "" for part in one.parts if isinstance(part, Text))


def test_echo_says_the_users_last_text_and_no_result_of_a_tool():
    assert texts(said("echo", request("first", "last", "=42"))) == "last"


def test_looper_calls_the_first_tool_with_the_keys_it_requires_and_never_with_others():
    calls = [said("looper", count=count).calls for count in range(3)]
    assert {json.dumps([(call.name, json.loads(call.arguments)) for call in made]) for made in calls} == {
        json.dumps([("tide", {"place": "text 1", "days": 1})])
    }


@pytest.mark.parametrize("name", ["looper", "never_done"])
@pytest.mark.parametrize(
    "asked",
    [request("?", tools=None), request("?", tools=()), request("?", choice="none")],
    ids=["no key", "none", "choice"],
)
def test_what_can_call_no_tool_says_a_text(name, asked):
    one = said(name, asked)
    assert (one.calls, one.stop) == ((), "stop")
    assert texts(one)


def test_a_tool_that_is_chosen_is_called_before_the_first():
    other = ToolSpec("wind", "", {"type": "object"})
    (call,) = said("looper", request("?", tools=(TIDE, other), choice="wind")).calls
    assert (call.name, call.arguments) == ("wind", "{}")


def test_never_done_says_that_it_goes_on_and_calls_with_other_arguments_each_time():
    replies = [said("never_done", count=count) for count in range(20)]
    assert len({one.calls[0].arguments for one in replies}) == 20
    assert all("go on" in texts(one) for one in replies)


def test_empty_says_nothing():
    assert (said("empty").parts, said("empty").stop) == ((), "stop")


def test_liar_claims_to_be_done_and_calls_nothing():
    one = said("liar")
    assert "Done" in texts(one)
    assert one.calls == ()


@pytest.mark.parametrize(("rate", "least", "most"), [(0.0, 0, 0), (0.3, 250, 350), (1.0, 1000, 1000)])
def test_flaky_fails_the_share_it_is_told_with_what_may_be_asked_again_at_once(rate, least, most):
    replies = [said("flaky", count=count, rate=rate) for count in range(1000)]
    errors = [one.error for one in replies if one.error]
    assert least <= len(errors) <= most
    assert {error.status for error in errors} <= {429, 500, 503}
    assert {error.retry_after_s for error in errors} <= {0}
    assert {texts(one) for one in replies if not one.error} <= {"How high is the tide?"}


def test_chaos_shows_every_kind_of_fault_and_none_that_lasts_for_ever():
    replies = [said("chaos", count=count, rate=1.0) for count in range(500)]
    kinds = Counter(
        "error"
        if one.error
        else "cut"
        if one.broken
        else "calls"
        if one.calls
        else "text"
        if texts(one).strip()
        else "nothing"
        for one in replies
    )
    assert set(kinds) == {"error", "cut", "calls", "text", "nothing"}
    names = Counter(call.name for one in replies for call in one.calls)
    assert set(names) == {"tide", "tide_2"}
    assert {"length", "stop", "tool_calls"} == {one.stop for one in replies}


def test_chaos_at_rest_calls_a_tool_once_and_then_answers():
    first, then = (said("chaos", asked, rate=0.0) for asked in (ASKED, request("How high?", "=42")))
    assert [call.name for call in first.calls] == ["tide"]
    assert (then.calls, then.stop) == ((), "stop")


@pytest.mark.parametrize("name", ["flaky", "chaos"])
def test_chance_can_be_had_again_and_another_seed_is_another(name):
    def course(seed):
        return [said(name, count=count, seed=seed, rate=0.5) for count in range(40)]

    assert course(7) == course(7)
    assert course(7) != course(8)


@pytest.mark.parametrize("name", PERSONAS)
def test_a_call_has_an_id_that_no_call_of_the_session_had(name):
    world = World(now=WORLD.now, calls_made=4)
    ids = {call.id for count in range(50) for call in reply(Persona(name, rate=0.0), ASKED, world, count).calls}
    assert ids <= {"call_5"}


@pytest.mark.parametrize("name", PERSONAS)
def test_a_reply_that_is_no_error_reports_what_it_cost(name):
    one = said(name, rate=0.0)
    assert one.usage is not None
    assert one.usage.input == 100


@pytest.mark.parametrize("name", PERSONAS)
def test_a_persona_always_has_an_answer_and_leaves_no_turn_unplayed(name):
    script, cursor = Script((), Persona(name, rate=0.9)), Cursor()
    for count in range(100):
        played = answer(script, cursor, ASKED, WORLD)
        assert not isinstance(played, Missed)
        assert (played.turn, played.cursor) == (0, Cursor(0, count + 1))
        assert played.reply == said(name, count=count, rate=0.9)
        cursor = played.cursor
    assert unplayed(script, cursor) == ()


def test_a_call_beside_the_conversation_is_not_the_personas():
    beside = World(now=WORLD.now, call="auxiliary")
    played = answer(Script((), Persona("looper")), Cursor(0, 3), ASKED, beside)
    assert (played.turn, played.cursor, texts(played.reply)) == (None, Cursor(0, 3), "Noted.")


def test_turns_come_before_the_persona():
    assert texts(answer(Script((Turn(say="mine"),), Persona("liar")), Cursor(), ASKED, WORLD).reply) == "mine"


def test_a_turn_aside_answers_and_the_script_stays_where_it_is():
    played = aside(Turn(say="aside"), Cursor(2, 1), ASKED, WORLD)
    assert (played.turn, played.cursor, texts(played.reply)) == (None, Cursor(2, 1), "aside")


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({}, "text 3"),
        ({"type": "string", "minLength": 8}, "text 3.."),
        ({"type": "string", "maxLength": 2}, "te"),
        ({"type": "integer"}, 3),
        ({"type": "integer", "minimum": 10}, 10),
        ({"type": "integer", "maximum": 1}, 1),
        ({"type": "number", "minimum": 3.5}, 3.5),
        ({"type": "boolean"}, True),
        ({"type": "null"}, None),
        ({"type": "array"}, []),
        ({"type": "array", "items": {"type": "integer"}, "minItems": 2}, [3, 3]),
        ({"type": ["integer", "null"]}, 3),
        ({"const": "fixed"}, "fixed"),
        ({"default": "usual"}, "usual"),
        ({"enum": ["a", "b"]}, "b"),
        ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, 3),
        ({"properties": {"deep": {"type": "integer"}}, "required": ["deep"]}, {"deep": 3}),
    ],
)
def test_an_argument_fits_its_schema(schema, expected):
    assert arguments({"properties": {"it": schema}, "required": ["it"]}, 3) == {"it": expected}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["type", "properties", "required", "items", "enum", "minItems", "anyOf", "minimum", "maxLength", "x"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@settings(max_examples=200, deadline=None)
@given(JSON, st.integers(0, 10**6))
def test_whatever_stands_for_a_schema_gives_an_object(schema, number):
    assert isinstance(json.loads(json.dumps(arguments(schema, number))), dict)


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(list(PERSONAS)), JSON, st.integers(0, 1000), st.lists(st.text(min_size=1), max_size=3))
def test_whatever_is_asked_a_persona_answers(name, schema, count, words):
    tool = ToolSpec("t", "", schema if isinstance(schema, dict) else {})
    one = said(name, request(*words, tools=(tool,)), count)
    assert all(isinstance(part, ToolCall) or part.text is None or isinstance(part.text, str) for part in one.parts)
