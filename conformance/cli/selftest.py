"""`conformance selftest`: do the rules find what they are for, and nothing in an honest agent?"""

import click


@click.command("selftest")
@click.pass_context
def command(ctx: click.Context) -> None:
    """Play the scenarios to faulty and honest variants of the reference and print which rule catches which fault."""
    import asyncio  # noqa: PLC0415 - start-up time

    from conformance.loading.loader import bundled, load_all  # noqa: PLC0415 - start-up time
    from conformance.reference import reference, sensible_dialects  # noqa: PLC0415 - start-up time
    from conformance.reference.mutants import MUTANTS  # noqa: PLC0415 - start-up time
    from conformance.reporters.matrix import matrix  # noqa: PLC0415 - start-up time
    from conformance.rules import BY_ID, RULES  # noqa: PLC0415 - start-up time
    from conformance.selftest import Tried, Unfair, kill, survivors, unfair  # noqa: PLC0415 - start-up time

    plans = load_all(bundled())
    dialects = [{}, *sensible_dialects()]
    tried: list[Tried] = []
    wrong: list[Unfair] = []
    for mutant in MUTANTS:
        tried.append(asyncio.run(kill(mutant, plans, BY_ID[mutant.rule])))
        _tell(f"{mutant.name}: {'killed' if tried[-1].killed else 'survives'}")
    for keys in dialects:
        wrong += asyncio.run(unfair(reference, keys, plans, RULES))
        _tell(f"honest in {keys or 'the recommended dialect'}")
    click.echo(matrix(tried, wrong, RULES, len(dialects)), nl=False)
    ctx.exit(1 if survivors(tried, RULES) or wrong else 0)


def _tell(line: str) -> None:
    click.echo(line, err=True)
