"""What a run's caller gives an agent, as AG-UI has it: messages, tools, limits. Pure; asks no agent."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from conformance.scenario import RunSpec, Scenario


def opening(plan: Scenario) -> tuple[Mapping[str, Any], ...]:
    """What a session's first run carries before its user text; a key that says null is left out, as AG-UI wants it."""
    system = () if plan.system is None else ({"id": "system", "role": "system", "content": plan.system},)
    return (*system, *({key: one for key, one in m.items() if one is not None} for m in plan.history))


def run_input(
    plan: Scenario,
    spec: RunSpec,
    *,
    run: str,
    thread: str,
    history: Iterable[Mapping[str, Any]],
    resume: Iterable[Mapping[str, Any]] | None = None,
) -> dict[str, Any]:
    """The RunAgentInput of a run; `history` is what stands before its user text, `resume` what answers the run before."""
    user = () if spec.user is None else ({"id": f"user-{run}", "role": "user", "content": spec.user},)
    offered = [
        {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
        | ({"metadata": {"approval": True}} if tool.approval else {})
        for tool in plan.tools.values()
    ]
    return {
        "threadId": thread,
        "runId": run,
        "state": {},
        "messages": [*history, *user],
        "tools": offered,
        "context": [],
        "forwardedProps": {},
        **({} if resume is None else {"resume": list(resume)}),
    }


def limits(spec: RunSpec) -> dict[str, Any]:
    """What the caller allows the run; only what is set."""
    return {key: value for key, value in asdict(spec.limits).items() if value is not None}
