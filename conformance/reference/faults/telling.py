"""Faults in what a run tells its caller's hooks, in how it heeds them, and in the record of its steps."""
# ruff: noqa: D103 - the table of mutants says each fault in a sentence

from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any

from conformance.reference import guards, telling
from conformance.reference.acting import Refused, refused
from conformance.reference.asking import regular_body
from conformance.reference.history import Message
from conformance.reference.run import Ending, Run, Shown
from conformance.reference.steps import Execution, Steps

RECORD = "conformance.record"
Plan = Sequence[Execution | Refused]
Admitted = Steps[tuple[list[Execution | Refused], Ending | None]]


def _quiet() -> Steps[Ending | None]:
    yield from ()  # tells nobody
    return None


# Hooks that are not called


def no_hook_in_the_last_round(run: Run, one: Execution) -> Steps[Ending | None]:
    return _quiet() if run.rounds == run.limit else guards.after_tool(run, one)


def no_hook_after_a_failure(run: Run, one: Execution) -> Steps[Ending | None]:
    return _quiet() if run.done[-1].failed else guards.after_tool(run, one)


def no_hook_after_a_timeout(run: Run, one: Execution) -> Steps[Ending | None]:
    return _quiet() if "Error: Timeout" in run.done[-1].text else guards.after_tool(run, one)


def two_hooks_after_each(run: Run, one: Execution) -> Steps[Ending | None]:
    first = yield from guards.after_tool(run, one)
    return first or (yield from guards.after_tool(run, one))


def one_hook_for_the_batch(run: Run, one: Execution) -> Steps[Ending | None]:
    again = len(run.done) > 1 and run.done[-2].tool == one.tool
    return _quiet() if again else guards.after_tool(run, one)


# Hooks that are not heeded


def unheeded(way: str, *hooks: str, streamed: bool = False) -> Callable[..., Ending | None]:
    """What these hooks do is as good as a look, where they do it this way; `streamed`: in a streamed run alone."""

    def brought_about(run: Run, hook: str, tool: str | None, does: AbstractSet[str]) -> Ending | None:
        deaf = hook in hooks and (run.given.stream or not streamed)
        return telling.brought_about(run, hook, tool, does - {way} if deaf else does)

    return brought_about


def the_others_run_all_the_same(run: Run, plan: Plan) -> Admitted:
    let, stopping = yield from guards.admitted(run, plan)
    if stopping is None or "tripped" not in (stopping.reason or ""):
        return let, stopping
    return [
        asked if isinstance(asked, Execution) and asked.tool not in (stopping.reason or "") else one
        for asked, one in zip(plan, let, strict=True)
    ], stopping


def a_broken_observer_refuses(run: Run, plan: Plan) -> Admitted:
    let, stopping = yield from guards.admitted(run, plan)
    if not _raises(run, "before_tool"):
        return let, stopping
    broken = refused("guard", "Refused", "the hook before it raised")
    return [broken if isinstance(one, Execution) else one for one in let], stopping


def a_broken_observer_is_a_guard(run: Run, hook: str, tool: str | None, does: AbstractSet[str]) -> Ending | None:
    end = telling.brought_about(run, hook, tool, does)
    return Ending("guard", "error", f"the hook {hook} raised") if end is None and "raise" in does else end


def any_look_stops(run: Run, hook: str, tool: str | None, does: AbstractSet[str]) -> Ending | None:
    end = telling.brought_about(run, hook, tool, does)
    return (
        Ending("guard", "error", f"the hook {hook} was called") if hook == "guardrail" and end is None and does else end
    )


def any_hook_stops(run: Run, hook: str, tool: str | None, does: AbstractSet[str]) -> Ending | None:
    return telling.brought_about(run, hook, tool, {*does, "stop"} if does and hook == "after_tool" else does)


def a_guardrail_for_every_tool(run: Run, hook: str, tool: str | None, does: AbstractSet[str]) -> Ending | None:
    others = {one.get("does", "tell") for one in run.given.knobs.get("callbacks", ()) if one["hook"] == hook}
    return telling.brought_about(run, hook, tool, {*does, *others} if hook == "guardrail" else does)


def _raises(run: Run, hook: str) -> bool:
    return any(one["hook"] == hook and one.get("does") == "raise" for one in run.given.knobs.get("callbacks", ()))


# The record of steps


def without(kind: str, state: str) -> Callable[[Run], Shown]:
    """Of steps of this kind nothing is recorded in this state."""
    return _each(lambda value: None if (value["kind"], value["state"]) == (kind, state) else value)


def lacking(field: str, *kinds: str) -> Callable[[Run], Shown]:
    """The record leaves this out, of steps of these kinds or of all."""
    return _each(lambda v: {k: one for k, one in v.items() if k != field or (kinds and v["kind"] not in kinds)})


def as_another(kind: str, **fields: Any) -> Callable[[Run], Shown]:
    """Whatever became of steps of this kind, the same is recorded."""
    return _each(lambda v: {**v, **fields} if v["kind"] == kind and v["state"] not in ("running", "waiting") else v)


def waits_as_if_it_ran(_run: Run) -> Shown:
    """What waits for a person is recorded as running."""
    return _each(lambda v: {**v, "state": "running"} if v["state"] == "waiting" and v["kind"] == "tool" else v)(_run)


def recorded_afterwards(_run: Run) -> Shown:
    """Steps of tools are recorded as running when they are over."""
    held: dict[str, Any] = {}

    def show(item: Any) -> Iterator[Any]:
        value = _record(item)
        if value is None or value["kind"] != "tool":
            yield item
        elif value["state"] == "running":
            held[value["step"]] = item
        else:
            yield from (one for one in [held.pop(value["step"], None)] if one is not None)
            yield item

    return show


def the_end_is_recorded_twice(_run: Run) -> Shown:
    """A step of a tool that is done is then skipped as well."""

    def show(item: Any) -> Iterator[Any]:
        yield item
        value = _record(item)
        if value is not None and (value["kind"], value["state"]) == ("tool", "done"):
            yield {**item, "value": {**value, "state": "skipped", "reason": "the step is over"}}

    return show


def results_change_places(_run: Run) -> Shown:
    """Each step of a tool records the result of the step before it."""
    before: list[Any] = []

    def changed(value: dict[str, Any]) -> dict[str, Any]:
        if value["kind"] != "tool" or "result" not in value:
            return value
        before.append(value["result"])
        return {**value, "result": before[-2] if len(before) > 1 else before[-1]}

    return _each(changed)(_run)


def what_is_sent_is_all_that_is_kept(run: Run) -> Shown:
    """The record counts the messages that a compaction left."""
    return _each(lambda v: {**v, "messages": len(run.session.messages)} if "messages" in v else v)(run)


def _each(change: Callable[[dict[str, Any]], dict[str, Any] | None]) -> Callable[[Run], Shown]:
    def show(item: Any) -> Iterator[Any]:
        value = _record(item)
        changed = None if value is None else change(value)
        if value is None:
            yield item
        elif changed is not None:
            yield {**item, "value": changed}

    return lambda _run: show


def _record(item: Any) -> dict[str, Any] | None:
    found: dict[str, Any] | None = item["value"] if isinstance(item, dict) and item.get("name") == RECORD else None
    return found


# Being watched


def untraced_runs_say_less(run: Run, nudge: Sequence[Message]) -> dict[str, Any]:
    body = regular_body(run, nudge)
    if run.given.knobs.get("tracing", True):
        return body
    return {**body, "messages": [{**one, "content": one["content"] or "-"} for one in body["messages"]]}


def debugging_speaks_to_the_model(run: Run, nudge: Sequence[Message]) -> dict[str, Any]:
    body = regular_body(run, nudge)
    if not run.given.knobs.get("debug"):
        return body
    return {**body, "messages": [{"role": "system", "content": "Debugging is on."}, *body["messages"]]}


def traced_answers_are_no_answers(run: Run, ending: Ending) -> Ending:
    traced = run.given.knobs.get("tracing") and ending.kind == "answered"
    return replace(ending, kind="limit", terminal="flagged") if traced else ending
