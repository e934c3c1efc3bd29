"""What a scenario predicts for an agent, beside what came. Pure; says nothing of what an agent owes, see rule EXPECT."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from conformance.dialect import BY_NAME
from conformance.reading.guarding import SETTINGS
from conformance.reading.outcome import claimed, final_text, marker_payload, markers
from conformance.reading.own_logs import own_logs
from conformance.reading.round_limit import numbers
from conformance.reading.usage_reports import call_reports, totals
from conformance.reading.view import Run, View, executed
from conformance.scenario import Expect

#: Levels that are counted under another one's name.
_LEVELS = {"WARN": "WARNING", "CRITICAL": "ERROR", "FATAL": "ERROR"}


@dataclass(frozen=True, slots=True)
class Prediction:
    """
    One prediction that was judged.

    `where` is the run's id, or `scenario` for one over all runs. `seq` is the last record of the run it is about.
    """

    where: str
    key: str
    predicted: Any
    came: Any
    seq: int

    @property
    def holds(self) -> bool:
        """Whether what came is what was predicted."""
        return bool(self.predicted == self.came)


def block(blocks: Sequence[Expect], view: View) -> Expect | None:
    """The first block that is for this agent, the only one used; None: no prediction."""
    return next((one for one in blocks if all(_is(key, value, view) for key, value in one.when.items())), None)


def _is(key: str, wanted: Any, view: View) -> bool:
    if key == "profile":
        return view.profile in (wanted if isinstance(wanted, list) else [wanted])
    if key not in BY_NAME:
        return (view.has(key) and (key != "guards" or _guards_what_is_set(view))) is wanted
    has = view.dialect.data()[key]
    return bool(has == wanted) or (isinstance(wanted, list) and any(has == one for one in wanted))


def _guards_what_is_set(view: View) -> bool:
    """Whether the agent declares a guard of each kind that the scenario sets: one that only counts calls knows nothing of tokens."""
    declared = view.capabilities.get("guards")
    asked = {
        setting for spec in view.scenario.runs for setting in SETTINGS if getattr(spec.limits, setting) is not None
    }
    return not isinstance(declared, Mapping) or asked <= declared.keys()


def predictions(view: View) -> Iterator[Prediction]:
    """
    Every prediction of the blocks that fit, on channels that are declared, run by run and then over all.

    None where the wire could not say what the script says: what the scenario predicts speaks of that.
    """
    if _altered(view) - {"usage"}:
        return
    for run in view.runs:
        if run.spec is not None:
            yield from _compared(block(run.spec.expect, view), run.id, (run,), view)
    if view.runs:
        yield from _compared(block(view.scenario.expect, view), "scenario", view.runs, view)


def _altered(view: View) -> set[str]:
    return {what for run in view.runs for call in run.calls if call.reply is not None for what in call.reply.altered}


def _compared(chosen: Expect | None, where: str, runs: Sequence[Run], view: View) -> Iterator[Prediction]:
    for key, predicted in chosen.predictions.items() if chosen else ():
        fact = FACTS[key]
        if fact.judged(view):
            wanted = fact.wanted(predicted)
            yield Prediction(where, key, wanted, fact.came(runs, view, predicted), runs[-1].end_seq)


@dataclass(frozen=True, slots=True)
class Fact:
    """What a prediction is about: how it is read off one or all runs, given what was predicted, and when it may be judged."""

    came: Callable[[Sequence[Run], View, Any], Any]
    judged: Callable[[View], bool]
    wanted: Callable[[Any], Any] = lambda predicted: predicted


def _on(*channels: str) -> Callable[[View], bool]:
    """Any one of these channels will do."""
    return lambda view: bool(view.channels & set(channels))


def _calls(*kinds: str) -> Fact:
    def count(runs: Sequence[Run], _view: View, _predicted: Any) -> int:
        return sum(call.kind in kinds for run in runs for call in run.calls)

    return Fact(count, _on("M"))


def _rounds(runs: Sequence[Run], _view: View, _predicted: Any) -> int:
    return sum(run.rounds for run in runs)


def _terminal(runs: Sequence[Run], _view: View, _predicted: Any) -> str | None:
    last = runs[-1].terminal
    return last.type if last is not None else None


def _outcome(runs: Sequence[Run], view: View, predicted: Any) -> Any:
    claim = claimed(runs[-1], view)
    # RUN_ERROR has no field for the kind: one that gives none in its code says no more than that this is no answer.
    if claim is not None and (claim.kind, claim.by) == ("error", "E") and predicted != "answered":
        return predicted
    return claim.kind if claim is not None else None


def _tools_run(runs: Sequence[Run], view: View, _predicted: Any) -> list[str]:
    return [x.tool for x in sorted((x for run in runs for x in executed(run, view)), key=lambda x: x.seq)]


def _text(runs: Sequence[Run], view: View, _predicted: Any) -> str | None:
    return _trimmed(final_text(runs[-1], view))


def _trimmed(text: str | None) -> str | None:
    """A blank text is none: the user reads nothing."""
    return (text or "").strip() or None


def _events(runs: Sequence[Run], _view: View, _predicted: Any) -> int:
    return sum(len(run.events) + len(run.strays) for run in runs)


def _countable(view: View) -> bool:
    whole = view.recording.header.cell.get("chunking") == "whole"
    return "E" in view.channels and view.profile == "reference" and whole and "usage" not in _altered(view)


def _usage_reports(runs: Sequence[Run], view: View, _predicted: Any) -> int:
    if view.dialect.usage_events == "per_run":
        return sum(totals(run) is not None for run in runs)
    return sum(len(call_reports(run)) for run in runs)


def _reports_usage(view: View) -> bool:
    return "U" in view.channels and view.dialect.usage_events != "none" and "usage" not in _altered(view)


def _marker(runs: Sequence[Run], view: View, predicted: Any) -> bool | int | None:
    found = [event for run in runs for event in markers(run, view.dialect)]
    if isinstance(predicted, bool):
        return bool(found)
    shown = [number for event in found for number in numbers(marker_payload(event))]
    # A marker carries the round it stands at as well; what is missing is told by what there is.
    return predicted if predicted in shown else next((int(number) for number in shown), None)


def _log(runs: Sequence[Run], _view: View, predicted: Any) -> dict[str, int]:
    levels = [
        _LEVELS.get(level := str(record.data.get("level")).upper(), level) for run in runs for record in own_logs(run)
    ]
    return {level: levels.count(level) for level in predicted}


#: What each key of an `expect` block is about.
FACTS: Mapping[str, Fact] = MappingProxyType(
    {
        "terminal": Fact(_terminal, _on("E")),
        "outcome": Fact(_outcome, _on("E", "R")),
        "model_calls": _calls("regular", "retry", "summary", "compaction"),
        "regular_calls": Fact(_rounds, _on("M")),
        "retries": _calls("retry"),
        "compactions": _calls("compaction"),
        "attempts": _calls("attempt"),
        "tools_run": Fact(_tools_run, _on("T")),
        "text": Fact(_text, _on("E", "R"), _trimmed),
        "events": Fact(_events, _countable),
        "usage_reports": Fact(_usage_reports, _reports_usage),
        "marker": Fact(_marker, _on("E")),
        "log": Fact(_log, _on("L")),
    }
)
