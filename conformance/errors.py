"""
What can go wrong, by step of the journey.

1. A scenario file is read: `LoadError` (the author's doing; every problem has its place).
2. An agent is found and opened: `SpecError` (whoever named it), `AgentError` (the agent's).
3. It runs: nothing is raised, all that happens is recorded.
4. A recording is read back: `RecordingError` (the file's doing).

Every one of them ends a command with exit code 2 or 3 and one message, never with a traceback.
"""

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

#: The way to a value from the top of a document: keys and list indices.
Path = tuple[str | int, ...]


class ConformanceError(Exception):
    """Anything the kit reports as a message instead of a traceback."""


@dataclass(frozen=True, slots=True)
class Problem:
    """
    One thing that is wrong in a scenario file, and where.

    `path` leads to the value from the top of the document; `on_key` means the last key itself rather than its value. `file`,
    `line` and `column` (both from 1) are filled in by whoever knows the text; without them the path alone says where.
    """

    path: Path
    message: str
    on_key: bool = False
    file: str | None = None
    line: int | None = None
    column: int | None = None

    @property
    def where(self) -> str:
        """The path as authors write it: `runs[0].model[1].say`, "" for the whole document."""
        return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in self.path).removeprefix(".")

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.file, self.line, self.column) if part is not None)
        return ": ".join(part for part in (place, self.where, self.message) if part)


class LoadError(ConformanceError):
    """Scenarios that cannot be used: everything found wrong with them, in the order of the files."""

    def __init__(self, errors: Sequence[Problem]) -> None:
        self.errors = tuple(errors)
        super().__init__("\n".join(map(str, self.errors)))


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that was probably meant, None if none is near."""
    return next(iter(difflib.get_close_matches(word, list(known), n=1)), None)


def guess(word: str, known: Iterable[str], most: int | None = None) -> str:
    """How an error message about an unknown word ends: with the nearest known one, else with all of them, or the first so many."""
    known = sorted(known)
    if (near := nearest(word, known)) is not None:
        return f"; did you mean {near!r}?"
    more = f" and {len(known) - most} more" if most is not None and len(known) > most else ""
    return f"; known here: {', '.join(known[:most]) or 'none'}{more}"


class AgentError(ConformanceError):
    """The agent cannot be found, imported or opened; the message says what was looked for and what to do."""


class SpecError(AgentError):
    """What was typed names no agent, so nothing was asked of any; the message says what a spec looks like."""


class RecordingError(ConformanceError):
    """A saved recording cannot be read; the message names file, line and what was expected."""
