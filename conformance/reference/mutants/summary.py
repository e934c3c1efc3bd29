"""Mutants of the summary clauses."""

from conformance.reference.faults import events, limit, requests, rounds
from conformance.reference.mutants.mutant import Mutant, mutant

MUTANTS: tuple[Mutant, ...] = (
    mutant(
        "tools-in-the-summary",
        "SUM-1",
        "The summary call still offers the tools.",
        "the summary request .* offers",
        "langchain-ai/langchain/issues/2970",
        summary_body=requests.summary_with_tools,
    ),
    mutant(
        "summary-within-the-budget",
        "SUM-2",
        "The last allowed round is spent on the summary.",
        "in the place of round",
        "nugget/thane-ai-agent/issues/72",
        may_begin=rounds.one_round_less,
    ),
    mutant(
        "summary-up-to-four-times",
        "SUM-2",
        "A summary that failed is asked for three times more.",
        "expected the run to end there",
        "crewAIInc/crewAI/issues/1656",
        at_the_limit=limit.summary_up_to_four_times,
    ),
    mutant(
        "summary-calls-run",
        "SUM-3",
        "A tool that the summary asks for is run.",
        "no tool to run after the last round",
        "backstage/community-plugins/pull/9472",
        at_the_limit=limit.summary_calls_run,
    ),
    mutant(
        "calling-summary-is-the-answer",
        "SUM-3",
        "The half sentence beside a call in the summary's reply is given as the answer.",
        "beside a call of",
        "NousResearch/hermes-agent/issues/36239",
        summary_text=limit.calling_summary_is_the_answer,
    ),
    mutant(
        "summary-failure-escapes",
        "SUM-4",
        "A failed summary call ends the run as a model failure.",
        "expected limit, which is what ended it",
        "huggingface/smolagents/issues/2165",
        at_the_limit=limit.summary_failure_escapes,
    ),
    mutant(
        "summary-without-results",
        "SUM-5",
        "The summary call leaves out what the tools returned.",
        "the summary request .* lacks",
        "microsoft/autogen/pull/7710",
        summary_body=requests.summary_without_results,
    ),
    mutant(
        "empty-summary-is-a-text",
        "SUM-6",
        "An empty summary is given to the user as it is.",
        "the user reads nothing",
        "opensearch-project/ml-commons/issues/4011",
        summary_text=limit.empty_summary_is_a_text,
    ),
    mutant(
        "marker-after-the-summary",
        "SUM-7",
        "The marker comes after the summary was asked for.",
        "came after the summary request",
        "agentscope-ai/agentscope/issues/1805",
        shown=events.marker_late,
    ),
)
