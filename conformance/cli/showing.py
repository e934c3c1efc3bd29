"""How a report is shown, by `run` and `judge` alike: the form on stdout, and the exit code it comes to."""

import shlex
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence

import click

from conformance.cli.chosen import core
from conformance.report import Report, exit_code, unarmed
from conformance.reporters.as_json import json_text
from conformance.reporters.terminal import WIDTH, terminal
from conformance.rules import BY_ID, RULES

Again = Callable[[str], str]


def show(rep: Report, again: Again, form: str, *, strict: bool) -> int:
    """Print the report and give the exit code. `again` gives the command that repeats a scenario."""
    missed = unseen(rep, unarmed(rep, RULES))
    code = exit_code(rep, missed, strict=strict)
    click.echo(FORMS[form](rep, again, missed, code), nl=False)
    return code


def unseen(rep: Report, missed: Sequence[str]) -> Sequence[str]:
    """Of a report on the whole core, the rules it missed; a selection certifies nothing and is asked for nothing beyond it."""
    return missed if missed and core() <= {entry.scenario for entry in rep.entries} else ()


def command_line(*words: str) -> str:
    """A command of the kit, to be copied into a shell."""
    return shlex.join(("conformance", *words))


def _for_people(rep: Report, again: Again, missed: Sequence[str], code: int) -> str:
    seen = sys.stdout.isatty()
    width = shutil.get_terminal_size().columns if seen else WIDTH
    return terminal(rep, BY_ID, again, missed=missed, code=code, width=max(width, 40), colour=seen)


#: What `--format` names.
FORMS: Mapping[str, Callable[[Report, Again, Sequence[str], int], str]] = {
    "terminal": _for_people,
    "json": lambda rep, _again, _missed, _code: json_text(rep),
}
