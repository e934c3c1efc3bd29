"""Watches a run from outside: whether it ends by itself, or has to be ended. Reads no clock but the event loop's."""

import asyncio
from collections.abc import Callable

from conformance.adapters.base import How

#: Most records of one run, whatever they are of; a run that goes on logging or calling tools ends there.
MAX_RECORDS = 20_000
#: How long a run may take in all, in deadlines.
TOTAL_DEADLINES = 10
#: How often silence is looked at, per deadline.
LOOKS = 10


async def ends(
    done: asyncio.Future[How], seen: Callable[[], int], deadline_s: float, overrun: Callable[[], bool]
) -> How | None:
    """None once the run is done; else how it has to be ended: after a deadline of silence, the total time or its cap."""
    first = before = seen()
    quiet = 0
    for _ in range(TOTAL_DEADLINES * LOOKS):
        await asyncio.wait({done}, timeout=deadline_s / LOOKS)
        if done.done():
            return None
        now = seen()
        if overrun() or now - first > MAX_RECORDS:
            return "cap"
        quiet = quiet + 1 if now == before else 0
        before = now
        if quiet >= LOOKS:
            return "hung"
    return "hung"
