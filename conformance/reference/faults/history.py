"""Faults in the history that is kept."""
# ruff: noqa: D103 - the table of mutants says each fault in a sentence

from collections.abc import Mapping, Sequence
from typing import Any

from conformance.reference.acting import result_text
from conformance.reference.hearing import Said
from conformance.reference.history import Message, compacted, round_messages, turns
from conformance.reference.run import Run

Tools = Mapping[str, Mapping[str, Any]]


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


def arguments_as_they_came(said: Said, results: Sequence[str]) -> list[Message]:
    asked, *answered = round_messages(said, results)
    for call, one in zip(said.calls, asked.get("tool_calls", ()), strict=True):
        one["function"]["arguments"] = call.arguments
    return [asked, *answered]


def results_backwards(said: Said, results: Sequence[str]) -> list[Message]:
    asked, *answered = round_messages(said, results)
    return [asked, *reversed(answered)]


def results_swapped(said: Said, results: Sequence[str]) -> list[Message]:
    return round_messages(said, [*results[1:], *results[:1]])


def calls_outlive_their_results(messages: Sequence[Message], digest: str | None) -> list[Message]:
    _, found = turns(messages)
    calls = [message for turn in found[:-1] for message in turn if message.get("tool_calls")]
    return [*calls[-1:], *compacted(messages, digest)]


def arguments_emptied(said: Said, results: Sequence[str]) -> list[Message]:
    asked, *answered = round_messages(said, results)
    for one in asked.get("tool_calls", ()):
        one["function"]["arguments"] = "{}"
    return [asked, *answered]


def words_beside_calls_dropped(said: Said, results: Sequence[str]) -> list[Message]:
    asked, *answered = round_messages(said, results)
    return [{**asked, "content": None} if said.calls else asked, *answered]


def results_of_any_size(_run: Run, text: str) -> str:
    return text


def results_cut_without_a_word(run: Run, text: str) -> str:
    window = run.given.model.get("context_window")
    return text if window is None else text[: int(window)]
