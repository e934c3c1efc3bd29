"""Files and streams that are not what a command needs: said at once, nothing of them is destroyed, and no report is lost with them."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from conformance.cli import main, saved

HERE = Path(__file__).parent
HELLO = str(HERE / "hello.yaml")
ROOT = HERE.parent.parent
ENTRY = "import sys; sys.argv[0] = 'conformance'; from conformance.cli import main; main()"


def conformance(*words):
    return CliRunner().invoke(main, words)


def in_a_shell(redirected, *words):
    """The command, its streams redirected as a shell writes it."""
    line = f'exec "$0" -c "$1" {" ".join(words)} {redirected}'
    return subprocess.run(
        ["/bin/sh", "-c", line, sys.executable, ENTRY],
        capture_output=True,
        cwd=ROOT,
        # Buffered, as it is unless someone says otherwise.
        env={name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"},
        text=True,
        timeout=60,
        check=False,
    )


@pytest.fixture
def full(monkeypatch):
    """Every write to a file with this ending meets a full disk."""
    whole = Path.write_bytes

    def fill(ending):
        def write(path, data):
            if path.name.endswith(ending):
                raise OSError(28, "No space left on device", str(path))
            return whole(path, data)

        monkeypatch.setattr(Path, "write_bytes", write)

    return fill


@pytest.mark.parametrize("verb", ["judge", "diff"])
def test_a_pipe_in_the_place_of_a_recording_is_refused_and_not_waited_for(verb, tmp_path):
    pipe = tmp_path / "pipe.jsonl"
    os.mkfifo(pipe)
    words = {"judge": [str(pipe)], "diff": [str(tmp_path), str(pipe)]}[verb]
    result = conformance(verb, *words)
    assert result.exit_code == 2
    assert f"{pipe}: this is no regular file" in result.stderr


def test_a_device_without_an_end_is_not_read():
    result = conformance("judge", "/dev/zero")
    assert result.exit_code == 2
    assert "/dev/zero: this is no regular file" in result.stderr


def test_a_file_larger_than_any_recording_is_not_read(tmp_path):
    sparse = tmp_path / "huge.jsonl"
    with sparse.open("wb") as file:
        file.truncate(saved.MAX_BYTES + 1)
    result = conformance("judge", str(sparse))
    assert result.exit_code == 2
    assert f"the file has {saved.MAX_BYTES + 1} bytes" in result.stderr


def test_what_is_no_regular_file_is_never_replaced_by_a_junit_report(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    result = conformance("run", HELLO, "--junit", str(pipe))
    assert result.exit_code == 2
    assert f"--junit '{pipe}': this is no regular file" in result.stderr
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_link_stays_a_link_and_the_report_is_where_it_leads(tmp_path):
    there, link = tmp_path / "there.xml", tmp_path / "link.xml"
    there.touch()
    link.symlink_to(there)
    assert conformance("run", HELLO, "--junit", str(link)).exit_code == 0
    assert link.is_symlink()
    assert there.read_text("utf-8").startswith("<?xml")


@pytest.mark.parametrize("option", ["--junit", "--out"])
def test_a_place_where_nothing_can_be_written_is_refused_before_anything_is_played(option, tmp_path, monkeypatch):
    def refuse(path, *_, **__):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "touch", refuse)
    result = conformance("run", HELLO, option, str(tmp_path / "place"))
    assert result.exit_code == 2
    assert result.stdout == ""
    assert f"{option} '{tmp_path / 'place'}'" in result.stderr
    assert "Permission denied" in result.stderr


def test_an_empty_name_is_no_folder_to_save_in(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = conformance("run", HELLO, "--out", "")
    assert result.exit_code == 2
    assert "--out ''" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_costs_the_report_on_it_and_no_other(full, tmp_path):
    full("report.json.part")
    junit = tmp_path / "junit.xml"
    result = conformance("run", HELLO, "--out", str(tmp_path / "out"), "--junit", str(junit))
    assert result.exit_code == 2
    assert "1 scenario: 2 pass" in result.stdout
    assert junit.exists()
    assert "report.json: the file cannot be written" in result.stderr


def test_a_disk_that_is_full_while_playing_ends_it_with_what_was_played(full, tmp_path):
    full("empty-once.streaming-whole.txt.part")
    result = conformance("run", HELLO, "empty-once", "--out", str(tmp_path / "out"))
    assert result.exit_code == 2
    assert "empty-once" in result.stdout
    assert "hello" not in result.stdout
    assert "empty-once.streaming-whole.txt: the file cannot be written" in result.stderr
    assert (tmp_path / "out" / "report.json").exists()


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", "<&- >&- 2>&-"])
def test_a_stream_that_is_closed_changes_no_verdict(closed):
    done = in_a_shell(closed, "run", "answer-dot")
    assert done.returncode == 0
    assert "Traceback" not in done.stdout + done.stderr


@pytest.mark.parametrize("words", [("--help",), ("run", "--help"), ("--version",), ("scenarios",)])
def test_a_stdout_without_room_is_a_message_for_every_command(words):
    done = in_a_shell(">/dev/full", *words)
    assert done.returncode == 2
    assert done.stderr == "the system refused: [Errno 28] No space left on device\n"


def test_a_folder_that_is_gone_is_said(tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    result = conformance("run", HELLO)
    assert result.exit_code == 2
    assert "the current folder is not there any more" in result.stderr
