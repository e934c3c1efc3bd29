"""A baseline as text: entries read, with everything that is wrong and where, and written. Touches no file."""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from conformance.baseline import Known
from conformance.errors import LoadError, Problem, guess, nearest
from conformance.loading import plain_yaml

#: The keys of an entry, and whether it can do without.
KEYS: Mapping[str, bool] = {"scenario": False, "rule": False, "cell": True, "reason": False}


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The words that an entry may use: what is not among them is a slip, and would be a line that never says anything."""

    scenarios: Collection[str]
    rules: Collection[str]
    cells: Collection[str]


def read(text: str, name: str, words: Vocabulary) -> tuple[Known, ...]:
    """
    The entries of a baseline file; `name` is what errors call it. A file of nothing but comments is an empty list.

    Raises:
        LoadError: with everything that is wrong, each with its line and column.
    """
    if not any(line.partition("#")[0].strip() for line in text.splitlines()):
        return ()
    document = plain_yaml.read(text, name)
    problems = list(_problems(document.data, document, words))
    if problems:
        raise LoadError([_placed(problem, document, name) for problem in problems])
    return tuple(Known(**one, place=f"{name}:{document.place((index,))[0]}") for index, one in enumerate(document.data))


def line(one: Known) -> str:
    """An entry as it stands in a baseline."""
    cell = "" if one.cell is None else f", cell: {one.cell}"
    return f"- {{scenario: {_word(one.scenario)}, rule: {one.rule}{cell}, reason: {json.dumps(one.reason)}}}"


def _word(text: str) -> str:
    """Quoted where YAML would read a number or a truth."""
    return text if re.match("[a-z]", text) and text not in ("true", "false", "null") else json.dumps(text)


def _problems(data: Any, document: plain_yaml.Document, words: Vocabulary) -> Iterator[Problem]:
    if not isinstance(data, list):
        yield Problem((), f"came {_kind(data)}, expected a list of entries such as `{line(_EXAMPLE)}`")
        return
    first: dict[tuple[Any, ...], int] = {}
    for index, one in enumerate(data):
        if not isinstance(one, dict):
            yield Problem((index,), f"came {_kind(one)}, expected an entry such as `{line(_EXAMPLE)}`")
            continue
        wrong = list(_entry_problems(index, one, words))
        yield from wrong
        if not wrong:
            same = first.setdefault((one["scenario"], one["rule"], one.get("cell")), index)
            if same != index:
                at = document.place((same,))[0]
                yield Problem((index,), f"this entry stands twice, first in line {at}; keep one")


_EXAMPLE = Known("empty-once", "REC-1", "why it fails, and until when")


def _entry_problems(index: int, one: Mapping[str, Any], words: Vocabulary) -> Iterator[Problem]:
    for key in one:
        if key not in KEYS:
            yield Problem((index, key), f"unknown key {key!r}{guess(key, KEYS)}", on_key=True)
    # A key that is misspelt is not missing as well.
    meant = {nearest(key, KEYS) or key for key in one}
    missing = [repr(key) for key, optional in KEYS.items() if not optional and key not in meant]
    if missing:
        yield Problem((index,), f"{' and '.join(missing)} must be written here")
    known = {"scenario": words.scenarios, "rule": words.rules, "cell": words.cells}
    for key, value in one.items():
        if key in KEYS and not isinstance(value, str):
            yield Problem((index, key), f"came {_kind(value)}, expected a text; quote it if it is one")
        elif key == "reason" and not value.strip():
            yield Problem((index, key), f"the reason is left blank ({value!r}); say why this fails and until when")
        elif key in known and value not in known[key]:
            yield Problem((index, key), f"there is no {key} {value!r} here{guess(value, known[key])}")


def _kind(value: Any) -> str:
    return "null" if value is None else f"{type(value).__name__} {value!r:.60}"


def _placed(problem: Problem, document: plain_yaml.Document, name: str) -> Problem:
    at, column = document.place(problem.path, on_key=problem.on_key)
    return replace(problem, file=name, line=at, column=column)
