"""Mutants of the acting clauses."""

from conformance.reference.faults import calls, history
from conformance.reference.mutants.mutant import Mutant, mutant

MUTANTS: tuple[Mutant, ...] = (
    mutant(
        "runs-twice",
        "ACT-1",
        "Every tool is called twice for one call.",
        "ran 2 times",
        "crewAIInc/crewAI/issues/3489",
        bench=calls.runs_twice,
    ),
    mutant(
        "arguments-lost",
        "ACT-1",
        "Tools run with no arguments although the model gave some.",
        "never ran|ran with",
        "agentscope-ai/agentscope-java/issues/498",
        checked=calls.arguments_are_lost,
    ),
    mutant(
        "failures-are-silent",
        "ACT-2",
        "A tool that raises gives an empty result.",
        "does not say so",
        "agentscope-ai/agentscope/issues/2618",
        "microsoft/agent-framework/issues/1179",
        bench=calls.failures_are_silent,
    ),
    mutant(
        "unknown-runs-another",
        "ACT-3",
        "A call of a tool that does not exist runs one that does.",
        "names no tool that exists, and .* ran with",
        "langchain-ai/langchain/pull/1340",
        checked=calls.unknown_runs_the_first,
    ),
    mutant(
        "broken-text-is-no-arguments",
        "ACT-4",
        "Argument text that cannot be parsed becomes no arguments, and the tool runs.",
        "(ran|was called) with",
        "NousResearch/hermes-agent/issues/35151",
        checked=calls.broken_text_is_no_arguments,
    ),
    mutant(
        "missing-is-made-up",
        "ACT-5",
        "Arguments that are missing are made up, and the tool runs.",
        "(ran|was called) with",
        "NousResearch/hermes-agent/issues/35151",
        checked=calls.what_is_missing_is_made_up,
    ),
    mutant(
        "results-cut",
        "ACT-7",
        "Results are cut to a few characters, so the next call lacks what it needs.",
        "lacks",
        "strands-agents/harness-sdk/issues/702",
        result_text=history.result_is_cut,
    ),
)
