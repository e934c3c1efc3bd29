"""
The targets that come with the kit, and an environment of its own for each, made when it is first used.

An environment is a folder in the user's cache. Its name holds a digest of what it is made from and of the Python, so that
a change of either makes a new one. It counts once its last file is written.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import platformdirs

from conformance.errors import AgentError, SpecError, guess
from conformance.toolchains import KINDS, PYTHON, ROOM, STARTS, Kind, Start, Tool

#: Where environments are made instead of the user's cache.
PLACE = "CONFORMANCE_TARGETS"
_DONE = "complete"


@dataclass(frozen=True, slots=True)
class Target:
    """A framework that the kit can drive. `name` is what it is called in a spec, `room` its folder below conformance/targets."""

    name: str
    room: Path

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """What its environment is made of."""
        return tuple(kind for kind in KINDS if (self.room / kind.mark).exists())

    @property
    def start(self) -> Start:
        """How its program is started."""
        return next(start for start in STARTS if (self.room / start.mark).exists())

    @property
    def command(self) -> tuple[str, ...]:
        """The program and its arguments, once the environment is made."""
        return self.start.command(self.environment, self.room)

    @property
    def environment(self) -> Path:
        """Where its environment is, or will be."""
        digest = hashlib.sha256(f"{sys.implementation.cache_tag} {sys.executable}\n".encode())
        for path in self._sources():
            digest.update(f"{path.name}\n".encode() + path.read_bytes())
        return _place() / f"{self.name}-{digest.hexdigest()[:12]}"

    @property
    def installed(self) -> bool:
        """Whether its environment is there, whole."""
        return (self.environment / _DONE).exists()

    @property
    def missing(self) -> tuple[Tool, ...]:
        """The tools that it takes and that are not on the path."""
        return tuple(tool for kind in self.kinds for tool in kind.needs if shutil.which(tool.name) is None)

    def _sources(self) -> Iterator[Path]:
        for kind in self.kinds:
            for pattern in kind.reads:
                yield from sorted(self.room.glob(pattern))
            yield from (self.room.parent / name for name in kind.shared)


def targets() -> Mapping[str, Target]:
    """All targets, by name."""
    rooms = sorted(room for room in Path(str(files("conformance.targets"))).iterdir() if room.is_dir())
    found = (Target(room.name.replace("_", "-"), room) for room in rooms)
    return {one.name: one for one in found if one.kinds and any((one.room / start.mark).exists() for start in STARTS)}


def target(name: str) -> Target:
    """
    The target of this name.

    Raises:
        SpecError: there is none.
    """
    known = targets()
    if name not in known:
        raise SpecError(f"target {name!r}: there is no such target{guess(name, known)}")
    return known[name]


def install(one: Target, tell: Callable[[str], None]) -> None:
    """
    Make the target's environment unless it is there: packages of Python with uv where that is on the path, else with venv and pip.

    Raises:
        AgentError: a tool is missing, or it could not be made; the message holds the end of what the installer said.
    """
    if one.missing:
        lacks = "; ".join(f"{tool.name!r} is not on the path: get {tool.get}" for tool in one.missing)
        raise AgentError(f"target {one.name!r}: {lacks}")
    place = one.environment
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise AgentError(
            f"target {one.name!r}: the folder of its environment cannot be made: {error}; name another one in {PLACE}"
        ) from error
    with _alone(place) as lock:
        if one.installed:
            return
        tell(f"target {one.name}: installing its environment, which is done once")
        shutil.rmtree(place, ignore_errors=True)
        try:
            for kind in one.kinds:
                _make(one, kind, place, lock)
        except BaseException:
            shutil.rmtree(place, ignore_errors=True)
            raise
        (place / _DONE).touch()


def _make(one: Target, kind: Kind, place: Path, lock: int) -> None:
    if kind is not PYTHON:
        shutil.copytree(one.room, place / ROOM, dirs_exist_ok=True)
    for name, where in kind.shared.items():
        (place / where).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(one.room.parent / name, place / where)
    for folder, command in kind.commands(place, one.room):
        # An installer outlives a kit that is killed, and holds the lock as long as it is at work.
        done = subprocess.run(  # noqa: S603 - our own
            command, cwd=folder, capture_output=True, text=True, errors="replace", check=False, pass_fds=(lock,)
        )
        if done.returncode != 0:
            said = (done.stderr.strip() or done.stdout.strip())[-1500:]
            raise AgentError(
                f"target {one.name!r}: its environment cannot be made, {Path(command[0]).name} ended with {done.returncode}: {said}"
            )


def _place() -> Path:
    named = os.environ.get(PLACE)
    return Path(named).absolute() if named else platformdirs.user_cache_path("agent-loop-conformance") / "targets"


@contextmanager
def _alone(place: Path) -> Iterator[int]:
    """The lock's descriptor. Whoever else makes this environment now is waited for."""
    with place.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield lock.fileno()
