"""Recordings as files: read back from where they were saved, and written whole or not at all."""

import contextlib
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from conformance.cell import Cell
from conformance.certify import Judged
from conformance.cli.order import cell_place, place
from conformance.errors import ConformanceError, RecordingError
from conformance.recording import Header, Record, Recording, encoded, from_bytes, header_line, record_line, to_bytes
from conformance.runner import Keep
from conformance.scenario import Scenario
from conformance.snapshot import stable_text

#: Largest recording that is read, in bytes. Those of the kit's own scenarios have some 100 KB.
MAX_BYTES = 512 * 1024 * 1024


#: How a JUnit report begins, whoever wrote it; an empty file is nobody's.
_JUNIT = re.compile(rb"(\xef\xbb\xbf)?\s*(<\?xml[^>]*\?>\s*)?(<!--.*?-->\s*)*(<testsuites?\b|\Z)", re.DOTALL)


class Unsaved(ConformanceError):  # noqa: N818 - what became of the file
    """A file that could not be written, for want of room or leave."""


def read(names: Iterable[str]) -> dict[str, Recording]:
    """
    The recordings in these files, and in the *.jsonl files of these folders, by path, in the order in which they are played.

    Raises:
        RecordingError: a file cannot be read, or a folder holds none.
    """
    found = {path: _read(path) for name in names for path in _found(Path(name))}
    return {str(path): found[path] for path in sorted(found, key=lambda path: _order(path, found[path]))}


def unfinished(names: Iterable[str]) -> tuple[Path, ...]:
    """What is left in these folders of recordings that were never finished: a kit is at it, or was killed."""
    return tuple(sorted({path for name in names for path in Path(name).glob("*.jsonl.part")}))


def _order(path: Path, recording: Recording) -> tuple[Any, ...]:
    """The repeat stands in the file's name alone, and 10 comes after 9."""
    repeat = path.stem.rpartition(".")[2]
    number = int(repeat) if repeat.isdecimal() else 0
    return place(str(recording.header.scenario.get("id"))), cell_place(recording.header), number, str(path)


def _found(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    found = sorted(path.glob("*.jsonl"))
    if not found:
        raise RecordingError(f"{path}: this folder has no *.jsonl file, expected recordings as `run --out` saves them")
    return found


def _read(path: Path) -> Recording:
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise RecordingError(f"{path}: this is no regular file; name a recording, or a folder of them")
        if status.st_size > MAX_BYTES:
            raise RecordingError(
                f"{path}: the file has {status.st_size} bytes, expected at most {MAX_BYTES}; is it a recording?"
            )
        return from_bytes(path.read_bytes(), str(path))
    except (OSError, ValueError) as error:
        raise RecordingError(f"{path}: the file cannot be read: {error}") from error


def folder(name: str) -> Path:
    """
    The folder of this name, made if need be, and known to be fit before anything is played.

    Raises:
        ConformanceError: it cannot be made or written to, or holds recordings already, which would be judged together with the
            new ones.
    """
    if not name:
        raise ConformanceError("--out '': expected the name of a folder; is a variable unset?")
    # An agent in this process may go to another folder.
    path = Path(name).absolute()
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
    _try(path / "report.json", "--out", name)
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
            # What cannot be kept is refused by `save`, once the play is over; the agent's own code may be what called us.
            with contextlib.suppress(OSError):
                part.write_bytes(encoded(header_line(head)))
            return take

        def take(record: Record) -> None:
            with contextlib.suppress(OSError), part.open("ab") as file:
                file.write(encoded(record_line(record)))

        return begin

    try:
        yield keep
    finally:
        for part in begun:
            part.unlink(missing_ok=True)


def writable(option: str, name: str, inputs: Iterable[str] = ()) -> Path:
    """
    The path of a JUnit file that will be written, in a folder that is made if need be: known to be fit before anything is played.

    A link leads to the file that is written, and stays one.

    Raises:
        ConformanceError: no file can be written there, or one of the `inputs`, or what is no JUnit report, would be lost.
    """
    try:
        path = Path(name).resolve()
        path.parent.mkdir(parents=True, exist_ok=True)
        # What stands there is replaced whole, and a device or a pipe must not be.
        odd = path.exists() and not path.is_file()
        foreign = path.is_file() and not _JUNIT.match(_begins(path))
        read = path.is_file() and any(_same(path, one) for one in inputs)
    except (OSError, RuntimeError) as error:
        raise ConformanceError(f"{option} {name!r}: its folder cannot be made: {error}") from error
    if odd:
        what = "a folder" if path.is_dir() else "no regular file"
        raise ConformanceError(f"{option} {name!r}: this is {what}, expected the name of a file to write")
    if foreign or read:
        what = "is read by this command" if read else "holds something else than a JUnit report"
        raise ConformanceError(f"{option} {name!r}: this file {what} and would be lost; name another one")
    _try(path, option, name)
    return path


def _same(path: Path, name: str) -> bool:
    try:
        return path.samefile(name)
    except OSError:
        # A word that names no file, such as a scenario's id.
        return False


def _begins(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(4096)


def _try(path: Path, option: str, name: str) -> None:
    part = _part(path)
    try:
        part.touch()
        part.unlink()
    except OSError as error:
        raise ConformanceError(f"{option} {name!r}: nothing can be written there: {error}") from error


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
    return f"{scenario}.{re.sub('[/:]', '-', cell.name)}"


def _part(path: Path) -> Path:
    return path.with_name(f"{path.name}.part")


def write(path: Path, data: bytes) -> None:
    """
    Write a file whole: who reads it sees the old one or the new one, whenever the command is ended.

    Raises:
        Unsaved: it cannot be written.
    """
    part = _part(path)
    try:
        part.write_bytes(data)
        part.replace(path)
    except OSError as error:
        raise Unsaved(f"{path}: the file cannot be written: {error}") from error
    finally:
        part.unlink(missing_ok=True)
