"""
What a target's folder says by the files in it: what its environment is made of, and how its program is started. Tables only.

A target is in one environment, a folder. The packages of Python stand at its top; what other tools make is made in `room`, a copy of
the target's own folder.
"""

import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

#: The copy of a target's folder within its environment.
ROOM = "room"


@dataclass(frozen=True, slots=True)
class Tool:
    """A program that must be on the path, and how to get it."""

    name: str
    get: str


@dataclass(frozen=True, slots=True)
class Kind:
    """
    Packages of one language.

    `mark` is the file by which a folder asks for them. `reads` are globs of what the environment is made from, `shared` files of the folder
    above that are laid into the environment, each with its place there. `commands` gives what makes them in an environment for a
    folder, each with the directory it is run in.
    """

    mark: str
    reads: tuple[str, ...]
    commands: Callable[[Path, Path], Iterator[tuple[Path, Sequence[str]]]]
    needs: tuple[Tool, ...] = ()
    shared: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Start:
    """
    How a program is started: by the file `mark`, which its folder holds. `command` is given the environment, which is made, and the
    target's folder. `endpoint`: it serves AG-UI and says where.
    """

    mark: str
    command: Callable[[Path, Path], tuple[str, ...]]
    endpoint: bool = False


def python_of(environment: Path) -> Path:
    """The Python of an environment."""
    return environment / "bin" / "python"


def _pip(place: Path, room: Path) -> Iterator[tuple[Path, Sequence[str]]]:
    python, pins = str(python_of(place)), str(room / "requirements.txt")
    uv = shutil.which("uv")
    if uv is not None:
        yield place.parent, (uv, "venv", "--quiet", "--python", sys.executable, str(place))
        yield place, (uv, "pip", "install", "--quiet", "--compile-bytecode", "--python", python, "--requirement", pins)
    else:
        yield place.parent, (sys.executable, "-m", "venv", str(place))
        yield (
            place,
            (python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement", pins),
        )


def _npm(place: Path, _room: Path) -> Iterator[tuple[Path, Sequence[str]]]:
    yield place / ROOM, ("npm", "ci", "--no-audit", "--no-fund", "--loglevel=error")


def _maven(place: Path, _room: Path) -> Iterator[tuple[Path, Sequence[str]]]:
    yield place / ROOM, ("mvn", "-q", "-B", "package", "dependency:copy-dependencies", "-DincludeScope=runtime")


def _python(place: Path, room: Path) -> tuple[str, ...]:
    # Without packages of Python the kit's own will do.
    own = python_of(place)
    return str(own) if own.exists() else sys.executable, "-I", str(room.parent / "start.py"), room.name


def _node(place: Path, _room: Path) -> tuple[str, ...]:
    # The packages may bring a newer Node than the machine has.
    own = place / ROOM / "node_modules" / "node" / "bin" / "node"
    return str(own) if own.exists() else "node", str(place / ROOM / "agent.mjs")


def _java(place: Path, _room: Path) -> tuple[str, ...]:
    classes = f"{place / ROOM / 'target' / 'classes'}:{place / ROOM / 'target' / 'dependency'}/*"
    return "java", "-cp", classes, "Agent"


NODE = "Node.js 20 or later, from nodejs.org or as the package nodejs of your system, which brings npm"
JAVA = "a JDK of version 17 or later, from adoptium.net or as the package openjdk-17-jdk of your system"

PYTHON = Kind("requirements.txt", ("requirements.txt",), _pip)
KINDS = (
    PYTHON,
    Kind(
        "package.json",
        ("package.json", "package-lock.json", "*.mjs"),
        _npm,
        needs=(Tool("node", NODE), Tool("npm", NODE)),
        shared={"agent_side.mjs": "agent_side.mjs"},
    ),
    Kind(
        "pom.xml",
        ("pom.xml", "src/**/*.java"),
        _maven,
        needs=(
            Tool("java", JAVA),
            Tool("mvn", "Maven 3.8 or later, from maven.apache.org or as the package maven of your system"),
        ),
        shared={"AgentSide.java": f"{ROOM}/src/main/java/AgentSide.java"},
    ),
)
STARTS = (
    Start("endpoint.py", _python, endpoint=True),
    Start("agent.py", _python),
    Start("agent.mjs", _node),
    Start("pom.xml", _java),
)
