"""Provider rules as text: the list of them, and one with all that is known about it. Pure."""

from collections.abc import Mapping, Sequence

from fake_models.provider_rules import Mode, ProviderRule

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


def told_as(rule: ProviderRule) -> str:
    """The name that no other rule has."""
    return f"{rule.wire}.{rule.id}"


def refusals_listed(rules: Sequence[ProviderRule]) -> str:
    """One line per rule: name, mode, confidence, the provider's words."""
    width = max(len(told_as(rule)) for rule in rules)
    return "".join(
        f"{told_as(rule):{width}}  {rule.mode:7}  {rule.confidence}  {rule.status} {_words(rule)}\n" for rule in rules
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
        f"message: {_words(rule)}",
        "",
        f"mode: {rule.mode}: {MODES[rule.mode]}",
        f"confidence: {CONFIDENCE[rule.confidence]}",
        f"seen: {rule.source}",
    ]
    return "\n".join(lines) + "\n"


def _words(rule: ProviderRule) -> str:
    return rule.message.strip()
