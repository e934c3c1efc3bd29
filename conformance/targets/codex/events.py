"""What the app server says of a turn as AG-UI events, one by one. Adds none, closes none and mends none."""

from collections.abc import Iterator, Mapping
from typing import Any

from conformance.agent_side import Outcome, RunInput
from conformance.targets import shown

Event = shown.Event
Said = Mapping[str, Any]
#: The bracket in which an item travels, by its type, and the role its start names.
BRACKETS: Mapping[str, tuple[str, str]] = {
    "agentMessage": ("TEXT_MESSAGE", "assistant"),
    "reasoning": ("REASONING_MESSAGE", "reasoning"),
}
#: Deltas, each with the type of its item.
DELTAS: Mapping[str, str] = {
    "item/agentMessage/delta": "agentMessage",
    "item/reasoning/textDelta": "reasoning",
    "item/reasoning/summaryTextDelta": "reasoning",
}
#: What an error was, by its codexErrorInfo. The others that are named are the model's.
ERRORS: Mapping[str, str] = {"contextWindowExceeded": "overflow", "other": "error", "sandboxError": "error"}

#: Errors that only their message tells apart.
CUTS: Mapping[str, str] = {"Incomplete response returned, reason: max_output_tokens": "truncated"}


class Events:
    """The events of one turn. `spent` are the input and output tokens of the thread so far."""

    def __init__(self, given: RunInput, spent: tuple[int, int]) -> None:
        self._given = given
        self._open = shown.Streamed()
        self._shown: set[str] = set()
        self.spent = self._before = spent
        self._text: str | None = None
        self._turn: Said = {}

    def of(self, method: str, said: Said) -> Iterator[Event]:
        """What one notification shows."""
        match method:
            case "turn/started":
                yield shown.started(self._given)
            case "item/started" if said["item"]["type"] == "dynamicToolCall":
                yield from shown.call(said["item"]["id"], said["item"]["tool"], said["item"]["arguments"])
            case "item/completed":
                yield from self._completed(said["item"])
            case "thread/tokenUsage/updated":
                total = said["tokenUsage"]["total"]
                self.spent = total["inputTokens"], total["outputTokens"]
            case "turn/completed":
                self._turn = said["turn"]
                yield self._end()
            case _ if method in DELTAS:
                self._shown.add(said["itemId"])
                yield from self._open.text(said["itemId"], said["delta"], *BRACKETS[DELTAS[method]])

    def outcome(self) -> Outcome:
        """How the turn ended."""
        error = self._turn["error"]
        match self._turn["status"]:
            case "completed":
                return Outcome("answered", None, self._text)
            case "interrupted":
                return Outcome("interrupted", error and error["message"], self._text)
            case _:
                kind = CUTS.get(error["message"]) or ERRORS.get(_code(error), "model_error")
                return Outcome(kind, error["message"], self._text)

    def _completed(self, item: Said) -> Iterator[Event]:
        key, kind = item["id"], item["type"]
        if kind == "agentMessage":
            self._text = item["text"]
        # A call that was given up has no content.
        if kind == "dynamicToolCall" and item["contentItems"]:
            yield shown.result(key, "\n".join(part["text"] for part in item["contentItems"]))
        elif key in self._shown:
            yield from self._open.end(key)
        elif kind in BRACKETS:
            text = item["text"] if kind == "agentMessage" else "\n".join(item["summary"] or item["content"])
            yield from shown.text(key, text, *BRACKETS[kind])

    def _end(self) -> Event:
        spent = self.spent[0] - self._before[0], self.spent[1] - self._before[1]
        done = shown.finished(self._given, spent if any(spent) else None)
        if self._turn["status"] == "completed":
            return done
        error = self._turn["error"] or {"message": self._turn["status"]}
        usage = {"usage": done["usage"]} if "usage" in done else {}
        return {"type": "RUN_ERROR", "message": error["message"], "code": _code(error), **usage}


def _code(error: Said) -> str:
    """The name of a codexErrorInfo, which is a text or an object of one key."""
    info = error.get("codexErrorInfo")
    return info if isinstance(info, str) else next(iter(info or {"interrupted": None}))
