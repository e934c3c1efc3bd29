"""Faults in how a run ends and what it says of itself."""
# ruff: noqa: D103 - the table of mutants says each fault in a sentence

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from conformance.reference import events
from conformance.reference.asking import NOTHING, ask, regular_body
from conformance.reference.ending import finish
from conformance.reference.run import Ending, Run
from conformance.reference.steps import Act, Execution, Steps

Tools = Mapping[str, Mapping[str, Any]]


def told_as(kind: str, *, instead_of: str) -> Callable[[Run, Ending], Ending]:
    """The ending of one kind is told as that of another, and as a plain finish."""
    return lambda _run, ending: replace(ending, kind=kind, terminal="finished") if ending.kind == instead_of else ending


def model_failure_finishes(_run: Run, ending: Ending) -> Ending:
    return replace(ending, terminal="finished") if ending.kind == "model_error" else ending


def key_in_the_error(run: Run, ending: Ending) -> Ending:
    if ending.terminal != "error":
        return ending
    return replace(ending, reason=f"{ending.reason}; sent with Authorization: Bearer {run.bench.api_key}")


def a_failed_tool_fails_the_run(run: Run, ending: Ending) -> Ending:
    return replace(ending, kind="tool_error") if _a_tool_failed(run) and ending.kind == "answered" else ending


def a_failed_tool_is_a_run_error(run: Run, ending: Ending) -> Ending:
    return replace(ending, terminal="error") if _a_tool_failed(run) and ending.kind == "answered" else ending


def the_cause_is_lost(_run: Run, ending: Ending) -> Ending:
    return replace(ending, reason="gave up after several tries", facts={}) if ending.kind == "model_error" else ending


def the_last_result_answers(run: Run, ending: Ending) -> Ending:
    if ending.kind != "model_error" or run.last_result is None:
        return ending
    return Ending("answered", "finished", text=run.last_result)


def half_the_text(_run: Run, ending: Ending) -> Ending:
    return replace(ending, text=ending.text[: len(ending.text) // 2]) if ending.text else ending


def _a_tool_failed(run: Run) -> bool:
    return any(m["role"] == "tool" and str(m["content"]).startswith("Error: ") for m in run.session.messages)


def last_usage_is_the_total(run: Run, ending: Ending) -> Steps[None]:
    run.spent[:] = run.spent[-1:]
    return finish(run, ending)


def error_then_finish(run: Run, ending: Ending) -> Steps[None]:
    for item in finish(run, ending):
        yield item
        if isinstance(item, dict) and item["type"] == "RUN_ERROR":
            yield events.run_finished(run.thread, run.id)


def asks_after_the_end(run: Run, ending: Ending) -> Steps[None]:
    yield from finish(run, ending)
    yield from ask(run, regular_body(run, ()), shown=NOTHING)


def acts_after_the_end(run: Run, ending: Ending) -> Steps[None]:
    yield from finish(run, ending)
    if run.tools:
        yield Act((Execution(next(iter(run.tools)), {}, "left-over"),))


def tidies_after_the_end(run: Run, ending: Ending) -> Steps[None]:
    yield from finish(run, ending)
    yield {"type": "STATE_SNAPSHOT", "snapshot": {"open": 0}}


def every_ending_is_completed(_run: Run, ending: Ending) -> Ending:
    return replace(ending, kind="answered", terminal="finished")


def the_limit_is_silent(_run: Run, ending: Ending) -> Ending:
    return Ending("answered", "finished") if ending.kind == "limit" else ending
