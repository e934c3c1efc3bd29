"""How a report is shown, by `run` and `judge` alike: the form on stdout, and the exit code it comes to."""

import shlex
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence

import click

from conformance.report import Report, exit_code, unarmed
from conformance.reporters.as_json import json_text
from conformance.reporters.terminal import WIDTH, terminal
from conformance.rules import BY_ID, RULES

Again = Callable[[str], str]


def show(rep: Report, again: Again, form: str, *, strict: bool) -> int:
    """Print the report and give the exit code. `again` gives the command that repeats a scenario."""
    missed = unarmed(rep, RULES)
    click.echo(FORMS[form](rep, again, missed), nl=False)
    return exit_code(rep, missed, strict=strict)


def command_line(*words: str) -> str:
    """A command of the kit, to be copied into a shell."""
    return shlex.join(("conformance", *words))


def _for_people(rep: Report, again: Again, missed: Sequence[str]) -> str:
    seen = sys.stdout.isatty()
    width = shutil.get_terminal_size().columns if seen else WIDTH
    return terminal(rep, BY_ID, again, missed=missed, width=max(width, 40), colour=seen)


#: What `--format` names.
FORMS: Mapping[str, Callable[[Report, Again, Sequence[str]], str]] = {
    "terminal": _for_people,
    "json": lambda rep, _again, _missed: json_text(rep),
}
