"""Faults in counting rounds."""
# ruff: noqa: D103 - the table of mutants says each fault in a sentence

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from conformance.agent_side import RunInput
from conformance.dialect import Dialect
from conformance.reference.acting import checked, not_run
from conformance.reference.asking import ask, regular_body
from conformance.reference.calling import act
from conformance.reference.ending import finish
from conformance.reference.failing import Failure
from conformance.reference.hearing import Said
from conformance.reference.history import Message, call_ids
from conformance.reference.limiting import at_the_limit, limit
from conformance.reference.recovering import trouble
from conformance.reference.run import Ending, Run, Session
from conformance.reference.steps import Steps

Tools = Mapping[str, Mapping[str, Any]]


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


def locked_by_an_open_call(session: Session) -> int:
    if [message["role"] for message in session.messages[-2:]] == ["tool", "user"]:
        raise RuntimeError("cannot add a message while a tool call of this session is pending")
    return 0


def failure_is_no_reply(heard: Said | Failure, dialect: Dialect) -> str | None:
    return "empty" if isinstance(heard, Failure) and heard.kind == "transient" else trouble(heard, dialect)


def every_request_a_round(run: Run, nudge: Sequence[Message]) -> dict[str, Any]:
    run.rounds += run.tried("asked in this round") > 0
    return regular_body(run, nudge)


def siblings_of_a_wrong_call_unanswered(run: Run, said: Said) -> Steps[Ending | None]:
    ending = yield from act(run, said)
    if ending is not None:
        mine = {call.id for call in said.calls}
        run.session.messages[:] = [one for one in run.session.messages if one.get("tool_call_id") not in mine]
    return ending


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


def acting_costs_a_round(run: Run, said: Said) -> Steps[Ending | None]:
    run.rounds += 1
    return act(run, said)


def no_limit_when_streaming(given: RunInput, dialect: Dialect) -> int | None:
    return None if given.stream else limit(given, dialect)


def no_limit_under_a_forced_choice(given: RunInput, dialect: Dialect) -> int | None:
    return limit(given, dialect) if given.tool_choice in (None, "auto", "none") else None


def the_default_when_streaming(given: RunInput, dialect: Dialect) -> int | None:
    return limit(replace(given, limits={}) if given.stream else given, dialect)


def tools_in_the_first_round_only(run: Run, nudge: Sequence[Message]) -> dict[str, Any]:
    body = regular_body(run, nudge)
    return body if run.rounds == 1 else {key: value for key, value in body.items() if key != "tools"}


def unknown_tools_are_waited_for(run: Run, said: Said) -> Steps[Ending | None]:
    """Whoever may know the tool is expected any moment, so the same is asked again."""
    if all(call.tool in run.tools for call in said.calls):
        return act(run, said)
    run.rounds -= 1
    return _nothing()


def _nothing() -> Steps[None]:
    yield from ()


def locked_by_a_call_without_its_result(session: Session) -> int:
    answered = {message.get("tool_call_id") for message in session.messages}
    if call_ids(session.messages) - answered:
        raise RuntimeError("cannot add a message while a tool call of this session is pending")
    return 0


def cut_calls_are_asked_for_again(heard: Said | Failure, dialect: Dialect) -> str | None:
    cut = isinstance(heard, Said) and heard.stop == "length" and heard.calls
    return "empty" if cut else trouble(heard, dialect)
