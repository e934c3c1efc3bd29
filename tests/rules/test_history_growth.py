"""HIS-6 and HIS-9 on recordings told by hand: what a request keeps of the one before, and what a shorter one leaves out."""

import json

import pytest
from story import Story

from conformance.reading.joined import view
from conformance.rule import OK, Finding
from conformance.rules.history import RULES

BY_ID = {rule.id: rule for rule in RULES}
SYSTEM = {"role": "system", "content": "Be short."}
USER = {"role": "user", "content": "What is it?"}
NUDGE = {"role": "user", "content": "Your reply was empty, go on."}


def said(text):
    return {"role": "assistant", "content": text}


def user(text):
    return {"role": "user", "content": text}


def called(call_id="c1", arguments="{}", content=None):
    made = [{"id": call_id, "type": "function", "function": {"name": "look", "arguments": arguments}}]
    return {"role": "assistant", "content": content, "tool_calls": made}


def tool(call_id="c1", content="42"):
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def judged(rule, story):
    read = view(story.recording())
    return BY_ID[rule].applies(read) or list(BY_ID[rule].check(read))


def messages(rule, story):
    return [found.message for found in judged(rule, story) if isinstance(found, Finding)]


def two(first, second, *, value=42, **story):
    """A call that ran in round one, then two requests with these messages."""
    s = Story(**story)
    s.ask()
    s.reply(calls=[("look", {}, "c1")])
    s.execute("look", {}, "c1", value)
    s.ask(messages=first)
    s.reply("I look again.", calls=[("look", {"n": 2}, "c2")])
    s.execute("look", {"n": 2}, "c2", 43)
    s.ask(messages=second)
    return s


ROUND = [USER, called(), tool()]
NEXT = [called("c2", '{"n": 2}', "I look again."), tool("c2", "43")]
GROWN = {
    "by a round": (ROUND, [*ROUND, *NEXT]),
    "system text that changed": ([SYSTEM, *ROUND], [*ROUND, SYSTEM, *NEXT]),
    "ids numbered anew": (ROUND, [USER, called("x9"), tool("x9"), *NEXT]),
    "arguments with other white space": (ROUND, [USER, called("c1", "{ }"), tool(), *NEXT]),
    "text in blocks": (
        ROUND,
        [user([{"type": "text", "text": "What is "}, {"type": "text", "text": "it?"}]), *ROUND[1:]],
    ),
    "a nudge that goes": ([*ROUND, NUDGE], [*ROUND, *NEXT]),
    "a nudge that is replaced": ([*ROUND, NUDGE], [*ROUND, *NEXT, user("2 rounds are left.")]),
    "a nudge that stays": ([*ROUND, NUDGE], [*ROUND, NUDGE, *NEXT]),
    "a hint that was joined to the result": ([*ROUND[:2], tool("c1", "42\n\n3 rounds are left.")], [*ROUND, *NEXT]),
    "a hint that is joined to the result now": (ROUND, [*ROUND[:2], tool("c1", "42\n\nGo on.")]),
    "a hint that was joined to the question": ([user("What is it?\n\nToday is Monday.")], [USER, *NEXT]),
    "a hint before the question": ([user("Today is Monday."), USER], [USER, *NEXT]),
    "an opening in the model's mouth": ([*ROUND, said("Thought:")], [*ROUND, *NEXT]),
    "an instruction to sum up": ([*ROUND, user("Answer now.")], [*ROUND, said("42"), user("And now?")]),
    "thoughts that are left out": (
        [*ROUND[:1], called(content="<think>Let me see.</think> I look."), tool(), NUDGE],
        [*ROUND[:1], called(content="I look."), tool(), *NEXT],
    ),
    "results as other JSON": (
        [USER, called(), tool("c1", '{"a": 1, "b": 2}')],
        [USER, called(), tool("c1", '{"b": 2, "a": 1}'), *NEXT],
    ),
}


@pytest.mark.parametrize(("first", "second"), GROWN.values(), ids=GROWN)
def test_a_history_that_goes_on_is_right(first, second):
    assert judged("HIS-6", two(first, second))[-1] is OK


CHANGED = {
    "a round that is gone": (ROUND, [USER, *NEXT], 'had the call of look with its result "42"'),
    "the question that is gone": (ROUND, [*ROUND[1:], *NEXT], 'messages[0] m2 had the user text "What is it?"'),
    "a question said otherwise": (ROUND, [user("What?"), *ROUND[1:], *NEXT], 'messages[0] has the user text "What?"'),
    "a result that was cut": (
        [USER, called(), tool("c1", "a long result in many words")],
        [USER, called(), tool("c1", "a long result…"), *NEXT],
        'has the call of look with its result "a long result…"',
    ),
    "other arguments": (ROUND, [USER, called("c1", '{"n": 9}'), tool(), *NEXT], "messages[1]"),
    "nothing left": (ROUND, [USER], "nothing more comes"),
    "something put in before": ([*ROUND], [USER, said("Hm."), *ROUND[1:], *NEXT], 'has the assistant text "Hm."'),
}


@pytest.mark.parametrize(("first", "second", "says"), CHANGED.values(), ids=CHANGED)
def test_a_history_that_changed_is_found(first, second, says):
    [found] = messages("HIS-6", two(first, second))
    assert found.startswith("m3 does not go on from m2: ")
    assert says in found


def test_a_result_that_lost_its_end_with_what_the_tool_returned_is_found():
    whole, half = "a" * 40 + " END", "a" * 40
    s = two([USER, called(), tool("c1", whole)], [USER, called(), tool("c1", half), *NEXT], value=whole)
    assert len(messages("HIS-6", s)) == 1


def test_what_stays_away_is_told_of_once_and_what_comes_back_is_no_second_breach():
    s = two(ROUND, [USER, *NEXT])
    s.ask(messages=[*ROUND, *NEXT])
    assert len(messages("HIS-6", s)) == 1
    s.ask(messages=[*ROUND, *NEXT, said("42")])
    assert len(messages("HIS-6", s)) == 1


def overflown(**story):
    s = two(ROUND, [*ROUND, *NEXT], **story)
    s.fail(400, code="context_length_exceeded", message="This model's maximum context length is 8192 tokens.")
    s.ask(messages=[user("Earlier: it is 42."), USER])
    return s


def test_a_history_may_get_shorter_after_an_overflow():
    assert messages("HIS-6", overflown()) == []


def test_a_history_may_get_shorter_at_a_compaction():
    s = two(ROUND, [*ROUND, *NEXT])
    s.reply(calls=[("look", {}, "c3")], keep=False)
    s.ask(messages=[user("Sum up.")], side="compaction")
    s.reply("It is 42.", keep=False)
    s.ask(messages=[user("Earlier: it is 42."), USER])
    assert messages("HIS-6", s) == []


@pytest.mark.parametrize(("again", "found"), [(False, 0), (True, 1)])
def test_what_a_compaction_brought_may_be_put_to_use_later_and_once(again, found):
    s = two(ROUND, [*ROUND, *NEXT])
    s.reply(calls=[("look", {"n": 3}, "c3")], keep=False)
    s.ask(messages=[user("Sum up.")], side="compaction")
    s.reply("It is 42.", keep=False)
    third = [called("c3", '{"n": 3}'), tool("c3", "44")]
    s.ask(messages=[*ROUND, *NEXT, *third])
    s.reply(calls=[("look", {"n": 4}, "c4")], keep=False)
    fourth = [called("c4", '{"n": 4}'), tool("c4", "45")]
    s.ask(messages=[user("Earlier: it is 42."), USER, *third, *fourth])
    s.reply(calls=[("look", {"n": 5}, "c5")], keep=False)
    s.ask(
        messages=[USER, *fourth]
        if again
        else [user("Earlier: it is 42."), USER, *third, *fourth, called("c5"), tool("c5")]
    )
    assert len(messages("HIS-6", s)) == found


@pytest.mark.parametrize(("window", "found"), [(None, 1), (10_000, 1), (50, 0)])
def test_a_history_may_get_shorter_before_the_window_is_full(window, found):
    scenario = {} if window is None else {"model": {"context_window": window}}
    long = [USER, called(), tool("c1", "42 " * 100)]
    assert len(messages("HIS-6", two(long, [USER, *NEXT], scenario=scenario))) == found


def next_run(rows, *, error=False, capabilities=None):
    s = two(ROUND, [*ROUND, *NEXT], capabilities=capabilities or {})
    s.reply("It is 43.")
    s.event("RUN_ERROR" if error else "RUN_FINISHED")
    s.end()
    s.begin("And now?")
    s.plan["runs"].append({"user": "And now?", "model": [{"answer": "42"}]})
    s.ask(messages=[*rows, user("And now?")])
    return s


KEPT = {"sessions": True}


@pytest.mark.parametrize(
    ("rows", "error", "capabilities", "found"),
    [
        ([*ROUND, *NEXT, said("It is 43.")], False, KEPT, 0),
        ([USER, said("It is 43.")], False, KEPT, 1),
        ([], False, {}, 0),
        ([], True, KEPT, 0),
    ],
)
def test_a_later_run_goes_on_from_a_run_that_its_session_keeps(rows, error, capabilities, found):
    assert len(messages("HIS-6", next_run(rows, error=error, capabilities=capabilities))) == found


def test_an_attempt_is_no_further_request():
    s = Story()
    s.ask()
    s.fail(500)
    s.ask(again=True)
    s.reply("42")
    assert judged("HIS-6", s) == []


def test_loops_that_share_a_run_are_not_compared():
    child = {"knobs": {"subagents": {"scout": {"description": "Looks.", "max_iters": 2, "tools": ["look"]}}}}
    story = {"capabilities": {"subagents": True}, "scenario": child}
    s = Story(**story)
    s.ask()
    s.reply(calls=[("scout", {"task": "A child's task"}, "p1")])
    s.ask(messages=[user("A child's task")])
    assert judged("HIS-6", s) == []
    assert len(messages("HIS-6", two(ROUND, [USER, *NEXT], **story))) == 1


def test_an_agent_that_could_run_others_and_does_not_is_compared():
    assert len(messages("HIS-6", two(ROUND, [USER, *NEXT], capabilities={"subagents": True}))) == 1


def test_a_text_that_is_continued_in_its_place_is_right():
    s = Story(dialect={"length_stop": "continue"})
    s.ask()
    s.reply("The first half", stop="length")
    s.ask(messages=[USER, said("The first half"), user("Go on.")])
    s.reply("and the second.")
    s.ask(messages=[USER, said("The first half and the second."), user("Thanks?")])
    assert judged("HIS-6", s) == [OK, OK]


def test_a_nudge_that_holds_the_words_of_the_question_is_still_one():
    s = Story(user="Go on")
    s.ask()
    s.reply("", stop="stop")
    s.ask(messages=[user("Go on"), said("ok"), user("Go on, please")])
    s.reply("fine")
    s.ask(messages=[user("Go on"), said("ok"), said("fine")])
    assert judged("HIS-6", s) == [OK, OK]


BOTH_OR_NEITHER = {
    "all gone": ([USER], [OK]),
    "one pair kept": ([USER, *NEXT], [OK, OK]),
    "a pair under another number": ([USER, called("x1", '{"n": 2}'), tool("x1", "43")], [OK, OK]),
}


def pairs(rows):
    """m3 holds two pairs, was refused for its size, and m4 has these messages."""
    s = overflown()
    s.body["messages"][:] = rows
    return s


@pytest.mark.parametrize(("rows", "judgements"), BOTH_OR_NEITHER.values(), ids=BOTH_OR_NEITHER)
def test_a_shorter_history_with_whole_pairs_is_right(rows, judgements):
    assert set(judged("HIS-9", pairs(rows))) == set(judgements)


PARTED = {
    "a result without its call": ([USER, tool("c2", "43")], "the result at messages[1] (call id 'c2') lost its call"),
    "a call without its result": ([USER, NEXT[0]], "call 'c2' (look) of messages[1] lost its result"),
}


@pytest.mark.parametrize(("rows", "says"), PARTED.values(), ids=PARTED)
def test_a_pair_that_is_parted_is_found(rows, says):
    [found] = messages("HIS-9", pairs(rows))
    assert found.startswith("m4: the history was made shorter, and ")
    assert says in found


def test_a_pair_parted_without_a_compaction_is_found_too():
    assert len(messages("HIS-9", two(ROUND, [USER, tool("c1"), *NEXT]))) == 1


def test_a_history_that_only_grew_was_not_made_shorter():
    assert judged("HIS-9", two(ROUND, [*ROUND, *NEXT])) == []


def test_a_compaction_that_is_asked_for_in_halves_is_found():
    s = two(ROUND, [*ROUND, *NEXT])
    s.reply(calls=[("look", {}, "c3")], keep=False)
    s.ask(messages=[USER, called(), user("Sum up.")], side="compaction")
    assert len(messages("HIS-9", s)) == 1


def test_a_compaction_that_is_asked_for_in_words_is_nothing_to_judge():
    s = two(ROUND, [*ROUND, *NEXT])
    s.reply(calls=[("look", {}, "c3")], keep=False)
    s.ask(messages=[user(json.dumps(ROUND))], side="compaction")
    assert judged("HIS-9", s) == []


@pytest.mark.parametrize(
    ("rows", "found"), [([], 0), ([called("p1"), tool("p1")], 0), ([tool("p1")], 1), ([called("p1")], 1)]
)
def test_a_given_history_is_trimmed_by_pairs(rows, found):
    past = [
        {"role": "user", "content": "Before?"},
        {"role": "assistant", "toolCalls": [{"id": "p1", "function": {"name": "look", "arguments": "{}"}}]},
        {"role": "tool", "toolCallId": "p1", "content": "42"},
    ]
    s = Story(scenario={"history": past})
    s.ask(messages=[*rows, USER])
    assert len(messages("HIS-9", s)) == found
