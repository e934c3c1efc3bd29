"""ACT on recordings told by hand: which calls run, with what, and what the model is told of those that cannot."""

import pytest
from story import Story

from conformance.reading.joined import view
from conformance.rule import OK, SHOULD, Finding
from conformance.rules.acting import RULES
from conformance.rules.acting_once import faithful

BY_ID = {rule.id: rule for rule in RULES}
USER = {"role": "user", "content": "What is it?"}
SCHEMA = {
    "type": "object",
    "properties": {"n": {"type": "integer"}, "unit": {"type": "string", "default": "kg"}},
    "required": ["n"],
}
TOOLS = {
    "look": {"description": "Looks.", "parameters": SCHEMA, "returns": 42},
    "find": {"description": "Finds.", "parameters": {"type": "object", "properties": {}}, "returns": 7},
}


def judged(rule, story):
    read = view(story.recording())
    return BY_ID[rule].applies(read) or list(BY_ID[rule].check(read))


def one(rule, story):
    """The only finding."""
    [finding] = [found for found in judged(rule, story) if isinstance(found, Finding)]
    return finding


def said(*calls, tools=TOOLS, stop=None, **story):
    """A reply with calls: (name, arguments, id)."""
    s = Story(tools=tools, **story)
    s.ask()
    s.reply(calls=calls, stop=stop)
    return s


def ran(calls, executions, *, stop=None, **story):
    """The reply's calls, what ran, and an answer. Executions: (tool, arguments, id)."""
    s = said(*calls, stop=stop, **story)
    for tool, arguments, call_id in executions:
        s.execute(tool, arguments, call_id, 42)
    s.ask()
    s.reply("42")
    s.outcome("answered", text="42")
    return s


ONE = [("look", {"n": 1}, "c1")]
TWO = [("look", {"n": 1}, "c1"), ("look", {"n": 2}, "c2")]

RIGHT_RUNS = {
    "as said": (ONE, ONE),
    "without an id": (ONE, [("look", {"n": 1}, None)]),
    "under a number of the agent's own": (ONE, [("look", {"n": 1}, "t-17")]),
    "with a default filled in": (ONE, [("look", {"n": 1, "unit": "kg"}, "c1")]),
    "an integer as a float": (ONE, [("look", {"n": 1.0}, "c1")]),
    "two in another order": (TWO, [("look", {"n": 2}, "c2"), ("look", {"n": 1}, "c1")]),
    "two with shifted numbers": (
        [("look", {"n": 1}, "c1"), ("look", {"n": 1}, "c2")],
        [("look", {"n": 1}, "c0"), ("look", {"n": 1}, "c1")],
    ),
    "no argument text": ([("find", "", "c1")], [("find", {}, "c1")]),
    "blank argument text": ([("find", " \n", "c1")], [("find", {}, "c1")]),
}


@pytest.mark.parametrize(("calls", "executions"), RIGHT_RUNS.values(), ids=RIGHT_RUNS)
def test_a_valid_call_that_runs_once_as_said_is_right(calls, executions):
    assert judged("ACT-1", ran(calls, executions)) == [OK] * len(calls)


WRONG_RUNS = {
    "never": (ONE, [], "call 'c1' (look) of m1 was valid and never ran, expected one execution with {\"n\": 1}"),
    "twice": (ONE, ONE * 2, "call 'c1' (look) of m1 ran 2 times (x1, x2), expected once"),
    "one of two": (TWO, ONE, "call 'c2' (look) of m1 was valid and never ran"),
    "altered": (ONE, [("look", {"n": 2}, "c1")], 'x1: call \'c1\' (look) of m1 ran with {"n": 2}, expected {"n": 1}'),
    "emptied": (ONE, [("look", {}, "c1")], 'ran with {}, expected {"n": 1}'),
    "completed": (ONE, [("look", {"n": 1, "unit": "t"}, "c1")], 'ran with {"n": 1, "unit": "t"}'),
    "what nobody called": ([], ONE, 'x1: look ran with {"n": 1}, but the model called no such tool in r1'),
}


@pytest.mark.parametrize(("calls", "executions", "says"), WRONG_RUNS.values(), ids=WRONG_RUNS)
def test_a_valid_call_that_does_not_run_once_as_said_is_found(calls, executions, says):
    assert says in one("ACT-1", ran(calls, executions)).message


def test_nothing_but_what_is_offered_is_judged_where_nothing_was_called():
    bound = {
        "dialect": {"parallel_tools": "sequential"},
        "capabilities": {"tool_timeout": {"seconds": 1}, "circuit_breaker": {"threshold": 1}},
    }
    for rule in set(BY_ID) - {"ACT-11"}:
        assert judged(rule, ran([], [], **bound)) == []


MAY_STAY = {
    "the last round is skipped": {"max_iters": 1, "dialect": {"last_round_tools": "skip", "on_limit": "stop"}},
    "a guard is declared": {"capabilities": {"guards": {"max_tool_calls": 0}}},
    "cut by length": {"stop": "length"},
    "the stop reason is odd": {"stop": "stop"},
}


@pytest.mark.parametrize("story", MAY_STAY.values(), ids=MAY_STAY)
def test_a_call_that_another_clause_keeps_back_is_not_judged(story):
    assert judged("ACT-1", said(*ONE, **story)) == []


def test_the_last_round_runs_unless_declared_otherwise():
    assert "never ran" in one("ACT-1", said(*ONE, max_iters=1)).message


def test_a_cancelled_run_owes_no_execution():
    s = said(*ONE)
    s.record("kit", "cancel", run="r1", point="before_tools")
    assert judged("ACT-1", s) == []


def test_a_call_that_waits_for_a_person_owes_no_execution_and_may_run_in_the_next_run():
    tools = {"look": TOOLS["look"] | {"approval": True}}
    s = said(*ONE, tools=tools, capabilities={"approval": True})
    assert judged("ACT-1", s) == []
    s.end()
    s.begin(None)
    s.execute("look", {"n": 1}, "c1", 42)
    assert judged("ACT-1", s) == [OK]


def test_a_broken_reply_and_a_summary_are_left_to_their_own_rules():
    s = Story(tools=TOOLS)
    s.ask()
    s.reply(calls=ONE, by="cut")
    s.execute(*ONE[0], 42, keep=False)
    assert judged("ACT-1", s) == []
    s = Story(tools=TOOLS, max_iters=0)
    s.ask()
    s.reply(calls=ONE)
    s.execute(*ONE[0], 42)
    assert judged("ACT-1", s) == []


def test_calls_with_ids_the_model_broke_may_run_once_or_not_at_all():
    same = [("look", {"n": 1}, "c1"), ("look", {"n": 2}, "c1")]
    assert judged("ACT-1", ran(same, same)) == [OK, OK]
    assert judged("ACT-1", ran(same, [])) == []


EXTRA = [("look", {"n": 1, "why": "so"}, "c1")]
BARE = ONE
EXTRA_ARGS = {
    ("refuse", "nothing"): [OK],
    ("drop", "bare"): [OK],
    ("pass", "whole"): [OK],
    ("refuse", "bare"): ("extra_args", "drop"),
    ("refuse", "whole"): ("extra_args", "pass"),
    ("drop", "whole"): ("extra_args", "pass"),
    ("pass", "bare"): ("extra_args", "drop"),
}


@pytest.mark.parametrize(("case", "verdict"), EXTRA_ARGS.items(), ids=map("-".join, EXTRA_ARGS))
def test_arguments_the_schema_does_not_name_go_as_declared(case, verdict):
    declared, how = case
    executions = {"nothing": [], "bare": BARE, "whole": EXTRA}[how]
    s = ran(EXTRA, executions, dialect={"extra_args": declared})
    if isinstance(verdict, list):
        assert judged("ACT-1", s) == verdict
    else:
        assert one("ACT-1", s).fits == verdict


def test_a_schema_that_is_open_names_every_argument():
    tools = {"look": TOOLS["look"] | {"parameters": SCHEMA | {"additionalProperties": True}}}
    assert judged("ACT-1", ran(EXTRA, EXTRA, tools=tools)) == [OK]


def test_a_tool_that_never_came_back_may_be_tried_again():
    s = said(*ONE, capabilities={"tool_timeout": {"seconds": 1, "retries": 1}})
    s.execute(*ONE[0])
    s.execute(*ONE[0], 42)
    assert judged("ACT-1", s) == [OK]


FAITHFUL = [
    ({"a": 1}, {"a": 1}, True),
    ({"a": 1}, {"a": True}, False),
    ({"a": "1"}, {"a": 1}, False),
    ({}, {"b": 5}, True),
    ({}, {"b": 6}, False),
    ({"in": {}}, {"in": {"deep": None}}, True),
    ({"in": {}}, {"in": {"deep": 1}}, False),
    ({"list": [{}]}, {"list": [{"x": 0}]}, True),
    ({"list": [1]}, {"list": [1, 2]}, False),
    ({"a": 1}, None, False),
]
DEFAULTS = {
    "properties": {
        "b": {"default": 5},
        "in": {"properties": {"deep": {"default": None}}},
        "list": {"items": {"properties": {"x": {"default": 0}}}},
    }
}


@pytest.mark.parametrize(("asked", "came", "same"), FAITHFUL)
def test_only_defaults_of_the_schema_may_be_added(asked, came, same):
    assert faithful(asked, came, DEFAULTS) is same


def failed(*, content=None, dialect=None, ask=True, calls=ONE, **story):
    s = said(*calls, dialect=dialect, **story)
    s.execute(*calls[0], error=("OSError", "disk 7 is full"), content=content or "OSError: disk 7 is full")
    for call in calls[1:]:
        s.execute(*call, 43)
    if ask:
        s.ask()
    return s


def test_a_failure_that_reaches_the_model_is_right():
    assert judged("ACT-2", failed()) == [OK]


def test_a_failure_that_a_second_try_made_good_is_none():
    s = said(*ONE)
    s.execute(*ONE[0], error=("OSError", "busy"), keep=False)
    s.execute(*ONE[0], 42)
    s.ask()
    assert judged("ACT-2", s) == []


def test_a_failure_in_other_words_is_found():
    assert one("ACT-2", failed(content="The tool failed.")).message == (
        "x1: call 'c1' (look) of m1 raised 'disk 7 is full', but its result does not say so: \"The tool failed.\""
    )


def test_a_failure_that_ends_the_run_is_found_unless_declared():
    s = failed(ask=False)
    s.outcome("tool_error")
    found = one("ACT-2", s)
    assert "r1 ended as tool_error after call 'c1' (look) of m1 failed, and the model was not told" in found.message
    assert found.fits == ("tool_exception", "error")
    assert judged("ACT-2", failed(ask=False, dialect={"tool_exception": "error"})) == [OK]
    assert judged("ACT-2", failed(ask=False, dialect={"tool_exception": "raise"})) == [OK]


def test_a_run_that_goes_on_where_a_failure_is_declared_to_end_it_is_found():
    assert one("ACT-2", failed(dialect={"tool_exception": "raise"})).fits == ("tool_exception", "observe")


def test_a_failure_in_the_last_round_needs_no_further_request():
    s = failed(ask=False, max_iters=1, dialect={"on_limit": "stop"})
    s.outcome("limit")
    assert judged("ACT-2", s) == []


def test_a_sibling_that_lost_its_result_to_a_failure_is_found():
    s = failed(calls=TWO, ask=False)
    s.history.pop()
    s.ask()
    assert "call 'c2' (look) of m1 returned 43 beside call 'c1' (look) of m1, which failed" in one("ACT-2", s).message


def test_a_failure_as_text_may_stand_anywhere():
    s = failed(ask=False, dialect={"tool_history": "text"})
    s.ask(messages=[USER, {"role": "user", "content": "look failed: disk 7 is full"}])
    assert judged("ACT-2", s) == [OK]


UNKNOWN = [("nope", {"n": 1}, "c1")]
MALFORMED = [("look", '{"n": 1', "c1")]
NO_OBJECT = [("look", "[1]", "c1")]
MISSING = [("look", {}, "c1")]
MISTYPED = [("look", {"n": "1"}, "c1")]
CANNOT_RUN = {
    "ACT-3": (UNKNOWN, "unknown_tool", "there is no nope, only look and find"),
    "ACT-4": (MALFORMED, "bad_arguments", "not a JSON object"),
    "ACT-5": (MISTYPED, "bad_arguments", "n must be an integer"),
}
EACH = pytest.mark.parametrize(
    ("rule", "calls", "key", "words"), [(rule, *case) for rule, case in CANNOT_RUN.items()], ids=CANNOT_RUN
)


def answered(calls, words, **story):
    s = said(*calls, **story)
    if words is not None:
        s.answer(calls[0][2], words)
    s.ask()
    s.reply("42")
    return s


@EACH
def test_a_call_that_cannot_run_and_is_answered_is_right(rule, calls, key, words):
    assert judged(rule, answered(calls, words)) == [OK]
    assert judged("ACT-1", answered(calls, words)) == []


@EACH
def test_a_call_that_cannot_run_and_is_not_answered_is_found(rule, calls, key, words):
    assert "was not answered: it has no result" in one(rule, answered(calls, None)).message


@EACH
def test_a_blank_answer_is_found(rule, calls, key, words):
    assert "its result is blank" in one(rule, answered(calls, "")).message


@EACH
def test_a_call_that_cannot_run_and_is_thrown_away_is_found(rule, calls, key, words):
    s = said(*calls)
    s.ask(messages=[USER])
    assert "was not answered: the request holds no such call" in one(rule, s).message


@EACH
def test_a_call_that_cannot_run_ends_the_run_only_where_declared(rule, calls, key, words):
    s = said(*calls)
    s.raises()
    s.end("raised")
    assert one(rule, s).fits == (key, "raise")
    assert judged(rule, said(*calls, dialect={key: "error"})) == [OK]
    assert one(rule, answered(calls, words, dialect={key: "error"})).fits == (key, "observe")


@EACH
def test_a_call_that_cannot_run_and_ran_is_found(rule, calls, key, words):
    s = said(*calls)
    s.execute("look", {"n": 1}, "c1", 42)
    s.ask()
    assert 'look ran with {"n": 1}' in one(rule, s).message


@pytest.mark.parametrize(
    ("rule", "calls", "words", "says"),
    [
        ("ACT-3", UNKNOWN, "unknown tool nope", "does not name 'look', 'find'"),
        ("ACT-5", MISTYPED, "bad input", "does not name the argument 'n'"),
        ("ACT-5", MISSING, "bad input", "does not name the argument 'n'"),
    ],
)
def test_an_answer_that_does_not_help_is_a_warning(rule, calls, words, says):
    right, found = judged(rule, answered(calls, words))
    assert right is OK
    assert found.level is SHOULD
    assert says in found.message


def test_an_answer_to_an_unknown_name_may_speak_of_arguments_that_could_not_be_read_instead():
    calls = [("nope", '{"n": 1', "c1")]
    assert judged("ACT-3", answered(calls, "nope could not run: its arguments are malformed")) == [OK]
    assert judged("ACT-3", answered(calls, "malformed arguments")) == [OK]


def test_a_json_value_that_is_no_object_is_malformed():
    assert judged("ACT-4", answered(NO_OBJECT, "not an object")) == [OK]


def rejected(dialect):
    s = said(*MISTYPED, dialect=dialect)
    s.execute("look", {"n": "1"}, "c1", error=("ArgumentError", "n is not an integer"), rejected=True)
    s.ask()
    return s


def test_a_tool_that_rejects_did_not_run_where_it_is_the_tool_that_checks():
    assert judged("ACT-5", rejected({"type_check": "tool"})) == [OK]
    assert judged("ACT-2", rejected({"type_check": "tool"})) == []
    assert "and look was called with" in one("ACT-5", rejected({})).message


def dependent(*, content="V-2609A", ended=True):
    s = said(("find", {}, "c1"))
    if ended:
        s.execute("find", {}, "c1", "V-2609A", content=content)
        s.ask()
    else:
        s.execute("find", {}, "c1")
        s.ask()
        s.record("tool", "result", exec="x1", result="V-2609A")
    at = s.reply(calls=[("look", {"n": 1}, "c2")])
    s.records[at - 1].data["resolved"].append({"path": "result.find", "from": "x1", "value": "V-2609A"})
    return s


def test_a_value_that_the_model_read_before_it_called_is_right():
    assert judged("ACT-7", dependent()) == [OK]


def test_a_value_that_the_model_never_read_is_found():
    assert one("ACT-7", dependent(content="found it")).message == (
        "m2: the calls of its reply need 'result.find' from x1 (find), but the result of call 'c1' (find) lacks "
        '"V-2609A"; it says "found it"'
    )


def test_a_request_sent_before_the_tool_had_ended_is_found():
    assert "m2 was sent before x1 (find) had ended" in one("ACT-7", dependent(ended=False)).message


def test_a_value_kept_by_a_compaction_counts_wherever_it_stands():
    s = dependent()
    s.ask(messages=[USER, {"role": "user", "content": "Summary: the voyage is V-2609A."}])
    at = s.reply(calls=[("look", {"n": 2}, "c3")])
    s.records[at - 1].data["resolved"].append({"path": "result.find", "from": "x1", "value": "V-2609A"})
    assert judged("ACT-7", s) == [OK, OK]


def test_arguments_altered_without_an_id_still_find_their_call():
    assert 'expected {"n": 1} as the model said it' in one("ACT-1", ran(ONE, [("look", {"n": 9}, None)])).message


def test_a_call_of_the_answer_tool_is_nothing_to_run():
    s = said(("done", {"text": "42"}, "c1"), dialect={"answer_by": "tool:done.text"})
    assert judged("ACT-1", s) == []
    assert judged("ACT-3", s) == []


def test_calls_beside_one_that_ends_the_run_owe_no_execution():
    both = [("nope", {}, "c1"), ("look", {"n": 1}, "c2")]
    assert judged("ACT-1", said(*both, dialect={"unknown_tool": "raise"})) == []
    assert "call 'c2' (look) of m1 was valid and never ran" in one("ACT-1", said(*both)).message


def test_a_tool_behind_an_open_circuit_owes_no_execution():
    s = failed(capabilities={"circuit_breaker": {"kind": "count", "threshold": 1}})
    s.reply(calls=[("look", {"n": 3}, "c9")])
    assert judged("ACT-1", s) == [OK]


def test_a_name_that_was_corrected_for_the_model_is_found():
    s = said(("Look", {"n": 1}, "c1"))
    s.execute("look", {"n": 1}, "c1", 42)
    s.ask()
    assert "x1: call 'c1' (Look) of m1 names no tool that exists, and look ran with" in one("ACT-3", s).message


def test_a_call_in_a_reply_that_was_cut_off_need_not_be_fed_back_by_a_run_that_ends_there():
    s = Story()
    s.ask()
    s.reply(calls=[("look", '{"half": ', "c1")], stop="length")
    s.event("RUN_ERROR", code="truncated")
    s.outcome("truncated")
    judged = list(BY_ID["ACT-4"].check(view(s.recording())))
    assert judged == []


GUARDED = [("look", {"n": 1}, f"c{number}") for number in range(1, 4)]


@pytest.mark.parametrize(
    ("limits", "guards", "kept_back"),
    [
        ({}, True, 0),
        ({"max_tool_calls": 2}, True, 1),
        ({"max_tool_calls": 2}, None, 0),
        ({"max_same_call": 1}, True, 2),
        ({}, {"max_tool_calls": 1}, 2),
        ({"max_tool_calls": 3}, {}, 0),
    ],
)
def test_a_guard_keeps_back_only_what_is_beyond_it(limits, guards, kept_back):
    s = said(
        *GUARDED,
        scenario={"limits": limits},
        capabilities={"guards": guards} if guards is not None else {},
        dialect={"on_guard": "refuse"},
    )
    found = [one for one in judged("ACT-1", s) if isinstance(one, Finding)]
    assert len(found) == len(GUARDED) - kept_back


@pytest.mark.parametrize(("threshold", "findings"), [(1, 0), (2, 1), (3, 1)])
def test_a_breaker_keeps_a_call_back_only_after_its_failures(threshold, findings):
    s = said(*ONE, capabilities={"circuit_breaker": {"threshold": threshold}})
    s.execute("look", {"n": 1}, "c1", error=("ValueError", "boom"))
    s.ask()
    s.reply(calls=[("look", {"n": 2}, "c2")])
    s.ask()
    s.reply("42")
    assert sum(isinstance(one, Finding) for one in judged("ACT-1", s)) == findings


@pytest.mark.parametrize("stop", ["length", "filter"])
def test_a_reply_that_was_cut_may_be_asked_for_again_without_its_calls(stop):
    s = Story(tools=TOOLS)
    s.ask()
    s.reply(calls=[("look", "{", "c1")], stop=stop, keep=False)
    s.ask()
    s.reply("42")
    assert judged("ACT-4", s) == []


def test_a_cut_reply_that_is_carried_is_answered():
    s = said(("look", "{", "c1"), stop="length")
    s.ask()
    assert "has no result" in one("ACT-4", s).message


@pytest.mark.parametrize(("answer", "warns"), [("look ran: done", True), ("look did not run, n is missing", False)])
def test_an_answer_that_reads_as_a_success_warns(answer, warns):
    s = said(("look", "{", "c1"))
    s.answer("c1", answer)
    s.ask()
    found = [one for one in judged("ACT-4", s) if isinstance(one, Finding)]
    assert [one.level for one in found] == [SHOULD] * warns


@pytest.mark.parametrize(("capabilities", "judges"), [({}, 0), ({"sessions": True}, 1)])
def test_a_value_of_an_earlier_run_is_owed_where_the_session_is_kept(capabilities, judges):
    s = ran(ONE, ONE, capabilities=capabilities)
    s.end()
    s.begin("And now?")
    s.plan["runs"].append({"user": "And now?", "model": [{"answer": "42"}]})
    s.ask(messages=[{"role": "user", "content": "And now?"}])
    s.reply(calls=[("look", {"n": 42}, "c2")])
    reply = next(r for r in reversed(s.records) if r.kind == "model/reply")
    reply.data["resolved"] = [{"path": "calls[0].args.n", "from": "x1", "value": 42}]
    assert len(judged("ACT-7", s)) == judges
