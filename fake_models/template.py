"""Templates in scripts: `{{ path | filter }}` against what tools returned and the clock. Data only; runs no code."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from fake_models.errors import ScriptError
from fake_models.messages import Execution, World

#: One template. What stands inside is parsed by PATH, so that a slip is named and never sent to an agent as text.
TEMPLATE = re.compile(r"\{\{(?P<inside>.*?)\}\}", re.DOTALL)
#: Names hold letters, digits, `_` and `-`, as tool names and call ids do on every wire.
PATH = re.compile(
    r"(?P<path>(?:now|(?P<root>result|call)\.(?P<name>[\w-]+)(?P<rest>(?:\.[\w-]+|\[\d+\])*)))"
    r"\s*(?:\|\s*(?P<filter>\w+))?"
)
STEP = re.compile(r"\.([\w-]+)|\[(\d+)\]")


@dataclass(frozen=True, slots=True)
class Template:
    """
    One parsed template.

    `root` is `result`, `call` or `now`; `name` is the tool (`result`) or call id (`call`), None for `now`. `nth` picks an execution of the tool, None the last.
    `steps` are the fields and indices walked in its value.
    """

    text: str
    path: str
    root: str
    name: str | None = None
    nth: int | None = None
    steps: tuple[str | int, ...] = ()
    filter: str | None = None


@dataclass(frozen=True, slots=True)
class Resolved:
    """A path that was looked up. `source` is the execution's id or `now`; `value` is what stood there, unfiltered."""

    path: str
    source: str
    value: Any


@dataclass(frozen=True, slots=True)
class Rendered:
    """A value with its templates filled in, and what they were filled with, in the order read."""

    value: Any
    resolved: tuple[Resolved, ...] = ()


def as_json(value: Any) -> str:
    """A value as JSON, compact and not escaped, as models write arguments."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def text(value: Any) -> str:
    """A value inside a text: strings as they are, everything else as JSON."""
    return value if isinstance(value, str) else as_json(value)


def _clock_text(value: Any) -> str:
    try:
        return datetime.fromisoformat(value).strftime("%Y-%m-%d %H:%M:%S")
    except (TypeError, ValueError):
        raise ScriptError(f"filter 'datetime' wants an ISO 8601 time, but got {value!r}") from None


#: Filters by name: the value found, to the value rendered.
FILTERS: Mapping[str, Callable[[Any], Any]] = {"datetime": _clock_text, "json": as_json}


def render(value: Any, world: World) -> Rendered:
    """
    Fill in the templates of a JSON value; keys are left alone.

    A string that is exactly one template becomes the value itself, type and all.

    Raises:
        ScriptError: a template cannot be read or resolved.
    """
    resolved: list[Resolved] = []
    return Rendered(_filled(value, world, resolved), tuple(resolved))


def paths(value: Any) -> tuple[Template, ...]:
    """
    All templates of a JSON value, for checks before any run.

    Raises:
        ScriptError: a template cannot be read.
    """
    return tuple(piece for string in _strings(value) for piece in _pieces(string) if isinstance(piece, Template))


def _filled(value: Any, world: World, resolved: list[Resolved]) -> Any:
    match value:
        case str():
            if "{{" not in value:
                return value
            pieces = [p if isinstance(p, str) else _resolve(p, world, resolved) for p in _pieces(value)]
            return pieces[0] if len(pieces) == 1 else "".join(map(text, pieces))
        case Mapping():
            return {key: _filled(item, world, resolved) for key, item in value.items()}
        case list() | tuple():
            return [_filled(item, world, resolved) for item in value]
        case _:
            return value


def _strings(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case Mapping():
            for item in value.values():
                yield from _strings(item)
        case list() | tuple():
            for item in value:
                yield from _strings(item)


def _pieces(string: str) -> list[str | Template]:
    """The string cut into plain texts and templates, in order; empty texts are left out."""
    pieces: list[str | Template] = []
    end = 0
    for match in TEMPLATE.finditer(string):
        pieces += [string[end : match.start()], _parsed(match[0], match["inside"])]
        end = match.end()
    if (opened := string.find("{{", end)) >= 0:
        raise ScriptError(f"template {string[opened:]!r}: it is never closed; end it with '}}}}'")
    return [piece for piece in [*pieces, string[end:]] if piece != ""]


def _parsed(whole: str, inside: str) -> Template:
    match = PATH.fullmatch(inside.strip())
    if match is None:
        raise ScriptError(
            f"template {whole!r}: wanted 'now', 'result.TOOL' or 'call.ID', with '.field' and '[n]' behind it, "
            f"and at most one '| filter'"
        )
    if (name := match["filter"]) is not None and name not in FILTERS:
        raise ScriptError(f"template {whole!r}: filter {name!r} is unknown; there are {sorted(FILTERS)}")
    if match["root"] is None:
        return Template(whole, match["path"], "now", filter=name)
    steps = tuple(field or int(index) for field, index in STEP.findall(match["rest"]))
    # Directly behind a tool's name an index picks the execution; `call.ID` is one execution already.
    if match["root"] == "result" and steps and isinstance(steps[0], int):
        return Template(whole, match["path"], "result", match["name"], steps[0], steps[1:], name)
    return Template(whole, match["path"], match["root"], match["name"], None, steps, name)


def _resolve(template: Template, world: World, resolved: list[Resolved]) -> Any:
    try:
        if template.root == "now":
            found = Resolved(template.path, "now", world.now.isoformat())
        else:
            execution = _execution(template, world)
            found = Resolved(template.path, execution.exec, _walk(execution, template.steps))
        value = found.value if template.filter is None else FILTERS[template.filter](found.value)
    except ScriptError as error:
        raise ScriptError(f"template {template.text!r}: {error}") from None
    resolved.append(found)
    return value


def _execution(template: Template, world: World) -> Execution:
    if template.root == "call":
        found = [done for done in world.executions if done.call_id == template.name]
        there = sorted({done.call_id for done in world.executions if done.call_id is not None})
    else:
        of_tool = [done for done in world.executions if done.tool == template.name]
        # What this run did hides what the session did before it, for `[n]` too.
        found = [done for done in of_tool if done.run == world.run] or of_tool
        there = sorted({done.tool for done in world.executions})
    nth = -1 if template.nth is None else template.nth
    if nth >= len(found) or not found:
        raise ScriptError(
            f"path {template.path!r} has no execution: {len(found)} of {template.name!r} finished; finished were {there}"
        )
    return found[nth]


def _walk(execution: Execution, steps: tuple[str | int, ...]) -> Any:
    value = execution.value
    for step in steps:
        # Only objects have fields and only lists places: to walk into the characters of a text is always a slip.
        holds = step in value if isinstance(value, Mapping) else isinstance(value, list) and step in range(len(value))
        if not holds:
            raise ScriptError(
                f"{step!r} is not in {value!r}, within what {execution.exec} of {execution.tool!r} returned"
            )
        value = value[step]
    return value
