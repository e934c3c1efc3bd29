"""`conformance diff`: what one lot of recordings shows and another does not."""

from contextlib import suppress

import click


@click.command("diff")
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@click.option("--format", "form", type=click.Choice(["terminal", "json"]), default="terminal", show_default=True)
@click.pass_context
def command(ctx: click.Context, a: str, b: str, form: str) -> None:
    """
    Compare recordings: which verdicts changed, and where two plays of a scenario first part.

    A and B are each a recording or a folder that `run --out` has made; both are judged by today's rules. Exit codes: 0 the same,
    1 different, 2 unreadable.
    """
    from conformance.again import judged_again  # noqa: PLC0415 - start-up time
    from conformance.cli.saved import read  # noqa: PLC0415 - start-up time
    from conformance.difference import difference  # noqa: PLC0415 - start-up time
    from conformance.reporters.differing import FORMS  # noqa: PLC0415 - start-up time
    from conformance.rules import RULES  # noqa: PLC0415 - start-up time

    first, second = (judged_again(read([name]), RULES) for name in (a, b))
    found = difference(first, second)
    with suppress(BrokenPipeError):
        click.echo(FORMS[form](found, [(a, first), (b, second)]), nl=False)
    ctx.exit(0 if found.none else 1)
