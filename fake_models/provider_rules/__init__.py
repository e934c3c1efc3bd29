"""
What a provider refuses before its model sees it, as data: one row per refusal, with where it was seen. Pure; sends nothing.

`confidence` A is an error body that was quoted raw or captured from the provider, B one that only code and comments tell of.
A enforces, B observes; three B rows enforce all the same because agents break them most. What providers accept has no row.
"""

from collections.abc import Mapping
from types import MappingProxyType

from fake_models.provider_rules.anthropic_messages import RULES as ANTHROPIC_MESSAGES
from fake_models.provider_rules.gemini import RULES as GEMINI
from fake_models.provider_rules.ollama import RULES as OLLAMA
from fake_models.provider_rules.openai_chat import RULES as OPENAI_CHAT
from fake_models.provider_rules.openai_responses import RULES as OPENAI_RESPONSES
from fake_models.provider_rules.rule import Breach, Fields, Known, Mode, ProviderRule, WireRules, refusal

__all__ = [
    "BODY_NO_OBJECT",
    "PROVIDER_RULES",
    "Breach",
    "Known",
    "Mode",
    "ProviderRule",
    "breaches",
    "known_rule",
    "refusal",
]

_BY_WIRE = MappingProxyType[str, WireRules](
    {rules.wire: rules for rules in (OPENAI_CHAT, OPENAI_RESPONSES, ANTHROPIC_MESSAGES, OLLAMA, GEMINI)}
)

PROVIDER_RULES: tuple[ProviderRule, ...] = tuple(rule for rules in _BY_WIRE.values() for rule in rules.rules)

#: Those of a wire that are not off of themselves.
_ON = MappingProxyType[str, tuple[ProviderRule, ...]](
    {wire: tuple(rule for rule in rules.rules if rule.mode != "off") for wire, rules in _BY_WIRE.items()}
)

#: What the refusal of a body is called in which no rule can look at anything.
BODY_NO_OBJECT = "body_no_object"

_BY_ID = MappingProxyType[tuple[str, str], ProviderRule]({(rule.wire, rule.id): rule for rule in PROVIDER_RULES})

_UNKNOWN = Known()


def known_rule(wire: str, id: str) -> ProviderRule | None:  # noqa: A002 - the rule's own word
    """The rule of that id on that wire; None where there is none."""
    return _BY_ID.get((wire, id))


def breaches(
    wire: str, body: Fields, modes: Mapping[str, Mode] | None = None, known: Known = _UNKNOWN
) -> tuple[Breach, ...]:
    """
    Every breach of the rules that are not off, in the order in which the provider looks; it reports the first.

    `modes` overrides the mode of rules by id. Rules that hang on what is `known` beside the body find nothing without it.
    """
    of_wire = _BY_WIRE.get(wire)
    if of_wire is None:
        return ()
    read = of_wire.read(body)
    has = of_wire.has(read)
    found: list[Breach] = []
    # Nearly every request is clean, so that what counts is how fast nothing is found.
    for rule in of_wire.rules if modes else _ON[wire]:
        mode = modes.get(rule.id, rule.mode) if modes else rule.mode
        if mode != "off" and (rule.about is None or rule.about in has):
            for fields in rule.check(read):
                if rule.only is None or rule.only(fields, known):
                    found.append(_breach(rule, mode, fields))  # noqa: PERF401 - mostly there is none
    return tuple(found)


def _breach(rule: ProviderRule, mode: Mode, fields: Fields) -> Breach:
    param = None if rule.param is None else rule.param.format(**fields)
    return Breach(rule, rule.message.format(**fields), param, mode)
