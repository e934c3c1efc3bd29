"""Dialect keys as people type them: `stop`, or `key=value,key=value`. Text to data and back; reads no file."""

import json
import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from conformance.dialect import BY_NAME, ON_LIMIT, DialectError, Key, dialect
from conformance.errors import LoadError
from conformance.loading import plain_yaml

#: One value of each key whose values no list can hold.
EXAMPLES: Mapping[str, Any] = MappingProxyType(
    {
        "marker_name": "round_limit",
        "default_max_iters": 25,
        "empty_is": ["no_parts", "null"],
        "empty_response": {"retry_then_error": 2},
        "prompt_too_long": {"compact_then_error": 2},
        "answer_by": "tool:final_answer.text",
        "side_calls": {"auxiliary": [{"text": "title"}]},
        "exceptions": {"MaxTurnsExceeded": "limit"},
    }
)

_OPEN, _CLOSE = "[{", "]}"
#: What a value may begin with to be read as YAML's flow style, which JSON is a part of.
_FLOW = (*_OPEN, '"', "'")
#: What can be read back inside brackets without quotes.
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def typed(text: str) -> dict[str, Any] | None:
    """
    The keys that this text gives: one of the words of `on_limit`, or pairs; None where it is neither.

    A value is a number, true, false or null, a list, object or quoted text in JSON or in YAML's flow style, else the text itself.

    Raises:
        DialectError: an unknown key, or a value its key does not allow; the message shows one that can be typed.
    """
    if text in ON_LIMIT:
        return {"on_limit": text}
    if "=" not in text:
        return None
    keys: dict[str, Any] = {}
    for name, value in map(_pair, _split(text)):
        if name in keys and keys[name] != value:
            raise DialectError(f"dialect: {name} is {keys[name]!r} and {value!r}; expected it once")
        keys[name] = value
    for name, value in keys.items():
        try:
            dialect({name: value})
        except DialectError as error:
            raise DialectError(f"{error}{_instead(name)}") from error
    return checked(keys)


def checked(keys: Mapping[str, Any]) -> dict[str, Any]:
    """
    The keys as they are.

    Raises:
        DialectError: no dialect allows them.
    """
    dialect(keys)
    return dict(keys)


def form(keys: Mapping[str, Any]) -> str:
    """The text that `typed` reads back as these keys."""
    return ",".join(f"{name}={_written(value)}" for name, value in keys.items())


def examples(key: Key) -> tuple[Any, ...]:
    """Values of a key, the recommended one first, one of those among them that its list cannot hold."""
    more = EXAMPLES.get(key.name)
    return key.values if more is None or more in key.values else (*key.values, more)


def _split(text: str) -> Iterator[str]:
    """The text, cut at the commas outside brackets and quotes."""
    depth, quote, start = 0, "", 0
    for at, char in enumerate(text):
        if quote:
            quote = "" if char == quote and text[at - 1] != "\\" else quote
        elif char in "\"'" and text[:at].rstrip().endswith(("=", ":", ",", *_OPEN)):
            # Elsewhere, as in `the model's`, it is an apostrophe.
            quote = char
        elif char in _OPEN + _CLOSE:
            depth += 1 if char in _OPEN else -1
        elif char == "," and depth <= 0:
            yield text[start:at]
            start = at + 1
    yield text[start:]


def _pair(text: str) -> tuple[str, Any]:
    name, equals, value = (part.strip() for part in text.partition("="))
    if not equals:
        raise DialectError(
            f"dialect: {text.strip()!r} is no key=value; commas part pairs, and a list stands in brackets, as in "
            f"{form({'empty_is': EXAMPLES['empty_is']})}"
        )
    return name, _value(name, value)


def _value(name: str, text: str) -> Any:
    if not text.startswith(_FLOW):
        try:
            return json.loads(text)
        except ValueError:
            return text
    try:
        return plain_yaml.read(text, name).data
    except LoadError as error:
        raise DialectError(f"dialect: {name} is {text!r}: {error.errors[0].message}{_instead(name)}") from error


def _instead(name: str) -> str:
    key = BY_NAME.get(name)
    if key is None:
        return ""
    return f"; write for example {form({name: EXAMPLES.get(name, key.default)})}"


def _written(value: Any) -> str:
    """As in YAML's flow style; a text without quotes where it is read back as itself."""
    match value:
        case Mapping():
            return f"{{{', '.join(f'{_word(str(name))}: {_inner(one)}' for name, one in value.items())}}}"
        case list() | tuple():
            return f"[{', '.join(map(_inner, value))}]"
        case str() if value and not value.startswith(_FLOW) and "," not in value and value == value.strip():
            return value if _value("", value) == value else json.dumps(value)
        case _:
            return json.dumps(value)


def _inner(value: Any) -> str:
    return _word(value) if isinstance(value, str) else _written(value)


def _word(text: str) -> str:
    plain = _PLAIN.fullmatch(text) and text not in {"true", "false", "null"}
    return text if plain else json.dumps(text)
