"""The table of real frameworks: each target played by a command of its own, its rows kept as files, the page written from them."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from importlib.resources import files
from pathlib import Path

from conformance.environments import Target, install, targets
from conformance.errors import AgentError
from conformance.loading.explanations import explanations, undriven
from conformance.reporters.results_page import Documented, results_page
from conformance.results import Row, idle, row_of, rows, unexplained

_DATE = "date"


def kept(place: Path) -> tuple[Row, ...]:
    """The rows that are in a folder; none where there is no folder."""
    return tuple(row_of(json.loads(path.read_text("utf-8"))) for path in sorted(place.glob("*.json")))


def stamp(place: Path, day: date) -> None:
    """Write down when the rows were made."""
    (place / _DATE).write_text(f"{day}\n", "utf-8")


def keep(place: Path, target: str, made: Sequence[Row]) -> None:
    """Write a target's rows in the place of those that it had."""
    place.mkdir(parents=True, exist_ok=True)
    for path in (*place.glob(f"{target}.json"), *place.glob(f"{target}.*.json")):
        path.unlink()
    for row in made:
        text = json.dumps(row.data(), indent=1, ensure_ascii=False)
        (place / f"{row.key}.json").write_text(f"{text}\n", "utf-8")


@dataclass(frozen=True, slots=True)
class Played:
    """What playing a target brought: its rows, and what was wrong about it where they are none or not whole."""

    target: str
    rows: tuple[Row, ...] = ()
    wrong: str | None = None


def played(one: Target, before: Sequence[Row], tell: Callable[[str], None]) -> Played:
    """A target, played now over all its wires by a command of its own, which nothing that it does can spoil for the others."""
    try:
        install(one, tell)
    except AgentError as error:
        return Played(one.name, wrong=str(error))
    with tempfile.TemporaryDirectory(prefix="conformance-") as out:
        command = (sys.executable, "-m", "conformance", "run", "--agent", f"target:{one.name}", "--wire", "all")
        done = subprocess.run((*command, "--out", out), capture_output=True, text=True, errors="replace", check=False)  # noqa: S603 - our own
        saved = Path(out) / "report.json"
        if not saved.exists():
            last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
            return Played(one.name, wrong=f"target {one.name!r}: it could not be played: {last}")
        report = json.loads(saved.read_text("utf-8"))
    errors = [run for run in report["runs"] if "error" in run]
    wrong = (
        f"target {one.name!r}: {len(errors)} of {len(report['runs'])} plays could not be made, {errors[0]['scenario']} first: {errors[0]['error']}"
        if errors
        else None
    )
    return Played(one.name, rows(report, one.name, before), wrong)


def written(place: Path, page: Path) -> Iterator[str]:
    """Write the page of all rows; gives what is to be said of them: fails without an explanation, explanations without a finding."""
    known, all_rows = targets(), [row for row in kept(place) if row.target in targets()]
    documented = []
    for row in all_rows:
        room = known[row.target].room
        causes = explanations(room / "explained.yaml")
        documented.append(Documented(row, causes, f"conformance/targets/{room.name}"))
        for found in unexplained(row, causes):
            yield f"{row.key}: {found.rule} in {found.scenario} fails and is not explained in its explained.yaml"
    for name in sorted({row.target for row in all_rows}):
        causes = explanations(known[name].room / "explained.yaml")
        for cause, scenario, rule in idle([row for row in all_rows if row.target == name], causes):
            yield f"{name}: {rule} in {scenario} is explained and not found: {cause.why[:60]}…"
    absent = undriven(Path(str(files("conformance.targets"))) / "undriven.yaml")
    day = (place / _DATE).read_text("utf-8").strip()
    page.write_text(results_page(documented, absent, day), "utf-8")
