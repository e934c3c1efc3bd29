"""
The mutants: the reference loop with one fault each, taken from what was reported of real agents. A table; runs nothing.

A mutant must break its rule, and for the stated reason. It may break others too. The over-eager ones, which stop, retry or
refuse too much, are what the scenarios' negative twins are for.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from conformance.agent_side import Bench, InProcessAgent
from conformance.reference import event_faults, faults
from conformance.reference.agent import reference
from conformance.reference.loop import HONEST


@dataclass(frozen=True, slots=True)
class Mutant:
    """
    One fault.

    `rule` must fail (or warn, where it is a SHOULD) with a finding whose message `says` (a regular expression) fits.
    `evidence` are public reports of the fault. `make` opens the mutant. `scenarios` names those that show it; none: any.
    """

    name: str
    rule: str
    fault: str
    says: str
    evidence: tuple[str, ...]
    make: Callable[[], InProcessAgent]
    scenarios: tuple[str, ...] = ()


def _as_it_is(bench: Bench) -> Bench:
    return bench


def _mutant(
    name: str,
    rule: str,
    fault: str,
    says: str,
    *evidence: str,
    declared: Mapping[str, Any] | None = None,
    behaves: Mapping[str, Any] | None = None,
    bench: Callable[[Bench], Bench] = _as_it_is,
    **parts: Any,
) -> Mutant:
    make = partial(reference, declared, behaves=behaves, bench=bench, parts=replace(HONEST, **parts))
    return Mutant(name, rule, fault, says, tuple(f"https://github.com/{one}" for one in evidence), make)


_RUN = (
    _mutant(
        "finishes-after-the-error",
        "RUN-1",
        "After RUN_ERROR a RUN_FINISHED follows, so clients show the failure as a success.",
        "2 terminal events",
        "agentscope-ai/agentscope-java/issues/2642",
        finish=faults.error_then_finish,
    ),
    _mutant(
        "ends-without-a-terminal",
        "RUN-1",
        "The stream just ends: no RUN_FINISHED.",
        "no terminal event",
        "anthropics/claude-agent-sdk-typescript/issues/427",
        shown=event_faults.without("RUN_FINISHED"),
    ),
    _mutant(
        "starts-unannounced",
        "RUN-1",
        "RUN_STARTED is never sent.",
        "expected RUN_STARTED",
        "ag-ui-protocol/ag-ui/issues/2416",
        shown=event_faults.without("RUN_STARTED"),
    ),
    _mutant(
        "retries-empty-for-ever",
        "RUN-2",
        "An empty reply is retried for ever.",
        "had to be stopped",
        "google-gemini/gemini-cli/issues/7230",
        behaves={"empty_response": {"retry_then_error": 1_000_000}},
    ),
    _mutant(
        "no-bound-at-all",
        "RUN-2",
        "No number of rounds is ever too many.",
        "had to be stopped",
        "spring-projects/spring-ai/issues/3333",
        may_begin=faults.no_bound,
    ),
    _mutant(
        "limit-told-as-an-answer",
        "RUN-3",
        "A run that used up its rounds says that it was answered.",
        "says 'answered'.*'limit'",
        "ClickHouse/nerve/issues/292",
        "mastra-ai/mastra/issues/7390",
        ending=faults.told_as("answered", instead_of="limit"),
    ),
    _mutant(
        "empty-told-as-an-answer",
        "RUN-3",
        "An empty reply with no call is taken for the final answer.",
        "says 'answered'.*'empty'",
        "google/adk-python/issues/3525",
        ending=faults.told_as("answered", instead_of="empty"),
    ),
    _mutant(
        "cut-told-as-an-answer",
        "RUN-3b",
        "A reply cut by its length limit passes as a whole one.",
        "was truncated",
        "ag-ui-protocol/ag-ui/issues/2300",
        ending=faults.told_as("answered", instead_of="truncated"),
    ),
    _mutant(
        "failed-tool-is-a-run-error",
        "RUN-4",
        "A tool that failed and was fed back ends the run by RUN_ERROR although the model answered.",
        "RUN_ERROR",
        "Agenta-AI/agenta/issues/4976",
        ending=faults.a_failed_tool_is_a_run_error,
    ),
    _mutant(
        "model-failure-finishes",
        "RUN-5",
        "A model that failed for good ends in RUN_FINISHED.",
        "ordinary finish",
        "ClickHouse/nerve/issues/292",
        ending=faults.model_failure_finishes,
    ),
    _mutant(
        "key-in-the-error",
        "RUN-6",
        "The error quotes the request's Authorization header.",
        "holds a secret",
        "anomalyco/opencode/issues/21326",
        ending=faults.key_in_the_error,
    ),
    _mutant(
        "whole-text-again",
        "RUN-8",
        "After the deltas the whole text is sent again.",
        "the last message",
        "ag-ui-protocol/ag-ui/issues/742",
        shown=event_faults.whole_text_again,
    ),
    _mutant(
        "half-the-text",
        "RUN-8",
        "The result holds half of what the model said.",
        "the result's text is",
        "anthropics/claude-code/issues/39830",
        ending=faults.half_the_text,
    ),
    _mutant(
        "failed-tool-fails-the-run",
        "RUN-10",
        "One failed tool makes an answered run a failed one.",
        "a tool failed",
        "Agenta-AI/agenta/issues/4976",
        ending=faults.a_failed_tool_fails_the_run,
    ),
)

_EVENTS = (
    _mutant(
        "call-without-a-name",
        "EVT-1",
        "TOOL_CALL_START does not say which tool.",
        "TOOL_CALL_START",
        "agentscope-ai/agentscope-java/issues/498",
        shown=event_faults.without_field("TOOL_CALL_START", "toolCallName"),
    ),
    _mutant(
        "null-for-an-optional-field",
        "EVT-1b",
        "An optional field that has no value is sent as null.",
        "TOOL_CALL_START.*(null|parentMessageId)",
        "agentscope-ai/agentscope-java/issues/510",
        shown=event_faults.with_field("TOOL_CALL_START", parentMessageId=None),
    ),
    _mutant(
        "text-ends-twice",
        "EVT-2",
        "A message is ended twice.",
        "TEXT_MESSAGE_END",
        "agentscope-ai/agentscope-java/issues/510",
        shown=event_faults.twice("TEXT_MESSAGE_END"),
    ),
    _mutant(
        "text-reopened",
        "EVT-2b",
        "A message that was closed is opened again under its id.",
        "again, which was closed",
        "microsoft/agent-framework/issues/6788",
        shown=event_faults.reopened,
    ),
    _mutant(
        "text-left-open",
        "EVT-3",
        "Messages are never ended.",
        "still open at RUN_FINISHED",
        "coder/xum/pull/182",
        shown=event_faults.without("TEXT_MESSAGE_END"),
    ),
    _mutant(
        "text-left-open-at-the-error",
        "EVT-3b",
        "The message that was open when the run failed is never ended.",
        "still open at RUN_ERROR",
        "agentscope-ai/agentscope/issues/2618",
        shown=event_faults.open_at_the_error,
    ),
    _mutant(
        "result-of-another-call",
        "EVT-4",
        "The result's event names an id that no call has.",
        "names call",
        "microsoft/agent-framework/issues/6788",
        shown=event_faults.renamed_result,
    ),
    _mutant(
        "result-twice",
        "EVT-4b",
        "The result of a call is sent twice.",
        "another result",
        "microsoft/semantic-kernel/issues/8825",
        shown=event_faults.twice("TOOL_CALL_RESULT"),
    ),
    _mutant(
        "result-before-the-end",
        "EVT-4b",
        "The result of a call is sent before the call's end.",
        "comes before that call's end",
        "microsoft/semantic-kernel/issues/8825",
        shown=event_faults.result_before_end,
    ),
    _mutant(
        "arguments-not-shown",
        "EVT-6",
        "Calls are shown with no arguments although the model gave some.",
        "with no arguments",
        "openai/openai-agents-python/issues/1651",
        "agentscope-ai/agentscope-java/issues/498",
        shown=event_faults.without("TOOL_CALL_ARGS"),
    ),
    _mutant(
        "failure-shown-as-success",
        "EVT-6",
        "A tool that failed is shown with a result as if it had not.",
        "the tool failed with",
        "agentscope-ai/agentscope/issues/2618",
        shown=event_faults.failure_as_success,
    ),
    _mutant(
        "thinking-shown-as-text",
        "EVT-6",
        "What the model thought is shown as what it said.",
        "is shown as text",
        "backstage/community-plugins/pull/9472",
        shown=event_faults.thinking_as_text,
    ),
    _mutant(
        "another-runs-id",
        "EVT-7",
        "The events carry the session's id where the run's belongs.",
        "runId",
        "ag-ui-protocol/ag-ui/issues/742",
        shown=event_faults.of_the_first_run,
    ),
)

_LIMITS = (
    _mutant(
        "one-round-more",
        "LIM-1",
        "The limit is checked one round too late.",
        "is round 3 .*the caller allows 2",
        "anthropics/claude-code/issues/41143",
        declared={"on_limit": "error"},
        may_begin=faults.one_round_more,
    ),
    _mutant(
        "each-parallel-call-a-round",
        "LIM-1",
        "Every call of a parallel batch is counted as a round.",
        "ends as limit after",
        "agentscope-ai/agentscope/issues/2204",
        act=faults.each_call_a_round,
    ),
    _mutant(
        "zero-is-empty",
        "REC-1",
        "A reply of one character is taken for an empty one and asked for again.",
        "a short text is not empty",
        "crewAIInc/crewAI/issues/3847",
        trouble=faults.zero_is_empty,
    ),
    _mutant(
        "budget-of-the-session",
        "LIM-2",
        "The count of rounds is the session's, so the second run starts used up.",
        "which are not its own",
        "SWE-agent/mini-swe-agent/pull/910",
        "crewAIInc/crewAI/pull/5644",
        rounds_before=faults.rounds_of_the_session,
    ),
    _mutant(
        "last-round-stops-half-way",
        "LIM-3",
        "In the last allowed round only the first of several calls is run.",
        "never ran",
        "pydantic/pydantic-ai/issues/2593",
        act=faults.last_round_stops_half_way,
    ),
    _mutant(
        "last-answer-is-the-limit",
        "LIM-4",
        "An answer in the last allowed round is followed by the limit's marker and summary.",
        "expected the answer to end the run",
        "mcp-use/mcp-use/issues/220",
        finish=faults.last_answer_is_the_limit,
    ),
    _mutant(
        "no-marker",
        "LIM-5",
        "Nothing in the events shows that the limit was reached.",
        "has no RAW event",
        "anthropics/claude-agent-sdk-typescript/issues/427",
        shown=event_faults.no_marker,
    ),
    _mutant(
        "marker-without-figures",
        "LIM-5",
        "The marker does not say what the budget was.",
        "expected the budget",
        "mastra-ai/mastra/issues/12596",
        shown=event_faults.bare_marker,
    ),
    _mutant(
        "another-ending-when-streaming",
        "LIM-6",
        "Blocking runs end with a summary, streamed ones with a canned sentence.",
        "one way to end at the limit everywhere",
        "langchain4j/langchain4j/issues/4197",
        at_the_limit=faults.canned_when_streaming,
    ),
    _mutant(
        "no-tools-in-the-last-round",
        "LIM-9",
        "The last allowed round is offered no tools.",
        "every round has all tools",
        "langgenius/dify-official-plugins/issues/587",
        regular_body=faults.no_tools_in_the_last_round,
    ),
    _mutant(
        "forced-choice-stays",
        "LIM-9",
        "A forced tool choice is sent in every round, so the model can never answer.",
        "expected a free choice",
        "spring-projects/spring-ai/issues/4464",
        regular_body=faults.forced_choice_stays,
    ),
    _mutant(
        "zero-is-unlimited",
        "LIM-10",
        "A limit of 0 is read as no limit.",
        "has max_iters 0",
        "huggingface/smolagents/issues/1816",
        limit=faults.zero_is_unlimited,
    ),
)

_SUMMARY = (
    _mutant(
        "tools-in-the-summary",
        "SUM-1",
        "The summary call still offers the tools.",
        "the summary request .* offers",
        "langchain-ai/langchain/issues/2970",
        summary_body=faults.summary_with_tools,
    ),
    _mutant(
        "summary-within-the-budget",
        "SUM-2",
        "The last allowed round is spent on the summary.",
        "in the place of round",
        "nugget/thane-ai-agent/issues/72",
        may_begin=faults.one_round_less,
    ),
    _mutant(
        "summary-up-to-four-times",
        "SUM-2",
        "A summary that failed is asked for three times more.",
        "expected the run to end there",
        "crewAIInc/crewAI/issues/1656",
        at_the_limit=faults.summary_up_to_four_times,
    ),
    _mutant(
        "summary-calls-run",
        "SUM-3",
        "A tool that the summary asks for is run.",
        "no tool to run after the last round",
        "backstage/community-plugins/pull/9472",
        at_the_limit=faults.summary_calls_run,
    ),
    _mutant(
        "calling-summary-is-the-answer",
        "SUM-3",
        "The half sentence beside a call in the summary's reply is given as the answer.",
        "beside a call of",
        "NousResearch/hermes-agent/issues/36239",
        summary_text=faults.calling_summary_is_the_answer,
    ),
    _mutant(
        "summary-failure-escapes",
        "SUM-4",
        "A failed summary call ends the run as a model failure.",
        "expected limit, which is what ended it",
        "huggingface/smolagents/issues/2165",
        at_the_limit=faults.summary_failure_escapes,
    ),
    _mutant(
        "summary-without-results",
        "SUM-5",
        "The summary call leaves out what the tools returned.",
        "the summary request .* lacks",
        "microsoft/autogen/pull/7710",
        summary_body=faults.summary_without_results,
    ),
    _mutant(
        "empty-summary-is-a-text",
        "SUM-6",
        "An empty summary is given to the user as it is.",
        "the user reads nothing",
        "opensearch-project/ml-commons/issues/4011",
        summary_text=faults.empty_summary_is_a_text,
    ),
    _mutant(
        "marker-after-the-summary",
        "SUM-7",
        "The marker comes after the summary was asked for.",
        "came after the summary request",
        "agentscope-ai/agentscope/issues/1805",
        shown=event_faults.marker_late,
    ),
)

_HISTORY = (
    _mutant(
        "failed-call-unanswered",
        "HIS-1",
        "A call that failed gets no result in the history.",
        "has no result",
        "strands-agents/harness-sdk/issues/1069",
        "openai/openai-agents-python/issues/3356",
        round_messages=faults.failed_calls_unanswered,
    ),
    _mutant(
        "calls-forgotten",
        "HIS-2",
        "The history keeps the results and loses the calls.",
        "no call before it has that id",
        "can1357/oh-my-pi/issues/472",
        round_messages=faults.calls_forgotten,
    ),
    _mutant(
        "results-outlive-their-calls",
        "HIS-2",
        "A compaction drops a call and keeps its result.",
        "no call before it has that id",
        "letta-ai/letta/issues/2605",
        compacted=faults.results_outlive_their_calls,
    ),
    _mutant(
        "one-id-for-all",
        "HIS-3",
        "Every call of the history has the same id.",
        "calls have the id",
        "open-webui/open-webui/issues/28305",
        sound_id=faults.one_id_for_all,
    ),
    _mutant(
        "ids-as-they-come",
        "HIS-3b",
        "Ids that the model left out or repeated are kept as they are.",
        "has no id|have the id|not in the request",
        "huggingface/smolagents/pull/2768",
        "microsoft/agent-framework/issues/6788",
        sound_id=faults.ids_as_they_come,
    ),
    _mutant(
        "skipped-call-unanswered",
        "HIS-4",
        "Calls that the limit kept from running get no result.",
        "never ran and has no result",
        "agentscope-ai/agentscope-java/pull/1261",
        "devoxx/DevoxxGenieIDEAPlugin/pull/1194",
        declared={"last_round_tools": "skip"},
        round_messages=faults.calls_not_run_unanswered,
    ),
    _mutant(
        "user-twice",
        "HIS-7",
        "The user's message stands in the first request twice.",
        "2 user messages",
        "strands-agents/harness-sdk/issues/1176",
        regular_body=faults.user_twice,
    ),
    _mutant(
        "user-forgotten",
        "HIS-7",
        "From the second round on the user's message is gone.",
        "no user message holds",
        "CopilotKit/CopilotKit/issues/3884",
        regular_body=faults.user_forgotten,
    ),
    _mutant(
        "results-are-ok",
        "HIS-10",
        "The history says of every result that it was ok, and nothing else.",
        "lacks",
        "CopilotKit/CopilotKit/issues/3884",
        result_text=faults.result_is_ok,
    ),
    _mutant(
        "choice-without-tools",
        "WIRE-1",
        "The summary call says tool_choice none and offers no tools.",
        "tool_choice",
        "pydantic/pydantic-ai/issues/2593",
        summary_body=faults.summary_with_a_choice_alone,
    ),
)

_ACTING = (
    _mutant(
        "runs-twice",
        "ACT-1",
        "Every tool is called twice for one call.",
        "ran 2 times",
        "crewAIInc/crewAI/issues/3489",
        bench=faults.runs_twice,
    ),
    _mutant(
        "arguments-lost",
        "ACT-1",
        "Tools run with no arguments although the model gave some.",
        "never ran|ran with",
        "agentscope-ai/agentscope-java/issues/498",
        checked=faults.arguments_are_lost,
    ),
    _mutant(
        "failures-are-silent",
        "ACT-2",
        "A tool that raises gives an empty result.",
        "does not say so",
        "agentscope-ai/agentscope/issues/2618",
        "microsoft/agent-framework/issues/1179",
        bench=faults.failures_are_silent,
    ),
    _mutant(
        "unknown-runs-another",
        "ACT-3",
        "A call of a tool that does not exist runs one that does.",
        "names no tool that exists, and .* ran with",
        "langchain-ai/langchain/pull/1340",
        checked=faults.unknown_runs_the_first,
    ),
    _mutant(
        "broken-text-is-no-arguments",
        "ACT-4",
        "Argument text that cannot be parsed becomes no arguments, and the tool runs.",
        "(ran|was called) with",
        "NousResearch/hermes-agent/issues/35151",
        checked=faults.broken_text_is_no_arguments,
    ),
    _mutant(
        "missing-is-made-up",
        "ACT-5",
        "Arguments that are missing are made up, and the tool runs.",
        "(ran|was called) with",
        "NousResearch/hermes-agent/issues/35151",
        checked=faults.what_is_missing_is_made_up,
    ),
    _mutant(
        "results-cut",
        "ACT-7",
        "Results are cut to a few characters, so the next call lacks what it needs.",
        "lacks",
        "strands-agents/harness-sdk/issues/702",
        result_text=faults.result_is_cut,
    ),
)

_RECOVERY = (
    _mutant(
        "empty-is-answered",
        "REC-1",
        "A run that ended on an empty reply says that it was answered.",
        "was empty",
        "google/adk-python/issues/3525",
        ending=faults.told_as("answered", instead_of="empty"),
    ),
    _mutant(
        "nothing-gets-smaller",
        "REC-3",
        "A compaction that shrinks nothing counts as one that did.",
        "sends the request of|expected fewer",
        "openclaw/openclaw/issues/150447",
        "anomalyco/opencode/issues/27924",
        compacted=faults.nothing_gets_smaller,
    ),
    _mutant(
        "overflow-is-transient",
        "REC-3",
        "A prompt that is too long is sent again unchanged, as if the server had been busy.",
        "sends the request of",
        "SWE-agent/mini-swe-agent/issues/921",
        failure=faults.overflow_is_transient,
    ),
    _mutant(
        "tokens-are-an-overflow",
        "EXPECT",
        "A rate limit that speaks of tokens is taken for a prompt that is too long.",
        "compactions is 1|model_calls is",
        "aaif-goose/goose/issues/11318",
        failure=faults.tokens_are_an_overflow,
    ),
)

_USAGE = (
    _mutant(
        "summary-costs-nothing",
        "USE-1",
        "What the summary call used is not reported.",
        r"\(summary\), but no usage report",
        "Mintplex-Labs/anything-llm/issues/6084",
        shown=event_faults.no_usage_after_the_marker,
    ),
    _mutant(
        "usage-twice",
        "USE-1",
        "Every call's usage is reported twice.",
        "2 usage reports",
        "mochow13/pydantic-ai-litellm/issues/10",
        shown=event_faults.twice("CUSTOM"),
    ),
    _mutant(
        "last-usage-is-the-total",
        "USE-2",
        "The run's total is that of its last call.",
        "the last call's alone",
        "genkit-ai/genkit/issues/2325",
        declared={"usage_events": "per_run"},
        finish=faults.last_usage_is_the_total,
    ),
)

_KIT = (
    _mutant(
        "limit-warns",
        "LOG-1",
        "An ordinary limit is logged as a warning.",
        "logged as WARNING",
        "agentscope-ai/agentscope/issues/1805",
        log_limit=faults.limit_warns,
    ),
    _mutant(
        "limit-unlogged",
        "LOG-1",
        "The log says nothing of the limit.",
        "no log record",
        "mastra-ai/mastra/issues/12596",
        log_limit=faults.limit_unlogged,
    ),
    _mutant(
        "declares-a-summary-and-stops",
        "DIA-1",
        "A summary at the limit is declared and never asked for.",
        "limit_text",
        "crewAIInc/crewAI/issues/1038",
        behaves={"limit_text": "none", "limit_terminal": "flagged"},
    ),
    _mutant(
        "asks-once-more",
        "SCRIPT-1",
        "After the answer the model is asked once more.",
        "fits no turn",
        "crewAIInc/crewAI/issues/3847",
        finish=faults.asks_once_more,
    ),
    _mutant(
        "blank-is-an-answer",
        "SCRIPT-2",
        "A blank text is declared to be an answer, so the run ends before its script does.",
        "never played",
        "google/adk-python/issues/3525",
        declared={"empty_is": ["no_parts", "null", "thinking"]},
    ),
    _mutant(
        "reasoning-spans",
        "EXPECT",
        "Each thought is wrapped in a span that nobody asked for: two events more than predicted.",
        "events is 14",
        "ag-ui-protocol/ag-ui/pull/1920",
        shown=event_faults.spanned,
    ),
)

MUTANTS: tuple[Mutant, ...] = (
    *_RUN,
    *_EVENTS,
    *_LIMITS,
    *_SUMMARY,
    *_HISTORY,
    *_ACTING,
    *_RECOVERY,
    *_USAGE,
    *_KIT,
)
