import asyncio
import contextlib
import logging
import threading
import time
from datetime import datetime

import agents
import pytest

from conformance.adapters.in_process import connect, connected, find
from conformance.adapters.taking import MAX_EVENTS
from conformance.agent_side import AgentInfo, InProcessAgent, Outcome, ToolFailed
from conformance.agent_side.saying import Records
from conformance.dialect import dialect
from conformance.errors import AgentError
from conformance.runner import Cell, play
from conformance.scenario import scenario
from fake_models.errors import ModelError

PLAN = {
    "id": "look-once",
    "title": "Looks once.",
    "why": "A test asks.",
    "clock": "2026-09-29T14:39:32+08:00",
    "deadline_s": 0.2,
    "tools": {"look": {"description": "Looks.", "parameters": {"type": "object"}, "returns": "{{ now | datetime }}"}},
    "runs": [{"user": "What is it?", "model": [{"call": "look"}, {"answer": "It is {{ result.look }}."}]}],
}


@pytest.fixture(autouse=True)
def let_go():
    agents.LET_GO.clear()
    yield
    agents.LET_GO.set()


def played(loop, plan=PLAN, cell=Cell(), **info):  # noqa: B008 - a frozen value
    return asyncio.run(_played(agents.agent(loop, **info), plan, cell))[0]


async def _played(agent, plan, cell):
    async with connected(agent) as one:
        return await play(one, scenario(plan), cell, dialect({})), one.stuck


def kinds(recording):
    return [record.kind for record in recording.records]


def last(recording):
    return recording.records[-1].data


def test_everything_that_crosses_the_border_is_recorded_in_the_order_in_which_it_happened():
    recording = played(agents.honest)
    assert kinds(recording) == [
        "kit/run_start",
        "agent/event",
        "model/request",
        "model/reply",
        "model/reply_done",
        "tool/start",
        "tool/result",
        "model/request",
        "model/reply",
        "model/reply_done",
        *["agent/event"] * 4,
        "agent/outcome",
        "kit/run_end",
    ]
    assert [record.seq for record in recording.records] == list(range(1, 17))
    assert recording.records[-2].data["text"] == "It is 2026-09-29 14:39:32."


def test_the_run_is_given_as_ag_ui_run_agent_input():
    given = played(agents.honest).records[0].data
    assert given["input"] == {
        "threadId": "s1",
        "runId": "r1",
        "state": {},
        "messages": [{"id": "user-r1", "role": "user", "content": "What is it?"}],
        "tools": [{"name": "look", "description": "Looks.", "parameters": {"type": "object"}}],
        "context": [],
        "forwardedProps": {},
    }


@pytest.mark.parametrize("loop", [agents.honest_async, agents.runs_its_own_loop])
def test_an_agent_may_be_asynchronous_outside_or_inside(loop):
    plan = PLAN | {"runs": [{"user": "hi", "model": [{"answer": "42"}]}]}
    recording = played(loop, plan)
    assert last(recording)["how"] == "returned"
    assert recording.records[-2].data["text"] == "42"


@pytest.mark.parametrize("loop", [agents.raises, agents.raises_async])
def test_an_exception_is_recorded_with_the_adapters_own_terminal_event(loop):
    recording = played(loop)
    raised, event, end = recording.records[-3:]
    assert raised.data == {"run": "r1", "exception": "ValueError", "message": "no idea"}
    assert event.data["raised"]
    assert event.data["event"] == {"type": "RUN_ERROR", "message": "no idea", "rawEvent": {"raised": "ValueError"}}
    assert end.data["how"] == "raised"


def test_an_exception_of_an_agent_without_events_adds_none():
    assert kinds(played(agents.raises, channels=("M", "T", "R")))[-2:] == ["agent/raised", "kit/run_end"]


def test_an_agent_that_exits_ends_itself_and_not_the_kit():
    assert played(agents.exits).records[-3].data["exception"] == "SystemExit"


@pytest.mark.parametrize(
    ("loop", "stuck"),
    [
        (agents.blocks, True),
        (agents.blocks_its_loop, True),
        (agents.refuses_to_be_cancelled, True),
        (agents.waits_forever, False),
        (agents.hangs_in_its_tool, False),
    ],
)
def test_a_silent_agent_is_recorded_as_hung_with_the_last_thing_seen(loop, stuck):
    plan = PLAN | {"tools": {"look": PLAN["tools"]["look"] | {"returns": None}}}
    del plan["tools"]["look"]["returns"]
    plan["tools"]["look"]["hangs"] = True
    recording, is_stuck = asyncio.run(_played(agents.agent(loop), plan, Cell()))
    assert last(recording)["how"] == "hung"
    seen = recording.records[last(recording)["last_seen"]["seq"] - 1]
    assert (
        seen.kind
        == last(recording)["last_seen"]["kind"]
        == ("tool/start" if loop is agents.hangs_in_its_tool else "agent/event")
    )
    assert is_stuck == stuck


def test_what_a_hung_agent_does_while_it_is_torn_down_is_not_recorded():
    assert kinds(played(agents.waits_forever)) == ["kit/run_start", "agent/event", "kit/run_end"]


def test_a_flood_ends_at_its_cap():
    recording = played(agents.floods)
    assert last(recording)["how"] == "cap"
    assert kinds(recording).count("agent/event") == MAX_EVENTS


def test_what_is_no_event_is_garbage_and_only_the_first_outcome_counts():
    recording = played(agents.yields_what_is_no_event)
    assert kinds(recording)[2:] == [
        "agent/garbage",
        "agent/garbage",
        "agent/event",
        "agent/outcome",
        "agent/garbage",
        "kit/run_end",
    ]
    assert recording.records[2].data["line"] == "42"


def test_an_agent_that_says_nothing_returned_and_left_nothing():
    assert kinds(played(agents.says_nothing)) == ["kit/run_start", "kit/run_end"]


def test_log_records_are_a_channel_where_it_is_declared():
    def logs(bench, given):
        logging.getLogger("agent.loop").debug("reached %s", 3)
        yield Outcome("answered")

    before = logging.getLogger().level
    with_log = played(logs, channels=("M", "L"))
    assert [r.data for r in with_log.records if r.kind == "agent/log"] == [
        {"run": "r1", "level": "DEBUG", "logger": "agent.loop", "message": "reached 3"},
    ]
    assert "agent/log" not in kinds(played(logs))
    assert logging.getLogger().level == before


def test_a_log_call_whose_arguments_do_not_fit_is_recorded_by_its_pattern():
    taken = []
    handler = Records(lambda level, logger, message: taken.append(message))
    handler.handle(logging.LogRecord("agent", logging.DEBUG, "", 1, "%s and %s", ("one",), None))
    assert taken == ["%s and %s"]


def test_a_python_agent_reads_the_scenarios_time_wherever_it_looks():
    times = []

    def reads(bench, given):
        times.extend([datetime.now().astimezone().timestamp(), time.time(), bench.now().timestamp()])
        bench.sleep(90)
        times.append(time.time())
        yield Outcome("answered")

    async def run():
        module = type("module", (), {"AGENT": agents.agent(reads)})
        with contextlib.ExitStack() as stack:
            import sys  # noqa: PLC0415

            sys.modules["clock_agent"] = module
            stack.callback(sys.modules.pop, "clock_agent")
            async with connect("clock_agent:AGENT") as one:
                await play(one, scenario(PLAN), Cell(), dialect({}))

    asyncio.run(run())
    start = datetime.fromisoformat(PLAN["clock"]).timestamp()
    assert times == [start, start, start, start + 90]


def test_two_sessions_have_scripts_and_histories_of_their_own():
    plan = PLAN | {
        "runs": [
            {"user": "one", "model": [{"answer": "1"}]},
            {"user": "two", "session": "s2", "model": [{"answer": "2"}]},
        ]
    }
    recording = played(agents.honest, plan)
    assert [r.data["text"] for r in recording.records if r.kind == "agent/outcome"] == ["1", "2"]
    assert [len(r.data["body"]["messages"]) for r in recording.records if r.kind == "model/request"] == [1, 1]


def test_an_agent_without_sessions_gets_back_the_snapshot_it_showed():
    def snapshots(bench, given):
        shown = [*given.input["messages"], {"id": "a", "role": "assistant", "content": "ok"}]
        yield {"type": "MESSAGES_SNAPSHOT", "messages": shown}

    plan = PLAN | {"system": "Be short.", "runs": [{"user": "one", "model": []}, {"user": "two", "model": []}]}
    starts = [r.data["input"]["messages"] for r in played(snapshots, plan).records if r.kind == "kit/run_start"]
    assert [[m["content"] for m in messages] for messages in starts] == [
        ["Be short.", "one"],
        ["Be short.", "one", "ok", "two"],
    ]
    told = [
        r.data["input"]["messages"]
        for r in played(snapshots, plan, capabilities={"sessions": True}).records
        if r.kind == "kit/run_start"
    ]
    assert [[m["content"] for m in messages] for messages in told] == [["Be short.", "one"], ["two"]]


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("nonsense", "expected python:package.module:NAME"),
        ("no_such_module_anywhere:AGENT", "importing 'no_such_module_anywhere' raised ModuleNotFoundError"),
        ("agents:NO_AGENT", "'NO_AGENT' is object, expected an InProcessAgent"),
        ("agents:MISSING", "'MISSING' is NoneType, expected an InProcessAgent"),
    ],
)
def test_an_agent_that_cannot_be_found_says_what_was_looked_for(spec, says):
    with pytest.raises(AgentError) as refused:
        find(spec)
    assert says in str(refused.value)


def test_an_agent_that_cannot_open_a_session_could_not_run():
    async def run():
        async with connected(agents.BROKEN) as one:
            await play(one, scenario(PLAN), Cell(), dialect({}))

    with pytest.raises(AgentError, match="opening a session raised RuntimeError: no database"):
        asyncio.run(run())


def test_close_is_called_once_per_session_and_its_exceptions_are_its_own():
    closed = []

    class Closing(agents.Runner):
        def close(self):
            closed.append(1)
            raise ValueError("late")

    agent = InProcessAgent(AgentInfo("closing"), lambda bench: Closing(bench, agents.honest))
    recording, _ = asyncio.run(_played(agent, PLAN, Cell()))
    assert closed == [1]
    assert last(recording)["how"] == "returned"


def test_an_agent_that_goes_on_beyond_its_cap_is_ended_and_recorded_no_longer():
    over = threading.Event()

    def never_stops(bench, given):
        while not over.is_set():
            with contextlib.suppress(ModelError):
                bench.model({"model": "m", "messages": [{"role": "user", "content": "hi"}]})

    recording = played(never_stops, PLAN | {"cap": 3, "runs": [{"user": "hi", "model": []}]})
    over.set()
    refused = [r.data["by"] for r in recording.records if r.kind == "model/refused"]
    assert refused == ["script"] * 3 + ["cap"] * 5
    assert last(recording)["how"] == "cap"


def test_a_tool_call_whose_arguments_are_no_json_is_refused_and_recorded():
    def odd(bench, given):
        with contextlib.suppress(ToolFailed):
            bench.call_tool("look", {"at": object}, None)
        yield Outcome(kind=7, reason=["x"], text="\udc80")

    recording = played(odd)
    start, error, outcome = recording.records[1:4]
    assert start.data["arguments"] == "{'at': <class 'object'>}"
    assert error.data["error"] == {"type": "ArgumentError", "message": "arguments: type is no JSON", "rejected": True}
    assert outcome.data == {"run": "r1", "kind": "7", "reason": "['x']", "text": "\udc80"}


def test_an_agent_that_told_of_its_failure_itself_is_not_told_on_again():
    def tells_and_raises(bench, given):
        yield {"type": "RUN_ERROR", "message": "no idea"}
        raise ValueError("no idea")

    recording = played(tells_and_raises)
    assert [r.data["event"]["type"] for r in recording.records if r.kind == "agent/event"] == ["RUN_ERROR"]
    assert recording.records[-2].kind == "agent/raised"


class Ends(Exception):  # noqa: N818 - what its text does
    def __str__(self):
        raise SystemExit(0)


@pytest.mark.parametrize(
    "error", [SystemExit(0), KeyboardInterrupt(), StopIteration(), GeneratorExit(), Ends(), BaseException("x")]
)
def test_whatever_comes_out_of_opening_a_session_is_the_agents(error):
    def raises(bench):
        raise error

    async def run():
        async with connected(InProcessAgent(AgentInfo("odd"), raises)) as one:
            await play(one, scenario(PLAN), Cell(), dialect({}))

    with pytest.raises(AgentError, match=f"opening a session raised {type(error).__name__}"):
        asyncio.run(run())


def test_an_exception_whose_text_ends_the_process_ends_only_its_run():
    def ends(bench, given):
        yield from ()
        raise Ends

    raised = next(r for r in played(ends).records if r.kind == "agent/raised")
    assert raised.data["message"] == "(its message cannot be read)"


@pytest.mark.parametrize(
    ("info", "says"),
    [
        ({"name": b"x"}, "name is b'x': bytes is no JSON"),
        ({"channels": 5}, "channels is 5, expected a tuple of texts"),
        ({"dialect": []}, "dialect is [], expected a mapping"),
        ({"capabilities": {"sessions": object}}, "capabilities is {'sessions': <class 'object'>}: type is no JSON"),
        ({"profile": 7}, "profile is 7, expected a text or None"),
    ],
)
def test_an_info_of_other_types_is_refused_with_the_field(info, says):
    async def reach():
        async with connected(InProcessAgent(AgentInfo(**{"name": "odd"} | info), None)):
            pass

    with pytest.raises(AgentError) as refused:
        asyncio.run(reach())
    assert says in str(refused.value)


def test_what_an_agent_does_to_its_input_is_no_part_of_what_it_was_given():
    def rewrites(bench, given):
        given.input["messages"][0]["content"] = object()
        given.input.clear()
        yield Outcome("answered")

    assert played(rewrites).records[0].data["input"]["messages"][0]["content"] == "What is it?"


@pytest.mark.parametrize("delay", [float("inf"), float("nan"), 1e300, -5])
def test_no_delay_takes_the_clock_beyond_what_can_be_written(delay):
    def sleeps(bench, given):
        bench.sleep(delay)
        bench.now().isoformat()
        yield Outcome("answered")

    assert last(played(sleeps))["how"] == "returned"


def test_an_endless_log_ends_at_the_cap_of_records():
    over = threading.Event()

    def logs(bench, given):
        while not over.is_set():
            logging.getLogger("agent").debug("again")
            yield from ()

    # The cap, and not the total time, which on a busy machine would come first.
    recording = played(logs, PLAN | {"deadline_s": 5}, channels=("M", "L"))
    # Its thread would log on, and slow down every test behind this one.
    over.set()
    assert last(recording)["how"] == "cap"
