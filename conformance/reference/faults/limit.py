"""Faults at the limit and in the summary after it."""
# ruff: noqa: D103 - the table of mutants says each fault in a sentence

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from conformance.reference.asking import SPOKEN, ask, regular_body, summary_body
from conformance.reference.calling import act
from conformance.reference.failing import Failure
from conformance.reference.hearing import Said
from conformance.reference.limiting import LOG, at_the_limit
from conformance.reference.run import Ending, Run
from conformance.reference.steps import Steps

Tools = Mapping[str, Mapping[str, Any]]


def summary_up_to_four_times(run: Run) -> Steps[Ending]:
    ending = yield from at_the_limit(run)
    for _ in range(3):
        if "the summary failed" in (ending.reason or ""):
            ending = yield from at_the_limit(run)
    return ending


def summary_calls_run(run: Run) -> Steps[Ending]:
    heard = yield from ask(run, summary_body(run), shown=SPOKEN)
    if isinstance(heard, Said) and heard.calls:
        yield from act(run, heard)
    return (yield from at_the_limit(run))


def summary_failure_escapes(run: Run) -> Steps[Ending]:
    ending = yield from at_the_limit(run)
    return (
        replace(ending, kind="model_error", terminal="error") if "summary failed" in (ending.reason or "") else ending
    )


def calling_summary_is_the_answer(heard: Said | Failure) -> str | None:
    return None if isinstance(heard, Failure) else heard.text.strip() or None


def empty_summary_is_a_text(heard: Said | Failure) -> str | None:
    return None if isinstance(heard, Failure) or heard.calls else heard.text


def canned_when_streaming(run: Run) -> Steps[Ending]:
    if not run.given.stream:
        return (yield from at_the_limit(run))
    run.dialect = replace(run.dialect, limit_text="canned")
    return (yield from at_the_limit(run))


def limit_warns(run: Run) -> None:
    LOG.warning("reached max_iters=%d", run.limit)


def limit_unlogged(_run: Run) -> None:
    return


def the_last_result_answers(run: Run) -> Steps[Ending]:
    yield from ()  # asks for nothing
    return Ending("answered", "finished", text=run.last_result)


def the_first_summary_lifts_the_limit(run: Run) -> Steps[Ending]:
    heard = yield from ask(run, summary_body(run))
    while isinstance(heard, Said) and heard.calls:
        yield from act(run, heard)
        heard = yield from ask(run, regular_body(run, ()))
    return Ending("limit", "finished", text=None if isinstance(heard, Failure) else heard.text)


def the_summary_is_overwritten(run: Run) -> Steps[Ending]:
    ending = yield from at_the_limit(run)
    heard = yield from ask(run, regular_body(run, ()))
    return ending if isinstance(heard, Failure) else replace(ending, text=heard.text)


def summary_of_the_last_round(run: Run) -> dict[str, Any]:
    body = summary_body(run)
    acted = [at for at, message in enumerate(body["messages"]) if message.get("tool_calls")]
    old = range(acted[0], acted[-1]) if acted else ()
    return {**body, "messages": [message for at, message in enumerate(body["messages"]) if at not in old]}
