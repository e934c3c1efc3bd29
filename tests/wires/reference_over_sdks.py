"""The reference loop with an official SDK between it and its model, one per wire; served as a `command:` agent."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from over_sdks import SDKS, Way, streamed, whole

from conformance.agent_side import Bench, InProcessAgent, RunInput
from conformance.reference import reference
from fake_models.wire import CODECS

HONEST = reference()


class Session:
    """The wire is told with the first run, so the loop is opened then."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._loop: Any = None

    def run(self, given: RunInput) -> Iterator[Any]:
        """One run of the reference."""
        if self._loop is None:
            self._loop = HONEST.open(over(self._bench, given))
        return self._loop.run(given)


def over(bench: Bench, given: RunInput) -> Bench:
    """The bench with its model behind the SDK of the run's wire."""
    ask, way = SDKS[given.model["wire"]], Way(given.model["base_url"], given.model["api_key"])
    return replace(bench, model=partial(whole, ask, way), stream_model=partial(streamed, ask, way))


AGENT = InProcessAgent(
    replace(
        HONEST.info, name="reference over SDKs", profile=None, wires=tuple(wire for wire in SDKS if wire in CODECS)
    ),
    Session,
)
