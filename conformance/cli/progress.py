"""How far a run is, on stderr: a bar on a terminal, else one line per play. stdout belongs to the report."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from conformance.certify import Judged
from conformance.printable import printable

Tell = Callable[[Judged], None]


@contextmanager
def progress(scenarios: int) -> Iterator[Tell]:
    """A function to be told each play as it ends."""
    if not sys.stderr.isatty():
        yield lambda one: click.echo(_line(one), err=True)
        return
    # No column tells the time: around an agent in this process the clock is frozen.
    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}", markup=False))
    with Progress(*columns, console=Console(stderr=True), transient=True, auto_refresh=False) as bar:
        task = bar.add_task("", total=scenarios)
        begun: set[str] = set()

        def tell(one: Judged) -> None:
            begun.add(one.play.scenario.id)
            bar.update(task, completed=len(begun), description=_line(one), refresh=True)

        yield tell


def _line(one: Judged) -> str:
    absent = "could-not-run" if one.play.excused is None else f"not-applicable ({one.play.excused})"
    verdict = one.judgement.verdict if one.judgement else absent
    return printable(f"{one.play.scenario.id} · {one.play.cell.name} · {verdict}")


@contextmanager
def stdout_apart() -> Iterator[None]:
    """Whatever an agent in this process prints goes to stderr, by whichever way it prints: stdout is the report's alone."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
