"""Recordings as files: read back from where they were saved, and written whole or not at all."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from conformance.certify import Judged
from conformance.cli.order import cell_place, place
from conformance.errors import ConformanceError, RecordingError
from conformance.recording import Recording, from_bytes, to_bytes
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


def save(one: Judged, place: Path) -> None:
    """Write a play's recording and, of the first of its repeats, the stable text. A play that failed to start leaves nothing."""
    if one.play.recording is None or one.judgement is None:
        return
    name = f"{one.play.scenario.id}.{one.play.cell.name.replace('/', '-')}"
    write(place / f"{name}.{one.play.turn + 1}.jsonl", to_bytes(one.play.recording))
    if one.play.turn == 0:
        write(place / f"{name}.txt", stable_text(one.judgement.view).encode("utf-8", "backslashreplace"))


def write(path: Path, data: bytes) -> None:
    """Write a file whole: who reads it sees the old one or the new one, whenever the command is ended."""
    part = path.with_name(f"{path.name}.part")
    try:
        part.write_bytes(data)
        part.replace(path)
    except OSError as error:
        raise ConformanceError(f"{path}: the file cannot be written: {error}") from error
