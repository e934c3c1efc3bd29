"""The end of a streamed reply waits for its agent to show what was said: over a wire, where nothing else would tell the order."""

import asyncio
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from agui_reference import ReferenceApp, served

from conformance.adapters import agui, command
from conformance.adapters.process import Patience
from conformance.agent_side import RunInput
from conformance.dialect import dialect
from conformance.judge import judge
from conformance.reading.joined import view
from conformance.recorder import Recorder
from conformance.rule import OK
from conformance.rules.streaming import RULES, deltas_go_out
from conformance.runner import Cell, play
from conformance.scenario import scenario
from conformance.session import Session

HERE = Path(__file__).parent
#: So long that a run in which it passes has hung.
FOR_EVER_S = 600.0
AT_ONCE_S = 0.001
STREAMED = Cell(stream=True)


def plan(*turns, **more):
    run = {"user": "Well?", "model": list(turns) or [{"say": "It is fine."}]}
    return scenario({"id": "shown", "title": "t", "why": "w", "deadline_s": 20, "runs": [run], **more})


def played(name, cell, shown_s, *turns):
    serve = (sys.executable, "-m", "conformance.agent_side", f"showing_agents:{name}")

    async def run():
        program = command.Program(serve, cwd=HERE)
        async with command.connected(program, Patience(term_s=0.2), shown_s=shown_s) as agent:
            return await play(agent, plan(*turns), cell, dialect({}))

    return asyncio.run(run())


def order(recording):
    """How the reply and what was shown of it came: the records without those of the run and the message around them."""
    seen = [
        record.data["event"]["type"] if record.kind == "agent/event" else record.kind for record in recording.records
    ]
    return [one for one in seen if one in ("model/reply", "TEXT_MESSAGE_CONTENT", "model/reply_done")]


def ends(recording):
    return [record.data["how"] for record in recording.records if record.kind == "kit/run_end"]


def str_4(recording):
    return [one is OK for one in deltas_go_out(view(recording))]


@pytest.mark.parametrize("chunking", ["whole", "character", "byte"])
def test_the_reply_of_an_agent_that_streams_on_is_over_once_it_has_shown_something(chunking):
    recording = played("STREAMS_ON", Cell(stream=True, chunking=chunking), FOR_EVER_S)
    seen = order(recording)
    assert seen[:2] == ["model/reply", "TEXT_MESSAGE_CONTENT"]
    assert seen.count("model/reply_done") == 1
    assert (ends(recording), str_4(recording)) == (["returned"], [True])


def test_an_agent_that_waits_for_the_end_gets_it_and_is_found_out_though_its_message_was_begun():
    recording = played("WAITS", STREAMED, AT_ONCE_S)
    assert order(recording) == ["model/reply", "model/reply_done", "TEXT_MESSAGE_CONTENT"]
    (found,) = deltas_go_out(view(recording))
    assert "the text of m1 is shown only when its reply was complete" in found.message
    assert str(judge(recording, RULES).of("STR-4").verdict) == "warn"


CUT = {"say": "It is fine.", "cut": {"after_bytes": 1_000_000}}


@pytest.mark.parametrize(
    ("name", "cell", "turn"),
    [("WAITS", Cell(), {"say": "It is fine."}), ("MUTE", STREAMED, {"say": "It is fine."}), ("WAITS", STREAMED, CUT)],
    ids=["is not streamed", "is of an agent without events", "breaks, or was to break"],
)
def test_nobody_waits_where_the_reply(name, cell, turn):
    recording = played(name, cell, FOR_EVER_S, turn)
    assert (ends(recording), str_4(recording)) == (["returned"], [])


def test_an_agent_behind_a_url_is_waited_for_as_well():
    async def run():
        async with served(ReferenceApp()) as url:
            spec = f"{url}#sessions,streaming,wire_streaming"
            async with agui.connect(spec, shown_s=FOR_EVER_S) as agent:
                return await play(agent, plan(), STREAMED, dialect({}))

    recording = asyncio.run(run())
    assert order(recording) == ["model/reply", "TEXT_MESSAGE_CONTENT", "model/reply_done"]
    assert (ends(recording), str_4(recording)) == (["returned"], [True])


# What is waited for, asked of the session itself.

LOOK = {"description": "Looks.", "parameters": {"type": "object"}, "returns": 1}
ASKED = {"model": "m", "messages": [{"role": "user", "content": "Well?"}], "stream": True}


def answered(*, shown_s=AT_ONCE_S, stream=True, turn=None, body=ASKED, headers=None):
    """A session whose agent has asked its model once, and the answer that is on its way."""
    one = plan(turn or {"say": "It is fine."}, tools={"look": LOOK})
    recorder = Recorder(datetime(2026, 1, 1, tzinfo=UTC))
    session = Session("s1", one, dialect({}), recorder)
    session.served("http://127.0.0.1:9/s/t", "t", shown_s=shown_s)
    session.begin(RunInput(run="r1", session="s1", input={}, stream=stream), one.runs[0])
    return session, session.model.exchange("openai_chat", "/v1/chat/completions", body, headers or {})


WAITED_FOR = {
    "a text": ({}, True),
    "a text beside a call": ({"turn": {"say": "I look.", "call": "look"}}, True),
    "a call alone, which many show when they run it": ({"turn": {"call": "look"}}, False),
    "a blank text": ({"turn": {"say": " ", "call": "look"}}, False),
    "nothing, where the run is not to stream": ({"stream": False}, False),
    "nothing, of a server that stands alone": ({"shown_s": None}, False),
    "nothing, beside the loop": ({"headers": {"x-conformance-call": "auxiliary"}}, False),
}


@pytest.mark.parametrize(("story", "waits"), WAITED_FOR.values(), ids=WAITED_FOR)
def test_what_is_waited_for_is(story, waits):
    _, exchange = answered(**story)
    assert (exchange.shown is not None) is waits


@pytest.mark.parametrize(
    ("kind", "shows"),
    [
        ("TEXT_MESSAGE_CONTENT", True),
        ("TEXT_MESSAGE_CHUNK", True),
        ("REASONING_MESSAGE_CONTENT", True),
        ("TOOL_CALL_START", True),
        ("TEXT_MESSAGE_START", False),
        ("STEP_STARTED", False),
        ([], False),
        (None, False),
    ],
)
def test_only_what_the_model_said_shows_a_reply(kind, shows):
    session, exchange = answered()
    session.hear("r2", {"type": "TEXT_MESSAGE_CONTENT"})
    session.hear("r1", {"type": kind})
    assert exchange.shown.is_open is shows
