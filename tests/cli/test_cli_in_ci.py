"""What `run`, `judge` and `diff` do for CI: baselines, JUnit files, comparisons, exit codes."""

import json
from pathlib import Path
from xml.dom import minidom

import pytest
from click.testing import CliRunner

from conformance.cli import main

HERE = Path(__file__).parent
HELLO = str(HERE / "hello.yaml")


@pytest.fixture(autouse=True)
def agents_are_importable(monkeypatch):
    monkeypatch.syspath_prepend(str(HERE))


@pytest.fixture
def baseline(tmp_path):
    """A function that writes a baseline and gives its name."""

    def write(*lines):
        path = tmp_path / "baseline.yaml"
        path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
        return str(path)

    return write


def conformance(*words):
    return CliRunner().invoke(main, words)


def run(agent, *words):
    return conformance("run", HELLO, "--agent", f"python:tiny_agents:{agent}", *words)


def counts(path):
    root = minidom.parse(str(path)).documentElement
    return [int(root.getAttribute(key)) for key in ("tests", "failures", "errors", "skipped")]


EXPECTED = "- {scenario: hello, rule: RUN-2, reason: it hangs}"
#: What hangs does not end its stream of events either.
HANGS = (EXPECTED, "- {scenario: hello, rule: RUN-1, reason: it hangs}")
OTHERS = "- {scenario: empty-once, rule: REC-1, reason: not played here}"


def test_what_the_report_offers_to_list_makes_it_green(baseline, tmp_path):
    empty, out = baseline(), str(tmp_path / "out")
    first = run("HANGING", "--baseline", empty, "--out", out)
    assert first.exit_code == 1
    head, _, entries = first.stdout.partition("list it in the baseline and give each entry its reason:\n")
    assert "1 scenario: 1 fail" in head
    refused = conformance("judge", out, "--baseline", baseline(entries))
    assert refused.exit_code == 2
    assert "the reason is left blank ('')" in refused.stderr
    listed = baseline(entries.replace('""', "it hangs"))
    for again in (run("HANGING", "--baseline", listed), conformance("judge", out, "--baseline", listed)):
        assert "1 scenario: 1 expected-fail" in again.stdout
        assert "RUN-2 in hello (blocking): it hangs" in again.stdout
        assert "list it in the baseline" not in again.stdout
        assert again.exit_code != 1


def test_without_a_baseline_nothing_is_offered():
    assert "baseline" not in run("HANGING").stdout


def test_what_is_mended_fails_until_it_is_taken_off_the_list(baseline, tmp_path):
    listed = baseline("# known", EXPECTED, OTHERS)
    result = run("HONEST", "--baseline", listed, "--out", str(tmp_path / "out"))
    assert result.exit_code == 1
    assert "1 scenario: 1 stale" in result.stdout
    assert "stale: the baseline lists what does not fail any more" in result.stdout
    flat = "".join(result.stdout.split())
    assert "".join(f"RUN-2 in hello (blocking): {listed}:2 lists it; remove that entry".split()) in flat
    assert run("HONEST", "--baseline", baseline(OTHERS)).exit_code == 0


def test_the_json_report_and_the_saved_one_know_the_baseline(baseline, tmp_path):
    listed, out = baseline(*HANGS), tmp_path / "out"
    shown = run("HANGING", "--baseline", listed, "--out", str(out), "--format", "json").stdout
    assert (out / "report.json").read_text("ascii") == shown
    assert conformance("judge", str(out), "--baseline", listed, "--format", "json").stdout == shown
    data = json.loads(shown)
    assert (data["totals"]["expected-fail"], data["totals"]["fail"]) == (1, 0)
    (result,) = [one for one in data["runs"][0]["results"] if one["rule"] == "RUN-2"]
    assert (result["verdict"], result["reason"], len(result["findings"])) == ("expected-fail", "it hangs", 1)


def test_a_play_that_could_not_be_run_is_neither_expected_nor_stale(baseline):
    result = run("UNOPENED", "--baseline", baseline(EXPECTED))
    assert result.exit_code == 3
    assert "stale" not in result.stdout + result.stderr


def test_x_goes_on_past_what_is_expected(baseline):
    assert len(run("HANGING", "-x", "--repeat", "2", "--baseline", baseline(*HANGS)).stderr.splitlines()) == 3
    assert len(run("HANGING", "-x", "--repeat", "2", "--baseline", baseline(EXPECTED)).stderr.splitlines()) == 2


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["- {scenario: helo, rule: RUN-2, reason: x}"], ":1:14: [0].scenario: there is no scenario 'helo' here"),
        (["- {scenario: hello, rule: RUN-22, reason: x}"], "there is no rule 'RUN-22' here; did you mean"),
        (["- {scenario: hello, rule: RUN-2, cell: streamed, reason: x}"], "there is no cell 'streamed' here"),
        (["# known", "- {scenario: hello, rule: RUN-2}"], ":2:3: [0]: 'reason' must be written here"),
        (["\x1b"], "may not stand in a YAML file"),
    ],
)
@pytest.mark.parametrize("verb", ["run", "judge"])
def test_a_wrong_baseline_is_a_usage_error_before_anything_is_played(baseline, tmp_path, verb, lines, message):
    out = str(tmp_path / "out")
    if verb == "judge":
        run("HONEST", "--out", out)
        result = conformance("judge", out, "--baseline", baseline(*lines))
    else:
        result = run("HONEST", "--baseline", baseline(*lines), "--out", out)
        assert not Path(out).exists()
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr


@pytest.mark.parametrize("name", ["nowhere.yaml", str(HERE)])
def test_a_baseline_that_is_no_file_is_named(name):
    result = run("HONEST", "--baseline", name)
    assert result.exit_code == 2
    assert f"--baseline {name!r}: there is no such file" in result.stderr


@pytest.mark.parametrize(
    ("agent", "words", "expected"),
    [
        ("HONEST", (), [1, 0, 0, 0]),
        ("HANGING", (), [1, 1, 0, 0]),
        ("UNOPENED", (), [1, 0, 1, 0]),
        ("HOSTILE", (), [1, 1, 0, 0]),
        ("HANGING", ("--baseline",), [1, 0, 0, 1]),
        ("HONEST", ("--baseline",), [1, 1, 0, 0]),
    ],
)
def test_a_junit_file_is_written_beside_the_report(baseline, tmp_path, agent, words, expected):
    words = (*words, baseline(*HANGS)) if words else ()
    xml = tmp_path / "a folder" / "junit.xml"
    plain = run(agent, *words, "--format", "json")
    result = run(agent, *words, "--format", "json", "--junit", str(xml))
    assert (result.exit_code, result.stdout) == (plain.exit_code, plain.stdout)
    assert counts(xml) == expected


def test_judge_writes_it_too_and_names_its_files(tmp_path):
    out, xml = tmp_path / "out", tmp_path / "junit.xml"
    run("HANGING", "--out", str(out))
    conformance("judge", str(out), "--junit", str(xml))
    assert counts(xml) == [1, 1, 0, 0]
    assert f"again: conformance judge {out}/hello.blocking.1.jsonl" in xml.read_text("utf-8")


@pytest.mark.parametrize(("name", "message"), [(HERE, "this is a folder"), (Path(HELLO) / "x.xml", "cannot be made")])
def test_where_no_junit_file_can_be_written_nothing_is_played(tmp_path, name, message):
    out = tmp_path / "out"
    result = run("HONEST", "--junit", str(name), "--out", str(out))
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"--junit {str(name)!r}: " in result.stderr
    assert message in result.stderr
    assert not out.exists()


@pytest.fixture
def lots(tmp_path):
    """Recordings of two agents, and of one of them a second time."""
    for name, agent in (("a", "HONEST"), ("again", "HONEST"), ("b", "HANGING")):
        run(agent, "--out", str(tmp_path / name))
    return {name: str(tmp_path / name) for name in ("a", "again", "b")}


def test_two_runs_that_do_the_same_do_not_differ(lots):
    result = conformance("diff", lots["a"], lots["again"])
    assert result.exit_code == 0
    assert result.stdout.splitlines()[-1] == "0 differ, 0 only in A, 0 only in B, 1 the same"


@pytest.mark.parametrize("which", ["", "hello.blocking.1.jsonl"])
def test_what_changed_is_told_with_the_place_where_the_recordings_part(lots, which):
    result = conformance("diff", lots["a"], str(Path(lots["b"]) / which))
    assert result.exit_code == 1
    assert "hello · blocking\n" in result.stdout
    assert "  RUN-2: pass -> fail\n" in result.stdout
    # 1 kit/run_start, 2 RUN_STARTED, 3 the request that the hanging agent never makes.
    assert '    A record 3 model/request: M m1 regular [user] tools=none -> text "Hello." (stop)\n' in result.stdout
    assert "    B record 3 " in result.stdout


def test_the_json_form_has_the_keys_of_its_page(lots):
    result = conformance("diff", lots["a"], lots["b"], "--format", "json")
    data = json.loads(result.stdout)
    assert result.exit_code == 1
    page = (HERE.parents[1] / "docs/ci.md").read_text("utf-8")
    assert [
        key for key in (*data, *data["differ"][0], *data["differ"][0]["parts"]["a"]) if f"`{key}`" not in page
    ] == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nowhere"], "Missing argument"),
        (["nowhere", "nowhere"], "cannot be read"),
        ([HELLO, HELLO], "no JSON object"),
        ([str(HERE), str(HERE)], "no *.jsonl file"),
    ],
)
def test_what_cannot_be_read_ends_a_comparison_with_2(words, message):
    result = conformance("diff", *words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr


def test_a_recording_that_was_cut_short_is_not_compared(lots):
    saved = Path(lots["b"]) / "hello.blocking.1.jsonl"
    saved.write_text(saved.read_text("utf-8").rpartition('{"records"')[0], "utf-8")
    result = conformance("diff", lots["a"], lots["b"])
    assert result.exit_code == 2
    assert "the file was cut short" in result.stderr
