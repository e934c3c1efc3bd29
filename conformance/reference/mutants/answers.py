"""Mutants of the clauses about an answer that is a call."""

from conformance.reference.faults import answers
from conformance.reference.mutants.mutant import Mutant, mutant

_BY_A_CALL = {"answer_by": "tool:final_answer.text"}

MUTANTS: tuple[Mutant, ...] = (
    mutant(
        "only-the-first-call-answers",
        "ANS-1",
        "The answer is looked for in the first call of a reply alone.",
        "by a call beside log_visit, and .* asks again",
        "aaif-goose/goose/pull/11120",
        declared=_BY_A_CALL,
        settled=answers.only_the_first,
    ),
    mutant(
        "only-the-last-call-answers",
        "ANS-1",
        "The answer is looked for in the last call of a reply alone.",
        "by a call beside log_visit, and .* asks again",
        "aaif-goose/goose/pull/11120",
        declared=_BY_A_CALL,
        settled=answers.only_the_last,
    ),
    mutant(
        "an-answer-has-to-be-alone",
        "ANS-1",
        "An answer beside any other call is not taken, though that call came to a good end.",
        "by a call beside log_visit, and .* asks again",
        "huggingface/smolagents/pull/1539",
        declared=_BY_A_CALL,
        settled=answers.only_alone,
        eager=True,
    ),
    mutant(
        "the-answer-stands-whatever-failed",
        "ANS-2",
        "An answer is taken though a call beside it failed.",
        "log_visit failed, and the run ended with it",
        "xorbitsai/xagent/pull/1269",
        declared=_BY_A_CALL,
        settled=answers.whatever_failed,
    ),
    mutant(
        "the-answer-drops-its-siblings",
        "ANS-2",
        "Calls beside an answer are neither run nor answered.",
        "never ran, and the run ended with it",
        "BrokkAi/brokk-app/issues/1228",
        declared=_BY_A_CALL,
        act=answers.its_siblings_are_dropped,
    ),
)
