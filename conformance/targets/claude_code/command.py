"""The `claude` command as the Agent SDK starts it: JSON lines on stdin and stdout, and tools by an SDK MCP server, which is the kit's."""

import contextlib
import json
import os
import subprocess
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from conformance.agent_side import RunInput

COMMAND = Path(os.environ["CONFORMANCE_ENVIRONMENT"], "room/node_modules/@anthropic-ai/claude-code/bin/claude.exe")
#: Times a failed request is sent again unless the run says otherwise. The command's own 10 take minutes.
RETRIES = 2
#: Seconds that it may take to leave.
LEAVING_S = 5.0
#: The environment of the command, beside what a run brings: code.claude.com/docs/en/env-vars.
ENVIRONMENT: Mapping[str, str] = {
    # No update, no telemetry, no report of errors, no request beside those of the loop.
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    # Tools of an SDK MCP server keep their own names.
    "CLAUDE_AGENT_SDK_MCP_NO_PREFIX": "1",
    # Every tool is offered, rather than a search for tools.
    "ENABLE_TOOL_SEARCH": "false",
    # No tool of the run could write the files that it would be told of.
    "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
}
SERVERS = {"mcpServers": {"kit": {"type": "sdk", "name": "kit"}}}


class Command:
    """One process, which takes one user text. It is ended when `lines` is."""

    def __init__(self, given: RunInput, session: tuple[str, str], system: str, home: Path) -> None:
        self._tools = given.mcp_url or ""
        self._lock = threading.Lock()
        self._process = subprocess.Popen(  # noqa: S603 - our own
            [*_arguments(given, system), *session],
            env=_environment(given, home),
            cwd=home / "work",
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def lines(self, text: str) -> Iterator[dict[str, Any]]:
        """What it says to a user text, its requests to the MCP server apart. Its result is the last line."""
        process = self._process
        try:
            self.ask("initialize")
            self._say({"type": "user", "message": {"role": "user", "content": text}})
            for line in process.stdout or ():
                said = json.loads(line)
                if said["type"] == "control_request":
                    threading.Thread(target=self._serve, args=(said,), daemon=True).start()
                    continue
                if said["type"] == "result" and process.stdin is not None:
                    # It leaves at the end of its input, once its transcript is whole.
                    process.stdin.close()
                    process.wait(LEAVING_S)
                yield said
                if said["type"] == "result":
                    return
        finally:
            process.kill()
            process.wait()

    def ask(self, subtype: str) -> None:
        """Ask something of the command itself."""
        self._say({"type": "control_request", "request_id": subtype, "request": {"subtype": subtype}})

    def _serve(self, said: Mapping[str, Any]) -> None:
        """Hand a message for the MCP server to the kit's, and its answer back."""
        message = said["request"]["message"]
        meta = message.get("params", {}).get("_meta", {})
        if "claudecode/toolUseId" in meta:
            meta["conformance/toolCallId"] = meta["claudecode/toolUseId"]
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        request = Request(self._tools, json.dumps(message).encode(), headers)  # noqa: S310 - the kit's own URL
        with urlopen(request) as response:  # noqa: S310 - as above
            body = response.read()
        # A notification has no answer, but the request that brings it has one.
        answer = json.loads(body) if body else {"jsonrpc": "2.0", "id": 0, "result": {}}
        done = {"subtype": "success", "request_id": said["request_id"], "response": {"mcp_response": answer}}
        self._say({"type": "control_response", "response": done})

    def _say(self, message: Mapping[str, Any]) -> None:
        # A tool may end, or a cancel come, after the process did.
        with self._lock, contextlib.suppress(OSError, ValueError):
            if self._process.stdin is not None:
                self._process.stdin.write(json.dumps(message) + "\n")
                self._process.stdin.flush()


def _arguments(given: RunInput, system: str) -> list[str]:
    """Only the run's tools, all of them allowed, and no settings of a user's."""
    tools = ",".join(f"mcp__kit__{tool['name']}" for tool in given.input["tools"])
    return [
        *(str(COMMAND), "-p", "--verbose", "--input-format", "stream-json", "--output-format", "stream-json"),
        *(("--include-partial-messages",) if given.stream else ()),
        *("--model", given.model["name"], "--system-prompt", system, "--setting-sources", ""),
        *("--tools", "", "--strict-mcp-config", "--mcp-config", json.dumps(SERVERS), "--allowedTools", tools),
        *(("--max-turns", str(given.limits["max_iters"])) if "max_iters" in given.limits else ()),
    ]


def _environment(given: RunInput, home: Path) -> dict[str, str]:
    return {
        **ENVIRONMENT,
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "ANTHROPIC_BASE_URL": given.model["base_url"],
        "ANTHROPIC_API_KEY": given.model["api_key"],
        "CLAUDE_CODE_MAX_RETRIES": str(given.limits.get("retries", RETRIES)),
    }
