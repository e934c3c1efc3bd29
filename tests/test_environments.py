"""Targets and their environments, without a network: what is pinned, where one is made, by whom, and what a framework sees in it."""

import asyncio
import json
import os
import re
import shutil
import stat
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from conformance import environments
from conformance.adapters import target as adapter
from conformance.environments import PLACE, Target, install, target, targets
from conformance.errors import AgentError, SpecError

ROOT = Path(__file__).parents[1]
#: A stand-in for uv: it writes down what it is asked, and makes the environment with the standard library, empty.
UV = """
import subprocess, sys
open({log!r}, "a").write(" ".join(sys.argv[1:]) + chr(10))
if sys.argv[1] == "venv":
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", sys.argv[-1]], check=True)
"""


def script(path, source):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!{sys.executable}\n{source}", "utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def room(tmp_path, pins="left-pad==1.3.0\n"):
    """A target whose environment is nowhere yet."""
    place = tmp_path / "rooms" / "some_loop"
    place.mkdir(parents=True, exist_ok=True)
    (place / "requirements.txt").write_text(pins, "utf-8")
    return Target("some-loop", place)


@pytest.fixture
def alone(monkeypatch, tmp_path):
    """Environments are made below a temporary folder, and no program is on the path."""
    monkeypatch.setenv(PLACE, str(tmp_path / "made"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return tmp_path


@pytest.fixture
def uv(alone):
    """The stand-in is on the path; gives the file of what it was asked."""
    log = alone / "uv.log"
    script(alone / "bin" / "uv", UV.format(log=str(log)))
    return log


def silent(_said):
    """Whoever is told of nothing."""


# What there is.


def test_the_frameworks_that_come_with_the_kit_are_found_by_their_names():
    assert sorted(targets()) == ["langchain", "pydantic-ai"]
    assert target("pydantic-ai").room == ROOT / "conformance" / "targets" / "pydantic_ai"


@pytest.mark.parametrize("name", ["langchain", "pydantic-ai"])
def test_every_requirement_is_pinned_by_name_and_comes_from_where_the_machine_gets_its_packages(name):
    lines = [line for line in target(name).pins.splitlines() if line and not line.startswith("#")]
    assert [line for line in lines if not re.fullmatch(r"[A-Za-z0-9][\w.-]*==[\w.]+", line)] == []
    assert len(lines) > 20
    assert "://" not in target(name).pins


@pytest.mark.parametrize(
    ("word", "says"), [("langchian", "did you mean 'langchain'?"), ("", "known here: langchain, ")]
)
def test_an_unknown_target_is_refused_with_a_guess(word, says):
    with pytest.raises(SpecError, match=re.escape(f"target {word!r}: there is no such target; {says}")):
        target(word)


# Where an environment is.


def test_a_change_of_the_pins_or_of_the_python_is_another_environment(alone, monkeypatch):
    first = room(alone).environment
    assert room(alone).environment == first
    assert first.name.startswith("some-loop-")
    second = room(alone, "left-pad==1.3.1\n").environment
    monkeypatch.setattr(sys, "executable", "/opt/another/python")
    third = room(alone, "left-pad==1.3.1\n").environment
    assert len({first, second, third}) == 3


def test_environments_are_made_where_the_variable_says_else_in_the_users_cache(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(PLACE, "made")
    assert room(tmp_path).environment.parent == tmp_path / "made"
    monkeypatch.delenv(PLACE)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(sys, "platform", "linux")
    assert room(tmp_path).environment.parent == tmp_path / "cache" / "agent-loop-conformance" / "targets"


# How it is made.


def test_uv_makes_it_where_it_is_on_the_path_and_only_once(alone, uv):
    one, said = room(alone), []
    assert not one.installed
    install(one, said.append)
    install(one, said.append)
    assert one.installed
    assert said == ["target some-loop: installing its environment, which is done once"]
    made, python, pins = one.environment, one.python, one.room / "requirements.txt"
    assert uv.read_text("utf-8").splitlines() == [
        f"venv --quiet --python {sys.executable} {made}",
        f"pip install --quiet --compile-bytecode --python {python} --requirement {pins}",
    ]


def test_venv_and_pip_make_it_where_there_is_no_uv(alone, monkeypatch):
    # A Python that writes down what it is asked, and whose environments hold a copy of itself.
    log = alone / "python.log"
    source = f"""
import pathlib, shutil, sys
open({str(log)!r}, "a").write(" ".join(sys.argv[1:]) + chr(10))
if sys.argv[1:3] == ["-m", "venv"]:
    bin = pathlib.Path(sys.argv[3]) / "bin"
    bin.mkdir(parents=True)
    shutil.copy(__file__, bin / "python")
"""
    python = script(alone / "python", source)
    monkeypatch.setattr(sys, "executable", str(python))
    one = room(alone)
    install(one, silent)
    assert one.installed
    assert log.read_text("utf-8").splitlines() == [
        f"-m venv {one.environment}",
        f"-m pip install --quiet --disable-pip-version-check --requirement {one.room / 'requirements.txt'}",
    ]


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_an_installer_that_fails_is_named_with_the_end_of_what_it_said_and_leaves_nothing(alone, stream):
    source = f"""
import pathlib, sys
if sys.argv[1] == "venv":
    pathlib.Path(sys.argv[-1]).mkdir(parents=True)
else:
    print("the first line", "." * 2000, "no left-pad of that version", file=sys.{stream})
    sys.exit(3)
"""
    script(alone / "bin" / "uv", source)
    one = room(alone)
    with pytest.raises(AgentError) as failed:
        install(one, silent)
    message = str(failed.value)
    assert message.startswith("target 'some-loop': its environment cannot be made, uv ended with 3: ...")
    assert message.endswith("no left-pad of that version")
    assert "the first line" not in message
    assert (one.installed, one.environment.exists()) == (False, False)


def test_what_an_interrupted_installer_left_is_made_anew(alone, uv):
    one = room(alone)
    one.environment.mkdir(parents=True)
    (one.environment / "half").touch()
    install(one, silent)
    assert one.installed
    assert not (one.environment / "half").exists()


def test_two_that_install_at_once_make_one(alone, monkeypatch):
    # The first is held within its installer until the second has asked for the lock.
    go, log = alone / "go", alone / "uv.log"
    os.mkfifo(go)
    script(
        alone / "bin" / "uv", f"{UV.format(log=str(log))}\nif sys.argv[1] == 'venv':\n    open({str(go)!r}).read()\n"
    )
    asked, flock = threading.Semaphore(0), environments.fcntl.flock

    def locked(*given):
        asked.release()
        flock(*given)

    monkeypatch.setattr(environments.fcntl, "flock", locked)
    one, said = room(alone), []
    with ThreadPoolExecutor(2) as pool:
        both = [pool.submit(install, one, said.append) for _ in range(2)]
        asked.acquire()
        asked.acquire()
        go.write_text("")
        for done in both:
            done.result()
    assert one.installed
    assert len(said) == 1
    assert [line.split()[0] for line in log.read_text("utf-8").splitlines()] == ["venv", "pip"]


# What a framework sees in it.

SPY = """
import importlib.util, json, os, pathlib, sys

from conformance.agent_side import AgentInfo, InProcessAgent

WORDS = ("conformance", "fake_models", "beside", "click", "jsonschema", "yaml", "pytest")
seen = {
    "env": dict(os.environ),
    "cwd": os.getcwd(),
    "found": [word for word in WORDS if word in sys.modules or importlib.util.find_spec(word)],
    "prefix": sys.prefix,
    "flags": [sys.flags.isolated, sys.flags.ignore_environment],
}
pathlib.Path(__file__).with_name("seen.json").write_text(json.dumps(seen))
AGENT = InProcessAgent(AgentInfo(name="spy", version="1"), open=None)
"""


@pytest.fixture
def spy(uv, monkeypatch):
    """A target that looks around: the kit's own start, the two packages, and a module beside them that is not theirs."""
    kit = uv.parent / "kit"
    place = kit / "conformance" / "targets" / "spy"
    place.mkdir(parents=True)
    (kit / "fake_models").symlink_to(ROOT / "fake_models")
    for name in ("__init__.py", "agent_side"):
        (kit / "conformance" / name).symlink_to(ROOT / "conformance" / name)
    for name in ("__init__.py", "start.py"):
        shutil.copy(ROOT / "conformance" / "targets" / name, place.parent)
    (kit / "beside.py").touch()
    (place / "__init__.py").touch()
    (place / "agent.py").write_text(SPY, "utf-8")
    (place / "requirements.txt").write_text("left-pad==1.3.0\n", "utf-8")
    one = Target("spy", place)
    monkeypatch.setattr(environments, "targets", lambda: {"spy": one})
    return one


async def looked(one):
    """What it saw when it was started."""
    async with adapter.connect("spy") as agent:
        assert agent.info.name == "spy"
    return json.loads((one.room / "seen.json").read_text("utf-8"))


def test_a_framework_sees_no_variable_but_the_listed_ones_and_a_home_that_is_gone_afterwards(spy, monkeypatch):
    for name in ("OPENAI_API_KEY", "LANGSMITH_API_KEY", "HTTPS_PROXY", "PYTHONPATH", "SSL_CERT_FILE"):
        monkeypatch.setenv(name, "/of/the/kit")
    seen = asyncio.run(looked(spy))
    env = seen["env"]
    assert set(env) == {*adapter.QUIET, "PATH", "HOME", "TMPDIR"}
    assert {key: env[key] for key in adapter.QUIET} == adapter.QUIET
    assert {env["HOME"], env["TMPDIR"], seen["cwd"]} == {env["HOME"]}
    assert env["HOME"] != os.environ.get("HOME")
    assert not Path(env["HOME"]).exists()


def test_a_framework_is_lent_the_two_packages_and_nothing_that_stands_beside_them(spy):
    seen = asyncio.run(looked(spy))
    assert seen["found"] == ["conformance", "fake_models"]
    assert seen["prefix"] == str(spy.environment)
    assert seen["flags"] == [1, 1]


def test_who_waits_for_an_environment_is_told_so(spy, capsys):
    asyncio.run(looked(spy))
    assert capsys.readouterr().err == "target spy: installing its environment, which is done once\n"
