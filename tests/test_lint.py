import json

import pytest

from conformance.loading import lint, schema_check
from conformance.scenario import scenario

RULES = ("LIM-1", "RUN-1", "SUM-1")
TOOL = {
    "description": "d",
    "parameters": {"type": "object"},
    "returns": {"items": [{"id": "C-1"}], "when": "{{ now }}"},
}
ASKING = {"look": TOOL | {"approval": True}, "send": TOOL}
WAYS = ("summarize", "stop", "error", "raise")


def found(data):
    whole = {"id": "x", "title": "t", "why": "w", "tools": {"look": TOOL, "send": TOOL}} | data
    assert schema_check.problems(whole) == []
    return [(problem.where, problem.message) for problem in lint.problems(scenario(whole), RULES)]


def script(*turns, **data):
    return data | {"runs": [{"user": "hello", "model": list(turns)}]}


SAY = {"say": "ho"}
LOOK = {"call": "look"}
END = {"say": "{{ result.look }}"}

WRONG = [
    ("an unknown rule", script(SAY, exercises=["RUN-1", "LIM-l"]), "exercises[1]", "did you mean 'LIM-1'?"),
    (
        "a turn behind one that repeats forever",
        script(LOOK | {"repeat": "forever"}, SAY),
        "runs[0].model[1]",
        "never reached",
    ),
    (
        "an optional one without a condition is never passed over",
        script(LOOK | {"repeat": "forever", "optional": True}, SAY),
        "runs[0].model[1]",
        "never reached",
    ),
    (
        "one under a condition that is not optional is never passed over",
        script(LOOK | {"repeat": "forever", "when": {"tools": "offered"}}, SAY),
        "runs[0].model[1]",
        "never reached",
    ),
    (
        "a reply that begins when the run has been ended",
        script(SAY | {"wait_s": 5}),
        "runs[0].model[0].wait_s",
        "came 5, and 5 s of silence end a run: set `deadline_s`",
    ),
    (
        "chunks that are further apart than the run may be silent",
        script(SAY | {"pace_s": 2.5}, deadline_s=2),
        "runs[0].model[0].pace_s",
        "came 2.5, and 2 s of silence end a run: set `deadline_s`",
    ),
    (
        "a tool point in a run that calls none",
        {"runs": [{"user": "a", "cancel": "in_tools", "model": [SAY]}]},
        "runs[0].cancel",
        "no turn of the run calls a tool",
    ),
    (
        "a run that is cancelled and killed",
        {"runs": [{"user": "a", "cancel": "stream", "kill": "stream", "model": [SAY]}]},
        "runs[0].kill",
        "cancelled as well",
    ),
    (
        "a kill beside another run",
        {"runs": [{"user": "a", "kill": "stream", "model": [SAY]}, {"user": "b", "start": "with", "model": [SAY]}]},
        "runs[0].kill",
        "would die with it",
    ),
    (
        "an answer where nothing waits",
        {"runs": [{"user": "a", "model": [LOOK]}, {"resume": [{"approved": True}], "model": [SAY]}]},
        "runs[1].resume[0]",
        "no tool of the scenario says `approval: true`",
    ),
    (
        "an answer to a tool that does not ask",
        {
            "runs": [
                {"user": "a", "model": [LOOK]},
                {"resume": [{"tool": "send", "approved": True}], "model": [SAY]},
            ],
            "tools": ASKING,
        },
        "runs[1].resume[0].tool",
        "no call of 'send' waits",
    ),
    (
        "a gate on a tool that nobody has",
        script(SAY, knobs={"gate": {"tool": "lok"}}),
        "knobs.gate.tool",
        "did you mean 'look'?",
    ),
    (
        "a child with a tool that nobody has",
        script(SAY, knobs={"subagents": {"child": {"description": "d", "max_iters": 2, "tools": ["sned"]}}}),
        "knobs.subagents.child.tools[0]",
        "did you mean 'send'?",
    ),
    (
        "a hook on a tool that nobody has",
        {"runs": [{"user": "a", "knobs": {"callbacks": [{"hook": "before_tool", "tool": "lok"}]}, "model": [SAY]}]},
        "runs[0].knobs.callbacks[0].tool",
        "did you mean 'look'?",
    ),
    ("an error at the end", script(SAY, {"error": {"status": 500}}), "runs[0].model[1]", "repeat: forever"),
    ("an overflow at the end", script({"overflow": "code"}), "runs[0].model[0]", "repeat: forever"),
    ("a cut at the end", script({"say": "x", "cut": {"after_bytes": 1}}), "runs[0].model[0]", "repeat: forever"),
    ("a stall at the end", script({"stall": {}}), "runs[0].model[0]", "repeat: forever"),
    ("an empty reply at the end", script({"empty": "blank"}), "runs[0].model[0]", "repeat: forever"),
    (
        "a when that names an unknown tool",
        script(SAY | {"when": {"tools": ["lok"]}}),
        "runs[0].model[0].when.tools[0]",
        "'look'",
    ),
    (
        "a when that wants tools of none",
        script(SAY | {"when": {"tools": "offered"}}, tools={}),
        "runs[0].model[0].when.tools",
        "never",
    ),
    (
        "a tool message before any call",
        script(SAY | {"when": {"round": 1, "last": "tool"}}),
        "runs[0].model[0].when.last",
        "never",
    ),
    (
        "a core summary turn under a when",
        script(SAY | {"when": {"tools": "none"}}, tags=["core"]),
        "runs[0].model[0].when.tools",
        "summary",
    ),
    (
        "a core summary turn by class",
        script(SAY | {"when": {"call": "summary"}}, tags=["core"]),
        "runs[0].model[0].when.call",
        "summary",
    ),
    (
        "a template of an unknown tool",
        script(LOOK, {"say": "{{ result.lock }}"}),
        "runs[0].model[1].say",
        "did you mean 'look'?",
    ),
    (
        "a template with an unknown filter",
        script(LOOK, {"think": "{{ now | date }}"}),
        "runs[0].model[1].think",
        "'date'",
    ),
    ("a template that is no path", script(LOOK, {"answer": "{{ 1 + 1 }}"}), "runs[0].model[1].answer", "{{ 1 + 1 }}"),
    ("a template that is not closed", script(LOOK, {"answer": "{{ now"}), "runs[0].model[1].answer", "never closed"),
    (
        "a template before its call",
        script({"say": "{{ result.look }}"}),
        "runs[0].model[0].say",
        "no turn before this one calls 'look'",
    ),
    (
        "a template in a list of calls",
        script(LOOK, {"call": ["look", {"name": "send", "args": {"to": ["{{ result.send }}"]}}]}, SAY),
        "runs[0].model[1].call[1].args.to[0]",
        "calls 'send'",
    ),
    (
        "a template of a value that is not there",
        script(LOOK, {"say": "{{ result.look.item }}"}),
        "runs[0].model[1].say",
        "'item'",
    ),
    (
        "a template behind the end of a list",
        script(LOOK, {"say": "{{ result.look.items[3] }}"}),
        "runs[0].model[1].say",
        "'items.3'",
    ),
    (
        "a template of an id nobody gives",
        script(LOOK, {"say": "{{ call.c1 }}"}),
        "runs[0].model[1].say",
        "no call has the id 'c1'",
    ),
    (
        "a template of a tool that only fails",
        script(LOOK, END, tools={"look": {"description": "d", "parameters": {}, "hangs": True}}),
        "runs[0].model[1].say",
        "returns nothing",
    ),
    (
        "a template in a tool",
        script(SAY, tools={"look": TOOL | {"returns": ["{{ x }}"]}}),
        "tools.look.returns[0]",
        "{{ x }}",
    ),
    (
        "a user text within the history",
        script(SAY, history=[{"role": "assistant", "content": "hello you"}]),
        "runs[0].user",
        "history[0]",
    ),
    ("a user text within the system text", script(SAY, system="say hello"), "runs[0].user", "system"),
    (
        "a user text within a later one",
        {"runs": [{"user": "hello", "model": [SAY]}, {"user": "hello again", "model": [SAY]}]},
        "runs[0].user",
        "runs[1].user",
    ),
    (
        "a user text said twice",
        {"runs": [{"user": "hello", "model": [SAY]}, {"user": "hello", "model": [SAY]}]},
        "runs[1].user",
        "runs[0].user",
    ),
    ("a tool choice of an unknown tool", script(SAY, tool_choice="lok"), "tool_choice", "did you mean 'look'?"),
    (
        "a run's tool choice",
        {"runs": [{"user": "a", "model": [SAY], "tool_choice": "requird"}]},
        "runs[0].tool_choice",
        "'required'",
    ),
    ("a first run with another", {"runs": [{"user": "a", "model": [SAY], "start": "with"}]}, "runs[0].start", "no run"),
    (
        "a first run that resumes",
        {"runs": [{"resume": [{"approved": True}], "model": [SAY]}], "tools": ASKING},
        "runs[0].resume",
        "'s1' has no run",
    ),
    (
        "a wait in core",
        script({"error": {"status": 429, "retry_after": 1}}, SAY, tags=["core", "slow"]),
        "runs[0].model[0].error.retry_after",
        "at most 0",
    ),
    (
        "a long wait",
        script({"error": {"status": 429, "retry_after": 2}}, SAY, tags=["slow"]),
        "runs[0].model[0].error.retry_after",
        "at most 1",
    ),
    (
        "a prediction for an unknown key",
        script(SAY, expect=[{"when": {"on_limits": "stop"}}]),
        "expect[0].when.on_limits",
        "'on_limit'",
    ),
    (
        "a prediction for an unknown value",
        script(SAY, expect=[{"when": {"on_limit": "halt"}}]),
        "expect[0].when.on_limit",
        "'halt'",
    ),
    (
        "a prediction for one unknown value of a list",
        script(SAY, expect=[{"when": {"on_limit": ["stop", "x"]}}]),
        "expect[0].when.on_limit",
        "'x'",
    ),
    ("a prediction of events", script(SAY, expect=[{"events": 3}]), "expect[0].events", "profile: reference"),
    (
        "a prediction of an unknown tool",
        script(SAY, expect=[{"tools_run": ["look", "sent"]}]),
        "expect[0].tools_run[1]",
        "'send'",
    ),
    (
        "a run's own prediction",
        {"runs": [{"user": "a", "model": [SAY], "expect": [{"events": 1}]}]},
        "runs[0].expect[0].events",
        "reference",
    ),
    (
        "a prediction behind one for everyone",
        script(SAY, expect=[{"model_calls": 1}, {"when": {"guards": True}}]),
        "expect[1]",
        "never used",
    ),
    (
        "a core run that may outlast an agent's default",
        script(LOOK, END, tags=["core"]),
        "runs[0]",
        "limits: {max_iters: 10}",
    ),
    (
        "a core run whose empty reply may spend a round",
        script({"empty": "blank"}, SAY, tags=["core"]),
        "runs[0]",
        "limits: {max_iters: 10}",
    ),
    (
        "the one core run that sets no limit",
        {
            "tags": ["core"],
            "runs": [
                {"user": "first", "model": [LOOK, END], "limits": {"max_iters": 10}},
                {"user": "second", "model": [LOOK, END]},
            ],
        },
        "runs[1]",
        "limits: {max_iters: 10}",
    ),
    (
        "a core limit without predictions",
        script(LOOK, END, tags=["core"], limits={"max_iters": 1}),
        "runs[0]",
        "summarize, stop, error, raise",
    ),
    (
        "a core limit whose endless calls reach any budget",
        script(LOOK | {"repeat": "forever"}, tags=["core"], limits={"max_iters": 50}),
        "runs[0]",
        "max_iters 50",
    ),
    (
        "a core limit predicted for the reference alone",
        script(
            LOOK,
            END,
            tags=["core"],
            limits={"max_iters": 1},
            expect=[
                {"when": {"profile": "reference", "on_limit": "stop"}},
                {"when": {"on_limit": ["summarize", "error", "raise"]}},
            ],
        ),
        "expect",
        "on_limit stop;",
    ),
]

RIGHT = [
    (
        "a looper that then has to summarise",
        script(LOOK | {"repeat": "forever", "optional": True, "when": {"tools": "offered"}}, END),
    ),
    (
        "one question on two sessions",
        {"runs": [{"user": "a", "session": one, "model": [SAY]} for one in ("s1", "s2")]},
    ),
    (
        "a child's own name in a hook",
        script(
            SAY,
            knobs={
                "subagents": {"child": {"description": "d", "max_iters": 2, "tools": ["look"]}},
                "callbacks": [{"hook": "before_tool", "tool": "child"}],
            },
        ),
    ),
    ("a fault that something follows", script({"error": {"status": 500}}, SAY)),
    ("a fault for ever", script({"error": {"status": 500}, "repeat": "forever"})),
    ("a call of an unknown tool", script({"call": "nobody"}, SAY)),
    (
        "a resume that finds a tool message first",
        {
            "runs": [
                {"user": "a", "model": [LOOK]},
                {"resume": [{"approved": True}], "model": [SAY | {"when": {"round": 1, "last": "tool"}}]},
            ],
            "tools": ASKING,
        },
    ),
    ("a summary condition outside the core", script(SAY | {"when": {"tools": "none"}})),
    (
        "templates that resolve",
        script(LOOK, {"say": "{{ result.look.items[0].id }} {{ result.look[0].when | json }} {{ now }}"}),
    ),
    ("a template into a text that is itself a template", script(LOOK, {"say": "{{ result.look.when.x }}"})),
    ("a template of a given id", script({"call": {"name": "look", "id": "c1"}}, {"say": "{{ call.c1 }}"})),
    ("a template of a fresh id", script(LOOK, {"say": "{{ call.call_1 }}"})),
    (
        "a template of a large text",
        script(LOOK, END, tools={"look": {"description": "d", "parameters": {}, "large": {"bytes": 9}}}),
    ),
    (
        "a template of a tool that fails first",
        script(
            LOOK,
            END,
            tools={"look": {"description": "d", "parameters": {}, "sequence": [{"hangs": True}, {"returns": 1}]}},
        ),
    ),
    ("a template of a run before", {"runs": [{"user": "a", "model": [LOOK]}, {"user": "b", "model": [END]}]}),
    ("raw arguments hold no templates", script({"call": {"name": "look", "raw": '{"a": {{'}}, SAY)),
    ("different user texts", {"runs": [{"user": "first", "model": [SAY]}, {"user": "second", "model": [SAY]}]}),
    ("a tool choice", script(SAY, tool_choice="send")),
    ("a short wait of a slow scenario", script({"error": {"status": 429, "retry_after": 1}}, SAY, tags=["slow"])),
    ("a slow reply within the deadline", script(SAY | {"wait_s": 4.9, "pace_s": 4.9})),
    ("a slow reply under a longer deadline", script(SAY | {"wait_s": 60, "pace_s": 5}, deadline_s=61)),
    ("a wait of none", script({"error": {"status": 429, "retry_after": 0}}, SAY, tags=["core"])),
    ("events of the reference", script(SAY, expect=[{"when": {"profile": "reference"}, "events": 4}])),
    (
        "a dialect value that is a mapping",
        script(SAY, expect=[{"when": {"empty_response": {"retry_then_error": 1}, "sessions": True}}]),
    ),
    ("a dialect value that is a list", script(SAY, expect=[{"when": {"empty_is": ["null", "blank"]}}])),
    ("a run outside the core that sets no limit", script(LOOK, END)),
    ("a core run of one round", script(SAY, tags=["core"])),
    ("a core request that is sent again within its round", script({"error": {"status": 500}}, SAY, tags=["core"])),
    ("a core request that is made shorter within its round", script({"overflow": "openai"}, SAY, tags=["core"])),
    (
        "a core run that tests the default",
        script(LOOK, END, tags=["core"], expect=[{"when": {"default_max_iters": 10}, "model_calls": 2}]),
    ),
    ("a core limit that is not reached", script(LOOK, END, tags=["core"], limits={"max_iters": 2})),
    (
        "a core limit predicted for all",
        script(LOOK, END, tags=["core"], limits={"max_iters": 1}, expect=[{"when": {"on_limit": way}} for way in WAYS]),
    ),
    (
        "a core limit predicted for everyone at once",
        script(LOOK, END, tags=["core"], limits={"max_iters": 1}, expect=[{"regular_calls": 1}]),
    ),
    (
        "a core limit predicted by the parts of on_limit",
        script(
            LOOK,
            END,
            tags=["core"],
            limits={"max_iters": 1},
            expect=[{"when": {"limit_text": "model"}}, {"when": {"limit_text": "none"}}],
        ),
    ),
]


@pytest.mark.parametrize(("data", "where", "says"), [case[1:] for case in WRONG], ids=[case[0] for case in WRONG])
def test_the_one_thing_wrong_is_named_at_its_place(data, where, says):
    problems = found(json.loads(json.dumps(data)))

    assert [place for place, _ in problems] == [where]
    assert says in problems[0][1]


@pytest.mark.parametrize("data", [case[1] for case in RIGHT], ids=[case[0] for case in RIGHT])
def test_what_is_right_is_not_spoken_of(data):
    assert found(data) == []


def test_runs_that_overlap_may_use_what_the_other_calls():
    runs = [{"user": "a", "model": [END]}, {"user": "b", "model": [LOOK], "start": "with"}]

    assert found({"runs": runs}) == []


def test_another_session_sees_no_result():
    runs = [{"user": "a", "model": [LOOK]}, {"user": "b", "model": [END], "session": "s2"}]

    assert found({"runs": runs}) == [
        ("runs[1].model[0].say", "template '{{ result.look }}': no turn before this one calls 'look'")
    ]
