"""The reference loop, and one that believes broken streams, with an official SDK to their model; served as `command:` agents."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from over_sdks import SDKS, Way, streamed, whole

from conformance.agent_side import Bench, InProcessAgent, RunInput
from conformance.reference import reference
from conformance.reference.faults.replies import whole_however_it_ended
from fake_models.wire import CODECS


class Session:
    """The wire is told with the first run, so the loop is opened then."""

    def __init__(self, loop: InProcessAgent, bench: Bench) -> None:
        self._agent, self._bench = loop, bench
        self._loop: Any = None

    def run(self, given: RunInput) -> Iterator[Any]:
        """One run of the reference."""
        if self._loop is None:
            self._loop = self._agent.open(over(self._bench, given))
        return self._loop.run(given)


def over(bench: Bench, given: RunInput) -> Bench:
    """The bench with its model behind the SDK of the run's wire."""
    ask, way = SDKS[given.model["wire"]], Way(given.model["base_url"], given.model["api_key"])
    return replace(bench, model=partial(whole, ask, way), stream_model=partial(streamed, ask, way))


def _over_sdks(loop: InProcessAgent) -> InProcessAgent:
    wires = tuple(wire for wire in SDKS if wire in CODECS)
    info = replace(loop.info, name="reference over SDKs", profile=None, wires=wires)
    return InProcessAgent(info, partial(Session, loop))


AGENT = _over_sdks(reference())
BELIEVES_BROKEN_STREAMS = _over_sdks(reference(bench=whole_however_it_ended))
