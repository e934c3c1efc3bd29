"""What a command must not lose: an exit code, a file of somebody's, a recording that was never finished."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from conformance.cli import main

HERE = Path(__file__).parent
HELLO = str(HERE / "hello.yaml")
ROOT = HERE.parent.parent
ENTRY = "import sys; sys.argv[0] = 'conformance'; from conformance.cli import main; main()"


@pytest.fixture(autouse=True)
def agents_are_importable(monkeypatch):
    monkeypatch.syspath_prepend(str(HERE))


def conformance(*words):
    return CliRunner().invoke(main, words)


def last_line(result):
    return result.stderr.splitlines()[-1]


@pytest.fixture
def saved(tmp_path):
    """A folder of recordings, and a function that leaves an unfinished one in it."""
    out = tmp_path / "out"
    assert conformance("run", HELLO, "--out", str(out)).exit_code == 0

    def kill():
        whole = next(iter(sorted(out.glob("*.jsonl"))))
        (out / "killed.blocking.1.jsonl.part").write_bytes(whole.read_bytes()[:500])
        (out / "report.json").unlink()

    return out, kill


def test_a_folder_of_a_run_that_was_killed_is_not_green(saved):
    out, kill = saved
    assert conformance("judge", str(out)).exit_code == 0
    kill()
    result = conformance("judge", str(out))
    assert result.exit_code == 3
    assert "1 scenario: 2 pass" in result.stdout
    part = out / "killed.blocking.1.jsonl.part"
    assert last_line(result).startswith(f"1 recording is unfinished and not judged, first {part}; ")


def test_what_is_unfinished_hides_no_failure(tmp_path):
    out = tmp_path / "out"
    assert conformance("run", HELLO, "--agent", "python:tiny_agents:HOSTILE", "--out", str(out)).exit_code == 1
    (out / "killed.blocking.1.jsonl.part").touch()
    assert conformance("judge", str(out)).exit_code == 1


FOREIGN = {
    "a scenario": (HERE / "hello.yaml").read_text("utf-8"),
    "a program": "#!/bin/sh\nexit 0\n",
    "another XML": "<?xml version='1.0'?>\n<project><testsuite/></project>\n",
}
JUNIT = {
    "whole": "<?xml version='1.0' encoding='utf-8'?>\n<testsuites/>\n",
    "without its declaration": "\n<!-- by\n hand --><testsuite name='x'/>",
    "empty": "",
}


@pytest.mark.parametrize("text", FOREIGN.values(), ids=FOREIGN)
def test_a_file_that_is_no_junit_report_is_not_replaced_by_one(text, tmp_path):
    there = tmp_path / "there"
    there.write_text(text, "utf-8")
    result = conformance("run", HELLO, "--junit", str(there))
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"--junit '{there}': this file holds something else than a JUnit report" in result.stderr
    assert there.read_text("utf-8") == text


@pytest.mark.parametrize("text", JUNIT.values(), ids=JUNIT)
def test_an_older_junit_report_is_replaced(text, tmp_path):
    there = tmp_path / "there"
    there.write_text(text, "utf-8")
    assert conformance("run", HELLO, "--junit", str(there)).exit_code == 0
    assert "tests=" in there.read_text("utf-8")


@pytest.mark.parametrize("words", [("run", HELLO), ("judge", "out")], ids=["run", "judge"])
def test_an_empty_baseline_is_not_replaced_by_a_junit_report(words, saved, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("known.yaml").touch()
    result = conformance(*words, "--baseline", "known.yaml", "--junit", "./known.yaml")
    assert result.exit_code == 2
    assert "--junit './known.yaml': this file is read by this command" in result.stderr
    assert Path("known.yaml").read_bytes() == b""


def test_an_agent_that_leaves_the_folder_takes_no_file_with_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ("run", HELLO, "--agent", "python:leaving_agent:LEAVING", "--out", "out", "--junit", "junit.xml")
    assert conformance(*words).exit_code == 0
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "hello.blocking.1.jsonl",
        "hello.blocking.txt",
        "report.json",
    }
    assert (tmp_path / "junit.xml").exists()


def into_nothing(*words):
    """The exit code of the command in a pipe whose reader has gone before anything is written."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            [sys.executable, "-c", ENTRY, *words],
            stdout=writer,
            stderr=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": os.pathsep.join((str(ROOT), str(HERE)))},
            timeout=60,
            check=False,
        )
    finally:
        os.close(writer)
    assert b"Traceback" not in done.stderr
    assert b"BrokenPipe" not in done.stderr
    return done.returncode


def test_an_agent_that_exits_after_the_report_does_not_choose_the_code():
    assert into_nothing("run", HELLO, "--agent", "python:late_agent:LATE") == 1


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("run", HELLO), 0),
        (("run", HELLO, "--format", "json"), 0),
        (("run", HELLO, "--agent", "python:tiny_agents:HOSTILE"), 1),
        (("scenarios",), 141),
    ],
)
def test_a_report_that_nobody_reads_leaves_the_verdicts_own_code(words, code):
    assert into_nothing(*words) == code


def test_a_disk_that_is_full_is_told_with_what_was_not_played(tmp_path, monkeypatch):
    whole = Path.write_bytes

    def write(path, data):
        if path.name == "empty-once.streaming-whole.txt.part":
            raise OSError(28, "No space left on device", str(path))
        return whole(path, data)

    monkeypatch.setattr(Path, "write_bytes", write)
    result = conformance("run", HELLO, "empty-once", "--out", str(tmp_path / "out"))
    assert result.exit_code == 2
    assert last_line(result).endswith("It ended the run: 2 plays of 1 of 2 scenarios were made, the rest was not")


@pytest.mark.parametrize("value", ["0", "-1", "true"])
def test_a_default_of_no_rounds_is_no_declaration(value):
    result = conformance("run", HELLO, "--dialect", f"default_max_iters={value}")
    assert result.exit_code == 2
    assert "default_max_iters is " in result.stderr


def test_a_key_that_is_given_two_values_is_refused_and_one_that_is_repeated_is_not():
    result = conformance("run", HELLO, "--dialect", "on_limit=stop,on_limit=raise")
    assert result.exit_code == 2
    assert "on_limit is 'stop' and 'raise'; expected it once" in result.stderr
    assert conformance("run", HELLO, "--dialect", "events=native,events=native").exit_code == 0


def test_the_places_that_are_no_declaration_are_named_as_what_they_are(tmp_path):
    for place, what in ((str(tmp_path), "a folder"), ("/dev/null", "no regular file")):
        result = conformance("run", HELLO, "--dialect", place)
        assert result.exit_code == 2
        assert f"--dialect '{place}': this is {what}, expected a YAML or JSON file of dialect keys" in result.stderr


def test_a_folder_without_scenarios_is_said_to_hold_none(tmp_path):
    result = conformance("run", str(tmp_path))
    assert result.exit_code == 2
    assert f"the folder '{tmp_path}' holds no scenario; expected files that end in .yaml or .yml" in result.stderr


def test_a_word_that_is_near_to_no_scenario_is_not_answered_with_all_of_them():
    result = conformance("run", "xyzzyxyzzy")
    assert result.exit_code == 2
    assert len(result.stderr) < 300
    assert "`conformance scenarios` lists the " in result.stderr


def test_a_dialect_that_there_is_not_is_answered_with_the_names_once():
    result = conformance("dialects", "nosuch")
    assert result.exit_code == 2
    assert result.stderr.count("langgraph") <= 1
    assert result.stderr.count("known here: ") == 1


@pytest.mark.parametrize("spec", ["python:nosuch:A", "python:../x:A", "python:./agent.py:A", "python:a..b:A"])
def test_what_names_no_module_is_a_usage_error(spec):
    assert conformance("run", HELLO, "--agent", spec).exit_code == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("exceptions={Odd: brilliant}", "which is no outcome. Expected one of "),
        ("brilliant=1", "unknown key 'brilliant'. Known keys: "),
    ],
)
def test_two_sentences_are_parted_by_a_stop(words, said):
    result = conformance("run", HELLO, "--dialect", words)
    assert result.exit_code == 2
    assert said in result.stderr
