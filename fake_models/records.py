"""What a request and its answer leave in a recording, as plain data. Pure; keeps no record and no secret."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import lru_cache
from typing import Any

from fake_models.exchange import Exchange, told_in_stream
from fake_models.messages import (
    Break,
    Cut,
    ErrorEvent,
    NoConnection,
    Part,
    Reply,
    Stall,
    Text,
    Thinking,
    ToolCall,
)
from fake_models.script import Played

#: Headers whose values are recorded as digests only.
SECRET_HEADERS = ("authorization", "x-api-key", "api-key", "x-goog-api-key", "cookie")

#: No client tries more often than can be said in so many digits, and Python refuses to read some thousand of them.
_COUNT_DIGITS = 4

#: What a recording calls a break.
BREAKS: Mapping[type[Break], str] = {Cut: "cut", Stall: "stall", ErrorEvent: "error_event", NoConnection: "refuse"}
PART_TYPES: Mapping[type[Part], str] = {Text: "text", Thinking: "thinking", ToolCall: "tool_call"}


def retry_count(headers: Mapping[str, str]) -> int | None:
    """How often the client says it sent this before; None where it says nothing that is a count."""
    count = headers.get("x-stainless-retry-count", "")
    return int(count) if count.isdecimal() and len(count) <= _COUNT_DIGITS else None


def digests(headers: Mapping[str, str]) -> list[str]:
    """Fingerprints of what must never be written down: enough to find a secret that turns up elsewhere, not to use it."""
    return [digest for name in SECRET_HEADERS if name in headers for digest in _digests(headers[name])]


@lru_cache(1024)
def _digests(secret: str) -> tuple[str, ...]:
    """Of the value, and of the key in it: a client sends the same with every request."""
    bearer = (secret[7:].strip(),) if secret[:7].lower() == "bearer " else ()
    return tuple(hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()[:16] for value in (secret, *bearer))


def reply_data(
    played: Played,
    reply_id: str,
    exchange: Exchange,
    observed: list[str],
    *,
    tells_usage: bool = True,
    altered: Sequence[str] = (),
) -> dict[str, Any]:
    """
    A reply, or an error in its place, which has no id, parts or stop.

    `tells_usage`: whether the request lets the model report usage, since what was not sent was not said. `observed` are the provider rules that the request broke without being refused. An error's body is the one sent. `altered` are the fields in which the wire could not say what the script says.
    """
    reply = played.reply
    return {
        "call": exchange.call,
        "turn": played.turn,
        "id": None if reply.error or "reply_id" in exchange.codec.lacks else reply_id,
        "status": exchange.status,
        "parts": [_part(part) for part in reply.parts],
        "stop": None if reply.error else reply.stop,
        "usage": {"input": reply.usage.input, "output": reply.usage.output} if reply.usage and tells_usage else None,
        "fault": _fault(reply, exchange),
        "resolved": [{"path": found.path, "from": found.source, "value": found.value} for found in played.resolved],
        "observed": observed,
        "altered": list(altered),
    }


def _part(part: Part) -> dict[str, Any]:
    # asdict() would do, which looks for values within values and takes ten times as long.
    kind = PART_TYPES[type(part)]
    if isinstance(part, ToolCall):
        return {"type": kind, "id": part.id, "name": part.name, "arguments": part.arguments}
    return {"type": kind, "text": part.text}


def _fault(reply: Reply, exchange: Exchange) -> dict[str, Any] | None:
    """What is wrong with a reply: `error`, a break by its name, `finish`, `quirks`; None for a sound one."""
    if reply.error is None and reply.broken is None and reply.finish is None and not reply.quirks:
        return None
    fault: dict[str, Any] = {}
    if reply.error is not None:
        fault["error"] = {**asdict(reply.error), "body": exchange.body}
    if reply.broken is not None:
        fault[BREAKS[type(reply.broken)]] = asdict(reply.broken)
    if isinstance(reply.broken, ErrorEvent):
        fault["error_event"]["error"]["body"] = told_in_stream(exchange) if exchange.streamed else exchange.body
    if reply.finish is not None:
        fault["finish"] = reply.finish
    if reply.quirks:
        fault["quirks"] = list(reply.quirks)
    return fault
