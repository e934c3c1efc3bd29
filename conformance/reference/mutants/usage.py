"""Mutants of the usage clauses."""

from conformance.reference.faults import catalogued, endings, events
from conformance.reference.mutants.mutant import Mutant, mutant

MUTANTS: tuple[Mutant, ...] = (
    mutant(
        "summary-costs-nothing",
        "USE-1",
        "What the summary call used is not reported.",
        r"\(summary\), but no usage report",
        "Mintplex-Labs/anything-llm/issues/6084",
        shown=events.no_usage_after_the_marker,
    ),
    mutant(
        "usage-twice",
        "USE-1",
        "Every call's usage is reported twice.",
        "2 usage reports",
        "mochow13/pydantic-ai-litellm/issues/10",
        shown=events.twice("CUSTOM"),
    ),
    mutant(
        "last-usage-is-the-total",
        "USE-2",
        "The run's total is that of its last call.",
        "the last call's alone",
        "genkit-ai/genkit/issues/2325",
        declared={"usage_events": "per_run"},
        finish=endings.last_usage_is_the_total,
    ),
    mutant(
        "only-the-last-call-is-reported",
        "USE-1",
        "Only the last call's usage is reported.",
        "but no usage report",
        "Mintplex-Labs/anything-llm/issues/6084",
        shown=events.only_the_last_usage,
    ),
    mutant(
        "running-totals-are-added-up",
        "USE-1",
        "Usage that a stream tells as it grows is added up as if each figure were new.",
        "but the model reported",
        "pydantic/pydantic-ai/issues/2770",
        bench=catalogued.running_totals_are_added_up,
    ),
)
