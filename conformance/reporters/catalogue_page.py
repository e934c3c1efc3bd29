"""The catalogue as the page docs/catalogue.md: where each reported failure is shown, and by what. Pure."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from conformance.errors import LoadError, Problem
from conformance.loading.catalogue import ReportedFailure

_HEAD = """# Reported failures

{reports} public reports of agent loops that failed, from {repositories} repositories, and where the kit shows each: the rules it
breaks, a scenario in which it shows and a mutant of the reference that has the fault. A test plays every mutant in its scenario and
expects its rule, which is named first, to find it. The faults are told in the kit's words; what a report says of one version may
have been mended since. Written by `conformance scenarios --catalogue` from `conformance/catalogue.yaml`.

| | reports | placed | not decidable |
|---|---|---|---|
"""


def catalogue_page(reports: Sequence[ReportedFailure]) -> str:
    """
    The whole page. Reports of a category stand together.

    Raises:
        LoadError: a report has no place.
    """
    missing = [one.id for one in reports if not _has_its_place(one)]
    if missing:
        message = (
            f"came {', '.join(missing)} with no place, expected rules, a scenario and a mutant for each; give it these, or say in a "
            "sentence why it cannot be decided from outside"
        )
        raise LoadError([Problem((), message, file="catalogue.yaml")])
    groups = [(name, tuple(mine)) for name, mine in groupby(reports, key=lambda one: one.category)]
    return "".join((*_counts(reports, groups), *(_section(name, mine) for name, mine in groups)))


def _counts(
    reports: Sequence[ReportedFailure], groups: Sequence[tuple[str, Sequence[ReportedFailure]]]
) -> Iterator[str]:
    repositories = {one.named.partition("#")[0] for one in reports}
    yield _HEAD.format(reports=len(reports), repositories=len(repositories))
    for name, mine in (*groups, ("all", reports)):
        beyond = sum(one.undecidable is not None for one in mine)
        yield f"| {name} | {len(mine)} | {len(mine) - beyond} | {beyond} |\n"


def _section(name: str, reports: Sequence[ReportedFailure]) -> str:
    head = f"\n## {name}\n\n| | report | fault | rules | scenario | mutant |\n|---|---|---|---|---|---|\n"
    return head + "".join(map(_row, reports))


def _has_its_place(one: ReportedFailure) -> bool:
    return bool(one.undecidable or (one.rules and one.scenario and one.mutant))


def _row(one: ReportedFailure) -> str:
    cells = (one.id, f"[{one.named}]({one.url})", one.fault, *_where(one))
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |\n"


def _where(one: ReportedFailure) -> tuple[str, str, str]:
    if one.undecidable is not None:
        return f"not decidable from outside: {one.undecidable}", "", ""
    return ", ".join(one.rules), f"`{one.scenario}`", f"`{one.mutant}`"
