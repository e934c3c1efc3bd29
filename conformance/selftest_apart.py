"""The selftest's parts as work for other processes: told and answered in plain values, since mutants cannot be sent."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import lru_cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from conformance.loading.loader import bundled, load, load_all
from conformance.reference import reference
from conformance.reference.mutants import MUTANTS, Mutant
from conformance.rule import Finding
from conformance.rules import BY_ID, RULES
from conformance.scenario import Scenario
from conformance.selftest import Tried, Unfair, first_killed, kill, unfair

#: The tag of a scenario in which the opposite of its twin is right.
TWIN = "twin"

_BY_NAME: Mapping[str, Mutant] = {mutant.name: mutant for mutant in MUTANTS}


@contextmanager
def workers() -> Iterator[ProcessPoolExecutor]:
    """As many processes as this machine has processors."""
    # Spawned and not forked: a fork would take over what this process has open.
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        try:
            yield pool
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def all_tried(pool: ProcessPoolExecutor, mutants: Sequence[Mutant] = MUTANTS) -> Iterator[Tried]:
    """Each mutant with what killed it among the scenarios that come with the kit, in their order."""
    for mutant, (play, finding) in zip(mutants, pool.map(_killed, [one.name for one in mutants]), strict=True):
        yield Tried(mutant, play, finding)


def all_unfair(
    pool: ProcessPoolExecutor, dialects: Sequence[Mapping[str, Any]]
) -> Iterator[tuple[Mapping[str, Any], tuple[Unfair, ...]]]:
    """Each dialect with what broke though the reference is honest in it."""
    return zip(dialects, pool.map(_unfair, dialects), strict=True)


def all_shown(pool: ProcessPoolExecutor, paths: Sequence[str]) -> Iterator[tuple[str, bool, str | None]]:
    """Each scenario file, whether it is a negative twin, and the first mutant that it kills, None where it kills none."""
    return ((path, *found) for path, found in zip(paths, pool.map(_shown, paths), strict=True))


@lru_cache(maxsize=1)
def _plans() -> tuple[Scenario, ...]:
    return load_all(bundled())


def _killed(name: str) -> tuple[str | None, Finding | None]:
    mutant = _BY_NAME[name]
    tried = asyncio.run(kill(mutant, _plans(), BY_ID[mutant.rule]))
    return tried.play, tried.finding


def _unfair(keys: Mapping[str, Any]) -> tuple[Unfair, ...]:
    return asyncio.run(unfair(reference, keys, _plans(), RULES))


def _shown(path: str) -> tuple[bool, str | None]:
    plan = load(Path(path), rule_ids=BY_ID)
    twin = TWIN in plan.tags
    tried = asyncio.run(first_killed(plan, MUTANTS, BY_ID, eager=twin))
    return twin, None if tried is None else tried.mutant.name
