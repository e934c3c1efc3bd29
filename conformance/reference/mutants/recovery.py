"""Mutants of the recovery clauses."""

from conformance.reference.faults import endings, history, replies
from conformance.reference.mutants.mutant import Mutant, mutant

MUTANTS: tuple[Mutant, ...] = (
    mutant(
        "empty-is-answered",
        "REC-1",
        "A run that ended on an empty reply says that it was answered.",
        "was empty",
        "google/adk-python/issues/3525",
        ending=endings.told_as("answered", instead_of="empty"),
    ),
    mutant(
        "nothing-gets-smaller",
        "REC-3",
        "A compaction that shrinks nothing counts as one that did.",
        "sends the request of|expected fewer",
        "openclaw/openclaw/issues/150447",
        "anomalyco/opencode/issues/27924",
        compacted=history.nothing_gets_smaller,
    ),
    mutant(
        "overflow-is-transient",
        "REC-3",
        "A prompt that is too long is sent again unchanged, as if the server had been busy.",
        "sends the request of",
        "SWE-agent/mini-swe-agent/issues/921",
        failure=replies.overflow_is_transient,
    ),
    mutant(
        "tokens-are-an-overflow",
        "EXPECT",
        "A rate limit that speaks of tokens is taken for a prompt that is too long.",
        "compactions is 1|model_calls is",
        "aaif-goose/goose/issues/11318",
        failure=replies.tokens_are_an_overflow,
    ),
)
