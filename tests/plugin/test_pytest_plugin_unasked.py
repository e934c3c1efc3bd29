"""What nobody asked for does not happen: a plain project runs as it would without the kit."""

import subprocess
import sys

import pytest

PLAIN = """
def test_plain():
    pass
"""


def test_a_plain_project_is_left_alone(pytester):
    pytester.makeini("[pytest]\nfilterwarnings = error\n")
    pytester.makepyfile(PLAIN)
    result = pytester.runpytest()
    result.assert_outcomes(passed=1)
    assert "conformance of" not in result.stdout.str()
    assert not [line for line in result.outlines if line.startswith("conformance:")]


def test_pytest_starts_without_anything_of_the_kit_but_the_hooks(pytester):
    pytester.makepyfile(
        """
        import sys

        def test_loaded():
            mine = {name for name in sys.modules if name.partition(".")[0] in ("conformance", "fake_models")}
            assert mine <= {"conformance", "conformance.pytest_plugin", "conformance.pytest_plugin.hooks"}
            assert not {"yaml", "freezegun", "ag_ui", "jsonschema"} & set(sys.modules)
        """
    )
    pytester.runpytest_subprocess("-p", "no:xdist", "-p", "no:hypothesispytest").assert_outcomes(passed=1)


@pytest.mark.parametrize("fixture", ["conformance_run", "fake_model", "conformance_snapshot"])
def test_switched_off_there_are_no_fixtures_and_pytest_says_so(pytester, fixture):
    pytester.makepyfile(f"def test_plain(): pass\ndef test_asks({fixture}): pass")
    result = pytester.runpytest("-p", "no:conformance")
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines([f"*fixture '{fixture}' not found*"])


def test_switched_off_there_are_no_options(pytester):
    pytester.makepyfile(PLAIN)
    result = pytester.runpytest("-p", "no:conformance", "--conformance-agent", "reference")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*unrecognized arguments: --conformance-agent*"])


@pytest.mark.parametrize("words", [("--strict-markers", "--strict-config"), ("-n", "1")])
def test_a_project_that_plays_nothing_looks_the_same_with_and_without(pytester, words):
    pytester.makepyfile(PLAIN)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *words]

    def words_of(*more):
        out = subprocess.run([*command, *more], capture_output=True, text=True, check=True, cwd=pytester.path).stdout
        return [line.split(" in ")[0] for line in out.splitlines()]

    assert words_of() == words_of("-p", "no:conformance")
