"""Faults in what a request holds."""
# ruff: noqa: D103 - the table of mutants says each fault in a sentence

from collections.abc import Mapping, Sequence
from typing import Any

from conformance.reference.asking import SUMMARY_INSTRUCTION, attempts, regular_body, summary_body
from conformance.reference.history import Message
from conformance.reference.recovering import CONTINUE, NUDGE
from conformance.reference.run import Run

Tools = Mapping[str, Mapping[str, Any]]


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


def only_the_last_round(run: Run, nudge: Sequence[Message]) -> dict[str, Any]:
    body = regular_body(run, nudge)
    acted = [at for at, message in enumerate(body["messages"]) if message.get("tool_calls")]
    old = range(acted[-2], acted[-1]) if len(acted) > 1 else ()
    return {**body, "messages": [message for at, message in enumerate(body["messages"]) if at not in old]}


def old_results_cut(run: Run, nudge: Sequence[Message]) -> dict[str, Any]:
    body = regular_body(run, nudge)
    acted = [at for at, message in enumerate(body["messages"]) if message.get("tool_calls")]
    return {
        **body,
        "messages": [
            {**message, "content": message["content"][:12] + "…"}
            if message["role"] == "tool" and at < acted[-1]
            else message
            for at, message in enumerate(body["messages"])
        ],
    }


def words_beside_calls_forgotten(run: Run, nudge: Sequence[Message]) -> dict[str, Any]:
    body = regular_body(run, nudge)
    acted = [at for at, message in enumerate(body["messages"]) if message.get("tool_calls")]
    return {
        **body,
        "messages": [
            {**message, "content": None} if at in acted[:-1] else message for at, message in enumerate(body["messages"])
        ],
    }


def system_text_once(run: Run, nudge: Sequence[Message]) -> dict[str, Any]:
    body = regular_body(run, nudge)
    return body if run.rounds == 1 else {**body, "messages": [m for m in body["messages"] if m["role"] != "system"]}


def answers_forgotten(run: Run, nudge: Sequence[Message]) -> dict[str, Any]:
    body = regular_body(run, nudge)
    return {**body, "messages": [m for m in body["messages"] if m["role"] != "assistant" or m.get("tool_calls")]}


def run_id_is_a_parameter(run: Run, nudge: Sequence[Message]) -> dict[str, Any]:
    body = regular_body(run, nudge)
    return {**body, "tools": [_with_run_id(tool) for tool in body["tools"]]} if "tools" in body else body


def _with_run_id(tool: Mapping[str, Any]) -> dict[str, Any]:
    function, schema = tool["function"], tool["function"]["parameters"]
    shown = {**schema, "properties": {**schema.get("properties", {}), "run_id": {"type": "string"}}}
    return {**tool, "function": {**function, "parameters": shown}}


def going_on_for_ever(run: Run, nudge: Sequence[Message]) -> dict[str, Any]:
    run.recovered.pop("length", None)
    return regular_body(run, nudge)


def troubles_set_each_other_back(run: Run, nudge: Sequence[Message]) -> dict[str, Any]:
    for said, other in ((NUDGE, "length"), (CONTINUE, "empty")):
        if any(one["content"] == said for one in nudge):
            run.recovered.pop(other, None)
    return regular_body(run, nudge)


def silence_is_not_mentioned(run: Run, nudge: Sequence[Message]) -> dict[str, Any]:
    return regular_body(run, [one for one in nudge if one["content"] != NUDGE])


def one_counter_for_all(run: Run, nudge: Sequence[Message]) -> dict[str, Any]:
    spent = sum(run.recovered.values())
    run.recovered.update(dict.fromkeys(("empty", "overflow"), spent))
    return regular_body(run, nudge)


def no_attempt_after_silence(run: Run) -> int:
    return 1 if run.recovered.get("empty") else attempts(run)


def never_enough(_run: Run) -> int:
    return 1_000_000
