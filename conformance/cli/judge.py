"""`conformance judge`: saved recordings judged again, without an agent."""

import click


@click.command("judge")
@click.argument("files", nargs=-1, required=True, metavar="FILE|DIR...")
@click.option("--format", "form", type=click.Choice(["terminal", "json"]), default="terminal", show_default=True)
@click.option("--strict", is_flag=True, help="A warning is exit code 1, too.")
@click.pass_context
def command(ctx: click.Context, files: tuple[str, ...], form: str, *, strict: bool) -> None:
    """Judge recordings that `run --out` has saved; a DIR stands for all *.jsonl files in it."""
    from conformance.again import judged_again  # noqa: PLC0415 - start-up time
    from conformance.cli.saved import read  # noqa: PLC0415 - start-up time
    from conformance.cli.showing import command_line, show  # noqa: PLC0415 - start-up time
    from conformance.rules import RULES  # noqa: PLC0415 - start-up time

    recordings = read(files)
    rep = judged_again(recordings, RULES)
    names: dict[str, list[str]] = {}
    for name, recording in recordings.items():
        names.setdefault(str(recording.header.scenario["id"]), []).append(name)
    ctx.exit(show(rep, lambda scenario: command_line("judge", *names[scenario]), form, strict=strict))
