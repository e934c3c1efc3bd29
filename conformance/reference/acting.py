"""From a call the model wrote to what may run, and from what came of it to what the model reads. Runs nothing itself."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, NoReturn

from jsonschema import Draft202012Validator, ValidationError
from referencing import Registry

from conformance.agent_side import ToolFailed
from conformance.reference.hearing import Call
from conformance.reference.steps import Execution

#: Why a call was not answered by its tool, called as the dialect's keys; the others are no fault of
#: the call. An `answer` is none that a tool is run for.
Cause = Literal["unknown_tool", "bad_arguments", "tool_exception", "timeout", "guard", "not_run", "answer"]


#: Where one of these stands in a schema, `properties` does not hold all the names it knows.
_COMPOSED = frozenset({"patternProperties", "allOf", "anyOf", "oneOf", "$ref"})


@dataclass(frozen=True, slots=True)
class Refused:
    """A call that must not run, or a run that failed, and what the model is told of it."""

    cause: Cause
    text: str


def checked(call: Call, tools: Mapping[str, Mapping[str, Any]], extra_args: str) -> Execution | Refused:
    """
    The execution that a call asks for, if it is one.

    `tools` maps a name to its JSON Schema, `extra_args` is the dialect's: arguments the schema does not name are refused,
    dropped or passed. Nothing is ever repaired or coerced.
    """
    if call.tool not in tools:
        known = ", ".join(tools) or "none"
        return refused("unknown_tool", "UnknownTool", f"there is no tool {call.tool!r}; the tools are: {known}")
    schema = tools[call.tool]
    arguments = parsed(call.arguments)
    if arguments is None:
        return refused(
            "bad_arguments",
            "BadArguments",
            f"the arguments of {call.tool!r} are no JSON object: {call.arguments[:200]!r}",
        )
    known_part, extra = _split(arguments, schema)
    if extra and extra_args == "refuse":
        return refused("bad_arguments", "BadArguments", f"{call.tool!r} has no argument {', '.join(map(repr, extra))}")
    problems = [_wrong(error) for error in _validator(json.dumps(schema)).iter_errors(known_part)]
    if problems:
        return refused("bad_arguments", "BadArguments", f"{call.tool!r}: {'; '.join(problems)}")
    return Execution(call.tool, arguments if extra_args == "pass" else known_part, call.id)


def parsed(arguments: str) -> dict[str, Any] | None:
    """The object that argument text spells, None where it spells none. Blank text is the empty object."""
    if not arguments.strip():
        return {}
    try:
        value = json.loads(arguments, parse_constant=_no_number)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def untyped(schema: Mapping[str, Any]) -> dict[str, Any]:
    """What is left of a tool's schema where the tool itself looks at the types: the names, and which of them are required."""
    kept = {key: schema[key] for key in ("required", "additionalProperties") if key in schema}
    return {"type": "object", "properties": {name: {} for name in schema.get("properties", {})}, **kept}


def result_text(value: Any) -> str:
    """What the model reads of a value that a tool returned: a text as it is, all else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def failed(failure: ToolFailed) -> Refused:
    """What the model reads of a tool that raised. A tool that refused its arguments did nothing, as if the loop had."""
    cause: Cause = "timeout" if failure.timed_out else "bad_arguments" if failure.rejected else "tool_exception"
    return refused(cause, failure.type, failure.message)


def not_run(why: str) -> Refused:
    """What the model reads of a call that will never run."""
    return refused("not_run", "NotRun", why)


def refused(cause: Cause, kind: str, message: str) -> Refused:
    """What the model reads of a call that brought nothing, by the kind of its failure."""
    return Refused(cause, f"Error: {kind}: {message}")


def _split(arguments: dict[str, Any], schema: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The arguments the schema speaks of, and the names of the others."""
    if schema.get("additionalProperties", False) is not False or not _COMPOSED.isdisjoint(schema):
        return arguments, ()
    known = schema.get("properties", {})
    extra = tuple(name for name in arguments if name not in known)
    return {name: value for name, value in arguments.items() if name in known}, extra


@lru_cache(maxsize=256)
def _validator(schema: str) -> Draft202012Validator:
    # The empty registry keeps references local; the default would fetch a remote one.
    return Draft202012Validator(json.loads(schema), registry=Registry())


def _wrong(error: ValidationError) -> str:
    field = ".".join(str(step) for step in error.absolute_path)
    return f"argument {field!r}: {error.message}" if field else error.message


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no JSON")
