"""`--fit`: the declaration that fits, as a file on stdout that `--dialect` takes."""

import pytest
from click.testing import CliRunner

from conformance.cli import main
from conformance.loading.dialect_files import in_file

SHORT = ("time-query-max-iters-1", "server-error-forever")


def conformance(*words):
    return CliRunner().invoke(main, words)


def test_what_run_prints_fits_when_it_is_declared(tmp_path):
    mine = tmp_path / "mine.yaml"
    first = conformance("run", *SHORT, "--dialect", "http_retry=none,limit_unit=steps", "--fit")
    assert first.exit_code == 0
    mine.write_text(first.stdout)
    assert in_file(mine)["http_retry"] == "transient"
    assert "http_retry: transient  # seen in server-error-forever; declared was none\n" in first.stdout
    assert "limit_unit: steps  # as declared; not seen to be otherwise\n" in first.stdout
    again = conformance("run", *SHORT, "--dialect", str(mine), "--format", "json")
    assert "DIA-1" in again.stdout
    assert '"fits"' not in again.stdout


def test_judge_fits_saved_recordings_as_run_does(tmp_path):
    played = conformance("run", *SHORT, "--dialect", "error", "--fit", "--out", str(tmp_path / "out"))
    judged = conformance("judge", str(tmp_path / "out"), "--fit")
    assert (played.exit_code, judged.exit_code) == (0, 0)
    assert judged.stdout == played.stdout
    assert "on_limit: summarize  # seen in time-query-max-iters-1; declared was error\n" in judged.stdout


@pytest.mark.parametrize("beside", [("--strict",), ("--junit", "x.xml"), ("--format", "json"), ("--baseline", "x")])
def test_what_only_a_report_has_a_use_for_is_refused(beside, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    refused = conformance("run", *SHORT, "--fit", *beside)
    assert refused.exit_code == 2
    assert f"leave out {beside[0]}" in refused.output


def test_an_agent_that_cannot_be_played_leaves_nothing_to_fit(tmp_path):
    (tmp_path / "closed.py").write_text("")
    refused = conformance("run", *SHORT, "--agent", "command:false", "--fit")
    assert refused.exit_code == 3
    assert refused.stdout == ""


def test_dialects_are_listed_and_printed_as_files_and_pages():
    assert "langchain    LangChain, as create_agent runs it\n" in conformance("dialects").stdout
    assert "dialect:\n  on_limit: stop\n" in conformance("dialects", "stop").stdout
    assert conformance("dialects", "stop", "--page").stdout.startswith("# stop: ")
    assert conformance("dialects", "--page").stdout.startswith("# Dialects\n")
    assert "did you mean 'stop'?" in conformance("dialects", "stpo").output
