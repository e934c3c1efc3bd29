"""What a session can play: a scenario as it was written, or a persona as a scenario that waits for whatever comes. Pure."""

from collections.abc import Iterable
from datetime import datetime

from conformance.errors import Path, Problem
from conformance.scenario import DEFAULT_CLOCK, Scenario, scenario
from fake_models.personas import PERSONAS, Persona

#: The user text of a run whose user nobody knows beforehand. It is one, as scenarios want, and says nothing.
ANYONE = " "


def persona_plan(persona: Persona, clock: str = DEFAULT_CLOCK) -> Scenario:
    """The scenario in which this persona answers whoever asks."""
    return scenario(
        {
            "id": persona.name.replace("_", "-"),
            "title": f"The model {PERSONAS[persona.name].says}",
            "why": "What an agent makes of such a model shows without a script.",
            "clock": clock,
            "model": {"persona": persona.name, "seed": persona.seed, "rate": persona.rate},
            "runs": [{"user": ANYONE}],
        }
    )


def waits_for_anyone(plan: Scenario) -> bool:
    """Whether it is a persona's own scenario, whose conversations only its requests tell."""
    return plan.runs[0].user == ANYONE


def at(now: datetime) -> str:
    """A time as a scenario's clock has it."""
    return now.isoformat(timespec="seconds")


def unplayable(plans: Iterable[Scenario]) -> Iterable[Problem]:
    """What cannot be told apart by its requests alone."""
    for plan in plans:
        for n, run in enumerate(plan.runs):
            path: Path = ("runs", n, "resume" if run.user is None else "user")
            if run.user is None:
                message = f"scenario {plan.id!r}: this run resumes another, which no request tells; only `conformance run` can play it"
                yield Problem(path, message)
            elif not run.user.strip():
                yield Problem(
                    path, f"scenario {plan.id!r}: came {run.user!r}, by which no request can be known; write a text"
                )
