"""All rules, joined from one file per area, in the contract's order."""

from conformance.rule import Rule
from conformance.rules import acting, events, history, kit, limits, log, recovery, run, summary, usage, wire

RULES: tuple[Rule, ...] = (
    *run.RULES,
    *events.RULES,
    *limits.RULES,
    *summary.RULES,
    *history.RULES,
    *wire.RULES,
    *acting.RULES,
    *recovery.RULES,
    *usage.RULES,
    *log.RULES,
    *kit.RULES,
)
BY_ID = {rule.id: rule for rule in RULES}
