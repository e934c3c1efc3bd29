"""`conformance scenarios`: what comes with the kit."""

import click


@click.command("scenarios")
@click.option(
    "--catalogue", is_flag=True, help="Print the page on reported failures and where each is shown, docs/catalogue.md."
)
def command(*, catalogue: bool) -> None:
    """List the scenarios that come with the kit: id, tags, title."""
    from conformance.loading.catalogue import reported_failures  # noqa: PLC0415 - start-up time
    from conformance.loading.loader import bundled, load_all  # noqa: PLC0415 - start-up time
    from conformance.reporters.catalogue_page import catalogue_page  # noqa: PLC0415 - start-up time

    if catalogue:
        click.echo(catalogue_page(reported_failures()), nl=False)
        return
    plans = load_all(bundled())
    tags = {plan.id: ", ".join(plan.tags) for plan in plans}
    id_width = max(map(len, tags), default=0)
    tags_width = max(map(len, tags.values()), default=0)
    for plan in plans:
        click.echo(f"{plan.id:{id_width}}  {tags[plan.id]:{tags_width}}  {plan.title}")
