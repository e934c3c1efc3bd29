"""Faults in what keeps a run from going on for ever: caps, budgets, timeouts, breakers, retries."""
# ruff: noqa: D103 - the table of mutants says each fault in a sentence

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any

from conformance.agent_side import Bench, ToolFailed
from conformance.reference import asking, breaker, guards
from conformance.reference.acting import Refused
from conformance.reference.asking import ATTEMPTS
from conformance.reference.breaker import RECOVERY_S, THRESHOLD
from conformance.reference.hearing import Said
from conformance.reference.history import Message, round_messages, sound_id
from conformance.reference.run import Broken, Done, Ending, Run, Session
from conformance.reference.steps import Execution, Steps

OverTheCap = Callable[[Run, Execution, Sequence[Execution]], str | None]
#: Characters of a result that a hasty comparison looks at.
_PREFIX = 160


def figures_moved(by: int, *names: str) -> OverTheCap:
    """Caps that are met so many calls later, or earlier, than the caller said."""

    def over(run: Run, one: Execution, before: Sequence[Execution]) -> str | None:
        limits = run.given.limits
        moved = {name: limits[name] + by for name in names if limits.get(name) is not None}
        return guards.over_the_cap(_under(run, {**limits, **moved}), one, before)

    return over


def _under(run: Run, limits: Mapping[str, Any]) -> Run:
    return replace(run, given=replace(run.given, limits=limits))


def each_reply_counts_anew(run: Run, one: Execution, _before: Sequence[Execution]) -> str | None:
    return guards.over_the_cap(run, one, ())


def only_the_number_is_looked_at(run: Run, one: Execution, before: Sequence[Execution]) -> str | None:
    limits = {name: value for name, value in run.given.limits.items() if name != "max_same_call"}
    return guards.over_the_cap(_under(run, limits), one, before)


def without_arguments_none_is_the_same(run: Run, one: Execution, before: Sequence[Execution]) -> str | None:
    return (guards.over_the_cap if one.arguments else only_the_number_is_looked_at)(run, one, before)


def _same(counted: Callable[[Sequence[Done], Execution], int]) -> OverTheCap:
    """The honest guard, with another way to count what is the same."""

    def over(run: Run, one: Execution, before: Sequence[Execution]) -> str | None:
        same = run.given.limits.get("max_same_call")
        if same is not None and counted(run.done, one) >= same:
            return f"max_same_call={same} was reached"
        return only_the_number_is_looked_at(run, one, before)

    return over


def _alike(done: Done, one: Execution) -> bool:
    return (done.tool, done.arguments) == (one.tool, one.arguments)


the_tools_name_is_enough = _same(lambda done, one: len(list(takewhile(lambda d: d.tool == one.tool, reversed(done)))))
results_are_not_looked_at = _same(lambda done, one: len(list(takewhile(lambda d: _alike(d, one), reversed(done)))))
what_came_between_is_forgotten = _same(lambda done, one: sum(_alike(d, one) for d in done))
any_failure_is_the_same = _same(lambda done, _one: len(list(takewhile(lambda d: d.failed, reversed(done)))))


@_same
def beginnings_are_compared(done: Sequence[Done], one: Execution) -> int:
    row = list(takewhile(lambda d: _alike(d, one), reversed(done)))
    return len(list(takewhile(lambda d: d.text[:_PREFIX] == row[0].text[:_PREFIX], row)))


@_same
def failures_need_equal_arguments(done: Sequence[Done], one: Execution) -> int:
    return guards.repeated(done, one, ())


def nothing_is_guarded_when_streaming(
    run: Run, plan: Sequence[Execution | Refused]
) -> Steps[tuple[list[Execution | Refused], Ending | None]]:
    if run.given.stream:
        return list(plan), None
    return (yield from guards.admitted(run, plan))


def calls_of_the_session_count(run: Run, one: Execution, before: Sequence[Execution]) -> str | None:
    most = run.given.limits.get("max_tool_calls")
    made = sum(message["role"] == "tool" for message in run.session.messages) + len(before)
    if most is not None and made >= most:
        return f"max_tool_calls={most} was reached after {made} calls"
    return guards.over_the_cap(run, one, before)


def repetitions_of_the_session_count(run: Run, one: Execution, before: Sequence[Execution]) -> str | None:
    """The row of equal calls goes on over the user's next turn."""
    same = run.given.limits.get("max_same_call")
    called = [call["function"]["name"] for message in run.session.messages for call in message.get("tool_calls") or ()]
    if same is not None and len(list(takewhile(lambda name: name == one.tool, reversed(called)))) >= same:
        return f"max_same_call={same} was reached"
    return guards.over_the_cap(run, one, before)


def _of_the_session() -> Callable[[Run, Any], Any]:
    """A memory that outlives a run: gives what was first put there for the run's session."""
    kept: dict[int, tuple[Any, Any]] = {}

    def first(run: Run, value: Any) -> Any:
        # The session is kept with its value, so that its number is never another one's.
        return kept.setdefault(id(run.session), (run.session, value))[1]

    return first


def the_first_caps_stay() -> OverTheCap:
    first = _of_the_session()

    def over(run: Run, one: Execution, before: Sequence[Execution]) -> str | None:
        return guards.over_the_cap(_under(run, first(run, run.given.limits)), one, before)

    return over


def tokens_of_the_session_count() -> Callable[[Run], Ending | None]:
    first = _of_the_session()

    def over(run: Run) -> Ending | None:
        runs: list[list[Mapping[str, int]]] = first(run, [])
        if not any(one is run.spent for one in runs):
            runs.append(run.spent)
        return guards.over_budget(replace(run, spent=[one for spent in runs for one in spent]))

    return over


def known_ids_are_not_counted() -> dict[str, Any]:
    """The two parts that it takes: one notes under which id a call came that was there before, the other lets it pass."""
    known: list[tuple[set[str], str]] = []

    def sound(given: str, taken: set[str]) -> str:
        found = sound_id(given, taken)
        if given and found != given:
            known.append((taken, found))
        return found

    def over(run: Run, one: Execution, before: Sequence[Execution]) -> str | None:
        # One mutant plays many sessions, in which the same ids come again.
        passed = any(ids is run.session.ids and found == one.call_id for ids, found in known)
        return None if passed else guards.over_the_cap(run, one, before)

    return {"sound_id": sound, "over_the_cap": over}


def a_fired_guard_stays() -> dict[str, Any]:
    """The two parts that it takes: one notes that a guard ended a run, the other looks it up."""
    fired: list[Session] = []

    def ending(run: Run, end: Ending) -> Ending:
        if end.kind == "guard":
            fired.append(run.session)
        return end

    def over(run: Run) -> Ending | None:
        if any(one is run.session for one in fired):
            return Ending("guard", "error", "a guard has fired in this session")
        return guards.over_budget(run)

    return {"ending": ending, "over_budget": over}


def the_last_call_is_the_total(run: Run) -> Ending | None:
    return guards.over_budget(replace(run, spent=run.spent[-1:]))


def running_totals_are_added_up(run: Run) -> Ending | None:
    return guards.over_budget(replace(run, spent=[one for n in range(len(run.spent)) for one in run.spent[: n + 1]]))


def compactions_cost_nothing(bench: Bench) -> Bench:
    """What a compaction used is not heard of."""

    def model(body: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> dict[str, Any]:
        reply = bench.model(body, headers=headers)
        return _free(reply) if "X-Conformance-Call" in (headers or {}) else reply

    def stream_model(body: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> Iterator[dict[str, Any]]:
        for chunk in bench.stream_model(body, headers=headers):
            yield _free(chunk) if "X-Conformance-Call" in (headers or {}) else chunk

    return replace(bench, model=model, stream_model=stream_model)


def _free(said: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in said.items() if key != "usage"}


def the_guard_has_no_name(_run: Run, ending: Ending) -> Ending:
    return replace(ending, reason="the run was stopped") if ending.kind == "guard" else ending


def no_tool_is_left(_run: Run) -> float | None:
    return None


def hanging_tools_are_tried_again(bench: Bench) -> Bench:
    def call_tool(name: str, arguments: Mapping[str, Any], call_id: str | None, **how: Any) -> Any:
        for _ in range(2):
            try:
                return bench.call_tool(name, arguments, call_id, **how)
            except ToolFailed as failed:
                if not failed.timed_out:
                    raise
        return bench.call_tool(name, arguments, call_id, **how)

    return replace(bench, call_tool=call_tool)


def a_timeout_is_an_empty_result(bench: Bench) -> Bench:
    def call_tool(name: str, arguments: Mapping[str, Any], call_id: str | None, **how: Any) -> Any:
        try:
            return bench.call_tool(name, arguments, call_id, **how)
        except ToolFailed as failed:
            if failed.timed_out:
                return ""
            raise

    return replace(bench, call_tool=call_tool)


def one_timeout_is_everyones(said: Said, results: Sequence[str]) -> list[Message]:
    late = next((text for text in results if text.startswith("Error: Timeout")), None)
    return round_messages(said, results if late is None else [late for _ in results])


def all_is_late(said: Said, results: Sequence[str]) -> list[Message]:
    return round_messages(said, ["Error: Timeout: not done within the time" for _ in results])


def never_broken(_run: Run, _one: Execution) -> str | None:
    return None


def broken_for_good(run: Run, one: Execution) -> str | None:
    failures = run.session.broken.get(one.tool, Broken()).failures
    return f"{one.tool!r} failed {len(failures)} times and is not run" if len(failures) >= THRESHOLD else None


def broken_at_once(run: Run, one: Execution) -> str | None:
    failures = run.session.broken.get(one.tool, Broken()).failures
    recent = failures and (run.bench.now() - failures[-1]).total_seconds() < RECOVERY_S
    return f"{one.tool!r} failed and is not run" if recent else None


def successes_do_not_count(run: Run, done: Done) -> None:
    if done.failed:
        breaker.noted(run, done)


def a_refusal_looks_like_a_result(run: Run, text: str) -> str:
    return "done" if text.startswith("Error: Refused") else asking.bounded(run, text)


def retries_are_not_read(_run: Run) -> int:
    return ATTEMPTS


def retries_are_attempts(run: Run) -> int:
    retries = run.given.limits.get("retries")
    return ATTEMPTS if retries is None else int(retries)


def the_last_retry_is_not_made(run: Run) -> int:
    return max(1, asking.attempts(run) - 1)


def layers_multiply(run: Run) -> int:
    return asking.attempts(run) ** 2


def size_is_not_looked_at(_run: Run, _body: Mapping[str, Any]) -> bool:
    return False


def size_is_looked_at_once(run: Run, body: Mapping[str, Any]) -> bool:
    return run.rounds <= 1 and asking.too_large(run, body)


def half_a_window_is_full(run: Run, body: Mapping[str, Any]) -> bool:
    window = run.given.model.get("context_window")
    model = run.given.model if window is None else {**run.given.model, "context_window": window // 2}
    return asking.too_large(replace(run, given=replace(run.given, model=model)), body)
