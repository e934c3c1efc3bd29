"""
The session that plays scenarios to one agent: collects them as items, keeps what came, and says what all of it shows together.

With pytest-xdist the workers play, and hand what they recorded to the session that the user sees.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from conformance.agent_side import AgentInfo
from conformance.cell import cells_of
from conformance.cli.chosen import CORE, chosen
from conformance.cli.declaration import declaration
from conformance.cli.showing import unseen
from conformance.errors import ConformanceError
from conformance.judge import Judgement, judge
from conformance.printable import excerpt, printable
from conformance.pytest_plugin import kept_texts, whole
from conformance.pytest_plugin.items import ROOT, Planned, Suite
from conformance.pytest_plugin.kept_texts import Fate
from conformance.pytest_plugin.stage import Stage
from conformance.pytest_plugin.telling import warnings
from conformance.recording import Recording, from_bytes, to_bytes
from conformance.report import Played, report, unarmed
from conformance.rule import MUST
from conformance.rules import BY_ID, RULES
from conformance.runner import declared

#: The key under which a worker hands over what it played.
HANDED = "conformance_played"
#: Longest line of the summary for an error, in characters.
ERROR = 200


@dataclass(frozen=True, slots=True)
class Asked:
    """What the command line asks for, found and checked."""

    spec: str
    info: AgentInfo
    override: dict[str, Any] | None
    planned: tuple[Planned, ...]
    #: Node ids that the command line names; none: everything.
    named: tuple[str, ...]
    folder: Path | None
    #: Whether the selection is all that a folder of texts can be about, so that one beyond it is unused.
    whole: bool
    strict: bool


@dataclass(frozen=True, slots=True)
class _Kept:
    """What came of one play: a judgement, why it could not be played, or what the agent lacks for it."""

    planned: Planned
    judgement: Judgement | None
    error: str | None
    excused: str | None


def collected(config: pytest.Config, stage: Stage) -> "Collected":
    """
    The plugin of a session that plays scenarios.

    Raises:
        UsageError: there is no such agent, dialect, scenario or test id, or the agent cannot be opened.
    """
    try:
        asked = _asked(config, stage)
    except ConformanceError as error:
        told = str(error).replace("--dialect", "--conformance-dialect")
        raise pytest.UsageError(*map(printable, told.split("\n"))) from None
    if config.getoption("dist", "no") != "no" and not hasattr(config, "workerinput"):
        # The workers of pytest-xdist play; a connection here would only stand idle.
        stage.close()
    return Collected(config, stage, asked)


def _asked(config: pytest.Config, stage: Stage) -> Asked:
    option = config.option
    override = None if option.conformance_dialect is None else declaration(option.conformance_dialect)
    selectors: list[str] = option.conformance_scenarios
    plans = [one.scenario for one in chosen(selectors, tags=() if selectors else (CORE,))]
    info = stage.info(option.conformance_agent)
    declared(info, override)
    folder = None if option.conformance_snapshots is None else Path(option.conformance_snapshots).absolute()
    if folder is not None and not config.pluginmanager.hasplugin("syrupy"):
        raise pytest.UsageError(
            "--conformance-snapshots follows syrupy's options, and syrupy is switched off (-p no:syrupy)"
        )
    planned = tuple(Planned(plan, cell) for plan in plans for cell in cells_of(info))
    return Asked(
        option.conformance_agent,
        info,
        override,
        planned,
        _named(config, planned),
        folder,
        all(Path(one).is_dir() for one in selectors),
        option.conformance_strict,
    )


def _named(config: pytest.Config, planned: Sequence[Planned]) -> tuple[str, ...]:
    """The ids of such items on the command line, which pytest would take for paths: they are taken out of its arguments."""
    named = [arg for arg in config.args if arg.startswith(f"{ROOT}::")]
    config.args[:] = [arg for arg in config.args if arg not in named]
    for arg in named:
        if not any(_names(arg, one) for one in planned):
            raise pytest.UsageError(f"{arg!r} names no scenario of this selection, such as {planned[0].nodeid!r}")
    return tuple(named)


def _names(arg: str, one: Planned) -> bool:
    """Whether an argument names an item: by its id, without the cell for all of them, `conformance::` for all items."""
    return arg in (one.nodeid, f"{ROOT}::{one.plan.id}", f"{ROOT}::")


class Collected:
    """One per session, in every process of it."""

    def __init__(self, config: pytest.Config, stage: Stage, asked: Asked) -> None:
        self.strict = asked.strict
        self._asked = asked
        self._stage = stage
        self._mode = None if asked.folder is None else kept_texts.mode(config.option)
        # By id, so that a test that is run again takes its own place.
        self._judged: dict[str, _Kept] = {}
        self._fates: dict[str, Fate] = {}
        self._begun: set[str] = set()
        self._summary: tuple[str, ...] = ()

    # What the items ask for.

    def play(self, planned: Planned) -> Recording:
        """Play one scenario in one cell."""
        return self._stage.play(self._asked.spec, planned.plan, planned.cell, self._asked.override)

    def keep(
        self, planned: Planned, judgement: Judgement | None, error: str | None = None, excused: str | None = None
    ) -> None:
        """Remember what came of it."""
        self._judged[planned.nodeid] = _Kept(planned, judgement, error, excused)

    def differs(self, planned: Planned, text: str) -> str | None:
        """Compare a text with the one that is kept, where texts are kept, and write it where that was asked for."""
        if self._mode is None:
            return None
        self._fates[planned.nodeid], told = kept_texts.compared(self._place(planned), text, self._mode)
        return told

    def _place(self, planned: Planned) -> Path:
        folder = self._asked.folder or Path()
        return kept_texts.place(folder, self._asked.info.name, planned.plan.id, planned.cell.name)

    # What pytest asks for.

    def pytest_report_header(self) -> str:
        """Who is played what."""
        info, planned = self._asked.info, self._asked.planned
        scenarios = len({one.plan.id for one in planned})
        cells = ", ".join(dict.fromkeys(one.cell.name for one in planned))
        return printable(f"conformance: agent {info.name} {info.version}, {scenarios} scenarios, {cells}")

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, session: pytest.Session, items: list[pytest.Item]) -> None:
        """Add the items, first of all, so that -k, -m and --lf choose among them as among others."""
        named = self._asked.named
        planned = tuple(one for one in self._asked.planned if not named or any(_names(arg, one) for arg in named))
        suite = Suite.from_parent(session, name=ROOT, nodeid=ROOT, planned=planned, host=self)
        collected = session.ihook.pytest_make_collect_report(collector=suite)
        session.ihook.pytest_collectreport(report=collected)
        for item in collected.result:
            session.ihook.pytest_itemcollected(item=item)
            items.append(item)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Notice which items were begun, here or in a worker."""
        if report.nodeid.startswith(f"{ROOT}::") and report.when == "setup":
            self._begun.add(report.nodeid)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take over what a worker of pytest-xdist played."""
        planned = {one.nodeid: one for one in self._asked.planned}
        for nodeid, recording, error, excused, fate in getattr(node, "workeroutput", {}).get(HANDED, ()):
            judgement = None if recording is None else judge(from_bytes(recording), RULES)
            self.keep(planned[nodeid], judgement, error, excused)
            if fate is not None:
                self._fates[nodeid] = fate

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Judge all recordings together; a finding that only they show fails the session."""
        output = getattr(session.config, "workeroutput", None)
        if output is not None:
            output[HANDED] = list(self._handed())
            return
        fails, self._summary = self._added_up()
        if fails and session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Say what all of it shows together."""
        if self._summary:
            terminalreporter.write_sep("=", printable(f"conformance of {self._asked.info.name}"))
            for line in self._summary:
                terminalreporter.write_line(line)

    def _handed(self) -> Iterator[tuple[str, bytes | None, str | None, str | None, Fate | None]]:
        for nodeid, one in self._judged.items():
            recording = None if one.judgement is None else to_bytes(one.judgement.view.recording)
            error = None if one.error is None else printable(one.error)
            yield nodeid, recording, error, one.excused, self._fates.get(nodeid)

    def _added_up(self) -> tuple[bool, tuple[str, ...]]:
        """Whether all together fail where no item does, and the lines of the summary."""
        order = [one.nodeid for one in self._asked.planned]
        kept = [self._judged[nodeid] for nodeid in order if nodeid in self._judged]
        lost = sorted(self._begun - self._judged.keys(), key=order.index)
        if not kept and not lost:
            return False, ()
        plays = [
            Played(one.planned.plan.id, one.planned.cell.name, one.judgement, one.error, one.excused) for one in kept
        ]
        info = self._asked.info
        agent = {key: getattr(info, key) for key in ("name", "version", "language", "profile")}
        dialect = declared(info, self._asked.override).data()
        rep = report(agent | {"channels": list(info.channels)}, dialect, plays, RULES)
        found = whole.together(rep, plays)
        missed = unseen(rep, unarmed(rep, RULES))
        unused, unused_fails = self._unused()
        fails = any(self.strict or one.level == MUST for one in found) or bool(missed or lost) or unused_fails
        lines = [f"{len(kept)} of {len(order)} planned plays were judged together"]
        if lost:
            lines.append(
                f"{len(lost)} more were begun and are not among them, first {lost[0]}: their worker ended before it handed "
                "its recordings over, so what only all of them show may be missed"
            )
        lines += whole.lines(rep, found, missed, BY_ID)
        lines += [
            f"warn {printable(one.planned.plan.id)} [{one.planned.cell.name}] {line}"
            for one in kept
            if one.judgement is not None
            for line in warnings(one.judgement)
        ]
        lines += [
            f"could not run {one.planned.nodeid}: {excerpt(one.error, ERROR)}" for one in kept if one.error is not None
        ]
        lines += [f"not played {one.planned.nodeid}: {one.excused}" for one in kept if one.excused is not None]
        lines += [*self._told_fates(), *unused]
        return fails, tuple(lines)

    def _told_fates(self) -> Iterator[str]:
        counted = {fate: list(self._fates.values()).count(fate) for fate in dict.fromkeys(self._fates.values())}
        if counted:
            yield f"snapshots: {', '.join(f'{count} {fate}' for fate, count in counted.items())}"

    def _unused(self) -> tuple[list[str], bool]:
        """What is said of kept texts that nothing uses any more, deleting them where that was asked for, and whether they fail."""
        folder, mode = self._asked.folder, self._mode
        if folder is None or mode is None or not mode.look_for_unused or not self._asked.whole:
            return [], False
        used = {self._place(one) for one in self._asked.planned}
        paths = kept_texts.unused(folder, self._asked.info.name, used)
        if mode.delete_unused:
            for path in paths:
                path.unlink()
            return [f"unused snapshot deleted: {path}" for path in paths], False
        told = [f"snapshot unused: {path}; run with --snapshot-update to delete it" for path in paths]
        return told, bool(paths) and mode.unused_fails and not mode.update
