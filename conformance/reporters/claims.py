"""What a report lets one say of an agent: its certified areas, and under which declaration. Pure; no percentage anywhere."""

from collections.abc import Iterator, Mapping, Sequence

from conformance.dialect import BY_NAME
from conformance.judge import Verdict
from conformance.printable import printable
from conformance.report import KIT_RULES, UNSOUND, Report, observed
from conformance.rule import Level, Rule


def dialect_claim(rep: Report) -> str:
    """The declaration an agent was judged under, as what differs from the recommended one, and the cells it was played in."""
    plain = {
        name: list(key.default) if isinstance(key.default, tuple) else key.default for name, key in BY_NAME.items()
    }
    own = ", ".join(f"{name}={value}" for name, value in rep.dialect.items() if name in plain and plain[name] != value)
    cells = ", ".join(dict.fromkeys(entry.cell for entry in rep.entries))
    return printable(f"the recommended dialect{f' but {own}' if own else ''}; cells: {cells or 'none'}")


def shortfall(rep: Report, missed: Sequence[str]) -> str:
    """What an exit code 3 stands for."""
    down = list(dict.fromkeys(entry.scenario for entry in rep.entries if entry.verdict == Verdict.COULD_NOT_RUN))
    reasons = (
        f"{len(down)} scenario{'' if len(down) == 1 else 's'} could not be run or decided, first {down[0]}"
        if down
        else "",
        f"no scenario of the core gave {', '.join(missed)} anything to judge" if missed else "",
        "" if observed(rep) else "nothing that the agent did could be judged",
    )
    return printable("; ".join(filter(None, reasons)))


def area_lines(rep: Report, rules: Mapping[str, Rule]) -> Iterator[tuple[bool, str]]:
    """One line per area with anything to judge, and whether it is certified; then one naming the areas with nothing."""
    silent = []
    width = max((len(area) for area in rep.areas), default=0)
    for area, total in rep.areas.items():
        mine = [rule for rule in rules.values() if rule.area == area and rule.id in rep.rules]
        if not total.armed:
            silent.append(area)
            continue
        armed = sum(bool(rep.rules[rule.id].armed) for rule in mine)
        counts = (
            f"{armed} of {len(mine)} rules armed, {total.passed} of {total.armed} units pass, {_many(total.warnings)}"
        )
        word = "certified    " if total.certified else "not certified"
        why = "" if total.certified else f"; {_lacking(mine, rep)}"
        yield total.certified, f"{area:{width}}  {word}  {counts}{why}"
    if silent:
        yield False, f"nothing to judge: {', '.join(silent)}"


def _many(warnings: int) -> str:
    return f"{warnings} warning{'' if warnings == 1 else 's'}"


def _lacking(rules: Sequence[Rule], rep: Report) -> str:
    """Why an area is not certified: the MUSTs that do not pass, else the kit's own rules that fail."""
    # Told once per reason: a selection leaves most rules with nothing to judge.
    lacking: dict[str, list[str]] = {}
    for name in (rule.id for rule in rules if rule.level == Level.MUST):
        if why := _why(name, rep):
            lacking.setdefault(why, []).append(name)
    unsound = [name for name in rep.rules if name in KIT_RULES and rep.rules[name].verdict in UNSOUND]
    told = "; ".join(f"{', '.join(names)} {why}" for why, names in lacking.items())
    return told or ", ".join(f"{name} fails" for name in unsound) or "no MUST applies"


def _why(name: str, rep: Report) -> str | None:
    total = rep.rules[name]
    if total.excused or total.certifies:
        return None
    if total.verdict not in (Verdict.NOT_OBSERVED, Verdict.NOT_APPLICABLE):
        return total.verdict if total.verdict != Verdict.PASS else "seen in translated events only"
    reasons = {r.reason for entry in rep.entries for r in entry.results if r.rule == name and r.reason}
    return f"not-observed ({', '.join(sorted(reasons)) or 'nothing was played'})"
