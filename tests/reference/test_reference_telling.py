"""What the reference tells of itself: hooks, the record of its steps and the debug log, and that none of them is in the way."""

import itertools
import logging
from dataclasses import replace

import pytest
from scripted_bench import Script, asked_for, body, played

from conformance.agent_side import ToolFailed
from conformance.reference.agent import reference
from conformance.reference.ending import ListenerFailed
from fake_models.errors import ModelError

CALL = body(calls=[("look", '{"at":"x"}', "c1")])
WAYS = tuple(itertools.product(("sync", "async"), (False, True)))
HOOKS = ("before_model", "after_model", "before_tool", "after_tool")


def given(*, user="What is it?", run="r1", stream=False, limits=None, **knobs):
    return replace(asked_for(user, run=run, stream=stream, limits=limits), knobs=knobs)


def hooks(*names, does="tell"):
    return [{"hook": name, "does": does} for name in names]


def customs(events, name):
    return [event["value"] for event in events if event.get("name") == f"conformance.{name}"]


def states(events):
    return [(one["step"], one["state"]) for one in customs(events, "record")]


def until_it_raises(items):
    """The events up to an exception, and the exception."""
    events = []
    try:
        for item in items:
            events.append(item)  # noqa: PERF402 - those before the exception stay
    except Exception as error:  # noqa: BLE001 - what comes out is what is looked at
        return events, error
    return events, None


def test_without_knobs_nothing_is_told():
    events, _ = played(Script(CALL, body("42"), tools={"look": 42}), given())
    assert [event for event in events if event["type"] == "CUSTOM"] == []


@pytest.mark.parametrize(("entry", "stream"), WAYS)
def test_hooks_are_called_around_each_model_call_and_each_tool(entry, stream):
    knobs = {"callbacks": hooks("guardrail", *HOOKS)}
    events, outcome = played(Script(CALL, body("42"), tools={"look": 42}), given(stream=stream, **knobs), entry=entry)
    tool = {"tool": "look", "callId": "c1"}
    assert customs(events, "callback") == [
        {"hook": "before_model"},
        {"hook": "after_model"},
        {"hook": "guardrail", **tool},
        {"hook": "before_tool", **tool},
        {"hook": "after_tool", **tool},
        {"hook": "before_model"},
        {"hook": "after_model"},
    ]
    assert outcome.kind == "answered"


def test_the_summary_is_a_model_call_like_any_other():
    asked = given(limits={"max_iters": 1}, callbacks=hooks("before_model", "after_model"))
    events, _ = played(Script(CALL, body("42"), tools={"look": 42}), asked)
    assert [one["hook"] for one in customs(events, "callback")] == ["before_model", "after_model"] * 2


def test_a_hook_of_one_tool_is_not_called_for_another():
    knobs = {"callbacks": [{"hook": "after_tool", "tool": "pay"}]}
    events, _ = played(Script(CALL, body("42"), tools={"look": 42}), given(**knobs))
    assert customs(events, "callback") == []


@pytest.mark.parametrize(("entry", "stream"), WAYS)
@pytest.mark.parametrize(("does", "how"), [("trip", "tripped"), ("raise", "crashed")])
def test_a_guardrail_ends_the_run_before_the_tool(entry, stream, does, how):
    script = Script(CALL, tools={"look": 42})
    asked = given(stream=stream, callbacks=hooks("guardrail", does=does))
    _, outcome = played(script, asked, entry=entry)
    assert (outcome.kind, outcome.reason) == ("guard", f"the guardrail at 'look' {how}")
    assert script.ran == []


@pytest.mark.parametrize(
    ("hook", "asked", "ran"),
    [("before_model", 0, 0), ("after_model", 1, 0), ("before_tool", 1, 0), ("after_tool", 1, 1)],
)
def test_a_wish_to_stop_ends_the_run_where_it_is_made(hook, asked, ran):
    script = Script(CALL, tools={"look": 42})
    _, outcome = played(script, given(callbacks=hooks(hook, does="stop")))
    assert (outcome.kind, len(script.asked), len(script.ran)) == ("guard", asked, ran)


@pytest.mark.parametrize("hook", HOOKS)
def test_an_exception_that_is_let_through_closes_what_is_open_and_leaves_a_sound_history(hook):
    script = Script(*([] if hook == "before_model" else [CALL]), body("42"), tools={"look": 42})
    runner = reference({"listener_errors": "propagate"}).open(script.bench())
    events, error = until_it_raises(runner.run(given(callbacks=hooks(hook, does="raise"), tracing=True)))
    assert isinstance(error, ListenerFailed)
    types = [event["type"] for event in events]
    assert types.count("TOOL_CALL_START") == types.count("TOOL_CALL_END") == types.count("TOOL_CALL_RESULT")
    assert "running" not in dict(states(events)).values()
    list(runner.run(given(user="And now?", run="r2")))
    sent = script.asked[-1]["messages"]
    called = [call["id"] for message in sent for call in message.get("tool_calls", ())]
    assert called == [message["tool_call_id"] for message in sent if message["role"] == "tool"]
    assert called == (["c1"] if hook.endswith("tool") else [])


def test_an_answered_run_is_recorded_step_by_step():
    events, _ = played(Script(CALL, body("42"), tools={"look": 42}), given(tracing=True))
    assert states(events) == [
        ("run:r1", "running"),
        ("model:1", "running"),
        ("model:1", "done"),
        ("tool:c1", "running"),
        ("tool:c1", "done"),
        ("model:2", "running"),
        ("model:2", "done"),
        ("answer:final", "done"),
        ("run:r1", "done"),
    ]
    assert all(one["reason"] for one in customs(events, "record"))


def test_a_finished_tool_step_has_result_and_duration():
    events, _ = played(Script(CALL, body("42"), tools={"look": 42}), given(tracing=True))
    [done] = [one for one in customs(events, "record") if (one["step"], one["state"]) == ("tool:c1", "done")]
    assert (done["tool"], done["result"], done["duration_s"]) == ("look", "42", 0.0)


@pytest.mark.parametrize(
    ("replies", "tool", "ended"),
    [
        ((CALL, body("42")), ToolFailed("Odd", "no"), {"tool:c1": "failed", "run:r1": "done"}),
        ((ModelError(403, {"error": {"message": "no"}}),), 42, {"model:1": "failed", "run:r1": "failed"}),
        ((body(calls=[("pay", "{}", "c1")]), body("42")), 42, {"tool:c1": "skipped", "run:r1": "done"}),
    ],
    ids=["a tool that raises", "a model that fails", "a call that cannot run"],
)
def test_what_goes_wrong_is_recorded_and_nothing_is_left_running(replies, tool, ended):
    events, _ = played(Script(*replies, tools={"look": tool}), given(tracing=True))
    last = dict(states(events))
    assert ended.items() <= last.items()
    assert "running" not in last.values()


def test_a_loop_that_breaks_down_leaves_no_step_running():
    items = reference().open(Script(RuntimeError("odd")).bench()).run(given(tracing=True))
    events, error = until_it_raises(items)
    assert isinstance(error, RuntimeError)
    assert dict(states(events)) == {"model:1": "failed", "run:r1": "failed"}


def test_the_record_counts_what_a_compaction_took_out_of_the_history():
    too_long = ModelError(400, {"error": {"message": "no", "code": "context_length_exceeded"}})
    before = [
        {"id": "1", "role": "user", "content": "Before"},
        {"id": "2", "role": "assistant", "content": "It was 41."},
    ]
    asked = replace(asked_for(history=before), knobs={"tracing": True})
    events, _ = played(Script(too_long, body("They spoke of 41."), body("42")), asked)
    assert customs(events, "record")[-1]["messages"] == 4


def test_debug_logging_says_more_and_changes_nothing(caplog):
    caplog.set_level(logging.DEBUG, "conformance.reference")
    plain = played(Script(CALL, body("42"), tools={"look": 42}), given())
    assert caplog.messages == []
    assert played(Script(CALL, body("42"), tools={"look": 42}), given(debug=True)) == plain
    assert "tool is running" in caplog.messages
