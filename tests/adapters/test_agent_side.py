"""`python -m conformance.agent_side`: an agent written for the kit's process does the same in one of its own."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest
import served_agents

from conformance.adapters import command, in_process
from conformance.adapters.process import Patience
from conformance.agent_side.serving import KEPT_SESSIONS
from conformance.certify import certify
from conformance.cli.chosen import CORE
from conformance.dialect import dialect
from conformance.errors import AgentError
from conformance.loading.loader import bundled, load_all
from conformance.rules import RULES
from conformance.runner import Cell, declared, play
from conformance.scenario import scenario

HERE = Path(__file__).parent
SERVE = (sys.executable, "-m", "conformance.agent_side")
PATIENCE = Patience(ready_s=20, term_s=0.2)
PLAN = {
    "id": "served",
    "title": "Is asked.",
    "why": "A test asks.",
    "deadline_s": 5,
    "tools": {
        "look": {
            "description": "Looks.",
            "parameters": {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]},
            "returns": {"height_cm": 142},
        },
        "fall": {
            "description": "Falls.",
            "parameters": {"type": "object"},
            "raises": {"type": "KeyError", "message": "no"},
        },
    },
    "runs": [{"user": "Well?", "model": [{"say": "Fine.", "repeat": "forever"}]}],
}
FAILING = {
    "status": {"error": {"status": 429, "code": "rate_limited", "retry_after": 3}},
    "reset": {"say": "Half of it.", "cut": {"after_chunks": 1, "reset": True}},
}


def served(name):
    return command.connected(command.Program((*SERVE, f"served_agents:{name}"), cwd=HERE), PATIENCE)


def here(name):
    return in_process.connected(getattr(served_agents, name))


async def _played(connection, plan):
    async with connection as agent:
        return await play(agent, scenario(plan), Cell(), declared(agent.info))


def played(name, plan=PLAN):
    return asyncio.run(_played(served(name), plan))


def said_by(model):
    return PLAN | {"runs": [{"user": "Well?", "model": [model]}]}


def of(recording, kind):
    return [record.data for record in recording.records if record.kind == kind]


def without_ids(recording):
    """What the agent is seen to do: kinds of records, what it claims and what it raised."""
    ends = [
        {key: data[key] for key in ("kind", "reason", "text", "exception", "message", "how") if key in data}
        for record in recording.records
        if (data := record.data) and record.kind in ("agent/outcome", "agent/raised", "kit/run_end")
    ]
    return [record.kind for record in recording.records], ends


ASKING = ("blocking", "streaming", "asynchronous", "asynchronous_streaming", "a_coroutine")
SDK = ("sdk_on_httpx2", "sdk_on_httpx", "async_sdk_on_httpx2", "async_sdk_on_httpx")
TOOLS = ("tells_what_its_tools_gave", "tells_what_its_async_tools_gave")
ENDING = ("raises", "raises_async", "exits", "exits_async", "raises_what_cannot_be_read", "says_nothing")


@pytest.mark.parametrize("way", [*ASKING, *SDK])
def test_however_an_agent_asks_its_model_it_gets_the_answer(way):
    assert of(played(f"A_{way}"), "agent/outcome") == [
        {"run": "r1", "kind": "answered", "reason": None, "text": "Fine."}
    ]


@pytest.mark.parametrize("way", [*ASKING, *TOOLS, *ENDING, "yields_half_a_surrogate_pair"])
def test_an_agent_does_the_same_in_a_process_of_its_own(way):
    assert without_ids(played(f"A_{way}")) == without_ids(asyncio.run(_played(here(f"A_{way}"), PLAN)))


@pytest.mark.parametrize("asks", ["model", "stream", "async_stream"])
@pytest.mark.parametrize(
    ("failure", "raised"), [("status", "ModelError 429 rate_limited 3"), ("reset", "StreamBroken")]
)
def test_what_the_model_raises_is_what_it_raises_in_the_kits_process(asks, failure, raised):
    name, plan = f"A_tells_what_its_{asks}_raised", said_by(FAILING[failure])
    outcomes = [
        of(recording, "agent/outcome") for recording in (played(name, plan), asyncio.run(_played(here(name), plan)))
    ]
    assert [[one["reason"] for one in outcome] for outcome in outcomes] == [[raised], [raised]]


def test_a_tool_gives_its_result_or_raises_and_says_whether_it_refused_its_arguments():
    recording = played("A_tells_what_its_tools_gave")
    assert of(recording, "agent/outcome")[0]["text"].split(" | ") == [
        "{'height_cm': 142}",
        "{'height_cm': 142}",
        "ArgumentError rejected=True",
        "KeyError rejected=False",
        "UnknownTool rejected=True",
    ]
    assert [start["call_id"] for start in of(recording, "tool/start")] == [None, "call_é1", None, None, None]


@pytest.mark.parametrize(
    ("way", "exception", "message"),
    [
        ("raises", "KeyError", "'no idea'"),
        ("raises_async", "KeyError", "'no idea'"),
        ("exits", "SystemExit", "7"),
        ("exits_async", "SystemExit", "7"),
        ("raises_what_cannot_be_read", "Unreadable", "cannot be read"),
        ("yields_what_is_no_event", "TypeError", "yielded 42, expected AG-UI events and, last, one Outcome"),
        ("yields_what_is_no_json", "TypeError", "object is not JSON serializable"),
        ("yields_a_number_that_json_has_not", "ValueError", "not JSON compliant"),
        ("yields_an_event_beyond_the_line_limit", "ValueError", "at most 8388608"),
        ("claims_twice", "TypeError", "one Outcome"),
        ("gives_an_outcome_that_is_no_iterator", "TypeError", "not iterable"),
    ],
)
def test_what_ends_a_run_by_raising_ends_that_run_alone(way, exception, message):
    plan = PLAN | {"runs": PLAN["runs"] * 2}
    recording = played(f"A_{way}", plan)
    assert [end["how"] for end in of(recording, "kit/run_end")] == ["raised", "raised"]
    for raised in of(recording, "agent/raised"):
        assert raised["exception"] == exception
        assert message in raised["message"]


def test_an_agent_that_cannot_open_a_session_raises_in_its_run():
    assert of(played("UNOPENED"), "agent/raised")[0]["message"] == "no database"


def test_no_outcome_at_all_is_no_outcome():
    recording = played("A_says_nothing")
    assert of(recording, "agent/outcome") == []
    assert of(recording, "kit/run_end")[0]["how"] == "returned"


def test_a_claim_that_is_no_text_is_shown_instead():
    assert of(played("A_claims_what_is_no_text"), "agent/outcome") == [
        {"run": "r1", "kind": "7", "reason": "['r']", "text": "b'bytes'"}
    ]


def test_what_is_printed_by_whomever_goes_to_stderr_and_stdin_is_the_protocols_own():
    plan = PLAN | {"deadline_s": 0.5, "runs": PLAN["runs"] * 2}
    ends = of(played("A_prints", plan), "kit/run_end")
    assert [end["how"] for end in ends] == ["returned", "hung"]
    printed = ends[1]["stderr_tail"].splitlines()
    assert printed == [
        *("printed at import", "written at import"),
        *["printed in a run", "written in a run", "printed by a child", "read"] * 2,
    ]


def test_logs_come_on_channel_l_while_the_run_lasts():
    assert [(one["level"], one["logger"], one["message"]) for one in of(played("LOGS"), "agent/log")] == [
        ("DEBUG", "agent.loop", "round 1"),
        ("WARNING", "agent.loop", "%d is no number"),
    ]


def test_a_cancelled_run_still_gives_its_terminal_event_and_its_result():
    async def cancelled():
        async with served("WAITING") as agent:
            sent = []

            def take(record):
                if record.kind == "agent/event" and not sent:
                    sent.append(agent.cancel(None, "r1"))

            return await play(agent, scenario(PLAN), Cell(), dialect({}), lambda _header: take)

    recording = asyncio.run(cancelled())
    assert [event["event"]["type"] for event in of(recording, "agent/event")] == ["RUN_STARTED", "RUN_FINISHED"]
    assert [one["kind"] for one in of(recording, "agent/outcome")] == ["interrupted"]
    assert of(recording, "kit/run_end")[0]["how"] == "returned"


def spoken(name, *messages):
    """A conversation by hand: what the agent says to these messages, its stderr and its exit code."""
    lines = "".join(json.dumps(message) + "\r\n" for message in messages)
    done = subprocess.run(
        [*SERVE, f"served_agents:{name}"],
        input=lines,
        capture_output=True,
        text=True,
        cwd=HERE,
        timeout=60,
        check=False,
    )
    return [json.loads(line) for line in done.stdout.splitlines()], done.stderr, done.returncode


HELLO = {"type": "hello", "protocol": 1, "kit": "0", "more": "than is known"}


def run(number, session):
    model = {"wire": "openai_chat", "base_url": "http://127.0.0.1:9/v1", "name": "m", "api_key": "k"}
    rest = {"limits": {}, "stream": False, "clock": "2026-03-01T12:00:00+00:00", "deadline_s": 5, "more": 1}
    given = {"messages": [], "tools": []}
    return {"type": "run", "run": f"r{number}", "session": session, "input": given, "model": model, **rest}


def test_hello_is_answered_by_who_the_agent_is():
    [ready], _, code = spoken("A_blocking", HELLO)
    assert (ready["type"], ready["protocol"], ready["agent"]["name"], code) == ("ready", 1, "blocking", 0)


@pytest.mark.parametrize("last", [[{"type": "bye"}], []], ids=["bye", "the kit is gone"])
def test_the_agent_ends_and_closes_its_sessions_when_the_kit_says_bye_or_is_gone(last):
    said, err, code = spoken("CLOSING", HELLO, run(1, "s1"), run(2, "s2"), *last)
    assert [(one["type"], one.get("run")) for one in said[1:]].count(("error", "r1")) == 1
    assert {one.get("run") for one in said[1:] if one["type"] == "error"} == {"r1", "r2"}
    assert err.count("closed\n") == 2
    assert code == 0


def test_unknown_messages_and_a_cancel_of_nobody_are_ignored():
    said, _, code = spoken("A_says_nothing", {"type": "weather"}, {"type": "cancel", "run": "r9"}, HELLO, run(1, "s1"))
    assert [one["type"] for one in said] == ["ready", "result"]
    assert code == 0


def test_old_sessions_are_closed_since_nobody_says_that_they_are_over():
    runs = [run(number, f"s{number}") for number in range(KEPT_SESSIONS + 3)]
    _, err, _ = spoken("CLOSING", HELLO, *runs)
    assert err.count("closed\n") == KEPT_SESSIONS + 3


def _threads(supervisor):
    """How many threads the one process has that the supervisor holds."""
    [pid] = Path(f"/proc/{supervisor}/task/{supervisor}/children").read_text("ascii").split()
    return len(list(Path(f"/proc/{pid}/task").iterdir()))


def test_a_session_beyond_those_that_are_kept_open_holds_no_thread():
    plan = PLAN | {"runs": [{"user": "Well?", "session": "s1", "model": [{"say": "Fine."}]}]}

    async def many():
        async with served("CLOSING") as agent:
            for _ in range(KEPT_SESSIONS * 2):
                await play(agent, scenario(plan), Cell(), dialect({}))
            return _threads(agent._line.process._process.pid)

    assert asyncio.run(many()) <= KEPT_SESSIONS + 3


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("no_such_module:AGENT", "there is no module 'no_such_module' in the current folder"),
        ("served_agents:MISSING", "'MISSING' is NoneType, expected an InProcessAgent"),
        ("served_agents:NO_AGENT", "'NO_AGENT' is object, expected an InProcessAgent"),
    ],
)
def test_an_agent_that_is_not_there_is_named_where_the_kit_shows_it(spec, message):
    async def never():
        async with command.connected(command.Program((*SERVE, spec), cwd=HERE), PATIENCE):
            raise AssertionError("it is open")

    with pytest.raises(AgentError, match="ended before it said ready") as raised:
        asyncio.run(never())
    assert message in str(raised.value)


def test_the_reference_gets_the_same_verdicts_by_command_as_by_python():
    # Where a request fails the reference waits before the next attempt, and in a process of its own it does so in real time.
    def fails(plan):
        return any({"error", "cut", "stall"} & set(turn) for run in plan.data["runs"] for turn in run["model"])

    # A cancel is a race over a wire, which the agent may lose.
    def races(plan):
        return any(run.cancel is not None for run in plan.runs)

    plans = [plan for plan in load_all(bundled()) if CORE in plan.tags and not fails(plan) and not races(plan)]
    assert len(plans) > 60
    name = "conformance.reference.agent:REFERENCE"

    # Whether a word to stop comes before or after what the agent does next is a race over a pipe: either order conforms, but they
    # do not show the same.
    raced = {plan.id for plan in plans if any("cancel" in run for run in plan.data["runs"])}

    def verdicts(spec):
        report = asyncio.run(certify(spec, plans, RULES))
        return {
            (entry.scenario, entry.cell): (
                entry.verdict,
                [(one.rule, one.verdict, one.reason) for one in entry.results if entry.scenario not in raced],
            )
            for entry in report.entries
        }

    by_command = verdicts(f"command:{sys.executable} -m conformance.agent_side {name}")
    assert by_command == verdicts(f"python:{name}")
