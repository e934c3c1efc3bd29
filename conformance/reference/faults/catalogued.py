"""Faults of the history, the acting and the recovery that single reports tell of, see docs/catalogue.md."""
# ruff: noqa: D103 - the table of mutants says each fault in a sentence

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from conformance.agent_side import Bench
from conformance.dialect import Dialect
from conformance.reference.acting import Refused, checked, parsed
from conformance.reference.asking import bounded, regular_body
from conformance.reference.calling import act
from conformance.reference.children import is_child
from conformance.reference.failing import OVERFLOW_CODES, Failure, failure
from conformance.reference.guards import admitted
from conformance.reference.hearing import Call, NoReply, Said
from conformance.reference.history import Message, compacted, round_messages
from conformance.reference.recovering import CONTINUATIONS, NUDGE, trouble
from conformance.reference.run import Ending, Run, Session
from conformance.reference.steps import Execution, Steps
from fake_models.errors import ModelError

Tools = Mapping[str, Mapping[str, Any]]
#: How many messages a history keeps that is counted in messages.
WINDOW = 5


def _is_failure(message: Message) -> bool:
    return message["role"] == "tool" and str(message["content"]).startswith("Error: ")


# What joins the history


def calls_with_broken_text_dropped(said: Said, results: Sequence[str]) -> list[Message]:
    asked, *answered = round_messages(said, results)
    if all(parsed(call.arguments) is not None for call in said.calls):
        return [asked, *answered]
    return answered


def two_results_for_a_failed_call(said: Said, results: Sequence[str]) -> list[Message]:
    messages = round_messages(said, results)
    return [one for message in messages for one in ((message, message) if _is_failure(message) else (message,))]


def the_last_result_in_two_parts(said: Said, results: Sequence[str]) -> list[Message]:
    *before, last = round_messages(said, results)
    half = len(last["content"]) // 2
    return [*before, last | {"content": last["content"][:half]}, last | {"content": last["content"][half:]}]


def a_turn_for_each_result(said: Said, results: Sequence[str]) -> list[Message]:
    asked, first, *others = round_messages(said, results)
    return [asked, first, *(one for result in others for one in ({"role": "user", "content": "Next."}, result))]


def only_the_first_result_is_sent(said: Said, results: Sequence[str]) -> list[Message]:
    return round_messages(said, results)[:2]


def one_result_comes_back(said: Said, results: Sequence[str]) -> list[Message]:
    return round_messages(said, [results[0], *("This call's result is missing." for _ in results[1:])])


def one_failure_loses_the_batch(said: Said, results: Sequence[str]) -> list[Message]:
    failed = [text for text in results if text.startswith("Error: ")]
    return round_messages(said, [failed[0] for _ in results] if failed else results)


def failures_have_no_content(said: Said, results: Sequence[str]) -> list[Message]:
    messages = round_messages(said, results)
    return [{**one, "content": None} if _is_failure(one) else one for one in messages]


def missing_ids_share_one(given: str, _taken: set[str]) -> str:
    return given or "call"


# What a request holds of it


def first_round_comes_again(run: Run, nudge: Sequence[Message]) -> dict[str, Any]:
    body = regular_body(run, nudge)
    acted = [at for at, message in enumerate(body["messages"]) if message.get("tool_calls")]
    first = body["messages"][acted[0] : acted[1]] if len(acted) > 1 else []
    return {**body, "messages": [*body["messages"], *first]}


def one_continuation_is_all(run: Run, nudge: Sequence[Message]) -> dict[str, Any]:
    if run.recovered.get("length"):
        run.recovered["length"] = CONTINUATIONS
    return regular_body(run, nudge)


def silence_is_kept(run: Run, nudge: Sequence[Message]) -> dict[str, Any]:
    if any(one["content"] == NUDGE for one in nudge):
        run.session.messages.append({"role": "assistant", "content": None})
    return regular_body(run, nudge)


def a_window_of_messages(run: Run, nudge: Sequence[Message]) -> dict[str, Any]:
    body = regular_body(run, nudge)
    return {**body, "messages": body["messages"][-WINDOW:]}


def one_result_kept_per_id(run: Run, nudge: Sequence[Message]) -> dict[str, Any]:
    return _once_per_id(regular_body(run, nudge), lambda message: [message.get("tool_call_id")])


def calls_with_a_known_id_dropped(run: Run, nudge: Sequence[Message]) -> dict[str, Any]:
    return _once_per_id(
        regular_body(run, nudge), lambda message: [call["id"] for call in message.get("tool_calls", ())] or [None]
    )


def _once_per_id(body: dict[str, Any], ids: Callable[[Message], list[str | None]]) -> dict[str, Any]:
    known: set[str | None] = set()
    kept: list[Message] = []
    for message in body["messages"]:
        mine = set(ids(message)) - {None}
        if not mine or not mine <= known:
            kept.append(message)
        known |= mine
    return {**body, "messages": kept}


def results_forgotten_by_the_next_run(session: Session) -> int:
    session.messages[:] = [one for one in session.messages if one["role"] != "tool"]
    return 0


def only_texts_outlive_a_run(session: Session) -> int:
    session.messages[:] = [one for one in session.messages if one["role"] != "tool" and not one.get("tool_calls")]
    return 0


# What is bounded


def only_the_oldest_result_is_bounded(run: Run, text: str) -> str:
    older = any(message["role"] == "tool" for message in run.session.messages)
    return text if older else bounded(run, text)


def bounded_in_one_mode(run: Run, text: str) -> str:
    return text if run.given.stream else bounded(run, text)


# What a compaction leaves


def the_last_messages_are_kept(messages: Sequence[Message], _digest: str | None) -> list[Message]:
    return list(messages[-3:])


def the_open_round_is_forgotten(messages: Sequence[Message], digest: str | None) -> list[Message]:
    return [one for one in compacted(messages, digest) if one["role"] != "tool" and not one.get("tool_calls")]


def small_results_are_too_large(messages: Sequence[Message], digest: str | None) -> list[Message]:
    short = compacted(messages, digest)
    return [{**one, "content": "The result was too large."} if one["role"] == "tool" else one for one in short]


def nothing_is_dropped_without_a_digest(messages: Sequence[Message], digest: str | None) -> list[Message]:
    return list(messages) if digest is None else compacted(messages, digest)


# What runs, and what the model is told


def what_is_wrong_is_not_said(call: Call, tools: Tools, extra_args: str) -> Execution | Refused:
    found = checked(call, tools, extra_args)
    if isinstance(found, Refused) and call.tool in tools:
        return replace(found, text="Error: the arguments are not valid")
    return found


def the_wrong_name_is_not_said(call: Call, tools: Tools, extra_args: str) -> Execution | Refused:
    found = checked(call, tools, extra_args)
    if isinstance(found, Refused) and call.tool not in tools:
        return replace(found, text=f"Error: {call.arguments} is not valid, try another one")
    return found


def text_beside_a_call_is_the_answer(run: Run, said: Said) -> Steps[Ending | None]:
    if run.given.stream and said.text.strip():
        return Ending("answered", "finished", text=said.text)
    return (yield from act(run, said))


def a_stop_doubles_the_result(run: Run, said: Said) -> Steps[Ending | None]:
    ending = yield from act(run, said)
    if ending is not None and ending.kind == "guard":
        run.session.messages.append(dict(run.session.messages[-1]))
    return ending


# Agents inside a run


def a_handoff_is_left_open(run: Run, said: Said) -> Steps[Ending | None]:
    before = len(run.session.messages)
    ending = yield from act(run, said)
    handed = {call.id for call in said.calls if is_child(run, Execution(call.tool, {}, call.id))}
    if len(said.calls) > 1:
        run.session.messages[before:] = [
            one for one in run.session.messages[before:] if one.get("tool_call_id") not in handed
        ]
    return ending


def a_handoff_waits_for_a_reply_of_its_own(
    run: Run, plan: Sequence[Execution | Refused]
) -> Steps[tuple[list[Execution | Refused], Ending | None]]:
    let, stopping = yield from admitted(run, plan)
    if len(let) == 1:
        return let, stopping
    handed = Refused("not_run", "The task was handed over.")
    return [handed if isinstance(one, Execution) and is_child(run, one) else one for one in let], stopping


# What a reply or a failure is taken for


def broken_calls_are_silence(heard: Said | Failure, dialect: Dialect) -> str | None:
    if isinstance(heard, Said) and any(parsed(call.arguments) is None for call in heard.calls):
        return "empty"
    return trouble(heard, dialect)


def length_with_nothing_said_is_silence(heard: Said | Failure, dialect: Dialect) -> str | None:
    found = trouble(heard, dialect)
    return "empty" if found == "overflow" and isinstance(heard, Said) else found


def a_stop_for_calls_ends_the_run(heard: Said | Failure, dialect: Dialect) -> str | None:
    if isinstance(heard, Said) and heard.stop == "tool_calls" and not heard.calls:
        return None
    return trouble(heard, dialect)


def an_overflow_has_a_code(error: Exception) -> Failure:
    found = failure(error)
    body = error.body if isinstance(error, ModelError) else None
    told = body.get("error") if isinstance(body, Mapping) else None
    coded = isinstance(told, Mapping) and told.get("code") in OVERFLOW_CODES
    return replace(found, kind="final") if found.kind == "overflow" and not coded else found


def a_rate_limit_is_final(error: Exception) -> Failure:
    found = failure(error)
    limited = isinstance(error, ModelError) and error.status == 429
    return replace(found, kind="final") if limited else found


def no_reply_is_not_expected(error: Exception) -> Failure:
    if isinstance(error, NoReply):
        raise IndexError("list index out of range") from error
    return failure(error)


def whole_calls_overwrite_each_other(bench: Bench) -> Bench:
    """A call that comes whole and without an index takes the place of the one before it."""

    def stream(body: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> Iterator[Any]:
        chunks = list(bench.stream_model(body, headers=headers))
        whole = [chunk for chunk in chunks if any("index" not in call for call in _calls_of(chunk))]
        yield from (chunk for chunk in chunks if chunk not in whole[:-1])

    return replace(bench, stream_model=stream)


def _calls_of(chunk: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [call for choice in chunk["choices"] for call in (choice.get("delta") or {}).get("tool_calls") or ()]


def running_totals_are_added_up(bench: Bench) -> Bench:
    """Each chunk tells what was used so far, and is added to what the chunks before it told."""

    def stream(body: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> Iterator[Any]:
        total: dict[str, int] = {}
        for chunk in bench.stream_model(body, headers=headers):
            told = chunk.get("usage") or {}
            total = {key: total.get(key, 0) + value for key, value in told.items() if isinstance(value, int)} or total
            yield {**chunk, "usage": total} if told else chunk

    return replace(bench, stream_model=stream)


def the_limit_covers_the_stop(run: Run, ending: Ending) -> Ending:
    covered = ending.kind == "guard" and run.rounds == run.limit
    return replace(ending, kind="limit") if covered else ending
