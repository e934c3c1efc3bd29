"""
The shape of one AG-UI event, as the published models see it and as the published client does. Knows no order and no rule.

The models decide and are not retyped here. They are lenient where the client is not; the difference is measured against
version 1.0 of both.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, get_args

from ag_ui.core import Event
from pydantic import BaseModel, TypeAdapter, ValidationError

_ADAPTER: TypeAdapter[Any] = TypeAdapter(Event)


@dataclass(frozen=True, slots=True)
class Shape:
    """
    What is wrong with an event's shape.

    `model` is what keeps the models from accepting it, None where they do. `client` is what the client refuses although the
    models accept it: nulls, snake_case keys, a missing role, a time as text.
    """

    model: str | None = None
    client: tuple[str, ...] = ()


def shape(event: Mapping[str, Any]) -> Shape:
    """Look at one event."""
    try:
        model = _ADAPTER.validate_python(event)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        if first["type"].startswith("union_tag") and not first["loc"]:
            return Shape(f"type is {event.get('type')!r}, which is none of AG-UI's")
        where = ".".join(str(step) for step in first["loc"][1:])
        return Shape(f"{where}: {first['msg']}" if where else str(first["msg"]))
    faults = list(_strict(event, model, ""))
    if event["type"] == "REASONING_MESSAGE_START" and "role" not in event:
        faults.append("role is missing; the client wants 'reasoning'")
    # A bool is an int to Python, and 1.0 is the integer 1 to JSON.
    time = event.get("timestamp")
    if isinstance(time, str | bool):
        faults.append(f"timestamp is {time!r}; the client wants a whole number")
    return Shape(client=tuple(faults))


def _strict(data: Mapping[str, Any], model: BaseModel, path: str) -> Iterator[str]:
    for name, alias, is_any in _fields(type(model)):
        if alias not in data:
            if name in data:
                yield f"{path}{name} is spelled in snake_case; the client reads {alias}"
        elif is_any:
            continue
        elif data[alias] is None:
            yield f"{path}{alias} is null; the client wants it left out"
        elif not isinstance(data[alias], str):
            yield from _nested(data[alias], getattr(model, name), f"{path}{alias}")


@cache
def _fields(model: type[BaseModel]) -> tuple[tuple[str, str, bool], ...]:
    """A model's fields: the name, what the client calls it, and whether it takes anything, null included."""
    fields = model.model_fields.items()
    return tuple((name, field.alias or name, _is_any(field.annotation)) for name, field in fields)


def _nested(data: Any, model: Any, path: str) -> Iterator[str]:
    if isinstance(model, BaseModel) and isinstance(data, Mapping):
        yield from _strict(data, model, f"{path}.")
    elif isinstance(model, list) and isinstance(data, list | tuple):
        for index, (one, its) in enumerate(zip(data, model, strict=True)):
            yield from _nested(one, its, f"{path}[{index}]")


def _is_any(annotation: Any) -> bool:
    return annotation is Any or Any in get_args(annotation)
