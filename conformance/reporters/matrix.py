"""The kill matrix as text: which mutant breaks which rule, where and with what words. Pure."""

from collections.abc import Sequence

from conformance.printable import excerpt
from conformance.rule import Rule
from conformance.selftest import Tried, Unfair, survivors

#: Longest finding in the matrix, in characters: a row is one line.
SHOWN = 160


def matrix(tried: Sequence[Tried], wrong: Sequence[Unfair], rules: Sequence[Rule], dialects: int) -> str:
    """One line per rule and mutant in the rules' order, then what the honest reference broke, then the sums."""
    rows = [_row(one) for rule in rules for one in tried if one.mutant.rule == rule.id]
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(3)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, (*widths, 0), strict=True)) for row in rows]
    named = {one.mutant.rule for one in tried}
    lines += [f"{rule.id}: no mutant is made to break it" for rule in rules if rule.id not in named]
    lines += [f"honest in {dict(one.dialect)}, {one.play}: {one.rule}: {excerpt(one.message, SHOWN)}" for one in wrong]
    killed = sum(one.killed for one in tried)
    left = survivors(tried, rules)
    sums = (
        f"{killed} of {len(tried)} mutants killed",
        f"{len(rules) - len(left)} of {len(rules)} rules proven",
        f"{dialects - len({str(one.dialect) for one in wrong})} of {dialects} honest dialects pass",
    )
    lines += ["", ", ".join(sums)]
    return "\n".join([*lines, *([f"unproven: {', '.join(left)}"] if left else [])]) + "\n"


def _row(one: Tried) -> tuple[str, str, str, str]:
    said = f"SURVIVES: {one.mutant.fault}" if one.finding is None else excerpt(one.finding.message, SHOWN)
    return one.mutant.rule, one.mutant.name, one.play or "-", said
