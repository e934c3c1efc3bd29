"""A journal can be read at any moment: every beginning of a session's records is a whole recording."""

import asyncio
import gc
import tracemalloc
from datetime import UTC, datetime

import pytest
from serve_bench import PLANS, play, standing

from conformance.again import check
from conformance.dialect import dialect
from conformance.recorder import Recorder
from conformance.recording import Record, dumps, from_bytes, loads
from conformance.serving.journal import journal
from conformance.serving.plans import persona_plan
from conformance.serving.sessions import Manner, Sessions
from fake_models.personas import Persona
from fake_models.server import Server

UNDER = dialect({})


async def played():
    """The session's own records of an honest play of two runs at once, by turns."""
    async with standing("tide", "two", "echo") as there:
        for name, numbers in (("tide", [0]), ("two", [1, 0])):
            session = (await there.control("GET", f"/{name}")).json()
            for number in numbers:
                await play(there, session, PLANS[name], number)
        for text in ("one", "two", "two"):
            await there.said(there.chat("echo"), text)
        return {
            name: [
                record
                for record in from_bytes((await there.control("GET", f"/{name}/journal")).content).records
                if record.source != "kit"
            ]
            for name in ("tide", "two", "echo")
        }


RECORDS = asyncio.run(played())


@pytest.mark.parametrize(
    ("name", "count"), [(name, count) for name, records in RECORDS.items() for count in range(len(records) + 1)]
)
def test_every_beginning_is_a_recording_that_can_be_read_and_judged(name, count):
    plan = PLANS.get(name) or persona_plan(Persona(name))
    recording = journal(plan, RECORDS[name][:count], UNDER, chunking="whole")
    assert loads(dumps(recording)).records == recording.records
    check(recording, name)
    begun = [record.data["run"] for record in recording.records if record.kind == "kit/run_start"]
    ended = [record.data["run"] for record in recording.records if record.kind == "kit/run_end"]
    assert sorted(begun) == sorted(ended)
    assert [record for record in recording.records if record.source != "kit"] == [
        Record(seq, one.at_s, one.source, one.type, one.data)
        for seq, one in zip(
            [record.seq for record in recording.records if record.source != "kit"], RECORDS[name][:count], strict=True
        )
    ]


def test_tools_that_were_asked_for_elsewhere_are_not_missed():
    without = [record for record in RECORDS["tide"] if record.source == "model"]
    assert journal(PLANS["tide"], without, UNDER, chunking="whole").header.channels == ("M",)
    assert journal(PLANS["tide"], RECORDS["tide"], UNDER, chunking="whole").header.channels == ("M", "T")


def test_a_question_that_goes_on_from_a_stored_response_begins_no_conversation_of_its_own():
    records = []
    for call, sent in (("m1", {"input": "one"}), ("m2", {"input": "two", "previous_response_id": "resp_m1"})):
        asked = {"run": "r1", "call": call, "wire": "openai_responses", "path": "/v1/responses", "body": sent}
        said = {"type": "text", "text": "yes"}
        told = {"call": call, "id": f"resp_{call}", "status": 200, "parts": [said], "stop": "stop", "fault": None}
        records += [Record(0, 0.0, "model", "request", asked), Record(0, 0.0, "model", "reply", told)]
    recording = journal(persona_plan(Persona("echo")), records, UNDER, chunking="whole")
    begun = [record.data["run"] for record in recording.records if record.kind == "kit/run_start"]
    assert begun == ["r1"]


def test_a_recorder_that_holds_few_counts_on_and_says_how_many_went():
    recorder = Recorder(datetime(2026, 1, 1, tzinfo=UTC), most=3)
    assert [recorder("model", "request", {}) for _ in range(5)] == [1, 2, 3, 4, 5]
    assert ([record.seq for record in recorder.records], recorder.seen, recorder.dropped) == ([3, 4, 5], 5, 2)


def test_a_recorder_that_holds_few_bytes_lets_the_oldest_go():
    recorder = Recorder(datetime(2026, 1, 1, tzinfo=UTC), most=100, most_bytes=100)
    for source, kind, data in (
        ("model", "request", {"bytes": 60}),
        ("model", "reply", {"bytes": 0}),
        ("model", "reply_done", {"bytes": 30}),
        ("tool", "result", {"result": "x" * 20}),
        ("model", "request", {"bytes": 20}),
    ):
        recorder(source, kind, data)
    # The tool's record is {"result": "xx..."}: 34 bytes as JSON, so that without the first there are 84.
    assert ([record.seq for record in recorder.records], recorder.dropped) == ([2, 3, 4, 5], 1)


@pytest.mark.parametrize("name", ["echo", "looper", "chaos"])
def test_memory_stays_flat_however_often_a_model_is_asked(name):
    tool = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
    body = {"model": "m", "messages": [{"role": "user", "content": "Hello?"}], "tools": [tool]}
    sessions = Sessions(Server(), Manner(UNDER, most_records=100))
    model = sessions.open(persona_plan(Persona(name)), name).session.model

    def asked(times):
        for _ in range(times):
            exchange = model.exchange("openai_chat", "/v1/chat/completions", body, {})
            model.done(exchange.call, 1, "kit")
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        warm = asked(300)
        assert asked(600) - warm < 10_000
    finally:
        tracemalloc.stop()
