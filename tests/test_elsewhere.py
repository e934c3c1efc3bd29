"""Scenarios played in a child process: it is not asked for ever for an agent that hangs there as well."""

import asyncio
import json

import pytest

from conformance import elsewhere
from conformance.cell import Cell
from conformance.elsewhere import FAILED, child
from conformance.errors import AgentError
from conformance.recording import Header, Recording, dumps
from conformance.scenario import scenario

PLAN = scenario(
    {
        "id": "tiny",
        "title": "Is asked.",
        "why": "A test asks.",
        "runs": [{"user": "Well?", "model": [{"say": "Fine."}]}],
    }
)
RECORDING = {"recording": dumps(Recording(Header("0", PLAN.data, {"name": "tiny"}), ())), "stuck": True}
HUNG = {"error": "a session was not open", "stuck": True}
REFUSED = {"error": "no key is set", "stuck": False}


@pytest.fixture
def answers(tmp_path, monkeypatch):
    """A function that makes the children give these answers, one each to what they are asked, whichever of them is asked."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(elsewhere, "CHILD", "answering")

    def write(*told):
        (tmp_path / "told").write_text("".join(json.dumps(one) + "\n" for one in told), "utf-8")
        (tmp_path / "answering.py").write_text(
            "import pathlib, sys\n"
            "told = pathlib.Path('told')\n"
            "for _ in sys.stdin:\n"
            "    answer, _, rest = told.read_text().partition('\\n')\n"
            "    told.write_text(rest)\n"
            "    print(answer, flush=True)\n",
            "utf-8",
        )

    return write


def played(times):
    """What came of each play: None for a recording, else the error."""

    async def one(play):
        try:
            await play(PLAN, Cell())
        except AgentError as error:
            return str(error)
        return None

    async def every():
        async with child("python:a:B", None) as play:
            return [await one(play) for _ in range(times)]

    return asyncio.run(every())


def test_after_hangs_in_a_row_the_rest_is_not_asked_for(answers):
    answers(*[HUNG] * 9)
    told = played(FAILED + 2)
    assert told[:FAILED] == ["a session was not open"] * FAILED
    assert told[FAILED:] == [f"scenario 'tiny': the agent hung {FAILED} times in a row; it is not tried again"] * 2


def test_a_recording_or_a_refusal_is_no_hang(answers):
    answers(HUNG, HUNG, RECORDING, HUNG, REFUSED, HUNG, RECORDING)
    assert played(7) == ["a session was not open"] * 2 + [
        None,
        "a session was not open",
        "no key is set",
        "a session was not open",
        None,
    ]
