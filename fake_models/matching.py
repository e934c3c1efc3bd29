"""The `when:` of a turn against a request: does it fit, and if not, which condition failed. Searches nothing, plays nothing."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from fake_models.messages import ModelRequest, World

CallClass = Literal["regular", "summary", "retry", "attempt", "compaction", "auxiliary"]


@dataclass(frozen=True, slots=True)
class When:
    """
    Conditions on a request; all that are not None must hold.

    `tools`: `offered` (some tool can be called), `none` (none can: key absent, empty list, or choice none), or the exact
    names offered. `last` is the role of the last message, `text` is contained in it. `round` counts from 1. `call` is the
    class the host gives the request.
    """

    tools: Literal["offered", "none"] | tuple[str, ...] | None = None
    last: str | None = None
    text: str | None = None
    round: int | None = None
    call: CallClass | None = None
    stream: bool | None = None


@dataclass(frozen=True, slots=True)
class Condition:
    """One key of `when:`: what the request has there, whether that is what was wanted, and how a miss is worded."""

    key: str
    came: Callable[[ModelRequest, World], Any]
    holds: Callable[[Any, Any], bool]
    says: str


def _tools_hold(wanted: Any, came: Any) -> bool:
    match wanted:
        case "offered":
            return bool(came)
        case "none":
            return not came
        case _:
            return sorted(wanted) == sorted(came)


def _equal(wanted: Any, came: Any) -> bool:
    return bool(wanted == came)


def _last_role(request: ModelRequest, _: World) -> str | None:
    return request.messages[-1].role if request.messages else None


def _last_text(request: ModelRequest, _: World) -> str | None:
    return request.messages[-1].content if request.messages else None


#: In the order in which a miss is looked for: what tells most about the request first.
CONDITIONS = (
    Condition("call", lambda _, world: world.call, _equal, "this is a call of class"),
    Condition("round", lambda _, world: world.round, _equal, "this is round"),
    Condition("tools", lambda request, _: list(request.callable_tools), _tools_hold, "the request offers"),
    Condition("last", _last_role, _equal, "the last message has role"),
    Condition("text", _last_text, lambda wanted, came: wanted in (came or ""), "the last message says"),
    Condition("stream", lambda request, _: request.stream, _equal, "the request has stream"),
)


def when(data: Mapping[str, Any]) -> When:
    """Conditions as scenarios and dialects write them, from JSON; unknown keys are a TypeError."""
    fields: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in data.items()}
    return When(**fields)


def misfit(wanted: When | None, request: ModelRequest, world: World) -> str | None:
    """None if the request fits; else one sentence that names the condition that failed, what it wanted and what came."""
    if wanted is None:
        return None
    for condition in CONDITIONS:
        want = getattr(wanted, condition.key)
        if want is None:
            continue
        came = condition.came(request, world)
        if not condition.holds(want, came):
            want = list(want) if isinstance(want, tuple) else want
            return f"when.{condition.key}: wanted {want!r}, but {condition.says} {came!r}"
    return None
