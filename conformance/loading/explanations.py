"""`explained.yaml` of a target, and `undriven.yaml` of all of them: files as values. Checks their shape, and judges nothing."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.errors import LoadError, Problem
from conformance.loading.loader import read_data
from conformance.results import Explanation

_KEYS = {"why", "link", "found"}


@dataclass(frozen=True, slots=True)
class Undriven:
    """A framework that no target drives, and what was seen of that."""

    name: str
    version: str
    evidence: str


def explanations(path: Path) -> tuple[Explanation, ...]:
    """
    The causes in a target's file; none where it has no such file.

    Raises:
        LoadError: an entry has another shape.
    """
    if not path.exists():
        return ()
    data = read_data(path)
    return tuple(_explanation(one, number, path) for number, one in enumerate(data or ()))


def undriven(path: Path) -> tuple[Undriven, ...]:
    """The frameworks that are listed with the reason why no target drives them; none where there is no such file."""
    return tuple(Undriven(**one) for one in read_data(path) or ()) if path.exists() else ()


def _explanation(data: Any, number: int, path: Path) -> Explanation:
    keys = set(data) if isinstance(data, dict) else set()
    if not (keys >= _KEYS and keys <= {*_KEYS, "wire"} and _maps_to_rules(data["found"])):
        message = (
            f"came {data!r:.200}, expected an object with `why`, `link`, `found` (scenario: [rules]) and at most `wire`"
        )
        raise LoadError([Problem((number,), message, file=str(path))])
    found = {scenario: tuple(rules) for scenario, rules in data["found"].items()}
    return Explanation(" ".join(data["why"].split()), data["link"], found, data.get("wire"))


def _maps_to_rules(found: Any) -> bool:
    return isinstance(found, dict) and all(
        isinstance(rules, list) and all(isinstance(rule, str) for rule in rules) for rules in found.values()
    )
