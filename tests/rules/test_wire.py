"""WIRE-1 on recordings told by hand: what the provider refused, and how sure it is that it would."""

import pytest
from story import Story

from conformance.reading.joined import view
from conformance.rule import OK, SHOULD
from conformance.rules.wire import RULES

[WIRE_1] = RULES
USER = {"role": "user", "content": "What is it?"}
CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
ASSISTANT = {"role": "assistant", "content": None, "tool_calls": [CALL]}


def judged(story):
    return list(WIRE_1.check(view(story.recording())))


def refused(rule, *, messages=(USER,), message="refused", **body):
    s = Story()
    s.ask(messages=messages, **body)
    s.refused(rule=rule, message=message)
    return s


def test_a_request_that_is_answered_is_right():
    s = Story()
    s.ask()
    s.reply("42")
    assert judged(s) == [OK]


def test_a_refusal_that_was_captured_fails_and_says_what_broke_it():
    [found] = judged(refused("missing_tool_results", messages=[USER, ASSISTANT], message="no response for c1"))
    assert found.level is None
    assert found.message.startswith(
        "m1 was refused with status 400: 'no response for c1', provider rule 'missing_tool_results'"
    )
    assert "explain: conformance provider-rules openai_chat.missing_tool_results)" in found.message
    assert "broken at messages.[1].role. The messages were [user, assistant(c1)]." in found.message


def test_a_refusal_known_by_hearsay_warns():
    [found] = judged(refused("tools_empty_array", tools=[]))
    assert found.level is SHOULD
    assert "confidence B" in found.message
    assert "broken at tools." in found.message


def test_a_refusal_by_a_rule_that_is_no_longer_known_fails():
    [found] = judged(refused("some_old_rule"))
    assert found.level is None
    assert "'some_old_rule'" in found.message
    assert "explain:" not in found.message


@pytest.mark.parametrize("by", ["script", "window", "cap", "late"])
def test_refusals_for_other_reasons_are_no_breach(by):
    s = Story()
    s.ask()
    s.refused(by=by, rule=None)
    assert judged(s) == []


@pytest.mark.parametrize("status", [401, 429, 503, 529])
def test_faults_of_the_server_are_no_breach(status):
    s = Story()
    s.ask()
    s.fail(status)
    assert judged(s) == [OK]


def test_nothing_is_judged_where_nothing_was_asked():
    assert judged(Story()) == []
