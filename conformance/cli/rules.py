"""`conformance rules`: the clauses an agent is held to, and the story behind each."""

import click


@click.command("rules")
@click.argument("rule_id", required=False, metavar="[ID]")
def command(rule_id: str | None) -> None:
    """List the rules, or explain one."""
    from conformance.errors import LoadError, Problem, guess  # noqa: PLC0415 - start-up time
    from conformance.loading.loader import bundled, load_all  # noqa: PLC0415 - start-up time
    from conformance.reporters.explained import explained, listed  # noqa: PLC0415 - start-up time
    from conformance.rules import BY_ID, RULES  # noqa: PLC0415 - start-up time

    if rule_id is None:
        click.echo(listed(RULES), nl=False)
        return
    rule = next((one for one in RULES if one.id.casefold() == rule_id.casefold()), None)
    if rule is None:
        raise LoadError([Problem((), f"there is no rule {rule_id!r}{guess(rule_id.upper(), BY_ID)}")])
    exercising = [plan.id for plan in load_all(bundled()) if rule.id in plan.exercises]
    click.echo(explained(rule, exercising), nl=False)
