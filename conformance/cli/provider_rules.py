"""`conformance provider-rules`: what the fake models refuse as the real providers do, and where that was seen."""

import click


@click.command("provider-rules")
@click.argument("rule_id", required=False, metavar="[ID]")
@click.option("--page", is_flag=True, help="Print the page on the wires and their refusals instead, docs/wires.md.")
def command(rule_id: str | None, *, page: bool) -> None:
    """List what providers refuse, or explain one. An ID is a rule's, WIRE.ID where several wires have it, or a wire's name."""
    from conformance.errors import LoadError, Problem, nearest  # noqa: PLC0415 - start-up time
    from conformance.reporters.refusals import NO_OBJECT, refusals, refusals_listed, told_as  # noqa: PLC0415 - start-up time
    from conformance.reporters.wires_page import wires_page  # noqa: PLC0415 - start-up time
    from fake_models.provider_rules import BODY_NO_OBJECT, PROVIDER_RULES  # noqa: PLC0415 - start-up time

    if page:
        click.echo(wires_page(), nl=False)
        return
    if rule_id is None:
        click.echo(refusals_listed(PROVIDER_RULES), nl=False)
        return
    if rule_id.casefold() == BODY_NO_OBJECT:
        click.echo(NO_OBJECT, nl=False)
        return
    if of_wire := [rule for rule in PROVIDER_RULES if rule_id.casefold() == rule.wire]:
        click.echo(refusals_listed(of_wire), nl=False)
        return
    found = [rule for rule in PROVIDER_RULES if rule_id.casefold() in (rule.id.casefold(), told_as(rule).casefold())]
    if not found:
        near = nearest(
            rule_id, (BODY_NO_OBJECT, *(n for rule in PROVIDER_RULES for n in (rule.wire, rule.id, told_as(rule))))
        )
        meant = f" did you mean {near!r}?" if near is not None else ""
        message = f"there is no provider rule and no wire {rule_id!r};{meant} see `conformance provider-rules` for all there are"
        raise LoadError([Problem((), message)])
    click.echo(refusals(found), nl=False)
