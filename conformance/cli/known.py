"""What `--baseline` names: a file of the failures that are known."""

from collections.abc import Iterable
from pathlib import Path

from conformance.baseline import Known
from conformance.baseline_file import Vocabulary, read
from conformance.errors import LoadError, Problem
from conformance.loading.loader import bundled, read_text
from conformance.rules import BY_ID
from conformance.runner import Cell
from fake_models.chunking import CHUNKINGS

#: Every cell that an agent can be played in.
CELLS = tuple(cell.name for cell in (Cell(), *(Cell(stream=True, chunking=name) for name in CHUNKINGS)))


def known(name: str, played: Iterable[str]) -> tuple[Known, ...]:
    """
    The entries of this file. They may speak of the kit's scenarios and of those that are `played`, which are other people's.

    Raises:
        LoadError: the file cannot be read, or an entry has a problem.
    """
    path = Path(name)
    if not path.is_file():
        message = (
            f"--baseline {name!r}: there is no such file; begin with an empty one, and the report says what to list"
        )
        raise LoadError([Problem((), message)])
    scenarios = {one.stem for one in bundled()} | set(played)
    return read(read_text(path), name, Vocabulary(scenarios, BY_ID, CELLS))
