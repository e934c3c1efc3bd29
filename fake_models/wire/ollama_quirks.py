"""How servers of Ollama's wire stray from it, each as a change of the payloads. Pure; makes no reply."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from fake_models.wire.codec import DUPLICATE_IDS, Quirk

Line = Mapping[str, Any]
Lines = tuple[Line, ...]


def _without(line: Line, *keys: str) -> dict[str, Any]:
    return {key: value for key, value in line.items() if key not in keys}


def _last(change: Callable[[Line], Line]) -> Callable[[Lines], Lines]:
    """The change of a last line, as one of a whole stream."""
    return lambda lines: (*lines[:-1], change(lines[-1]))


def _reindexed(line: Line, index: Mapping[str, int]) -> dict[str, Any]:
    """The line with its calls' index replaced by what is given, which may be nothing."""
    message = line["message"]
    if "tool_calls" not in message:
        return dict(line)
    calls = [{**call, "function": {**index, **_without(call["function"], "index")}} for call in message["tool_calls"]]
    return {**line, "message": {**message, "tool_calls": calls}}


def _text_last(lines: Lines) -> Lines:
    # Only a line of text has a content that is not empty.
    return (*sorted(lines[:-1], key=lambda line: line["message"]["content"] != ""), lines[-1])


def _no_reason(line: Line) -> dict[str, Any]:
    return _without(line, "done_reason")


def _null_counts(line: Line) -> dict[str, Any]:
    return {**line, "prompt_eval_count": None, "eval_count": None}


QUIRKS = MappingProxyType[str, Quirk](
    {
        # Servers of 2024, see the bodies in ollama/ollama#2861.
        "finish_missing": Quirk("the last line gives no done_reason", chunks=_last(_no_reason), whole=_no_reason),
        # Seen on other wires; a gateway from one of them hands it on.
        "usage_null": Quirk(
            "the counts are null",
            reply=lambda reply: replace(reply, usage=None),
            chunks=_last(_null_counts),
            whole=_null_counts,
        ),
        "index_zero": Quirk(
            "every call has index 0",
            chunks=lambda lines: tuple(_reindexed(line, {"index": 0}) for line in lines),
            whole=lambda body: _reindexed(body, {"index": 0}),
        ),
        # Servers of 2025, see the bodies in ollama/ollama#11185.
        "no_index": Quirk(
            "calls have no index",
            chunks=lambda lines: tuple(_reindexed(line, {}) for line in lines),
            whole=lambda body: _reindexed(body, {}),
        ),
        "text_after_calls": Quirk("the text comes after the calls", chunks=_text_last),
        "duplicate_ids": DUPLICATE_IDS,
        # ollama/ollama#10015. Stands last, since others look into the last line.
        "no_final_marker": Quirk(
            "the stream ends without the line that is done", chunks=lambda lines: lines[:-1], unfinished=True
        ),
    }
)
