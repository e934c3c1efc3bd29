"""What a person was asked for and what was answered, call by call. Judges nothing."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from conformance.reading.pairing import arguments
from conformance.reading.tool_calls import Made, equal, tool_calls
from conformance.reading.view import Run, View
from conformance.resuming import waiting


@dataclass(frozen=True, slots=True)
class Asked:
    """An interrupt of a run that waits, and the call that it is about; None where it is about none that the model made."""

    run: Run
    id: str
    call_id: str | None
    made: Made | None
    seq: int


@dataclass(frozen=True, slots=True)
class Answer:
    """What a run was given as the answer to an interrupt. A user's text instead of one denies all that waited."""

    run: Run
    asked: Asked
    approved: bool
    value: Any
    spoken_over: bool = False


@dataclass(frozen=True)
class Approvals:
    """All interrupts of a recording and the answers to them, in order."""

    asked: tuple[Asked, ...]
    answers: tuple[Answer, ...]

    def answer_to(self, made: Made) -> Answer | None:
        """The first answer that a call got."""
        return next((one for one in self.answers if one.asked.made and one.asked.made.key == made.key), None)

    def of(self, run: Run) -> tuple[Answer, ...]:
        """The answers that a run was given."""
        return tuple(one for one in self.answers if one.run is run)


def needs_approval(made: Made) -> bool:
    """Whether a person has to allow the call: it is whole and right, and its tool says so."""
    return made.whole and made.flaw in (None, "extra") and made.tool is not None and made.tool.approval


def may_wait(run: Run, view: View) -> bool:
    """Whether a person may have to be asked in this run: the session's model called for something that needs it."""
    made = (one for one in tool_calls(view).made if one.run.session == run.session and one.seq < run.end_seq)
    return view.has("approval") and any(map(needs_approval, made))


def approvals(view: View) -> Approvals:
    """All of it, joined once per view."""
    return view.once(_joined)


def interrupts(run: Run) -> tuple[Mapping[str, Any], ...]:
    """The interrupts that a run ends with, as its events have them; each with the `tool` that it is about, where they say so."""
    return waiting([event.data for event in run.events])


def _joined(view: View) -> Approvals:
    asked: list[Asked] = []
    answers: list[Answer] = []
    for run in view.runs:
        open_ones = _open(run, view, asked)
        if run.resumes:
            answers += _given(run, open_ones)
        elif run.user is not None:
            answers += [Answer(run, one, approved=False, value=None, spoken_over=True) for one in open_ones]
        asked += _asked(run, view, {one.asked.made.key for one in answers if one.asked.made})
    return Approvals(tuple(asked), tuple(answers))


def _open(run: Run, view: View, asked: Sequence[Asked]) -> list[Asked]:
    before = view.before(run)
    return [one for one in asked if one.run is before]


def _given(run: Run, open_ones: Sequence[Asked]) -> Iterator[Answer]:
    left = list(open_ones)
    for entry in run.resumes:
        # Of interrupts under one id the answers go to one after the other: that is how the kit gave them.
        mine = next((one for one in left if one.id == entry.get("interruptId")), None)
        if mine is None:
            continue
        left.remove(mine)
        payload = entry.get("payload") or {}
        yield Answer(run, mine, approved=payload.get("approved") is True, value=payload.get("value"))


def _asked(run: Run, view: View, answered: set[tuple[str, int]]) -> list[Asked]:
    told = interrupts(run)
    if not told or run.terminal is None:
        return []
    free = [
        made
        for made in tool_calls(view).made
        if made.run.session == run.session
        and made.seq < run.end_seq
        and needs_approval(made)
        and made.key not in answered
    ]
    found = []
    for one in told:
        made = _about(one, free, run, view)
        if made is not None:
            free.remove(made)
        found.append(Asked(run, str(one["id"]), one.get("toolCallId"), made, run.terminal.seq))
    return found


def _about(interrupt: Mapping[str, Any], free: Sequence[Made], run: Run, view: View) -> Made | None:
    """The call of an interrupt: by the model's own id, else by what the call of that id was shown as, else the first of its tool."""
    call_id, tool = interrupt.get("toolCallId"), interrupt.get("tool")
    if call_id is None:
        return None
    by_id = next((one for one in reversed(free) if one.call.id == call_id), None)
    if by_id is not None:
        return by_id
    shown = [
        call
        for other in view.runs
        if other.session == run.session
        for call in other.shown.tool_calls
        if call.id == call_id
    ]
    same = (one for call in shown for one in free if _same(call.name, call.arguments, one))
    return next(same, next((one for one in free if one.call.name == tool), None))


def _same(name: str, given: str, made: Made) -> bool:
    return made.call.name == name and equal(arguments(given), made.arguments)
