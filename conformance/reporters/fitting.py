"""Where an agent declares otherwise than it does: the keys that would fit over all recordings, and events it keeps silent about. Pure."""

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from conformance.dialect import BY_NAME, Dialect, dialect
from conformance.judge import Judgement
from conformance.overrides import form
from conformance.printable import printable
from conformance.report import Report

#: How many scenarios of one value are named.
NAMED = 5


@dataclass(frozen=True, slots=True)
class Shown:
    """A value of a key that recordings show, and the scenarios in which they do."""

    value: Any
    scenarios: tuple[str, ...]


def misdeclared(rep: Report) -> Mapping[str, Sequence[Shown]]:
    """By key that is declared otherwise than some recording shows it, every value that any recording shows."""
    judged = [(entry.scenario, judgement) for entry in rep.entries for judgement in entry.judgements]
    wrong = {key for _, judgement in judged for key, _ in judgement.fitted}
    return {key: _values(key, judged) for key in BY_NAME if key in wrong}


def _values(key: str, judged: Sequence[tuple[str, Judgement]]) -> list[Shown]:
    found: dict[str, tuple[Any, list[str]]] = {}
    for scenario, judgement in judged:
        if key in judgement.shows:
            value = judgement.shows[key]
            _, where = found.setdefault(json.dumps(value, sort_keys=True, default=list), (value, []))
            where.append(scenario)
    return [Shown(value, tuple(dict.fromkeys(where))) for value, where in found.values()]


def fitting(rep: Report) -> dict[str, Any]:
    """All keys to declare, the right ones among them, so that the declaration fits what was seen; none where nothing is to change."""
    fits = {key: values[0].value for key, values in misdeclared(rep).items() if len(values) == 1}
    under = dialect(rep.dialect)
    for key, value in fits.items():
        under = under.with_value(key, value)
    plain = Dialect().data()
    said = {key: value for key, value in under.data().items() if value != plain[key]}
    # The shorthand where there is one for the pair, else the pair.
    drop = {"on_limit"} if under.on_limit == "other" else {"limit_text", "limit_terminal"}
    return {key: value for key, value in said.items() if key not in drop} if fits else {}


def pasted(keys: Mapping[str, Any]) -> tuple[str, str]:
    """Keys as they go into an agent's declaration, and behind a command."""
    return printable(json.dumps(keys, default=list)), printable(f"--dialect {shlex.quote(form(keys))}")


def torn(rep: Report) -> Iterator[str]:
    """One line per key of which recordings show several values: no declaration of it fits."""
    for key, values in misdeclared(rep).items():
        if len(values) > 1:
            told = "; ".join(f"{json.dumps(one.value, default=list)} in {_named(one.scenarios)}" for one in values)
            yield printable(f"{key}: {told}")


def _named(scenarios: Sequence[str]) -> str:
    more = len(scenarios) - NAMED
    return f"{', '.join(scenarios[:NAMED])}{f' and {more} more' if more > 0 else ''}"


def undeclared_events(rep: Report) -> str | None:
    """A line on events that came from an agent that does not declare them; None where there are none."""
    came = [
        entry.scenario
        for entry in rep.entries
        for recording in entry.recordings
        if "E" not in recording.header.channels
        for record in recording.records
        # An exception's RUN_ERROR is the adapter's own.
        if record.kind == "agent/event" and not record.data.get("raised")
    ]
    if not came:
        return None
    return (
        f"{len(came)} event{'' if len(came) == 1 else 's'} came, first in {printable(came[0])}, but channel E is not declared, so "
        "they are not judged; add E to the agent's channels to have them judged"
    )
