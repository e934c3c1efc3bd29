"""Scripted tools as data: what a tool returns, raises or does not do. Decides outcomes; executes and records nothing."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import Any

from fake_models.errors import ScriptError
from fake_models.messages import ToolSpec


@dataclass(frozen=True, slots=True)
class Returns:
    """The value a tool returns; strings inside may hold templates."""

    value: Any


@dataclass(frozen=True, slots=True)
class Raises:
    """The tool raises. `type` is an exception class name, free text."""

    type: str
    message: str


@dataclass(frozen=True, slots=True)
class Hangs:
    """The tool never comes back."""


@dataclass(frozen=True, slots=True)
class Large:
    """The tool returns a text of so many bytes (ASCII, so characters too)."""

    bytes: int


Outcome = Returns | Raises | Hangs | Large


@dataclass(frozen=True)
class Tool:
    """
    A tool of a scenario. `sequence` has one outcome per execution and its last one repeats.

    `parameters` is the JSON Schema shown to the model; arguments are checked against it. `counts` marks a side effect that
    must happen exactly once; `approval` a tool that waits for a person.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    sequence: tuple[Outcome, ...]
    counts: bool = False
    approval: bool = False

    @cached_property
    def schema_text(self) -> str:
        """The schema as canonical JSON, by which its compiled form is kept."""
        return json.dumps(self.parameters, sort_keys=True)


def outcome(tool: Tool, executions_before: int) -> Outcome:
    """What an execution brings, by how many of this tool came before it; the last outcome repeats."""
    return tool.sequence[min(executions_before, len(tool.sequence) - 1)]


def argument_error(tool: Tool, arguments: Any) -> str | None:
    """
    What is wrong with these arguments by the tool's own schema; None if nothing is.

    The schema alone decides: an argument it does not name is refused only where it says so.

    Raises:
        ScriptError: the schema refers to something that is not in it.
    """
    from referencing.exceptions import Unresolvable  # noqa: PLC0415 - start-up time, as below

    try:
        wrong = _wrong(tool.schema_text, json.dumps(arguments))
    except Unresolvable as error:
        raise ScriptError(
            f"tool {tool.name!r}: its parameters refer to {error.ref!r}, which they do not hold; write the schema out"
        ) from None
    return f"tool {tool.name!r}: {wrong}" if wrong else None


def spec(tool: Tool) -> ToolSpec:
    """The tool as it is shown to the model."""
    return ToolSpec(tool.name, tool.description, tool.parameters)


@cache
def _validator(schema: str) -> Any:
    # JSON Schema takes longer to import than all else here, and a model whose tools nobody calls does without.
    from jsonschema import Draft202012Validator  # noqa: PLC0415
    from jsonschema.validators import validator_for  # noqa: PLC0415
    from referencing import Registry  # noqa: PLC0415

    # By the schema's text, since compiling one costs more than checking with it. The empty registry keeps references local:
    # jsonschema's own default would fetch a remote one.
    parameters = json.loads(schema)
    return validator_for(parameters, default=Draft202012Validator)(parameters, registry=Registry())


# The same arguments are checked by the tool, by rules and by observers, all of which ask here.
@lru_cache(maxsize=4096)
def _wrong(schema: str, arguments: str) -> str:
    return "; ".join(map(_worded, _validator(schema).iter_errors(json.loads(arguments))))


def _worded(error: Any) -> str:
    field = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.absolute_path).lstrip(".")
    return f"argument {field!r}: {error.message}" if field else f"arguments: {error.message}"
