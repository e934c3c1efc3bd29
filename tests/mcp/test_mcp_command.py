"""`conformance mcp`: a process that an agent starts. It ends with the agent, and nobody else waits for its library."""

import asyncio
import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import mcp
import pytest
from click.testing import CliRunner
from mcp_clients import COMMAND, by_stdio, serving, tool

from conformance.cli import main

PAGE = (Path(__file__).parents[2] / "docs/protocol.md").read_text("utf-8")
CLIENT = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "mine", "version": "1"}}
#: By hand, a tool that hangs is called.
SAID = [
    {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": CLIENT},
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "hang"}},
]


def closed(process):
    process.stdin.close()


def signalled(number):
    return lambda process: process.send_signal(number)


@pytest.mark.parametrize(
    ("end", "code"),
    [
        (closed, 0),
        (signalled(signal.SIGTERM), -signal.SIGTERM),
        (signalled(signal.SIGINT), -signal.SIGINT),
        (signalled(signal.SIGHUP), -signal.SIGHUP),
    ],
    ids=["stdin ends", "TERM", "INT", "HUP"],
)
def test_it_ends_when_it_is_told_to_and_takes_the_tool_it_waits_for_with_it(end, code):
    async def run():
        async with serving({"hang": tool(hangs=True)}) as served:
            pipes = {"stdin": asyncio.subprocess.PIPE, "stdout": asyncio.subprocess.PIPE}
            words = (sys.executable, *COMMAND, f"{served.url}/tools")
            process = await asyncio.create_subprocess_exec(*words, **pipes)
            process.stdin.write(b"".join(json.dumps(one).encode() + b"\n" for one in SAID))
            await served.until("tool/start")
            end(process)
            ended = await process.communicate()
            await served.quiet()
            return process.returncode, ended[0], served.told

    returned, stdout, told = asyncio.run(run())
    assert returned == code
    # How many of its answers were out when the signal came is chance.
    answered = [json.loads(line)["id"] for line in stdout.splitlines()]
    assert answered == [0, 1][: len(answered)]
    assert told == ["start"]


def test_a_kit_that_is_gone_is_told_with_what_to_look_at():
    async def run():
        async with serving({"look": tool(returns=1)}) as served:
            url = served.url
        async with by_stdio(url, "handshake") as client:
            for ask in (client.list_tools, lambda: client.call_tool("look", {})):
                with pytest.raises(mcp.MCPError, match=rf"the kit does not answer at {url}/tools: .*is the run over"):
                    await ask()

    asyncio.run(run())


@pytest.mark.parametrize(
    "url", ["tools", "ftp://127.0.0.1/s/t/tools", "http:///s/t/tools", "http://[::1/tools", "http://h:99999/tools"]
)
def test_what_is_no_url_is_refused_before_anything_is_served(url):
    result = CliRunner().invoke(main, ["mcp", url])
    assert result.exit_code == 2
    assert f"tools URL {url!r}: expected the `tools_url` of a run, as in http://" in result.output


def test_the_page_names_both_ways_as_agents_read_them():
    block = re.search(r"<!-- servers -->\n```json\n(.*?)```", PAGE, re.DOTALL)[1]
    http, stdio = (json.loads(line)["mcpServers"]["kit"] for line in block.splitlines())
    assert http == {"type": "http", "url": "MCP_URL"}
    assert stdio == {"command": "conformance", "args": ["mcp", "TOOLS_URL"]}


NOT_NEEDED = """
import sys
from conformance.cli import main
try:
    main(sys.argv[1:])
finally:
    sys.stderr.write(f"{'mcp' in sys.modules}")
"""


@pytest.mark.parametrize("words", [("--help",), ("mcp", "--help"), ("run", "time-query-max-iters-1"), ("scenarios",)])
def test_whoever_asks_for_no_tools_by_it_does_not_wait_for_the_library(words):
    done = subprocess.run((sys.executable, "-c", NOT_NEEDED, *words), capture_output=True, check=True, text=True)
    assert done.stderr.endswith("False")
