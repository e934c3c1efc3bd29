"""`model: {persona: NAME}` in a scenario: how it is written, and that the reference agent keeps every clause with each of them."""

import asyncio
import json
from importlib.resources import files

import pytest

from conformance.certify import certify
from conformance.errors import LoadError
from conformance.loading.loader import load_text
from conformance.rules import BY_ID, RULES
from fake_models.personas import PERSONAS, Persona
from fake_models.script import Script, Turn

PLAN = """
id: played
title: A persona plays
why: An agent meets such models.
limits: {{max_iters: 4}}
model: {{{model}}}
tools:
  tide:
    description: The tide at a place.
    parameters: {{type: object, properties: {{place: {{type: string}}}}, required: [place]}}
    returns: 3.2
runs:
  - user: How high is the tide in Hoek van Holland?
{more}
"""


def plan(model="", more=""):
    return load_text(PLAN.format(model=model, more=more), "played.yaml", rule_ids=BY_ID)


def test_the_schema_knows_the_personas_there_are():
    schema = json.loads(files("conformance.schemas").joinpath("scenario.schema.json").read_text("utf-8"))
    assert schema["properties"]["model"]["properties"]["persona"]["enum"] == list(PERSONAS)


def test_a_run_without_turns_is_the_personas_and_one_with_turns_is_not():
    more = "  - user: And tomorrow?\n    model: [{say: Lower.}]"
    made = plan("persona: flaky, seed: 7, rate: 0.5", more)
    assert [run.script for run in made.runs] == [
        Script((), Persona("flaky", 7, 0.5)),
        Script((Turn(say="Lower."),)),
    ]


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("", "nothing says what the model does"),
        ("persona: loper", "did you mean 'looper'?"),
        ("seed: 3", "'seed' says more of 'persona', which is missing here"),
        ("persona: flaky, rate: 1.5", "expected at most 1"),
    ],
)
def test_what_is_wrong_with_a_persona_is_said(model, said):
    with pytest.raises(LoadError) as refused:
        plan(model)
    assert said in str(refused.value)


@pytest.mark.parametrize("name", PERSONAS)
def test_the_reference_agent_keeps_every_clause_and_no_request_is_off_the_script(name):
    report = asyncio.run(certify("reference", [plan(f"persona: {name}, seed: 3")], RULES))
    results = {(one.cell, result.rule): result for one in report.entries for result in one.results}
    broken = {
        key: [str(f) for f in result.findings]
        for key, result in results.items()
        if result.verdict in ("fail", "could-not-run")
    }
    assert broken == {}
    assert {result.verdict for (_, rule), result in results.items() if rule == "SCRIPT-1"} <= {"pass", "not-applicable"}
    assert all(not result.findings for (_, rule), result in results.items() if rule == "SCRIPT-2")
