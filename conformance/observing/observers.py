"""
Which dialect a recording shows, key by key: the table of observers, and the declarations that do not fit.

A key that is not here stands in `unseen`, with the reason.

An observer yields what it saw, once per place, and nothing where the recording leaves a key open or where the behaviour is
simply a fault that another rule names: an observer never excuses one. It sees a view that was read under the declaration.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from conformance.observing import guards, limit, recovery, shown, tools
from conformance.observing.sighting import Observer, Sighting
from conformance.reading.view import View

OBSERVERS: Mapping[str, Observer] = MappingProxyType(
    {
        "limit_text": limit.limit_text,
        "limit_terminal": limit.limit_terminal,
        "limit_marker": limit.limit_marker,
        "marker_name": limit.marker_name,
        "summary_tools": limit.summary_tools,
        "summary_failure": limit.summary_failure,
        "default_max_iters": limit.default_max_iters,
        "last_round_tools": limit.last_round_tools,
        "retry_budget": limit.retry_budget,
        "empty_is": recovery.empty_is,
        "empty_response": recovery.empty_response,
        "prompt_too_long": recovery.prompt_too_long,
        "model_error": recovery.model_error,
        "http_retry": recovery.http_retry,
        "recovery_scope": recovery.recovery_scope,
        "length_stop": recovery.length_stop,
        "unknown_tool": tools.unknown_tool,
        "bad_arguments": tools.bad_arguments,
        "tool_exception": tools.tool_exception,
        "type_check": tools.type_check,
        "extra_args": tools.extra_args,
        "bad_ids": tools.bad_ids,
        "parallel_tools": tools.parallel_tools,
        "tool_history": tools.tool_history,
        "answer_by": shown.answer_by,
        "final_text": shown.final_text,
        "reasoning_events": shown.reasoning_events,
        "usage_events": shown.usage_events,
        "on_guard": guards.on_guard,
        "listener_errors": guards.listener_errors,
        "exceptions": shown.exceptions,
    }
)


def observe(view: View, key: str) -> Sighting | None:
    """
    What a recording shows of a key; None where it leaves it open.

    An agent that shows several values in one recording keeps to none: that is for the rules to name, so it stays open here.
    """
    seen = list(OBSERVERS[key](view))
    return seen[0] if seen and all(one.value == seen[0].value for one in seen) else None


def observed(view: View) -> Mapping[str, Sighting]:
    """What a recording shows, by key; looked at once per view."""
    return view.once(_observed)


def _observed(view: View) -> Mapping[str, Sighting]:
    return {key: seen for key in OBSERVERS if (seen := observe(view, key)) is not None}


def fit(view: View) -> dict[str, Any]:
    """The keys whose declaration does not fit a recording, each with the value that would. The view is read as declared."""
    return {key: seen.value for key, seen in observed(view).items() if seen.value != getattr(view.declared, key)}
