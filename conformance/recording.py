"""
A recording: what crossed an agent's borders, as plain data in one total order, and its file form. Judges nothing.

The file is JSON lines: a header, the records, a footer with their number. A file without its footer was cut short; it is
read up to its last whole line and called incomplete.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from conformance.errors import RecordingError

#: The file format this kit writes, and the only one it reads.
FORMAT = 1


@dataclass(frozen=True, slots=True)
class Record:
    """
    One thing that happened. `source/type` and the keys of `data` are listed in docs/recording.md.

    `seq` counts from 1 over the whole recording. `at_s` is the scenario's own clock, in seconds since it started.
    """

    seq: int
    at_s: float
    source: str
    type: str
    data: Mapping[str, Any]

    @property
    def kind(self) -> str:
        """`source/type`, as records are spoken of."""
        return f"{self.source}/{self.type}"


@dataclass(frozen=True, slots=True)
class Header:
    """
    What was run: the scenario whole, as data, and the agent with everything it declared.

    `apart`: the agent is a process of its own, so that what it says and what it asks come by two ways, in an order that is known
    only where one waits for the other.
    """

    kit: str
    scenario: Mapping[str, Any]
    agent: Mapping[str, Any]
    wire: str = "openai_chat"
    cell: Mapping[str, Any] = field(default_factory=lambda: {"stream": False, "chunking": "whole"})
    channels: tuple[str, ...] = ("M", "T", "E", "R")
    dialect: Mapping[str, Any] = field(default_factory=dict)
    capabilities: Mapping[str, Any] = field(default_factory=dict)
    apart: bool = False
    format: int = FORMAT


@dataclass(frozen=True, slots=True)
class Recording:
    """A header and its records, in order. `complete` is False for a file that was cut short."""

    header: Header
    records: tuple[Record, ...]
    complete: bool = True


def dumps(recording: Recording) -> str:
    """The recording as JSON lines; equal recordings give equal text."""
    lines = [header_line(recording.header), *map(record_line, recording.records)]
    if recording.complete:
        lines.append(_line({"records": len(recording.records)}))
    return "".join(lines)


def header_line(head: Header) -> str:
    """A recording's first line."""
    return _line({name: _plain(getattr(head, name)) for name in _HEADER})


def record_line(r: Record) -> str:
    """A record as a line."""
    return _line({"seq": r.seq, "at_s": r.at_s, "source": r.source, "type": r.type, "data": r.data})


def to_bytes(recording: Recording) -> bytes:
    """The file's bytes."""
    return encoded(dumps(recording))


def encoded(lines: str) -> bytes:
    """Lines as bytes. A lone surrogate, which UTF-8 cannot hold, becomes its JSON escape and reads back as itself."""
    return lines.encode("utf-8", "backslashreplace")


def from_bytes(data: bytes, name: str = "recording") -> Recording:
    """Read a file's bytes back, see `loads`; a cut inside a character is a cut of the last line."""
    return loads(data.decode("utf-8", "replace"), name)


def loads(text: str, name: str = "recording") -> Recording:
    """
    Read JSON lines back; `name` is what errors call the file.

    Raises:
        RecordingError: the header cannot be read, a whole line is no record, or the footer disagrees with the records. A
            last line without its newline is a cut, not an error.
    """
    whole, newline, tail = text.rpartition("\n")
    lines = whole.split("\n") if newline else []  # not splitlines(): U+2028 may stand inside a JSON string
    if not lines:
        raise RecordingError(
            f"{name}: no whole line, expected a header; the file was cut before its first newline: {tail[:60]!r}"
        )
    header = _header(_object(lines[0], name, 1), name)
    records: list[Record] = []
    for number, line in enumerate(lines[1:], start=2):
        data = _object(line, name, number)
        if set(data) == {"records"}:
            if data["records"] != len(records) or number != len(lines) or tail:
                raise RecordingError(
                    f"{name}:{number}: the footer counts {data['records']!r} records, but {len(records)} stand before it and it must be the last line"
                )
            return Recording(header, tuple(records))
        records.append(_record(data, name, number))
    return Recording(header, tuple(records), complete=False)


_HEADER = ("format", "kit", "scenario", "agent", "wire", "cell", "channels", "dialect", "capabilities", "apart")


def _line(data: Mapping[str, Any]) -> str:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")) + "\n"


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _object(line: str, name: str, number: int) -> dict[str, Any]:
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict):
        raise RecordingError(f"{name}:{number}: {line[:60]!r} is no JSON object; a recording has one object a line")
    return data


def _header(data: Mapping[str, Any], name: str) -> Header:
    if data.get("format") != FORMAT:
        raise RecordingError(
            f"{name}:1: format is {data.get('format')!r}, this kit reads {FORMAT}; is this a recording's header?"
        )
    data = {"apart": False, **data}
    missing = [key for key in _HEADER if key not in data]
    if missing:
        raise RecordingError(f"{name}:1: the header lacks {', '.join(missing)}")
    for key, kind in (
        ("scenario", dict),
        ("agent", dict),
        ("cell", dict),
        ("dialect", dict),
        ("capabilities", dict),
        ("channels", list),
    ):
        if not isinstance(data[key], kind):
            raise RecordingError(
                f"{name}:1: {key} is {data[key]!r}, expected {'an object' if kind is dict else 'a list'}"
            )
    values: dict[str, Any] = {key: tuple(data[key]) if key == "channels" else data[key] for key in _HEADER}
    return Header(**values)


def _record(data: Mapping[str, Any], name: str, number: int) -> Record:
    kinds: Iterable[tuple[str, type | tuple[type, ...]]] = (
        ("seq", int),
        ("at_s", (int, float)),
        ("source", str),
        ("type", str),
        ("data", dict),
    )
    for key, kind in kinds:
        if not isinstance(data.get(key), kind):
            raise RecordingError(
                f"{name}:{number}: {key} is {data.get(key)!r}; a record has seq, at_s, source, type and data"
            )
    if data["seq"] != number - 1:
        raise RecordingError(
            f"{name}:{number}: seq is {data['seq']!r}, expected {number - 1}; a line is missing or out of order"
        )
    return Record(data["seq"], data["at_s"], data["source"], data["type"], data["data"])
