"""Calls that a person has to allow: the run ends waiting, and a later one goes on with the answers."""

from collections.abc import Mapping, Sequence
from typing import Any

from conformance.reference.acting import Refused, not_run
from conformance.reference.hearing import Said
from conformance.reference.run import Ending, Run, Waiting
from conformance.reference.steps import Execution


def to_approve(run: Run, plan: Sequence[Execution | Refused]) -> tuple[Execution, ...]:
    """The executions of a plan that nobody has allowed yet."""
    return tuple(one for one in plan if isinstance(one, Execution) and one.tool in run.guarded)


def wait(run: Run, said: Said, plan: Sequence[Execution | Refused], asked: Sequence[Execution]) -> Ending:
    """Keep the reply until its calls are allowed or denied, and end the run waiting. None of its calls runs before."""
    run.session.waiting = Waiting(said, tuple(plan), frozenset(one.call_id for one in asked))
    interrupts = [
        {"id": f"approve-{one.call_id}", "reason": "tool_approval", "toolCallId": one.call_id} for one in asked
    ]
    names = ", ".join(one.tool for one in asked)
    return Ending("waiting", "interrupt", f"waits for approval of {names}", facts={"interrupts": interrupts})


def resumed(waiting: Waiting, answers: Sequence[Mapping[str, Any]]) -> list[Execution | Refused]:
    """The plan that was kept, with each call that was not allowed refused. A call that nobody answered for was not allowed."""
    allowed = {
        answer["interruptId"]
        for answer in answers
        if answer.get("status") == "resolved" and (answer.get("payload") or {}).get("approved") is True
    }
    return [
        not_run("this call was not approved, so it was never run")
        if isinstance(one, Execution) and one.call_id in waiting.asked and f"approve-{one.call_id}" not in allowed
        else one
        for one in waiting.plan
    ]
