"""What an agent did beyond what its outcome says, counted: attempts by layer, results that arrived, side effects. Judges nothing."""

from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass
from typing import Any

from conformance.reading.containment import carries
from conformance.reading.tool_calls import Calls, Made, said_in, tool_calls
from conformance.reading.view import Call, Execution, View
from fake_models.tools import Large


@dataclass(frozen=True, slots=True)
class Ledger:
    """
    Counts over one play, or over several.

    `attempts_sdk` are requests sent once more with a retry count in their header, as client libraries do, `attempts_loop` those
    sent once more without. `results` are executions that came to an end with a further request of the session behind
    them, `reached` those whose result stands in it. `effects` are side effects asked for or made, of tools that count them, `once`
    those made exactly once for their call.
    """

    attempts_sdk: int = 0
    attempts_loop: int = 0
    results: int = 0
    reached: int = 0
    effects: int = 0
    once: int = 0

    def data(self) -> dict[str, Any]:
        """As the report has it."""
        return {
            "attempts": {"sdk": self.attempts_sdk, "loop": self.attempts_loop},
            "results": {"reached": self.reached, "of": self.results},
            "side_effects": {"once": self.once, "of": self.effects},
        }


def total(ledgers: Iterable[Ledger]) -> Ledger:
    """All of them together."""
    columns = zip(*map(astuple, ledgers), strict=True)
    return Ledger(*map(sum, columns))


def ledger(view: View) -> Ledger:
    """One play's."""
    attempts = [bool(call.retry_header) for run in view.runs for call in run.calls if call.kind == "attempt"]
    arrived = list(_arrived(view))
    effects = list(_effects(view))
    return Ledger(
        attempts_sdk=sum(attempts),
        attempts_loop=len(attempts) - sum(attempts),
        results=len(arrived),
        reached=sum(arrived),
        effects=len(effects),
        once=sum(effects),
    )


def _arrived(view: View) -> Iterator[bool]:
    """For each execution that ended, whether the session's next request has what came of it; nothing where there was none."""
    calls = tool_calls(view)
    for execution in view.executions:
        made = calls.by_execution.get(execution.id)
        if execution.end_seq is None or (made is not None and not made.whole):
            continue
        following = _next(execution, view)
        if following is not None:
            yield made is not None and _carried(made, execution, following, calls, view)


def _next(execution: Execution, view: View) -> Call | None:
    session = next(run.session for run in view.runs if run.id == execution.run)
    later = [
        call
        for run in view.runs
        if run.session == session
        for call in run.main
        if call.seq > (execution.end_seq or execution.seq)
    ]
    return min(later, key=lambda call: call.seq, default=None)


def _carried(made: Made, execution: Execution, following: Call, calls: Calls, view: View) -> bool:
    if view.dialect.tool_history == "messages":
        carried = calls.carried(following, made.run.session).get(made.key)
        if carried is None or not (carried.results or carried.late):
            return False
        text = carried.content
    else:
        text = said_in(following)
    large = made.tool is not None and any(isinstance(one, Large) for one in made.tool.sequence)
    return execution.error is not None or large or not carries(text, execution.value)


def _effects(view: View) -> Iterator[bool]:
    """For each side effect that was asked for and made, or made though nobody asked, whether it was made exactly once."""
    counting = {name for name, tool in view.scenario.tools.items() if tool.counts}
    if not counting:
        return
    calls = tool_calls(view)
    for made in calls.made:
        if made.call.name in counting and made.ran:
            yield len(made.ran) == 1
    yield from (False for stray in calls.strays if stray.tool in counting and not (stray.error or {}).get("rejected"))
