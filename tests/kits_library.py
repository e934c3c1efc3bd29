"""The scenarios that come with the kit, read once per process: they are frozen, so every test may have the same."""

import functools

from conformance.loading.loader import bundled, load_all
from conformance.scenario import Scenario


@functools.cache
def plans() -> tuple[Scenario, ...]:
    return load_all(bundled())


@functools.cache
def by_id() -> dict[str, Scenario]:
    return {plan.id: plan for plan in plans()}
