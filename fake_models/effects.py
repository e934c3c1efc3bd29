"""What a shell must do to deliver a reply, as values. A shell carries them out in order and decides nothing."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Head:
    """Send status and headers."""

    status: int
    headers: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Send:
    """Send these bytes of the body; after the `last` ones comes nothing more."""

    data: bytes
    last: bool = False


@dataclass(frozen=True, slots=True)
class Wait:
    """Let so much of the scenario's time pass. Infinity: stay silent until the client leaves."""

    delay_s: float


@dataclass(frozen=True, slots=True)
class Hangup:
    """End the connection here; `reset` aborts it, otherwise it closes cleanly although the reply is not whole."""

    reset: bool


class Until(Protocol):
    """Something that will have happened, or is waited for no longer."""

    def wait(self) -> None:
        """Block until then."""

    async def awaited(self) -> None:
        """Wait until then and let other tasks run."""


@dataclass(frozen=True, slots=True)
class Hold:
    """Send nothing more until then; no time of the scenario passes."""

    until: Until


@dataclass(frozen=True, slots=True)
class Reached:
    """All before this has left, and whoever wanted to know it is told. `delivery` does that; no shell sees it."""


Effect = Head | Send | Wait | Hangup | Hold | Reached
