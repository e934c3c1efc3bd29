"""No green that is not true: a rule that looks less closely lets its mutant live, so that what it looks at is what proves it."""

import asyncio
import importlib.util
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
from kits_library import plans

from conformance.reference.mutants import MUTANTS
from conformance.rules import BY_ID
from conformance.selftest import kill

BY_NAME = {mutant.name: mutant for mutant in MUTANTS}

#: Mutant, the file of its rule, a condition in it, and the same condition looking less closely.
WEAKENED = (
    ("acts-after-the-end", "run_after", "[x for x in run.executions if x.seq > end.seq]", "[]"),
    ("text-left-open", "events", "if one.terminal == terminal]", "if one.terminal == terminal and one.noun == 'call']"),
    (
        "one-round-more",
        "limits",
        "if (call.round or 0) > limit]\n    if beyond:",
        "if (call.round or 0) > limit + 1]\n    if beyond:",
    ),
    ("tools-in-the-summary", "summary", "if request.callable_tools:", "if len(request.callable_tools) > 9:"),
    ("failed-call-unanswered", "history_shape", "case 1, 0:", "case 1 | 0, 0:"),
    ("choice-without-tools", "wire", '["by"] == "provider"', '["by"] == "window"'),
    ("failures-are-silent", "acting_feedback", "if missing or not answer.strip():", "if missing and answer.strip():"),
    ("only-a-bad-request-is-final", "recovery_http", "{400, 403, 404, 413, 422}", "{400}"),
    ("last-usage-is-the-total", "usage", "elif came in sums:", "elif came[0] <= max(sums)[0]:"),
    ("limit-warns", "log", "elif loud and not _pending(run):", "elif len(loud) > 1 and not _pending(run):"),
)


def weakened(mutant, file, closely, loosely):
    """The mutant's rule, made from its file's text with one condition loosened."""
    spec = importlib.util.find_spec(f"conformance.rules.{file}")
    text = Path(spec.origin).read_text("utf-8")
    assert text.count(closely) == 1, f"{file}.py has {closely!r} {text.count(closely)} times, expected once"
    module = ModuleType(spec.name)
    exec(compile(text.replace(closely, loosely), spec.origin, "exec"), module.__dict__)
    honest = BY_ID[BY_NAME[mutant].rule]
    mine = {rule.id: rule for rule in vars(module).get("RULES", ())}
    return mine.get(honest.id) or replace(honest, check=vars(module)[honest.check.__name__])


@pytest.mark.parametrize(("mutant", "file", "closely", "loosely"), WEAKENED, ids=[row[0] for row in WEAKENED])
def test_a_rule_that_looks_less_closely_lets_its_mutant_live(mutant, file, closely, loosely):
    one = BY_NAME[mutant]
    by_rule = [plan for plan in plans() if one.rule in plan.exercises]
    assert asyncio.run(kill(one, by_rule, BY_ID[one.rule])).killed
    assert not asyncio.run(kill(one, by_rule, weakened(mutant, file, closely, loosely))).killed


def test_the_weakened_rules_are_of_different_areas():
    assert len({BY_ID[BY_NAME[row[0]].rule].area for row in WEAKENED}) == len(WEAKENED)
