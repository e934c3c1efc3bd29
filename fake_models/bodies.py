"""Bytes of a body as the JSON that a provider would read in them, or else as text. Pure; refuses nothing."""

import json
import math
from typing import Any

#: How deep a body is read. No request is half as deep, and Python reads what it cannot write again, as a recording must.
DEEPEST = 200
_HOLDERS = (dict, list)


def json_or_text(content: bytes) -> Any:
    """A body; text that is no JSON stays text, which whoever is asked refuses and records as any other odd body."""
    try:
        return read(content)
    except ValueError:
        return content.decode("utf-8", "replace")


def read(content: bytes) -> Any:
    """
    The value of JSON text in UTF-8.

    Raises:
        ValueError: it is none, has a number that no JSON can say again (NaN, 1e999), or is nested deeper than `DEEPEST`.
    """
    try:
        value = _decoded(content.decode())
    except RecursionError:
        raise _too_deep() from None
    # A body with fewer brackets than that needs no look.
    if content.count(b"[") + content.count(b"{") > DEEPEST and _is_deeper(value):
        raise _too_deep()
    return value


def _is_deeper(value: Any) -> bool:
    level = [value] if isinstance(value, _HOLDERS) else []
    for _ in range(DEEPEST):
        if not level:
            return False
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, _HOLDERS)
        ]
    return bool(level)


def _too_deep() -> ValueError:
    return ValueError(f"nested deeper than {DEEPEST} levels")


def _no_number(word: str) -> Any:
    raise ValueError(f"{word} is no JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError(f"{digits} is too large for a number")
    return number


_decoded = json.JSONDecoder(parse_float=_finite, parse_constant=_no_number).decode
