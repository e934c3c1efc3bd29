"""Clauses about what an agent declares never to do: they do not bind it, unless its recording shows that it did."""

from collections.abc import Callable

from conformance.reading.view import View
from conformance.rule import Check


def unless_seen(check: Check, never: Callable[[View], bool]) -> Callable[[View], str | None]:
    """An `applies` for a rule of this check; `never` reads the declaration."""
    return lambda view: "dialect" if never(view) and next(check(view), None) is None else None


def never_recovers(view: View) -> bool:
    """Nothing that goes wrong with a reply is asked for again."""
    said = view.dialect
    return (
        said.http_retry == "none" and not said.empty_retries and not said.compactions and said.length_stop != "continue"
    )
