"""
The targets that come with the kit, and an environment of its own for each, made when it is first used.

An environment is a folder in the user's cache. Its name holds a digest of the pinned requirements and of the Python, so that
a change of either makes a new one. It counts once its last file is written.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import platformdirs

from conformance.errors import AgentError, SpecError, guess

#: Where environments are made instead of the user's cache.
PLACE = "CONFORMANCE_TARGETS"
_PINS = "requirements.txt"
_DONE = "complete"


@dataclass(frozen=True, slots=True)
class Target:
    """A framework that the kit can drive. `name` is what it is called in a spec, `room` its folder below conformance/targets."""

    name: str
    room: Path

    @property
    def pins(self) -> str:
        """Its requirements, every one pinned."""
        return (self.room / _PINS).read_text("utf-8")

    @property
    def environment(self) -> Path:
        """Where its environment is, or will be."""
        python = f"{sys.implementation.cache_tag} {sys.executable}"
        digest = hashlib.sha256(f"{python}\n{self.pins}".encode()).hexdigest()[:12]
        return _place() / f"{self.name}-{digest}"

    @property
    def python(self) -> Path:
        """Its environment's Python."""
        return self.environment / "bin" / "python"

    @property
    def installed(self) -> bool:
        """Whether its environment is there, whole."""
        return (self.environment / _DONE).exists()


def targets() -> Mapping[str, Target]:
    """All targets, by name."""
    rooms = Path(str(files("conformance.targets")))
    found = (Target(room.name.replace("_", "-"), room) for room in sorted(rooms.iterdir()) if (room / _PINS).exists())
    return {target.name: target for target in found}


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
    Make the target's environment unless it is there; with uv where that is on the path, else with venv and pip.

    Raises:
        AgentError: it could not be made; the message holds the end of what the installer said.
    """
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
        for command in _commands(place, one.room / _PINS):
            # An installer outlives a kit that is killed, and holds the lock as long as it is at work.
            done = subprocess.run(  # noqa: S603 - our own
                command, capture_output=True, text=True, errors="replace", check=False, pass_fds=(lock,)
            )
            if done.returncode != 0:
                shutil.rmtree(place, ignore_errors=True)
                said = (done.stderr.strip() or done.stdout.strip())[-1500:]
                raise AgentError(
                    f"target {one.name!r}: its environment cannot be made, {Path(command[0]).name} ended with {done.returncode}: {said}"
                )
        (place / _DONE).touch()


def _place() -> Path:
    named = os.environ.get(PLACE)
    return Path(named).absolute() if named else platformdirs.user_cache_path("agent-loop-conformance") / "targets"


def _commands(place: Path, pins: Path) -> Iterator[Sequence[str]]:
    python = str(place / "bin" / "python")
    uv = shutil.which("uv")
    if uv is not None:
        yield uv, "venv", "--quiet", "--python", sys.executable, str(place)
        yield uv, "pip", "install", "--quiet", "--compile-bytecode", "--python", python, "--requirement", str(pins)
    else:
        yield sys.executable, "-m", "venv", str(place)
        yield python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement", str(pins)


@contextmanager
def _alone(place: Path) -> Iterator[int]:
    """The lock's descriptor. Whoever else makes this environment now is waited for."""
    with place.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield lock.fileno()
