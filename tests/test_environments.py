"""Targets and their environments, without a network: what is pinned, where one is made, by whom, and what a framework sees in it."""

import asyncio
import json
import os
import re
import shutil
import socket
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
    (place / "agent.py").touch()
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


def test_a_framework_is_called_as_its_folder_with_hyphens():
    assert set(targets()) >= {"langchain", "pydantic-ai"}
    assert target("pydantic-ai").room == ROOT / "conformance" / "targets" / "pydantic_ai"


PYTHON_TARGETS = [name for name, one in targets().items() if (one.room / "requirements.txt").exists()]
NODE_TARGETS = [name for name, one in targets().items() if (one.room / "package.json").exists()]


@pytest.mark.parametrize("name", PYTHON_TARGETS)
def test_every_requirement_is_pinned_by_name_and_comes_from_where_the_machine_gets_its_packages(name):
    pins = (target(name).room / "requirements.txt").read_text("utf-8")
    lines = [line for line in pins.splitlines() if line and not line.startswith("#")]
    assert [line for line in lines if not re.fullmatch(r"[A-Za-z0-9][\w.-]*==[\w.]+", line)] == []
    assert len(lines) > 5
    assert "://" not in pins


@pytest.mark.parametrize("name", NODE_TARGETS)
def test_every_package_of_node_is_locked_and_comes_from_where_the_machine_gets_its_packages(name):
    wanted = json.loads((target(name).room / "package.json").read_text("utf-8"))["dependencies"]
    assert [version for version in wanted.values() if not re.fullmatch(r"[\d.]+", version)] == []
    locked = json.loads((target(name).room / "package-lock.json").read_text("utf-8"))["packages"]
    assert {f"node_modules/{one}" for one in wanted} <= set(locked)
    assert [one for one, entry in locked.items() if "resolved" in entry and "://" in entry["resolved"]] == []


def programs(room):
    """What was written for a target and is not generated."""
    skip = {"requirements.txt", "package.json", "package-lock.json", "explained.yaml"}
    return [path for path in room.rglob("*") if path.is_file() and path.name not in skip and path.suffix != ".pyc"]


@pytest.mark.parametrize("name", sorted(set(targets()) - {"langchain"}))
def test_an_adapter_is_150_lines_at_most(name):
    assert {
        path.name: n for path in programs(target(name).room) if (n := len(path.read_text("utf-8").splitlines())) > 150
    } == {}


@pytest.mark.parametrize(("word", "says"), [("langchian", "did you mean 'langchain'?"), ("", "known here: ")])
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
    made, pins = one.environment, one.room / "requirements.txt"
    python = made / "bin" / "python"
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


# Packages of Node and of Java.


def other(tmp_path, mark, *more):
    """A target of another language, with what its folder holds and what lies beside it."""
    place = tmp_path / "rooms" / "far_loop"
    place.mkdir(parents=True)
    for name in (mark, *more):
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(f"{name}\n", "utf-8")
    for shared in ("agent_side.mjs", "AgentSide.java", "start.py"):
        (place.parent / shared).write_text(f"{shared}\n", "utf-8")
    return Target("far-loop", place)


SAYS = """
import os, sys
open({log!r}, "a").write(os.path.basename(os.getcwd()) + " " + " ".join(sys.argv) + chr(10))
"""


def tools(alone, *names):
    """Stand-ins that write down where and how they were called."""
    log = alone / "tools.log"
    for name in names:
        script(alone / "bin" / name, SAYS.format(log=str(log)))
    return log


def test_packages_of_node_are_made_in_a_copy_with_what_all_adapters_share_beside_it(alone):
    log = tools(alone, "node", "npm")
    one = other(alone, "package.json", "package-lock.json", "agent.mjs")
    install(one, silent)
    made = one.environment
    assert log.read_text("utf-8") == f"room {alone / 'bin' / 'npm'} ci --no-audit --no-fund --loglevel=error\n"
    assert (made / "agent_side.mjs").read_text("utf-8") == "agent_side.mjs\n"
    assert (made / "room" / "package-lock.json").exists()
    assert one.command == ("node", str(made / "room" / "agent.mjs"))


def test_a_node_among_the_packages_is_taken_before_the_machines(alone):
    tools(alone, "node", "npm")
    one = other(alone, "package.json", "agent.mjs")
    install(one, silent)
    own = one.environment / "room" / "node_modules" / "node" / "bin" / "node"
    script(own, "")
    assert one.command[0] == str(own)


def test_packages_of_java_are_built_in_a_copy_and_the_class_agent_is_started(alone):
    log = tools(alone, "java", "mvn")
    one = other(alone, "pom.xml", "src/main/java/Agent.java")
    install(one, silent)
    room = one.environment / "room"
    assert log.read_text("utf-8").startswith(f"room {alone / 'bin' / 'mvn'} -q -B package ")
    assert sorted(path.name for path in (room / "src" / "main" / "java").iterdir()) == ["Agent.java", "AgentSide.java"]
    assert one.command == ("java", "-cp", f"{room}/target/classes:{room}/target/dependency/*", "Agent")


@pytest.mark.parametrize(
    ("mark", "lacks"),
    [
        ("package.json", ["'node'", "'npm'", "nodejs.org"]),
        ("pom.xml", ["'java'", "'mvn'", "adoptium.net", "maven.apache.org"]),
    ],
)
def test_a_missing_toolchain_is_named_with_how_to_get_it(alone, mark, lacks):
    one = other(alone, mark, "agent.mjs")
    with pytest.raises(AgentError) as failed:
        install(one, silent)
    assert [word for word in lacks if word not in str(failed.value)] == []
    assert not one.environment.exists()


def test_a_change_of_what_is_built_or_shared_is_another_environment(alone):
    one = other(alone, "pom.xml", "src/main/java/Agent.java")
    made = [one.environment]
    for path in (one.room / "src" / "main" / "java" / "Agent.java", one.room.parent / "AgentSide.java"):
        path.write_text("changed\n", "utf-8")
        made.append(one.environment)
    assert len(set(made)) == 3


def test_a_program_in_python_with_packages_of_node_is_started_with_the_kits_python(alone):
    tools(alone, "node", "npm")
    one = other(alone, "package.json", "agent.py")
    assert one.command == (sys.executable, "-I", str(one.room.parent / "start.py"), "far_loop")


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
    assert set(env) == {*adapter.QUIET, "PATH", "HOME", "TMPDIR", adapter.ENVIRONMENT, adapter.REACHED}
    assert env[adapter.ENVIRONMENT] == str(spy.environment)
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


# What it reaches.


def test_a_framework_that_reaches_for_another_machine_is_refused_and_named(spy):
    source = (spy.room / "agent.py").read_text("utf-8")
    reach = """
import socket
for host in ("127.0.0.1", "localhost", "telemetry.example"):
    try:
        socket.create_connection((host, 9))
    except ConnectionRefusedError as error:
        refused = str(error)
assert refused == "telemetry.example is not this machine, and a target reaches no other", refused
"""
    (spy.room / "agent.py").write_text(source + reach, "utf-8")
    with pytest.raises(
        AgentError, match=r"^target 'spy': it reached for telemetry\.example, and a target reaches no machine"
    ):
        asyncio.run(looked(spy))


def test_a_framework_that_dies_at_import_is_named_with_its_last_words(spy):
    (spy.room / "agent.py").write_text("raise ImportError('no module named left_pad')\n", "utf-8")
    with pytest.raises(
        AgentError, match=r"(?s)^agent 'target:spy': it ended before it said ready.*no module named left_pad"
    ):
        asyncio.run(looked(spy))


# An AG-UI endpoint.

ENDPOINT = """
import json, sys

from conformance.agent_side import AgentInfo

print("a banner")
AGENT = AgentInfo(name="served", version="2", channels=("M", "T", "E"), dialect={"on_limit": "error"})
PATH = "/agent"
async def APP(scope, receive, send):
    pass
"""
#: A stand-in for uvicorn: answers each request with the events of an empty run.
UVICORN = """
import json

class Config:
    def __init__(self, app, log_level): pass

class Server:
    def __init__(self, config): pass
    def run(self, sockets):
        while True:
            connection, _ = sockets[0].accept()
            head, _, body = connection.recv(65536).partition(b"\\r\\n\\r\\n")
            if head.startswith(b"OPTIONS"):
                connection.sendall(b"HTTP/1.1 204 No Content\\r\\nConnection: close\\r\\n\\r\\n")
            connection.close()
"""


def serving(spy, source):
    (spy.room / "agent.py").unlink()
    (spy.room / "endpoint.py").write_text(source, "utf-8")
    site = spy.environment / "lib" / f"python3.{sys.version_info.minor}" / "site-packages"
    install(spy, silent)
    (site / "uvicorn.py").write_text(UVICORN.replace("\\\\", "\\"), "utf-8")


def test_an_endpoint_is_served_said_to_be_who_it_is_and_gone_afterwards(spy):
    serving(spy, ENDPOINT)

    async def met():
        async with adapter.connect("spy") as agent:
            return agent.info, agent._place.url

    info, url = asyncio.run(met())
    assert (info.name, info.version, info.channels, dict(info.dialect)) == (
        "served",
        "2",
        ("M", "T", "E"),
        {"on_limit": "error"},
    )
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/agent", url)
    with pytest.raises(OSError), socket.create_connection(("127.0.0.1", int(url.split(":")[2].split("/")[0]))):  # noqa: PT011
        pass


def test_an_endpoint_that_dies_at_import_is_named_with_its_last_words(spy):
    serving(spy, "raise ImportError('no module named left_pad')\n")

    async def met():
        async with adapter.connect("spy"):
            pass

    with pytest.raises(
        AgentError, match=r"(?s)^agent 'target:spy': it ended before it said where it serves.*no module named left_pad"
    ):
        asyncio.run(met())
