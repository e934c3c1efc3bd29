"""
Codex as an agent under test: `target:codex`.

Drives `codex app-server`, where a session is a thread, a run a turn, and the tools are the client's. It repairs nothing: what the
server does not say is not shown.
"""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from conformance.agent_side import AgentInfo, Bench, InProcessAgent, Outcome, RunInput, ToolFailed
from conformance.targets.codex.events import Event, Events
from conformance.targets.codex.history import items
from conformance.targets.codex.server import Server

#: What differs from the recommended answers, each with where Codex says or does so.
DIALECT: Mapping[str, Any] = {
    # A turn has no limit of rounds: it goes on to its answer, and nothing says that a limit was meant.
    "default_max_iters": "unlimited",
    "limit_text": "none",
    # core/src/session/turn.rs: a reply without calls ends the turn, whatever else it holds.
    "empty_response": "finish",
    # core/src/session/turn.rs: ContextWindowExceeded ends the turn; it compacts before a request, by the model's own figures.
    "prompt_too_long": "error",
    # core/templates/compact/prompt.md: a compaction is a call of its own, before the run that follows.
    "side_calls": {"compaction": [{"text": "You are performing a CONTEXT CHECKPOINT COMPACTION"}]},
    # Arguments go to the client as the model gave them.
    "type_check": "tool",
    "extra_args": "pass",
    # events.py of this adapter.
    "events": "translated",
    # thread/tokenUsage/updated: a sum over the thread, of which the adapter takes what came with the run.
    "usage_events": "per_run",
}
#: Off: every tool of its own, and what it tells the model of its surroundings.
SETTINGS: Mapping[str, Any] = {
    "features": dict.fromkeys(
        (
            "apps",
            "goals",
            "hooks",
            "image_generation",
            "multi_agent",
            "plugins",
            "shell_tool",
            "tool_suggest",
            "view_image",
        ),
        False,
    ),
    "web_search": "disabled",
    "include_permissions_instructions": False,
    "include_environment_context": False,
    "include_apps_instructions": False,
    "skills": {"include_instructions": False},
}
#: Times a failed request is sent again. The server's own 4, and 5 of a broken stream, take minutes.
RETRIES = 2


@cache
def _server() -> Server:
    return Server()


class _Session:
    """One conversation: a thread."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._thread: str | None = None
        self._turn = ""
        self._spent = (0, 0)

    def run(self, given: RunInput) -> Iterator[Event | Outcome]:
        """One turn, until the server says how it ended."""
        *before, last = given.input["messages"]
        server = _server()
        if self._thread is None:
            self._thread = self._begin(server, given, before)
        events = Events(given, self._spent)
        text = [{"type": "text", "text": last["content"]}]
        self._turn = server.ask("turn/start", threadId=self._thread, input=text)["turn"]["id"]
        for said in server.turn(self._thread):
            yield from events.of(said["method"], said["params"])
        self._spent = events.spent
        yield events.outcome()

    def cancel(self, _run: str) -> None:
        """Interrupt the turn."""
        _server().ask("turn/interrupt", threadId=self._thread, turnId=self._turn)

    def _begin(self, server: Server, given: RunInput, before: list[dict[str, Any]]) -> str:
        system = [message["content"] for message in before if message["role"] == "system"]
        provider = {
            "name": "kit",
            "base_url": given.model["base_url"],
            "wire_api": "responses",
            "experimental_bearer_token": given.model["api_key"],
            "request_max_retries": RETRIES,
            "stream_max_retries": RETRIES,
        }
        tools = [
            {
                "type": "function",
                "name": one["name"],
                "description": one["description"],
                "inputSchema": one["parameters"],
            }
            for one in given.input["tools"]
        ]
        thread = server.ask(
            "thread/start",
            model=given.model["name"],
            modelProvider="kit",
            config={**SETTINGS, "model_providers": {"kit": provider}},
            baseInstructions="\n\n".join(system),
            approvalPolicy="never",
            environments=[],
            dynamicTools=tools,
        )["thread"]["id"]
        server.follow(thread, self._answer)
        if history := items(before):
            server.ask("thread/inject_items", threadId=thread, items=history)
        return str(thread)

    def _answer(self, call: dict[str, Any]) -> dict[str, Any]:
        """The tool's result as text; that it failed is said by `success`."""
        try:
            result = self._bench.call_tool(call["tool"], call["arguments"], call["callId"])
        except ToolFailed as failed:
            return {"success": False, "contentItems": [{"type": "inputText", "text": str(failed)}]}
        text = result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)
        return {"success": True, "contentItems": [{"type": "inputText", "text": text}]}


AGENT = InProcessAgent(
    AgentInfo(
        name="codex",
        version="0.171.0",
        language="rust",
        wires=("openai_responses",),
        channels=("M", "T", "E", "R", "U"),
        dialect=DIALECT,
        capabilities={"sessions": True, "wire_streaming": True, "cancel": True},
    ),
    open=_Session,
)
