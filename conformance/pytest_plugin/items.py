"""A scenario in a cell as a pytest item: its set-up plays it, its call says what came out."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pytest

from conformance.cell import Cell
from conformance.errors import AgentError
from conformance.judge import Judgement, Verdict, judge
from conformance.needs import NotPlayed
from conformance.pytest_plugin.telling import explained, unseen
from conformance.recording import Recording
from conformance.report import seen
from conformance.rules import BY_ID, RULES
from conformance.scenario import Scenario
from conformance.snapshot import stable_text

#: The first part of the ids of all these items, which stands where others have a file.
ROOT = "conformance"


@dataclass(frozen=True, slots=True)
class Planned:
    """A scenario in a cell, to be played."""

    plan: Scenario
    cell: Cell

    @property
    def name(self) -> str:
        """The item's name, which `-k`, junit and the last-failed cache know it by."""
        return f"{self.plan.id}[{self.cell.name.replace('/', '-')}]"

    @property
    def nodeid(self) -> str:
        """The item's id, by which a command line selects it again."""
        return f"{ROOT}::{self.name}"


class Host(Protocol):
    """What the items ask of their session."""

    strict: bool

    def play(self, planned: Planned) -> Recording:
        """Play it. AgentError where it cannot be."""

    def keep(
        self, planned: Planned, judgement: Judgement | None, error: str | None = None, excused: str | None = None
    ) -> None:
        """Remember what came of a play, for what is said of all together."""

    def differs(self, planned: Planned, text: str) -> str | None:
        """How a stable text differs from the one that is kept, where they are kept."""


class Suite(pytest.Collector):
    """The collected scenarios."""

    def __init__(self, *, planned: tuple[Planned, ...], host: Host, **more: Any) -> None:
        super().__init__(**more)
        self._planned = planned
        self._host = host

    def collect(self) -> Iterator["Item"]:
        """One item per scenario and cell."""
        for one in self._planned:
            # With its id, which pytest would else read as a name without parameters and not find among the failed ones.
            yield Item.from_parent(self, name=one.name, nodeid=one.nodeid, planned=one, host=self._host)


class Item(pytest.Item):
    """One scenario in one cell."""

    def __init__(self, *, planned: Planned, host: Host, **more: Any) -> None:
        super().__init__(**more)
        self._planned = planned
        self._host = host
        self._judgement: Judgement | None = None
        # `-k limits` and `-k LIM-1` select what they select on the command line of the kit.
        self.extra_keyword_matches.update(planned.plan.tags, planned.plan.exercises)

    def setup(self) -> None:
        """Play and judge. What cannot be played or decided is an error of the set-up, no failure of the agent."""
        try:
            judgement = judge(self._host.play(self._planned), RULES)
        except NotPlayed as lacking:
            self._host.keep(self._planned, None, excused=lacking.excuse)
            self.user_properties.append(("conformance.verdict", Verdict.NOT_APPLICABLE.value))
            pytest.skip(f"{self.name}: not played, since the agent does not have {lacking.excuse}")
        except AgentError as error:
            self._host.keep(self._planned, None, str(error))
            pytest.fail(f"{self.name} could not be run: {error}", pytrace=False)
        self._judgement = judgement
        self._host.keep(self._planned, judgement)
        self.user_properties.append(("conformance.verdict", judgement.verdict.value))
        if judgement.verdict == Verdict.COULD_NOT_RUN:
            pytest.fail(self._explained(judgement), pytrace=False)

    def runtest(self) -> None:
        """Fail with what is wrong, skip where nothing was seen."""
        judgement = self._judgement
        if judgement is None:
            raise AssertionError("an item is run whose set-up was not; pytest sets up before it runs")
        bad = {Verdict.FAIL, Verdict.WARN} if self._host.strict else {Verdict.FAIL}
        wrong = [self._explained(judgement)] if judgement.verdict in bad else []
        differs = self._host.differs(self._planned, stable_text(judgement.view))
        wrong += [] if differs is None else [differs]
        if wrong:
            pytest.fail("\n\n".join(wrong), pytrace=False)
        if judgement.verdict != Verdict.FAIL and not seen(judgement.results):
            pytest.skip(f"{self.name}: {unseen(judgement)}")

    def reportinfo(self) -> tuple[Path, None, str]:
        """Where the item stands: in no file, but under the name that its id begins with."""
        return self.config.rootpath / ROOT, None, self.name

    def _explained(self, judgement: Judgement) -> str:
        return explained(judgement, self._planned.cell.name, BY_ID)
