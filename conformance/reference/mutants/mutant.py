"""
What a mutant is: the reference loop with one fault. Runs nothing.

A mutant must break its rule, and for the stated reason. It may break others too. The over-eager ones, which stop, retry or
refuse too much, are what the scenarios' negative twins are for.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from conformance.agent_side import Bench, InProcessAgent
from conformance.reference.agent import Entry, reference
from conformance.reference.loop import HONEST
from conformance.reference.run import Session
from conformance.reference.sessions import one_each


@dataclass(frozen=True, slots=True)
class Mutant:
    """
    One fault.

    `rule` must fail (or warn, where it is a SHOULD) with a finding whose message `says` (a regular expression) fits.
    `evidence` are public reports of the fault. `make` opens the mutant. `scenarios` names those that show it; none: any.
    `chunkings` are those that do, beside whole chunks.
    `eager`: it does too much: stops, retries, refuses, cuts or fills in where the honest loop does not, as negative twins show.
    """

    name: str
    rule: str
    fault: str
    says: str
    evidence: tuple[str, ...]
    make: Callable[[], InProcessAgent]
    scenarios: tuple[str, ...] = ()
    chunkings: tuple[str, ...] = ()
    eager: bool = False


def _as_it_is(bench: Bench) -> Bench:
    return bench


def mutant(
    name: str,
    rule: str,
    fault: str,
    says: str,
    *evidence: str,
    declared: Mapping[str, Any] | None = None,
    behaves: Mapping[str, Any] | None = None,
    bench: Callable[[Bench], Bench] = _as_it_is,
    entry: Entry = "sync",
    sessions: Callable[[], Callable[[], Session]] = one_each,
    eager: bool = False,
    **parts: Any,
) -> Mutant:
    """
    Build a mutant from what differs: `parts` of the loop exchanged, the bench wrapped, sessions opened otherwise, or another dialect.

    `declared` is what it says of its dialect, `behaves` what it does without saying so. `evidence` are paths on GitHub. Tools
    run at once only where the `entry` is async.
    """
    make = partial(
        reference,
        declared,
        entry=entry,
        behaves=behaves,
        bench=bench,
        sessions=sessions,
        parts=replace(HONEST, **parts),
    )
    links = tuple(f"https://github.com/{one}" for one in evidence)
    return Mutant(name, rule, fault, says, links, make, eager=eager)
