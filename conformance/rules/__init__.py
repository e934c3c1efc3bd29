"""All rules, joined from one file per area, in the contract's order."""

from conformance.rule import Rule
from conformance.rules.acting import RULES as ACTING
from conformance.rules.answers import RULES as ANSWERS
from conformance.rules.approval import RULES as APPROVAL
from conformance.rules.callbacks import RULES as CALLBACKS
from conformance.rules.event_payload import RULES as EVENT_PAYLOAD
from conformance.rules.events import RULES as EVENTS
from conformance.rules.gate import RULES as GATE
from conformance.rules.guards import RULES as GUARDS
from conformance.rules.history import RULES as HISTORY
from conformance.rules.interrupts import RULES as INTERRUPTS
from conformance.rules.kit import RULES as KIT
from conformance.rules.limits import RULES as LIMITS
from conformance.rules.limits_budget import RULES as LIMITS_BUDGET
from conformance.rules.limits_reach import RULES as LIMITS_REACH
from conformance.rules.log import RULES as LOG
from conformance.rules.records import RULES as RECORDS
from conformance.rules.recovery import RULES as RECOVERY
from conformance.rules.run import RULES as RUN
from conformance.rules.run_after import RULES as RUN_AFTER
from conformance.rules.run_next import RULES as RUN_NEXT
from conformance.rules.sessions import RULES as SESSIONS
from conformance.rules.streaming import RULES as STREAMING
from conformance.rules.subagents import RULES as SUBAGENTS
from conformance.rules.summary import RULES as SUMMARY
from conformance.rules.usage import RULES as USAGE
from conformance.rules.wire import RULES as WIRE

RULES: tuple[Rule, ...] = (
    *(*RUN, *RUN_NEXT, *RUN_AFTER, *EVENTS, *EVENT_PAYLOAD, *LIMITS, *LIMITS_BUDGET, *LIMITS_REACH),
    *(*SUMMARY, *HISTORY, *WIRE),
    *(
        *ACTING,
        *RECOVERY,
        *GUARDS,
        *CALLBACKS,
        *USAGE,
        *GATE,
        *INTERRUPTS,
        *APPROVAL,
        *SESSIONS,
        *ANSWERS,
        *SUBAGENTS,
        *STREAMING,
        *RECORDS,
        *LOG,
        *KIT,
    ),
)
BY_ID = {rule.id: rule for rule in RULES}
