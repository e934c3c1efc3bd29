"""Stable texts as snapshots: written, equal, changed and unused, for a test's own runs and for collected scenarios."""

import pytest
from loop_agents import TWO_CALLS

SNAPPED = """
import pytest

@pytest.mark.parametrize("scenario", SCENARIOS)
def test_snapped(scenario, conformance_run, conformance_snapshot):
    assert conformance_run(scenario, agent="python:keeps:AGENT") == conformance_snapshot
"""
#: Below __snapshots__: the test's module, its name, and the run's own name.
FILE = "__snapshots__/test_snapped/test_snapped[two-calls.yaml][loop.two-calls.blocking].txt"


def snapped(project, *scenarios):
    project.makepyfile(test_snapped=SNAPPED.replace("SCENARIOS", repr(list(scenarios))))


def one_more_tool_run(project):
    path = project.path / "two-calls.yaml"
    path.write_text(path.read_text("utf-8").replace("[tide, wind]", "[tide, wind, wind]"), "utf-8")


def test_a_snapshot_that_is_not_there_fails_and_is_written_on_request_as_readable_text(project):
    snapped(project, "two-calls.yaml")
    missing = project.runpytest()
    missing.assert_outcomes(failed=1)
    missing.stdout.fnmatch_lines(["*does not exist!*"])
    project.runpytest("--snapshot-update").assert_outcomes(passed=1)
    assert (project.path / FILE).read_text("utf-8").splitlines() == [
        "two-calls · loop · openai_chat · blocking · whole",
        "no terminal event · answered · 2 model calls (2 regular) · 0 attempts · 2 tool runs · 0 events",
        "",
        'run r1 s1 "Can we sail?"',
        "M m1 regular [user] tools=tide,wind -> call c1 tide {}, call c2 wind {} (tool_calls)",
        'T x1 c1 tide {} -> "low"',
        'T x2 c2 wind {} -> "strong"',
        'M m2 regular [user, assistant(c1,c2), tool(c1), tool(c2)] tools=tide,wind -> text "No." (stop)',
    ]
    project.runpytest().assert_outcomes(passed=1)


def test_behaviour_that_changed_is_a_red_test_with_the_lines_that_differ(project):
    snapped(project, "two-calls.yaml")
    project.runpytest("--snapshot-update")
    one_more_tool_run(project)
    result = project.runpytest("-vv")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(['E *+ T x3 c3 wind {} -> "strong"'])
    project.runpytest("--snapshot-update").assert_outcomes(passed=1)
    project.runpytest().assert_outcomes(passed=1)


def test_an_unused_snapshot_fails_the_session_and_is_deleted_on_update(project):
    snapped(project, "two-calls.yaml", "answer-dot")
    project.runpytest("--snapshot-update")
    snapped(project, "answer-dot")
    result = project.runpytest()
    result.assert_outcomes(passed=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*1 snapshot unused*"])
    project.runpytest("--snapshot-update")
    assert not (project.path / FILE).exists()


def test_what_is_no_run_is_told_apart(project):
    project.makepyfile("def test_it(conformance_snapshot):\n    assert 'text' == conformance_snapshot")
    result = project.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E *compared with 'text', expected what conformance_run gives"])


def test_without_syrupy_both_ways_say_what_they_lack(project):
    project.makepyfile("def test_it(conformance_snapshot): pass")
    off = ("-p", "no:syrupy")
    result = project.runpytest(*off)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["conformance_snapshot is a snapshot of syrupy, and syrupy is switched off*"])
    words = ("--conformance-agent", "reference", "--conformance-snapshots", "kept")
    assert project.runpytest(*off, *words).ret == pytest.ExitCode.USAGE_ERROR


def collected(project, *more, scenarios="own", run="runpytest"):
    words = ("--conformance-agent", "python:keeps:AGENT", "--conformance-snapshots", "kept")
    return getattr(project, run)(*words, "--conformance-scenarios", scenarios, *more)


@pytest.fixture
def own(project):
    folder = project.mkdir("own")
    for name in ("two-calls", "again"):
        (folder / f"{name}.yaml").write_text(TWO_CALLS.replace("id: two-calls", f"id: {name}"), "utf-8")
    return folder


@pytest.mark.parametrize("spread", [(), ("-n", "2")])
def test_collected_scenarios_keep_their_texts_in_a_folder_per_agent(project, own, spread):
    run = "runpytest_subprocess" if spread else "runpytest"
    if not spread:
        missing = collected(project, run=run)
        missing.assert_outcomes(failed=2)
        missing.stdout.fnmatch_lines(["snapshot *two-calls.blocking.txt does not exist; *", "snapshots: 2 failed"])
    written = collected(project, "--snapshot-update", *spread, run=run)
    written.assert_outcomes(passed=2)
    written.stdout.fnmatch_lines(["snapshots: 2 written"])
    assert sorted(path.name for path in (project.path / "kept/loop").iterdir()) == [
        "again.blocking.txt",
        "two-calls.blocking.txt",
    ]
    collected(project, *spread, run=run).assert_outcomes(passed=2)


def test_a_collected_scenario_that_changed_is_red_with_a_diff(project, own):
    collected(project, "--snapshot-update")
    path = own / "two-calls.yaml"
    path.write_text(path.read_text("utf-8").replace("[tide, wind]", "[tide, wind, wind]"), "utf-8")
    result = collected(project)
    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines(["snapshot *two-calls.blocking.txt differs*", '+T x3 c3 wind {} -> "strong"'])
    collected(project, "--snapshot-update-new-only").assert_outcomes(failed=1, passed=1)
    collected(project, "--snapshot-update").assert_outcomes(passed=2)


def test_a_kept_text_that_no_scenario_uses_any_more_is_unused_as_syrupy_has_it(project, own):
    collected(project, "--snapshot-update")
    (own / "two-calls.yaml").unlink()
    kept = project.path / "kept/loop/two-calls.blocking.txt"
    fails = collected(project)
    fails.assert_outcomes(passed=1)
    assert fails.ret == pytest.ExitCode.TESTS_FAILED
    fails.stdout.fnmatch_lines(["snapshot unused: *two-calls.blocking.txt*"])
    assert collected(project, "--snapshot-warn-unused").ret == pytest.ExitCode.OK
    assert collected(project, "--snapshot-disable-unused").ret == pytest.ExitCode.OK
    assert collected(project, "--snapshot-update", "--snapshot-no-cleanup").ret == pytest.ExitCode.OK
    assert kept.is_file()
    assert collected(project, "--snapshot-update").ret == pytest.ExitCode.OK
    assert not kept.exists()


def test_a_selection_of_scenarios_leaves_the_texts_of_others_alone(project, own):
    collected(project, "--snapshot-update")
    assert collected(project, scenarios="own/again.yaml").ret == pytest.ExitCode.OK
    assert collected(project, "-k", "again").ret == pytest.ExitCode.OK
    assert collected(project, "--snapshot-update", "-k", "again").ret == pytest.ExitCode.OK
    assert (project.path / "kept/loop/two-calls.blocking.txt").is_file()
