"""`conformance scenarios`: what comes with the kit."""

import click


@click.command("scenarios")
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="Only those with this tag; repeatable, any will do.")
def command(tags: tuple[str, ...]) -> None:
    """List the scenarios that come with the kit: id, tags, title."""
    from conformance.cli.chosen import chosen  # noqa: PLC0415 - start-up time

    plans = [one.scenario for one in chosen((), tags=tags)]
    width = max((len(plan.id) for plan in plans), default=0)
    labels = {plan.id: ", ".join(plan.tags) for plan in plans}
    label_width = max(map(len, labels.values()), default=0)
    for plan in plans:
        click.echo(f"{plan.id:{width}}  {labels[plan.id]:{label_width}}  {plan.title}")
