"""
The command `conformance`: finds the verb and ends it with a message and an exit code, never with a traceback.

A verb's file is imported when the verb is asked for, and imports click alone at its top: what plays and judges is imported
inside its function. So `--help` does not wait for YAML, JSON Schema and the event models, which take ten times as long.
"""

import contextlib
import importlib
import io
import os
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any

import click

from conformance import __version__
from conformance.adapters.exits import fixed
from conformance.errors import AgentError, ConformanceError, SpecError, guess
from conformance.printable import printable

#: The verbs in the order of the help. Each is `command` in the file of its name.
VERBS = (
    "run",
    "judge",
    "diff",
    "lint",
    "rules",
    "provider-rules",
    "serve",
    "scenarios",
    "agents",
    "dialects",
    "targets",
    "results",
    "mcp",
    "selftest",
)

#: A usage or scenario error, before any run.
USAGE = 2
#: Something could not be run.
COULD_NOT_RUN = 3
#: Ended by SIGINT, as shells count it, or by what does the same.
INTERRUPTED = 130
#: Nobody reads stdout any more, as shells count SIGPIPE.
UNREAD = 141
#: What ends a command as Ctrl-C does. A CI sends the one, a terminal that is closed the other.
_ENDINGS = (signal.SIGTERM, signal.SIGHUP)


class Verbs(click.Group):
    """The verbs, loaded one at a time, and the one place where errors become exit codes."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """The verbs."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """The verb, imported now."""
        if cmd_name not in VERBS:
            return None
        command: click.Command = importlib.import_module(f"conformance.cli.{cmd_name.replace('-', '_')}").command
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """The verb that the first argument names."""
        if args and args[0] not in VERBS and not args[0].startswith("-"):
            raise click.UsageError(f"there is no verb {args[0]!r}{guess(args[0], VERBS)}", ctx)
        return super().resolve_command(ctx, args)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the whole command as the one that this process is for: its exit code stands, whatever an agent does at the exit."""
        try:
            return self.main(*args, **kwargs)
        except SystemExit as end:
            fixed(end.code if isinstance(end.code, int) else int(end.code is not None))
            raise

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run the whole command, from the parsing of its words to its exit code; `obj` of its context are the streams that were closed."""
        closed = _open_streams()
        try:
            with _heeded():
                try:
                    return super().main(*args, **{"obj": closed} | kwargs)
                finally:
                    _deliver()
        except OSError as error:
            # A full disk, a folder that is gone: whatever the system refuses is said, and nothing was decided.
            with contextlib.suppress(OSError):
                click.echo(_refusal(error), err=True)
            sys.exit(USAGE)

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
        except BrokenPipeError:
            ctx.exit(UNREAD)
        except ConformanceError as error:
            click.echo("\n".join(map(printable, str(error).split("\n"))), err=True)
            exists = isinstance(error, AgentError) and not isinstance(error, SpecError)
            ctx.exit(COULD_NOT_RUN if exists else USAGE)


def _open_streams() -> frozenset[str]:
    """
    A stream that was closed leads nowhere; else the next file that is opened would come to stand in its place.

    Gives the names of those that were.
    """
    closed = set()
    for fd, name, way in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(fd)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # the lowest that is free, which is this one
            setattr(sys, name, open(fd, way, encoding="utf-8", closefd=False))  # noqa: SIM115 - it stays
            closed.add(name)
    return frozenset(closed)


def _deliver() -> None:
    """Print what is still to be printed, while a refusal can be said; what nobody reads any more is dropped."""
    try:
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        if not isinstance(error, BrokenPipeError):
            raise


@contextlib.contextmanager
def _heeded() -> Iterator[None]:
    """Let TERM and HUP interrupt the command, so that it prints and saves what there is and leaves nothing behind."""
    ours = threading.current_thread() is threading.main_thread()
    if ours and signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # A shell gives its background jobs no Ctrl-C. It stays unheard, but an event loop takes over only what has a handler, and
        # that is the way on which the others come.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        signal.signal(signal.SIGINT, signal.default_int_handler)
    heeded = [number for number in _ENDINGS if ours and signal.getsignal(number) is signal.SIG_DFL]
    for number in heeded:
        signal.signal(number, _interrupt)
    try:
        yield
    finally:
        for number in heeded:
            signal.signal(number, signal.SIG_DFL)


def _interrupt(_number: int, frame: FrameType | None) -> None:
    # As SIGINT at this moment, which an event loop takes for itself.
    heard = signal.getsignal(signal.SIGINT)
    (heard if callable(heard) else signal.default_int_handler)(signal.SIGINT, frame)


def _refusal(error: OSError) -> str:
    try:
        os.getcwd()  # noqa: PTH109 - a path says no more
    except FileNotFoundError:
        return "the current folder is not there any more; go to another one, and give the command again"
    return f"the system refused: {printable(str(error))}"


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="conformance")
def main() -> None:
    """
    Play scripted scenarios to an LLM agent and judge what it did.

    `conformance run` certifies the reference agent; `conformance run --agent SPEC` yours. Exit codes: 0 conforms, 1 something
    fails, 2 usage or scenario error, 3 something could not be run or seen, 130 interrupted, 141 nobody reads what is printed, where
    that is no verdict.
    """
