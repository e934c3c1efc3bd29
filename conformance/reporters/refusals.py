"""Provider rules as text: the list of them, and one with all that is known about it. Pure."""

from collections.abc import Mapping, Sequence

from fake_models.bodies import DEEPEST
from fake_models.provider_rules import BODY_NO_OBJECT, Mode, ProviderRule

#: What comes of a request that breaks a rule.
MODES: Mapping[Mode, str] = {
    "enforce": "the request is answered with this error, and WIRE-1 says so",
    "observe": "the request is answered as if nothing were wrong, and WIRE-1 warns",
    "off": "nothing; the refusal is real, but no loop can be blamed for it, or it is no longer made",
}
CONFIDENCE: Mapping[str, str] = {
    "A": "A, an error body that was quoted raw or captured",
    "B": "B, known from code and comments only; WIRE-1 warns and never fails for it",
}

#: What recordings name beside the rules: no provider has a rule for it, since none reads such a body at all.
NO_OBJECT = f"""{BODY_NO_OBJECT}

On every wire: a body that is no JSON object in UTF-8 is refused with status 400 before any rule is looked at.
NaN, Infinity, numbers that overflow such as 1e999 and anything nested deeper than {DEEPEST} levels are no JSON here.
The answer has the provider's shape; its words are the kit's own.

mode: always enforced
"""


def told_as(rule: ProviderRule) -> str:
    """The name that no other rule has."""
    return f"{rule.wire}.{rule.id}"


def refusals_listed(rules: Sequence[ProviderRule]) -> str:
    """One line per rule: name, mode, confidence, the provider's words."""
    width = max(len(told_as(rule)) for rule in rules)
    return "".join(
        f"{told_as(rule):{width}}  {rule.mode:7}  {rule.confidence}  {rule.status} {words(rule)}\n" for rule in rules
    )


def refusals(rules: Sequence[ProviderRule]) -> str:
    """Each rule with all that is known about it."""
    return "\n".join(map(_refusal, rules))


def _refusal(rule: ProviderRule) -> str:
    lines = [
        told_as(rule),
        "",
        f"answer: {rule.status} {rule.type}",
        f"code: {rule.code or 'none'}",
        f"param: {rule.param or 'none'}",
        f"message: {words(rule)}",
        "",
        f"mode: {rule.mode}: {MODES[rule.mode]}",
        f"confidence: {CONFIDENCE[rule.confidence]}",
        f"seen: {rule.source}",
    ]
    return "\n".join(lines) + "\n"


def words(rule: ProviderRule) -> str:
    """The provider's words with the names of what they tell of in braces; a brace of their own stands there once."""
    return rule.message.strip().replace("{{", "{").replace("}}", "}")
