"""Values of foreign code as plain JSON data of our own, and as words where they are none. Trusts no method of theirs."""

import math
from collections.abc import Mapping
from typing import Any

from fake_models.bodies import DEEPEST


def plain(value: Any, max_chars: int) -> Any:
    """
    A copy of a JSON value, of plain types only.

    Raises:
        ValueError: it is no JSON, refers to itself, is nested deeper than `DEEPEST`, or holds more than so many characters.
    """
    return measured(value, max_chars)[0]


def measured(value: Any, max_chars: int) -> tuple[Any, int]:
    """The same, and how many characters it holds."""
    left = [max_chars]
    try:
        return _copied(value, left, DEEPEST), max_chars - left[0]
    except RecursionError:  # whoever calls is deep in calls of its own
        raise ValueError("nested too deeply") from None


def shown(value: Any, max_chars: int = 500) -> str:
    """A value in words for people, whatever it is."""
    try:
        return repr(value)[:max_chars]
    except BaseException:  # noqa: BLE001 - a foreign __repr__ may do anything, and so may end the process
        return f"(a {type(value).__name__} that cannot be shown)"


def _copied(value: Any, left: list[int], levels: int) -> Any:
    left[0] -= len(value) if isinstance(value, str) else 1
    if left[0] < 0:
        raise ValueError("too long")
    if value is None or isinstance(value, bool):
        return value
    # The plain types and not their subclasses, which may be enumerations or worse.
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    if levels == 0 and isinstance(value, Mapping | list | tuple):
        raise ValueError("nested too deeply")
    if isinstance(value, Mapping):
        return {_key(key): _copied(one, left, levels - 1) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_copied(one, left, levels - 1) for one in value]
    raise ValueError(f"{type(value).__name__} is no JSON")


def _key(key: Any) -> str:
    if not isinstance(key, str):
        raise ValueError("a key is no text")  # noqa: TRY004 - both are values that are no JSON
    return str.__str__(key)
