"""`conformance lint`: what is wrong with scenario files, and where."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from conformance.selftest_apart import Shown


@click.command("lint")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option(
    "--strict",
    is_flag=True,
    help="Also play each to the reference, which has to pass it, and to its mutants, and refuse one that shows no fault; one tagged `twin` has to "
    "show one that does too much.",
)
@click.pass_context
def command(ctx: click.Context, paths: tuple[str, ...], *, strict: bool) -> None:
    """Check scenario files, folders of them, or those that come with the kit."""
    from conformance.errors import LoadError  # noqa: PLC0415 - start-up time
    from conformance.loading.loader import find, library, load_all  # noqa: PLC0415 - start-up time
    from conformance.printable import printable  # noqa: PLC0415 - start-up time
    from conformance.rules import BY_ID  # noqa: PLC0415 - start-up time

    try:
        found = load_all(find(paths, [library()]), rule_ids=BY_ID)
    except LoadError as error:
        for problem in error.errors:
            click.echo(printable(str(problem)))
        ctx.exit(2)
    useless = _useless([str(path) for path in find(paths, [library()])]) if strict else ()
    for line in useless:
        click.echo(printable(line))
    if useless:
        ctx.exit(2)
    click.echo(f"{len(found)} scenario{'' if len(found) == 1 else 's'}, no problem")


def _useless(paths: Sequence[str]) -> tuple[str, ...]:
    """A line for each scenario that fails an honest agent, or kills no mutant."""
    from conformance.selftest_apart import all_shown, workers  # noqa: PLC0415 - start-up time

    with workers() as pool:
        return tuple(line for one in all_shown(pool, paths) if (line := _useless_for(one)) is not None)


def _useless_for(one: "Shown") -> str | None:
    if one.unfair:
        first = one.unfair[0]
        return (
            f"{one.path}: the reference, which is honest, fails it in {first.play.partition(' · ')[2]}: {first.rule}: {first.message.rstrip(chr(46))}. "
            "Mend the script or what is expected; `conformance run` with this file shows the play"
        )
    if one.mutant is not None:
        return None
    if one.twin:
        return (
            f"{one.path}: it shows no fault: no mutant that does too much of the reference breaks a rule in it. "
            "A twin has to fail an agent that stops, retries or refuses too much; else leave out the tag `twin`."
        )
    return (
        f"{one.path}: it shows no fault: no mutant of the reference breaks a rule in it. "
        "Say in it what a faulty agent does otherwise, or add a mutant with that fault."
    )
