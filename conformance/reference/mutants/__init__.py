"""The mutants: the reference loop with one fault each, taken from what was reported of real agents. A table per area of rules."""

from conformance.reference.mutants import (
    acting,
    answers,
    approval,
    callbacks,
    catalogued,
    events,
    gate,
    guards,
    history,
    interrupts,
    kit,
    limits,
    records,
    recovery,
    run,
    sessions,
    streaming,
    subagents,
    summary,
    usage,
)
from conformance.reference.mutants.mutant import Mutant

MUTANTS: tuple[Mutant, ...] = (
    *run.MUTANTS,
    *events.MUTANTS,
    *limits.MUTANTS,
    *summary.MUTANTS,
    *history.MUTANTS,
    *acting.MUTANTS,
    *recovery.MUTANTS,
    *usage.MUTANTS,
    *catalogued.MUTANTS,
    *callbacks.MUTANTS,
    *guards.MUTANTS,
    *gate.MUTANTS,
    *answers.MUTANTS,
    *subagents.MUTANTS,
    *streaming.MUTANTS,
    *records.MUTANTS,
    *interrupts.MUTANTS,
    *approval.MUTANTS,
    *sessions.MUTANTS,
    *kit.MUTANTS,
)

__all__ = ["MUTANTS", "Mutant"]
