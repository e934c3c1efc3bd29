"""Requests that go on from an earlier reply, as the model saw them: with what its provider had kept. Judges nothing."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from conformance.recording import Record
from fake_models.messages import Part, Reply, Text, Thinking, ToolCall
from fake_models.wire import CODECS
from fake_models.wire.codec import Stamp, remembering
from fake_models.wire.memory import NOTHING, Kept

#: Faults under which no reply was made, so that none can be gone on from.
NO_REPLY = ("error", "error_event", "refuse")
NONE = MappingProxyType[str, Mapping[str, Any]]({})


def resumed(records: Iterable[Record], wire: str) -> Mapping[str, Mapping[str, Any]]:
    """
    The body of each request, by call, as though it had been sent whole; only those on wires whose requests can go on.

    `records` are those of a recording, or of a session, from its beginning; `wire` is that of records that name none.
    """
    kept: Kept = NOTHING
    bodies: dict[str, Mapping[str, Any]] = {}
    wires: dict[str, str] = {}
    for record in records:
        data = record.data
        if record.kind == "model/request":
            wires[data["call"]] = data.get("wire", wire)
            memory = CODECS[wires[data["call"]]].memory
            if memory is not None and isinstance(data["body"], Mapping):
                bodies[data["call"]] = memory.resumed(data["body"], kept)
        elif record.kind == "model/reply" and data["call"] in bodies and made(data["fault"]):
            body = bodies[data["call"]]
            codec = CODECS[wires[data["call"]]]
            kept = remembering(codec, kept, body, _reply(data), Stamp(data["id"], 0, str(body.get("model"))))
    return bodies


def made(fault: Mapping[str, Any] | None) -> bool:
    """Whether a reply with this recorded fault was made at all, though it may have broken off on its way."""
    return fault is None or fault.keys().isdisjoint(NO_REPLY)


def part(data: Mapping[str, Any]) -> Part:
    """A recorded part as the model said it."""
    match data["type"]:
        case "text":
            return Text(data["text"])
        case "thinking":
            return Thinking(data["text"])
        case _:
            return ToolCall(data.get("id"), data["name"], data["arguments"])


def _reply(data: Mapping[str, Any]) -> Reply:
    return Reply(tuple(map(part, data["parts"])), stop=data["stop"])
