"""Faults in which calls run, and how."""
# ruff: noqa: D103 - the table of mutants says each fault in a sentence

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from conformance.agent_side import Bench, ToolFailed
from conformance.reference.acting import Refused, checked, parsed
from conformance.reference.hearing import Call
from conformance.reference.steps import Execution

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
