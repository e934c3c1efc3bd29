"""The cells a scenario is played in: wire, streamed or not, and how a stream is cut. Pure; plays nothing."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from conformance.agent_side import AgentInfo
from conformance.errors import SpecError, guess
from conformance.recording import Header
from fake_models.chunking import NAMES, chunking
from fake_models.wire import CODECS

#: The wire that a cell's name leaves out.
USUAL_WIRE = "openai_chat"
#: What `--wire` calls every wire that the agent speaks, and `--chunking` every chunking without a seed.
ALL = "all"
#: Most plays of one command, which take minutes in this process and hours in another: more were asked for by mistake.
MOST_PLAYS = 20_000

_NAME = re.compile(r"(?:(?P<wire>[a-z_]+)/)?(?:(?P<blocking>blocking)|streaming/(?P<chunking>[a-z]+(?::\d+)?))")


@dataclass(frozen=True, slots=True)
class Cell:
    """One way to play a scenario. `chunking` speaks of streamed replies alone."""

    stream: bool = False
    chunking: str = "whole"
    wire: str = USUAL_WIRE

    @property
    def name(self) -> str:
        """As reports and baselines call it."""
        played = f"streaming/{self.chunking}" if self.stream else "blocking"
        return played if self.wire == USUAL_WIRE else f"{self.wire}/{played}"

    @property
    def data(self) -> dict[str, Any]:
        """As a recording's header has it, which keeps the wire beside it."""
        return {"stream": self.stream, "chunking": self.chunking}


def cell_of(head: Header) -> Cell:
    """The cell that a recording was made in; a TypeError where the header's has other keys."""
    return Cell(**head.cell, wire=head.wire)


def is_cell(name: str) -> bool:
    """Whether a cell could have this name."""
    found = _NAME.fullmatch(name)
    return found is not None and (found["wire"] is None or found["wire"] in CODECS)


def cells_of(info: AgentInfo, wires: Sequence[str] = (), chunkings: Sequence[str] = ()) -> tuple[Cell, ...]:
    """
    The cells an agent is played in: on each wire blocking, and streaming in each chunking where it declares that.

    Without `wires` its first one is played, and without `chunkings` whole chunks. `all` among either stands for each.

    Raises:
        SpecError: the agent does not speak such a wire, there is no such chunking, or no stream that it could cut.
    """
    chunkings = tuple(dict.fromkeys(one for name in chunkings for one in (NAMES[:-1] if name == ALL else (name,))))
    for name in chunkings:
        try:
            chunking(name)
        except ValueError as error:
            raise SpecError(f"--chunking: {error}") from error
    if chunkings and not info.capabilities.get("streaming"):
        raise SpecError(
            f"agent {info.name!r} does not declare `streaming`, so that no cell is streamed and --chunking changes nothing; "
            "leave it out, or declare the capability"
        )
    for one in wires:
        if one != ALL and one not in info.wires:
            spoken = ", ".join(info.wires)
            raise SpecError(
                f"--wire {one!r}: agent {info.name!r} speaks {spoken}{guess(one, (*info.wires, ALL))}; 'all' plays each of them"
            )
    played = info.wires if ALL in wires else tuple(dict.fromkeys(wires)) or info.wires[:1]
    streams = (chunkings or ("whole",)) if info.capabilities.get("streaming") else ()
    return tuple(
        cell
        for wire in played
        for cell in (Cell(wire=wire), *(Cell(stream=True, chunking=one, wire=wire) for one in streams))
    )


def bounded(cells: Sequence[Cell], scenarios: int, repeat: int) -> Sequence[Cell]:
    """
    The same cells, where so many scenarios can be played in them.

    Raises:
        SpecError: the plays would be more than `MOST_PLAYS`.
    """
    plays = scenarios * len(cells) * repeat
    if plays > MOST_PLAYS:
        raise SpecError(
            f"{plays} plays were asked for ({scenarios} scenarios x {len(cells)} cells x {repeat} repeats), and one command makes "
            f"{MOST_PLAYS} at most; name scenarios or a --tag, take fewer --wire and --chunking, or a smaller --repeat"
        )
    return cells
