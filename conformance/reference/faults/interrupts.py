"""Faults of a run that its caller cancels: what it leaves behind, how it ends, what it still does."""
# ruff: noqa: D103 - the table of mutants says each fault in a sentence

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from conformance.agent_side import Outcome
from conformance.reference.acting import Refused
from conformance.reference.calling import act
from conformance.reference.hearing import Said
from conformance.reference.history import Message
from conformance.reference.run import Ending, Run, Session, Shown, Waiting
from conformance.reference.sessions import entered
from conformance.reference.steps import Execution, Steps


@dataclass(slots=True)
class _Seen:
    """The calls that a run has shown, with as much of their arguments as came."""

    names: dict[str, str] = field(default_factory=dict)
    arguments: dict[str, str] = field(default_factory=dict)

    def see(self, event: Mapping[str, Any]) -> None:
        if event["type"] == "TOOL_CALL_START":
            self.names[event["toolCallId"]] = event["toolCallName"]
        elif event["type"] == "TOOL_CALL_ARGS":
            self.arguments[event["toolCallId"]] = self.arguments.get(event["toolCallId"], "") + event["delta"]

    def message(self, spelled: Callable[[str], str]) -> Message:
        calls = [
            {
                "id": one,
                "type": "function",
                "function": {"name": name, "arguments": spelled(self.arguments.get(one, ""))},
            }
            for one, name in self.names.items()
        ]
        return {"role": "assistant", "content": None, "tool_calls": calls}


def left_behind(spelled: Callable[[str], str], *behind: Message) -> Callable[[Run], Shown]:
    """A cancelled run leaves the calls that it has shown in the history, with these messages behind them."""

    def shown(run: Run) -> Shown:
        seen = _Seen()

        def show(item: Any) -> Iterable[Any]:
            if isinstance(item, dict):
                seen.see(item)
            elif isinstance(item, Outcome) and item.kind == "interrupted" and seen.names:
                known = any(message.get("tool_calls") for message in run.session.messages)
                run.session.messages += [] if known else [seen.message(spelled), *behind]
            return (item,)

        return show

    return shown


half_spelled_calls_stay = left_behind(lambda text: text[: len(text) // 2] or "{")
open_calls_stay = left_behind(
    lambda text: text if _whole(text) else "{}",
    {"role": "assistant", "content": "I was interrupted and will go on from here."},
)


def _whole(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


def only_what_finished_is_answered(run: Run, ending: Ending) -> Ending:
    if ending.kind == "interrupted":
        run.session.messages[:] = [one for one in run.session.messages if not _never_ran(one)]
    return ending


def _never_ran(message: Message) -> bool:
    return message["role"] == "tool" and "cancelled before this call" in message["content"]


def no_result_is_kept(run: Run, ending: Ending) -> Ending:
    if ending.kind == "interrupted":
        while run.session.messages[-1]["role"] == "tool":
            run.session.messages.pop()
    return ending


def the_round_is_forgotten(run: Run, ending: Ending) -> Ending:
    if ending.kind == "interrupted" and run.session.messages[-1]["role"] == "tool":
        no_result_is_kept(run, ending)
        run.session.messages.pop()
    return ending


def told_as_an_answer(_run: Run, ending: Ending) -> Ending:
    return Ending("answered", "finished", text="") if ending.kind == "interrupted" else ending


def told_as_an_error(_run: Run, ending: Ending) -> Ending:
    return replace(ending, kind="error", terminal="error") if ending.kind == "interrupted" else ending


class _Deaf(set[str]):
    """Takes nothing in."""

    def add(self, _run: str) -> None:
        """Hear of a wish to end, and forget it."""


def deaf_sessions() -> Callable[[], Session]:
    """What opens sessions that do not hear of a wish to end."""
    return lambda: Session(cancelled=_Deaf())


def the_rest_runs_later(run: Run, said: Said) -> Steps[Ending | None]:
    """What had not begun is kept for the next run."""
    return (yield from _again_later(run, said, lambda text: "cancelled before this call" in text))


def the_round_runs_again(run: Run, said: Said) -> Steps[Ending | None]:
    """The whole reply is kept for the next run, with what was done already."""
    return (yield from _again_later(run, said, lambda _text: True))


def _again_later(run: Run, said: Said, again: Callable[[str], bool]) -> Steps[Ending | None]:
    ending = yield from act(run, said)
    if ending is None or ending.kind != "interrupted":
        return ending
    results = [run.session.messages.pop()["content"] for _ in said.calls][::-1]
    run.session.messages.pop()
    checked = [run.parts.checked(call, run.tools, run.dialect.extra_args) for call in said.calls]
    run.session.waiting = Waiting(said, tuple(_plan(checked, results, again)), frozenset())
    return ending


def _plan(
    checked: Sequence[Execution | Refused], results: Sequence[str], again: Callable[[str], bool]
) -> Iterable[Execution | Refused]:
    for one, text in zip(checked, results, strict=True):
        yield one if again(text) else Refused("answer", text)


def a_cancelled_session_is_closed(session: Session, run: str) -> bool:
    return entered(session, run) if not session.cancelled else False
