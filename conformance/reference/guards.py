"""What keeps a run from going on for ever: caps on its calls and tokens, the caller's guardrails, tools that keep failing."""

from collections.abc import Sequence
from itertools import takewhile

from conformance.reference import breaker, telling
from conformance.reference.acting import Refused, not_run, refused
from conformance.reference.run import Done, Ending, Run
from conformance.reference.steps import Execution, Steps


def admitted(run: Run, plan: Sequence[Execution | Refused]) -> Steps[tuple[list[Execution | Refused], Ending | None]]:
    """The plan with what may not run refused, call by call, and the end where that stops the run."""
    let: list[Execution | Refused] = []
    stopping: Ending | None = None
    for one in plan:
        if isinstance(one, Refused):
            let.append(one)
            continue
        if stopping is not None:
            let.append(not_run(f"the run was stopped before this call was run: {stopping.reason}"))
            continue
        stopping = yield from telling.hooks(run, "guardrail", one.tool, one.call_id)
        if stopping is None:
            stopping = yield from telling.hooks(run, "before_tool", one.tool, one.call_id)
        if stopping is not None:
            # What was objected to stands for the whole reply: nothing of it runs.
            told = f"the run was stopped before this call was run: {stopping.reason}"
            let = [not_run(told) if isinstance(entry, Execution) else entry for entry in (*let, one)]
            continue
        before = [entry for entry in let if isinstance(entry, Execution)]
        why, ends = _objection(run, one, before)
        let.append(one if why is None else refused("guard", "Refused", why))
        if why is not None and ends:
            stopping = Ending("guard", "error", why)
    return let, stopping


def _objection(run: Run, one: Execution, before: Sequence[Execution]) -> tuple[str | None, bool]:
    """Why a call must not run, None where it may, and whether that ends the run."""
    if (why := run.parts.over_the_cap(run, one, before)) is not None:
        return why, run.dialect.on_guard == "stop"
    return run.parts.broken(run, one), False


def over_the_cap(run: Run, one: Execution, before: Sequence[Execution]) -> str | None:
    """Why a call is one too many, naming the setting; `before` are the reply's calls that run before it."""
    limits = run.given.limits
    most, same, made = limits.get("max_tool_calls"), limits.get("max_same_call"), len(run.done) + len(before)
    if most is not None and made >= most:
        return f"max_tool_calls={most} was reached after {made} calls"
    if same is not None and repeated(run.done, one, before) >= same:
        return f"max_same_call={same} was reached: {one.tool!r} with these arguments brings nothing new"
    if same is not None and (errors := equal_errors(run.done, one)) >= same:
        return f"max_same_call={same} was reached: {one.tool!r} failed {errors} times in the same way"
    return None


def repeated(done: Sequence[Done], one: Execution, before: Sequence[Execution]) -> int:
    """How often in a row this very call was made, always with the same result; a call that brought another one was progress."""
    now = list(takewhile(lambda x: (x.tool, x.arguments) == (one.tool, one.arguments), reversed(before)))
    if len(now) < len(before):
        return len(now)
    earlier = list(takewhile(lambda d: (d.tool, d.arguments) == (one.tool, one.arguments), reversed(done)))
    return len(now) + len(list(takewhile(lambda d: d.text == earlier[0].text, earlier)))


def equal_errors(done: Sequence[Done], one: Execution) -> int:
    """How often in a row this tool failed with the same words, whatever its arguments."""
    last = list(takewhile(lambda d: d.tool == one.tool and d.failed, reversed(done)))
    return len(list(takewhile(lambda d: d.text == last[0].text, last)))


def over_budget(run: Run) -> Ending | None:
    """The end of a run whose calls together used up what the caller allows."""
    budget, spent = run.given.limits.get("token_budget"), sum(sum(one.values()) for one in run.spent)
    if budget is None or spent < budget:
        return None
    return Ending("guard", "error", f"token_budget={budget} is used up: the model reported {spent} tokens")


def noted(run: Run, done: Done) -> None:
    """What a tool did, for the next time it is called."""
    breaker.noted(run, done)


def after_tool(run: Run, one: Execution) -> Steps[Ending | None]:
    """Tell those who listen that a tool has run; the end where one of them wants it."""
    return (yield from telling.hooks(run, "after_tool", one.tool, one.call_id))


def within_s(run: Run) -> float | None:
    """How long a tool may take, in seconds."""
    given = run.given.limits.get("tool_timeout_s")
    return TOOL_TIMEOUT_S if given is None else float(given)


#: What a tool may take where the caller does not say.
TOOL_TIMEOUT_S = 5.0
