"""How a report is shown, by `run` and `judge` alike: the form on stdout, the JUnit file beside it, and the exit code it comes to."""

import shlex
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

import click

from conformance.baseline import to_list
from conformance.baseline_file import line
from conformance.cli.chosen import core
from conformance.cli.saved import write
from conformance.report import Report, exit_code, unarmed
from conformance.reporters.as_json import json_text
from conformance.reporters.junit import junit_xml
from conformance.reporters.terminal import WIDTH, terminal
from conformance.rules import BY_ID, RULES

Again = Callable[[str], str]


def show(
    rep: Report,
    again: Again,
    form: str,
    *,
    strict: bool,
    junit: Path | None = None,
    saved: Path | None = None,
    baseline: bool = False,
    matrix: bool = False,
) -> int:
    """
    Print the report and give the exit code. `again` gives the command that repeats a scenario.

    With `baseline` people are told what to list in it, with `matrix` how endings can be told apart and what the ledgers say. `junit` and `saved` are the files that hold it as well: a full disk or a
    closed stdout costs what goes there, and nothing else.
    """
    missed = unseen(rep, unarmed(rep, RULES))
    code = exit_code(rep, missed, strict=strict)
    listing = [line(one) for one in to_list(rep)] if baseline else []
    with ExitStack() as files:
        if junit is not None:
            files.callback(write, junit, junit_xml(rep, BY_ID, again, missed=missed, code=code))
        if saved is not None:
            files.callback(write, saved, json_text(rep).encode("ascii"))
        # The verdict is the same when nobody reads the report to its end.
        with suppress(BrokenPipeError):
            click.echo(FORMS[form](rep, again, missed, code, listing, matrix), nl=False)
    return code


def unseen(rep: Report, missed: Sequence[str]) -> Sequence[str]:
    """Of a report on the whole core, the rules it missed; a selection certifies nothing and is asked for nothing beyond it."""
    return missed if missed and core() <= {entry.scenario for entry in rep.entries} else ()


def command_line(*words: str) -> str:
    """A command of the kit, to be copied into a shell."""
    return shlex.join(("conformance", *words))


def _for_people(  # noqa: PLR0917 - one of FORMS
    rep: Report,
    again: Again,
    missed: Sequence[str],
    code: int,
    listing: Sequence[str],
    matrix: bool,  # noqa: FBT001 - one of FORMS
) -> str:
    seen = sys.stdout.isatty()
    width = max(shutil.get_terminal_size().columns if seen else WIDTH, 40)
    return terminal(
        rep, BY_ID, again, missed=missed, code=code, listing=listing, matrix=matrix, width=width, colour=seen
    )


#: What `--format` names.
FORMS: Mapping[str, Callable[[Report, Again, Sequence[str], int, Sequence[str], bool], str]] = {
    "terminal": _for_people,
    "json": lambda rep, _again, _missed, _code, _listing, _matrix: json_text(rep),
}
