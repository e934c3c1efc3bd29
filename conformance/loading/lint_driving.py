"""What a scenario gets wrong where the kit steps into a run: points that never come, answers to nobody, names nobody has. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any

from conformance.errors import Path, Problem, guess
from conformance.scenario import RunSpec, Scenario


def steps(scenario: Scenario) -> Iterator[Problem]:
    """A point at which a run is cancelled or killed that it cannot come to, or one of two."""
    for n, run in enumerate(scenario.runs):
        if run.cancel is not None and run.kill is not None:
            message = "the run is cancelled as well, and only one of the two can come first; leave one out"
            yield Problem(("runs", n, "kill"), message)
        for word, point in (("cancel", run.cancel), ("kill", run.kill)):
            if point not in (None, "stream") and not _calls(run) and not _allows(run, point):
                message = f"came {point!r}, but no turn of the run calls a tool: the point never comes"
                yield Problem(("runs", n, word), message)
        beside = run.start == "with" or (n + 1 < len(scenario.runs) and scenario.runs[n + 1].start == "with")
        if run.kill is not None and beside:
            yield Problem(("runs", n, "kill"), "a run beside this one would die with it; kill a run that goes on alone")


def _calls(run: RunSpec) -> bool:
    # What a persona does is not written down.
    return run.script.persona is not None or any(turn.calls for turn in run.script.turns)


def _allows(run: RunSpec, point: str) -> bool:
    """Whether an answer lets a call of the run before run in this one."""
    return point in ("in_tools", "after_tools") and any(one["approved"] for one in run.resume or ())


def resumes(scenario: Scenario) -> Iterator[Problem]:
    """A run that answers what nothing can have asked."""
    waits = any(tool.approval for tool in scenario.tools.values())
    for n, run in enumerate(scenario.runs):
        for m, one in enumerate(run.resume or ()):
            at = ("runs", n, "resume", m)
            tool = one.get("tool")
            if tool is not None and tool not in scenario.tools:
                yield Problem((*at, "tool"), f"the scenario has no tool {tool!r}{guess(tool, scenario.tools)}")
            elif tool is not None and not scenario.tools[tool].approval:
                yield Problem((*at, "tool"), f"no call of {tool!r} waits: it does not say `approval: true`")
            elif not waits:
                yield Problem(at, "nothing waits for this answer: no tool of the scenario says `approval: true`")


def knobs(scenario: Scenario) -> Iterator[Problem]:
    """A tool that a knob names and the scenario does not have."""
    settings: list[tuple[Path, Mapping[str, Any]]] = [((), scenario.data)]
    settings += [*((("runs", n), run) for n, run in enumerate(scenario.data["runs"]))]
    for path, data in settings:
        for at, name, known in _named(data.get("knobs", {}), scenario):
            if name not in known:
                yield Problem((*path, "knobs", *at), f"the scenario has no tool {name!r}{guess(name, known)}")


def _named(data: Mapping[str, Any], scenario: Scenario) -> Iterator[tuple[Path, str, set[str]]]:
    tools = set(scenario.tools)
    children = {name for run in scenario.runs for name in run.knobs.get("subagents", {})}
    for n, callback in enumerate(data.get("callbacks", ())):
        if "tool" in callback:
            yield ("callbacks", n, "tool"), callback["tool"], tools | children
    gate = data.get("gate", {})
    if "tool" in gate:
        yield ("gate", "tool"), gate["tool"], tools | children
    yield from ((("gate", "since", n), name, tools | children) for n, name in enumerate(gate.get("since", ())))
    for child, what in data.get("subagents", {}).items():
        yield from ((("subagents", child, "tools", n), name, tools) for n, name in enumerate(what["tools"]))
