"""`conformance dialects`: the dialects that come with the kit."""

import click


@click.command("dialects")
@click.argument("name", required=False, metavar="[NAME]")
@click.option("--page", is_flag=True, help="Print the page on it instead, docs/dialects/NAME.md.")
def command(name: str | None, *, page: bool) -> None:
    """List the dialects that come with the kit, or print the file of one. `--dialect NAME` judges under it."""
    from conformance.loading.dialect_files import described, names  # noqa: PLC0415 - start-up time
    from conformance.reporters.dialect_pages import dialect_page, index_page  # noqa: PLC0415 - start-up time

    if name is None:
        every = [described(one) for one in names()]
        width = max(len(one.name) for one in every)
        click.echo(
            index_page(every) if page else "".join(f"{one.name:{width}}  {one.title}\n" for one in every), nl=False
        )
        return
    one = described(name)
    click.echo(dialect_page(one) if page else one.text, nl=False)
