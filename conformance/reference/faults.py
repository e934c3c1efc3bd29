"""Faults of the loop's decisions, each in place of one honest part. What a mutant is made of; says nothing about why."""
# ruff: noqa: D103 - the table of mutants says each fault in a sentence

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from conformance.agent_side import Bench, RunInput, ToolFailed
from conformance.dialect import Dialect
from conformance.reference import events, loop
from conformance.reference.acting import Refused, checked, not_run, parsed, result_text
from conformance.reference.asking import SPOKEN, SUMMARY_INSTRUCTION, ask, regular_body, summary_body
from conformance.reference.failing import Failure, failure
from conformance.reference.hearing import Call, Said
from conformance.reference.history import Message, compacted, round_messages
from conformance.reference.loop import LOG, act, at_the_limit, finish
from conformance.reference.run import Ending, Run, Session
from conformance.reference.steps import Execution, Steps
from fake_models.errors import ModelError

Tools = Mapping[str, Mapping[str, Any]]


# Rounds.


def one_round_more(rounds: int, allowed: int | None) -> bool:
    return allowed is None or rounds <= allowed


def one_round_less(rounds: int, allowed: int | None) -> bool:
    return allowed is None or rounds < allowed - 1


def no_bound(_rounds: int, _allowed: int | None) -> bool:
    return True


def zero_is_unlimited(given: RunInput, _dialect: Dialect) -> int | None:
    return given.limits.get("max_iters") or None


def rounds_of_the_session(session: Session) -> int:
    return sum(message["role"] == "assistant" for message in session.messages)


def each_call_a_round(run: Run, said: Said) -> Steps[Ending | None]:
    run.rounds += len(said.calls) - 1
    return act(run, said)


def last_round_stops_half_way(run: Run, said: Said) -> Steps[Ending | None]:
    if run.rounds == run.limit:
        ready = {said.calls[0].id}
        run.parts = replace(
            run.parts,
            checked=lambda call, tools, extra_args: (
                checked(call, tools, extra_args) if call.id in ready else not_run("no time was left")
            ),
        )
    return act(run, said)


def last_answer_is_the_limit(run: Run, ending: Ending) -> Steps[None]:
    if ending.kind == "answered" and run.rounds == run.limit:
        ending = yield from at_the_limit(run)
    yield from finish(run, ending)


def asks_once_more(run: Run, ending: Ending) -> Steps[None]:
    yield from ask(run, regular_body(run, ()), shown=frozenset())
    yield from finish(run, ending)


# Requests.


def forced_choice_stays(run: Run, nudge: Sequence[Message]) -> dict[str, Any]:
    choice = run.given.tool_choice
    body = regular_body(run, nudge)
    if choice in (None, "auto", "none") or "tools" not in body:
        return body
    forced = choice if choice == "required" else {"type": "function", "function": {"name": choice}}
    return {**body, "tool_choice": forced}


def no_tools_in_the_last_round(run: Run, nudge: Sequence[Message]) -> dict[str, Any]:
    body = regular_body(run, nudge)
    if run.rounds == run.limit:
        body.pop("tools", None)
        body.pop("tool_choice", None)
    return body


def user_twice(run: Run, nudge: Sequence[Message]) -> dict[str, Any]:
    body = regular_body(run, nudge)
    users = [message for message in run.session.messages if message["role"] == "user"]
    return {**body, "messages": [*body["messages"], *users[-1:]]} if run.rounds == 1 else body


def user_forgotten(run: Run, nudge: Sequence[Message]) -> dict[str, Any]:
    body = regular_body(run, nudge)
    users = [message for message in run.session.messages if message["role"] == "user"]
    return {**body, "messages": [m for m in body["messages"] if run.rounds == 1 or m not in users[-1:]]}


def summary_with_tools(run: Run) -> dict[str, Any]:
    return regular_body(run, ({"role": "user", "content": SUMMARY_INSTRUCTION},))


def summary_with_a_choice_alone(run: Run) -> dict[str, Any]:
    return {**summary_body(run), "tool_choice": "none"}


def summary_without_results(run: Run) -> dict[str, Any]:
    body = summary_body(run)
    spoken = [m for m in body["messages"] if m["role"] != "tool" and "tool_calls" not in m]
    return {**body, "messages": spoken}


# The limit.


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


# What a reply means.


def zero_is_empty(heard: Said | Failure, dialect: Dialect) -> str | None:
    if isinstance(heard, Said) and not heard.calls and heard.text.strip() in ("0", "."):
        return "empty"
    return loop.trouble(heard, dialect)


def tokens_are_an_overflow(error: Exception) -> Failure:
    found = failure(error)
    speaks_of_tokens = isinstance(error, ModelError) and "tokens" in str(error.body)
    return replace(found, kind="overflow") if speaks_of_tokens else found


def overflow_is_transient(error: Exception) -> Failure:
    found = failure(error)
    return replace(found, kind="transient") if found.kind == "overflow" else found


# Calls.


def unknown_runs_the_first(call: Call, tools: Tools, extra_args: str) -> Execution | Refused:
    return checked(call if call.tool in tools else replace(call, tool=next(iter(tools), "")), tools, extra_args)


def broken_text_is_no_arguments(call: Call, tools: Tools, extra_args: str) -> Execution | Refused:
    if call.tool in tools and parsed(call.arguments) is None:
        return Execution(call.tool, {}, call.id)
    return checked(call, tools, extra_args)


def what_is_missing_is_made_up(call: Call, tools: Tools, extra_args: str) -> Execution | Refused:
    found, arguments = checked(call, tools, extra_args), parsed(call.arguments)
    if not isinstance(found, Refused) or call.tool not in tools or arguments is None:
        return found
    return Execution(call.tool, dict.fromkeys(tools[call.tool].get("required", ()), "") | arguments, call.id)


def arguments_are_lost(call: Call, tools: Tools, extra_args: str) -> Execution | Refused:
    found = checked(call, tools, extra_args)
    return replace(found, arguments={}) if isinstance(found, Execution) else found


def runs_twice(bench: Bench) -> Bench:
    def twice(name: str, arguments: Mapping[str, Any], call_id: str | None) -> Any:
        bench.call_tool(name, arguments, call_id)
        return bench.call_tool(name, arguments, call_id)

    return replace(bench, call_tool=twice)


def failures_are_silent(bench: Bench) -> Bench:
    def silent(name: str, arguments: Mapping[str, Any], call_id: str | None) -> Any:
        try:
            return bench.call_tool(name, arguments, call_id)
        except ToolFailed:
            return ""

    return replace(bench, call_tool=silent)


# History.


def result_is_ok(_value: Any) -> str:
    return "ok"


def result_is_cut(value: Any) -> str:
    return result_text(value)[:12]


def failed_calls_unanswered(said: Said, results: Sequence[str]) -> list[Message]:
    return [m for m in round_messages(said, results) if m["role"] != "tool" or not m["content"].startswith("Error: ")]


def calls_not_run_unanswered(said: Said, results: Sequence[str]) -> list[Message]:
    return [
        m for m in round_messages(said, results) if m["role"] != "tool" or not m["content"].startswith("Error: NotRun")
    ]


def calls_forgotten(said: Said, results: Sequence[str]) -> list[Message]:
    said_message, *answered = round_messages(said, results)
    return [{"role": "assistant", "content": said_message["content"] or ""}, *answered]


def one_id_for_all(_given: str, _taken: set[str]) -> str:
    return "call_0"


def ids_as_they_come(given: str, _taken: set[str]) -> str:
    return given


def nothing_gets_smaller(messages: Sequence[Message], _digest: str | None) -> list[Message]:
    return list(messages)


def results_outlive_their_calls(messages: Sequence[Message], digest: str | None) -> list[Message]:
    orphans = [message for message in messages if message["role"] == "tool"]
    short = compacted(messages, digest)
    return [*[m for m in short if m["role"] == "system"], *orphans[-1:], *[m for m in short if m["role"] != "system"]]


# Endings.


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
