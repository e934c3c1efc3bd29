"""Mutants of the clause about agents inside a run."""

from conformance.reference.faults import subagents
from conformance.reference.mutants.mutant import Mutant, mutant

MUTANTS: tuple[Mutant, ...] = (
    mutant(
        "a-child-has-what-its-parent-has-left",
        "SUB-1",
        "A child gets the rounds that its parent has left.",
        "its own limit is",
        "NousResearch/hermes-agent/issues/2873",
        child=subagents.child_shares_what_is_left,
    ),
    mutant(
        "a-child-without-a-limit",
        "SUB-1",
        "A child's limit is not looked at.",
        "its own limit is 2 and one to close",
        "openai/openai-agents-js/issues/444",
        "anthropics/claude-code/issues/41143",
        child=subagents.child_without_a_limit,
    ),
    mutant(
        "a-child-is-stopped-early",
        "SUB-1",
        "A child is stopped one round before its limit.",
        "though its model asked for more",
        "stacklok/mecatl/issues/48",
        child=subagents.child_stopped_early,
        eager=True,
    ),
    mutant(
        "a-childs-rounds-are-its-parents",
        "SUB-1",
        "A child's rounds are counted as its parent's.",
        "a child's are none of them",
        "NousResearch/hermes-agent/issues/2873",
        run_child=subagents.childs_rounds_count,
    ),
    mutant(
        "a-handoff-forgets-its-siblings",
        "SUB-1",
        "Calls beside a child's are neither run nor answered.",
        "has no result of it",
        "strands-agents/harness-sdk/pull/3197",
        "langchain-ai/langgraph/issues/5831",
        act=subagents.siblings_are_forgotten,
    ),
)
