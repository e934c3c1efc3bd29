"""LIM: the round budget is exact, belongs to one run, and its end is one that callers can know and read."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from conformance.observing.limit import ending
from conformance.observing.sighting import over
from conformance.reading.evidence import evidence, gated
from conformance.reading.outcome import answer, claimed, last_call, marker_kind, marker_payload, markers
from conformance.reading.round_limit import (
    asks,
    closing_retry,
    early_closing,
    ended_there,
    executed,
    last_round,
    mixed,
    numbers,
    reached,
    rounds_made,
    sound,
)
from conformance.reading.told import may_keep_back
from conformance.reading.view import Call, Run, View, may_skip_its_last
from conformance.rule import MUST, OK, SHOULD, Finding, Judged, Right, Rule
from conformance.rules.acting_once import failures_that_open
from fake_models.wire import CODECS

_FORGE = "https://github.com/"

#: Words that say a limit was reached, in a message, a code or an exception's name.
_LIMIT_WORDS = re.compile(r"limit|exceed|budget|exhaust|max.{0,10}(iter|turn|step|round)|上限|最大", re.IGNORECASE)


def no_round_beyond_the_budget(view: View) -> Judged:
    """Three sentences: no round N + 1, none after an answer, no ending as limit before N."""
    for run in (one for one in view.runs if not mixed(one, view)):
        yield from _no_round_after_n(run, view)
        yield from _no_round_after_an_answer(run, view)
        yield from _no_limit_before_n(run, view)


def _no_round_after_n(run: Run, view: View) -> Judged:
    limit = run.max_iters
    if limit is None or not run.limited:
        return
    beyond = [call for call in run.regular if (call.round or 0) > limit]
    if beyond:
        message = f"{beyond[0].id} is round {beyond[0].round} of run {run.id}, and the caller allows {limit}; expected no further regular call"
        yield Finding(message, beyond[0].seq, tuple(call.seq for call in beyond[1:]))
    elif (
        acting := next((call for call in run.summary if call.request.callable_tools and executed(run, call)), None)
    ) is not None:
        # By its place it is the summary, and yet the loop went on in it as in any round.
        message = f"{acting.id} comes after the {limit} rounds of run {run.id}, offers tools, and {executed(run, acting)[0].tool} ran for its reply; expected no further round"
        yield Finding(message, acting.seq)
    elif reached(run, view):
        yield OK


def _no_round_after_an_answer(run: Run, view: View) -> Judged:
    # Without any limit no budget is kept, only broken: nothing is right here.
    bounded = run.max_iters is not None
    for call in run.main:
        replied = run.outcome_of(call)
        if call.kind == "summary" or answer(replied, view.dialect) is None:
            continue
        if evidence(run, view, replied.end_seq) != "met":
            continue  # what the gate misses may be asked for
        later = next((one for one in run.regular if one.seq > call.end_seq), None)
        if later is None:
            yield from (OK,) if bounded else ()
        else:
            text = answer(run.outcome_of(call), view.dialect)
            message = f"{call.id} was answered {text!r} in round {call.round} of run {run.id}, but {later.id} is one more round; expected the run to end with the answer"
            yield Finding(message, later.seq, (call.seq,))
        return


def _no_limit_before_n(run: Run, view: View) -> Judged:
    claim = claimed(run, view)
    if not run.limited or run.max_iters is None or claim is None or claim.kind != "limit" or run.cancelled:
        return
    made, closing = rounds_made(run, view), early_closing(run, view)
    if made < run.max_iters:
        instead = f"; {closing.id}, which offers no tools, is none" if closing else ""
        yield Finding(
            f"run {run.id} ends as limit after {made} rounds, and the caller allows {run.max_iters}{instead}", claim.seq
        )
    else:
        yield OK


def each_run_has_the_whole_budget(view: View) -> Judged:
    """Judged on runs that a budget carried over from the runs before would have cut, and their own requests would not."""
    for index, run in enumerate(view.runs):
        before = sum(one.rounds for one in view.runs[:index] if one.end_seq < run.seq)
        if not run.limited or not run.max_iters or not before or not over(run) or mixed(run, view):
            continue
        claim, made = claimed(run, view), rounds_made(run, view)
        if made < run.max_iters <= _asked(run, view):
            continue  # its own requests used the budget up, and LIM-1 and LIM-7 speak of that
        last = last_call(run)
        cut = (
            last is not None
            and asks(last, view.dialect)
            and sound(last, view)
            and not any(x.error for x in executed(run, last))
            and not may_keep_back(run, view.scenario.tools, view)
        )
        if made < run.max_iters and claim is not None and (claim.kind == "limit" or (claim.kind == "error" and cut)):
            message = f"run {run.id} was ended as {claim.kind} after {made} of its {run.max_iters} rounds; the runs before it made {before}, which are not its own"
            yield Finding(message, claim.seq)
        elif before + run.rounds > run.max_iters:
            yield OK


def _asked(run: Run, view: View) -> int:
    """The requests that a run made of its rounds, each time that one was asked counted."""
    closes = early_closing(run, view) or closing_retry(run, view)
    return sum(call.role in ("regular", "retry") for call in run.calls) - (closes is not None)


def the_last_round_runs_whole(view: View) -> Judged:
    """Calls that have to run, of runs that the limit ended. What ran and was cut off counts as killed half way."""
    for run in view.runs:
        last = last_round(run)
        if last is None or not last.said or not ended_there(run, view) or not sound(last, view):
            continue
        ran = executed(run, last)
        if not ran and may_skip_its_last(run, view.dialect):
            yield OK
            continue
        yield from _each_ran(last, run, view)
        yield from _answered(last, run, view)


def _each_ran(last: Call, run: Run, view: View) -> Judged:
    ran = list(executed(run, last))
    for call in last.said:
        mine = next((x for x in ran if x.call_id == call.id), None) or next(
            (x for x in ran if x.tool == call.name), None
        )
        if mine is None:
            owed = "run it" if view.dialect.last_round_tools == "run" else "run all calls of the round or none"
            yield Finding(
                f"{call.name} ({call.id}), called in {last.id}, the last allowed round of run {run.id}, never ran; expected the agent to {owed}",
                last.end_seq,
            )
            continue
        ran.remove(mine)
        if mine.end_seq is None:
            yield Finding(
                f"{call.name} ({call.id}) was started in {mine.id} in the last allowed round of run {run.id} and never came to its end; the limit is checked before a round, not within",
                mine.seq,
            )
        else:
            yield OK


def _answered(last: Call, run: Run, view: View) -> Judged:
    """In the next request, where there is one and it has tool messages at all; whose result is whose is HIS-1's."""
    following = next((call for call in run.main if call.seq > last.seq), None)
    if following is None or view.dialect.tool_history != "messages":
        return
    messages = following.request.messages
    at = next((n for n in reversed(range(len(messages))) if messages[n].tool_calls), None)
    if at is None:
        return
    results = sum(message.role == "tool" for message in messages[at:])
    owed = len(messages[at].tool_calls)
    if results < owed:
        yield Finding(
            f"{following.id} has {results} results for the {owed} calls of {last.id}, the last allowed round of run {run.id}; expected one each",
            following.seq,
            (last.seq,),
        )
    else:
        yield OK


def an_answer_within_the_budget_ends_normally(view: View) -> Judged:
    """Judged where the last call of the loop, in a round of the budget, carries the answer."""
    for run in view.runs:
        last, claim = last_call(run), claimed(run, view)
        if last is None or run.max_iters is None or run.cancelled or mixed(run, view):
            continue
        if (last.round or 0) > run.max_iters or answer(last, view.dialect) is None:
            continue
        if gated(run, view) and claim is not None and claim.kind != "answered":
            continue
        found = list(_abnormal(run, last, view))
        yield from found or (OK,)


def _abnormal(run: Run, last: Call, view: View) -> Iterator[Finding]:
    answered = f"{last.id} carries an answer in round {last.round} of {run.max_iters} of run {run.id}, but"
    claim = claimed(run, view)
    if run.summary:
        yield Finding(
            f"{answered} {run.summary[0].id} asks the model for one more text; expected the answer to end the run",
            run.summary[0].seq,
            (last.seq,),
        )
    for event in markers(run, view.dialect)[:1]:
        yield Finding(
            f"{answered} a {event.type} event says that the limit was reached; expected no marker",
            event.seq,
            (last.seq,),
        )
    if run.raised is not None and claim is not None and claim.kind in ("limit", "error"):
        yield Finding(
            f"{answered} the agent raised {run.raised.exception}: {run.raised.message}; expected an ordinary end",
            run.raised.seq,
            (last.seq,),
        )
    elif run.said is not None and run.said.kind == "limit":
        yield Finding(f"{answered} the outcome is limit; expected answered", run.said.seq, (last.seq,))


def the_limit_shows(view: View) -> Judged:
    """Under `finished` by a marker of the declared kind with N in it; else by a word or N where the caller reads the failure."""
    for run in view.runs:
        if run.max_iters is None or not ended_there(run, view):
            continue
        if view.dialect.limit_terminal != "finished":
            yield from _readable(run, view)
        else:
            yield from _marked(run, view)


def marks_can_be_seen(view: View) -> str | None:
    """Under `finished` the limit is a marker event: without events nothing shows whether it came."""
    return "channel E" if view.dialect.limit_terminal == "finished" and "E" not in view.channels else None


def _marked(run: Run, view: View) -> Judged:
    wanted, name = view.dialect.limit_marker, view.dialect.marker_name
    found = [event for event in markers(run, view.dialect) if marker_kind(event) == wanted]
    called = f"called {name!r}" if name else "that speaks of a limit"
    if not found:
        came = ", ".join(event.type for event in run.events[-3:]) or "none"
        yield Finding(
            f"run {run.id} used up its {run.max_iters} rounds and has no {wanted.upper()} event {called}; its last events are {came}",
            run.terminal.seq if run.terminal else run.end_seq,
            fits=("limit_terminal", "flagged") if _flagged(run, view) else None,
        )
    elif not any(run.max_iters in set(numbers(marker_payload(event))) for event in found):
        yield Finding(
            f"the limit marker of run {run.id} carries {marker_payload(found[0])!r}, expected the budget {run.max_iters} in it as a number",
            found[0].seq,
        )
    else:
        yield OK


def _flagged(run: Run, view: View) -> bool:
    """Whether the run finished without any marker, and its result says that its limit ended it."""
    finished = run.terminal is not None and run.terminal.type == "RUN_FINISHED"
    return finished and run.said is not None and run.said.kind == "limit" and not markers(run, view.dialect)


def _readable(run: Run, view: View) -> Judged:
    said = list(_failure_words(run))
    claim = claimed(run, view)
    told = " ".join(said)
    if (
        (claim is not None and claim.kind == "limit")
        or _LIMIT_WORDS.search(told)
        or re.search(rf"(?<!\d){run.max_iters}(?!\d)", told)
        or markers(run, view.dialect)
    ):
        yield OK
    else:
        yield Finding(
            f"run {run.id} used up its {run.max_iters} rounds, and nothing the caller reads says so: {said!r}; expected the limit or its number",
            run.end_seq,
            level=SHOULD,
        )


def _failure_words(run: Run) -> Iterator[str]:
    if run.raised is not None:
        yield from (run.raised.exception, run.raised.message)
    if run.terminal is not None:
        yield from (
            str(run.terminal.data[key])
            for key in ("message", "code", "outcome", "result")
            if run.terminal.data.get(key)
        )
    if run.said is not None and run.said.reason:
        yield run.said.reason


def an_ending_is_seen(view: View) -> Judged:
    """One recording only shows that there is an ending to compare; whether it is the same everywhere, the suite shows."""
    for run in view.runs:
        if ending(run, view) is not None:
            yield OK


def every_ending_is_the_same(views: Sequence[View]) -> Iterator[tuple[int, Finding | Literal[Right.OK]]]:
    """Every run that its limit ended against the first one, over all recordings of the agent."""
    seen = [(index, run, pair) for index, view in enumerate(views) for run in view.runs if (pair := ending(run, view))]
    for index, run, pair in seen[1:]:
        where, first, expected = seen[0]
        if pair == expected:
            yield index, OK
        else:
            other = f"run {first.id} of {views[where].scenario.id} ended with {_pair(expected)}"
            yield (
                index,
                Finding(
                    f"run {run.id} of {views[index].scenario.id} ended at its limit with {_pair(pair)}, but {other}; expected one way to end at the limit everywhere",
                    run.end_seq,
                ),
            )


def _pair(pair: tuple[str, str | None]) -> str:
    return f"{pair[0]} and {'no end' if pair[1] is None else pair[1]}"


def every_round_offers_all_tools(view: View) -> Judged:
    """
    Names may carry a prefix and more tools may stand beside; a guard that is due may take one away.

    A repeated request is one of its round, but for a closing text in its place: what that cost the budget is LIM-1's and LIM-7's.
    """
    for run in view.runs:
        names = _tool_names(run, view)
        limits = run.spec.limits if run.spec is not None else None
        guarded = limits is not None and (limits.max_tool_calls is not None or limits.max_same_call is not None)
        if not names or guarded:
            continue
        closing = closing_retry(run, view)
        within = [call for call in run.main if call.kind != "summary" and call is not closing and _in_budget(call, run)]
        # Without a word for it, an agent keeps the choice by what it offers.
        unsaid = "tool_choice" in CODECS[view.recording.header.wire].lacks and run.tool_choice not in (None, "auto")
        for call in within if run.tool_choice != "none" and not unsaid else ():
            offered = call.request.callable_tools
            missing = [
                name
                for name in names
                if not any(one.endswith(name) for one in offered) and name not in _broken(view, call)
            ]
            emptied = [name for name in names if name not in missing and _is_emptied(name, call, view)]
            if emptied:
                yield Finding(
                    f"{call.id} (round {call.round} of run {run.id}) offers {emptied!r} without its arguments, expected the "
                    "tool as it is: one that nothing can be said to is no tool",
                    call.seq,
                )
            elif missing:
                yield Finding(
                    f"{call.id} (round {call.round} of run {run.id}) offers {list(offered)!r}, expected {missing!r} as well: every round has all tools",
                    call.seq,
                )
            else:
                yield OK
        if run.tool_choice in ("required", *names) and view.has("tool_choice") and not unsaid:
            yield from _forced_once([call for call in within if call.kind == "regular"], run.tool_choice)


def _in_budget(call: Call, run: Run) -> bool:
    return run.max_iters is None or (call.round or 0) <= run.max_iters


def _is_emptied(name: str, call: Call, view: View) -> bool:
    """Whether a tool is offered with no arguments although it has some."""
    tool = view.scenario.tools.get(name)
    if tool is None or not tool.parameters.get("properties"):
        return False
    # Of tools whose names end alike, the one that is called so, else any of them: a prefix is the agent's.
    specs = call.request.tools or ()
    mine = [one for one in specs if one.name == name] or [one for one in specs if one.name.endswith(name)]
    return bool(mine) and not any(_has_arguments(one.parameters) for one in mine)


def _has_arguments(schema: object) -> bool:
    """Whether a schema names arguments, in itself or by way of another."""
    return isinstance(schema, Mapping) and any(
        schema.get(key) for key in ("properties", "allOf", "anyOf", "oneOf", "$ref", "patternProperties")
    )


def _broken(view: View, call: Call) -> set[str]:
    """Tools that a circuit breaker may have taken away by then, having failed as often as it takes."""
    failed = Counter(x.tool for x in view.executions if x.seq < call.seq and (x.error is not None or x.end_seq is None))
    most = failures_that_open(view)
    return {tool for tool, count in failed.items() if most is not None and count >= most}


def _tool_names(run: Run, view: View) -> list[str]:
    given = [tool.get("name") for tool in run.given.get("tools") or () if isinstance(tool, dict)]
    return [name for name in given if isinstance(name, str)] or list(view.scenario.tools)


def _forced_once(calls: Sequence[Call], forced: str | None) -> Judged:
    for call in calls:
        choice = call.request.tool_choice
        first = call.round == 1
        is_forced = choice is not None and forced is not None and choice.endswith(forced)
        if is_forced == first:
            yield OK
            continue
        owed = (
            f"{forced!r}, which the caller forces in the first round"
            if first
            else "a free choice: one that is forced holds for the first round only"
        )
        yield Finding(f"{call.id} (round {call.round}) has tool_choice {choice!r}, expected {owed}", call.seq)


def zero_and_one_mean_what_they_say(view: View) -> Judged:
    """Refusing the value before any call of the model is as right as keeping to it."""
    for run in view.runs:
        if not run.limited or run.max_iters not in (0, 1) or not over(run):
            continue
        limit, claim = run.max_iters, claimed(run, view)
        if run.rounds > limit:
            beyond = next(call for call in run.main if (call.round or 0) > limit)
            yield Finding(
                f"run {run.id} has max_iters {limit} and made {run.rounds} rounds; expected {limit}, or the value refused before any call",
                beyond.seq,
            )
        elif not run.calls:
            refused = claim is not None and claim.kind in ("refused", "error")
            if refused or (limit == 0 and (claim is None or claim.kind == "limit")):
                yield OK
            elif limit == 0 and claim is not None:
                yield Finding(
                    f"run {run.id} has max_iters 0, made no call of the model and ends as {claim.kind}; expected limit, or the value refused",
                    claim.seq,
                )
            else:
                yield Finding(
                    f"run {run.id} has max_iters 1 and made no call of the model; expected one round, or the value refused",
                    run.end_seq,
                )
        elif limit == 0 or reached(run, view):
            yield OK


RULES: tuple[Rule, ...] = (
    Rule(
        id="LIM-1",
        level=MUST,
        clause="A run never makes more rounds than its caller allows, makes none after an answer, and does not end as limit before it made them all. Parallel calls are one round; repeated requests, the summary and calls beside the loop are none.",
        rationale="The budget is what stands between a looping model and an open-ended bill, and a budget cut short loses answers that were one round away.",
        channels="M",
        check=no_round_beyond_the_budget,
        evidence=(
            f"{_FORGE}crewAIInc/crewAI/issues/1656",
            f"{_FORGE}agentscope-ai/agentscope/issues/2204",
            f"{_FORGE}langchain4j/langchain4j/issues/4197",
            f"{_FORGE}crewAIInc/crewAI/issues/3847",
        ),
        keys=("limit_unit",),
    ),
    Rule(
        id="LIM-2",
        level=MUST,
        clause="The budget belongs to one run: the next run starts at zero.",
        rationale="A counter that lives on the agent ends the second task early, and only in the second task.",
        channels="M",
        check=each_run_has_the_whole_budget,
        evidence=(
            f"{_FORGE}crewAIInc/crewAI/pull/5644",
            f"{_FORGE}SWE-agent/mini-swe-agent/pull/910",
            f"{_FORGE}microsoft/agent-framework/issues/2329",
        ),
    ),
    Rule(
        id="LIM-3",
        level=MUST,
        clause="The limit is checked where a round begins: the calls of the last allowed round run to their end and are answered, and none is killed half way.",
        rationale="A tool stopped in its middle leaves half a side effect behind, and a call without its result makes the history one that no provider accepts.",
        channels="M,T",
        check=the_last_round_runs_whole,
        evidence=(
            f"{_FORGE}pydantic/pydantic-ai/issues/2593",
            f"{_FORGE}agentscope-ai/agentscope/issues/2204",
        ),
        keys=("last_round_tools",),
    ),
    Rule(
        id="LIM-4",
        level=MUST,
        clause="A model that answers in any allowed round, the last one too, ends the run normally: no summary, no marker, no exception.",
        rationale="An answer that arrives just in time and is reported as a limit makes callers retry or discard what they already have.",
        channels="M,E",
        check=an_answer_within_the_budget_ends_normally,
        evidence=(
            f"{_FORGE}mcp-use/mcp-use/issues/220",
            f"{_FORGE}crewAIInc/crewAI/issues/3847",
        ),
    ),
    Rule(
        id="LIM-5",
        level=MUST,
        clause="The limit shows, with the budget: as a marker event that carries the number where the run finishes normally, and as words a caller can read where it does not.",
        rationale="A limit that looks like a finished answer is taken for one.",
        channels="E,R",
        check=the_limit_shows,
        evidence=(
            f"{_FORGE}mastra-ai/mastra/issues/12596",
            f"{_FORGE}NousResearch/hermes-agent/issues/92552",
            f"{_FORGE}agentscope-ai/agentscope/issues/1805",
        ),
        keys=("limit_marker", "marker_name", "limit_terminal"),
        applies=marks_can_be_seen,
    ),
    Rule(
        id="LIM-6",
        level=MUST,
        clause="An agent has one way to end at its limit, the same in every mode and scenario; only a summary that failed may end otherwise.",
        rationale="Callers handle the ending they have seen. One that changes with streaming, or from run to run, goes unhandled.",
        channels="E,R",
        check=an_ending_is_seen,
        evidence=(
            f"{_FORGE}langchain4j/langchain4j/issues/4197",
            f"{_FORGE}langchain-ai/langgraph/issues/5548",
            f"{_FORGE}mastra-ai/mastra/issues/7390",
        ),
        keys=("limit_text", "limit_terminal", "summary_failure"),
        suite=every_ending_is_the_same,
    ),
    Rule(
        id="LIM-9",
        level=MUST,
        clause="Every round offers the model all tools of the run. A tool choice that the caller forces holds for the first round only.",
        rationale="Tools held back in the last round turn a budget of N into N - 1, and a choice that stays forced makes the model call for ever.",
        channels="M",
        check=every_round_offers_all_tools,
        evidence=(
            f"{_FORGE}langgenius/dify-official-plugins/issues/587",
            f"{_FORGE}spring-projects/spring-ai/issues/4464",
            f"{_FORGE}google/adk-python/issues/5665",
        ),
    ),
    Rule(
        id="LIM-10",
        level=MUST,
        clause="A budget of zero is zero rounds and a budget of one is one round, or the value is refused before any call of the model. Neither means no limit.",
        rationale="Zero read as false, or as unset, turns the tightest budget into none at all.",
        channels="M",
        check=zero_and_one_mean_what_they_say,
        evidence=(
            f"{_FORGE}langgenius/dify-official-plugins/issues/587",
            f"{_FORGE}SWE-agent/SWE-agent/pull/1558",
            f"{_FORGE}anthropics/claude-code/issues/41143",
        ),
    ),
)
