import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from conformance.cli import main
from conformance.cli.chosen import core
from conformance.cli.showing import unseen
from conformance.loading.loader import bundled, load_all
from conformance.report import Played, report

HERE = Path(__file__).parent
HELLO = str(HERE / "hello.yaml")
ROOT = HERE.parent.parent
ENTRY = "import sys; sys.argv[0] = 'conformance'; from conformance.cli import main; main()"


@pytest.fixture(autouse=True)
def agents_are_importable(monkeypatch):
    monkeypatch.syspath_prepend(str(HERE))


def conformance(*words):
    return CliRunner().invoke(main, words)


def run(agent, *words):
    return conformance("run", HELLO, "--agent", f"python:tiny_agents:{agent}", *words)


def in_a_process(*words, **environment):
    path = os.pathsep.join((str(ROOT), str(HERE)))
    return subprocess.run(
        [sys.executable, "-c", ENTRY, *words],
        capture_output=True,
        env=os.environ | {"PYTHONPATH": path} | environment,
        timeout=60,
        check=False,
        # Whoever runs these tests in the background may have it ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def test_an_agent_that_conforms_ends_with_0_and_its_certified_areas():
    result = run("HONEST")
    assert result.exit_code == 0
    assert "hello      pass" in result.stdout
    assert "  WIRE  certified " in result.stdout
    assert "%" not in result.stdout


def test_a_failing_scenario_shows_clause_place_reason_evidence_and_the_command_that_repeats_it():
    result = run("HANGING", "--dialect", "stop")
    assert result.exit_code == 1
    for part in ("RUN-2 MUST: ", "record 3: ! hung", "why: ", "seen: https://"):
        assert part in result.stdout
    assert f"again: conformance run {HELLO} --agent python:tiny_agents:HANGING --dialect stop" in result.stdout


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["run", HELLO, "--agent", "python:tiny_agents:UNOPENED"], 3, "no key is set"),
        (["run", HELLO, "--agent", "python:tiny_agents:MISSING"], 2, "'MISSING' is NoneType"),
        (["run", HELLO, "--agent", "python:tiny_agents:NOT_AN_AGENT"], 2, "is str"),
        (["run", HELLO, "--agent", "python:no_such_module:X"], 2, "no_such_module"),
        (["run", HELLO, "--agent", "python:tiny_agents"], 2, "expected python:package.module:NAME"),
        (["run", HELLO, "--agent", "pyton:a:B"], 2, "unknown kind 'pyton'"),
        (["run", HELLO, "--agent", "reference:summarise"], 2, "expected summarize"),
        (["run", HELLO, "--agent", "reference:on_limit=never"], 2, "on_limit is 'never'"),
        (["run", HELLO, "--agent", "python:tiny_agents:MISDECLARED"], 2, "on_limit is 'never'"),
        (["run", HELLO, "--dialect", "summarise"], 2, "did you mean 'summarize'?"),
        (["run", HELLO, "--dialect", "on_limit=never"], 2, "on_limit is 'never'"),
        (["run", HELLO, "--dialect", "on_limt=stop"], 2, "did you mean 'on_limit'?"),
        (["run", HELLO, "--dialect", "empty_is=a,b"], 2, 'empty_is=[no_parts, "null"]'),
        (["run", "helo-there-nobody"], 2, "'helo-there-nobody'"),
        (["run", HELLO, "--tag", "owm"], 2, "did you mean 'own'?"),
        (["run", HELLO, "--rule", "RUN-99"], 2, "there is no such rule"),
        (["run", HELLO, "--rule", "SUM-1"], 2, "exercise SUM-1"),
        (["run", HELLO, "--repeat", "0"], 2, "--repeat"),
        (["run", HELLO, "--out", HELLO], 2, "the folder cannot be made"),
        (["rum"], 2, "did you mean 'run'?"),
        (["rules", "RUN-99"], 2, "there is no rule 'RUN-99'"),
        (["judge", HELLO], 2, "no JSON object"),
        (["judge", str(HERE)], 2, "no *.jsonl file"),
        (["judge", "nowhere.jsonl"], 2, "cannot be read"),
        (["judge"], 2, "Missing argument"),
    ],
)
def test_what_a_user_can_get_wrong_ends_with_a_message_and_no_traceback(words, code, message):
    result = conformance(*words)
    assert (result.exit_code, type(result.exception)) == (code, SystemExit)
    assert message in result.output
    assert "Traceback" not in result.output


@pytest.fixture
def quiet(tmp_path):
    """A scenario that exercises a MUST which nothing in it arms."""
    file = tmp_path / "quiet.yaml"
    text = Path(HELLO).read_text(encoding="utf-8").replace("id: hello", "id: quiet").replace("RUN-2", "SUM-1")
    file.write_text(text, encoding="utf-8")
    return str(file)


def test_a_selection_is_asked_for_nothing_beyond_it(quiet):
    result = conformance("run", quiet, "--agent", "python:tiny_agents:HONEST")
    assert result.exit_code == 0
    assert "with nothing to judge" not in result.stdout


@pytest.mark.parametrize("verb", ["run", "judge"])
def test_over_the_whole_core_an_exercised_rule_that_was_never_armed_ends_with_3(quiet, tmp_path, monkeypatch, verb):
    monkeypatch.setattr("conformance.cli.showing.core", lambda: frozenset({"quiet"}))
    out = str(tmp_path / "out")
    result = conformance("run", quiet, "--agent", "python:tiny_agents:HONEST", "--out", out)
    if verb == "judge":
        result = conformance("judge", out)
    assert result.exit_code == 3
    assert "with nothing to judge in any scenario: SUM-1" in result.stdout
    assert result.stdout.splitlines()[-1] == "exit 3: no scenario of the core gave SUM-1 anything to judge"


def test_the_core_is_what_run_plays_without_a_selection():
    assert core() == {plan.id for plan in load_all(bundled()) if "core" in plan.tags}
    rep = report({}, {}, [Played("hello", "blocking", None, "no key")], [])
    assert unseen(rep, ["SUM-1"]) == ()
    whole = report({}, {}, [Played(name, "blocking", None, "no key") for name in core()], [])
    assert unseen(whole, ["SUM-1"]) == ["SUM-1"]


def test_a_wrong_declaration_is_told_on_stderr_and_leaves_stdout_empty():
    result = conformance("run", HELLO, "--agent", "python:tiny_agents:MISDECLARED", "--format", "json")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "on_limit is 'never'" in result.stderr


def test_events_of_an_agent_without_channel_e_are_told():
    result = run("SILENT")
    assert "5 events came, first in hello, but channel E is not declared" in result.stdout


def test_stdout_holds_the_json_report_alone_whatever_the_agent_prints():
    result = in_a_process("run", HELLO, "--agent", "python:tiny_agents:PRINTING", "--format", "json")
    assert result.returncode == 0
    assert json.loads(result.stdout)["totals"]["pass"] == 1
    assert b"printed by the agent" in result.stderr
    assert b"printed by a child of the agent" in result.stderr
    assert "hello · blocking · pass" in result.stderr.decode()


@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "latin-1"])
@pytest.mark.parametrize("form", ["terminal", "json"])
def test_hostile_text_reaches_no_terminal_and_no_encoding_stops_the_report(form, encoding):
    words = ("run", HELLO, "--agent", "python:tiny_agents:HOSTILE", "--format", form)
    result = in_a_process(*words, PYTHONIOENCODING=encoding, PYTHONUTF8="0")
    assert result.returncode == 1
    assert b"Traceback" not in result.stderr
    shown = (result.stdout + result.stderr).decode("utf-8", "replace")
    assert not set(shown) & {"\x1b", "\x9b"}
    assert "[bold]RED" in shown


def test_sigint_ends_with_130_and_what_was_played_so_far(tmp_path):
    words = ("run", HELLO, "--agent", "python:tiny_agents:INTERRUPTING", "--out", str(tmp_path), "--format", "json")
    result = in_a_process(*words)
    assert result.returncode == 130
    assert [run["cell"] for run in json.loads(result.stdout)["runs"]] == ["blocking"]
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "hello.blocking.1.jsonl",
        "hello.blocking.txt",
        "report.json",
    ]


def test_saved_recordings_are_judged_to_the_same_report(tmp_path):
    played = run("HONEST", "--out", str(tmp_path), "--format", "json", "--repeat", "2")
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["hello.blocking.1.jsonl", "hello.blocking.2.jsonl", "hello.blocking.txt", "report.json"]
    assert (tmp_path / "report.json").read_text(encoding="utf-8") == played.stdout
    judged = conformance("judge", str(tmp_path), "--format", "json")
    assert (judged.exit_code, judged.stdout) == (played.exit_code, played.stdout)


#: Some of the kit's and one's own, in no order: reports have one of their own.
SEVERAL = ("usage-of-a-failed-run", HELLO, "empty-once", "time-query-max-iters-1")


@pytest.mark.parametrize(
    ("agent", "repeat"),
    [("reference:on_limit=stop", 1), ("python:tiny_agents:MOODY", 1), ("python:tiny_agents:MOODY", 11)],
)
def test_judge_gives_byte_for_byte_what_run_gave(tmp_path, monkeypatch, agent, repeat):
    import tiny_agents  # noqa: PLC0415 - importable through the fixture

    monkeypatch.setattr(tiny_agents.Moody, "sessions", 0)
    words = ("--agent", agent, "--repeat", str(repeat), "--out", str(tmp_path), "--format", "json")
    played = conformance("run", *(SEVERAL if repeat == 1 else (HELLO,)), *words)
    judged = conformance("judge", str(tmp_path), "--format", "json")
    assert (judged.exit_code, judged.stdout) == (played.exit_code, played.stdout)
    cells = [(one["scenario"], one["cell"]) for one in json.loads(judged.stdout)["runs"]]
    order = ["empty-once", "time-query-max-iters-1", "usage-of-a-failed-run", "hello"] if repeat == 1 else ["hello"]
    assert cells == [(name, cell) for name in order for cell in ("blocking", "streaming/whole")]


def test_the_order_of_named_files_does_not_matter(tmp_path):
    conformance("run", HELLO, "empty-once", "--out", str(tmp_path))
    files = sorted(map(str, tmp_path.glob("*.jsonl")))
    one, other = (conformance("judge", *names, "--format", "json").stdout for names in (files, files[::-1]))
    assert one == other


def test_a_folder_that_holds_recordings_is_left_as_it_is(tmp_path):
    run("HONEST", "--out", str(tmp_path))
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    result = run("HANGING", "--out", str(tmp_path))
    assert result.exit_code == 2
    assert "already holds recordings (1 *.jsonl, such as hello.blocking.1.jsonl)" in result.stderr
    assert "name a new folder, or remove this one first" in result.stderr
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_failing_recording_fails_again_and_names_its_file(tmp_path):
    run("HANGING", "--out", str(tmp_path))
    saved = str(tmp_path / "hello.blocking.1.jsonl")
    judged = conformance("judge", saved)
    assert judged.exit_code == 1
    assert f"again: conformance judge {saved}" in judged.stdout


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda text: text[: text.rindex('{"records"')], "the file was cut short"),
        (lambda text: text.replace('"usage_events":"none"', '"usage_events":"some"'), "usage_events is 'some'"),
        (lambda text: text.replace('"why":', '"wy":'), "does not hold to the format"),
        (lambda text: text.replace('"call":"m1"', '"cal":"m1"'), "the records do not fit together"),
        (lambda text: text.replace('"chunking":"whole"}', '"chunk":"whole"}'), "cell cannot be read"),
    ],
)
def test_a_damaged_recording_is_named_with_what_is_wrong(tmp_path, damage, message):
    run("HONEST", "--out", str(tmp_path))
    saved = tmp_path / "hello.blocking.1.jsonl"
    text = saved.read_text(encoding="utf-8")
    assert damage(text) != text
    saved.write_text(damage(text), encoding="utf-8")
    result = conformance("judge", str(saved))
    assert (result.exit_code, type(result.exception)) == (2, SystemExit)
    assert message in result.output


def test_recordings_of_two_agents_are_not_added_up(tmp_path):
    run("HONEST", "--out", str(tmp_path / "a"))
    conformance("run", HELLO, "--out", str(tmp_path / "b"))
    result = conformance("judge", str(tmp_path / "a"), str(tmp_path / "b"))
    assert result.exit_code == 2
    assert "judge one agent at a time" in result.output


def test_a_dialect_is_a_word_pairs_or_a_file(tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text("on_limit: stop\nusage_events: none\n", encoding="utf-8")
    for name in ("stop", "on_limit=stop", "limit_text=none,limit_terminal=flagged", str(file)):
        result = run("HONEST", "--dialect", name, "--format", "json")
        assert result.exit_code == 0
        declared = json.loads(result.stdout)["dialect"]
        # The agent's own keys stay where the name does not speak of them.
        assert (declared["on_limit"], declared["usage_events"]) == ("stop", "none")


def test_the_reference_is_played_in_the_dialect_of_its_spec():
    result = conformance(
        "run", HELLO, "--agent", 'reference:on_limit=error,empty_response={"retry_then_error": 2}', "--format", "json"
    )
    declared = json.loads(result.stdout)["dialect"]
    assert (declared["on_limit"], declared["empty_response"]) == ("error", {"retry_then_error": 2})


def test_x_stops_at_the_first_play_that_fails():
    result = run("HANGING", "-x", "--repeat", "3")
    assert result.stderr.splitlines()[:-1] == ["hello · blocking · fail"]


def test_the_number_of_plays_and_their_seconds_stand_on_stderr_alone():
    result = run("HONEST", "--repeat", "2")
    assert re.fullmatch(r"2 plays in \d+\.\d s", result.stderr.splitlines()[-1])
    assert " plays in " not in result.stdout
    assert re.search(r"^1 play in ", run("HONEST").stderr, re.MULTILINE)


def test_more_plays_than_one_command_makes_are_refused_before_the_first():
    result = run("HONEST", "--repeat", "20001")
    assert result.exit_code == 2
    assert "20001 plays were asked for (1 scenarios x 1 cells x 20001 repeats)" in result.stderr
    assert result.stdout == ""


def test_the_matrix_is_printed_by_run_and_by_judge(tmp_path):
    out = str(tmp_path / "out")
    played = run("HONEST", "--matrix", "--out", out).stdout
    judged = conformance("judge", out, "--matrix").stdout
    for text in (played, judged):
        assert "answered   RUN_FINISHED, says answered" in text
        assert "results that reached the model: 0 of 0" in text
    assert "what a program reads" not in conformance("judge", out).stdout


def test_help_starts_without_what_plays_and_judges():
    code = (
        "import sys\ntry:\n    from conformance.cli import main\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
    )
    code += "print(sorted({'yaml', 'jsonschema', 'rich', 'ag_ui', 'pydantic', 'asyncio', 'conformance.judge'} & set(sys.modules)))"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, timeout=60, check=True
    )
    assert result.stdout.splitlines()[-1] == "[]"
    for verb in ("run", "judge", "lint", "rules", "scenarios", "agents", "selftest"):
        assert f"\n  {verb} " in result.stdout
