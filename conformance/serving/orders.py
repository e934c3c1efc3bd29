"""What the control route is asked, read from JSON: which session to open, which fault comes next. Pure; opens none."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from conformance.errors import ConformanceError, Path, guess
from conformance.loading.lint_templates import in_turn
from conformance.loading.lint_turns import contradictions
from conformance.loading.schema_check import problems
from conformance.scenario import Scenario, turn
from fake_models.personas import PERSONAS, Persona
from fake_models.script import Turn

#: What a token may be: it stands in URLs and in file names.
TOKEN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._~-]{0,99}", re.ASCII)
#: Keys of a turn that say when it is played, which is at once.
TIMING = ("when", "optional", "repeat")
#: A scenario around a turn, by which its form is checked as any other's.
_AROUND: Mapping[str, Any] = {"id": "fault", "title": "A fault", "why": "It was asked for."}
#: Where the turn stands in it.
_AT = ("runs", 0, "model", 0)


class Unfit(ConformanceError):  # noqa: N818 - what a request is
    """A request that cannot be understood; the message says what came and what was expected."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A session to open: of a scenario, by its id, or of a persona. `token` None: any."""

    scenario: str | None
    persona: Persona | None
    token: str | None


def wanted(body: Any) -> Wanted:
    """The session that a request describes; raises Unfit."""
    keys = ("scenario", "persona", "token", "seed", "rate")
    given = _object(body, keys)
    if ("scenario" in given) == ("persona" in given):
        came = "both" if "scenario" in given else "neither"
        raise Unfit(f"came {came} of 'scenario' and 'persona', expected one of them")
    for key in ("seed", "rate"):
        if key in given and "persona" not in given:
            raise Unfit(f"{key}: came {given[key]!r}, but only personas have one; a scenario says it itself")
    for key, kind, what in (
        ("scenario", str, "a scenario's id"),
        ("persona", str, "a persona's name"),
        ("seed", int, "an integer"),
    ):
        if key in given and (not isinstance(given[key], kind) or isinstance(given[key], bool)):
            raise Unfit(f"{key}: came {given[key]!r}, expected {what}")
    return Wanted(given.get("scenario"), _persona(given) if "persona" in given else None, _token(given))


def fault(body: Any, plan: Scenario) -> Turn:
    """The turn that a request asks for in a session that plays `plan`, as scenarios write one; raises Unfit."""
    data = body if isinstance(body, dict) else {}
    if not data:
        raise Unfit(f"came {body!r:.80}, expected the keys of a turn, such as {{'error': {{'status': 500}}}}")
    for key in TIMING:
        if key in data:
            raise Unfit(
                f"{key}: came {data[key]!r:.80}, but a turn that is asked for is played once, by the next request; leave it out"
            )
    found = problems({**_AROUND, "runs": [{"user": "-", "model": [data]}]})
    _refuse((problem.path[len(_AT) :], problem.message) for problem in found)
    made = turn(data)
    _refuse(contradictions(made))
    _refuse((problem.path, problem.message) for problem in in_turn(data, plan))
    return made


def _refuse(found: Iterable[tuple[Path, str]]) -> None:
    if said := [": ".join(filter(None, (".".join(map(str, path)), message))) for path, message in found]:
        raise Unfit("; ".join(said))


def _object(body: Any, keys: tuple[str, ...]) -> Mapping[str, Any]:
    if not isinstance(body, dict):
        raise Unfit(f"came {body!r:.80}, expected an object with some of {', '.join(keys)}")
    for key in body:
        if key not in keys:
            raise Unfit(f"unknown key {key!r}{guess(key, keys)}")
    return body


def _persona(given: Mapping[str, Any]) -> Persona:
    name, rate = given["persona"], given.get("rate", 0)
    if name not in PERSONAS:
        raise Unfit(f"persona: there is no {name!r}{guess(name, PERSONAS)}")
    if not isinstance(rate, int | float) or isinstance(rate, bool) or not 0 <= rate <= 1:
        raise Unfit(f"rate: came {rate!r}, expected a number from 0 to 1")
    return Persona(name, **{key: given[key] for key in ("seed", "rate") if key in given})


def _token(given: Mapping[str, Any]) -> str | None:
    token = given.get("token")
    if token is not None and not (isinstance(token, str) and TOKEN.fullmatch(token)):
        raise Unfit(
            f"token: came {token!r:.120}, expected up to 100 letters, digits and any of . _ ~ -, the first a letter or digit"
        )
    return token
