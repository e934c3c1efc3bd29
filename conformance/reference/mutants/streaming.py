"""Mutants of the streaming clauses."""

from dataclasses import replace

from conformance.reference.faults import streaming
from conformance.reference.mutants.mutant import Mutant, mutant


def _cut(chunking: str, one: Mutant) -> Mutant:
    """A mutant that reads whole chunks rightly."""
    return replace(one, chunkings=(chunking,))


MUTANTS: tuple[Mutant, ...] = (
    mutant(
        "what-it-says-beside-calls-is-forgotten-when-streamed",
        "STR-1",
        "Where it streams, text that the model says beside a call does not join the history.",
        r"m2 is another request: it has messages\[\d\], call of get_tide",
        "google/adk-python/issues/627",
        bench=streaming.asking(streaming.text_beside_calls_forgotten),
    ),
    mutant(
        "streams-ask-otherwise",
        "STR-1",
        "A streamed request has a temperature that a blocking one does not have.",
        "m1 is another request: it has temperature 0.2",
        "clouisle/Clouisle/issues/96",
        bench=streaming.asking(streaming.sampled),
    ),
    _cut(
        "token",
        mutant(
            "white-space-of-each-delta-is-lost",
            "STR-2",
            "Each delta of a text is stripped.",
            "the text differs from character",
            "nextlevelbuilder/goclaw/pull/1324",
            bench=streaming.reading(content=str.strip),
        ),
    ),
    _cut(
        "character",
        mutant(
            "half-characters-are-thrown-away",
            "STR-2",
            "A character that is not ASCII and ends a piece of arguments is thrown away.",
            "runs note .*, expected note",
            "librefang/librefang/issues/3448",
            bench=streaming.reading(arguments=streaming.cut_characters),
        ),
    ),
    mutant(
        "deltas-go-to-the-last-call",
        "STR-3",
        "Deltas of calls are joined by arrival, and the index is not looked at.",
        "come by turns, and belong by their index",
        "QwenLM/Qwen-Agent/pull/943",
        "maximhq/bifrost/issues/1829",
        bench=streaming.reading_calls(streaming.by_arrival),
    ),
    mutant(
        "each-id-opens-a-call",
        "STR-3",
        "Every delta that has an id begins a new call.",
        "every delta repeats its call's id",
        "JetBrains/koog/pull/2052",
        bench=streaming.reading_calls(streaming.each_id_opens(bool)),
    ),
    mutant(
        "an-empty-id-opens-a-call",
        "STR-3",
        "A delta whose id is there and empty begins a new call.",
        "every further delta has an empty id",
        "symfony/ai/pull/2220",
        bench=streaming.reading_calls(streaming.each_id_opens(lambda given: given is not None)),
    ),
    mutant(
        "ids-open-no-call",
        "STR-3",
        "Deltas are joined by index alone, and a new id on the same index is not looked at.",
        "a new id opens a new call",
        "huggingface/smolagents/pull/1958",
        bench=streaming.reading_calls(streaming.index_alone),
    ),
    mutant(
        "all-at-once",
        "STR-4",
        "What was streamed is shown when the run is over.",
        "is shown only when its reply was complete",
        "macanderson/stella/pull/226",
        shown=streaming.all_at_once,
    ),
)
