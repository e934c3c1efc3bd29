"""`conformance scenarios`: what comes with the kit."""

import click


@click.command("scenarios")
def command() -> None:
    """List the scenarios that come with the kit: id, tags, title."""
    from conformance.loading.loader import bundled, load_all  # noqa: PLC0415 - start-up time

    plans = load_all(bundled())
    tags = {plan.id: ", ".join(plan.tags) for plan in plans}
    id_width = max(map(len, tags), default=0)
    tags_width = max(map(len, tags.values()), default=0)
    for plan in plans:
        click.echo(f"{plan.id:{id_width}}  {tags[plan.id]:{tags_width}}  {plan.title}")
