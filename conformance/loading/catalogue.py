"""The catalogue of loops that were reported to fail, and where the kit shows each: the file as values. Judges no placement."""

from dataclasses import dataclass
from pathlib import Path

from conformance.loading.loader import read_data

FILE = Path(__file__).parent.parent / "catalogue.yaml"


@dataclass(frozen=True, slots=True)
class ReportedFailure:
    """
    A public report of a loop that failed.

    `url` is the citation, `fault` what went wrong, in the kit's words. It is placed by the rules it breaks, the mutant's own
    first, by a scenario that shows it and by a mutant that has it; or it is `undecidable`, for the reason given.
    """

    id: str
    category: str
    url: str
    fault: str
    rules: tuple[str, ...] = ()
    scenario: str | None = None
    mutant: str | None = None
    undecidable: str | None = None

    @property
    def named(self) -> str:
        """The report as people cite it: owner/repository#number."""
        owner, repository, _, number = self.url.removeprefix("https://github.com/").split("/")
        return f"{owner}/{repository}#{number}"


def reported_failures() -> tuple[ReportedFailure, ...]:
    """Every report of the catalogue, category by category."""
    return tuple(ReportedFailure(**{**one, "rules": tuple(one.get("rules", ()))}) for one in read_data(FILE))
