"""REC: what an agent does when the model answers nothing, half, too late or not at all, or says that the prompt is too long."""

from conformance.rule import MUST, SHOULD, Rule
from conformance.rules.declared_never import never_recovers, unless_seen
from conformance.rules.recovery_ahead import REC_13
from conformance.rules.recovery_bound import REC_10
from conformance.rules.recovery_empty import rec_1, rec_2
from conformance.rules.recovery_ends import rec_6, rec_8
from conformance.rules.recovery_http import everything_is_sent_again, nothing_is_sent_again, rec_4, rec_5
from conformance.rules.recovery_overflow import rec_3
from conformance.rules.recovery_replies import rec_7, rec_12
from conformance.rules.recovery_retries import REC_9
from conformance.rules.recovery_stop import REC_11

_ISSUES = "https://github.com"

RULES: tuple[Rule, ...] = (
    Rule(
        id="REC-1",
        level=MUST,
        clause="An empty reply is asked for again at most as often as declared, and then the run ends as what it is, without an "
        "answer made up. A blank text beside a call, or a short text, is not empty.",
        rationale="Models do answer nothing now and then: taken for an answer it leaves the user with silence, and repeated "
        "without bound it burns the budget.",
        evidence=(
            f"{_ISSUES}/google/adk-python/issues/3525",
            f"{_ISSUES}/google-gemini/gemini-cli/issues/7230",
            f"{_ISSUES}/lsdefine/GenericAgent/issues/201",
            f"{_ISSUES}/crewAIInc/crewAI/issues/2885",
        ),
        channels="M,E,R",
        keys=("empty_response", "empty_is", "recovery_scope"),
        check=rec_1,
    ),
    Rule(
        id="REC-2",
        level=SHOULD,
        clause="The request after an empty reply differs from the one before it, as by a nudge.",
        rationale="A model that answered a prompt with nothing will as like as not do so again; a word to it is what "
        "helps.",
        evidence=(
            f"{_ISSUES}/lsdefine/GenericAgent/issues/201",
            f"{_ISSUES}/deepset-ai/haystack/issues/12300",
        ),
        channels="M",
        keys=("empty_is",),
        check=rec_2,
    ),
    Rule(
        id="REC-3",
        level=MUST,
        clause="After an overflow the same request is never sent again: the next one is smaller, as often as declared and no "
        "more. A compaction's own request fits the model's window, and a run that cannot shrink ends as an overflow.",
        rationale="The same prompt is too long every time; an agent that repeats it spends hours and money on refusals.",
        evidence=(
            f"{_ISSUES}/anomalyco/opencode/issues/27924",
            f"{_ISSUES}/anthropics/claude-code/issues/26317",
            f"{_ISSUES}/SWE-agent/mini-swe-agent/issues/921",
            f"{_ISSUES}/openclaw/openclaw/issues/150447",
        ),
        channels="M",
        keys=("prompt_too_long", "recovery_scope"),
        check=rec_3,
    ),
    Rule(
        id="REC-4",
        level=MUST,
        clause="A request that failed with 400, 403, 404, 413 or 422, or because a quota is spent, is not sent again"
        " to the same model; after a 401 it is at most once, with other credentials.",
        rationale="What is wrong fails every time: repeating it costs time, hides the cause, and a spent quota stays "
        "spent.",
        evidence=(
            f"{_ISSUES}/earendil-works/pi/issues/4707",
            f"{_ISSUES}/opendev-to/opendev/pull/207",
            f"{_ISSUES}/NousResearch/hermes-agent/pull/93308",
            f"{_ISSUES}/langchain-ai/langchainjs/issues/918",
        ),
        channels="M",
        keys=("http_retry",),
        applies=everything_is_sent_again,
        check=rec_4,
    ),
    Rule(
        id="REC-5",
        level=MUST,
        clause="A failure that may pass (408, 409, 429, 5xx) is followed by another attempt, and by a bounded number"
        " of them. Where the server asks to wait, the agent waits (SHOULD, judged on the scenario's clock "
        "only).",
        rationale="One busy moment of a server must not lose a long run, and one that never ends must not keep it for "
        "ever.",
        evidence=(
            f"{_ISSUES}/huggingface/smolagents/issues/2165",
            f"{_ISSUES}/opendev-to/opendev/pull/207",
            f"{_ISSUES}/NousResearch/hermes-agent/pull/93308",
            f"{_ISSUES}/openai/codex/issues/28641",
        ),
        channels="M",
        keys=("http_retry",),
        applies=nothing_is_sent_again,
        check=rec_5,
    ),
    Rule(
        id="REC-6",
        level=MUST,
        clause="When recovery is used up, the caller can read what the last try failed of.",
        rationale="Retries that end in a bare 'gave up' leave nobody to know whether to wait, to pay or to mend the "
        "request.",
        evidence=(
            f"{_ISSUES}/opendev-to/opendev/pull/207",
            f"{_ISSUES}/openai/openai-agents-python/pull/4606",
            f"{_ISSUES}/langchain-ai/langchainjs/issues/918",
        ),
        channels="E,R",
        keys=("empty_is",),
        applies=unless_seen(rec_6, never_recovers),
        check=rec_6,
    ),
    Rule(
        id="REC-7",
        level=MUST,
        clause="A reply whose connection broke, or whose stream ended while a call was being spelled, is neither "
        "acted on nor taken for an answer; nor is one whose stream ended without a finish reason (SHOULD).",
        rationale="Half a sentence is believed, and half a call does what nobody finished saying.",
        evidence=(
            f"{_ISSUES}/ag-ui-protocol/ag-ui/issues/2300",
            f"{_ISSUES}/openai/codex/issues/28641",
            f"{_ISSUES}/earendil-works/pi/issues/2119",
        ),
        channels="T,E,R",
        check=rec_7,
    ),
    Rule(
        id="REC-8",
        level=SHOULD,
        clause="What one cause of failure has used up is not taken from the recovery of another.",
        rationale="A long run meets several troubles; with one counter for all of them the second ends it.",
        evidence=(
            f"{_ISSUES}/openclaw/openclaw/issues/150447",
            f"{_ISSUES}/coddy-project/coddy-agent/pull/329",
        ),
        channels="M",
        keys=("recovery_scope", "empty_response", "prompt_too_long", "http_retry"),
        check=rec_8,
    ),
    REC_9,
    REC_10,
    REC_11,
    Rule(
        id="REC-12",
        level=MUST,
        clause="A 200 whose body is no reply (an error, a page, no choices, broken JSON) is a failure: it is neither"
        " acted on nor taken for an answer.",
        rationale="Proxies and gateways answer 200 with anything; an agent that trusts the status shows a user an error"
        " page, or nothing.",
        evidence=(
            f"{_ISSUES}/google/adk-python/issues/3618",
            f"{_ISSUES}/google-gemini/gemini-cli/issues/7230",
            f"{_ISSUES}/earendil-works/pi/issues/2119",
        ),
        channels="M,E,R",
        check=rec_12,
    ),
    REC_13,
)
