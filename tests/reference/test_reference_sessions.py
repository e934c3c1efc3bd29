"""What a session of the reference holds to: one run at a time, and a stored history that a model takes."""

import pytest

from conformance.reference.run import Session
from conformance.reference.sessions import UNKNOWN, entered, left, repaired

USER = {"role": "user", "content": "And now?"}


def asks(*ids):
    calls = [{"id": one, "type": "function", "function": {"name": "look", "arguments": "{}"}} for one in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def result(call_id, content="42"):
    return {"role": "tool", "tool_call_id": call_id, "content": content}


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [USER],
        [asks("a", "b"), result("a"), result("b"), USER],
        [asks("a"), result("a"), asks("a"), result("a", "43"), USER],
    ],
)
def test_a_sound_history_stays_as_it_is(messages):
    assert repaired(messages) == messages


@pytest.mark.parametrize(
    ("stored", "sent"),
    [
        ([asks("a"), USER], [asks("a"), result("a", UNKNOWN), USER]),
        ([asks("a", "b"), result("b"), USER], [asks("a", "b"), result("a", UNKNOWN), result("b"), USER]),
        ([asks("a"), USER, result("a")], [asks("a"), result("a"), USER]),
        ([asks("a"), result("a"), result("a", "43")], [asks("a"), result("a")]),
        ([result("a"), USER], [USER]),
        ([asks("a"), asks("a"), result("a")], [asks("a"), result("a", UNKNOWN), asks("a"), result("a")]),
    ],
    ids=["open", "one open of two", "late", "twice", "without its call", "an id used again"],
)
def test_a_broken_history_gets_one_result_right_behind_each_call(stored, sent):
    assert repaired(stored) == sent


def test_a_run_enters_a_session_only_while_no_other_goes_on():
    session = Session()
    assert [entered(session, "r1"), entered(session, "r2")] == [True, False]
    assert session.open == ["r1"]
    left(session, "r2")
    assert not entered(session, "r3")
    left(session, "r1")
    assert entered(session, "r4")
