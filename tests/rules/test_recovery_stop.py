"""REC-11 on recordings told by hand: calls beside another reason, and that reason without calls."""

import pytest
from story import Story

from conformance.reading.joined import view
from conformance.rule import OK, Finding
from conformance.rules.recovery_stop import REC_11

CALL = [("look", {}, "c1")]


def judged(story):
    return list(REC_11.check(view(story.recording())))


def called(*, runs, stop="stop", calls=CALL, **story):
    s = Story(**story)
    s.ask()
    s.reply("I look.", calls=calls, stop=stop)
    if runs:
        s.execute("look", {}, "c1", 42)
    s.outcome("answered", text="I look.")
    return s


def test_a_call_beside_stop_that_runs_is_right():
    assert judged(called(runs=True)) == [OK]


def test_a_call_beside_stop_that_is_dropped_is_found():
    [found] = judged(called(runs=False))
    assert isinstance(found, Finding)
    assert "call 'c1' (look) of m1 never ran: its reply gave the reason 'stop'" in found.message


@pytest.mark.parametrize(
    "told",
    [
        {"stop": "tool_calls"},
        {"stop": "length"},
        {"stop": "filter"},
        {"calls": [("nothing", {}, "c1")]},
        {"calls": [("look", "{", "c1")]},
        {"calls": [("look", {}, "")]},
        {"max_iters": 1, "dialect": {"last_round_tools": "skip"}},
    ],
    ids=str,
)
def test_what_another_clause_judges_is_nothing_to_judge(told):
    assert judged(called(runs=False, **told)) == []


def answered(*, then=None, kind="answered", text="42", stop="tool_calls", **story):
    s = Story(**story)
    s.ask()
    s.reply(text, stop=stop)
    if then:
        s.ask()
        s.reply("42")
    s.outcome(kind, text="42")
    return s


def test_a_text_beside_tool_calls_that_ends_the_run_is_right():
    assert judged(answered()) == [OK]


def test_a_text_beside_tool_calls_that_is_asked_for_again_is_found():
    [found] = judged(answered(then=True))
    assert "m2 was sent although m1 was answered with a text and no call" in found.message


def test_a_text_beside_tool_calls_that_ends_as_something_else_is_found():
    [found] = judged(answered(kind="error"))
    assert "r1 ended as error although m1 was answered with a text" in found.message


@pytest.mark.parametrize(
    "told", [{"stop": "stop"}, {"text": " "}, {"dialect": {"answer_by": "tool:done.text"}}], ids=str
)
def test_what_is_no_text_beside_tool_calls_is_nothing_to_judge(told):
    assert judged(answered(**told)) == []


def test_a_gate_may_send_an_answer_back():
    gate = {"knobs": {"gate": {"tool": "look"}}}
    assert judged(answered(then=True, capabilities={"completion_gate": {"retries": 1}}, scenario=gate)) == []
    assert len(judged(answered(then=True, capabilities={"completion_gate": {"retries": 1}}))) == 1


@pytest.mark.parametrize(("wire", "judgements"), [("anthropic_messages", [OK]), ("gemini", []), ("ollama", [])])
def test_a_wire_with_one_reason_for_texts_and_calls_promises_no_call(wire, judgements):
    s = answered()
    s.header["wire"] = wire
    for record in s.records:
        if record.kind == "model/request":
            record.data["body"]["messages"] = []
    assert judged(s) == judgements
