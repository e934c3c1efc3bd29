"""How many plays were made, and in how long, on stderr: the report is the same whenever it is made."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import click

from conformance.certify import Judged


@contextmanager
def timed(made: Sequence[Judged]) -> Iterator[None]:
    """Say so when the block ends."""
    # Around an agent in this process the clock is frozen; here it is not yet, and no more.
    begun = time.perf_counter()
    yield
    taken_s = time.perf_counter() - begun
    click.echo(f"{len(made)} play{'' if len(made) == 1 else 's'} in {taken_s:.1f} s", err=True)
