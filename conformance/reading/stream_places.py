"""Where in a stream a reply's first call begins and its finish reason comes: told by writing it once more. Judges nothing."""

from collections.abc import Mapping
from typing import Any

from conformance.reading.view import Reply
from conformance.recording import Header
from fake_models import messages
from fake_models.chunking import WHOLE, Chunking, chunking
from fake_models.messages import ModelRequest, Part, Text, Thinking, ToolCall
from fake_models.wire import CODECS
from fake_models.wire.codec import Stamp, compact, quirks

#: Stand in for the words that are looked for, and can be no part of what a model says.
_FINISH = "conformance-finish-reason"
_NAME = "conformance-first-call"


def places(reply: Reply, request: ModelRequest, header: Header) -> tuple[int, int]:
    """How many chunks come before the first call, and how many before the finish reason; where none comes, before the last one."""
    codec = CODECS[request.wire]
    first = next((at for at, part in enumerate(reply.parts) if part["type"] == "tool_call"), None)
    said = messages.Reply(
        tuple(_part(part if at != first else {**part, "name": _NAME}) for at, part in enumerate(reply.parts)),
        stop=reply.stop or "stop",  # type: ignore[arg-type] # recorded from one
        finish=_FINISH,
        quirks=tuple((reply.fault or {}).get("quirks", ())),
    )
    chunks = codec.chunks(said, Stamp(reply.id or "", 0, request.model), request, _chunking(header).pieces)
    for quirk in quirks(codec, said):
        chunks = quirk.chunks(chunks)
    written = [compact(chunk) for chunk in chunks]
    finish = _first(written, _FINISH, len(written) - 1)
    return min(_first(written, _NAME, finish), finish), finish


def _first(written: list[bytes], word: str, otherwise: int) -> int:
    return next((at for at, chunk in enumerate(written) if word.encode() in chunk), otherwise)


def _chunking(header: Header) -> Chunking:
    try:
        return chunking(header.cell.get("chunking", "whole"))
    except ValueError:
        # Of a kit that knew more of them. Whole chunks are the fewest, so that what was cut before them was cut before its end.
        return WHOLE


def _part(part: Mapping[str, Any]) -> Part:
    match part["type"]:
        case "text":
            return Text(part["text"])
        case "thinking":
            return Thinking(part["text"])
        case _:
            return ToolCall(part.get("id"), part["name"], part["arguments"])
