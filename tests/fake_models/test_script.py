import json
from datetime import UTC, datetime

import pytest

from fake_models.matching import When
from fake_models.messages import (
    Cut,
    ErrorReply,
    Execution,
    Message,
    ModelRequest,
    Reply,
    Stall,
    Text,
    Thinking,
    ToolCall,
    ToolSpec,
    Usage,
    World,
)
from fake_models.overflow import overflow_reply
from fake_models.script import (
    FOREVER,
    CallTurn,
    Cursor,
    ErrorTurn,
    Missed,
    Played,
    Script,
    Turn,
    answer,
    unplayed,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)
OFFERED = ModelRequest(
    "w", "m", (Message("user", "hello"),), tools=(ToolSpec("look", "", {}), ToolSpec("done", "", {}))
)
NONE = ModelRequest("w", "m", (Message("user", "hello"),))
OFFERING = When(tools="offered")
LOOPER = Turn(calls=(CallTurn("look"),), repeat=FOREVER, optional=True, when=OFFERING)


def world(**changes):
    return World(now=NOW, **changes)


def play(turns, *asked, cursor=Cursor(), **changes):  # noqa: B008 - a frozen value
    """Ask once per (request or (request, call class)); what came of each."""
    outcomes = []
    for item in asked:
        request, call = item if isinstance(item, tuple) else (item, "regular")
        outcome = answer(Script(tuple(turns)), cursor, request, world(call=call, **changes))
        cursor = outcome.cursor if isinstance(outcome, Played) else cursor
        outcomes.append(outcome)
    return outcomes


def turns_played(turns, *asked):
    return ["miss" if isinstance(outcome, Missed) else outcome.turn for outcome in play(turns, *asked)]


def reply(turn, request=OFFERED, **changes):
    (played,) = play([turn], request, **changes)
    return played.reply


@pytest.mark.parametrize(
    ("turns", "asked", "played"),
    [
        ([Turn(say="a"), Turn(say="b")], [NONE, NONE], [0, 1]),
        ([Turn(say="a"), Turn(say="b")], [NONE, NONE, NONE], [0, 1, "miss"]),
        ([], [NONE], ["miss"]),
        ([Turn(say="a", when=OFFERING), Turn(say="b")], [NONE, OFFERED, NONE], ["miss", 0, 1]),
        ([Turn(say="a", when=OFFERING, optional=True), Turn(say="b")], [NONE], [1]),
        ([Turn(say="a", when=OFFERING, optional=True), Turn(say="b")], [NONE, OFFERED], [1, "miss"]),
        ([Turn(say="a", optional=True), Turn(say="b")], [NONE, NONE], [0, 1]),
        ([Turn(say="a", repeat=2), Turn(say="b")], [NONE, NONE, NONE], [0, 0, 1]),
        ([Turn(say="a", repeat=FOREVER)], [NONE] * 5, [0] * 5),
        ([LOOPER, Turn(say="sum")], [OFFERED, OFFERED, OFFERED, NONE], [0, 0, 0, 1]),
        ([LOOPER, Turn(say="sum")], [OFFERED, NONE, OFFERED], [0, 1, "miss"]),
        ([LOOPER, Turn(say="b", when=OFFERING)], [NONE, OFFERED], ["miss", 0]),
        ([Turn(say="a", repeat=3, optional=True, when=OFFERING), Turn(say="b")], [OFFERED, NONE], [0, 1]),
        ([Turn(say="a", when=OFFERING, optional=True)], [NONE], ["miss"]),
        ([Turn(say="a", when=OFFERING, optional=True), Turn(say="b", when=OFFERING)], [NONE, OFFERED], ["miss", 0]),
    ],
)
def test_turns_are_played_in_order_and_only_optional_ones_are_passed_over(turns, asked, played):
    assert turns_played(turns, *asked) == played


def test_a_miss_names_the_nearest_turn_and_the_condition_that_failed():
    (missed,) = play([LOOPER, Turn(say="x", when=When(last="tool")), Turn(say="y")], NONE)

    assert missed.turn == 1
    assert missed.failed == "when.last: wanted 'tool', but the last message has role 'user'"
    assert "turn 0: when.tools: wanted 'offered', but the request offers []" in missed.message
    assert "turn 1: when.last" in missed.message
    assert "turn 2" not in missed.message


def test_a_request_after_the_last_turn_names_it_and_how_many_were_played():
    *_, missed = play([Turn(say="a"), Turn(say="b")], NONE, NONE, NONE)

    assert missed.turn == 1
    assert missed.failed == "all 2 turns were played"
    assert "one more request" in missed.message


def test_an_empty_script_has_no_nearest_turn():
    assert play([], NONE)[0].turn is None


@pytest.mark.parametrize("call", ["auxiliary", "compaction"])
def test_a_side_call_takes_no_turn_and_gets_a_fixed_text_with_usage_one_and_one(call):
    side, regular = play([Turn(say="a")], (NONE, call), NONE)

    assert side.turn is None
    assert side.cursor == Cursor()
    assert side.reply.usage == Usage(1, 1)
    assert [type(part) for part in side.reply.parts] == [Text]
    assert regular.turn == 0


COMPACTION = Turn(say="short", when=When(call="compaction"))


@pytest.mark.parametrize(
    ("turns", "asked", "played"),
    [
        ([COMPACTION], [(NONE, "compaction")], [0]),
        ([COMPACTION], [(NONE, "auxiliary")], [None]),
        ([COMPACTION, Turn(say="b")], [(NONE, "compaction"), (NONE, "compaction"), NONE], [0, None, 1]),
        ([COMPACTION], [NONE], ["miss"]),
        ([Turn(say="a"), COMPACTION], [(NONE, "compaction"), NONE, (NONE, "compaction")], [None, 0, 1]),
        ([LOOPER, COMPACTION], [OFFERED, (NONE, "compaction")], [0, 1]),
        ([LOOPER, COMPACTION], [OFFERED, (OFFERED, "compaction")], [0, 1]),
        ([LOOPER, Turn(say="b")], [(NONE, "compaction"), OFFERED], [None, 0]),
        ([Turn(say="a", optional=True, when=When(call="compaction")), Turn(say="b")], [NONE], [1]),
        ([Turn(say="a", optional=True, when=When(call="compaction", round=9))], [(NONE, "compaction")], [None]),
        ([Turn(say="a", when=When(call="compaction", round=9))], [(NONE, "compaction")], ["miss"]),
        ([Turn(say="a")], [NONE, (NONE, "auxiliary")], [0, None]),
        ([], [(NONE, "auxiliary")], [None]),
    ],
)
def test_a_side_call_takes_a_turn_only_where_that_asks_for_its_class(turns, asked, played):
    assert turns_played(turns, *asked) == played


@pytest.mark.parametrize(
    ("turns", "asked", "left"),
    [
        ([Turn(say="a"), Turn(say="b")], [], (0, 1)),
        ([Turn(say="a"), Turn(say="b")], [NONE], (1,)),
        ([Turn(say="a"), Turn(say="b")], [NONE, NONE], ()),
        ([Turn(say="a", repeat=3)], [NONE, NONE], (0,)),
        ([Turn(say="a", repeat=3)], [NONE, NONE, NONE], ()),
        ([Turn(say="a", repeat=FOREVER)], [], (0,)),
        ([Turn(say="a", repeat=FOREVER)], [NONE], ()),
        ([Turn(say="a"), Turn(say="b", repeat=FOREVER)], [NONE], (1,)),
        ([LOOPER, Turn(say="b")], [], (1,)),
        ([LOOPER, Turn(say="b")], [OFFERED], (1,)),
        ([LOOPER, Turn(say="b")], [NONE], ()),
        ([Turn(say="a", optional=True)], [], ()),
        ([], [], ()),
    ],
)
def test_unplayed_are_the_turns_that_were_owed_and_not_played_often_enough(turns, asked, left):
    outcomes = play(turns, *asked)
    cursor = outcomes[-1].cursor if outcomes else Cursor()

    assert unplayed(Script(tuple(turns)), cursor) == left


@pytest.mark.parametrize(
    ("turn", "parts", "stop"),
    [
        (Turn(), (), "stop"),
        (Turn(say="hi"), (Text("hi"),), "stop"),
        (Turn(say=""), (Text(""),), "stop"),
        (Turn(think="hm", say="hi"), (Thinking("hm"), Text("hi")), "stop"),
        (Turn(answer="42"), (Text("42"),), "stop"),
        (Turn(say="hi", stop="length"), (Text("hi"),), "length"),
        (Turn(calls=(CallTurn("look"),)), (ToolCall("call_1", "look", "{}"),), "tool_calls"),
        (Turn(calls=(CallTurn("look"),), stop="stop"), (ToolCall("call_1", "look", "{}"),), "stop"),
        (
            Turn(think="t", say="s", calls=(CallTurn("look", {"a": 1, "b": "ü"}), CallTurn("x", raw='{"a": '))),
            (
                Thinking("t"),
                Text("s"),
                ToolCall("call_1", "look", '{"a":1,"b":"ü"}'),
                ToolCall("call_2", "x", '{"a": '),
            ),
            "tool_calls",
        ),
        (Turn(answer="42", calls=(CallTurn("look"),)), (Text("42"), ToolCall("call_1", "look", "{}")), "tool_calls"),
        (Turn(empty="no_parts"), (), "stop"),
        (Turn(empty="null"), (Text(None),), "stop"),
        (Turn(empty="blank"), (Text(" \n"),), "stop"),
        (Turn(overflow="length"), (), "length"),
    ],
)
def test_a_turn_says_its_parts_in_order_and_stops_for_its_calls_if_it_has_some(turn, parts, stop):
    said = reply(turn)

    assert said == Reply(parts=parts, stop=stop)


def test_an_empty_reply_of_thinking_only_thinks_something():
    (part,) = reply(Turn(empty="thinking")).parts

    assert isinstance(part, Thinking)
    assert part.text.strip()


@pytest.mark.parametrize(
    ("call", "call_id"),
    [
        (CallTurn("look"), "call_8"),
        (CallTurn("look", id="mine", id_shape="given"), "mine"),
        (CallTurn("look", id="mine"), "mine"),
        (CallTurn("look", id_shape="missing"), None),
        (CallTurn("look", id_shape="empty"), ""),
    ],
)
def test_ids_are_as_the_script_wants_and_fresh_ones_count_on_over_the_session(call, call_id):
    (first, second) = reply(Turn(calls=(call, CallTurn("look"))), calls_made=7).calls

    assert first.id == call_id
    assert second.id == "call_9"


def test_the_answer_is_a_call_of_the_answer_tool_where_that_is_offered():
    turn = Turn(say="so", answer="it is 42", calls=(CallTurn("look"),))

    assert reply(turn, answer_by="tool:done.text") == Reply(
        parts=(Text("so"), ToolCall("call_1", "done", '{"text":"it is 42"}'), ToolCall("call_2", "look", "{}")),
        stop="tool_calls",
    )


def test_the_answer_is_text_where_the_answer_tool_is_not_offered():
    assert reply(Turn(answer="it is 42"), NONE, answer_by="tool:done.text").parts == (Text("it is 42"),)


EXECUTIONS = (Execution("x1", "r1", "look", "c1", {"n": 3, "at": "home"}),)


def test_templates_are_filled_in_wherever_a_model_says_something_and_told():
    turn = Turn(
        think="{{ result.look.n }}?",
        say="at {{ result.look.at }}",
        answer="{{ result.look.n }}",
        calls=(CallTurn("look", {"deep": ["{{ result.look.n }}"]}), CallTurn("look", raw="{{ raw }}")),
    )
    (played,) = play([turn], OFFERED, executions=EXECUTIONS)

    assert played.reply.parts[:3] == (Thinking("3?"), Text("at home"), Text("3"))
    assert json.loads(played.reply.calls[0].arguments) == {"deep": [3]}
    assert played.reply.calls[1].arguments == "{{ raw }}"
    assert [(found.path, found.source, found.value) for found in played.resolved] == [
        ("result.look.n", "x1", 3),
        ("result.look.at", "x1", "home"),
        ("result.look.n", "x1", 3),
        ("result.look.n", "x1", 3),
    ]


def test_a_turn_whose_template_cannot_be_resolved_is_missed_and_named():
    first, missed = play([Turn(say="a"), Turn(say="{{ result.look }}")], NONE, NONE)

    assert first.turn == 0
    assert missed.turn == 1
    assert "{{ result.look }}" in missed.failed
    assert missed.failed in missed.message


def test_an_error_turn_leaves_to_the_wire_what_it_does_not_say():
    assert reply(Turn(error=ErrorTurn(503))).error == ErrorReply(503, "")


def test_an_error_turn_says_what_it_says():
    error = ErrorTurn(429, code="c", type="t", message="m", retry_after_s=0, body="<html>")

    assert reply(Turn(error=error)).error == ErrorReply(429, "m", type="t", code="c", retry_after_s=0, body="<html>")


@pytest.mark.parametrize("spelling", ["code", "openai", "anthropic", "unknown"])
def test_an_overflow_is_an_error_in_its_spelling(spelling):
    said = reply(Turn(overflow=spelling))

    assert said == Reply(error=overflow_reply(spelling))


@pytest.mark.parametrize(
    "turn",
    [
        Turn(say="x", broken=Cut(after_chunks=2), wait_s=1.5, usage=Usage(3, 4)),
        Turn(error=ErrorTurn(500), broken=Cut(after_bytes=2, reset=True), wait_s=0.5),
        Turn(overflow="length", broken=Stall(1), usage=Usage(5, 0)),
        Turn(empty="null", usage=Usage(0, 0)),
    ],
)
def test_breaks_waits_and_usage_are_passed_on(turn):
    said = reply(turn)

    assert (said.broken, said.wait_s, said.usage) == (turn.broken, turn.wait_s, turn.usage)


def test_an_optional_turn_that_quotes_a_tool_which_never_ran_is_passed_over():
    script = Script((Turn(answer="It is {{ result.look }}.", optional=True), Turn(answer="I could not look.")))
    played = answer(script, Cursor(), ModelRequest("openai_chat", "m", ()), World(now=datetime(2026, 1, 1, tzinfo=UTC)))
    assert (played.turn, played.reply.parts) == (1, (Text("I could not look."),))
