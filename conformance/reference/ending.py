"""How a run of the reference ends: the exceptions it may end by, its terminal event, and the outcome, which comes last."""

from collections.abc import Mapping

from conformance.agent_side import Outcome
from conformance.reference import events
from conformance.reference.failing import Failure
from conformance.reference.run import Ending, Run, Terminal
from conformance.reference.steps import Steps


class LimitReached(Exception):  # noqa: N818 - named as what happened
    """The round budget is used up and the dialect asks for an exception."""


class Unverified(Exception):  # noqa: N818 - named as what happened
    """The round budget is used up, the gate still misses something, and the dialect asks for an exception."""


class ModelFailed(Exception):  # noqa: N818 - named as what happened
    """The model failed for good and the dialect asks for an exception."""


class ToolCallFailed(Exception):  # noqa: N818 - named as what happened
    """A tool call failed and the dialect asks for an exception."""


class ListenerFailed(Exception):  # noqa: N818 - named as what happened
    """A hook of the caller's raised and the dialect lets that through."""


RAISED: Mapping[str, type[Exception]] = {
    "limit": LimitReached,
    "unverified": Unverified,
    "model_error": ModelFailed,
    "tool_error": ToolCallFailed,
    "error": ListenerFailed,
}
#: A dialect's word for how a run ends, as a terminal.
TERMINALS: Mapping[str, Terminal] = {"finished": "finished", "flagged": "flagged", "error": "error", "raise": "raise"}
#: The caller wanted the run to end.
CANCELLED = Ending("interrupted", "cancelled", "the run was cancelled")


def by_failure(failure: Failure) -> Ending | None:
    """The end that a call brings which was given up for a reason that is not the model's; None for one that is."""
    match failure.kind:
        case "cancelled":
            return CANCELLED
        case "stopped":
            return Ending("guard", "error", failure.cause)
        case "hook":
            return Ending("error", "raise", failure.cause)
        case _:
            return None


def finish(run: Run, ending: Ending) -> Steps[None]:
    """Tell the ending, by the terminal it asks for, and the outcome last."""
    reason = ending.reason or ending.kind
    usage = _usage(run)
    match ending.terminal:
        case "raise":
            raise RAISED[ending.kind](reason)
        case "error":
            yield events.run_error(reason, ending.kind, usage=usage)
        case "flagged":
            yield events.run_finished(run.thread, run.id, result={"outcome": ending.kind, **ending.facts}, usage=usage)
        case "cancelled":
            yield events.run_finished(run.thread, run.id, outcome={"type": "cancelled"}, usage=usage)
        case "interrupt":
            outcome = {"type": "interrupt", **ending.facts}
            yield events.run_finished(run.thread, run.id, outcome=outcome, usage=usage)
        case "finished":
            yield events.run_finished(run.thread, run.id, usage=usage)
    yield Outcome(ending.kind, ending.reason, ending.text)


def final_text(run: Run, last: str) -> str:
    """What the user gets to read of a run whose last words are these."""
    return "\n".join(run.texts) if run.dialect.final_text == "all_text" else last


def _usage(run: Run) -> list[dict[str, int]] | None:
    """The run's total where it is told at the end, None where it is not or nothing was reported."""
    if run.dialect.usage_events != "per_run" or not run.spent:
        return None
    return [{key: sum(spent[key] for spent in run.spent) for key in ("inputTokens", "outputTokens")}]
