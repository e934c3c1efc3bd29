"""The first request of a run behind one that did not end as usual: whether its history is one that a model takes."""

from conformance.reading.outcome import claimed
from conformance.reading.pairing import Pairs
from conformance.reading.told import may_keep_back
from conformance.reading.view import Call, Run, View
from conformance.rules.history_shape import needs_messages
from fake_models.provider_rules import known_rule


def asked_nothing(run: Run, view: View) -> str | None:
    """The reason that a run gives which asked its model nothing although it should have, as words to go on with; None where it need not."""
    claim = claimed(run, view)
    if run.cancelled or run.killed or run.max_iters == 0 or run.how not in ("returned", "raised", "died"):
        return None
    if run.main or (claim is not None and claim.kind in ("answered", "waiting")) or may_keep_back(run, (), view):
        return None
    return f": {claim.reason!r:.200}" if claim is not None and claim.reason else ""


def broken_history(call: Call, view: View) -> str | None:
    """What is wrong with a request's history: what its provider refused, or a call without exactly one result; None where nothing is."""
    refused = call.refused or {}
    known = known_rule(call.request.wire, str(refused.get("rule"))) if refused.get("by") == "provider" else None
    if known is not None and known.confidence == "A":
        return f"{call.id} was refused by provider rule {known.id!r}: {refused.get('message')!r:.200}"
    if needs_messages(view) is not None:
        return None
    return unsound(call.id, call.paired)


def unsound(name: str, pairs: Pairs) -> str | None:
    """The first thing in a history that a model cannot take, in words; None where each call has one result and each result its call."""
    for one in pairs.calls:
        named = f"call {one.call.id!r} ({one.call.name}) of messages[{one.index}]"
        found = len(one.results) + len(one.late)
        if found != 1:
            return f"{name} carries {named} with {found or 'no'} results"
        if one.late:
            return f"{name} carries {named} with its result at messages[{one.late[0].index}], behind another message"
    for orphan in pairs.orphans:
        came = orphan.result.message.tool_call_id
        return f"{name} carries a result of no call at messages[{orphan.result.index}], for id {came!r}"
    return None
