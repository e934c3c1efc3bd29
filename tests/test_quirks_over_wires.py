"""A scenario that asks for a quirk is played on the wires that can have it, and on no other."""

import asyncio

import pytest

from conformance.adapters.in_process import connected
from conformance.cell import Cell
from conformance.errors import AgentError
from conformance.reference import reference
from conformance.runner import declared, play, play_all
from conformance.scenario import scenario

#: Only where calls have an index can all of them stand on the first.
ASKS = scenario(
    {
        "id": "asks",
        "title": "t",
        "why": "w",
        "runs": [{"user": "Hello?", "model": [{"say": "Hello.", "quirks": ["index_zero"]}]}],
    }
)
CHAT, RESPONSES = Cell(stream=True), Cell(stream=True, wire="openai_responses")


async def elsewhere(plan, cell):
    raise AssertionError(f"{plan.id} was not to be played elsewhere")


def cells_played(cells):
    async def run():
        async with connected(reference()) as agent:
            under = declared(agent.info)
            return [one async for one in play_all(agent, [ASKS], under, cells=cells, elsewhere=elsewhere)]

    return [(one.cell, one.error, one.excused) for one in asyncio.run(run())]


def test_a_cell_whose_wire_cannot_have_it_is_left_out():
    assert cells_played([CHAT, RESPONSES]) == [(CHAT, None, None)]


def test_where_no_cell_can_have_it_the_scenario_is_not_played_and_the_play_says_why():
    assert cells_played([RESPONSES]) == [(RESPONSES, None, "wire with index_zero")]


def test_a_play_of_its_own_is_refused():
    async def run():
        async with connected(reference()) as agent:
            await play(agent, ASKS, RESPONSES, declared(agent.info))

    with pytest.raises(AgentError, match="index_zero"):
        asyncio.run(run())
