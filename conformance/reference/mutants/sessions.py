"""Mutants of the clauses about sessions."""

from conformance.reference.faults import sessions
from conformance.reference.mutants.mutant import Mutant, mutant

MUTANTS: tuple[Mutant, ...] = (
    mutant(
        "one-history-for-all-sessions",
        "SES-1",
        "All sessions of an agent write one history.",
        "belongs to session",
        "agno-agi/agno/issues/4820",
        sessions=sessions.one_history,
    ),
    mutant(
        "everyone-enters",
        "SES-2",
        "A run that begins while another one goes on writes the same history.",
        "went on at once on session",
        "strands-agents/harness-sdk/issues/1176",
        "agentscope-ai/agentscope-runtime/issues/402",
        entered=sessions.everyone_enters,
    ),
    mutant(
        "busy-from-the-first-reply-on",
        "SES-2",
        "A session is taken for busy only once its model has replied.",
        "went on at once on session",
        "NousResearch/hermes-agent/issues/64934",
        entered=sessions.busy_from_the_first_reply_on,
    ),
    mutant(
        "one-session-waits-and-all-do",
        "SES-3",
        "A session that waits for a person keeps all others out.",
        "asked its model nothing, while run .* waited for a person",
        "agno-agi/agno/issues/4416",
        sessions=sessions.one_door,
        ending=sessions.a_waiting_run_stays,
    ),
    mutant(
        "one-session-at-a-time",
        "SES-3",
        "While one session runs every other one is refused.",
        "asked its model nothing, while run .* went on",
        "agno-agi/agno/issues/4416",
        sessions=sessions.one_door,
        eager=True,
    ),
    mutant(
        "sessions-queue-up",
        "SES-3",
        "A session waits until every other one's run is over.",
        "when that one had asked all it asked",
        "agno-agi/agno/issues/4416",
        sessions=sessions.one_queue,
    ),
    mutant(
        "stored-as-it-is",
        "SES-4",
        "A stored history is sent as it is, with the calls that were open when it was stored.",
        "was given a stored history in which .*, and its first request",
        "openai/codex/pull/8048",
        repaired=sessions.stored_as_it_is,
    ),
    mutant(
        "stored-calls-are-refused",
        "SES-4",
        "A stored history in which a tool was called is refused.",
        "was given a sound stored history and asked its model nothing",
        "openai/codex/pull/8048",
        repaired=sessions.stored_calls_are_refused,
        eager=True,
    ),
)
