"""Mutants of the kit clauses."""

from conformance.reference.faults import events, limit, rounds
from conformance.reference.mutants.mutant import Mutant, mutant

MUTANTS: tuple[Mutant, ...] = (
    mutant(
        "limit-warns",
        "LOG-1",
        "An ordinary limit is logged as a warning.",
        "logged as WARNING",
        "agentscope-ai/agentscope/issues/1805",
        log_limit=limit.limit_warns,
    ),
    mutant(
        "limit-unlogged",
        "LOG-1",
        "The log says nothing of the limit.",
        "no log record",
        "mastra-ai/mastra/issues/12596",
        log_limit=limit.limit_unlogged,
    ),
    mutant(
        "declares-a-summary-and-stops",
        "DIA-1",
        "A summary at the limit is declared and never asked for.",
        "limit_text",
        "crewAIInc/crewAI/issues/1038",
        behaves={"limit_text": "none", "limit_terminal": "flagged"},
    ),
    mutant(
        "asks-once-more",
        "SCRIPT-1",
        "After the answer the model is asked once more.",
        "fits no turn",
        "crewAIInc/crewAI/issues/3847",
        finish=rounds.asks_once_more,
    ),
    mutant(
        "blank-is-an-answer",
        "SCRIPT-2",
        "A blank text is declared to be an answer, so the run ends before its script does.",
        "never played",
        "google/adk-python/issues/3525",
        declared={"empty_is": ["no_parts", "null", "thinking"]},
    ),
    mutant(
        "reasoning-spans",
        "EXPECT",
        "Each thought is wrapped in a span that nobody asked for: two events more than predicted.",
        "events is 14",
        "ag-ui-protocol/ag-ui/pull/1920",
        shown=events.spanned,
    ),
)
