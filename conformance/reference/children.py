"""Agents inside a run: each a loop of its own, called as a tool, with its own budget, history and tools. Shows nothing itself."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from conformance.reference import answering
from conformance.reference.acting import refused
from conformance.reference.run import Ending, Run, Session
from conformance.reference.steps import Execution, Steps

#: Says that a model call stands beside the loop that the caller started.
HEADERS: Mapping[str, str] = {"X-Conformance-Call": "auxiliary"}


def tools(knobs: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The child agents of a run as the tools that its model calls them by, as AG-UI spells tools."""
    task = {"type": "object", "properties": {"task": {"type": "string"}}, "required": ["task"]}
    return [
        {"name": name, "description": child["description"], "parameters": task}
        for name, child in knobs.get("subagents", {}).items()
    ]


def child(run: Run, one: Execution) -> Run:
    """The run of a child: all of it is its own but what the caller set for every loop, and the wish to end."""
    spec = run.given.knobs["subagents"][one.tool]
    names = {*spec["tools"], *(tool["name"] for tool in answering.tools(run.dialect))}
    return replace(
        run,
        given=replace(run.given, limits={"max_iters": spec["max_iters"]}, knobs={}, tool_choice=None),
        session=Session(
            messages=[{"role": "user", "content": str(one.arguments["task"])}], cancelled=run.session.cancelled
        ),
        limit=int(spec["max_iters"]),
        tools={name: schema for name, schema in run.tools.items() if name in names},
        offered=[tool for tool in run.offered if tool["function"]["name"] in names],
        headers=HEADERS,
        rounds=0,
        recovered={},
        texts=[],
        last_result=None,
        done=[],
        sent_back=0,
        answer=None,
        running={},
    )


def called(run: Run, one: Execution, rounds: Callable[[Run], Steps[Ending]]) -> Steps[object]:
    """What a child's call brings: its last words, which at its limit are what that dialect gives, or why it has none."""
    inside = run.parts.child(run, one)
    ending = yield from _unseen(rounds(inside))
    if ending.kind not in ("answered", "limit"):
        return refused("tool_exception", ending.kind, f"{one.tool!r} came to no end: {ending.reason}")
    return ending.text or f"{one.tool!r} was stopped: {ending.reason}. Its last result was: {inside.last_result}"


def is_child(run: Run, one: Execution) -> bool:
    """Whether a call is a child's."""
    return one.tool in run.given.knobs.get("subagents", {})


def _unseen(steps: Steps[Ending]) -> Steps[Ending]:
    """Carry a program's steps on and keep its events: the caller sees the call and its result."""
    answer: Any = None
    failure: Exception | None = None
    while True:
        try:
            step = steps.send(answer) if failure is None else steps.throw(failure)
        except StopIteration as end:
            ending: Ending = end.value
            return ending
        answer, failure = None, None
        if isinstance(step, dict):
            continue
        try:
            answer = yield step
        except Exception as error:  # noqa: BLE001 - the program knows which failures are its own
            failure = error
