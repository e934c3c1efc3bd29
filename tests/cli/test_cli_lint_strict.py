"""`conformance lint --strict`: a scenario has to pass an honest agent and to fail a faulty one."""

import pytest
from click.testing import CliRunner

from conformance.cli import main

GOOD = """
id: mine
title: An empty reply is asked for again
why: A loop that takes an empty reply for the answer gives its user nothing.
exercises: [REC-1]
runs:
  - user: Is the harbour open?
    model: [{empty: no_parts}, {answer: Until ten.}]
    expect: [{outcome: answered, text: Until ten.}]
"""


@pytest.fixture
def linted(tmp_path):
    def linted(text):
        (tmp_path / "mine.yaml").write_text(text, "utf-8")
        done = CliRunner().invoke(main, ["lint", "--strict", str(tmp_path / "mine.yaml")])
        return done.exit_code, done.stdout.replace(f"{tmp_path}/", "")

    return linted


def test_one_that_shows_a_fault_and_no_other_is_let_through(linted):
    assert linted(GOOD) == (0, "1 scenario, no problem\n")


def test_one_that_the_honest_reference_fails_is_refused_with_what_it_fails(linted):
    code, said = linted(GOOD.replace("text: Until ten.}]", "text: Until nine.}]"))
    assert code == 2
    assert said.startswith("mine.yaml: the reference, which is honest, fails it in blocking: EXPECT: run r1: text is ")


SHORT = """
id: mine
title: At the limit a summary is asked for
why: The script has no turn for the request that a summary takes.
exercises: [LIM-1]
limits: {max_iters: 1}
tools: {look: {description: Looks., parameters: {type: object, properties: {}}, returns: open}}
runs:
  - user: Is the harbour open?
    model: [{call: look}]
"""


def test_one_whose_script_is_too_short_for_the_reference_is_refused(linted):
    code, said = linted(SHORT)
    assert code == 2
    assert said.startswith(
        "mine.yaml: the reference, which is honest, fails it in blocking: SCRIPT-1: m2 (summary) of run r1"
    )


def test_a_twin_that_no_over_eager_agent_fails_is_refused(linted):
    code, said = linted(GOOD.replace("exercises:", "tags: [twin]\nexercises:"))
    assert code == 2
    assert said.startswith("mine.yaml: it shows no fault: no mutant that does too much of the reference breaks a rule")
