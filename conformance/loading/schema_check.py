"""
A scenario's data against its schema, and each breach in words an author can act on.

The one module of `conformance` that knows jsonschema. Knows no file and no place in one.
"""

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from functools import cache
from importlib.resources import files
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker, SchemaError
from jsonschema.validators import extend

from conformance.errors import Path, Problem, guess, nearest
from conformance.loading.plain_yaml import MAX_DEPTH
from conformance.printable import excerpt

#: A ValidationError. Its published types say "or unset" to every field, which is never so for one that was raised.
Breach = Any

#: RFC 3339, section 5.6, with the offset that makes it a point in time.
_RFC_3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-]\d\d:\d\d)", re.ASCII)
#: First and last year of a scenario's clock, which goes on from there: what counts seconds or adds days stays within its own.
_YEARS = (1970, 2999)


def problems(data: Any) -> list[Problem]:
    """Everything in the data that the schema does not allow; none means that `scenario(data)` can be built."""
    if odd := list(unreadable(data)):
        return odd
    found = [
        problem for error in _validator().iter_errors(data) for problem in EXPLAIN.get(error.validator, _other)(error)
    ]
    # Without this the data's shape is not known to be right, and tools could stand anywhere.
    return list(dict.fromkeys(found)) or list(_tool_problems(data.get("tools", {})))


def unreadable(data: Any) -> Iterator[Problem]:
    """What JSON in a file could not say, or a reader could not follow; data that came by another way may hold it."""
    left: list[tuple[Path, Any]] = [((), data)]
    while left:
        path, value = left.pop()
        if isinstance(value, dict | list) and len(path) > MAX_DEPTH:
            yield Problem(path[:MAX_DEPTH], f"nested deeper than {MAX_DEPTH} levels; expected fewer")
        elif isinstance(value, dict):
            left += [((*path, excerpt(key, 40)), one) for key, text in value.items() for one in (key, text)]
        elif isinstance(value, list):
            left += [((*path, index), one) for index, one in enumerate(value)]
        elif isinstance(value, float) and not math.isfinite(value):
            yield Problem(path, f"came {value!r}, which JSON does not have; expected a number that it has")
        elif isinstance(value, str) and any("\ud800" <= char <= "\udfff" for char in value):
            yield Problem(path, f"'{excerpt(value, 40)}' holds half a character; write the character itself")


def _tool_problems(tools: Mapping[str, Any]) -> Iterator[Problem]:
    for name, tool in tools.items():
        at = ("tools", name, "parameters")
        linked = next(_links(tool["parameters"], ()), None)
        if linked is not None:
            message = "a tool's schema cannot refer to another place, which models and frameworks read differently; write it out"
            yield Problem((*at, *linked), message, on_key=True)
            continue
        try:
            _check_parameters(json.dumps(tool["parameters"], sort_keys=True))
        except SchemaError as error:
            yield Problem((*at, *error.path), f"the parameters are no JSON Schema: {error.message}")


#: Keys by which a schema refers to a place, or names one.
_LINKS = frozenset({"$ref", "$dynamicRef", "$recursiveRef", "$id", "$anchor", "$dynamicAnchor", "$schema"})


def _links(schema: Any, at: tuple[str | int, ...]) -> Iterator[tuple[str | int, ...]]:
    """Where a schema refers to another place; what only looks like a key, inside a value to compare with, is none."""
    if isinstance(schema, Mapping):
        for key, value in schema.items():
            if key in _LINKS and not (at and at[-1] in ("properties", "patternProperties")):
                yield (*at, key)
            elif key not in ("const", "enum", "default", "examples"):
                yield from _links(value, (*at, key))
    elif isinstance(schema, list):
        for index, value in enumerate(schema):
            yield from _links(value, (*at, index))


@cache
def _check_parameters(schema: str) -> None:
    Draft202012Validator.check_schema(json.loads(schema))


@cache
def _validator() -> Any:
    checker = FormatChecker(formats=())
    checker.checks("date-time", raises=ValueError)(_is_point_in_time)
    schema = json.loads(files("conformance.schemas").joinpath("scenario.schema.json").read_text("utf-8"))
    return _Strict(schema, format_checker=checker)


# To JSON Schema 1.0 is an integer, but a script that counts by it cannot be played; and NaN is no number to anyone.
_Strict: Any = extend(  # type: ignore[no-untyped-call]  # jsonschema does not say
    Draft202012Validator,
    type_checker=Draft202012Validator.TYPE_CHECKER.redefine_many(
        {
            "integer": lambda _, value: isinstance(value, int) and not isinstance(value, bool),
            "number": lambda _, value: isinstance(value, int | float) and not isinstance(value, bool),
        }
    ),
)


def _is_point_in_time(value: object) -> bool:
    if not isinstance(value, str):
        return True
    if _RFC_3339.fullmatch(value) is None:
        return False
    return _YEARS[0] <= datetime.fromisoformat(value).year <= _YEARS[1]


def _unknown_keys(error: Breach) -> Iterator[Problem]:
    known = error.schema["properties"]
    free = set(known) - set(error.instance)
    for key in error.instance:
        if key not in known:
            hint = guess(key, free if nearest(key, free) else known)
            yield Problem((*error.path, key), f"unknown key {key!r}{hint}", on_key=True)


def _missing_keys(error: Breach) -> Iterator[Problem]:
    missing = [repr(key) for key in error.validator_value if key not in _meant(error)]
    if missing:
        yield Problem(tuple(error.path), f"{' and '.join(missing)} must be written here and {_is(missing)} missing")


def _lonely_key(error: Breach) -> Iterator[Problem]:
    """A key that says more of another one, which is not there."""
    for key, wanted in error.validator_value.items():
        missing = [repr(one) for one in wanted if one not in _meant(error)]
        if key in error.instance and missing:
            message = f"{key!r} says more of {' and '.join(missing)}, which {_is(missing)} missing here"
            yield Problem((*error.path, key), message, on_key=True)


def _choice_of_keys(error: Breach) -> Iterator[Problem]:
    """A oneOf or anyOf whose branches each require one key; of a value that has no keys the type is spoken of instead."""
    if not isinstance(error.instance, Mapping):
        return
    names = [branch["required"][0] for branch in error.validator_value]
    there = [name for name in names if name in _meant(error)]
    wanted = f"{'exactly' if error.validator == 'oneOf' else 'at least'} one of {', '.join(names)}"
    if len(there) > 1:
        yield Problem(
            (*error.path, there[1]), f"{' and '.join(map(repr, there))} stand together, expected {wanted}", on_key=True
        )
    elif not there:
        yield Problem(tuple(error.path), f"{wanted} must be written here")


def _meant(error: Breach) -> set[str]:
    """The keys that stand there, and those that a misspelt one was meant to be: one slip, one message."""
    known = error.schema.get("properties", {})
    return {key if key in known else nearest(key, known) or key for key in error.instance}


def _excluded(error: Breach) -> Iterator[Problem]:
    """A value that is none of the others, or a key that another key forbids: `dependentSchemas` with `not: {}` under it."""
    if others := error.validator_value.get("enum"):
        yield _at(error, f"{_shown(error.instance)}, expected none of {', '.join(map(_json, others))}")
        return
    steps = list(error.schema_path)[::-1]
    beside = steps[steps.index("dependentSchemas") - 1]
    yield Problem(
        tuple(error.path), f"{error.path[-1]!r} cannot stand beside {beside!r}; keep one of them", on_key=True
    )


_TYPES = {
    "string": "a text",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "object": "a mapping",
    "array": "a list",
    "null": "null",
}


def _type(error: Breach) -> Iterator[Problem]:
    wanted = error.validator_value if isinstance(error.validator_value, list) else [error.validator_value]
    quoting = "; quote it" if "string" in wanted and isinstance(error.instance, bool | int | float) else ""
    yield _at(error, f"{_shown(error.instance)}, expected {' or '.join(_TYPES[name] for name in wanted)}{quoting}")


def _one_of_values(error: Breach) -> Iterator[Problem]:
    values = error.validator_value if error.validator == "enum" else [error.validator_value]
    near = nearest(error.instance, map(str, values)) if isinstance(error.instance, str) else None
    hint = f"; did you mean {near!r}?" if near else ""
    yield _at(error, f"{_shown(error.instance)}, expected {' or '.join(map(_json, values))}{hint}")


def _bound(says: str) -> Callable[[Breach], Iterator[Problem]]:
    def explain(error: Breach) -> Iterator[Problem]:
        yield _at(error, f"{_shown(error.instance)}, expected {says} {error.validator_value}")

    return explain


def _says(says: str) -> Callable[[Breach], Iterator[Problem]]:
    def explain(error: Breach) -> Iterator[Problem]:
        yield _at(error, f"{_shown(error.instance)}, expected {says}")

    return explain


def _other(error: Breach) -> Iterator[Problem]:
    yield _at(error, error.message)


#: What a breach of each keyword of the schema means to an author.
EXPLAIN: Mapping[Any, Callable[[Breach], Iterator[Problem]]] = {
    "additionalProperties": _unknown_keys,
    "anyOf": _choice_of_keys,
    "const": _one_of_values,
    "dependentRequired": _lonely_key,
    "enum": _one_of_values,
    "exclusiveMinimum": _bound("more than"),
    "format": _says(
        f"an RFC 3339 time with an offset, such as 2026-01-01T00:00:00Z, of the years {_YEARS[0]} to {_YEARS[1]}"
    ),
    "maximum": _bound("at most"),
    "minItems": _says("at least one entry"),
    "minLength": _says("a text that is not empty"),
    "minProperties": _says("at least one key"),
    "minimum": _bound("at least"),
    "not": _excluded,
    "oneOf": _choice_of_keys,
    "pattern": _bound("a text that matches"),
    "required": _missing_keys,
    "type": _type,
    "uniqueItems": _says("every entry once"),
}


def _at(error: Breach, message: str) -> Problem:
    if "propertyNames" in error.schema_path:
        return Problem((*error.path, error.instance), f"key {message.removeprefix('came ')}", on_key=True)
    return Problem(tuple(error.path), message)


def _shown(value: Any) -> str:
    text = _json(value)
    return f"came {text if len(text) <= 80 else text[:77] + '...'}"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _is(items: list[str]) -> str:
    return "is" if len(items) == 1 else "are"
