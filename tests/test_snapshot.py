from story import Story

from conformance.reading.joined import view
from conformance.snapshot import SHOWN, stable_text, value_text


def time_query(ids=("call_a", "msg_a")):
    """The first founding scenario, told by hand with the ids of the agent's choice."""
    call, message = ids
    tools = {"get_current_time": {"description": "Local time", "parameters": {"type": "object"}, "returns": ""}}
    s = Story(user="现在几点", max_iters=1, tools=tools, profile="reference", scenario={"id": "time-query-max-iters-1"})
    s.event("RUN_STARTED")
    s.ask()
    s.reply(calls=[("get_current_time", {}, call)])
    s.call_events("get_current_time", {}, call)
    s.execute("get_current_time", {}, call, "2026-09-29 14:39:32")
    s.event("TOOL_CALL_RESULT", messageId=f"r-{call}", toolCallId=call, content="2026-09-29 14:39:32", role="tool")
    s.log("reached max_iters=1")
    marker = {"type": "EXCEED_MAX_ITERS", "maxIters": 1, "currentIter": 1, "replyId": "", "createdAt": message}
    s.event("RAW", event=marker)
    s.history.append({"role": "user", "content": "Answer now."})
    s.ask(tools=None)
    s.reply(text="时间查询完成: 2026-09-29 14:39:32", thinking="The tool has answered.")
    s.event("REASONING_MESSAGE_START", messageId=message, role="reasoning")
    s.event("CUSTOM", name="token_usage", value={"inputTokens": 3})
    s.event("RUN_FINISHED")
    s.outcome("limit", text="时间查询完成: 2026-09-29 14:39:32")
    return view(s.recording())


def test_the_stable_text_is_one_line_per_model_call_tool_run_and_event():
    assert stable_text(time_query()) == (
        "time-query-max-iters-1 · told · openai_chat · blocking · whole\n"
        "RUN_FINISHED · limit · 2 model calls (1 regular, 1 summary) · 0 attempts · 1 tool run · 8 events\n"
        "\n"
        'run r1 s1 max_iters=1 "现在几点"\n'
        "E RUN_STARTED\n"
        "M m1 regular [user] tools=get_current_time -> call c1 get_current_time {} (tool_calls)\n"
        "E TOOL_CALL_START c1 get_current_time\n"
        "E TOOL_CALL_END c1\n"
        'T x1 c1 get_current_time {} -> "2026-09-29 14:39:32"\n'
        'E TOOL_CALL_RESULT c1 "2026-09-29 14:39:32"\n'
        'E RAW EXCEED_MAX_ITERS {"currentIter":1,"maxIters":1}\n'
        'M m2 summary [user, assistant(c1), tool(c1), user] tools=none -> think, text "时间查询完成: 2026-09-29 14:39:32" (stop)\n'
        "E REASONING_MESSAGE_START t1\n"
        "E RUN_FINISHED\n"
    )


def test_ids_and_usage_leave_no_trace_in_it():
    assert stable_text(time_query()) == stable_text(time_query(("tooluse_9f", "0193-ab")))


def test_a_long_value_is_cut_with_its_length_and_hash():
    text = value_text("x" * 500)
    assert text.startswith('"' + "x" * (SHOWN - 1) + "… (502 characters, ")
    assert value_text("x" * 500) != value_text("x" * 499 + "y")


def test_failures_refusals_and_endings_are_told():
    s = Story()
    s.ask()
    s.fail(401)
    s.ask()
    s.refused(by="script", rule=None, message="no turn fits")
    s.execute("look", {}, "c1", error=("Boom", "no"))
    s.execute("look", {}, "c2")
    s.record("agent", "garbage", run="r1", line="42")
    s.raises("KeyError", "x")
    s.end("raised")
    lines = stable_text(view(s.recording())).splitlines()
    assert lines[1] == "no terminal event · error · 2 model calls (2 regular) · 0 attempts · 2 tool runs · 0 events"
    assert lines[4:] == [
        "M m1 regular [user] tools=look -> error 401",
        'M m2 regular [user] tools=look -> refused by script (400) "no turn fits"',
        'T x1 c1 look {} -> raised Boom: "no"',
        "T x2 c2 look {} -> never came back",
        'E ? "42"',
        '! raised KeyError: "x"',
    ]
