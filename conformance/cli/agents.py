"""`conformance agents`: the ways to reach an agent, and what it can declare."""

import click


@click.command("agents")
@click.option("--declarations", is_flag=True, help="Print the page on what an agent declares instead, docs/dialect.md.")
def command(*, declarations: bool) -> None:
    """List the ways to reach an agent, and what a SPEC looks like."""
    from conformance.adapters.ways import ADAPTERS  # noqa: PLC0415 - start-up time
    from conformance.reporters.declarations import page  # noqa: PLC0415 - start-up time

    if declarations:
        click.echo(page(), nl=False)
        return
    for adapter in ADAPTERS.values():
        spec, _, what = adapter.help.partition(", ")
        click.echo(f"{adapter.kind}\n  --agent {spec}\n  {what}")
    click.echo(
        "\nWhat an agent declares of itself, its dialect, capabilities and channels: docs/dialect.md, which\n"
        "`conformance agents --declarations` prints."
    )
