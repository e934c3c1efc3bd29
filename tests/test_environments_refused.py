"""Environments of targets where the machine refuses them, and installers that outlive the kit that started them."""

import fcntl
import stat
import sys

import pytest

from conformance.environments import PLACE, Target, install
from conformance.errors import AgentError

#: A stand-in for uv that says whether it was handed the lock of the environment it makes.
UV = """#!{python}
import os, pathlib, sys
if sys.argv[1] == "venv":
    place = pathlib.Path(sys.argv[-1])
    place.mkdir(parents=True)
    mine = [os.readlink(f"/proc/self/fd/{{fd}}") for fd in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{{fd}}")]
    held = str(place.with_suffix(".lock")) in mine
    print("held" if held else "free", file=open({log!r}, "w"))
"""


@pytest.fixture
def one(tmp_path):
    """A target whose environment is nowhere yet."""
    place = tmp_path / "rooms" / "some_loop"
    place.mkdir(parents=True)
    (place / "requirements.txt").write_text("left-pad==1.3.0\n", "utf-8")
    return Target("some-loop", place)


def test_a_place_where_no_folder_can_be_is_said_with_the_variable_that_names_another(one, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv(PLACE, str(tmp_path / "file"))
    with pytest.raises(
        AgentError, match=f"the folder of its environment cannot be made: .*name another one in {PLACE}"
    ):
        install(one, lambda _said: None)


def test_an_installer_holds_the_lock_itself_so_that_it_does_not_go_with_a_kit_that_is_killed(
    one, tmp_path, monkeypatch
):
    log, uv = tmp_path / "log", tmp_path / "bin" / "uv"
    uv.parent.mkdir()
    uv.write_text(UV.format(python=sys.executable, log=str(log)), "utf-8")
    uv.chmod(uv.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(uv.parent))
    monkeypatch.setenv(PLACE, str(tmp_path / "made"))
    install(one, lambda _said: None)
    assert log.read_text("utf-8") == "held\n"
    with one.environment.with_suffix(".lock").open("w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
