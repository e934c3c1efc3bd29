"""Recordings as files: read back from where they were saved, and written whole or not at all."""

import contextlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from conformance.certify import Judged
from conformance.cli.order import cell_place, place
from conformance.errors import ConformanceError, RecordingError
from conformance.recording import Header, Record, Recording, encoded, from_bytes, header_line, record_line, to_bytes
from conformance.runner import Cell, Keep
from conformance.scenario import Scenario
from conformance.snapshot import stable_text


def read(names: Iterable[str]) -> dict[str, Recording]:
    """
    The recordings in these files, and in the *.jsonl files of these folders, by path, in the order in which they are played.

    Raises:
        RecordingError: a file cannot be read, or a folder holds none.
    """
    found = {path: _read(path) for name in names for path in _found(Path(name))}
    return {str(path): found[path] for path in sorted(found, key=lambda path: _order(path, found[path]))}


def _order(path: Path, recording: Recording) -> tuple[Any, ...]:
    """The repeat stands in the file's name alone, and 10 comes after 9."""
    repeat = path.stem.rpartition(".")[2]
    number = int(repeat) if repeat.isdecimal() else 0
    return place(str(recording.header.scenario.get("id"))), cell_place(recording.header.cell), number, str(path)


def _found(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    found = sorted(path.glob("*.jsonl"))
    if not found:
        raise RecordingError(f"{path}: this folder has no *.jsonl file, expected recordings as `run --out` saves them")
    return found


def _read(path: Path) -> Recording:
    try:
        return from_bytes(path.read_bytes(), str(path))
    except (OSError, ValueError) as error:
        raise RecordingError(f"{path}: the file cannot be read: {error}") from error


def folder(name: str) -> Path:
    """
    The folder of this name, made if need be.

    Raises:
        ConformanceError: it cannot be made, or holds recordings already, which would be judged together with the new ones.
    """
    path = Path(name)
    try:
        path.mkdir(parents=True, exist_ok=True)
        old = sorted(one.name for one in path.glob("*.jsonl"))
    except OSError as error:
        raise ConformanceError(f"--out {name!r}: the folder cannot be made: {error}") from error
    if old:
        raise ConformanceError(
            f"--out {name!r}: this folder already holds recordings ({len(old)} *.jsonl, such as {old[0]}), and `conformance judge` "
            "would mix them with the new ones; name a new folder, or remove this one first"
        )
    return path


@contextlib.contextmanager
def keeping(place: Path | None) -> Iterator[Callable[[Scenario, Cell, int], Keep | None]]:
    """
    Say where each play's records are written while they are made: to a file with `.part` behind its name.

    `save` puts the whole recording in its place. What was interrupted is removed when the block ends, however it ends; what is left
    of a kit that was killed can be read up to its last whole line.
    """
    begun: set[Path] = set()

    def keep(plan: Scenario, cell: Cell, turn: int) -> Keep | None:
        if place is None:
            return None
        part = _part(_path(place, plan.id, cell, turn))

        def begin(head: Header) -> Callable[[Record], None]:
            begun.add(part)
            part.write_bytes(encoded(header_line(head)))
            return take

        def take(record: Record) -> None:
            # What cannot be kept is kept by `save`, or refused there; the agent's own code may be what called us.
            with contextlib.suppress(OSError), part.open("ab") as file:
                file.write(encoded(record_line(record)))

        return begin

    try:
        yield keep
    finally:
        for part in begun:
            part.unlink(missing_ok=True)


def writable(option: str, name: str) -> Path:
    """
    The path of a file that will be written, in a folder that is made if need be: known to be fit before anything is played.

    Raises:
        ConformanceError: no file can be written there.
    """
    path = Path(name)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        fit = not path.is_dir()
    except OSError as error:
        raise ConformanceError(f"{option} {name!r}: its folder cannot be made: {error}") from error
    if not fit:
        raise ConformanceError(f"{option} {name!r}: this is a folder, expected the name of a file to write")
    return path


def save(one: Judged, place: Path) -> None:
    """Write a play's recording and, of the first of its repeats, the stable text. A play that failed to start leaves nothing."""
    play = one.play
    path = _path(place, play.scenario.id, play.cell, play.turn)
    if play.recording is None or one.judgement is None:
        _part(path).unlink(missing_ok=True)
        return
    write(path, to_bytes(play.recording))
    if play.turn == 0:
        text = stable_text(one.judgement.view).encode("utf-8", "backslashreplace")
        write(place / f"{_name(play.scenario.id, play.cell)}.txt", text)


def _path(place: Path, scenario: str, cell: Cell, turn: int) -> Path:
    return place / f"{_name(scenario, cell)}.{turn + 1}.jsonl"


def _name(scenario: str, cell: Cell) -> str:
    return f"{scenario}.{cell.name.replace('/', '-')}"


def _part(path: Path) -> Path:
    return path.with_name(f"{path.name}.part")


def write(path: Path, data: bytes) -> None:
    """Write a file whole: who reads it sees the old one or the new one, whenever the command is ended."""
    part = _part(path)
    try:
        part.write_bytes(data)
        part.replace(path)
    except OSError as error:
        raise ConformanceError(f"{path}: the file cannot be written: {error}") from error
    finally:
        part.unlink(missing_ok=True)
