"""SES-1 to SES-4 on recordings told by hand: what sessions share, runs at once, and a stored history that is broken."""

import pytest
from story import Story

from conformance.reading.joined import view
from conformance.rule import OK, Finding
from conformance.rules.sessions import RULES

BY_ID = {rule.id: rule for rule in RULES}
ABLE = {"sessions": True, "concurrent_runs": True, "approval": True}


def judged(rule, story):
    return list(BY_ID[rule].check(view(story.recording())))


def found(rule, story):
    return [one.message for one in judged(rule, story) if isinstance(one, Finding)]


def told(*users, session2="s1", **fields):
    """A story of these runs, the first of them begun."""
    runs = [{"user": user, "model": [{"answer": "x"}]} for user in users]
    for one in runs[1:]:
        one["session"] = session2
    return Story(user=users[0], capabilities=fields.pop("capabilities", ABLE), scenario={"runs": runs}, **fields)


def user(text):
    return {"role": "user", "content": text}


@pytest.mark.parametrize(
    ("rule", "needs"),
    [("SES-1", "sessions"), ("SES-4", "sessions"), ("SES-2", "concurrent_runs"), ("SES-3", "concurrent_runs")],
)
def test_an_agent_without_the_capability_is_not_bound(rule, needs):
    without = {key: value for key, value in ABLE.items() if key != needs}
    assert BY_ID[rule].applies(view(told("What is it?", capabilities=without).recording())) == "capability"
    assert BY_ID[rule].applies(view(told("What is it?").recording())) is None


# SES-1


def two_sessions(*second, reply="The tide falls.", value=None):
    """A run on each of two sessions; the second one's request has these messages."""
    s = told("How is the tide at Bergen?", "How is it at Oban?", session2="s2")
    s.ask()
    s.reply(calls=[("look", {}, "call_of_bergen_1")])
    s.execute("look", {}, "call_of_bergen_1", "142 cm and rising")
    s.ask()
    s.reply("The tide rises.")
    s.end()
    s.begin("How is it at Oban?", session="s2")
    if value is not None:
        s.execute("look", {}, None, value)
    s.ask(messages=[user("How is it at Oban?"), *second])
    s.reply(reply)
    return s


def test_a_session_that_is_told_its_own_is_right():
    assert judged("SES-1", two_sessions()) == [OK, OK, OK]


@pytest.mark.parametrize(
    "text",
    ["How is the tide at Bergen?", "Result: 142 cm and rising.", "The tide rises."],
    ids=["user", "result", "answer"],
)
def test_a_text_of_the_other_session_is_named(text):
    (message,) = found("SES-1", two_sessions(user(text)))
    assert "m3 of run r2 (session s2) holds" in message
    assert "belongs to session s1 alone" in message


def test_a_call_id_of_the_other_session_is_named():
    call = {"id": "call_of_bergen_1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    (message,) = found("SES-1", two_sessions({"role": "assistant", "content": None, "tool_calls": [call]}))
    assert "'call_of_bergen_1" in message


def test_a_text_that_both_sessions_have_belongs_to_both():
    s = two_sessions({"role": "assistant", "content": "The tide rises."}, reply="The tide rises.")
    assert set(judged("SES-1", s)) == {OK}


def test_a_result_that_both_sessions_got_belongs_to_both():
    assert set(judged("SES-1", two_sessions(user("142 cm and rising"), value="142 cm and rising"))) == {OK}


def test_one_session_alone_shares_with_nobody():
    s = told("What is it?", "And now?")
    s.ask()
    s.reply("42")
    s.end()
    s.begin("And now?")
    s.ask()
    assert judged("SES-1", s) == []


def test_what_another_session_said_stands_nowhere_in_a_request():
    s = told("How is the tide at Bergen?", "How is it at Oban?", session2="s2")
    s.ask()
    s.reply("The tide rises.")
    s.end()
    s.begin("How is it at Oban?", session="s2")
    s.ask(messages=[user("How is it at Oban?")], extra={"metadata": {"before": "How is the tide at Bergen?"}})
    s.reply("The tide falls.")
    assert "holds 'How is the tide at Bergen?', which belongs to session s1 alone" in found("SES-1", s)[0]


# SES-2 and SES-3


def at_once(session2="s1"):
    """Two runs, both begun, of which the first has asked."""
    s = told("What is the first?", "What is the second?", session2=session2)
    s.ask(messages=[user("What is the first?")])
    s.run = "r1"
    return s


def begin_second(s, session="s1"):
    s.begin("What is the second?", session=session)


def in_run(s, run):
    s.run = run
    return s


def ends(s, run, kind="answered", text=None):
    in_run(s, run).outcome(kind, text=text)
    s.end()


def test_a_second_run_that_is_refused_is_right():
    s = at_once()
    begin_second(s)
    ends(s, "r2", "refused")
    in_run(s, "r1").reply("one")
    ends(s, "r1", text="one")
    assert judged("SES-2", s) == [OK, OK]


def test_a_second_run_that_waits_its_turn_is_right():
    s = at_once()
    begin_second(s)
    in_run(s, "r1").reply("one")
    in_run(s, "r2").ask(messages=[user("What is the first?"), user("What is the second?")])
    s.reply("two")
    ends(s, "r1", text="one")
    ends(s, "r2", text="two")
    assert judged("SES-2", s) == [OK, OK]


def test_a_request_between_the_rounds_of_the_other_run_is_named():
    s = at_once()
    begin_second(s)
    in_run(s, "r1").reply(calls=[("look", {}, "c1")])
    in_run(s, "r2").ask(messages=[user("What is the second?")])
    s.reply("two")
    in_run(s, "r1").ask()
    s.reply("one")
    ends(s, "r2", text="two")
    ends(s, "r1", text="one")
    (finding,) = judged("SES-2", s)
    assert "r1 and r2 went on at once on session s1, and one of them sent a request while the other" in finding.message
    requests = [record.seq for record in s.recording().records if record.type == "request"]
    assert (finding.seq, finding.related) == (requests[1], (requests[0],))


def test_a_run_that_answers_without_having_asked_is_named():
    s = at_once()
    begin_second(s)
    in_run(s, "r1").reply("one")
    ends(s, "r1", text="one")
    ends(s, "r2", text="one")
    (message,) = found("SES-2", s)
    assert "run r2 says 'answered' and asked its model nothing while run r1 went on" in message


def test_a_run_that_gives_the_other_ones_answer_is_named():
    s = at_once()
    begin_second(s)
    in_run(s, "r1").reply("one")
    in_run(s, "r2").ask(messages=[user("What is the second?")])
    s.reply("two")
    ends(s, "r1", text="two")
    ends(s, "r2", text="two")
    (message,) = found("SES-2", s)
    assert "run r1 answers 'two', which the model said to run r2" in message


def test_runs_one_after_the_other_are_not_judged():
    s = at_once()
    s.reply("one")
    ends(s, "r1", text="one")
    begin_second(s)
    s.ask()
    s.reply("two")
    assert judged("SES-2", s) == []


def test_runs_on_two_sessions_may_go_on_at_once():
    s = at_once("s2")
    begin_second(s, "s2")
    in_run(s, "r2").ask(messages=[user("What is the second?")])
    assert judged("SES-2", s) == []


def test_sessions_that_ask_before_the_other_has_ended_overlap():
    s = at_once("s2")
    begin_second(s, "s2")
    in_run(s, "r2").ask(messages=[user("What is the second?")])
    s.reply("two")
    s.record(
        "model",
        "reply",
        call="m1",
        turn=0,
        id="x",
        status=200,
        parts=[{"type": "text", "text": "one"}],
        stop="stop",
        usage=None,
        fault=None,
        resolved=[],
    )
    s.record("model", "reply_done", call="m1", bytes=10, by="kit")
    ends(s, "r1", text="one")
    ends(s, "r2", text="two")
    assert judged("SES-3", s) == [OK]


def test_a_session_that_asks_only_when_the_other_is_done_is_named():
    s = at_once("s2")
    begin_second(s, "s2")
    in_run(s, "r1").reply("one")
    in_run(s, "r2").ask(messages=[user("What is the second?")])
    s.reply("two")
    ends(s, "r1", text="one")
    ends(s, "r2", text="two")
    (message,) = found("SES-3", s)
    assert (
        "run r2 (session s2) sent its first request m2 when that one had asked all it asked, while run r1 of session s1 went on"
        in message
    )


def test_a_session_that_is_refused_for_the_sake_of_another_is_named():
    s = at_once("s2")
    begin_second(s, "s2")
    ends(s, "r2", "refused")
    in_run(s, "r1").reply("one")
    ends(s, "r1", text="one")
    (message,) = found("SES-3", s)
    assert "run r2 (session s2) asked its model nothing, while run r1 of session s1 went on" in message


@pytest.mark.parametrize("served", [True, False])
def test_a_session_beside_one_that_waits_for_a_person_is_served(served):
    s = at_once("s2")
    s.reply(calls=[("look", {}, "c1")])
    ends(s, "r1", "waiting")
    begin_second(s, "s2")
    if served:
        s.ask()
        s.reply("two")
    ends(s, "r2", "answered" if served else "refused", text="two" if served else None)
    if served:
        assert judged("SES-3", s) == [OK]
    else:
        assert "while run r1 of session s1 waited for a person" in found("SES-3", s)[0]


# SES-4

CALL = {
    "id": "a",
    "role": "assistant",
    "toolCalls": [{"id": "c0", "type": "function", "function": {"name": "look", "arguments": "{}"}}],
}
RESULT = {"id": "t", "role": "tool", "toolCallId": "c0", "content": "42"}
SENT = {"role": "assistant", "content": None, "tool_calls": CALL["toolCalls"]}


def stored(*messages):
    s = told("And now?")
    s.records[0].data["input"]["messages"] = list(messages)
    return s


@pytest.mark.parametrize(
    "sent",
    [
        [SENT, {"role": "tool", "tool_call_id": "c0", "content": "Error: not known"}, user("And now?")],
        [user("And now?")],
        [{"role": "assistant", "content": "I called look."}, user("And now?")],
    ],
    ids=["answered", "dropped", "told in words"],
)
def test_an_open_call_that_is_repaired_is_right(sent):
    s = stored(CALL)
    s.ask(messages=sent)
    s.reply("43")
    assert judged("SES-4", s) == [OK]


def test_an_open_call_that_is_sent_is_named():
    s = stored(CALL)
    s.ask(messages=[SENT, user("And now?")])
    (message,) = found("SES-4", s)
    assert (
        "in which call 'c0' (look) has no results right behind it, and its first request m1 carries call 'c0'"
        in message
    )


def test_a_result_without_its_call_that_is_sent_is_named():
    s = stored(RESULT)
    s.ask(messages=[{"role": "tool", "tool_call_id": "c0", "content": "42"}, user("And now?")])
    assert "in which a result for 'c0' has no call" in found("SES-4", s)[0]


@pytest.mark.parametrize("end", ["refused", "error"])
def test_a_broken_history_may_be_refused(end):
    s = stored(CALL)
    ends(s, "r1", end)
    assert judged("SES-4", s) == [OK]


def test_a_broken_history_that_takes_the_agent_down_is_named():
    s = stored(CALL)
    s.end("died")
    assert "and died" in found("SES-4", s)[0]


def test_a_sound_history_that_is_sent_is_right():
    s = stored(CALL, RESULT)
    s.ask(messages=[SENT, {"role": "tool", "tool_call_id": "c0", "content": "42"}, user("And now?")])
    assert judged("SES-4", s) == [OK]


def test_a_sound_history_that_is_refused_is_named():
    s = stored(CALL, RESULT)
    ends(s, "r1", "refused")
    assert "was given a sound stored history and asked its model nothing" in found("SES-4", s)[0]


def test_a_history_without_calls_is_not_judged():
    s = stored(user("Hello."))
    s.ask()
    assert judged("SES-4", s) == []


def test_a_sound_history_that_takes_the_agent_down_is_named_with_the_exception_and_what_it_may_have_met():
    s = stored(CALL, RESULT)
    s.raises("KeyError", "'content'")
    (message,) = found("SES-4", s)
    assert message == (
        "run r1 was given a sound stored history and asked its model nothing (it raised KeyError: \"'content'\"); expected it to go "
        "on from there: a stored assistant message may have toolCalls and no content"
    )


def test_an_agent_that_goes_down_on_calls_with_words_beside_them_is_told_no_more_than_that():
    s = stored(CALL | {"content": "I look."}, RESULT)
    s.raises("KeyError", "'id'")
    (message,) = found("SES-4", s)
    assert message.endswith("(it raised KeyError: \"'id'\"); expected it to go on from there")
