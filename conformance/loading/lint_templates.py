"""Templates of a scenario that cannot be read, or that no run can ever resolve. Resolves none. Pure."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from conformance.errors import Path, Problem, guess
from conformance.scenario import Scenario
from fake_models import template
from fake_models.errors import ScriptError
from fake_models.template import Template
from fake_models.tools import Large, Returns, Tool


def templates(scenario: Scenario) -> Iterator[Problem]:
    """A template that cannot be read, or that no run can ever resolve."""
    ids = _ids(scenario)
    for path, texts, called in _templated(scenario):
        yield from _problems(path, texts, scenario.tools, ids, called)


def in_turn(written: Mapping[str, Any], scenario: Scenario) -> Iterator[Problem]:
    """The same for a turn that may be played at any time in a scenario, with its path from the turn."""
    ids = _ids(scenario)
    for path, texts in _spoken(written):
        yield from _problems(path, texts, scenario.tools, ids, None)


def _ids(scenario: Scenario) -> set[str]:
    return {call.id for run in scenario.runs for turn in run.script.turns for call in turn.calls if call.id}


def _problems(
    path: Path, texts: Any, tools: Mapping[str, Tool], ids: Collection[str], called: Collection[str] | None
) -> Iterator[Problem]:
    for at, text in _strings(texts, path):
        try:
            for found in template.paths(text):
                if (message := _unresolvable(found, tools, ids, called)) is not None:
                    yield Problem(at, f"template {found.text!r}: {message}")
        except ScriptError as error:
            yield Problem(at, str(error))


def _templated(scenario: Scenario) -> Iterator[tuple[Path, Any, Collection[str] | None]]:
    """What may hold templates, with the tools called before it (None: at any time)."""
    for name, tool in scenario.data.get("tools", {}).items():
        path: Path = ("tools", name)
        yield (*path, "returns"), tool.get("returns"), None
        for n, one in enumerate(tool.get("sequence", ())):
            yield (*path, "sequence", n, "returns"), one.get("returns"), None
    called: dict[str, set[str]] = {}
    for n, (run, data) in enumerate(zip(scenario.runs, scenario.data["runs"], strict=True)):
        before = called.setdefault(run.session, set())
        if any(other.start == "with" for other in scenario.runs[n : n + 2]):
            before |= {call.name for other in scenario.runs for turn in other.script.turns for call in turn.calls}
        for m, (turn, written) in enumerate(zip(run.script.turns, data.get("model", ()), strict=True)):
            yield from ((("runs", n, "model", m, *at), texts, before) for at, texts in _spoken(written))
            before |= {call.name for call in turn.calls}


def _spoken(written: Mapping[str, Any]) -> Iterator[tuple[Path, Any]]:
    for key in ("say", "think", "answer"):
        yield (key,), written.get(key)
    yield from ((("call", *at), args) for at, args in _arguments(written.get("call")))


def _arguments(call: Any) -> Iterator[tuple[Path, Any]]:
    match call:
        case {"args": args}:
            yield ("args",), args
        case list():
            yield from (((n, *path), args) for n, one in enumerate(call) for path, args in _arguments(one))


def _strings(value: Any, path: Path) -> Iterator[tuple[Path, str]]:
    match value:
        case str():
            yield path, value
        case Mapping():
            for key, item in value.items():
                yield from _strings(item, (*path, key))
        case list():
            for n, item in enumerate(value):
                yield from _strings(item, (*path, n))


def _unresolvable(
    found: Template, tools: Mapping[str, Tool], ids: Collection[str], called: Collection[str] | None
) -> str | None:
    name = found.name or ""
    # Ids that no script gives are call_1, call_2, ... in the order of the calls.
    if found.root == "call" and name not in ids and not name.startswith("call_"):
        return f"no call has the id {name!r}{guess(name, ids)}"
    if found.root == "result" and name not in tools:
        return f"the scenario has no tool {name!r}{guess(name, tools)}"
    if found.root == "result" and not any(_walks(value, found.steps) for value in _values(tools[name])):
        return f"tool {name!r} returns nothing that has {'.'.join(map(str, found.steps)) or 'a value'!r}"
    if found.root == "result" and called is not None and name not in called:
        return f"no turn before this one calls {name!r}"
    return None


def _values(tool: Tool) -> Iterator[Any]:
    for outcome in tool.sequence:
        match outcome:
            case Returns(value):
                yield value
            case Large():
                yield ""


def _walks(value: Any, steps: Sequence[str | int]) -> bool:
    for step in steps:
        if isinstance(value, str):
            return "{{" in value  # what a template becomes is not known yet
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return False
    return True
