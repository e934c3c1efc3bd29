"""Arguments that fit a tool's schema as well as can be told without thinking: its required keys, each with a plain value. Pure."""

import math
from collections.abc import Callable, Mapping
from typing import Any

#: How deep a value is made: schemas that hold themselves would never end.
MAX_DEPTH = 8


def arguments(schema: Any, number: int = 1) -> dict[str, Any]:
    """
    The arguments of call `number`: those of another number differ where the schema leaves room.

    Never raises. `pattern`, `format`, `allOf` and references to other places are not looked at, so that a tool may refuse what comes.
    """
    return _object(_mapping(schema), number, 0)


def _value(schema: Any, number: int, depth: int) -> Any:
    schema = _mapping(schema)
    if depth > MAX_DEPTH:
        return None
    for key in ("const", "default"):
        if key in schema:
            return schema[key]
    for key in ("enum", "examples"):
        if choices := _list(schema.get(key)):
            return choices[number % len(choices)]
    for key in ("anyOf", "oneOf"):
        if branches := _list(schema.get(key)):
            return _value(branches[0], number, depth + 1)
    return _MAKE[_type(schema)](schema, number, depth)


def _type(schema: Mapping[str, Any]) -> str:
    named = schema.get("type", "object" if "properties" in schema else "string")
    first = (_list(named) or [named])[0]
    return first if isinstance(first, str) and first in _MAKE else "string"


def _object(schema: Mapping[str, Any], number: int, depth: int) -> dict[str, Any]:
    fields = _mapping(schema.get("properties"))
    required = [name for name in _list(schema.get("required")) if isinstance(name, str)]
    return {name: _value(fields.get(name), number, depth + 1) for name in required}


def _array(schema: Mapping[str, Any], number: int, depth: int) -> list[Any]:
    # More than a few are asked for by no tool that an agent is tested with.
    return [_value(schema.get("items"), number, depth + 1)] * min(_whole(schema.get("minItems")), MAX_DEPTH)


def _string(schema: Mapping[str, Any], number: int, _depth: int) -> str:
    word = f"text {number}".ljust(min(_whole(schema.get("minLength")), 1000), ".")
    most = schema.get("maxLength")
    return word[: _whole(most)] if most is not None else word


def _number(schema: Mapping[str, Any], number: int, _depth: int) -> int | float:
    return min(max(number, _bound(schema.get("minimum"), -math.inf)), _bound(schema.get("maximum"), math.inf))


def _integer(schema: Mapping[str, Any], number: int, depth: int) -> int:
    value = _number(schema, number, depth)
    return value if isinstance(value, int) else number


#: A value of each type that JSON Schema knows.
_MAKE: Mapping[str, Callable[[Mapping[str, Any], int, int], Any]] = {
    "object": _object,
    "array": _array,
    "string": _string,
    "number": _number,
    "integer": _integer,
    "boolean": lambda _schema, number, _depth: number % 2 == 1,
    "null": lambda _schema, _number, _depth: None,
}


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else []


def _bound(value: Any, free: float) -> int | float:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else free


def _whole(value: Any) -> int:
    return max(value, 0) if isinstance(value, int) and not isinstance(value, bool) else 0
