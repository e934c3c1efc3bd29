"""
The command `conformance`: finds the verb and ends it with a message and an exit code, never with a traceback.

A verb's file is imported when the verb is asked for, and imports click alone at its top: what plays and judges is imported
inside its function. So `--help` does not wait for YAML, JSON Schema and the event models, which take ten times as long.
"""

import contextlib
import importlib
import io
import sys
from typing import Any

import click

from conformance import __version__
from conformance.errors import AgentError, ConformanceError, SpecError, guess
from conformance.printable import printable

#: The verbs in the order of the help. Each is `command` in the file of its name.
VERBS = ("run", "judge", "diff", "lint", "rules", "scenarios", "agents", "targets", "selftest")

#: A usage or scenario error, before any run.
USAGE = 2
#: Something could not be run.
COULD_NOT_RUN = 3
#: Ended by SIGINT, as shells count it.
INTERRUPTED = 130


class Verbs(click.Group):
    """The verbs, loaded one at a time, and the one place where errors become exit codes."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """The verbs."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """The verb, imported now."""
        if cmd_name not in VERBS:
            return None
        command: click.Command = importlib.import_module(f"conformance.cli.{cmd_name}").command
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """The verb that the first argument names."""
        if args and args[0] not in VERBS and not args[0].startswith("-"):
            raise click.UsageError(f"there is no verb {args[0]!r}{guess(args[0], VERBS)}", ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the verb."""
        for stream in (sys.stdout, sys.stderr):
            # What a locale cannot write is written as an escape: a report is never lost to an encoding.
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            click.echo("interrupted", err=True)
            ctx.exit(INTERRUPTED)
        except ConformanceError as error:
            click.echo("\n".join(map(printable, str(error).split("\n"))), err=True)
            exists = isinstance(error, AgentError) and not isinstance(error, SpecError)
            ctx.exit(COULD_NOT_RUN if exists else USAGE)
        except BrokenPipeError:
            raise
        except OSError as error:
            # A full disk, a folder that is gone: whatever the system refuses is said, and nothing was decided.
            with contextlib.suppress(OSError):
                click.echo(f"the system refused: {printable(str(error))}", err=True)
            ctx.exit(USAGE)


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="conformance")
def main() -> None:
    """
    Play scripted scenarios to an LLM agent and judge what it did.

    `conformance run` certifies the reference agent; `conformance run --agent SPEC` yours. Exit codes: 0 conforms, 1 something
    fails, 2 usage or scenario error, 3 something could not be run or seen.
    """
