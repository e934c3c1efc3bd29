"""Stable texts that a folder keeps for the collected scenarios: compared, written, and missed when nothing uses them."""

import difflib
import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

Fate = Literal["passed", "written", "updated", "failed"]


@dataclass(frozen=True, slots=True)
class Mode:
    """What syrupy's options ask for: they mean here what they mean there."""

    update: bool
    new_only: bool
    delete_unused: bool
    look_for_unused: bool
    unused_fails: bool


def mode(option: Any) -> Mode:
    """The mode that pytest's options, syrupy's among them, ask for."""
    return Mode(
        update=option.update_snapshots,
        new_only=option.update_new_snapshots_only,
        delete_unused=option.update_snapshots and not option.no_cleanup,
        look_for_unused=not option.disable_unused_snapshots,
        unused_fails=not option.warn_unused_snapshots,
    )


def place(folder: Path, agent: str, scenario: str, cell: str) -> Path:
    """Where a text is kept: a folder per agent, a file per scenario and cell."""
    return folder / _file(agent) / f"{scenario}.{_file(cell)}.txt"


def compared(path: Path, text: str, how: Mode) -> tuple[Fate, str | None]:
    """What became of a text beside the one that is kept, and, where it failed, how they differ."""
    kept = path.read_text("utf-8", "replace") if path.is_file() else None
    if kept == text:
        return "passed", None
    if how.update or (how.new_only and kept is None):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode("utf-8", "backslashreplace"))
        except OSError as error:
            return (
                "failed",
                f"snapshot {path} cannot be written: {error}; name another folder, or make room in this one",
            )
        return "written" if kept is None else "updated", None
    if kept is None:
        return "failed", f"snapshot {path} does not exist; run with --snapshot-update to write it, and read it"
    diff = difflib.unified_diff(kept.splitlines(), text.splitlines(), "snapshot", "received", lineterm="", n=2)
    return "failed", "\n".join((f"snapshot {path} differs; --snapshot-update if that is right", *diff))


def unused(folder: Path, agent: str, used: Collection[Path]) -> tuple[Path, ...]:
    """The texts of an agent that no scenario uses any more."""
    return tuple(sorted(path for path in (folder / _file(agent)).glob("*.txt") if path not in used))


def _file(name: str) -> str:
    return re.sub(r"[^\w.-]+", "-", name)
