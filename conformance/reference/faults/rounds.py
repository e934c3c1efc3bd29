"""Faults in counting rounds."""
# ruff: noqa: D103 - the table of mutants says each fault in a sentence

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from conformance.agent_side import RunInput
from conformance.dialect import Dialect
from conformance.reference.acting import checked, not_run
from conformance.reference.asking import ask, regular_body
from conformance.reference.failing import Failure
from conformance.reference.hearing import Said
from conformance.reference.history import Message
from conformance.reference.loop import act, at_the_limit, finish, trouble
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
