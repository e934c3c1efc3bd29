"""
Claude Code as an agent under test: `target:claude-code`.

Drives the command line, blocking or with partial messages, and translates what it prints. It repairs nothing: what the command does
not print is not shown, a bracket that it leaves open stays open.
"""

import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from conformance.agent_side import AgentInfo, Bench, InProcessAgent, Outcome, RunInput
from conformance.targets.claude_code.command import RETRIES, Command
from conformance.targets.claude_code.events import Event, Events
from conformance.targets.claude_code.transcript import VERSION, write

#: What differs from the recommended answers, each with where Claude Code says or does so. `result` is the last line that it prints.
DIALECT: Mapping[str, Any] = {
    # code.claude.com/docs/en/cli-reference, --max-turns: "Exits with an error when the limit is reached. No limit by default".
    "on_limit": "error",
    "default_max_iters": "unlimited",
    # It asks "Output token limit hit. Resume directly", three times.
    "length_stop": "continue",
    # A compaction is a call of its own, whose last message tells what it is.
    "side_calls": {"compaction": [{"text": "Your task is to create a detailed summary of the conversation so far"}]},
    # Arguments go to the MCP server as the model gave them.
    "type_check": "tool",
    "extra_args": "pass",
    # events.py of this adapter.
    "events": "translated",
    # result.usage: a sum over the run.
    "usage_events": "per_run",
}


class _Session:
    """One conversation: the command keeps its transcript below HOME, from which --resume goes on."""

    def __init__(self, _bench: Bench) -> None:
        self._home = Path(mkdtemp())
        (self._home / "work").mkdir()
        self._id: str | None = None
        self._system = ""
        self._command: Command | None = None

    def run(self, given: RunInput) -> Iterator[Event | Outcome]:
        """One process, which says how it ended."""
        *before, last = given.input["messages"]
        self._command = Command(given, self._session(before), self._system, self._home)
        events = Events(given)
        for said in self._command.lines(last["content"]):
            yield from events.of(said)
            if said["type"] == "result":
                yield events.outcome(said)

    def cancel(self, _run: str) -> None:
        """Interrupt it, as the SDK does."""
        if self._command is not None:
            self._command.ask("interrupt")

    def _session(self, before: list[dict[str, Any]]) -> tuple[str, str]:
        """The option that names the session. What came before its first run is a transcript; the system text is the agent's."""
        system = [message["content"] for message in before if message["role"] == "system"]
        self._system = "\n\n".join(system) or self._system
        history = [message for message in before if message["role"] != "system"]
        if self._id is not None:
            return "--resume", self._id
        self._id = str(uuid.uuid4())
        if not history:
            return "--session-id", self._id
        write(history, self._id, self._home)
        return "--resume", self._id


AGENT = InProcessAgent(
    AgentInfo(
        name="claude-code",
        version=VERSION,
        language="typescript",
        wires=("anthropic_messages",),
        channels=("M", "T", "E", "R", "U"),
        dialect=DIALECT,
        capabilities={
            "sessions": True,
            "streaming": True,
            "wire_streaming": True,
            "cancel": True,
            "retries": {"http": RETRIES},
        },
    ),
    open=_Session,
)
