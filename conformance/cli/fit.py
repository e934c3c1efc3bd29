"""How a fitted declaration is shown, by `run` and `judge` alike: the file on stdout in the place of the report, and the exit code."""

import click

from conformance.fitting import fitted
from conformance.printable import printable
from conformance.report import Report
from conformance.reporters.dialect_file import dialect_file
from conformance.rules import RULES

#: Nothing was recorded that anything could be fitted to.
NOTHING = 3


def refuse_beside(**options: object) -> None:
    """
    Refuse options of `--fit` that only a report has a use for.

    Raises:
        click.UsageError: one of them was given.
    """
    given = next((name for name, value in options.items() if value), None)
    if given is not None:
        raise click.UsageError(f"--fit prints a declaration in the place of the report; leave out --{given}")


def show_fit(rep: Report) -> int:
    """Print the declaration that fits, and give the exit code: what the agent gets wrong is for a report to say."""
    recordings = [recording for entry in rep.entries for recording in entry.recordings]
    failed = [entry for entry in rep.entries if entry.error is not None]
    if failed:
        told = (
            f"{len(failed)} of {len(rep.entries)} plays could not be run, first {failed[0].scenario}: {failed[0].error}"
        )
        click.echo(printable(told), err=True)
    if not recordings:
        click.echo("there is no recording to fit a declaration to", err=True)
        return NOTHING
    agent = " ".join(str(rep.agent[key]) for key in ("name", "version") if rep.agent.get(key))
    click.echo(dialect_file(fitted(recordings, RULES), agent, len(recordings)), nl=False)
    return 0
