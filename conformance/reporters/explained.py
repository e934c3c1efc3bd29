"""Rules as text: the list of them, and one with all that is known about it. Pure."""

from collections.abc import Iterator, Sequence

from conformance.dialect import CHANNELS
from conformance.rule import Rule


def listed(rules: Sequence[Rule]) -> str:
    """One line per rule: id, level, clause."""
    width = max((len(rule.id) for rule in rules), default=0)
    return "".join(f"{rule.id:{width}}  {rule.level:6}  {rule.clause}\n" for rule in rules)


def explained(rule: Rule, exercising: Sequence[str]) -> str:
    """One rule; `exercising` are the ids of the scenarios that put it to the test."""
    lines = [
        f"{rule.id} {rule.level}",
        "",
        rule.clause,
        "",
        f"why: {rule.rationale}",
        *_channels(rule),
        f"depends on the dialect: {', '.join(rule.keys) or 'no'}",
        f"scenarios: {', '.join(exercising) or 'none says it exercises it'}",
        *(f"seen: {link}" for link in rule.evidence),
    ]
    return "\n".join(lines) + "\n"


def _channels(rule: Rule) -> Iterator[str]:
    """No line for a rule of the kit that takes whatever an agent shows."""
    letters = [letter for letter in rule.channels if letter in CHANNELS]
    if letters:
        yield f"read from: {', '.join(f'{letter} ({CHANNELS[letter]})' for letter in letters)}"
