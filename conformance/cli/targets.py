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
        state = f"installed in {one.environment}" if one.installed else "installed on first use"
        click.echo(f"{one.name}\n  --agent target:{one.name}\n  {state}")


@command.command("install")
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
def install_command(names: tuple[str, ...]) -> None:
    """Make the environments of these targets, each with its pinned requirements and nothing else."""
    from conformance.environments import install, target  # noqa: PLC0415 - start-up time

    for one in [target(name) for name in names]:
        install(one, lambda said: click.echo(said, err=True))
        click.echo(f"{one.name}: {one.environment}")
