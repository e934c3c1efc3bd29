"""An agent that takes its tools by MCP alone, as docs/protocol.md shows it: it plays the core as one that calls them by hand."""

import asyncio
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from conformance.adapters import command
from conformance.cell import Cell
from conformance.judge import Verdict, judge
from conformance.loading.loader import find, library, load
from conformance.rules import RULES
from conformance.runner import declared, play

PAGE = (Path(__file__).parents[2] / "docs/protocol.md").read_text("utf-8")
#: Calls that fail, repeat, go beside others, and have results of every type.
BY_HTTP = (
    "time-query-max-iters-1",
    "cargo-chain-max-iters-2",
    "parallel-calls",
    "same-tool-twice",
    "ids-duplicate",
    "tool-raises-beside-a-sibling",
    "wrong-argument-type",
    "unknown-tool",
    "falsy-results",
    "list-result",
)
BY_STDIO = ("time-query-max-iters-1",)


def on_page(mark):
    return re.search(rf"<!-- {mark} -->\n```\w+\n(.*?)```", PAGE, re.DOTALL)[1]


def agent(way):
    """The page's agent with the page's way to its tools in place of its own."""
    text = on_page("example: agent.py")
    for old, new in {
        'for tool in given["input"]["tools"]]\n    known = [tool["name"] for tool in given["input"]["tools"]]': (
            f"for tool in asyncio.run(list_tools({way}(given)))]\n"
            '    known = [tool["function"]["name"] for tool in tools]'
        ),
        'observe(call, known, given["tools_url"], stop)': f"observe(call, known, {way}(given), stop)",
        "known, tools_url, stop": "known, server, stop",
        """    status, answer = post(f"{tools_url}/{quote(name, safe='')}", arguments, {"X-Tool-Call-Id": call["id"]})
    return answer["result"] if status == 200 else f"error: {answer['error']['type']}: {answer['error']['message']}"
""": "    return asyncio.run(call_tool(server, name, arguments))\n",
    }.items():
        assert text.count(old) == 1
        text = text.replace(old, new)
    return f"{on_page('mcp')}\n{text}"


@pytest.fixture(scope="module", params=["by_http", "by_stdio"])
def played(request, tmp_path_factory):
    """The recordings of the scenarios that are played in this way, by name."""
    folder = tmp_path_factory.mktemp(request.param)
    (folder / "agent.py").write_text(agent(request.param), "utf-8")
    names = {"by_http": BY_HTTP, "by_stdio": BY_STDIO}[request.param]
    # On a busy machine a process that imports the library may be silent for long.
    plans = [replace(load(path), deadline_s=60) for path in find(names, [library()])]
    # The command of the page stands beside this interpreter.
    path = {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin"}

    async def all_of_them():
        program = command.Program((sys.executable, str(folder / "agent.py")), path)
        async with command.connected(program) as one:
            return {plan.id: await play(one, plan, Cell(), declared(one.info)) for plan in plans}

    return asyncio.run(all_of_them())


def test_every_scenario_is_conformed_to(played):
    judged = {name: judge(one, RULES) for name, one in played.items()}
    assert {name: one.verdict for name, one in judged.items()} == dict.fromkeys(played, Verdict.PASS)


def test_the_tools_ran_by_way_of_the_protocol_which_has_no_place_for_an_id(played):
    started = [record.data for record in played["time-query-max-iters-1"].records if record.kind == "tool/start"]
    assert [(one["tool"], one["call_id"]) for one in started] == [("get_current_time", None)]
