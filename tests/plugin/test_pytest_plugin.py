"""Scenarios as tests: collected, played, judged each and all together, with pytest's own options and pytest-xdist."""

import re
import sys
from dataclasses import replace

import pytest
from loop_agents import AGENTS, TWO_CALLS

from conformance.pytest_plugin import collected
from conformance.rule import Finding
from conformance.rules import RULES


def agent(name, *more):
    return ("--conformance-agent", f"python:{name}:AGENT", "--conformance-scenarios", "two-calls.yaml", *more)


def test_an_agent_that_loses_a_tool_result_is_a_red_test_that_says_where(project):
    result = project.runpytest(*agent("loses"))
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.assert_outcomes(failed=1)
    out = result.stdout.str()
    assert re.search(r"^fail HIS-1 MUST: .", out, re.MULTILINE)
    assert re.search(r"^    > M m2 regular \[user, assistant\(c1,c2\), tool\(c1\)\]", out, re.MULTILINE)
    assert re.search(r"^  why: .", out, re.MULTILINE)
    assert "FAILED conformance::two-calls[blocking] - Failed: " in out
    assert "Traceback" not in out
    assert "items.py" not in out


def test_an_agent_that_keeps_them_is_green(project):
    result = project.runpytest(*agent("keeps", "-v"))
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(
        ["*collected 1 item", "conformance::two-calls?blocking? PASSED*", "*= conformance of loop =*"]
    )


def test_without_a_selection_the_core_is_played_in_every_cell(project):
    result = project.runpytest("--conformance-agent", "reference", "--collect-only", "-q")
    ids = [line for line in result.outlines if line.startswith("conformance::")]
    assert "conformance::time-query-max-iters-1[blocking]" in ids
    assert "conformance::time-query-max-iters-1[streaming-whole]" in ids
    assert len(ids) == len(set(ids)) > 100


def test_k_selects_by_scenario_cell_rule_and_tag(project):
    def chosen(word):
        result = project.runpytest("--conformance-agent", "reference", "--collect-only", "-q", "-k", word)
        return {line.removeprefix("conformance::") for line in result.outlines if line.startswith("conformance::")}

    assert chosen("max-iters-1 and time-query and blocking") == {"time-query-max-iters-1[blocking]"}
    assert "summary-asks-for-a-tool[blocking]" in chosen("SUM-3")
    assert "summary-asks-for-a-tool[blocking]" not in chosen("overflow")


@pytest.mark.parametrize(
    ("given", "count"), [("conformance::", 4), ("conformance::empty-once", 2), ("conformance::empty-once[blocking]", 1)]
)
def test_ids_on_the_command_line_select_these_and_no_other_test(project, given, count):
    project.makepyfile(test_own="def test_own(): pass")
    scenarios = [word for name in ("empty-once", "answer-dot") for word in ("--conformance-scenarios", name)]
    result = project.runpytest("--conformance-agent", "reference", *scenarios, given)
    result.assert_outcomes(passed=count)


def test_own_tests_and_scenarios_run_in_one_session(project):
    project.makepyfile(test_own="def test_own(): pass")
    project.runpytest(*agent("keeps")).assert_outcomes(passed=2)


def test_last_failed_plays_only_what_failed(project):
    both = ("--conformance-agent", "python:loses:AGENT", "--conformance-scenarios", "two-calls.yaml")
    both += ("--conformance-scenarios", "answer-dot")
    project.runpytest(*both).assert_outcomes(failed=1, passed=1)
    project.runpytest(*both, "--lf").assert_outcomes(failed=1, deselected=1)


def test_junit_names_scenario_cell_and_verdict(project):
    project.runpytest(*agent("loses", "--junitxml=out.xml"))
    xml = (project.path / "out.xml").read_text("utf-8")
    assert 'classname="conformance" name="two-calls[blocking]"' in xml
    assert '<property name="conformance.verdict" value="fail" />' in xml


def test_what_cannot_be_opened_is_an_error_and_no_failure(project):
    result = project.runpytest(*agent("closed"))
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*could not be run: agent 'loop': opening a session raised KeyError*"])


def test_where_nothing_of_the_agent_could_be_judged_the_test_is_skipped_with_the_reason(project):
    optional = TWO_CALLS.replace("tide, wind]", "tide, wind]\n        optional: true")
    optional = optional.replace("answer: No.", "answer: No.\n        optional: true")
    (project.path / "two-calls.yaml").write_text(optional, "utf-8")
    result = project.runpytest(*agent("mute", "-rs"))
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["SKIPPED*two-calls?blocking?: nothing that the agent did could be judged (*ACT-1: *"])


def test_what_the_agent_does_not_have_is_skipped_and_told_in_the_summary(project):
    cancelled = TWO_CALLS.replace("    model:", "    cancel: in_tools\n    model:", 1)
    (project.path / "two-calls.yaml").write_text(cancelled, "utf-8")
    result = project.runpytest(*agent("keeps", "-rs"))
    result.assert_outcomes(skipped=1)
    lacks = "not played, since the agent does not have capability cancel"
    result.stdout.fnmatch_lines([f"SKIPPED*two-calls?blocking?: {lacks}"])
    result.stdout.fnmatch_lines(["not played conformance::two-calls?blocking?: capability cancel"])


def test_a_warning_stands_in_the_summary_and_fails_only_when_strict(project):
    one = ("--conformance-agent", "python:keeps:AGENT", "--conformance-scenarios", "ids-repeated-across-rounds")
    result = project.runpytest(*one)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["warn ids-repeated-across-rounds ?blocking? HIS-3b: *"])
    project.runpytest(*one, "--conformance-strict").assert_outcomes(failed=1)


def test_a_dialect_given_by_hand_takes_the_place_of_the_declared_one(project):
    result = project.runpytest(*agent("keeps", "--conformance-dialect", "on_limit=error"))
    result.stdout.fnmatch_lines(["judged under *on_limit=error*"])


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--conformance-agent", "smoke-signals:x"), "unknown kind 'smoke-signals'"),
        (("--conformance-agent", "python:keeps:NOBODY"), "expected an InProcessAgent"),
        (("--conformance-agent", "reference", "--conformance-scenarios", "empty-onse"), "did you mean 'empty-once'?"),
        (("--conformance-agent", "reference", "--conformance-dialect", "stopp"), "--conformance-dialect 'stopp'"),
        (("--conformance-agent", "reference", "conformance::nope"), "'conformance::nope' names no scenario"),
        (("--conformance-scenarios", "empty-once"), "--conformance-agent is not"),
    ],
)
def test_what_is_not_there_is_a_usage_error(project, words, says):
    result = project.runpytest(*words)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert says in result.stderr.str()
    assert "Traceback" not in result.stderr.str()


def test_a_scenario_with_a_problem_is_a_usage_error_with_its_place(project):
    (project.path / "two-calls.yaml").write_text(TWO_CALLS.replace("answer: No.", "anwser: No."), "utf-8")
    result = project.runpytest(*agent("keeps"))
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "two-calls.yaml:14:9" in result.stderr.str()


def test_the_clock_of_a_python_agent_is_frozen_for_no_other_test(project):
    project.makepyfile(
        test_clock="""
        import time

        REAL = time.time

        def test_clock(conformance_run):
            conformance_run("answer-dot", agent="python:keeps:AGENT")
            assert time.time is REAL
        """
    )
    project.runpytest(*agent("keeps")).assert_outcomes(passed=2)


def test_an_agent_that_is_a_process_is_started_once_for_all_scenarios(project):
    path = project.path / "keeps.py"
    path.write_text(path.read_text("utf-8") + '\nopen("started", "a").write("x")\n', "utf-8")
    spec = f"command:{sys.executable} -m conformance.agent_side keeps:AGENT"
    scenarios = ("--conformance-scenarios", "answer-dot", "--conformance-scenarios", "two-calls.yaml")
    project.runpytest("--conformance-agent", spec, *scenarios).assert_outcomes(passed=2)
    assert (project.path / "started").read_text("utf-8") == "x"


def test_after_an_agent_hung_here_the_rest_is_played_in_another_process(project):
    scenarios = ("--conformance-scenarios", "answer-dot")
    result = project.runpytest_subprocess(*agent("hangs", *scenarios, "-q"))
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["2 of 2 planned plays were judged together"])


def test_a_finding_that_only_all_recordings_show_fails_the_session(project, monkeypatch):
    def seen(views):
        yield 0, Finding(f"{len(views)} seen together", 1)

    rules = tuple(replace(rule, suite=seen if rule.id == "RUN-2" else None) for rule in RULES)
    monkeypatch.setattr(collected, "RULES", rules)
    result = project.runpytest(*agent("keeps"))
    result.assert_outcomes(passed=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        ["RUN-2 MUST in two-calls ?blocking?, only all recordings together show this: 1 seen together"]
    )


def two_endings(project):
    text = AGENTS["keeps"].replace(
        'Outcome("limit", reason="max_iters")',
        'Outcome("limit", reason="max_iters", text="Out." if given.limits.get("max_iters") == 1 else None)',
    )
    project.makepyfile(two_endings=text)
    names = ("time-query-max-iters-1", "cargo-chain-max-iters-2")
    scenarios = [word for name in names for word in ("--conformance-scenarios", name)]
    return ("--conformance-agent", "python:two_endings:AGENT", *scenarios)


def test_two_ways_to_end_at_the_limit_are_told_of_both_recordings_together(project):
    result = project.runpytest(*two_endings(project))
    result.stdout.fnmatch_lines(["LIM-6 MUST in * only all recordings together show this: *"])


def summary(result):
    lines = result.outlines
    first = next(n for n, line in enumerate(lines) if "conformance of" in line)
    last = next(n for n, line in enumerate(lines) if n > first and line.startswith("==="))
    return lines[first + 1 : last]


def test_workers_of_xdist_hand_over_what_they_played(project):
    words = two_endings(project)
    alone = project.runpytest(*words)
    spread = project.runpytest_subprocess(*words, "-n", "2")
    assert spread.parseoutcomes() == alone.parseoutcomes()
    assert summary(spread) == summary(alone)
    assert spread.ret == alone.ret == pytest.ExitCode.TESTS_FAILED


def test_a_worker_that_is_lost_is_said_and_not_silent(project):
    dies = AGENTS["keeps"].replace(
        "        self.messages +=", "        import os\n        os._exit(1)\n        self.messages +="
    )
    project.makepyfile(dies=dies)
    result = project.runpytest_subprocess(*agent("dies", "--conformance-scenarios", "answer-dot", "-n", "1"))
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert "2 failed" in result.stdout.str()
