"""CB and GRD-5: the hooks that a caller registers are called, and heeded where they decide. Judges no guard of the agent's own."""

from collections.abc import Sequence

from conformance.reading.outcome import claimed
from conformance.reading.told import (
    OBSERVING,
    Callback,
    callbacks,
    does,
    may_keep_back,
    registered,
    requests_after,
    tells_of_hooks,
)
from conformance.reading.tool_calls import tool_calls
from conformance.reading.view import Execution, Run, View
from conformance.rule import MUST, OK, Finding, Judged, Rule
from conformance.rules.acting_once import kept_back

_ISSUES = "https://github.com/"
_LIMITS_ON_CALLS = ("max_tool_calls", "max_same_call", "token_budget")


def with_hooks(view: View) -> str | None:
    """Binds agents that say they call the hooks of a caller."""
    return None if view.has("callbacks") else "capability"


def an_after_hook_for_each_execution(view: View) -> Judged:
    """CB-1, tool by tool. Once a hook has ended the run, the others need not be called."""
    for run in view.runs if tells_of_hooks(view) else ():
        told = [one for one in callbacks(run) if one.hook == "after_tool"]
        for tools in _told_apart(run, told):
            mine = [one for one in told if one.tool is None or one.tool in tools]
            ran = [x for x in run.executions if x.tool in tools]
            least = sum(_hooks_for(run, x.tool) for x in _to_be_told(ran, run, view))
            most = sum(_hooks_for(run, x.tool) for x in ran)
            where = f"run {run.id}: after-hooks of {', '.join(tools)}"
            if len(mine) > most:
                message = f"{where} were called {_times(len(mine))} for {_count(ran)}, expected {_times(most)}"
                yield Finding(message, mine[most].seq, tuple(x.seq for x in ran))
            elif len(mine) < least:
                message = f"{where} were called {_times(len(mine))} for {_count(ran)}, expected {_times(least)}"
                yield Finding(message, ran[-1].end_seq or ran[-1].seq, tuple(one.seq for one in mine))
            elif (early := _early(mine, ran, run)) is not None:
                message = f"{where}: {early} was called when no execution that it could be for had ended; expected it afterwards"
                yield Finding(message, early.seq, tuple(x.seq for x in ran))
            elif most:
                yield OK


def _told_apart(run: Run, told: Sequence[Callback]) -> list[tuple[str, ...]]:
    """The hooked tools that were run or told of, each by itself, or all as one where a report names none."""
    tools = tuple(dict.fromkeys(x.tool for x in run.executions if _hooks_for(run, x.tool)))
    if any(one.tool is None for one in told):
        return [tools]
    return [(tool,) for tool in dict.fromkeys((*tools, *(one.tool for one in told if one.tool is not None)))]


def _early(mine: Sequence[Callback], ran: Sequence[Execution], run: Run) -> Callback | None:
    """The first hook that was called before as many executions had ended as it takes; one that never ends is left at any time."""
    for place, one in enumerate(mine):
        ended = [x for x in ran if (x.end_seq or x.seq) < one.seq]
        if place >= sum(_hooks_for(run, x.tool) for x in ended):
            return one
    return None


def _hooks_for(run: Run, tool: str) -> int:
    return sum(one["hook"] == "after_tool" and one.get("tool") in (None, tool) for one in registered(run))


def _to_be_told(ran: Sequence[Execution], run: Run, view: View) -> list[Execution]:
    """The executions that a hook is owed for: each call's once, since a timeout may be tried again without a word."""
    if run.how not in ("returned", "raised") or run.cancelled or may_keep_back(run, {x.tool for x in ran}, view):
        return []
    # A tool that refused its arguments did nothing.
    whole = [x for x in ran if not (x.error or {}).get("rejected")]
    return list({x.call_id or x.id: x for x in whole}.values())


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _count(ran: Sequence[Execution]) -> str:
    return f"{len(ran)} execution{'' if len(ran) == 1 else 's'} ({', '.join(x.id for x in ran) or 'none'})"


def a_wish_to_stop_is_obeyed(view: View) -> Judged:
    """CB-2, at the first hook of a run that wishes it. What began beside the call it was asked at may come to its end."""
    for run in view.runs:
        wish = next((one for one in callbacks(run) if "stop" in one.does), None)
        if wish is None:
            continue
        asked = requests_after(run, wish.seq)
        ran = [x for x in run.executions if x.seq > wish.seq and _goes_on(x, wish, view)]
        late = sorted(
            (*((call.seq, f"{call.id} was sent") for call in asked), *((x.seq, f"{x.id}: {x.tool} ran") for x in ran))
        )
        if late:
            message = (
                f"run {run.id}: {wish} asked to stop, and after that {late[0][1]}; the run was expected to end there"
            )
            yield Finding(message, late[0][0], (wish.seq, *(seq for seq, _ in late[1:])))
        elif _would_go_on(run, wish):
            yield OK


def _goes_on(x: Execution, wish: Callback, view: View) -> bool:
    return (
        wish.hook in ("before_model", "after_model") or view.dialect.parallel_tools == "sequential" or _is_for(x, wish)
    )


def _is_for(x: Execution, told: Callback) -> bool:
    return x.call_id == told.call_id if x.call_id and told.call_id else x.tool == told.tool


def _would_go_on(run: Run, wish: Callback) -> bool:
    """Whether there was anything left to stop: behind a reply that calls nothing the run is over anyway."""
    if wish.hook == "before_model":
        return True
    heard = [call.reply for call in run.main if call.seq < wish.seq and call.reply is not None]
    return bool(heard) and bool(heard[-1].calls)


def a_crashed_guardrail_lets_nothing_through(view: View) -> Judged:
    """CB-3."""
    return _guarded("raise", "crashes", view)


def nothing_runs_behind_a_tripped_guardrail(view: View) -> Judged:
    """CB-4: neither what the guardrail looked at nor anything after it."""
    for run in view.runs:
        tripped = next((one for one in callbacks(run) if one.hook == "guardrail" and "trip" in one.does), None)
        if tripped is None:
            continue
        for x in run.executions:
            if x.seq > tripped.seq and "trip" not in does(run, "guardrail", x.tool):
                message = f"{x.id}: {x.tool} ran after {tripped} had tripped; nothing was expected to run any more"
                yield Finding(message, x.seq, (tripped.seq,))
    yield from _guarded("trip", "trips", view)


def _guarded(way: str, named: str, view: View) -> Judged:
    """Whether a tool ran whose guardrail never lets it pass, asked or not."""
    for run in view.runs if tells_of_hooks(view) else ():
        asked = [one for one in callbacks(run) if one.hook == "guardrail" and way in one.does]
        ran = [x for x in run.executions if way in does(run, "guardrail", x.tool)]
        for x in ran:
            at = next((one for one in asked if one.seq < x.seq and _is_for(x, one)), None)
            why = "was not asked before" if at is None else f"was asked at record {at.seq}"
            yield Finding(
                f"{x.id}: {x.tool} ran, although the guardrail that looks at it {named} ({why}); it was expected not to run",
                x.seq,
                () if at is None else (at.seq,),
            )
        if asked and not ran:
            yield OK


def a_broken_observer_changes_nothing(view: View) -> Judged:
    """GRD-5, where nothing else that the caller registers or allows may stop the run."""
    for run in view.runs:
        broken = [one for one in callbacks(run) if one.hook in OBSERVING and "raise" in one.does]
        if not broken or run.cancelled or run.how not in ("returned", "raised") or _stopped_otherwise(run):
            continue
        if view.dialect.listener_errors == "isolated":
            for one in broken:
                if one.hook == "before_tool":
                    yield from _runs_all_the_same(one, run, view)
        yield from _ends_by_itself(broken, run, view)


def _stopped_otherwise(run: Run) -> bool:
    limits = run.spec.limits if run.spec is not None else None
    decides = any(one.get("does") in ("stop", "trip") or one["hook"] == "guardrail" for one in registered(run))
    return decides or any(getattr(limits, name, None) is not None for name in _LIMITS_ON_CALLS)


def _runs_all_the_same(told: Callback, run: Run, view: View) -> Judged:
    calls = tool_calls(view)
    made = next((one for one in calls.made if one.run.id == run.id and one.call.id == told.call_id), None)
    if any(x.seq > told.seq and _is_for(x, told) for x in run.executions):
        yield OK
    elif (
        made is not None
        and not made.executions
        and made.whole
        and made.flaw is None
        and not kept_back(made, calls, view)
    ):
        yield Finding(
            f"{told} raised in run {run.id}, and {made} never ran; who only looks on was expected to keep nothing back",
            told.seq,
            (made.seq,),
        )


def _ends_by_itself(broken: Sequence[Callback], run: Run, view: View) -> Judged:
    claim = claimed(run, view)
    if claim is None:
        return
    allowed = ("error", "tool_error") if view.dialect.listener_errors == "propagate" else ()
    if claim.kind in allowed:
        yield OK
    elif claim.kind in ("error", "guard", "interrupted", "refused"):
        end = "an end in error" if allowed else "a run as though nobody had looked on"
        yield Finding(
            f"run {run.id} ended as {claim.kind!r} ({(claim.reason or '')[:120]!r}) after {broken[-1]} had raised; {end} was expected",
            claim.seq,
            tuple(one.seq for one in broken),
            fits=("listener_errors", "propagate") if claim.kind == "error" else None,
        )
    elif not allowed:
        yield OK


RULES: tuple[Rule, ...] = (
    Rule(
        id="GRD-5",
        level=MUST,
        clause="An exception in a hook that only looks on neither ends the run nor keeps anything from running, unless the agent declares that it lets such exceptions through; then the run ends in error.",
        rationale="A metrics hook with a fault of its own must not take the work down, and no one may come to rely on its faults as a guard.",
        channels="M,E",
        check=a_broken_observer_changes_nothing,
        evidence=(f"{_ISSUES}strands-agents/harness-sdk/pull/1797", f"{_ISSUES}langchain-ai/langchainjs/issues/918"),
        keys=("listener_errors",),
        about_events=True,
        applies=with_hooks,
    ),
    Rule(
        id="CB-1",
        level=MUST,
        clause="After every execution of a tool the hooks for that are called, once each, in the last round before the limit and after a failure too.",
        rationale="Who audits, bills or cleans up in such a hook misses just the executions that went wrong or came last.",
        channels="E,T",
        check=an_after_hook_for_each_execution,
        evidence=(
            f"{_ISSUES}anthropics/claude-agent-sdk-typescript/issues/58",
            f"{_ISSUES}google/adk-python/pull/4974",
            f"{_ISSUES}huggingface/smolagents/issues/1879",
        ),
        about_events=True,
        applies=with_hooks,
    ),
    Rule(
        id="CB-2",
        level=MUST,
        clause="When a hook wishes the run to stop, nothing further is asked of the model and nothing further is begun.",
        rationale="The wish is how a user's policy says no: a run that goes on does what was just forbidden.",
        channels="M,E",
        check=a_wish_to_stop_is_obeyed,
        evidence=(f"{_ISSUES}anthropics/claude-code/issues/29991",),
        about_events=True,
        applies=with_hooks,
    ),
    Rule(
        id="CB-3",
        level=MUST,
        clause="A guardrail that crashes fails closed, in a streamed run as in any other: what it was to look at does not run.",
        rationale="A check that lets everything through once it breaks is off exactly when someone has found out how to break it.",
        channels="E,T",
        check=a_crashed_guardrail_lets_nothing_through,
        evidence=(f"{_ISSUES}openai/openai-agents-python/issues/3280",),
        about_events=True,
        applies=with_hooks,
    ),
    Rule(
        id="CB-4",
        level=MUST,
        clause="Once a guardrail has tripped, no tool runs any more in that run.",
        rationale="The calls beside the one that tripped come from the same reply, and the model that wrote it is not trusted any more.",
        channels="E,T",
        check=nothing_runs_behind_a_tripped_guardrail,
        evidence=(f"{_ISSUES}openai/openai-agents-python/issues/991",),
        about_events=True,
        applies=with_hooks,
    ),
)
