"""`conformance serve`: the fake model on its own, for whoever points an SDK at it."""

import signal
from functools import partial

import click


@click.command("serve")
@click.argument("selectors", nargs=-1, metavar="[SCENARIO]...")
@click.option(
    "--persona", "names", multiple=True, metavar="NAME", help="A model with a habit, see docs/serve.md; repeatable."
)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, metavar="N", help="Listen here; without it, on a free port."
)
@click.option(
    "--host",
    default="127.0.0.1",
    metavar="ADDRESS",
    help="Listen here instead of on this machine alone; whoever reaches it is answered.",
)
@click.option(
    "--chunking",
    default="whole",
    show_default=True,
    metavar="NAME",
    help="How streamed replies are cut, as `run` has it.",
)
@click.option(
    "--cap",
    type=click.IntRange(min=1),
    metavar="N",
    help="Refuse a run its requests beyond so many, instead of by the scenario's cap.",
)
@click.option(
    "--seed", type=int, default=0, metavar="N", help="What chance decides by: personas, and adversarial chunking."
)
@click.option(
    "--dialect", "declared", metavar="NAME", help="The declaration that journals are judged under, as `run` has it."
)
def command(  # noqa: PLR0917 - click calls it by keyword
    selectors: tuple[str, ...],
    names: tuple[str, ...],
    port: int,
    host: str,
    chunking: str,
    cap: int | None,
    seed: int,
    declared: str | None,
) -> None:
    """
    Let a scripted model stand on this machine until it is ended.

    A SCENARIO is an id, a file or a folder. Each stands below /s/ID and each persona below /s/NAME; without any of them all
    personas stand. Once everything stands, one line of JSON says where. TERM ends it with exit code 0.
    """
    # TERM waits until what stands can hear it, so that it is 0 from the start; the others only for the imports, in which
    # Python loses a few.
    held = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT, signal.SIGHUP})
    context = click.get_current_context()
    context.call_on_close(partial(signal.pthread_sigmask, signal.SIG_SETMASK, held))
    import asyncio  # noqa: PLC0415 - start-up time

    from conformance.dialect import dialect  # noqa: PLC0415 - start-up time
    from conformance.errors import ConformanceError  # noqa: PLC0415 - start-up time
    from conformance.printable import printable  # noqa: PLC0415 - start-up time
    from conformance.serving.sessions import Manner  # noqa: PLC0415 - start-up time
    from conformance.serving.stand import is_loopback, personas, scenarios, stand  # noqa: PLC0415 - start-up time
    from fake_models.chunking import chunking as known  # noqa: PLC0415 - start-up time
    from fake_models.errors import ListenError  # noqa: PLC0415 - start-up time
    from fake_models.personas import PERSONAS  # noqa: PLC0415 - start-up time

    signal.pthread_sigmask(signal.SIG_SETMASK, held | {signal.SIGTERM})
    if "stdout" in (context.obj or ()):
        raise ConformanceError("stdout is closed, so that nobody can read where the sessions stand; open it")
    if not host:
        raise ConformanceError("--host: came '', expected an address or a name of this machine, such as 127.0.0.1")
    under = dialect({})
    if declared is not None:
        from conformance.cli.declaration import declaration  # noqa: PLC0415 - start-up time

        under = dialect(declaration(declared))
    cut = f"{chunking}:{seed}" if chunking == "adversarial" else chunking
    try:
        known(cut)
    except ValueError as error:
        raise ConformanceError(f"--{error}") from error
    plans = scenarios(selectors) if selectors else {}
    habits = personas(names or (() if selectors else tuple(PERSONAS)), seed)
    if both := sorted(plans.keys() & habits):
        raise ConformanceError(
            f"{both[0]!r} is a scenario's id and a persona, and one place cannot be both; rename the scenario"
        )

    def ready(line: str) -> None:
        if not is_loopback(host):
            told = f"listening on {printable(host)}: whoever reaches it is answered and controls the sessions"
            click.echo(told, err=True)
        try:
            click.echo(line)
        except BrokenPipeError as error:
            raise ConformanceError(f"the system refused: {error}") from error

    going = stand({**plans, **habits}, Manner(under, chunking=cut, cap=cap), host=host, port=port, ready=ready)
    try:
        asyncio.run(going)
    except ListenError as error:
        raise ConformanceError(str(error)) from error
