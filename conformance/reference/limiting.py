"""The round budget: how many rounds a run may have, and what happens when they are used up."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace

from conformance.agent_side import RunInput
from conformance.dialect import Dialect
from conformance.reference import events
from conformance.reference.asking import SPOKEN, ask
from conformance.reference.ending import TERMINALS, by_failure, final_text
from conformance.reference.failing import Failure
from conformance.reference.hearing import Said
from conformance.reference.history import said_message
from conformance.reference.recovering import compact
from conformance.reference.run import Ending, Run, Session
from conformance.reference.steps import Steps

LOG = logging.getLogger("conformance.reference")


def limit(given: RunInput, dialect: Dialect) -> int | None:
    """How many rounds a run may have, None for any number. A caller's 0 is zero."""
    allowed = given.limits.get("max_iters")
    if allowed is None:
        allowed = dialect.default_max_iters
    return allowed if isinstance(allowed, int) else None


def rounds_before(_session: Session) -> int:
    """What a run's count of rounds begins with, whatever the session did before."""
    return 0


def may_begin(rounds: int, allowed: int | None) -> bool:
    """Whether one more round may begin after so many."""
    return allowed is None or rounds < allowed


def log_limit(run: Run) -> None:
    """An ordinary limit is no warning: whoever set it asked for this."""
    LOG.debug("reached max_iters=%d after %d rounds, no further round begins", run.limit, run.rounds)


def at_the_limit(run: Run) -> Steps[Ending]:
    """The budget is used up: say so in the log, then to the user, then give them the text that the dialect promises."""
    dialect, limit = run.dialect, run.limit or 0
    run.parts.log_limit(run)
    if dialect.limit_terminal == "finished":
        yield events.limit_marker(dialect.limit_marker, limit, run.rounds, run.bench.now())
    ending = Ending(
        "limit",
        TERMINALS[dialect.limit_terminal],
        f"max_iters={limit} was reached after {run.rounds} rounds",
        facts={"maxIters": limit, "currentIter": run.rounds},
    )
    return (yield from LIMIT_TEXTS[dialect.limit_text](run, ending))


def _summarised(run: Run, ending: Ending) -> Steps[Ending]:
    body = run.parts.summary_body(run)
    if run.parts.too_large(run, body) and (yield from compact(run)):
        body = run.parts.summary_body(run)
    heard = yield from ask(run, body, shown=SPOKEN)
    if isinstance(heard, Failure) and (end := by_failure(heard)) is not None:
        return end
    text = run.parts.summary_text(heard)
    if text is not None and isinstance(heard, Said):
        run.session.messages.append(said_message(replace(heard, text=text, calls=())))
        run.texts.append(text)
        return replace(ending, text=final_text(run, text))
    cause = (
        heard.cause if isinstance(heard, Failure) else "the reply was a call" if heard.calls else "the reply was empty"
    )
    broken = replace(ending, reason=f"{ending.reason}; the summary failed: {cause}")
    if run.dialect.summary_failure == "error":
        return replace(broken, terminal="error")
    return (yield from _told(run, broken, f"{_canned(run)} The summary failed: {cause}. {_last_result(run)}".strip()))


def summary_text(heard: Said | Failure) -> str | None:
    """What a call that must answer in words said, None where it failed, said nothing or asked for a tool."""
    if isinstance(heard, Failure) or heard.calls or not heard.text.strip():
        return None
    return heard.text


def _canned_text(run: Run, ending: Ending) -> Steps[Ending]:
    return _told(run, ending, _canned(run))


def _last_result_text(run: Run, ending: Ending) -> Steps[Ending]:
    return _told(run, ending, run.last_result or _canned(run))


def _no_text(_run: Run, ending: Ending) -> Steps[Ending]:
    yield from ()  # asks for nothing
    return ending


LIMIT_TEXTS: Mapping[str, Callable[[Run, Ending], Steps[Ending]]] = {
    "model": _summarised,
    "canned": _canned_text,
    "last_result": _last_result_text,
    "none": _no_text,
}


def _told(run: Run, ending: Ending, text: str) -> Steps[Ending]:
    """The loop's own words to the user, as a message and in the history."""
    yield from events.message("text", run.message_id(), text)
    run.session.messages.append({"role": "assistant", "content": text})
    run.texts.append(text)
    return replace(ending, text=final_text(run, text))


def _canned(run: Run) -> str:
    return f"The limit of {run.limit or 0} rounds was reached before there was an answer."


def _last_result(run: Run) -> str:
    return "" if run.last_result is None else f"The last result was: {run.last_result}"
