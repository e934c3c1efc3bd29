"""`conformance judge`: saved recordings judged again, without an agent."""

import click


@click.command("judge")
@click.argument("files", nargs=-1, required=True, metavar="FILE|DIR...")
@click.option("--format", "form", type=click.Choice(["terminal", "json"]), default="terminal", show_default=True)
@click.option("--baseline", metavar="FILE", help="What is known to fail, and why; see docs/ci.md.")
@click.option("--junit", metavar="FILE", help="Write the report as JUnit XML here, too.")
@click.option(
    "--matrix", is_flag=True, help="Print how each cause of an end can be told from an answer, and the ledgers, too."
)
@click.option("--strict", is_flag=True, help="A warning is exit code 1, too.")
@click.option(
    "--fit",
    is_flag=True,
    help="Print the declaration that fits them, as a file that `run --dialect` takes, in the place of the report.",
)
@click.pass_context
def command(
    ctx: click.Context,
    files: tuple[str, ...],
    form: str,
    baseline: str | None,
    junit: str | None,
    *,
    fit: bool,
    matrix: bool,
    strict: bool,
) -> None:
    """
    Judge recordings that `run --out` has saved; a DIR stands for all *.jsonl files in it.

    Where a DIR holds an unfinished one as well, *.jsonl.part, the exit code is 3 in the place of 0.
    """
    from conformance.again import judged_again  # noqa: PLC0415 - start-up time
    from conformance.baseline import applied  # noqa: PLC0415 - start-up time
    from conformance.cli.fit import refuse_beside, show_fit  # noqa: PLC0415 - start-up time
    from conformance.cli.known import known  # noqa: PLC0415 - start-up time
    from conformance.cli.saved import read, unfinished, writable  # noqa: PLC0415 - start-up time
    from conformance.cli.showing import command_line, show  # noqa: PLC0415 - start-up time
    from conformance.cli.verbs import COULD_NOT_RUN  # noqa: PLC0415 - verbs imports this file
    from conformance.printable import printable  # noqa: PLC0415 - start-up time
    from conformance.rules import RULES  # noqa: PLC0415 - start-up time

    if fit:
        refuse_beside(junit=junit, baseline=baseline, strict=strict, format=form != "terminal", matrix=matrix)
    recordings = read(files)
    names: dict[str, list[str]] = {}
    for name, recording in recordings.items():
        names.setdefault(str(recording.header.scenario["id"]), []).append(name)
    expected = () if baseline is None else known(baseline, names)
    inputs = (*recordings, *(() if baseline is None else (baseline,)))
    xml = None if junit is None else writable("--junit", junit, inputs)
    rep = applied(judged_again(recordings, RULES), expected, RULES)

    def again(scenario: str) -> str:
        return command_line("judge", *names[scenario])

    code = (
        show_fit(rep)
        if fit
        else show(rep, again, form, strict=strict, junit=xml, baseline=baseline is not None, matrix=matrix)
    )
    if parts := unfinished(files):
        many = "1 recording is" if len(parts) == 1 else f"{len(parts)} recordings are"
        told = f"{many} unfinished and not judged, first {parts[0]}; a run that was killed leaves them: play it again"
        click.echo(printable(told), err=True)
        code = code or COULD_NOT_RUN
    ctx.exit(code)
