"""docs/wires.md shows a client for every wire, and each asks its model in the kit's own process."""

import asyncio
import re
from pathlib import Path

import pytest

from conformance.adapters.in_process import connected
from conformance.agent_side import AgentInfo, InProcessAgent, Outcome
from conformance.cell import Cell
from conformance.dialect import dialect
from conformance.runner import play
from conformance.scenario import scenario
from fake_models.wire import CODECS

PAGE = (Path(__file__).parents[2] / "docs/wires.md").read_text("utf-8")
SNIPPETS = {
    wire: code
    for wires, code in re.findall(r"<!-- client: (.*?) -->\n```python\n(.*?)```", PAGE, re.DOTALL)
    for wire in wires.split(", ")
}
MESSAGES = [{"role": "user", "content": "Is the harbour open?"}]
#: How the client of a wire is asked, and its answer read.
ASKED = {
    "openai_chat": lambda client: (
        client.chat.completions.create(model="any", messages=MESSAGES).choices[0].message.content
    ),
    "openai_responses": lambda client: client.responses.create(model="any", input=MESSAGES).output_text,
    "anthropic_messages": lambda client: (
        client.messages.create(model="any", max_tokens=9, messages=MESSAGES).content[0].text
    ),
    "gemini": lambda client: client.models.generate_content(model="any", contents=MESSAGES[0]["content"]).text,
    "ollama": lambda client: client.chat(model="any", messages=MESSAGES).message.content,
}


def agent(wire, code, ask):
    class Session:
        def __init__(self, bench):
            self.names = {"bench": bench}

        def run(self, given):
            exec(code, self.names)
            yield Outcome("answered", text=ask(self.names["client"]))

    return InProcessAgent(AgentInfo("shown", wires=(wire,), channels=("M", "R")), Session)


async def played(wire, code, ask):
    run = {"user": MESSAGES[0]["content"], "model": [{"say": "Until ten."}]}
    plan = scenario({"id": "shown", "title": "t", "why": "w", "runs": [run]})
    async with connected(agent(wire, code, ask)) as one:
        return await play(one, plan, Cell(wire=wire), dialect({}))


def test_every_wire_has_its_client():
    assert SNIPPETS.keys() == CODECS.keys()


@pytest.mark.parametrize("wire", SNIPPETS)
def test_a_client_that_is_shown_asks_its_model_without_a_socket(wire):
    recording = asyncio.run(played(wire, SNIPPETS[wire], ASKED[wire]))
    [result] = [record.data for record in recording.records if record.kind == "agent/outcome"]
    assert result["text"] == "Until ten."
    assert [record.data["wire"] for record in recording.records if record.kind == "model/request"] == [wire]


def test_an_error_that_names_the_host_of_the_base_url_names_what_reaches_the_model():
    recording = asyncio.run(played("ollama", "raise ConnectionError(bench.base_url)", ASKED["ollama"]))
    [raised] = [record.data for record in recording.records if record.kind == "agent/raised"]
    assert "use-bench-transport" in raised["message"]
