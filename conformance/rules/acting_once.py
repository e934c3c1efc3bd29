"""ACT-1: a valid call runs exactly once, as the model said it, unless a reason that another clause judges keeps it back."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from conformance.reading.guarding import Setting, figure
from conformance.reading.told import may_keep_back
from conformance.reading.tool_calls import Calls, Made, as_text, equal, next_main, tool_calls
from conformance.reading.view import Execution, View, may_skip_its_last
from conformance.rule import OK, Finding, Judged, Right

#: The dialect key that says what becomes of a call that cannot run, by its flaw.
FEEDBACK: Mapping[str, str] = {"unknown": "unknown_tool", "malformed": "bad_arguments", "misfit": "bad_arguments"}


def act_1(view: View) -> Judged:
    """Each valid call runs exactly once as it was said, and nothing else runs."""
    calls = tool_calls(view)
    for stray in calls.strays:
        yield Finding(
            f"{stray.id}: {stray.tool} ran with {as_text(stray.arguments)}, but the model called no such tool in {stray.run} "
            "before that",
            stray.seq,
        )
    for made in calls.made:
        # Calls of a broken reply are ACT-6's, those of a summary SUM-3's, and what cannot run ACT-3's to ACT-5's.
        if made.whole and made.by.role != "summary" and made.flaw in (None, "extra"):
            yield from _runs_once(made, calls, view)


def _runs_once(made: Made, calls: Calls, view: View) -> Judged:
    refused = made.flaw == "extra" and view.dialect.extra_args == "refuse"
    ran = first_of_timeouts(made, view)
    if refused and ran:
        yield Finding(
            f"{ran[0].id}: {made} has arguments that its schema does not name, {', '.join(made.extra)}, and ran; "
            "declared is extra_args refuse, expected an error result",
            ran[0].seq,
            related=(made.seq,),
            fits=("extra_args", "drop" if set(made.extra).isdisjoint(ran[0].arguments or ()) else "pass"),
        )
    elif refused:
        yield OK
    elif len(ran) > 1:
        yield Finding(
            f"{made} ran {len(ran)} times ({', '.join(one.id for one in ran)}), expected once",
            ran[1].seq,
            related=(made.seq, ran[0].seq),
        )
    elif ran:
        yield _as_said(made, ran[0], view)
    elif not may_stay(made, calls, view):
        yield Finding(
            f"{made} was valid and never ran, expected one execution with {as_text(made.arguments)}", made.seq
        )


def first_of_timeouts(made: Made, view: View) -> tuple[Execution, ...]:
    """The executions of a call; of a tool that never came back, ACT-9 counts the repetitions."""
    ran = made.executions if made.flaw == "extra" and view.dialect.extra_args == "pass" else made.ran
    if view.has("tool_timeout") and ran and ran[0].end_seq is None:
        return ran[:1]
    return ran


def _as_said(made: Made, ran: Execution, view: View) -> Finding | Literal[Right.OK]:
    drop = view.dialect.extra_args == "drop"
    wanted = {k: v for k, v in made.arguments.items() if not (drop and k in made.extra)}
    if faithful(wanted, ran.arguments, made.tool.parameters if made.tool else {}):
        return OK
    fits = None
    if made.extra and isinstance(ran.arguments, Mapping):
        fits = ("extra_args", "drop" if set(made.extra).isdisjoint(ran.arguments) else "pass")
    return Finding(
        f"{ran.id}: {made} ran with {as_text(ran.arguments)}, expected {as_text(wanted)} as the model said it",
        ran.seq,
        related=(made.seq,),
        fits=fits,
    )


def faithful(said: Any, ran: Any, schema: Any) -> bool:
    """Whether arguments ran as they were said, but for defaults of the schema that were filled in at any depth."""
    fields = schema.get("properties", {}) if isinstance(schema, Mapping) else {}
    if isinstance(said, Mapping) and isinstance(ran, Mapping):
        added = [key for key in ran if key not in said]
        return all(key in ran and faithful(value, ran[key], fields.get(key)) for key, value in said.items()) and all(
            "default" in fields.get(key, {}) and equal(ran[key], fields[key]["default"]) for key in added
        )
    if isinstance(said, list) and isinstance(ran, list) and len(said) == len(ran):
        items = schema.get("items") if isinstance(schema, Mapping) else None
        return all(faithful(one, other, items) for one, other in zip(said, ran, strict=True))
    return equal(said, ran)


def may_stay(made: Made, calls: Calls, view: View) -> bool:
    """Whether a valid call may stay without an execution, for a reason that another clause judges."""
    return _bad_id(made, calls, view) or kept_back(made, calls, view)


#: Whether a call may stay without an execution, for one reason.
Reason = Callable[[Made, Calls, View], bool]


def kept_back(made: Made, calls: Calls, view: View, reasons: Sequence[Reason] | None = None) -> bool:
    """Whether there is a reason to keep a call from running that has nothing to do with its id; all of them unless given."""
    return any(reason(made, calls, view) for reason in (_REASONS if reasons is None else reasons))


def _bad_id(made: Made, calls: Calls, view: View) -> bool:
    return not made.sound or (view.dialect.bad_ids == "refuse" and any(not one.sound for one in calls.batch(made)))


def _not_asked_for_tools(made: Made, _calls: Calls, _view: View) -> bool:
    # Cut by length is ACT-6's. That calls decide whatever the stop reason says is REC-11's.
    return made.by.reply is None or made.by.reply.stop != "tool_calls"


def _beyond_the_budget(made: Made, _calls: Calls, view: View) -> bool:
    budget, at = made.run.max_iters, made.by.round or 0
    if budget is None:
        return False
    return at > budget or (at == budget and may_skip_its_last(made.run, view.dialect))


def run_ended(made: Made, _calls: Calls, _view: View) -> bool:
    """Whether the run was ended from outside or broke down."""
    return made.run.cancelled or made.run.how not in ("returned", "raised")


def _guarded(made: Made, calls: Calls, view: View) -> bool:
    if not view.has("guards"):
        return False
    # A guard that stops the run may do so before any call of the reply that goes beyond it.
    stops = view.dialect.on_guard == "stop"
    return any(_beyond_a_guard(one, calls, view) for one in (calls.batch(made) if stops else (made,)))


def _beyond_a_guard(made: Made, calls: Calls, view: View) -> bool:
    """Whether a call is one too many by a figure that the caller set or the agent declared, itself counted."""
    mine = [one for one in calls.made if one.run.id == made.run.id and one.whole and one.by.role != "summary"]
    so_far = mine[: mine.index(made) + 1]
    same = [one for one in so_far if one.call.name == made.call.name and equal(one.arguments, made.arguments)]
    # Failures in the same words are a loop whatever the arguments, see GRD-9.
    failed = [one for one in so_far[:-1] if one.call.name == made.call.name and any(x.error for x in one.executions)]
    spent = [one.reply.usage for one in made.run.calls if one.reply is not None and one.seq <= made.by.seq]
    tokens = sum(sum(usage.values()) for usage in spent if usage is not None)
    return (
        _above(len(so_far), "max_tool_calls", made, view)
        or _above(max(len(same), len(failed) + 1), "max_same_call", made, view)
        # What is counted as a token differs, so that half the budget may be all of it.
        or _above(tokens * 2, "token_budget", made, view)
    )


def _above(count: int, setting: Setting, made: Made, view: View) -> bool:
    cap = figure(setting, made.run, view)
    return cap is not None and count > cap


def failures_that_open(view: View) -> int | None:
    """How many failures of a tool open the declared circuit breaker, one where it does not say; None without a breaker."""
    if not view.has("circuit_breaker"):
        return None
    declared = view.capabilities.get("circuit_breaker")
    threshold = declared.get("threshold") if isinstance(declared, Mapping) else None
    return threshold if isinstance(threshold, int) and threshold >= 1 else 1


def _circuit_open(made: Made, _calls: Calls, view: View) -> bool:
    enough = failures_that_open(view)
    if enough is None:
        return False
    follows = next_main(made.run, made.by.end_seq)
    until = follows.seq if follows is not None else made.run.end_seq
    tried = [one for one in view.executions if one.tool == made.call.name and one.seq < until]
    # The breaker may be the agent's and outlive a run; a tool that never came back has failed too.
    return sum(one.error is not None or one.end_seq is None for one in tried) >= enough


def _hooked(made: Made, calls: Calls, view: View) -> bool:
    return may_keep_back(made.run, [one.call.name for one in calls.batch(made)], view)


def awaits_a_person(made: Made, calls: Calls, view: View) -> bool:
    """Whether a person has to allow the call, or one beside it."""
    return view.has("approval") and any(one.tool and one.tool.approval for one in calls.batch(made))


def ends_the_run(made: Made, calls: Calls, view: View) -> bool:
    """Whether a call of the same reply is one that the declared dialect ends the run for."""
    for one in calls.batch(made):
        failed = any(x.error and not x.error.get("rejected") for x in one.executions)
        key = "tool_exception" if failed else FEEDBACK.get(one.flaw or "")
        if one.flaw == "answer" or (key is not None and getattr(view.dialect, key) != "observe"):
            return True
    return False


#: The reasons that have nothing to do with why the reply stopped.
OTHER_REASONS: tuple[Reason, ...] = (
    _beyond_the_budget,
    run_ended,
    _guarded,
    _circuit_open,
    _hooked,
    awaits_a_person,
    ends_the_run,
)
_REASONS: tuple[Reason, ...] = (_not_asked_for_tools, *OTHER_REASONS)
#: The reasons that clauses about guards, and about circuit breakers, leave to others.
BESIDE_GUARDS: tuple[Reason, ...] = tuple(reason for reason in _REASONS if reason is not _guarded)
BESIDE_BREAKERS: tuple[Reason, ...] = tuple(reason for reason in _REASONS if reason is not _circuit_open)
