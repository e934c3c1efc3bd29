"""The one order of scenarios and plays, whether they are played or read back: the kit's own first, as they stand in it."""

from collections.abc import Mapping
from functools import cache

from conformance.loading.loader import bundled
from conformance.recording import Header


def place(scenario: str) -> tuple[int, str]:
    """Where a scenario stands: by its place in the kit, and behind those by its id."""
    places = _places()
    return places.get(scenario, len(places)), scenario


def cell_place(head: Header) -> tuple[str, bool, str]:
    """Where a recording's cell stands: by wire, blocking first."""
    return head.wire, bool(head.cell.get("stream")), str(head.cell.get("chunking"))


@cache
def _places() -> Mapping[str, int]:
    return {path.stem: number for number, path in enumerate(bundled())}
