"""A history as the transcript that Claude Code keeps of a session, from which --resume goes on."""

import json
import re
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

VERSION = "2.1.197"


def write(messages: Sequence[Mapping[str, Any]], session: str, home: Path) -> None:
    """Lay the transcript where the command looks for it: in a folder that is named as its working directory."""
    folder = home / ".claude" / "projects" / re.sub(r"[^A-Za-z0-9]", "-", str(home / "work"))
    folder.mkdir(parents=True)
    beside = {"sessionId": session, "cwd": str(home / "work"), "version": VERSION, "isSidechain": False}
    before: str | None = None
    with (folder / f"{session}.jsonl").open("w", encoding="utf-8") as file:
        for message in map(_message, messages):
            name = str(uuid.uuid4())
            line = {"type": message["role"], "uuid": name, "parentUuid": before, "message": message}
            file.write(json.dumps({**line, **beside, "timestamp": "2026-01-01T00:00:00.000Z"}) + "\n")
            before = name


def _message(given: Mapping[str, Any]) -> dict[str, Any]:
    """An AG-UI message as one of Anthropic's."""
    match given["role"]:
        case "assistant":
            said = [{"type": "text", "text": given["content"]}] if given.get("content") else []
            parts = [*said, *map(_call, given.get("toolCalls") or ())]
            usage = {"input_tokens": 0, "output_tokens": 0}
            return {"id": f"msg_{uuid.uuid4().hex}", "type": "message", "role": "assistant", "content": parts} | {
                "model": "scripted-model",
                "usage": usage,
            }
        case "tool":
            part = {"type": "tool_result", "tool_use_id": given["toolCallId"], "content": given["content"]}
            return {"role": "user", "content": [part]}
        case _:
            return {"role": "user", "content": given["content"]}


def _call(given: Mapping[str, Any]) -> dict[str, Any]:
    function = given["function"]
    return {
        "type": "tool_use",
        "id": given["id"],
        "name": function["name"],
        "input": json.loads(function["arguments"]),
    }
