import json

from ag_ui.core import Message
from pydantic import TypeAdapter

from conformance.recording import Record
from conformance.transcript import transcript


def records(*told):
    return [Record(seq, 0.0, *kind.split("/"), data) for seq, (kind, data) in enumerate(told, start=1)]


def start(run, *messages):
    return "kit/run_start", {"run": run, "session": "s1", "input": {"messages": list(messages)}}


def user(run):
    return {"id": f"user-{run}", "role": "user", "content": f"hello {run}"}


def reply(run, call, *parts, by="kit", side=None, status=200):
    return (
        ("model/request", {"run": run, "call": call, "side": side}),
        ("model/reply", {"call": call, "status": status, "parts": list(parts)}),
        *((("model/reply_done", {"call": call, "by": by}),) if by else ()),
    )


def text(said):
    return {"type": "text", "text": said}


def call(name, number, arguments="{}"):
    return {"type": "tool_call", "id": number, "name": name, "arguments": arguments}


def run_of(exec_, tool, call_id, run="r1", **arguments):
    return "tool/start", {"run": run, "exec": exec_, "tool": tool, "call_id": call_id, "arguments": arguments}


def told(messages):
    """Each message in short, once the published models have read it."""
    for one in messages:
        TypeAdapter(Message).validate_python(json.loads(json.dumps(one)))
    return [
        (one["role"], one.get("content"), [made["id"] for made in one.get("toolCalls", ())] or one.get("toolCallId"))
        for one in messages
    ]


def test_what_was_said_and_done_stands_in_order_and_a_call_without_its_result_is_left_so():
    made = records(
        start("r1", user("r1")),
        *reply("r1", "m1", text("I look."), call("look", "c1"), call("wait", "c2")),
        run_of("x1", "look", "c1"),
        ("tool/result", {"exec": "x1", "result": {"seen": 7}}),
        run_of("x2", "wait", "c2"),
    )
    assert told(transcript(made, ["r1"])) == [
        ("user", "hello r1", None),
        ("assistant", "I look.", ["c1", "c2"]),
        ("tool", '{"seen": 7}', "c1"),
    ]


def test_what_did_not_come_to_its_end_or_stood_beside_is_in_no_store():
    made = records(
        start("r1", user("r1")),
        *reply("r1", "m1", text("cut"), by=None),
        *reply("r1", "m2", text("left"), by="client"),
        *reply("r1", "m3", text("broken"), by="cut"),
        *reply("r1", "m4", text("a summary"), side="compaction"),
        *reply("r1", "m5", status=500),
        *reply("r1", "m6", text("")),
    )
    assert told(transcript(made, ["r1"])) == [("user", "hello r1", None)]


def test_other_sessions_stay_out_and_what_is_sent_again_stands_once():
    made = records(
        start("r1", user("r1")),
        start("r2", user("r2")),
        *reply("r2", "m1", text("to another")),
        *reply("r1", "m2", text("to me")),
        start("r3", user("r1"), {"id": "m2-reply", "role": "assistant", "content": "to me"}, user("r3")),
    )
    assert told(transcript(made, ["r1", "r3"])) == [
        ("user", "hello r1", None),
        ("assistant", "to me", None),
        ("user", "hello r3", None),
    ]


def test_an_execution_without_an_id_is_the_first_of_its_tool_that_did_not_run_and_a_failure_says_what_failed():
    made = records(
        start("r1", user("r1")),
        *reply("r1", "m1", call("look", "c1"), call("look", "c2"), call("look", None)),
        run_of("x1", "look", "c1"),
        run_of("x2", "look", None),
        ("tool/error", {"exec": "x2", "error": {"type": "KeyError", "message": "no", "rejected": False}}),
        run_of("x3", "look", None),
        ("tool/result", {"exec": "x3", "result": "plain"}),
    )
    messages = transcript(made, ["r1"])
    assert told(messages)[1:] == [
        ("assistant", None, ["c1", "c2", "m1-3"]),
        ("tool", "KeyError: no", "c2"),
        ("tool", "plain", "m1-3"),
    ]
    assert [one.get("error") for one in messages[2:]] == ["KeyError: no", None]


def test_an_execution_with_an_id_of_the_agents_own_is_the_call_of_its_tool_with_its_arguments():
    made = records(
        start("r1", user("r1")),
        *reply("r1", "m1", call("look", "c1", '{"at": 1}'), call("look", "c2", '{"at": 2}'), call("look", "c3", "no")),
        run_of("x1", "look", "own-2", at=2),
        ("tool/result", {"exec": "x1", "result": "two"}),
        run_of("x2", "look", "own-1", at=1),
        ("tool/result", {"exec": "x2", "result": "one"}),
        run_of("x3", "look", "own-3"),
        ("tool/result", {"exec": "x3", "result": "none"}),
        run_of("x4", "wait", "own-4"),
        ("tool/result", {"exec": "x4", "result": "of no stored call"}),
    )
    assert told(transcript(made, ["r1"]))[2:] == [("tool", "two", "c2"), ("tool", "one", "c1"), ("tool", "none", "c3")]
