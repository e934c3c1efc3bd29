"""HIS-6b on recordings told by hand: what later requests keep of what was said."""

import pytest
from story import Story

from conformance.reading.joined import view
from conformance.rule import OK, SHOULD, Finding
from conformance.rules.history_kept import HIS_6B

SYSTEM = {"role": "system", "content": "Be short."}
USER = {"role": "user", "content": "What is it?"}
TOOLS = {
    "look": {
        "description": "Looks.",
        "parameters": {
            "type": "object",
            "properties": {"n": {"type": "integer"}, "unit": {"type": "string", "default": "kg"}},
        },
        "returns": 42,
    }
}


def said(text):
    return {"role": "assistant", "content": text}


def user(text):
    return {"role": "user", "content": text}


def called(arguments='{"n": 1}', content="I look.", call_id="c1", name="look"):
    made = [{"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}]
    return {"role": "assistant", "content": content, "tool_calls": made}


def tool(call_id="c1", content="42"):
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def judged(story):
    return list(HIS_6B.check(view(story.recording())))


def findings(story):
    return [one for one in judged(story) if isinstance(one, Finding)]


def second(rows, *, arguments=None, text="I look.", call_id="c1", **story):
    """One call with words beside it, run, and then a request with these messages."""
    s = Story(**{"tools": TOOLS, **story})
    s.ask()
    s.reply(text, calls=[("look", {"n": 1} if arguments is None else arguments, call_id)])
    s.execute("look", {"n": 1}, call_id, 42)
    s.ask(messages=rows)
    return s


KEPT = {
    "as it was": [USER, called(), tool()],
    "under another number": [USER, called(call_id="x9"), tool("x9")],
    "arguments with other white space and other numbers": [USER, called('{"n":1.0}'), tool()],
    "with a default filled in": [USER, called('{"n": 1, "unit": "kg"}'), tool()],
    "words in a message of their own": [USER, said("I look."), called(content=None), tool()],
    "words in blocks": [
        USER,
        called(content=[{"type": "text", "text": "I "}, {"type": "text", "text": "look."}]),
        tool(),
    ],
    "words and more": [USER, called(content="Thought: I look. Then I answer."), tool()],
}


@pytest.mark.parametrize("rows", KEPT.values(), ids=KEPT)
def test_arguments_and_words_that_are_sent_back_are_right(rows):
    assert judged(second(rows)) == [OK, OK]


LOST = {
    "arguments emptied": (
        [USER, called("{}"), tool()],
        "call 'c1' (look) of m1 carries the arguments {}, expected {\"n\": 1}",
    ),
    "arguments altered": ([USER, called('{"n": 2}'), tool()], 'carries the arguments {"n": 2}'),
    "arguments of another type": ([USER, called('{"n": "1"}'), tool()], 'carries the arguments {"n": "1"}'),
    "an argument more": (
        [USER, called('{"n": 1, "unit": "t"}'), tool()],
        'carries the arguments {"n": 1, "unit": "t"}',
    ),
    "no words": ([USER, called(content=None), tool()], 'm2 lacks "I look.", which the model said beside a call (m1)'),
    "other words": ([USER, called(content="Looking."), tool()], 'm2 lacks "I look."'),
    "words in the user's mouth": ([USER, user("I look."), called(content=None), tool()], 'm2 lacks "I look."'),
}


@pytest.mark.parametrize(("rows", "says"), LOST.values(), ids=LOST)
def test_arguments_and_words_that_are_lost_are_found(rows, says):
    [found] = findings(second(rows))
    assert says in found.message
    assert found.level is None


NOT_OWED = {
    "the call is gone as well": ([USER], {}),
    "no words were said": ([USER, called("{}", None), tool()], {"text": " \n", "arguments": {}}),
    "a marked thought": ([USER, called("{}", None), tool()], {"text": "<think>Hm.</think>", "arguments": {}}),
    "arguments that are no JSON may be mended": ([USER, called("{}"), tool()], {"arguments": '{"n": '}),
    "arguments that break the schema may be mended": ([USER, called('{"n": 1}'), tool()], {"arguments": {"n": "1"}}),
    "an id that is no good": ([USER, called("{}", None, "x1"), tool("x1")], {"call_id": ""}),
}


@pytest.mark.parametrize(("rows", "told"), NOT_OWED.values(), ids=NOT_OWED)
def test_what_is_not_owed_is_not_asked_for(rows, told):
    assert findings(second(rows, **told)) == []


def test_an_argument_that_the_schema_does_not_know_may_be_dropped_from_the_history():
    assert judged(second([USER, called(), tool()], arguments={"n": 1, "why": "so"})) == [OK, OK]


def misheard(channels, *, runs=True):
    """A call that ran without its arguments, or not at all, and stands in the history as it was heard."""
    s = Story(tools=TOOLS, channels=channels)
    s.ask()
    s.reply(calls=[("look", {"n": 1}, "c1")])
    if runs:
        s.execute("look", {}, "c1", 42)
    s.ask(messages=[USER, called("{}", None), tool()])
    return s


@pytest.mark.parametrize("runs", [True, False])
def test_a_call_that_was_misheard_is_told_of_where_it_ran_and_not_again(runs):
    assert judged(misheard("MTERUL", runs=runs)) == []


def test_where_nobody_sees_what_runs_a_misheard_call_is_found_in_the_history():
    assert len(findings(misheard("MERUL"))) == 1


@pytest.mark.parametrize(("text", "found"), [("I look. look(n=1) gave 42", 0), ("look(n=1) gave 42", 1)])
def test_where_calls_travel_as_text_the_words_beside_them_may_stand_anywhere(text, found):
    assert len(findings(second([USER, user(text)], dialect={"tool_history": "text"}))) == found


def test_the_same_words_twice_are_owed_twice():
    s = second([USER, called(), tool()])
    s.reply("I look.", calls=[("look", {"n": 2}, "c2")])
    s.execute("look", {"n": 2}, "c2", 43)
    s.ask(messages=[USER, called(), tool(), called('{"n": 2}', None, "c2"), tool("c2", "43")])
    [found] = findings(s)
    assert found.message.startswith('m3 lacks "I look."')


def test_what_stays_lost_is_told_of_once():
    s = second([USER, called("{}", None), tool()])
    s.reply(calls=[("look", {"n": 2}, "c2")])
    s.execute("look", {"n": 2}, "c2", 43)
    s.ask(messages=[USER, called("{}", None), tool(), called('{"n": 2}', None, "c2"), tool("c2", "43")])
    assert len(findings(s)) == 2


def test_a_compaction_may_drop_words_and_shorten_arguments():
    s = second([USER, called(), tool()])
    s.fail(400, code="context_length_exceeded", message="This model's maximum context length is 8192 tokens.")
    s.ask(messages=[user("Earlier: it is 42."), USER, called("{}", None), tool()])
    assert findings(s) == []


@pytest.mark.parametrize(("window", "found"), [(None, 1), (10, 0)])
def test_words_may_go_before_the_window_is_full(window, found):
    scenario = {} if window is None else {"model": {"context_window": window}}
    assert len(findings(second([USER, called(content=None), tool()], scenario=scenario))) == found


SYSTEMS = {
    "as it was": ([SYSTEM, USER], 0),
    "behind the question": ([USER, SYSTEM], 0),
    "merged and extended": ([{"role": "developer", "content": "You are Bo.\nBe  short.\nIt is Monday."}, USER], 0),
    "in the first user message": ([user("Be short.\n\nWhat is it?")], 0),
    "gone": ([USER], 1),
    "another": ([{"role": "system", "content": "Be kind."}, USER], 1),
    "in a later user message": ([USER, called(), tool(), user("Be short.")], 1),
}


@pytest.mark.parametrize(("rows", "found"), SYSTEMS.values(), ids=SYSTEMS)
def test_the_system_text_stays_wherever_it_stands(rows, found):
    s = Story(tools=TOOLS, scenario={"system": "Be short."})
    s.ask(messages=[SYSTEM, USER])
    s.reply(calls=[("look", {}, "c1")])
    s.execute("look", {}, "c1", 42)
    s.ask(messages=rows)
    told = findings(s)
    assert len(told) == found
    assert all("m2 lacks the system text" in one.message for one in told)


def test_a_system_text_that_was_never_taken_over_is_nothing_to_keep():
    s = second([USER, called(), tool()], scenario={"system": "Be short."})
    assert judged(s) == [OK, OK]


def test_the_system_text_may_go_at_a_compaction():
    s = Story(tools=TOOLS, scenario={"system": "Be short."})
    s.ask(messages=[SYSTEM, USER])
    s.fail(400, code="context_length_exceeded", message="This model's maximum context length is 8192 tokens.")
    s.ask(messages=[USER])
    assert findings(s) == []


def next_run(rows, *, kind="answered", error=False, kept=True, system=None, summary=False):
    """A run that answered, then the next one's first request with these messages."""
    scenario = {} if system is None else {"system": system}
    s = Story(
        tools=TOOLS,
        capabilities={"sessions": True} if kept else {},
        scenario=scenario,
        max_iters=1 if summary else None,
    )
    s.ask(messages=[SYSTEM, USER] if system else None)
    if summary:
        s.reply(calls=[("look", {"n": 1}, "c1")])
        s.execute("look", {"n": 1}, "c1", 42)
        s.ask(tools=None)
    s.reply("It is 43.")
    s.event("RUN_ERROR" if error else "RUN_FINISHED")
    s.outcome(kind, text="It is 43.")
    s.end()
    s.begin("And now?", max_iters=1 if summary else None)
    s.plan["runs"].append({"user": "And now?", "model": [{"answer": "42"}]})
    s.ask(messages=[*rows, user("And now?")])
    return s


ANSWERS = {
    "kept": ([USER, said("It is 43.")], {}, 0),
    "gone": ([USER], {}, 1),
    "retold by the user": ([USER, user("You said: It is 43.")], {}, 1),
    "gone where sessions are not kept": ([], {"kept": False}, 0),
    "gone with a run that failed": ([], {"error": True}, 0),
    "gone where it was no answer": ([USER], {"kind": "truncated"}, 0),
    "the system text is gone with the run": ([USER, said("It is 43.")], {"system": "Be short."}, 1),
    "the system text is gone and sessions are not kept": ([], {"system": "Be short.", "kept": False}, 0),
}


@pytest.mark.parametrize(("rows", "told", "found"), ANSWERS.values(), ids=ANSWERS)
def test_the_answer_of_an_earlier_run_is_sent_back(rows, told, found):
    assert len(findings(next_run(rows, **told))) == found


def test_the_text_at_a_limit_should_be_sent_back():
    [found] = findings(next_run([USER, called(content=None), tool()], kind="limit", summary=True))
    assert (found.level, "at the limit of r1" in found.message) == (SHOULD, True)


@pytest.mark.parametrize(("arguments", "found"), [('{"n":1}', 0), ("{}", 1)])
def test_calls_of_the_given_history_keep_their_arguments(arguments, found):
    past = [
        {"role": "user", "content": "Before?"},
        {"role": "assistant", "toolCalls": [{"id": "p1", "function": {"name": "look", "arguments": '{"n": 1}'}}]},
        {"role": "tool", "toolCallId": "p1", "content": "42"},
    ]
    s = Story(tools=TOOLS, scenario={"history": past})
    s.ask(messages=[user("Before?"), called(arguments, None, "p1"), tool("p1"), USER])
    s.reply("42")
    told = findings(s)
    assert len(told) == found
    assert all("call 'p1' (look) of the given history" in one.message for one in told)


def test_loops_that_share_a_run_are_not_compared():
    child = {"subagents": {"scout": {"description": "Looks.", "max_iters": 2, "tools": ["look"]}}}
    assert judged(second([USER], capabilities={"subagents": True}, scenario=child)) == []
