"""`conformance provider-rules`: what the fake models refuse as the real providers do, and where that was seen."""

import click


@click.command("provider-rules")
@click.argument("rule_id", required=False, metavar="[ID]")
@click.option("--page", is_flag=True, help="Print the page on the wires and their refusals instead, docs/wires.md.")
def command(rule_id: str | None, *, page: bool) -> None:
    """List what providers refuse, or explain one; an ID is a rule's, or WIRE.ID where several wires have it."""
    from conformance.errors import LoadError, Problem, guess  # noqa: PLC0415 - start-up time
    from conformance.reporters.refusals import refusals, refusals_listed, told_as  # noqa: PLC0415 - start-up time
    from conformance.reporters.wires_page import wires_page  # noqa: PLC0415 - start-up time
    from fake_models.provider_rules import PROVIDER_RULES  # noqa: PLC0415 - start-up time

    if page:
        click.echo(wires_page(), nl=False)
        return
    if rule_id is None:
        click.echo(refusals_listed(PROVIDER_RULES), nl=False)
        return
    found = [rule for rule in PROVIDER_RULES if rule_id.casefold() in (rule.id.casefold(), told_as(rule).casefold())]
    if not found:
        known = [name for rule in PROVIDER_RULES for name in (rule.id, told_as(rule))]
        raise LoadError([Problem((), f"there is no provider rule {rule_id!r}{guess(rule_id, known)}")])
    click.echo(refusals(found), nl=False)
