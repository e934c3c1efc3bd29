"""
A session's tools as an MCP server on stdin and stdout, in a process of its own, for agents that start their servers themselves.

Runs no tool: the list and every call are asked of the kit, which records them.
"""

import asyncio
import signal
from collections.abc import Mapping
from functools import partial
from typing import Any, Protocol
from urllib.parse import quote, urlsplit

import httpx2
import mcp_types as mcp
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

from conformance.errors import SpecError
from conformance.mcp_tools import tool_server
from fake_models.server import CALL_ID_HEADER
from fake_models.wire.codec import compact


class _Ask(Protocol):
    async def __call__(self, method: str, below: str, **more: Any) -> tuple[int, Any]:
        """Status and body of what the kit answers below the tools' URL; MCPError where it does not."""


def serve(tools_url: str) -> None:
    """
    Serve until stdin ends.

    Raises:
        SpecError: that is no URL.
    """
    url = _checked(tools_url)
    # With nothing to save, who ends it ends it at once; Python would wait for the thread that reads stdin.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    asyncio.run(_serve(url))


async def _serve(tools_url: str) -> None:
    # The kit is on this machine, whatever proxy the agent's environment names, and a tool may take as long as it likes.
    limits = httpx2.Limits(max_connections=None)
    async with httpx2.AsyncClient(timeout=None, trust_env=False, limits=limits) as client:
        ask = partial(_asked, client, tools_url)
        server = tool_server(partial(_listed, ask), partial(_called, ask))
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())


def _checked(url: str) -> str:
    try:
        parts = urlsplit(url)
        wrong = parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0
    except ValueError:
        wrong = True
    if wrong:
        raise SpecError(
            f"tools URL {url!r}: expected the `tools_url` of a run, as in http://127.0.0.1:40123/s/TOKEN/tools"
        )
    return url.rstrip("/")


async def _listed(ask: _Ask) -> list[Mapping[str, Any]]:
    status, body = await ask("GET", "")
    if status != 200:
        raise MCPError(mcp.INTERNAL_ERROR, body["error"]["message"])
    return list(body)


async def _called(ask: _Ask, name: str, arguments: Mapping[str, Any], call_id: str | None) -> tuple[int, Any]:
    headers = {} if call_id is None else {CALL_ID_HEADER: call_id.encode("utf-8", "replace")}
    # Not as the HTTP library writes JSON: what is none of it is for the kit to refuse, which records it.
    return await ask("POST", f"/{quote(name, safe='')}", content=compact(arguments), headers=headers)


async def _asked(client: httpx2.AsyncClient, base: str, method: str, below: str, **more: Any) -> tuple[int, Any]:
    try:
        response = await client.request(method, f"{base}{below}", **more)
        return response.status_code, response.json()
    except (httpx2.RequestError, ValueError) as error:
        said = str(error) or type(error).__name__
        message = f"the kit does not answer at {base}: {said}; is the run over, or the URL another's?"
        raise MCPError(mcp.INTERNAL_ERROR, message) from error
