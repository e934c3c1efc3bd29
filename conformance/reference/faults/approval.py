"""Faults of asking a person: what runs without the answer, what becomes of it, how a run waits."""
# ruff: noqa: D103 - the table of mutants says each fault in a sentence

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from conformance.reference import approval
from conformance.reference.acting import Refused
from conformance.reference.asking import regular_body
from conformance.reference.calling import act
from conformance.reference.hearing import Said
from conformance.reference.history import Message
from conformance.reference.run import Ending, Run, Waiting
from conformance.reference.steps import Act, Execution, Steps

Plan = Sequence[Execution | Refused]
Answers = Sequence[Mapping[str, Any]]

# Who is asked for


def nobody_is_asked(_run: Run, _plan: Plan) -> tuple[Execution, ...]:
    return ()


def one_question_stands_for_all(run: Run, plan: Plan) -> tuple[Execution, ...]:
    return approval.to_approve(run, plan)[:1]


def everything_is_asked_for(_run: Run, plan: Plan) -> tuple[Execution, ...]:
    return tuple(one for one in plan if isinstance(one, Execution))


def asked_for_from_the_last(run: Run, plan: Plan) -> tuple[Execution, ...]:
    return approval.to_approve(run, plan)[::-1]


def the_others_run_at_once(run: Run, said: Said) -> Steps[Ending | None]:
    """Of the calls that need an answer the first is asked for, and the others run in the meantime."""
    ending = yield from act(run, said)
    waiting = run.session.waiting
    if waiting is None or len(waiting.plan) < 2:
        return ending
    others = tuple(one for one in waiting.plan[1:] if isinstance(one, Execution))
    values = iter((yield Act(others)))
    plan = [Refused("answer", str(next(values))) if one in others else one for one in waiting.plan]
    run.session.waiting = replace(waiting, plan=tuple(plan))
    return ending


# What becomes of an answer


def one_answer_allows_all(waiting: Waiting, answers: Answers) -> list[Execution | Refused]:
    if any(_approves(one) for one in answers):
        return list(waiting.plan)
    return approval.resumed(waiting, answers)


def denials_are_not_heard(waiting: Waiting, _answers: Answers) -> list[Execution | Refused]:
    return list(waiting.plan)


def one_denial_is_for_all(waiting: Waiting, answers: Answers) -> list[Execution | Refused]:
    refused = replace(waiting, asked=frozenset(one.call_id for one in waiting.plan if isinstance(one, Execution)))
    if all(_approves(one) for one in answers) and answers:
        return approval.resumed(waiting, answers)
    return approval.resumed(refused, ())


def one_approval_at_a_time(waiting: Waiting, answers: Answers) -> list[Execution | Refused]:
    return approval.resumed(waiting, [one for one in answers if _approves(one)][:1])


def answers_go_by_their_place(waiting: Waiting, answers: Answers) -> list[Execution | Refused]:
    asked = [one.call_id for one in waiting.plan if isinstance(one, Execution) and one.call_id in waiting.asked]
    moved = [{**answer, "interruptId": f"approve-{call}"} for call, answer in zip(asked, answers, strict=False)]
    return approval.resumed(waiting, moved)


def the_last_answer_is_for_all(waiting: Waiting, answers: Answers) -> list[Execution | Refused]:
    last = answers[-1:]
    return approval.resumed(
        waiting, [{**one, "interruptId": f"approve-{call}"} for one in last for call in waiting.asked]
    )


def _approves(answer: Mapping[str, Any]) -> bool:
    return (answer.get("payload") or {}).get("approved") is True


# What the model is told of it


def _told(change: Callable[[Run, list[Message]], list[Message]]) -> Callable[[Run, Sequence[Message]], dict[str, Any]]:
    """The requests of a run that goes on after an answer have other messages."""

    def body(run: Run, nudge: Sequence[Message]) -> dict[str, Any]:
        sent = regular_body(run, nudge)
        if "resume" not in run.given.input:
            return sent
        return {**sent, "messages": change(run, list(sent["messages"]))}

    return body


def _rows(messages: Sequence[Message]) -> list[int]:
    return [at for at, one in enumerate(messages) if one.get("tool_calls")]


def _without_the_last_results(_run: Run, messages: list[Message]) -> list[Message]:
    last = _rows(messages)[-1]
    return [one for at, one in enumerate(messages) if at <= last or one["role"] != "tool"]


def _without_the_second_results(run: Run, messages: list[Message]) -> list[Message]:
    return _without_the_last_results(run, messages) if len(_rows(messages)) > 1 else messages


def _with_the_first_results_again(_run: Run, messages: list[Message]) -> list[Message]:
    rows = _rows(messages)
    return [*messages, *(one for one in messages[: rows[-1]] if one["role"] == "tool")]


def _denials_by_the_user(_run: Run, messages: list[Message]) -> list[Message]:
    return [
        {"role": "user", "content": one["content"]}
        if one["role"] == "tool" and "not approved" in one["content"]
        else one
        for one in messages
    ]


def _denials_alone(_run: Run, messages: list[Message]) -> list[Message]:
    if not any(one["role"] == "tool" and "not approved" in one["content"] for one in messages):
        return messages
    return [one for one in messages if one["role"] != "tool" or "not approved" in one["content"]]


def _from_the_call_on(_run: Run, messages: list[Message]) -> list[Message]:
    return messages[_rows(messages)[-1] :]


def _values_change_places(run: Run, messages: list[Message]) -> list[Message]:
    """What was answered is told with the results, of two calls the other's."""
    values = [(one.get("payload") or {}).get("value") for one in run.given.input["resume"]]
    at = [place for place, one in enumerate(messages) if one["role"] == "tool"][-len(values) :]
    told = dict(zip(at, reversed(values), strict=False))
    return [
        {**one, "content": f"{one['content']} ({told[place]})"} if told.get(place) else one
        for place, one in enumerate(messages)
    ]


answered_calls_stay_open = _told(_without_the_last_results)
the_second_answer_is_lost = _told(_without_the_second_results)
the_first_results_come_again = _told(_with_the_first_results_again)
denied_by_the_user = _told(_denials_by_the_user)
a_denial_drops_the_others = _told(_denials_alone)
what_came_before_is_forgotten = _told(_from_the_call_on)
values_change_places = _told(_values_change_places)


# How a run waits


def waiting_is_an_error(_run: Run, ending: Ending) -> Ending:
    return replace(ending, terminal="error") if ending.kind == "waiting" else ending


def waiting_is_an_answer(_run: Run, ending: Ending) -> Ending:
    return Ending("answered", "finished", text="I have to ask first.") if ending.kind == "waiting" else ending


def nobody_knows_for_what(_run: Run, ending: Ending) -> Ending:
    return _renamed(ending, lambda one: {key: value for key, value in one.items() if key != "toolCallId"})


def one_id_for_all_questions(_run: Run, ending: Ending) -> Ending:
    return _renamed(ending, lambda one: {**one, "id": "approve"})


def _renamed(ending: Ending, name: Callable[[Mapping[str, Any]], Mapping[str, Any]]) -> Ending:
    if ending.kind != "waiting":
        return ending
    return replace(ending, facts={"interrupts": [name(one) for one in ending.facts["interrupts"]]})


def the_gate_answers_for_the_person(run: Run, said: Said) -> Steps[Ending | None]:
    """While a run waits, what the gate misses is said to the model, which goes on."""
    ending = yield from act(run, said)
    if ending is None or ending.kind != "waiting" or (lacking := run.parts.unmet(run)) is None:
        return ending
    return run.parts.sent_back(run, lacking)
