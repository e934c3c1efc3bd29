"""The reference meets every fault a model can have and stays honest: it breaks no rule, and ends as the contract says."""

import asyncio
from collections import Counter

import pytest

from conformance.adapters.in_process import connected
from conformance.cell import Cell
from conformance.judge import Verdict, judge
from conformance.loading import lint, schema_check
from conformance.reference.agent import reference
from conformance.rules import BY_ID, RULES
from conformance.runner import declared, play
from conformance.scenario import scenario
from fake_models.wire.openai_chat_quirks import QUIRKS

ONE = {"type": "object", "properties": {"at": {"type": "string"}}, "additionalProperties": False}
TOOLS = {
    "look": {"description": "Looks.", "parameters": ONE, "returns": {"seen": "C-17"}},
    "send": {"description": "Sends.", "parameters": ONE, "returns": {"sent": "S-4"}},
}
CALLS = {"say": "I look.", "call": [{"name": "look", "args": {"at": "Oslo"}}, {"name": "send", "args": {"at": "x"}}]}
DONE = {"say": "done: {{ result.look.seen }}, {{ result.send.sent }}", "usage": {"input": 9, "output": 2}}
CHUNKINGS = ("whole", "token", "character", "byte", "adversarial:5")


def scripted(*turns, max_iters=6):
    run = {"user": "Look at Oslo.", "model": list(turns)}
    data = {"id": "x", "title": "t", "why": "w", "tools": TOOLS, "limits": {"max_iters": max_iters}, "runs": [run]}
    assert schema_check.problems(data) == []
    plan = scenario(data)
    assert lint.problems(plan, BY_ID) == []
    return plan


def judged(plan, cell, **dialect):
    async def played():
        async with connected(reference(dialect)) as agent:
            return judge(await play(agent, plan, cell, declared(agent.info)), RULES)

    judgement = asyncio.run(played())
    broken = [result for result in judgement.results if result.verdict in (Verdict.FAIL, Verdict.WARN)]
    assert {result.rule.id: [finding.message for finding in result.findings] for result in broken} == {}
    return judgement.view


def outcome(seen):
    return seen.runs[0].said.kind


def ran(seen):
    return Counter(one.tool for one in seen.executions)


USED = {"usage": {"input": 20, "output": 4}}
STREAMING = [Cell(stream=True, chunking=name) for name in CHUNKINGS]
CELLS = [Cell(), *STREAMING]


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.name)
@pytest.mark.parametrize("quirk", [None, *(name for name in QUIRKS if name != "finish_missing")])
def test_each_call_of_a_quirky_reply_runs_once_and_its_results_are_told(quirk, cell):
    seen = judged(scripted(CALLS | USED | ({} if quirk is None else {"quirks": [quirk]}), DONE), cell)

    assert ran(seen) == {"look": 1, "send": 1}
    assert (outcome(seen), seen.runs[0].said.text) == ("answered", "done: C-17, S-4")
    assert len(seen.runs[0].calls) == 2


#: Quirks that change something where nothing is called.
OF_A_TEXT = ("finish_missing", "no_final_marker", "usage_cumulative", "usage_null")


@pytest.mark.parametrize("quirk", OF_A_TEXT)
@pytest.mark.parametrize("cell", [Cell(), Cell(stream=True)], ids=lambda cell: cell.name)
def test_a_quirky_answer_is_an_answer(quirk, cell):
    seen = judged(scripted({"say": "It is 42.", "quirks": [quirk], "repeat": "forever"} | USED), cell)

    doubtful = quirk == "finish_missing" and cell.stream
    assert outcome(seen) == ("model_error" if doubtful else "answered")


@pytest.mark.parametrize("first", [CALLS, {"say": "It is 42."}], ids=["calls", "text"])
def test_a_stream_without_a_finish_reason_is_asked_for_again_and_nothing_of_it_runs(first):
    seen = judged(scripted(first | {"quirks": ["finish_missing"]}, CALLS, DONE), Cell(stream=True))

    assert [call.kind for call in seen.runs[0].calls] == ["regular", "attempt", "regular"]
    assert ran(seen) == {"look": 1, "send": 1}
    assert outcome(seen) == "answered"


FAULTS = {
    "refused": {"refuse": True},
    "overloaded in mid-text": {"say": "It is", "error_event": {"status": 529, "after_chunks": 2}},
    "a rate limit in mid-call": CALLS | {"error_event": {"status": 429, "after_chunks": 4}},
    "a server error at once": {"error_event": {"status": 500}},
    "reset": {"say": "It is", "cut": {"after_chunks": 2, "reset": True}},
}


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.name)
@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_what_may_pass_is_asked_again_and_then_answered(fault, cell):
    seen = judged(scripted(fault, CALLS, DONE), cell)

    assert [call.kind for call in seen.runs[0].calls] == ["regular", "attempt", "regular"]
    assert (outcome(seen), ran(seen)) == ("answered", {"look": 1, "send": 1})


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.name)
@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_what_does_not_pass_ends_as_the_models_error(fault, cell):
    seen = judged(scripted(fault | {"repeat": "forever"}), cell)

    assert [call.kind for call in seen.runs[0].calls] == ["regular", "attempt"]
    assert (outcome(seen), ran(seen)) == ("model_error", {})


FINAL = {
    "a wrong request": {"say": "It", "error_event": {"status": 400, "after_chunks": 1}},
    "no more to spend": {"say": "It", "error_event": {"status": 429, "after_chunks": 1, "code": "insufficient_quota"}},
}


@pytest.mark.parametrize("cell", [Cell(), Cell(stream=True)], ids=lambda cell: cell.name)
@pytest.mark.parametrize("fault", FINAL.values(), ids=FINAL)
def test_what_will_not_pass_is_not_asked_again(fault, cell):
    seen = judged(scripted(fault | {"repeat": "forever"}), cell)

    assert len(seen.runs[0].calls) == 1
    assert outcome(seen) == "model_error"


@pytest.mark.parametrize("spelling", ["provider", "openai", "responses", "anthropic", "gemini", "ollama", "code"])
def test_every_spelling_of_an_overflow_is_known_for_one(spelling):
    seen = judged(scripted({"overflow": spelling, "repeat": "forever"}), Cell())

    assert outcome(seen) == "overflow"


@pytest.mark.parametrize("cell", [Cell(), Cell(stream=True)], ids=lambda cell: cell.name)
def test_a_finish_reason_that_nobody_knows_changes_nothing(cell):
    seen = judged(scripted(CALLS | {"finish": "out_of_luck"}, DONE | {"finish": "end"}), cell)

    assert (outcome(seen), ran(seen)) == ("answered", {"look": 1, "send": 1})


def test_a_slow_stream_takes_the_scenarios_time():
    seen = judged(scripted({"say": "It is 42.", "wait_s": 3, "pace_s": 2}), Cell(stream=True))
    at = {record.kind: record.at_s for record in seen.recording.records}

    # Opening, text, finish: two pauses behind the wait; the usage and the sentinel come with two more.
    assert at["model/reply_done"] >= 3 + 2 * 2
    assert outcome(seen) == "answered"
