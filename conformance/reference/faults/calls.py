"""Faults in which calls run, and how."""
# ruff: noqa: D103 - the table of mutants says each fault in a sentence

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from conformance.agent_side import Bench, ToolFailed
from conformance.reference.acting import Refused, checked, not_run, parsed
from conformance.reference.calling import act
from conformance.reference.hearing import Call, Said
from conformance.reference.history import said_message
from conformance.reference.run import Ending, Run
from conformance.reference.steps import Act, Execution, Steps
from fake_models.errors import ModelError, StreamBroken

Tools = Mapping[str, Mapping[str, Any]]


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


def context_fills_in_the_user(call: Call, tools: Tools, extra_args: str) -> Execution | Refused:
    found = checked(call, tools, extra_args)
    if isinstance(found, Refused) or "user_id" not in found.arguments:
        return found
    return replace(found, arguments={**found.arguments, "user_id": "user-1"})


def runs_twice(bench: Bench) -> Bench:
    def twice(name: str, arguments: Mapping[str, Any], call_id: str | None, **how: Any) -> Any:
        bench.call_tool(name, arguments, call_id, **how)
        return bench.call_tool(name, arguments, call_id, **how)

    return replace(bench, call_tool=twice)


def failures_are_silent(bench: Bench) -> Bench:
    def silent(name: str, arguments: Mapping[str, Any], call_id: str | None, **how: Any) -> Any:
        try:
            return bench.call_tool(name, arguments, call_id, **how)
        except ToolFailed:
            return ""

    return replace(bench, call_tool=silent)


def half_an_object_is_closed(call: Call, tools: Tools, extra_args: str) -> Execution | Refused:
    whole = next((text for end in ("", "}", '"}') if parsed(text := call.arguments + end) is not None), call.arguments)
    return checked(replace(call, arguments=whole), tools, extra_args)


def one_run_per_tool(run: Run, said: Said) -> Steps[Ending | None]:
    last = {call.tool: call.id for call in said.calls}

    def only_the_last(call: Call, tools: Tools, extra_args: str) -> Execution | Refused:
        mine = last.get(call.tool, call.id) == call.id
        return checked(call, tools, extra_args) if mine else not_run("another call of this tool took its place")

    run.parts = replace(run.parts, checked=only_the_last)
    return act(run, said)


def streams_end_well(bench: Bench) -> Bench:
    def whole(body: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> Iterator[Any]:
        last: Any = None
        for last in bench.stream_model(body, headers=headers):
            yield last
        ends = [choice.get("finish_reason") for choice in (last or {}).get("choices", ())]
        if last is not None and ends and not any(ends):
            yield {**last, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}

    return replace(bench, stream_model=whole)


def whole_calls_of_a_broken_stream_run(bench: Bench) -> Bench:
    """A call is run as soon as it is spelled, and nobody remembers that when the stream breaks off."""

    def stream(body: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> Iterator[Any]:
        spelled: dict[int, list[str]] = {}
        try:
            for chunk in bench.stream_model(body, headers=headers):
                for choice in chunk.get("choices", ()):
                    for call in (choice.get("delta") or {}).get("tool_calls") or ():
                        function = call.get("function") or {}
                        told = spelled.setdefault(call.get("index", 0), ["", "", ""])
                        for at, piece in enumerate((call.get("id"), function.get("name"), function.get("arguments"))):
                            told[at] += piece or ""
                yield chunk
        except StreamBroken:
            for call_id, name, text in spelled.values():
                if text and (arguments := parsed(text)) is not None:
                    bench.call_tool(name, arguments, call_id)
            raise

    return replace(bench, stream_model=stream)


def failures_begin_the_round_anew(bench: Bench) -> Bench:
    return _begun_anew(bench, lambda _error: True)


def broken_connections_begin_the_round_anew(bench: Bench) -> Bench:
    return _begun_anew(bench, lambda error: isinstance(error, StreamBroken))


def server_errors_begin_the_round_anew(bench: Bench) -> Bench:
    return _begun_anew(bench, lambda error: isinstance(error, ModelError) and error.status >= 500)


def _begun_anew(bench: Bench, begins: Callable[[Exception], bool]) -> Bench:
    """Where such a failure comes, what ran last runs once more before anybody else hears of it."""
    done: list[tuple[str, Mapping[str, Any], str | None]] = []

    def noted(name: str, arguments: Mapping[str, Any], call_id: str | None, **how: Any) -> Any:
        done[:] = [(name, arguments, call_id)]
        return bench.call_tool(name, arguments, call_id, **how)

    def again(error: Exception) -> None:
        for one in done if begins(error) else ():
            bench.call_tool(*one)

    def asked(body: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> Any:
        try:
            return bench.model(body, headers=headers)
        except (ModelError, StreamBroken) as error:
            again(error)
            raise

    def streamed(body: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> Iterator[Any]:
        try:
            yield from bench.stream_model(body, headers=headers)
        except (ModelError, StreamBroken) as error:
            again(error)
            raise

    return replace(bench, call_tool=noted, model=asked, stream_model=streamed)


def one_result_per_id(bench: Bench) -> Bench:
    known: dict[str | None, Any] = {}

    def once(name: str, arguments: Mapping[str, Any], call_id: str | None, **how: Any) -> Any:
        if call_id not in known:
            known[call_id] = bench.call_tool(name, arguments, call_id, **how)
        return known[call_id]

    return replace(bench, call_tool=once)


def the_first_id_stays(bench: Bench) -> Bench:
    """What a tool was handed the first time is kept for the session, as by a context that is set once."""
    known: dict[str, str | None] = {}

    def ran(name: str, arguments: Mapping[str, Any], call_id: str | None, **how: Any) -> Any:
        return bench.call_tool(name, arguments, known.setdefault(name, call_id), **how)

    return replace(bench, call_tool=ran)


def last_call_first(run: Run, said: Said) -> Steps[Ending | None]:
    steps, answer = act(run, said), None
    while True:
        try:
            step = steps.send(answer)
        except StopIteration as ended:
            ending: Ending | None = ended.value
            return ending
        backwards = isinstance(step, Act)
        answer = yield replace(step, executions=step.executions[::-1]) if backwards else step
        answer = answer[::-1] if backwards else answer


def the_reason_decides(run: Run, said: Said) -> Steps[Ending | None]:
    if said.stop == "tool_calls":
        return (yield from act(run, said))
    run.session.messages.append(said_message(replace(said, calls=())))
    return Ending("answered", "finished", text=said.text)
