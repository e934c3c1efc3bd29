"""One scenario played to one agent for a test of one's own, and what comes of it as a value to assert on."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.agent_side import InProcessAgent
from conformance.cell import Cell
from conformance.cli.chosen import chosen
from conformance.cli.declaration import declaration
from conformance.errors import ConformanceError, LoadError, Problem
from conformance.judge import Judgement, Verdict, judge
from conformance.loading.schema_check import problems
from conformance.overrides import checked
from conformance.pytest_plugin.stage import Stage
from conformance.pytest_plugin.telling import explained
from conformance.recording import Recording
from conformance.rule import Level
from conformance.rules import BY_ID, RULES
from conformance.scenario import Scenario, scenario
from conformance.snapshot import stable_text


@dataclass(frozen=True, slots=True)
class Found:
    """A finding and the rule that it breaks."""

    rule: str
    level: Level
    message: str
    #: The record it shows at.
    seq: int


@dataclass(frozen=True, slots=True)
class ConformanceRun:
    """
    A scenario played to an agent, judged alone: what only all recordings of an agent together show is not in it.

    `verdict` compares with its word: "pass", "fail", "warn", "could-not-run", "not-observed". `explained` is the assertion
    message. `text` is the recording as text that is equal where the behaviour is.
    """

    agent: str
    scenario: str
    cell: str
    verdict: Verdict
    findings: tuple[Found, ...]
    explained: str
    text: str
    recording: Recording
    judgement: Judgement

    @property
    def name(self) -> str:
        """As its snapshot is called."""
        return f"{self.agent}.{self.scenario}.{self.cell.replace('/', '-')}"

    def __repr__(self) -> str:
        return f"<{self.name}: {self.verdict}>"


Player = Callable[..., ConformanceRun]


def player(stage: Stage, default: str | None, folder: Path) -> Player:
    """
    What the fixture `conformance_run` gives.

    `default` is the agent where a test names none. A path is looked for in `folder` first, the test's own.
    """

    def conformance_run(
        given: str | Path | Mapping[str, Any],
        *,
        agent: str | InProcessAgent | None = None,
        stream: bool = False,
        chunking: str = "whole",
        dialect: str | Mapping[str, Any] | None = None,
    ) -> ConformanceRun:
        __tracebackhide__ = True
        who = default if agent is None else agent
        if who is None:
            raise TypeError(
                "conformance_run needs agent=, a SPEC or an InProcessAgent, where there is no --conformance-agent"
            )
        cell = Cell(stream=stream, chunking=chunking)
        try:
            recording = stage.play(who, plan(given, folder), cell, _override(dialect))
        except ConformanceError as error:
            # Its message says it all; the kit's own lines below the test's would only hide that.
            raise error.with_traceback(None) from None
        return _told(recording, cell)

    return conformance_run


def _override(dialect: str | Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    return declaration(dialect) if isinstance(dialect, str) else None if dialect is None else checked(dialect)


def plan(given: str | Path | Mapping[str, Any], folder: Path) -> Scenario:
    """
    The scenario that an id, a path or a dict names; in a dict, `title` and `why` may be left out.

    Raises:
        LoadError: there is none, several, or it has a problem.
    """
    if isinstance(given, Mapping):
        data = {"title": given.get("id"), "why": "A test asks for it."} | dict(given)
        wrong = problems(data)
        if wrong:
            raise LoadError(wrong)
        return scenario(data)
    beside = folder / given
    found = chosen([str(beside if beside.is_file() else given)])
    if len(found) > 1:
        raise LoadError([Problem((), f"{str(given)!r} names {len(found)} scenarios, expected one: its id or its file")])
    return found[0].scenario


def _told(recording: Recording, cell: Cell) -> ConformanceRun:
    judgement = judge(recording, RULES)
    return ConformanceRun(
        agent=str(recording.header.agent.get("name")),
        scenario=judgement.view.scenario.id,
        cell=cell.name,
        verdict=judgement.verdict,
        findings=tuple(
            Found(result.rule, finding.level or result.level, finding.message, finding.seq)
            for result in judgement.results
            for finding in result.findings
        ),
        explained=explained(judgement, cell.name, BY_ID),
        text=stable_text(judgement.view),
        recording=recording,
        judgement=judgement,
    )
