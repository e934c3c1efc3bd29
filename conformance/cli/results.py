"""`conformance results`: play the core to the targets and write what was found: a file each, and the page of all."""

import click


@click.command("results")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--into", "folder", default="results", show_default=True, metavar="DIR", help="Where the rows are kept.")
@click.option("--page", default="docs/results.md", show_default=True, metavar="FILE", help="The page of all rows.")
@click.option("-j", "--jobs", type=click.IntRange(min=1), default=1, metavar="N", help="Play so many targets at once.")
@click.option("--only-page", is_flag=True, help="Play nothing, and write the page from the rows that are there.")
@click.pass_context
def command(ctx: click.Context, names: tuple[str, ...], folder: str, page: str, jobs: int, *, only_page: bool) -> None:
    """
    Play every core scenario to the targets, on all their wires, and write down what was found.

    Without a NAME all targets are played. One that cannot be installed, started or played whole is named, keeps the row that it has, and the
    others go on; then the exit code is 3. A fail that the target's explained.yaml does not explain is named, too.
    """
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - start-up time
    from datetime import UTC, datetime  # noqa: PLC0415 - start-up time
    from pathlib import Path  # noqa: PLC0415 - start-up time

    from conformance.environments import target, targets  # noqa: PLC0415 - start-up time
    from conformance.table import keep, kept, played, stamp, written  # noqa: PLC0415 - start-up time

    place, wrong = Path(folder), []
    chosen = [] if only_page else [target(name) for name in names] or [*targets().values()]
    before = kept(place)

    def tell(said: str) -> None:
        click.echo(said, err=True)

    with ThreadPoolExecutor(jobs) as pool:
        for made in pool.map(lambda one: played(one, before, tell), chosen):
            if made.rows:
                keep(place, made.target, made.rows)
                stamp(place, datetime.now(UTC).date())
            if made.wrong is not None:
                wrong.append(made.target)
                tell(made.wrong)
            for row in made.rows:
                click.echo(f"{row.key}: {', '.join(f'{count} {verdict}' for verdict, count in row.verdicts.items())}")
    for line in written(place, Path(page)):
        tell(line)
    if wrong:
        tell(f"not played whole: {', '.join(wrong)}")
        ctx.exit(3)
