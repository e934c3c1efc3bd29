"""`conformance lint`: what is wrong with scenario files, and where."""

import click


@click.command("lint")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.pass_context
def command(ctx: click.Context, paths: tuple[str, ...]) -> None:
    """Check scenario files, folders of them, or those that come with the kit."""
    from conformance.errors import LoadError  # noqa: PLC0415 - start-up time
    from conformance.loading.loader import find, library, load_all  # noqa: PLC0415 - start-up time
    from conformance.printable import printable  # noqa: PLC0415 - start-up time
    from conformance.rules import BY_ID  # noqa: PLC0415 - start-up time

    try:
        found = load_all(find(paths, [library()]), rule_ids=BY_ID)
    except LoadError as error:
        for problem in error.errors:
            click.echo(printable(str(problem)))
        ctx.exit(2)
    click.echo(f"{len(found)} scenario{'' if len(found) == 1 else 's'}, no problem")
