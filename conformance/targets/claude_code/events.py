"""What Claude Code prints as AG-UI events, one by one. Adds none, closes none and mends none."""

from collections.abc import Iterator, Mapping
from typing import Any

from conformance.agent_side import Outcome, RunInput
from conformance.targets import shown

Event = shown.Event
Said = Mapping[str, Any]
#: How a run ended, by the result's terminal_reason. What is none of these and no success is an error.
ENDS: Mapping[str, str] = {
    "max_turns": "limit",
    "prompt_too_long": "overflow",
    "blocking_limit": "overflow",
    "model_error": "model_error",
    "aborted_streaming": "interrupted",
    "aborted_tools": "interrupted",
}
#: What an error of the model was, by its message's error.
ERRORS: Mapping[str, str] = {"max_output_tokens": "truncated"}
#: How an answer ended, by the result's stop_reason.
STOPS: Mapping[str, str] = {"max_tokens": "truncated", "refusal": "filtered"}


class Events:
    """The events of one run."""

    def __init__(self, given: RunInput) -> None:
        self._given = given
        self._began = False
        self._open = shown.Streamed()
        self._streamed: list[str] = []
        self._error: str | None = None

    def of(self, said: Said) -> Iterator[shown.Event]:
        """What one line shows."""
        match said["type"]:
            case "system" if said["subtype"] == "init" and not self._began:
                self._began = True
                yield shown.started(self._given)
            case "stream_event":
                yield from self._piece(said["event"])
            case "assistant":
                self._error = said.get("error")
                # A reply that was streamed is said again when it is whole.
                for block in said["message"]["content"] if said["message"]["id"] not in self._streamed else ():
                    yield from _whole(said["uuid"], block)
            case "user" if isinstance(said["message"]["content"], list):
                for block in said["message"]["content"]:
                    if block["type"] == "tool_result" and block.get("tool_use_id") is not None:
                        yield shown.result(block["tool_use_id"], _text(block.get("content")))
            case "result":
                yield self._end(said)

    def outcome(self, said: Said) -> Outcome:
        """How the run ended, by its result and by the error that its last message was, if it was one."""
        end = ENDS.get(said.get("terminal_reason") or "")
        if not said["is_error"]:
            stop = said.get("stop_reason")
            return Outcome(end or STOPS.get(stop or "", "answered"), stop, said["result"])
        # An error of the model is said as an answer: its subtype is success.
        kind = ERRORS.get(self._error or "", "model_error") if said["subtype"] == "success" else "error"
        return Outcome(end or kind, _why(said), said.get("result"))

    def _piece(self, event: Said) -> Iterator[shown.Event]:
        if event["type"] == "message_start":
            self._streamed.append(event["message"]["id"])
        if "index" not in event:
            return
        key = f"{self._streamed[-1]}-{event['index']}"
        piece = event.get("content_block") or event.get("delta") or {}
        match piece.get("type"):
            case "text" | "text_delta":
                yield from self._open.text(key, piece["text"])
            case "thinking" | "thinking_delta":
                yield from self._open.text(key, piece["thinking"], "REASONING_MESSAGE", "reasoning")
            case "tool_use":
                yield from self._open.call(key, piece.get("id"), piece["name"], None)
            case "input_json_delta":
                yield from self._open.call(key, None, None, piece["partial_json"])
        if event["type"] == "content_block_stop":
            yield from self._open.end(key)

    def _end(self, said: Said) -> shown.Event:
        # Of a run's calls `usage` leaves out those that were sent again without a stream.
        models = said["modelUsage"].values()
        spent = sum(one["inputTokens"] for one in models), sum(one["outputTokens"] for one in models)
        done = shown.finished(self._given, spent if any(spent) else None)
        if not said["is_error"]:
            return done
        code = said.get("api_error_status") or said.get("terminal_reason") or said["subtype"]
        usage = {"usage": done["usage"]} if "usage" in done else {}
        return {"type": "RUN_ERROR", "message": _why(said), "code": str(code), **usage}


def _why(said: Said) -> str:
    return str(said.get("result") or "; ".join(said.get("errors", ())) or said["subtype"])


def _whole(key: str, block: Said) -> Iterator[shown.Event]:
    match block["type"]:
        case "text":
            yield from shown.text(key, block["text"])
        case "thinking":
            yield from shown.text(key, block["thinking"], "REASONING_MESSAGE", "reasoning")
        # A call without an id cannot be shown.
        case "tool_use" if block.get("id") is not None:
            yield from shown.call(block["id"], block["name"], block["input"])


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content or ())
