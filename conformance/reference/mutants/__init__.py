"""The mutants: the reference loop with one fault each, taken from what was reported of real agents. A table per area of rules."""

from conformance.reference.mutants import acting, events, history, kit, limits, recovery, run, summary, usage
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
    *kit.MUTANTS,
)

__all__ = ["MUTANTS", "Mutant"]
