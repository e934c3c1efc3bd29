"""The `when:` of a turn against a request: does it fit, and if not, which condition failed. Searches nothing, plays nothing."""

from dataclasses import dataclass
from typing import Literal

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
