"""The command protocol, version 1: messages to lines and lines to messages. `conformance/schemas/protocol.schema.json` says what they hold."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from importlib.resources import files
from typing import Any

from jsonschema import Draft202012Validator

from conformance import __version__
from conformance.agent_side import AgentInfo, RunInput
from conformance.agent_side.figures import MAX_LINE_BYTES, PROTOCOL

#: What an agent may say.
FROM_AGENTS = ("ready", "event", "log", "result", "error")

_SCHEMA = json.loads((files("conformance.schemas") / "protocol.schema.json").read_text("utf-8"))
_VALIDATORS = {kind: Draft202012Validator(_SCHEMA["$defs"][kind]) for kind in FROM_AGENTS}


class ProtocolError(Exception):
    """A line that is no message; says what it is and what to do."""


def message(line: bytes, *, whole: bool) -> dict[str, Any]:
    """
    Read what an agent wrote.

    Raises:
        ProtocolError: the line is cut, too long, no JSON object, or no message of the protocol.
    """
    if not whole:
        if len(line) > MAX_LINE_BYTES:
            raise ProtocolError(f"a line of stdout is longer than {MAX_LINE_BYTES} bytes: {line[:80]!r}...")
        raise ProtocolError(f"the last line of stdout has no newline: {_shown(line)}. Flush each line whole.")
    try:
        said = json.loads(line)
    except (ValueError, RecursionError):
        said = None
    if not isinstance(said, dict):
        raise ProtocolError(
            f"a line of stdout is no JSON object: {_shown(line)}. stdout is the protocol's, print logs to stderr."
        )
    kind = said.get("type")
    if kind not in FROM_AGENTS:
        raise ProtocolError(
            f"a message has type {kind!r:.80}, expected one of {', '.join(FROM_AGENTS)}: {_shown(line)}"
        )
    wrong = next(_VALIDATORS[kind].iter_errors(said), None)
    if wrong is not None:
        where = "".join(f".{step}" for step in wrong.absolute_path)
        raise ProtocolError(
            f"a message of type {kind!r} does not hold to the protocol{where and f' at {where[1:]}'}: {wrong.message:.200}"
        )
    return said


def info_of(ready: Mapping[str, Any]) -> AgentInfo:
    """Who the agent says it is; what it leaves out is as AgentInfo has it."""
    agent = {key: ready["agent"][key] for key in ("name", "version", "language") if key in ready["agent"]}
    lists = {key: tuple(ready[key]) for key in ("wires", "channels", "knobs") if key in ready}
    rest = {key: ready[key] for key in ("profile", "dialect", "capabilities") if key in ready}
    return AgentInfo(**{"language": "unknown"} | agent | lists | rest)


def hello() -> bytes:
    """The kit's first line."""
    return _line({"type": "hello", "protocol": PROTOCOL, "kit": __version__})


def run(given: RunInput) -> bytes:
    """The line that begins a run."""
    return _line({"type": "run", **asdict(given)})


def cancel(run: str) -> bytes:
    """The line that says a run is not wanted any more."""
    return _line({"type": "cancel", "run": run})


def bye() -> bytes:
    """The kit's last line."""
    return _line({"type": "bye"})


def _line(said: Mapping[str, Any]) -> bytes:
    return json.dumps(said, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace")


def _shown(line: bytes) -> str:
    return repr(line[:200].decode("utf-8", "replace"))
