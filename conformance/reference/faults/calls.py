"""Faults in which calls run, and how."""
# ruff: noqa: D103 - the table of mutants says each fault in a sentence

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from conformance.agent_side import Bench, ToolFailed
from conformance.reference.acting import Refused, checked, not_run, parsed
from conformance.reference.hearing import Call, Said
from conformance.reference.loop import act
from conformance.reference.run import Ending, Run
from conformance.reference.steps import Execution, Steps
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
    done: list[tuple[str, Mapping[str, Any], str | None]] = []

    def noted(name: str, arguments: Mapping[str, Any], call_id: str | None) -> Any:
        done[:] = [(name, arguments, call_id)]
        return bench.call_tool(name, arguments, call_id)

    def asked(body: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> Any:
        try:
            return bench.model(body, headers=headers)
        except ModelError:
            for one in done:
                bench.call_tool(*one)
            raise

    return replace(bench, call_tool=noted, model=asked)


def one_result_per_id(bench: Bench) -> Bench:
    known: dict[str | None, Any] = {}

    def once(name: str, arguments: Mapping[str, Any], call_id: str | None) -> Any:
        if call_id not in known:
            known[call_id] = bench.call_tool(name, arguments, call_id)
        return known[call_id]

    return replace(bench, call_tool=once)
