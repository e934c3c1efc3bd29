"""Cells: which ones an agent is played in, and what they are called."""

import pytest

from conformance.agent_side import AgentInfo
from conformance.cell import MOST_PLAYS, Cell, bounded, cells_of, is_cell
from conformance.errors import SpecError

STREAMS = {"streaming": True}


def names(info, *given):
    return [cell.name for cell in cells_of(info, *given)]


@pytest.mark.parametrize(
    ("info", "given", "expected"),
    [
        (AgentInfo("a"), (), ["blocking"]),
        (AgentInfo("a", capabilities=STREAMS), (), ["blocking", "streaming/whole"]),
        (AgentInfo("a", wires=("ollama", "openai_chat")), (), ["ollama/blocking"]),
        (AgentInfo("a", wires=("ollama", "openai_chat")), (["all"],), ["ollama/blocking", "blocking"]),
        (AgentInfo("a", wires=("ollama", "openai_chat")), (["openai_chat", "openai_chat"],), ["blocking"]),
        (
            AgentInfo("a", capabilities=STREAMS),
            ((), ["token", "adversarial:7"]),
            ["blocking", "streaming/token", "streaming/adversarial:7"],
        ),
        (
            AgentInfo("a", capabilities=STREAMS),
            ((), ["adversarial:7", "all", "token"]),
            [
                *("blocking", "streaming/adversarial:7", "streaming/whole", "streaming/token", "streaming/character"),
                "streaming/byte",
            ],
        ),
    ],
)
def test_an_agent_is_played_in(info, given, expected):
    assert names(info, *given) == expected


def test_a_wire_that_the_agent_does_not_speak_is_refused():
    with pytest.raises(SpecError, match=r"agent 'a' speaks openai_chat"):
        cells_of(AgentInfo("a"), ["gemini"])


def test_a_chunking_is_refused_where_no_cell_is_streamed():
    with pytest.raises(SpecError, match=r"agent 'a' does not declare `streaming`, .* --chunking changes nothing"):
        cells_of(AgentInfo("a"), (), ["token"])


@pytest.mark.parametrize("name", ["tokens", "adversarial", "adversarial:x"])
def test_a_chunking_that_there_is_not_is_refused_with_those_there_are(name):
    with pytest.raises(SpecError, match=rf"chunking '{name}' is not known; expected one of whole, .*adversarial:SEED"):
        cells_of(AgentInfo("a", capabilities=STREAMS), (), [name])


@pytest.mark.parametrize(
    "cell", [Cell(), Cell(stream=True), Cell(stream=True, chunking="adversarial:12"), Cell(wire="openai_chat")]
)
def test_what_a_cell_is_called_is_the_name_of_a_cell(cell):
    assert is_cell(cell.name)


@pytest.mark.parametrize("name", ["", "whole", "streaming", "smoke/blocking", "blocking/whole", "streaming/whole:"])
def test_this_is_no_cell(name):
    assert not is_cell(name)


def test_as_many_plays_as_one_command_makes_are_taken_and_one_more_is_refused_with_the_product():
    cells = (Cell(), Cell(stream=True))
    assert bounded(cells, MOST_PLAYS // 4, 2) == cells
    with pytest.raises(SpecError, match=r"20004 plays were asked for \(5001 scenarios x 2 cells x 2 repeats\)"):
        bounded(cells, MOST_PLAYS // 4 + 1, 2)
