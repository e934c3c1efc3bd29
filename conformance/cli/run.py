"""`conformance run`: play scenarios to an agent and judge what it did."""

import click


@click.command("run")
@click.argument("selectors", nargs=-1, metavar="[SCENARIO]...")
@click.option(
    "--agent", "spec", default="reference", show_default=True, metavar="SPEC", help="See `conformance agents`."
)
@click.option(
    "--dialect",
    "declared",
    metavar="NAME",
    help="Judge under these keys instead of the agent's own: summarize, stop, error, raise, pairs such as "
    "'empty_response={retry_then_error: 2},on_limit=stop', a name of `conformance dialects`, or a file; see docs/dialect.md.",
)
@click.option(
    "--fit",
    is_flag=True,
    help="Print the declaration that fits what was seen, as a file that --dialect takes, in the place of the report.",
)
@click.option(
    "--tag", "tags", multiple=True, metavar="TAG", help="Only scenarios with this tag; repeatable, any will do."
)
@click.option(
    "--rule", "rules", multiple=True, metavar="ID", help="Only scenarios that exercise this rule; repeatable."
)
@click.option(
    "--out",
    metavar="DIR",
    help="Save recordings, their stable text and report.json here; it must hold no recordings yet.",
)
@click.option("--format", "form", type=click.Choice(["terminal", "json"]), default="terminal", show_default=True)
@click.option("--baseline", metavar="FILE", help="What is known to fail, and why; see docs/ci.md.")
@click.option("--junit", metavar="FILE", help="Write the report as JUnit XML here, too.")
@click.option(
    "--wire",
    "wires",
    multiple=True,
    metavar="NAME",
    help="Play over this wire, one that the agent speaks, or 'all'; repeatable. Default: the agent's first.",
)
@click.option(
    "--chunking",
    "chunkings",
    multiple=True,
    metavar="NAME",
    help="How streamed replies are cut: whole (default), token, character, byte, adversarial:SEED, or 'all' of those without a "
    "seed; repeatable.",
)
@click.option("--repeat", type=click.IntRange(min=1), default=1, metavar="N", help="Play each so often in each cell.")
@click.option(
    "--matrix", is_flag=True, help="Print how each cause of an end can be told from an answer, and the ledgers, too."
)
@click.option("--strict", is_flag=True, help="A warning is exit code 1, too.")
@click.option("-x", "first", is_flag=True, help="Stop at the first play that fails or cannot be run.")
@click.pass_context
def command(  # noqa: PLR0915, PLR0917 - click calls it by keyword, and each import counts
    ctx: click.Context,
    selectors: tuple[str, ...],
    spec: str,
    declared: str | None,
    tags: tuple[str, ...],
    rules: tuple[str, ...],
    out: str | None,
    form: str,
    baseline: str | None,
    junit: str | None,
    wires: tuple[str, ...],
    chunkings: tuple[str, ...],
    repeat: int,
    *,
    fit: bool,
    matrix: bool,
    strict: bool,
    first: bool,
) -> None:
    """
    Play scenarios to an agent and judge what it did.

    A SCENARIO is an id, a file or a folder; without any, and without --tag and --rule, the core of the kit is played.
    """
    import asyncio  # noqa: PLC0415 - start-up time

    from conformance.again import so_far  # noqa: PLC0415 - start-up time
    from conformance.baseline import applied, unexpected  # noqa: PLC0415 - start-up time
    from conformance.cell import bounded, cells_of  # noqa: PLC0415 - start-up time
    from conformance.certify import Judged, certify  # noqa: PLC0415 - start-up time
    from conformance.cli.chosen import CORE, chosen  # noqa: PLC0415 - start-up time
    from conformance.cli.declaration import declaration  # noqa: PLC0415 - start-up time
    from conformance.cli.fit import refuse_beside, show_fit  # noqa: PLC0415 - start-up time
    from conformance.cli.known import known  # noqa: PLC0415 - start-up time
    from conformance.cli.progress import progress, stdout_apart  # noqa: PLC0415 - start-up time
    from conformance.cli.saved import Unsaved, folder, keeping, save, writable  # noqa: PLC0415 - start-up time
    from conformance.cli.showing import command_line, show  # noqa: PLC0415 - start-up time
    from conformance.cli.timed import timed  # noqa: PLC0415 - start-up time
    from conformance.cli.verbs import INTERRUPTED  # noqa: PLC0415 - verbs imports this file
    from conformance.rules import RULES  # noqa: PLC0415 - start-up time

    if fit:
        refuse_beside(junit=junit, baseline=baseline, strict=strict, format=form != "terminal", matrix=matrix)
    under = None if declared is None else declaration(declared)
    plans = chosen(selectors, tags=tags if tags or selectors or rules else (CORE,), rules=rules)
    expected = () if baseline is None else known(baseline, [one.scenario.id for one in plans])
    inputs = (*(one.name for one in plans), *(one for one in (baseline, declared) if one is not None))
    xml = None if junit is None else writable("--junit", junit, inputs)
    place = None if out is None else folder(out)
    made: list[Judged] = []
    ended: BaseException | None = None

    with timed(made), keeping(place) as keep, progress(len(plans)) as tell, stdout_apart():

        def watch(one: Judged) -> None:
            made.append(one)
            if place is not None:
                save(one, place)
            tell(one)

        def stop_at(one: Judged) -> bool:
            if one.judgement is None:
                return first and one.play.excused is None
            return first and unexpected(one.play.scenario.id, one.play.cell.name, one.judgement.results, expected)

        scenarios = [one.scenario for one in plans]
        try:
            going = certify(
                spec,
                scenarios,
                RULES,
                override=under,
                cells=lambda info: bounded(cells_of(info, wires, chunkings), len(plans), repeat),
                repeat=repeat,
                stop_at=stop_at,
                watch=watch,
                keep=keep,
            )
            rep = asyncio.run(going)
        except (KeyboardInterrupt, Unsaved) as error:
            if not any(one.judgement for one in made):
                raise
            ended = error
            rep = so_far(made, RULES)

    rep = applied(rep, expected, RULES)
    names = {one.scenario.id: one.name for one in plans}
    cells = (
        *(word for one in wires for word in ("--wire", one)),
        *(w for one in chunkings for w in ("--chunking", one)),
    )
    options = ("--agent", spec, *(() if declared is None else ("--dialect", declared)), *cells)

    def again(scenario: str) -> str:
        # Without the baseline, which may speak of scenarios that this command does not play.
        return command_line("run", names[scenario], *options)

    report = None if place is None else place / "report.json"
    code = (
        show_fit(rep)
        if fit
        else show(
            rep, again, form, strict=strict, junit=xml, saved=report, baseline=baseline is not None, matrix=matrix
        )
    )
    if isinstance(ended, Unsaved):
        begun = len({one.play.scenario.id for one in made})
        raise Unsaved(
            f"{ended}. It ended the run: {len(made)} play{'' if len(made) == 1 else 's'} of {begun} of {len(plans)} scenarios "
            f"{'was' if len(made) == 1 else 'were'} made, the rest was not"
        ) from ended
    ctx.exit(code if ended is None else INTERRUPTED)
