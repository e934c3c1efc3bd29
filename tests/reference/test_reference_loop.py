import itertools
import logging

import pytest
from scripted_bench import KEY, LOOK, Script, asked_for, body, drained, played

from conformance.agent_side import Outcome, ToolFailed
from conformance.reference.agent import reference
from conformance.reference.ending import LimitReached, ModelFailed, ToolCallFailed
from fake_models.errors import ModelError, StreamBroken

CALL = body(calls=[("look", '{"at":"x"}', "c1")])
BUSY = ModelError(503, {"error": {"message": "busy", "type": "server_error", "code": None}})
TOO_LONG = ModelError(400, {"error": {"message": "no", "code": "context_length_exceeded"}})
TWO_TURNS = (
    {"id": "1", "role": "user", "content": "Before"},
    {
        "id": "2",
        "role": "assistant",
        "content": None,
        "toolCalls": [{"id": "h1", "type": "function", "function": {"name": "look", "arguments": "{}"}}],
    },
    {"id": "3", "role": "tool", "toolCallId": "h1", "content": "41"},
    {"id": "4", "role": "assistant", "content": "It was 41."},
)
WAYS = tuple(itertools.product(("sync", "async"), (False, True)))


def types(events):
    return [event["type"] for event in events]


def roles(sent):
    return [message["role"] for message in sent["messages"]]


@pytest.mark.parametrize(("entry", "stream"), WAYS)
def test_the_time_query_with_one_round_is_the_contracts_twelve_events(entry, stream):
    script = Script(
        body(calls=[("get_current_time", "{}", "c1")]),
        body("时间查询完成: 2026-09-29 14:39:32", thinking="The tool has answered."),
        tools={"get_current_time": "2026-09-29 14:39:32"},
    )
    tool = {"name": "get_current_time", "description": "Local time", "parameters": {"type": "object"}}
    given = asked_for("现在几点", limits={"max_iters": 1}, stream=stream, tools=[tool])
    events, outcome = played(script, given, entry=entry)
    assert types(events) == [
        "RUN_STARTED",
        "TOOL_CALL_START",
        "TOOL_CALL_END",
        "TOOL_CALL_RESULT",
        "RAW",
        "REASONING_MESSAGE_START",
        "REASONING_MESSAGE_CONTENT",
        "REASONING_MESSAGE_END",
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_CONTENT",
        "TEXT_MESSAGE_END",
        "RUN_FINISHED",
    ]
    assert events[4]["event"] == {
        "type": "EXCEED_MAX_ITERS",
        "maxIters": 1,
        "currentIter": 1,
        "replyId": "",
        "createdAt": "2026-09-29T06:39:32Z",
    }
    assert "tools" in script.asked[0]
    assert "tools" not in script.asked[1]
    assert roles(script.asked[1]) == ["user", "assistant", "tool", "user"]
    assert (outcome.kind, outcome.text) == ("limit", "时间查询完成: 2026-09-29 14:39:32")


def test_at_the_limit_the_log_comes_before_the_marker_and_the_marker_before_the_summary(caplog):
    caplog.set_level(logging.DEBUG, "conformance.reference")
    script = Script(CALL, body("done"), tools={"look": 42})
    items = reference().open(script.bench()).run(asked_for(limits={"max_iters": 1}))
    until_the_marker = list(itertools.takewhile(lambda item: item["type"] != "RAW", items))
    assert types(until_the_marker)[-1] == "TOOL_CALL_RESULT"
    assert len(script.asked) == 1
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("DEBUG", "reached max_iters=1 after 1 rounds, no further round begins")
    ]
    list(items)
    assert len(script.asked) == 2


@pytest.mark.parametrize(
    ("declared", "calls", "terminal", "text"),
    [
        ({}, 2, {"type": "RUN_FINISHED"}, "done"),
        (
            {"limit_text": "canned"},
            1,
            {"type": "RUN_FINISHED"},
            "The limit of 1 rounds was reached before there was an answer.",
        ),
        ({"limit_text": "last_result"}, 1, {"type": "RUN_FINISHED"}, "42"),
        ({"on_limit": "error"}, 1, {"type": "RUN_ERROR", "code": "limit"}, None),
        (
            {"on_limit": "stop"},
            1,
            {"type": "RUN_FINISHED", "result": {"outcome": "limit", "maxIters": 1, "currentIter": 1}},
            None,
        ),
    ],
)
def test_the_limit_ends_as_declared(declared, calls, terminal, text):
    script = Script(CALL, body("done"), tools={"look": 42})
    events, outcome = played(script, asked_for(limits={"max_iters": 1}), declared=declared)
    assert len(script.asked) == calls
    assert terminal.items() <= events[-1].items()
    assert (outcome.kind, outcome.text) == ("limit", text)
    assert ("RAW" in types(events)) is (declared.get("on_limit") is None)


@pytest.mark.parametrize(
    ("declared", "replies", "tools", "raised"),
    [
        ({"on_limit": "raise"}, [CALL], {"look": 1}, LimitReached),
        ({"model_error": "raise"}, [BUSY, BUSY], {}, ModelFailed),
        ({"tool_exception": "raise"}, [CALL], {"look": ToolFailed("ValueError", "no")}, ToolCallFailed),
    ],
)
def test_what_is_declared_to_raise_raises_and_its_class_is_declared(declared, replies, tools, raised):
    agent = reference(declared)
    with pytest.raises(raised):
        drained(agent.open(Script(*replies, tools=tools).bench()).run(asked_for(limits={"max_iters": 1})))
    assert raised.__name__ in agent.info.dialect["exceptions"]


@pytest.mark.parametrize("limit", [0, 1, 2])
def test_no_round_is_made_beyond_the_limit_and_parallel_calls_are_one_round(limit):
    two = body(calls=[("look", '{"at":"x"}', "c1"), ("look", '{"at":"y"}', "c2")])
    script = Script(*[two] * limit, body("done"), tools={"look": 42})
    events, outcome = played(script, asked_for(limits={"max_iters": limit}))
    assert ["tools" in sent for sent in script.asked] == [True] * limit + [False]
    assert len(script.ran) == 2 * limit
    assert outcome.kind == "limit"
    assert types(events).count("RAW") == 1


def test_an_answer_in_the_last_allowed_round_is_no_limit():
    script = Script(CALL, body("42"), tools={"look": 42})
    events, outcome = played(script, asked_for(limits={"max_iters": 2}))
    assert outcome == Outcome("answered", None, "42")
    assert "RAW" not in types(events)


@pytest.mark.parametrize(
    "summary", [ModelError(400, {}), body(""), body("Let me", calls=[("look", "{}", "c9")]), {"choices": []}]
)
def test_a_failed_summary_gives_a_text_that_names_the_last_result(summary):
    script = Script(CALL, summary, body("more"), tools={"look": 42})
    limited, following = asked_for(limits={"max_iters": 1}), asked_for("And then?", run="r2")
    events, outcome = played(script, limited)
    assert outcome.kind == "limit"
    assert "The last result was: 42" in outcome.text
    assert "the summary failed" in outcome.reason
    assert events[-1]["type"] == "RUN_FINISHED"
    assert len(script.ran) == 1
    again = Script(CALL, summary, body("more"), tools={"look": 42})
    assert played(again, limited, following)[1].kind == "answered"
    assert roles(again.asked[-1]) == ["user", "assistant", "tool", "assistant", "user"]


def test_a_failed_summary_is_an_error_where_that_is_declared():
    script = Script(CALL, ModelError(400, {}), tools={"look": 42})
    events, outcome = played(script, asked_for(limits={"max_iters": 1}), declared={"summary_failure": "error"})
    assert (events[-1]["type"], events[-1]["code"], outcome.kind) == ("RUN_ERROR", "limit", "limit")


@pytest.mark.parametrize("empty", [body(""), body(None), body(" \n"), body(None, thinking="Hm.")])
def test_an_empty_reply_is_asked_for_again_once_with_a_nudge_behind(empty):
    script = Script(empty, body("fine"))
    _, outcome = played(script, asked_for(limits={"max_iters": 1}))
    assert outcome.kind == "answered"
    assert [roles(sent) for sent in script.asked] == [["user"], ["user", "user"]]
    assert script.asked[1]["messages"][0]["content"] == "What is it?"


def test_an_empty_reply_for_ever_is_two_calls_and_its_own_outcome():
    script = Script(body(""), body(""))
    events, outcome = played(script)
    assert len(script.asked) == 2
    assert (events[-1]["type"], events[-1]["code"], outcome.kind) == ("RUN_ERROR", "empty", "empty")


@pytest.mark.parametrize(("scope", "kind"), [("round", "answered"), ("run", "empty")])
def test_recovery_counts_anew_in_each_round_or_never(scope, kind):
    script = Script(body(""), CALL, body(""), body("fine"), tools={"look": 1})
    assert played(script, declared={"recovery_scope": scope})[1].kind == kind


@pytest.mark.parametrize("text", ["0", "."])
def test_a_short_text_is_an_answer(text):
    script = Script(body(text))
    assert played(script)[1].text == text


def test_an_overflow_is_compacted_in_one_marked_call_and_keeps_the_last_turn_whole():
    script = Script(CALL, TOO_LONG, body("They talked."), body("fine"), tools={"look": 42})
    _, outcome = played(script, asked_for(history=TWO_TURNS))
    assert outcome.kind == "answered"
    assert [headers.get("X-Conformance-Call") for headers in script.headers] == [None, None, "compaction", None]
    assert "tools" not in script.asked[2]
    assert roles(script.asked[3]) == ["system", "user", "assistant", "tool"]
    assert script.asked[3]["messages"][1]["content"] == "What is it?"


def test_a_failed_compaction_falls_back_to_dropping_whole_turns():
    script = Script(TOO_LONG, TOO_LONG, body("fine"))
    assert played(script, asked_for(history=TWO_TURNS))[1].kind == "answered"
    assert roles(script.asked[2]) == ["user"]


@pytest.mark.parametrize(
    ("replies", "history", "calls"),
    [
        ([TOO_LONG, body("They talked."), TOO_LONG], TWO_TURNS, 3),
        ([TOO_LONG], (), 1),
        ([body("", stop="length")], (), 1),
    ],
)
def test_an_overflow_that_stays_ends_as_one(replies, history, calls):
    script = Script(*replies)
    events, outcome = played(script, asked_for(history=history))
    assert len(script.asked) == calls
    assert (events[-1]["code"], outcome.kind) == ("overflow", "overflow")


@pytest.mark.parametrize("entry", ["sync", "async"])
def test_a_transient_failure_is_tried_twice_with_a_virtual_pause(entry):
    script = Script(BUSY, body("fine"))
    assert played(script, entry=entry)[1].kind == "answered"
    assert script.slept == [0.5]
    assert script.asked[0] == script.asked[1]


@pytest.mark.parametrize(
    ("failure", "calls"),
    [
        (BUSY, 2),
        (StreamBroken("cut"), 2),
        (ModelError(401, {"error": {"message": f"Incorrect key {KEY}", "code": "invalid_api_key"}}), 1),
        (ModelError(429, {"error": {"message": "too many tokens per min", "code": "rate_limit_exceeded"}}), 2),
        (ModelError(429, {"error": {"message": "pay", "code": "insufficient_quota"}}), 1),
    ],
)
def test_a_model_that_fails_for_good_ends_the_run_and_names_its_cause_without_a_secret(failure, calls):
    script = Script(*[failure] * calls)
    events, outcome = played(script)
    assert len(script.asked) == calls
    assert (events[-1]["type"], events[-1]["code"], outcome.kind) == ("RUN_ERROR", "model_error", "model_error")
    assert KEY not in repr((events, outcome))
    if isinstance(failure, ModelError):
        assert str(failure.status) in events[-1]["message"]


@pytest.mark.parametrize(
    ("reply", "kind"), [(body("It is A-", stop="length"), "truncated"), (body("It", stop="content_filter"), "filtered")]
)
@pytest.mark.parametrize(("way", "terminal"), [("error", "RUN_ERROR"), ("flag", "RUN_FINISHED")])
def test_a_cut_reply_can_be_told_from_a_whole_one(reply, kind, way, terminal):
    events, outcome = played(Script(reply), declared={"length_stop": way})
    assert (events[-1]["type"], outcome.kind) == (terminal, kind)
    assert kind in repr(events[-1])


@pytest.mark.parametrize("stream", [False, True])
def test_nothing_of_a_reply_cut_by_length_runs_and_its_calls_are_answered(stream):
    script = Script(body(calls=[("look", '{"at": "x', "c1")], stop="length"), body("fine"), tools={"look": 1})
    first, second = asked_for(stream=stream), asked_for("And?", run="r2")
    assert played(script, first, second)[1].kind == "answered"
    assert script.ran == []
    assert roles(script.asked[1]) == ["user", "assistant", "tool", "user"]
    assert script.asked[1]["messages"][1]["tool_calls"][0]["function"]["arguments"] == "{}"


@pytest.mark.parametrize("entry", ["sync", "async"])
@pytest.mark.parametrize("parallel", ["concurrent", "sequential"])
def test_results_stand_in_call_order_and_a_failure_beside_them_is_fed_back(entry, parallel):
    reply = body(calls=[("fail", "{}", "c1"), ("look", '{"at":"x"}', "c2"), ("peek", "{}", "c3")])
    script = Script(reply, body("fine"), tools={"fail": ToolFailed("ValueError", "the fuse blew"), "look": {"a": 1}})
    tools = (LOOK, {"name": "fail", "description": "Fails.", "parameters": {"type": "object"}})
    _, outcome = played(script, asked_for(tools=tools), entry=entry, declared={"parallel_tools": parallel})
    assert outcome.kind == "answered"
    assert [(m["tool_call_id"], m["content"]) for m in script.asked[1]["messages"] if m["role"] == "tool"] == [
        ("c1", "Error: ValueError: the fuse blew"),
        ("c2", '{"a": 1}'),
        ("c3", "Error: UnknownTool: there is no tool 'peek'; the tools are: look, fail"),
    ]


def test_ids_that_are_missing_or_repeated_are_replaced_by_fresh_ones():
    reply = body(calls=[("look", "{}", None), ("look", "{}", ""), ("look", "{}", "c1"), ("look", "{}", "c1")])
    script = Script(reply, body(calls=[("look", "{}", "c1")]), body("fine"), tools={"look": 1})
    played(script)
    said = [call["id"] for m in script.asked[2]["messages"] for call in m.get("tool_calls", ())]
    answered = [m["tool_call_id"] for m in script.asked[2]["messages"] if m["role"] == "tool"]
    assert said == answered
    assert len(set(said)) == 5
    assert "" not in said


def test_a_forced_tool_choice_holds_for_the_first_round_only():
    script = Script(CALL, body("fine"), tools={"look": 1})
    played(script, asked_for(tool_choice="look"))
    assert [sent.get("tool_choice") for sent in script.asked] == [
        {"type": "function", "function": {"name": "look"}},
        None,
    ]


def test_the_second_run_starts_from_zero_and_carries_the_first():
    script = Script(CALL, body("half"), CALL, body("whole"), tools={"look": 42})
    events, outcome = played(
        script, asked_for(limits={"max_iters": 1}), asked_for("Go on", run="r2", limits={"max_iters": 2})
    )
    assert outcome.text == "whole"
    assert roles(script.asked[2]) == ["user", "assistant", "tool", "assistant", "user"]
    assert {event["runId"] for event in events if "runId" in event} == {"r2"}


def test_a_round_joins_the_history_whole_or_not_at_all():
    script = Script(CALL, body("fine"), tools={"look": RuntimeError("not a tool's failure")})
    runner = reference().open(script.bench())
    with pytest.raises(RuntimeError):
        drained(runner.run(asked_for()))
    drained(runner.run(asked_for("Again", run="r2")))
    assert roles(script.asked[1]) == ["user", "user"]


@pytest.mark.parametrize(
    ("declared", "custom", "total"),
    [
        ({}, 2, None),
        ({"usage_events": "per_run"}, 0, [{"inputTokens": 12, "outputTokens": 5}]),
        ({"usage_events": "none"}, 0, None),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_usage_is_told_as_declared(declared, custom, total, stream):
    first = body(calls=[("look", "{}", "c1")], usage=(5, 2))
    script = Script(first, body("fine", usage=(7, 3)), tools={"look": 1})
    events, _ = played(script, asked_for(stream=stream), declared=declared)
    assert types(events).count("CUSTOM") == custom
    assert events[-1].get("usage") == total


def test_skipped_calls_of_the_last_round_get_an_error_result():
    script = Script(CALL, body("done"), tools={"look": 42})
    played(script, asked_for(limits={"max_iters": 1}), declared={"last_round_tools": "skip"})
    assert script.ran == []
    assert script.asked[1]["messages"][2]["content"].startswith("Error: NotRun: ")


@pytest.mark.parametrize(("declared", "text"), [({}, "42"), ({"final_text": "all_text"}, "Let me look.\n42")])
def test_the_final_text_is_the_last_reply_or_all_that_was_said(declared, text):
    script = Script(body("Let me look.", calls=[("look", "{}", "c1")]), body("42"), tools={"look": 42})
    assert played(script, declared=declared)[1].text == text


@pytest.mark.parametrize(("value", "asked"), [("transient", 1), ("none", 1), ("all", 2)])
def test_a_wrong_request_is_sent_again_only_where_that_is_declared(value, asked):
    script = Script(ModelError(400, {"error": {"code": "invalid_value"}}), body("fine"))
    played(script, declared={"http_retry": value})
    assert len(script.asked) == asked
    assert [headers["X-Stainless-Retry-Count"] for headers in script.headers] == ["0", "1"][:asked]


@pytest.mark.parametrize(("header", "waited_s"), [("2", 2.0), ("0", 0.5), ("Wed, 21 Oct 2026 07:28:00 GMT", 0.5)])
def test_a_server_that_asks_to_wait_is_waited_for(header, waited_s):
    script = Script(ModelError(503, {}, {"retry-after": header}), body("fine"))
    played(script)
    assert script.slept == [waited_s]
