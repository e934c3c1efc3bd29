"""What a guard could know of each call that the model made, and which call or spending ended a run. Judges nothing."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, Literal

from conformance.reading.tool_calls import Made, equal, tool_calls
from conformance.reading.view import Call, Run, View, may_skip_its_last

Setting = Literal["max_tool_calls", "max_same_call", "token_budget"]


@dataclass(frozen=True, slots=True)
class Step:
    """
    A sound and valid call, with what came before it in its run.

    `ran`: calls that had run. `asked`: the same, and all calls before it in its reply. `same`: equal calls directly before
    it that brought the same. `repeated`: the same as far as a guard can tell that looks at a whole reply before it runs,
    so that a call beside it counts whatever it brings. `errors`: failures of its tool directly before its reply, all in the
    same words.
    """

    made: Made
    ran: int
    asked: int
    same: int
    repeated: int
    errors: int

    def beyond(self, setting: Setting, figure: int) -> bool:
        """Whether a cap on calls forbids this one whatever way is counted."""
        return {"max_tool_calls": self.ran, "max_same_call": self.same, "token_budget": -1}[setting] >= figure

    def may_be_beyond(self, setting: Setting, figure: int) -> bool:
        """Whether it does in some way to count, as one that counts a reply's calls before they run."""
        counts = {
            "max_tool_calls": self.asked,
            "max_same_call": max(self.repeated, self.same, self.errors),
            "token_budget": -1,
        }
        return counts[setting] >= figure


def figure(setting: Setting, run: Run, view: View) -> int | None:
    """A figure as the run's caller set it, else as the agent declares it; None where neither did or it has no such guard."""
    declared = view.capabilities.get("guards")
    known = declared.get(setting) if isinstance(declared, Mapping) else view.has("guards")
    if known is None or known is False:  # and 0 is a figure
        return None
    asked = getattr(run.spec.limits, setting) if run.spec is not None else None
    found = known if asked is None else asked
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def may_end_by_guard(run: Run, view: View) -> bool:
    """Whether any guard that is known for this run has a figure to end it by."""
    return any(figure(setting, run, view) is not None for setting in SETTINGS)


def steps(run: Run, view: View) -> tuple[Step, ...]:
    """A run's calls up to the first that is not valid or has no id of its own: from there on agents count differently."""
    return view.once(_every_step)[run.id]


def _every_step(view: View) -> Mapping[str, tuple[Step, ...]]:
    made = tool_calls(view).made
    return {run.id: tuple(_steps([one for one in made if one.run.id == run.id])) for run in view.runs}


def _steps(made: Sequence[Made]) -> Iterator[Step]:
    before: list[Made] = []
    for one in made:
        if not one.whole or one.by.role == "summary":
            continue
        if not one.sound or one.flaw is not None:
            return
        done = [other for other in before if other.ran]
        beside = [other for other in before if other.by.id == one.by.id]
        earlier = [other for other in done if other.by.id != one.by.id]
        yield Step(
            one,
            len(done),
            len(earlier) + len(beside),
            _in_a_row(done, one),
            _as_far_as_known(earlier, beside, one),
            _failures(earlier, one),
        )
        before.append(one)


def _equal(one: Made, other: Made) -> bool:
    return one.call.name == other.call.name and equal(one.arguments, other.arguments)


def _in_a_row(done: Sequence[Made], one: Made) -> int:
    row = list(takewhile(lambda other: _equal(other, one), reversed(done)))
    return len(list(takewhile(lambda other: equal(came(other), came(row[0])), row)))


def _as_far_as_known(earlier: Sequence[Made], beside: Sequence[Made], one: Made) -> int:
    now = list(takewhile(lambda other: _equal(other, one), reversed(beside)))
    return len(now) + (_in_a_row(earlier, one) if len(now) == len(beside) else 0)


def _failures(earlier: Sequence[Made], one: Made) -> int:
    row = list(takewhile(lambda other: other.call.name == one.call.name and _failed(other), reversed(earlier)))
    return len(list(takewhile(lambda other: equal(came(other), came(row[0])), row)))


def came(made: Made) -> Any:
    """What its last execution brought; one without an end brought nothing, each time alike."""
    last = made.ran[-1]
    return [last.value, dict(last.error) if last.error is not None else None, last.end_seq is None]


def _failed(made: Made) -> bool:
    return made.ran[-1].error is not None or made.ran[-1].end_seq is None


def spendings(run: Run) -> tuple[tuple[Call, int], ...]:
    """Each call whose model reported usage, side calls and attempts too, with the tokens of the run so far."""
    total, found = 0, []
    for call in run.calls:
        if call.reply is not None and call.reply.complete and call.reply.usage is not None:
            total += sum(call.reply.usage.values())
            found.append((call, total))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Stop:
    """A guard that had to end a run, or did: its setting and figure, and the record behind which the loop did not go on."""

    setting: Setting
    figure: int
    seq: int


#: Caps on calls, whose breach is a call that does not run.
CAPS: tuple[Setting, ...] = ("max_tool_calls", "max_same_call")
SETTINGS: tuple[Setting, ...] = (*CAPS, "token_budget")


def goes_on(run: Run, seq: int) -> Call | None:
    """The loop's first request behind a record. A closing summary is none: it begins no round."""
    return next((call for call in run.calls if call.seq > seq and call.role in ("regular", "retry")), None)


def may_be_kept(call: Call, view: View) -> bool:
    """Whether a cap may keep one of a reply's calls from running, however the agent counts."""
    return any(
        (cap := figure(setting, run, view)) is not None and step.may_be_beyond(setting, cap)
        for run in view.runs
        if run.id == call.run
        for step in steps(run, view)
        if step.made.by.id == call.id
        for setting in CAPS
    )


def kept(run: Run, view: View, excused: Callable[[Step], bool] = lambda _: False) -> Stop | None:
    """The first call that a cap may forbid, where it did not run; `excused` says that something else kept it back."""
    for step in steps(run, view):
        for setting in CAPS:
            cap = figure(setting, run, view)
            if cap is not None and step.may_be_beyond(setting, cap):
                skipped = step.made.by.round == run.max_iters and may_skip_its_last(run, view.dialect)
                held = not (step.made.ran or skipped or excused(step))
                return Stop(setting, cap, step.made.by.end_seq) if held else None
    return None


def over_budget(run: Run, view: View) -> Stop | None:
    """Where the run's calls had spent more than its budget; None where they never did."""
    budget = figure("token_budget", run, view)
    if budget is None:
        return None
    beyond = next((call for call, total in spendings(run) if total > budget), None)
    return None if beyond is None else Stop("token_budget", budget, beyond.end_seq)


def stopped(run: Run, view: View, excused: Callable[[Step], bool] = lambda _: False) -> Stop | None:
    """The guard behind which the loop did not go on, where its dialect lets it end a run. Whether it was told so is GRD-4's."""
    caps = kept(run, view, excused) if view.dialect.on_guard == "stop" else None
    found = [one for one in (caps, over_budget(run, view)) if one is not None and goes_on(run, one.seq) is None]
    return found[0] if found else None
