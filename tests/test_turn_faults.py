"""The faults of a turn as they are written: what they build, what cannot stand together, and what the lint asks of them."""

from itertools import combinations

import pytest

from conformance.loading import lint, schema_check
from conformance.loading.schema_check import _validator
from conformance.scenario import scenario
from fake_models.messages import ErrorEvent, ErrorReply, NoConnection
from fake_models.script import Script, Turn, asked_quirks
from fake_models.wire import CODECS


def data(*turns):
    run = {"user": "hello", "model": list(turns)}
    return {"id": "x", "title": "t", "why": "w", "runs": [run]}


TURNS = [
    ({"refuse": True}, Turn(broken=NoConnection())),
    ({"error_event": {"status": 503}}, Turn(broken=ErrorEvent(ErrorReply(503, ""), 0))),
    (
        {"say": "x", "error_event": {"status": 429, "code": "c", "type": "t", "message": "m", "after_chunks": 3}},
        Turn(say="x", broken=ErrorEvent(ErrorReply(429, "m", type="t", code="c"), 3)),
    ),
    ({"say": "x", "pace_s": 0.5, "wait_s": 2}, Turn(say="x", pace_s=0.5, wait_s=2)),
    ({"say": "x", "finish": "odd"}, Turn(say="x", finish="odd")),
    ({"say": "x", "quirks": ["no_index", "calls_whole"]}, Turn(say="x", quirks=("no_index", "calls_whole"))),
    *(
        ({"overflow": spelling}, Turn(overflow=spelling))
        for spelling in (
            "provider",
            "responses",
            "gemini",
            "ollama",
            "openai",
            "anthropic",
            "code",
            "unknown",
            "length",
        )
    ),
]


@pytest.mark.parametrize(("written", "turn"), TURNS)
def test_a_turn_is_built_of_what_is_written(written, turn):
    assert schema_check.problems(data(written)) == []
    assert scenario(data(written)).runs[0].script.turns == (turn,)


ENDS = {
    "error": {"status": 500},
    "overflow": "code",
    "cut": {"after_chunks": 1},
    "stall": {},
    "error_event": {"status": 500},
    "refuse": True,
}


@pytest.mark.parametrize("pair", list(combinations(ENDS, 2)), ids="+".join)
def test_a_reply_fails_in_one_way_only(pair):
    [problem] = schema_check.problems(data({name: ENDS[name] for name in pair}))

    assert "cannot stand beside" in problem.message
    assert set(pair) == {word for word in ENDS if f"'{word}'" in problem.message}


SPELLED = {
    "say": "x",
    "think": "x",
    "answer": "x",
    "call": "look",
    "empty": "null",
    "stop": "stop",
    "usage": "none",
    "pace_s": 1,
    "finish": "odd",
    "quirks": ["no_index"],
}


@pytest.mark.parametrize("word", SPELLED)
@pytest.mark.parametrize("end", ["error", "overflow", "refuse"])
def test_what_gives_no_reply_says_nothing(end, word):
    [problem] = schema_check.problems(data({end: ENDS[end], word: SPELLED[word]}))

    assert f"'{word}' cannot stand beside '{end}'" in problem.message


@pytest.mark.parametrize("word", [word for word in SPELLED if word != "empty"])
@pytest.mark.parametrize("end", ["cut", "stall", "error_event"])
def test_what_breaks_in_the_middle_of_a_reply_may_say_anything(end, word):
    assert schema_check.problems(data({end: ENDS[end], word: SPELLED[word]})) == []


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ({"refuse": False}, "came false, expected true"),
        ({"error_event": {}}, "'status' must be written"),
        ({"error_event": {"status": 200}}, "came 200, expected at least 400"),
        ({"error_event": {"status": 500, "body": "x"}}, "unknown key 'body'"),
        ({"say": "x", "quirks": []}, "came [], expected at least one entry"),
        ({"say": "x", "quirks": ["no_idex"]}, "did you mean 'no_index'?"),
        ({"say": "x", "quirks": ["no_index", "no_index"]}, "every entry once"),
        ({"say": "x", "finish": ""}, "not empty"),
        ({"say": "x", "pace_s": -1}, "at least 0"),
        ({"pace_s": 1}, "at least one of"),
    ],
)
def test_what_is_written_wrongly_is_told(written, says):
    assert any(says in problem.message for problem in schema_check.problems(data(written)))


def test_the_schema_knows_the_quirks_of_all_wires_and_no_other():
    turn = _validator().schema["$defs"]["turn"]["properties"]

    assert turn["quirks"]["items"]["enum"] == sorted({name for codec in CODECS.values() for name in codec.quirks})


@pytest.mark.parametrize(
    "turn", [{"refuse": True}, {"error_event": {"status": 500}}, {"say": "x", "quirks": ["finish_missing"]}]
)
def test_a_fault_at_the_end_of_a_script_has_to_go_on_for_ever(turn):
    [problem] = lint.problems(scenario(data(turn)), ())

    assert problem.where == "runs[0].model[0]"
    assert "repeat: forever" in problem.message
    assert lint.problems(scenario(data(turn | {"repeat": "forever"})), ()) == []
    assert lint.problems(scenario(data(turn, {"say": "x"})), ()) == []


def test_a_quirk_that_leaves_a_reply_whole_may_end_a_script():
    turn = {"call": "look", "usage": {"input": 1, "output": 1}, "quirks": ["no_index", "usage_null"]}
    assert lint.problems(scenario(data(turn)), ()) == []


def test_a_core_run_that_is_only_refused_before_its_answer_needs_no_limit():
    core = data({"refuse": True}, {"say": "x"}) | {"tags": ["core"]}

    assert lint.problems(scenario(core), ()) == []


def test_the_quirks_of_a_script_are_listed_with_their_turns():
    script = Script((Turn(quirks=("a", "b")), Turn(say="x"), Turn(quirks=("b", "c"))))

    assert asked_quirks(script) == ((0, "a"), (0, "b"), (2, "b"), (2, "c"))
    assert asked_quirks(script, {"b"}) == ((0, "a"), (2, "c"))
    assert asked_quirks(Script(())) == ()
