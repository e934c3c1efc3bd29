"""`conformance targets`: the frameworks that come with the kit, and their environments."""

import click


@click.group("targets", invoke_without_command=True)
@click.pass_context
def command(ctx: click.Context) -> None:
    """List the frameworks that come with the kit; `conformance run --agent target:NAME` plays to one."""
    if ctx.invoked_subcommand is not None:
        return
    from conformance.environments import targets  # noqa: PLC0415 - start-up time

    for one in targets().values():
        if one.missing:
            state = "; ".join(f"takes {tool.name!r}, which is not on the path: get {tool.get}" for tool in one.missing)
        else:
            state = f"installed in {one.environment}" if one.installed else "installed on first use"
        click.echo(f"{one.name}\n  --agent target:{one.name}\n  {state}")


@command.command("install")
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@click.pass_context
def install_command(ctx: click.Context, names: tuple[str, ...]) -> None:
    """
    Make the environments of these targets, each with its pinned requirements and nothing else.

    One that cannot be made is named, and the others are made all the same; then the exit code is 3.
    """
    from conformance.environments import install, target  # noqa: PLC0415 - start-up time
    from conformance.errors import AgentError  # noqa: PLC0415 - start-up time

    failed = False
    for one in [target(name) for name in names]:
        try:
            install(one, lambda said: click.echo(said, err=True))
        except AgentError as error:
            failed = True
            click.echo(str(error), err=True)
        else:
            click.echo(f"{one.name}: {one.environment}")
    if failed:
        ctx.exit(3)
