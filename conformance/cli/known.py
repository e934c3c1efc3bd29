"""What `--baseline` names: a file of the failures that are known."""

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from conformance.baseline import Known
from conformance.baseline_file import Vocabulary, read
from conformance.cell import Cell, is_cell
from conformance.errors import LoadError, Problem
from conformance.loading.loader import bundled, read_text
from conformance.rules import BY_ID


class _Cells(Collection[str]):
    """Every name that a cell can have; the usual ones are those that a slip is guessed to mean."""

    _usual = (Cell().name, Cell(stream=True).name)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and is_cell(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._usual)

    def __len__(self) -> int:
        return len(self._usual)


CELLS = _Cells()


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
