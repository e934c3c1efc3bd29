"""Strands' own events as AG-UI events, one by one, and AG-UI messages as its own. Adds none, closes none and mends none."""

import json
from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any

from conformance.targets.shown import Event, Streamed, result


class Shown:
    """
    What one run shows.

    A reply comes in the model's own chunks, streamed or not; a block has no number there, so they are counted. Results stand in the
    message that holds all of a reply. What has no counterpart is not shown.
    """

    def __init__(self, run: str) -> None:
        self._numbers = (f"{run}-{number}" for number in count(1))
        self._brackets = Streamed()
        self._block = ""
        self._call: Mapping[str, Any] = {}

    def of(self, told: Mapping[str, Any]) -> Iterator[Event]:
        """The AG-UI events for one of the framework's."""
        match told:
            case {"event": {"contentBlockStart": {"start": start}}}:
                self._block, self._call = next(self._numbers), start.get("toolUse") or {}
                if self._call:
                    yield from self._piece("")
            case {"event": {"contentBlockDelta": {"delta": {"toolUse": {"input": piece}}}}}:
                yield from self._piece(piece)
            case {"event": {"contentBlockDelta": {"delta": {"text": piece}}}}:
                yield from self._brackets.text(self._block, piece)
            case {"event": {"contentBlockDelta": {"delta": {"reasoningContent": {"text": piece}}}}}:
                yield from self._brackets.text(self._block, piece, "REASONING_MESSAGE", "reasoning")
            case {"event": {"contentBlockStop": _}}:
                yield from self._brackets.end(self._block)
            case {"message": {"role": "user", "content": blocks}}:
                for block in blocks:
                    if "toolResult" in block:
                        yield result(block["toolResult"]["toolUseId"], _content(block["toolResult"]["content"]))

    def _piece(self, arguments: str) -> Iterator[Event]:
        return self._brackets.call(self._block, self._call.get("toolUseId"), self._call.get("name"), arguments)


def _content(blocks: list[Mapping[str, Any]]) -> Any:
    """A result of one block is shown as what it holds, which is how the tools here give theirs."""
    values = [block.get("text", block.get("json")) for block in blocks]
    return values[0] if len(values) == 1 else values


def keep(messages: list[Any], role: str, content: str | None = None, **rest: Any) -> None:
    """Put an AG-UI message into the history as Strands does: the results of a reply's calls are one message."""
    if role == "tool":
        given = {"toolUseId": rest["toolCallId"], "status": "success", "content": [{"text": content or ""}]}
        if not (messages and any("toolResult" in block for block in messages[-1]["content"])):
            messages.append({"role": "user", "content": []})
        messages[-1]["content"].append({"toolResult": given})
        return
    blocks: list[Any] = [{"text": content}] if content else []
    for one in rest.get("toolCalls") or ():
        name, arguments = one["function"]["name"], json.loads(one["function"]["arguments"] or "{}")
        blocks.append({"toolUse": {"toolUseId": one["id"], "name": name, "input": arguments}})
    messages.append({"role": role, "content": blocks})
