"""GRD: what keeps a run from going on for ever stops what it is set to stop, nothing else, and says so."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Literal

from conformance.reading.guarding import (
    CAPS,
    SETTINGS,
    Setting,
    Step,
    Stop,
    figure,
    goes_on,
    over_budget,
    spendings,
    steps,
    stopped,
)
from conformance.reading.outcome import answer, claimed, last_call
from conformance.reading.told import may_keep_back
from conformance.reading.tool_calls import equal, tool_calls
from conformance.reading.view import Run, View
from conformance.rule import MUST, OK, SHOULD, Finding, Judged, Right, Rule
from conformance.rules.acting_once import BESIDE_GUARDS, kept_back

#: How a text names a setting; its figure will do as well.
_NAMES: Mapping[Setting, str] = {
    "max_tool_calls": r"max\w*[ _-]?tool[ _-]?calls?|tool[ _-]?calls?[ _-]?limit",
    "max_same_call": r"max\w*[ _-]?same[ _-]?calls?|same[ _-]?call|repeat|identical",
    "token_budget": r"token[ _-]?(budget|limit)|(budget|max\w*)[ _-]?(of[ _-])?tokens",
}
#: How often a tool may fail in the same words before it is a loop, as a multiple of `max_same_call`: no clause says when
#: failures with other arguments become one.
_PATIENCE = 2


def has_guard(*settings: Setting, tools: bool = False) -> Callable[[View], str | None]:
    """An `applies`: the agent declares one of these guards. `tools`: its clause names no channel, but tools decide it."""

    def applies(view: View) -> str | None:
        declared = view.capabilities.get("guards")
        mine = not isinstance(declared, Mapping) or not all(
            declared.get(name) is None or declared.get(name) is False for name in settings
        )
        if not view.has("guards") or not mine:
            return "capability"
        return "channel T" if tools and "T" not in view.channels else None

    return applies


def _excused(run: Run, view: View) -> Callable[[Step], bool]:
    """Whether something else than a guard may have kept a call from running, or a guard's stop beside it."""
    calls = tool_calls(view)
    budget = over_budget(run, view)
    hooked = may_keep_back(run, view.scenario.tools, view)

    def excused(step: Step) -> bool:
        spent = budget is not None and budget.seq <= step.made.by.end_seq
        return hooked or spent or kept_back(step.made, calls, view, BESIDE_GUARDS)

    return excused


def _may_stay(run: Run, view: View, *settings: Setting) -> Callable[[Step], bool]:
    """The same, or one of these guards that a stop of the whole reply, or the call itself, may go back to."""
    excused, mine = _excused(run, view), steps(run, view)
    stops = view.dialect.on_guard == "stop"

    def forbidden(step: Step) -> bool:
        caps = ((name, figure(name, run, view)) for name in settings)
        return any(cap is not None and step.may_be_beyond(name, cap) for name, cap in caps)

    def may_stay(step: Step) -> bool:
        batch = [one for one in mine if one.made.by.id == step.made.by.id] if stops else [step]
        return excused(step) or any(map(forbidden, batch))

    return may_stay


def _never_ran(step: Step, why: str) -> Finding:
    return Finding(f"{step.made} never ran, {why}", step.made.seq)


def the_cap_is_exact(view: View) -> Judged:
    """GRD-1. What comes to the cap shows that all up to it ran; what goes beyond shows that no more did."""
    for run in view.runs:
        cap = figure("max_tool_calls", run, view)
        if cap is None:
            continue
        ran = [one for one in tool_calls(view).made if one.run.id == run.id and one.ran]
        if len(ran) > cap:
            yield Finding(
                f"{ran[cap].ran[0].id}: {ran[cap]} ran, and {cap} calls of {run.id} had run before it; max_tool_calls is {cap}, "
                "expected it to be kept from running",
                ran[cap].ran[0].seq,
                related=(ran[cap].seq,),
            )
            continue
        may_stay, asked = _may_stay(run, view, *CAPS), steps(run, view)
        for step in asked if len(asked) >= cap else ():
            if step.made.ran or step.asked >= cap:
                yield OK
            elif not may_stay(step):
                yield _never_ran(
                    step,
                    f"and only {step.asked} calls of {run.id} came before it; max_tool_calls is {cap}, expected all up to it to run",
                )


def the_same_call_is_bounded(view: View) -> Judged:
    """GRD-2, of calls in a row that bring the same."""
    for run in view.runs:
        cap = figure("max_same_call", run, view)
        if cap is None:
            continue
        may_stay = _may_stay(run, view, *CAPS)
        for step in steps(run, view):
            if step.beyond("max_same_call", cap) and step.made.ran:
                yield Finding(
                    f"{step.made.ran[0].id}: {step.made} ran, though the {step.same} calls before it were the same and brought the "
                    f"same; max_same_call is {cap}, expected it to be kept from running",
                    step.made.ran[0].seq,
                    related=(step.made.seq,),
                )
            elif step.beyond("max_same_call", cap) or (step.made.ran and step.same == cap - 1 > 0):
                yield OK
            elif not step.made.ran and step.same and not may_stay(step):
                yield _never_ran(
                    step,
                    f"and only {step.same} calls before it were the same; max_same_call is {cap}, expected {cap} in a row to run",
                )


def progress_is_not_stopped(view: View) -> Judged:
    """GRD-3. Judged where a guard that looks at the tool alone, or not at results, or not at what came between, would stop it."""
    for run in view.runs:
        cap = figure("max_same_call", run, view)
        if cap is None:
            continue
        may_stay, every = _may_stay(run, view, *CAPS), steps(run, view)
        for place, step in enumerate(every):
            if step.may_be_beyond("max_same_call", cap) or _cruder(every[:place], step) < cap:
                continue
            if step.made.ran:
                yield OK
            elif not may_stay(step):
                yield _never_ran(
                    step,
                    f"though its arguments, or the result before it, were others; max_same_call is {cap} and means calls in a row "
                    "that bring nothing new, expected it to run",
                )


def _cruder(before: tuple[Step, ...], step: Step) -> int:
    """What a guard would count that takes for a repetition what is none: of the tool in a row, or of the call in the run."""
    name, row = step.made.call.name, 0
    for other in reversed(before):
        if other.made.call.name != name:
            break
        row += 1
    alike = [other for other in before if other.made.call.name == name]
    return max(row, sum(equal(other.made.arguments, step.made.arguments) for other in alike))


def the_stop_is_told(view: View) -> Judged:
    """GRD-4, of runs that a guard ended."""
    for run in view.runs:
        stop, claim = stopped(run, view, _excused(run, view)), claimed(run, view)
        if run.cancelled or run.how not in ("returned", "raised") or stop is None or _answered(run, view):
            continue
        spent = run.max_iters is not None and run.rounds >= run.max_iters
        if claim is not None and claim.kind == "limit" and spent:
            continue  # both were reached, and which of them is told is open
        if claim is None or claim.kind not in ("guard", "error") or (claim.kind == "error" and claim.by == "R"):
            said = "says nothing of its end" if claim is None else f"says {claim.kind!r}"
            yield Finding(
                f"run {run.id} {said}, but {stop.setting} {stop.figure} ended it; expected the outcome guard",
                claim.seq if claim else run.end_seq,
                related=(stop.seq,),
            )
        elif _names(stop, run, view):
            yield OK
        else:
            yield Finding(
                f"run {run.id} was ended by {stop.setting} {stop.figure}, and nothing the caller reads names it: "
                f"{list(_words(run, view))!r}; expected the setting or its figure in code, reason or message",
                claim.seq,
                related=(stop.seq,),
            )


def _answered(run: Run, view: View) -> bool:
    last = last_call(run)
    return last is not None and answer(last, view.dialect) is not None


def _names(stop: Stop, run: Run, view: View) -> bool:
    said = " ".join(_words(run, view))
    return bool(re.search(rf"{_NAMES[stop.setting]}|(?<!\d){stop.figure}(?!\d)", said, re.IGNORECASE))


def _words(run: Run, view: View) -> Iterator[str]:
    """All that the caller reads of a run's end."""
    claim = claimed(run, view)
    if claim is not None and claim.reason:
        yield claim.reason
    if run.raised is not None:
        yield run.raised.exception
    if run.terminal is not None:
        yield from (str(run.terminal.data[key]) for key in ("message", "code", "result") if run.terminal.data.get(key))


def the_budget_counts_every_call(view: View) -> Judged:
    """GRD-6. What counts as a token differs a little, so that a stop before half of the budget was spent is early."""
    for run in view.runs:
        budget = figure("token_budget", run, view)
        spent = spendings(run)
        if budget is None or not spent or run.cancelled or run.how not in ("returned", "raised"):
            continue
        beyond, claim = over_budget(run, view), claimed(run, view)
        further = None if beyond is None else goes_on(run, beyond.seq)
        by_guard = claim is not None and claim.kind == "guard"
        if beyond is not None and further is not None:
            used = next(total for _, total in spent if total > budget)
            yield Finding(
                f"{further.id} was sent after the calls of {run.id} had used {used} tokens; token_budget is {budget}, expected the "
                "run to end",
                further.seq,
                related=(beyond.seq,),
            )
        elif beyond is not None:
            yield from _ends_as_guard(run, budget, view)
        elif by_guard and spent[-1][1] * 2 <= budget and not _capped(run, view):
            yield Finding(
                f"run {run.id} says 'guard' after {spent[-1][1]} tokens; token_budget is {budget}, expected it to go on",
                claim.seq if claim else run.end_seq,
            )
        elif not by_guard and _answered(run, view):
            yield OK


def _capped(run: Run, view: View) -> bool:
    """Whether another guard may have ended the run."""
    hooked = may_keep_back(run, view.scenario.tools, view)
    return hooked or any(figure(name, run, view) is not None for name in CAPS)


def _ends_as_guard(run: Run, budget: int, view: View) -> Judged:
    claim, spent = claimed(run, view), run.max_iters is not None and run.rounds >= run.max_iters
    # An answer is one, whatever it cost; at the limit either may be told.
    if _answered(run, view) or (spent and claim is not None and claim.kind == "limit"):
        return
    if claim is not None and (claim.kind == "guard" or (claim.kind == "error" and claim.by != "R")):
        yield OK
    else:
        said = "says nothing of its end" if claim is None else f"says {claim.kind!r}"
        yield Finding(f"run {run.id} {said}, but its token_budget of {budget} was used up; expected guard", run.end_seq)


def a_changed_cap_holds(view: View) -> Judged:
    """GRD-7, of runs behind one with another figure, where the two make a difference."""
    for run in view.runs:
        before = view.before(run)
        if before is None:
            continue
        for setting in CAPS:
            old, new = figure(setting, before, view), figure(setting, run, view)
            if old != new:
                yield from _by_the_new(run, view, setting, old, new)


def _by_the_new(run: Run, view: View, setting: Setting, old: int | None, new: int | None) -> Judged:
    may_stay = _may_stay(run, view, *CAPS)
    for step in steps(run, view):
        if new is not None and step.beyond(setting, new) and not (old is not None and step.may_be_beyond(setting, old)):
            yield _as_changed(step, f"{setting} is {new} since this run", right=not step.made.ran)
        elif old is not None and step.beyond(setting, old) and not may_stay(step):
            yield _as_changed(step, f"{setting} is {new or 'not set'} since this run", right=bool(step.made.ran))


def _as_changed(step: Step, now: str, *, right: bool) -> Finding | Literal[Right.OK]:
    if right:
        return OK
    did = "ran" if step.made.ran else "never ran"
    return Finding(f"{step.made} {did} as it would have by the run before; {now}", step.made.seq)


def each_run_counts_anew(view: View) -> Judged:
    """GRD-8, of runs that would be cut if what the runs before did were counted with them."""
    for run in view.runs:
        earlier = [one for one in view.runs if one.session == run.session and one.end_seq < run.seq]
        if not earlier or run.cancelled:
            continue
        claim = claimed(run, view)
        settings = [name for name in SETTINGS if figure(name, run, view) is not None]
        if settings and not run.calls and claim is not None and claim.kind == "guard" and run.max_iters != 0:
            yield Finding(f"run {run.id} says 'guard' and asked nothing; expected a user's turn to clear it", claim.seq)
            continue
        yield from _calls_anew(run, earlier, view)
        yield from _tokens_anew(run, earlier, view)


def _calls_anew(run: Run, earlier: list[Run], view: View) -> Judged:
    ran = [step for one in earlier for step in steps(one, view) if step.made.ran]
    may_stay = _may_stay(run, view, *CAPS)
    most, same = (figure(name, run, view) for name in CAPS)
    for step in steps(run, view):
        added = len(ran)
        row = 0
        for other in reversed(ran):
            if other.made.call.name != step.made.call.name or not equal(other.made.arguments, step.made.arguments):
                break
            row += 1
        first = step.ran == step.same
        by_calls = most is not None and step.ran < most <= step.ran + added
        by_same = same is not None and first and step.same < same <= step.same + row
        if not (by_calls or by_same):
            continue
        if step.made.ran:
            yield OK
        elif not may_stay(step):
            yield _never_ran(
                step,
                f"after {step.ran} calls of {run.id}, and the runs before it made {added}, which are not its own; expected every "
                "run to count from zero",
            )


def _tokens_anew(run: Run, earlier: list[Run], view: View) -> Judged:
    budget, mine = figure("token_budget", run, view), spendings(run)
    if budget is None or not mine:
        return
    before = sum(spent[-1][1] for one in earlier if (spent := spendings(one)))
    total, claim = mine[-1][1], claimed(run, view)
    if total > budget or total + before < budget or claim is None:
        return
    if claim.kind != "guard":
        yield from (OK,) if total + before > budget else ()
    elif total * 2 <= budget and not _capped(run, view):
        yield Finding(
            f"run {run.id} says 'guard' after {total} tokens, and the runs before it used {before}, which are not its own; "
            f"token_budget is {budget}, expected every run to count from zero",
            claim.seq,
        )


def equal_errors_are_a_loop(view: View) -> Judged:
    """GRD-9, of failures in the same words; where the arguments were equal too it is GRD-2's."""
    for run in view.runs:
        cap = figure("max_same_call", run, view)
        if cap is None:
            continue
        for step in steps(run, view):
            if step.errors < cap or step.repeated >= cap:
                continue
            if not step.made.ran:
                yield OK
            elif step.errors >= cap * _PATIENCE:
                yield Finding(
                    f"{step.made.ran[0].id}: {step.made} ran, though {step.made.call.name} had failed {step.errors} times in a row in "
                    f"the same words; max_same_call is {cap}, expected a loop to be seen in spite of other arguments",
                    step.made.ran[0].seq,
                    related=(step.made.seq,),
                )
                break


_ISSUES = "https://github.com"

RULES: tuple[Rule, ...] = (
    Rule(
        id="GRD-1",
        level=MUST,
        clause="Tool calls up to max_tool_calls run, and the one beyond does not.",
        rationale="A cap that is off by one stops good work, and one that is passed by a batch is none.",
        evidence=(
            f"{_ISSUES}/ymichael/open-codex/issues/51",
            f"{_ISSUES}/spring-projects/spring-ai/issues/5754",
        ),
        channels="T,E",
        keys=("on_guard",),
        applies=has_guard("max_tool_calls"),
        check=the_cap_is_exact,
    ),
    Rule(
        id="GRD-2",
        level=MUST,
        clause="The same tool with the same arguments runs max_same_call times in a row, and not once more.",
        rationale="A model that is stuck asks the same for ever, and every time costs what the first one did.",
        evidence=(
            f"{_ISSUES}/spring-projects/spring-ai/issues/5754",
            f"{_ISSUES}/ymichael/open-codex/issues/51",
            f"{_ISSUES}/crewAIInc/crewAI/issues/518",
        ),
        channels="T,E",
        keys=("on_guard",),
        applies=has_guard("max_same_call"),
        check=the_same_call_is_bounded,
    ),
    Rule(
        id="GRD-3",
        level=MUST,
        clause="Other arguments, or a changed result, are progress: such a call is not stopped as a repetition.",
        rationale="Work in batches and polling look like a loop to a guard that counts a tool's name, and die of it.",
        evidence=(
            f"{_ISSUES}/google-gemini/gemini-cli/issues/8234",
            f"{_ISSUES}/HsiangNianian/dsh-auto-continue/issues/33",
        ),
        channels="T",
        applies=has_guard("max_same_call"),
        check=progress_is_not_stopped,
    ),
    Rule(
        id="GRD-4",
        level=MUST,
        clause="A run that a guard ended says so, as an outcome of its own whose reason names the setting or its figure.",
        rationale="Whoever set the guard has to learn that it was met, and which one; taken for an answer it hides half the work.",
        evidence=(
            f"{_ISSUES}/OpenHands/OpenHands/issues/5480",
            f"{_ISSUES}/crewAIInc/crewAI/issues/518",
        ),
        channels="E,R",
        applies=has_guard(*SETTINGS),
        check=the_stop_is_told,
    ),
    Rule(
        id="GRD-6",
        level=MUST,
        clause="The token budget counts every model call of the run, side calls too, and ends the run when it is used up.",
        rationale="A budget that forgets some calls is spent on them.",
        evidence=(
            f"{_ISSUES}/coddy-project/coddy-agent/pull/329",
            f"{_ISSUES}/NousResearch/hermes-agent/pull/93308",
        ),
        channels="U,M",
        applies=has_guard("token_budget"),
        check=the_budget_counts_every_call,
    ),
    Rule(
        id="GRD-7",
        level=SHOULD,
        clause="A threshold that was changed holds from the next run.",
        rationale="A cap that was raised because it was too low, and still stops, sends people looking in the wrong place.",
        evidence=(f"{_ISSUES}/OpenHands/OpenHands/issues/5480",),
        channels="",
        applies=has_guard(*CAPS, tools=True),
        check=a_changed_cap_holds,
    ),
    Rule(
        id="GRD-8",
        level=MUST,
        clause="What guards count is a run's own: the user's next turn starts from zero.",
        rationale="A conversation that met its guard once would be dead for good.",
        evidence=(f"{_ISSUES}/OpenHands/OpenHands/issues/5480",),
        channels="",
        applies=has_guard(*SETTINGS, tools=True),
        check=each_run_counts_anew,
    ),
    Rule(
        id="GRD-9",
        level=SHOULD,
        clause="A tool that fails again and again in the same words is a loop, even if the arguments differ.",
        rationale="A model that tries one variant after the other against a wall gets no further than one that repeats itself.",
        evidence=(f"{_ISSUES}/google-gemini/gemini-cli/pull/16954",),
        channels="T",
        applies=has_guard("max_same_call"),
        check=equal_errors_are_a_loop,
    ),
)
