"""Usage as the model reported it and as the agent passed it on. Adds nothing up and judges nothing."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from conformance.reading.view import Call, Run


@dataclass(frozen=True, slots=True)
class Report:
    """One report per call: the reply it names, and the figures as sent, which may be no numbers."""

    seq: int
    reply_id: Any
    input: Any
    output: Any


def reported(call: Call) -> Mapping[str, int] | None:
    """The usage that the agent was told of: what a whole reply carried, which on some wires a request has to ask for."""
    reply = call.reply
    return reply.usage if reply is not None and reply.complete else None


def reply_id(call: Call) -> str | None:
    """The id that the reply itself carries."""
    return call.reply.id if call.reply is not None else None


def call_reports(run: Run) -> tuple[Report, ...]:
    """The CUSTOM `token_usage` events of a run."""
    found = []
    for event in run.events:
        if event.type == "CUSTOM" and event.data.get("name") == "token_usage":
            value = event.data.get("value")
            data = value if isinstance(value, Mapping) else {}
            found.append(Report(event.seq, data.get("replyId"), data.get("inputTokens"), data.get("outputTokens")))
    return tuple(found)


def totals(run: Run) -> tuple[Any, Any] | None:
    """Input and output tokens on the run's terminal event: the sum of its entries, which may be one per model. None without any."""
    usage = run.terminal.data.get("usage") if run.terminal is not None else None
    entries = [usage] if isinstance(usage, Mapping) else usage if isinstance(usage, list) else []
    entries = [entry for entry in entries if isinstance(entry, Mapping)]
    if not entries:
        return None
    return _sum(entries, "inputTokens"), _sum(entries, "outputTokens")


def _sum(entries: list[Mapping[str, Any]], key: str) -> Any:
    values = [entry.get(key) for entry in entries if entry.get(key) is not None]
    return sum(values) if all(isinstance(value, int | float) for value in values) else values
