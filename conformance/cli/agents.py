"""`conformance agents`: the ways to reach an agent."""

import click


@click.command("agents")
def command() -> None:
    """List the ways to reach an agent, and what a SPEC looks like."""
    from conformance.adapters import ADAPTERS  # noqa: PLC0415 - start-up time

    for adapter in ADAPTERS.values():
        spec, _, what = adapter.help.partition(", ")
        click.echo(f"{adapter.kind}\n  --agent {spec}\n  {what}")
