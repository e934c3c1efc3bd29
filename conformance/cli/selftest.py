"""`conformance selftest`: do the rules find what they are for, and nothing in an honest agent?"""

import click


@click.command("selftest")
@click.option("--page", is_flag=True, help="Print the page on what proves each rule instead, docs/kills.md.")
@click.pass_context
def command(ctx: click.Context, *, page: bool) -> None:
    """Play the scenarios to faulty and honest variants of the reference and print which rule catches which fault."""
    from conformance.reference import sensible_dialects  # noqa: PLC0415 - start-up time
    from conformance.reporters.kills_page import kills_page  # noqa: PLC0415 - start-up time
    from conformance.reporters.matrix import matrix  # noqa: PLC0415 - start-up time
    from conformance.rules import RULES  # noqa: PLC0415 - start-up time
    from conformance.selftest import Tried, Unfair, survivors  # noqa: PLC0415 - start-up time
    from conformance.selftest_apart import all_tried, all_unfair, workers  # noqa: PLC0415 - start-up time

    dialects = [{}, *sensible_dialects()]
    tried: list[Tried] = []
    wrong: list[Unfair] = []
    with workers() as pool:
        for one in all_tried(pool):
            tried.append(one)
            _tell(f"{one.mutant.name}: {'killed' if one.killed else 'survives'}")
        for keys, broke in all_unfair(pool, dialects):
            wrong += broke
            _tell(f"honest in {keys or 'the recommended dialect'}")
    click.echo(
        kills_page(tried, RULES, len(dialects)) if page else matrix(tried, wrong, RULES, len(dialects)), nl=False
    )
    ctx.exit(1 if survivors(tried, RULES) or wrong else 0)


def _tell(line: str) -> None:
    click.echo(line, err=True)
