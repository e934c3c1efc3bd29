"""WIRE: requests that the wire's provider would accept."""

from collections.abc import Mapping

from conformance.reading.view import Call, View
from conformance.rule import MUST, OK, SHOULD, Finding, Judged, Rule
from fake_models.messages import Message
from fake_models.provider_rules import BODY_NO_OBJECT, Breach, Known, breaches, known_rule


def _wire_1(view: View) -> Judged:
    for run in view.runs:
        for call in run.calls:
            if call.refused is not None and call.refused["by"] == "provider":
                yield _refusal(call, _breaches(call))
            observed = call.reply.observed if call.reply is not None else ()
            for breach in _breaches(call) if observed else ():
                if breach.rule.id in observed:
                    yield Finding(
                        f"{call.id}: {_told(breach.rule.id, breach.message, breach.param, call)} "
                        "The rule is not certain enough to refuse the request.",
                        call.seq,
                        level=SHOULD,
                    )
            # A fault or a refusal for size says nothing of the request's shape, a reply says that it was accepted.
            if call.reply is not None and not observed:
                yield OK


def _breaches(call: Call) -> tuple[Breach, ...]:
    body = call.resumed if isinstance(call.resumed, Mapping) else {}
    return breaches(call.request.wire, body, known=Known(call.request.model))


def _refusal(call: Call, broken: tuple[Breach, ...]) -> Finding:
    refused = call.refused or {}
    rule, words = str(refused["rule"]), str(refused["message"])
    known = known_rule(call.request.wire, rule)
    param = next((breach.param for breach in broken if breach.rule.id == rule), None)
    return Finding(
        f"{call.id} was refused with status {refused['status']}: {_told(rule, words, param, call)}",
        call.refused_seq or call.seq,
        related=(call.seq,),
        level=SHOULD if known is not None and known.confidence == "B" else None,
    )


def _told(rule: str, words: str, param: str | None, call: Call) -> str:
    known = known_rule(call.request.wire, rule)
    name = f"{known.wire}.{known.id}" if known else rule
    sure = f"confidence {known.confidence}, seen in {known.source}; " if known else ""
    how = f" ({sure}explain: conformance provider-rules {name})" if known or rule == BODY_NO_OBJECT else ""
    at = f" at {param}" if param else ""
    shape = ", ".join(map(_shape, call.request.messages))
    return f"{words!r}, provider rule {rule!r}{how}, broken{at}. The messages were [{shape}]."


def _shape(message: Message) -> str:
    """A message as its role and the call ids it holds."""
    ids = [call.id for call in message.tool_calls] or ([message.tool_call_id] if message.role == "tool" else [])
    return f"{message.role}({', '.join(map(str, ids))})" if ids else message.role


RULES: tuple[Rule, ...] = (
    Rule(
        id="WIRE-1",
        level=MUST,
        clause="No request is one that the wire's provider refuses: what it was captured refusing fails, what is only known by "
        "hearsay warns. Refusals for size and faults of the server are no breach.",
        rationale="A refused request ends the run, and a history that caused it ends every later run of the session.",
        evidence=(
            "https://github.com/google/adk-python/issues/338",
            "https://github.com/BerriAI/litellm/issues/33678",
            "https://github.com/microsoft/agent-framework/issues/1179",
        ),
        channels="M",
        check=_wire_1,
    ),
)
