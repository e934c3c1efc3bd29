"""
YAML read as JSON reads: text to plain data, and the place of every key and value.

The one module that knows YAML. Builds no objects, follows no references, reads no file.
"""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

import yaml

from conformance.errors import LoadError, Path, Problem

Place = tuple[int, int]

#: Deepest nesting of a scenario. Real ones need about 12; what reads the data later recurses, and Python allows it about 1000.
MAX_DEPTH = 64

#: libyaml where PyYAML was built with it, since it is ten times as fast; both give the same events.
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_WORDS: Mapping[str, Any] = {"true": True, "false": False, "null": None}
_INTEGER = re.compile(r"-?(0|[1-9][0-9]*)")
_FLOAT = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
#: What YAML allows in a file; the rest are control characters and halves of characters.
_UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class Document:
    """A document's data, with the (line, column) of its keys and values, both from 1."""

    data: Any
    keys: Mapping[Path, Place] = field(default_factory=dict)
    values: Mapping[Path, Place] = field(default_factory=dict)

    def place(self, path: Path, *, on_key: bool = False) -> Place:
        """Where this path stands; for one that does not exist, where it would have to be added."""
        for end in range(len(path), -1, -1):
            places = self.keys if on_key or end < len(path) else self.values
            if (found := places.get(path[:end]) or self.values.get(path[:end])) is not None:
                return found
        return 1, 1


def read(text: str, name: str) -> Document:
    """
    The one document of a text; `name` is what errors call the file.

    Raises:
        LoadError: it is no YAML, or says something JSON cannot.
    """
    if odd := _UNPRINTABLE.search(text):
        line = text.count("\n", 0, odd.start()) + 1
        column = odd.start() - text.rfind("\n", 0, odd.start())
        message = f"character {odd[0]!r} may not stand in a YAML file; write it as an escape in double quotes"
        raise LoadError([Problem((), message, file=name, line=line, column=column)])
    reading = _Reading(name, yaml.parse(text, Loader=_LOADER))
    try:
        data = reading.document()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        story = ", ".join(filter(None, (getattr(error, "context", None), getattr(error, "problem", None)))) or str(
            error
        )
        reading.stop(mark, (), f"this is no YAML: {story}")
    if reading.problems:
        raise LoadError(reading.problems)
    return Document(data, reading.keys, reading.values)


@dataclass(slots=True)
class _Reading:
    """A document being read; gathers what is wrong, so that an author sees all of it at once."""

    name: str
    events: Iterator[Any]
    keys: dict[Path, Place] = field(default_factory=dict)
    values: dict[Path, Place] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def document(self) -> Any:
        next(self.events)
        if isinstance(event := next(self.events), yaml.StreamEndEvent):
            self.stop(None, (), "the file is empty; expected a mapping with id, title, why and runs")
        data = self.node(next(self.events), ())
        next(self.events)
        if not isinstance(event := next(self.events), yaml.StreamEndEvent):
            self.stop(event.start_mark, (), "a second document starts here; a file holds one scenario")
        return data

    def node(self, event: Any, path: Path) -> Any:
        self.values[path] = _place(event.start_mark)
        self.refuse_references(event, path)
        match event:
            case yaml.ScalarEvent():
                return self.scalar(event, path)
            case yaml.SequenceStartEvent():
                return self.sequence(event, path)
            case yaml.MappingStartEvent():
                return self.mapping(event, path)
        return None

    def sequence(self, start: Any, path: Path) -> list[Any]:
        self.bound(start, path)
        items: list[Any] = []
        while not isinstance(event := next(self.events), yaml.SequenceEndEvent):
            items.append(self.node(event, (*path, len(items))))
        return items

    def mapping(self, start: Any, path: Path) -> dict[str, Any]:
        self.bound(start, path)
        members: dict[str, Any] = {}
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            if not isinstance(event, yaml.ScalarEvent):
                self.stop(event.start_mark, path, "a key is no text; keys are plain words, as in JSON")
            key = event.value
            at = (*path, key)
            self.refuse_references(event, at)
            self.refuse_halves(event, path)
            if not key and not event.style:
                self.problem(event.start_mark, path, "a value has no key; write `key: value`")
            if key in members:
                self.problem(
                    event.start_mark, at, f"key {key!r} stands twice, first in line {self.keys[at][0]}; keep one"
                )
            else:
                self.keys[at] = _place(event.start_mark)
            members[key] = self.node(next(self.events), at)
        return members

    def scalar(self, event: Any, path: Path) -> Any:
        text: str = event.value
        self.refuse_halves(event, path)
        if event.style:
            return text
        if not text:
            # At the key where there is one: the two parsers differ on where nothing stands.
            self.problem(event.start_mark, path, "nothing stands here; write null or a value", self.keys.get(path))
        if text in _WORDS:
            return _WORDS[text]
        for pattern, number in ((_INTEGER, int), (_FLOAT, float)):
            if pattern.fullmatch(text):
                return self.number(number, event, path)
        return text

    def number(self, kind: Any, event: Any, path: Path) -> Any:
        # Python refuses to read integers of more than 4300 digits, and reads 1e999 as infinity, which JSON has not.
        try:
            value = kind(event.value)
        except ValueError:
            value = math.inf
        if abs(value) == math.inf:
            self.problem(
                event.start_mark, path, f"{event.value[:40]!r} is too large for a number; quote it if it is a text"
            )
        return value

    def refuse_references(self, event: Any, path: Path) -> None:
        if isinstance(event, yaml.AliasEvent):
            self.problem(event.start_mark, path, f"alias '*{event.anchor}': aliases are not read; write the value out")
        elif event.anchor is not None:
            self.problem(event.start_mark, path, f"anchor '&{event.anchor}': anchors are not read; leave it out")
        if getattr(event, "tag", None) is not None:
            self.problem(event.start_mark, path, f"tag {event.tag!r}: tags are not read; quote a value that is a text")

    def refuse_halves(self, event: Any, path: Path) -> None:
        # PyYAML reads the escape of half a surrogate pair, libyaml refuses it; no file could be written with it.
        if any("\ud800" <= char <= "\udfff" for char in event.value):
            self.problem(event.start_mark, path, f"{event.value!r} holds half a character; write the character itself")

    def bound(self, event: Any, path: Path) -> None:
        if len(path) >= MAX_DEPTH:
            self.stop(event.start_mark, (), f"nested deeper than {MAX_DEPTH} levels; is a bracket never closed?")

    def problem(self, mark: Any, path: Path, message: str, place: Place | None = None) -> None:
        line, column = place or _place(mark)
        self.problems.append(Problem(path, message, file=self.name, line=line, column=column))

    def stop(self, mark: Any, path: Path, message: str) -> NoReturn:
        self.problem(mark, path, message)
        raise LoadError(self.problems)


def _place(mark: Any) -> Place:
    return (mark.line + 1, mark.column + 1) if mark is not None else (1, 1)
