"""Dialect keys as people type them: `stop`, or `key=value,key=value`. Text to data; reads no file."""

import json
import re
from collections.abc import Mapping
from typing import Any

from conformance.dialect import ON_LIMIT, dialect

#: A comma that begins the next pair; one inside a value, as in {"a": 1, "b": 2}, does not.
_NEXT = re.compile(r",\s*(?=[a-z_]+\s*=)")


def typed(text: str) -> dict[str, Any] | None:
    """
    The keys that this text gives: one of the words of `on_limit`, or pairs; None where it is neither.

    A value is JSON where it can be read as JSON, else the text itself.

    Raises:
        DialectError: an unknown key, or a value its key does not allow.
    """
    if text in ON_LIMIT:
        return {"on_limit": text}
    if "=" not in text:
        return None
    pairs = (pair.partition("=") for pair in _NEXT.split(text))
    return checked({name.strip(): _value(value.strip()) for name, _, value in pairs})


def checked(keys: Mapping[str, Any]) -> dict[str, Any]:
    """
    The keys as they are.

    Raises:
        DialectError: no dialect allows them.
    """
    dialect(keys)
    return dict(keys)


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
