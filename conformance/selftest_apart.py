"""The selftest's parts as work for other processes: told and answered in plain values, since mutants cannot be sent."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class Shown:
    """
    What a scenario file is good for: whether it is a negative twin, what fails though the agent is honest, and the first mutant that it
    kills, None where it kills none.
    """

    path: str
    twin: bool
    unfair: tuple[Unfair, ...]
    mutant: str | None


def all_shown(pool: ProcessPoolExecutor, paths: Sequence[str]) -> Iterator[Shown]:
    """Each scenario file, played to the honest reference and, where that holds, to its mutants."""
    return iter(pool.map(_shown, paths))


@lru_cache(maxsize=1)
def _plans() -> tuple[Scenario, ...]:
    return load_all(bundled())


def _killed(name: str) -> tuple[str | None, Finding | None]:
    mutant = _BY_NAME[name]
    tried = asyncio.run(kill(mutant, _plans(), BY_ID[mutant.rule]))
    return tried.play, tried.finding


def _unfair(keys: Mapping[str, Any]) -> tuple[Unfair, ...]:
    return asyncio.run(unfair(reference, keys, _plans(), RULES))


def _shown(path: str) -> Shown:
    plan = load(Path(path), rule_ids=BY_ID)
    twin = TWIN in plan.tags
    wrong = asyncio.run(unfair(reference, {}, [plan], RULES))
    # Of a scenario that fails whoever it is played to, every mutant would be killed.
    tried = None if wrong else asyncio.run(first_killed(plan, MUTANTS, BY_ID, eager=twin))
    return Shown(path, twin, wrong, None if tried is None else tried.mutant.name)
