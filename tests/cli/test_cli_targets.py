"""`conformance targets` on the command line, with a stand-in for the installer: nothing is downloaded."""

import stat
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from conformance.cli import main
from conformance.environments import PLACE, Target, target
from conformance.toolchains import Tool


def conformance(*words):
    return CliRunner().invoke(main, words)


@pytest.fixture
def uv(tmp_path, monkeypatch):
    """A stand-in for uv that makes an empty folder, and fails where it is told to."""
    file = tmp_path / "bin" / "uv"
    file.parent.mkdir()
    source = """
import os, sys
if sys.argv[1] == 'venv':
    os.makedirs(sys.argv[-1])
if os.environ.get('UV_FAILS_FOR', 'nothing') in sys.argv[-1]:
    sys.exit('it fails')
sys.exit(os.environ.get('UV_SAYS'))
"""
    file.write_text(f"#!{sys.executable}\n{source}", "utf-8")
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(file.parent))
    monkeypatch.setenv(PLACE, str(tmp_path / "made"))


def test_targets_lists_each_with_its_spec_and_where_its_environment_is(uv):
    assert conformance("targets", "install", "langchain").exit_code == 0
    shown = conformance("targets")
    assert shown.exit_code == 0
    for name, state in (
        ("langchain", f"installed in {target('langchain').environment}"),
        ("pydantic-ai", "installed on first use"),
    ):
        assert f"{name}\n  --agent target:{name}\n  {state}\n" in shown.stdout


def test_a_target_whose_toolchain_is_not_there_says_how_to_get_it(uv, monkeypatch):
    far = Target("far-loop", Path("/nowhere"))
    monkeypatch.setattr(Target, "missing", (Tool("mvn", "Maven, from maven.apache.org"),))
    monkeypatch.setattr("conformance.environments.targets", lambda: {"far-loop": far})
    shown = conformance("targets").stdout
    assert "  takes 'mvn', which is not on the path: get Maven, from maven.apache.org\n" in shown
    failed = conformance("targets", "install", "far-loop")
    assert (failed.exit_code, failed.stderr) == (
        3,
        "target 'far-loop': 'mvn' is not on the path: get Maven, from maven.apache.org\n",
    )


def test_one_that_cannot_be_installed_does_not_keep_the_others_from_it(uv, monkeypatch):
    monkeypatch.setenv("UV_FAILS_FOR", "langchain")
    done = conformance("targets", "install", "langchain", "pydantic-ai")
    assert (done.exit_code, done.stdout) == (3, f"pydantic-ai: {target('pydantic-ai').environment}\n")
    assert "target 'langchain': its environment cannot be made" in done.stderr


def test_targets_install_makes_each_named_one_and_says_where(uv):
    done = conformance("targets", "install", "langchain", "pydantic-ai")
    places = [f"{name}: {target(name).environment}" for name in ("langchain", "pydantic-ai")]
    assert (done.exit_code, done.stdout.splitlines()) == (0, places)
    assert done.stderr.splitlines() == [
        f"target {name}: installing its environment, which is done once" for name in ("langchain", "pydantic-ai")
    ]
    again = conformance("targets", "install", "langchain", "pydantic-ai")
    assert (again.exit_code, again.stdout, again.stderr) == (0, done.stdout, "")


@pytest.mark.parametrize("words", [("targets", "install"), ("run", "--agent")])
def test_an_unknown_target_ends_with_2_and_a_guess_and_makes_nothing(uv, tmp_path, words):
    name = "langchian" if words[0] == "targets" else "target:langchian"
    failed = conformance(*words, name)
    assert failed.exit_code == 2
    assert "did you mean 'langchain'?" in failed.stderr
    assert not (tmp_path / "made").exists()


def test_a_known_target_is_not_installed_where_another_name_beside_it_is_wrong(uv, tmp_path):
    assert conformance("targets", "install", "langchain", "nothing").exit_code == 2
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("words", [("targets", "install", "langchain"), ("run", "--agent", "target:langchain")])
def test_an_installer_that_fails_ends_with_3_and_its_own_words(uv, monkeypatch, words):
    monkeypatch.setenv("UV_SAYS", "no route to host")
    failed = conformance(*words)
    assert failed.exit_code == 3
    assert "target 'langchain': its environment cannot be made, uv ended with 1: no route to host" in failed.stderr


def test_agents_names_the_way_to_a_target():
    assert "target:NAME" in conformance("agents").stdout
