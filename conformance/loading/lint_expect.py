"""Predictions of a scenario that nobody, or the wrong agents, would be held to. Judges no agent. Pure."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from conformance.dialect import BY_NAME, CAPABILITIES, ON_LIMIT
from conformance.errors import Path, Problem, guess
from conformance.scenario import Expect, RunSpec, Scenario
from fake_models.messages import NoConnection
from fake_models.script import FOREVER


def _blocks(scenario: Scenario) -> Iterator[tuple[Path, Expect]]:
    yield from ((("expect", k), block) for k, block in enumerate(scenario.expect))
    for n, run in enumerate(scenario.runs):
        yield from ((("runs", n, "expect", k), block) for k, block in enumerate(run.expect))


def predictions(scenario: Scenario) -> Iterator[Problem]:
    """Expectations that no agent, or the wrong ones, would be held to."""
    words = (*BY_NAME, *CAPABILITIES, "profile")
    for at, block in _blocks(scenario):
        for key, value in block.when.items():
            if key not in words:
                yield Problem(
                    (*at, "when", key), f"{key!r} is no dialect key or capability{guess(key, words)}", on_key=True
                )
            elif key in BY_NAME and not _declarable(key, value):
                expected = f"{BY_NAME[key].help}: {', '.join(map(str, BY_NAME[key].values))}"
                yield Problem((*at, "when", key), f"no agent can declare {value!r}; expected {expected}")
        for n, name in enumerate(block.predictions.get("tools_run", ())):
            if name not in scenario.tools:
                yield Problem((*at, "tools_run", n), f"the scenario has no tool {name!r}{guess(name, scenario.tools)}")
        if "events" in block.predictions and block.when.get("profile") != "reference":
            message = "only the reference emits a known number of events; put it under `when: {profile: reference}`"
            yield Problem((*at, "events"), message, on_key=True)
    for path, blocks in (
        (("expect",), scenario.expect),
        *((("runs", n, "expect"), run.expect) for n, run in enumerate(scenario.runs)),
    ):
        everyone = next((k for k, block in enumerate(blocks) if not block.when), len(blocks))
        for k in range(everyone + 1, len(blocks)):
            yield Problem((*path, k), "this block is never used: one before it has no `when` and fits everyone")


def _declarable(key: str, value: Any) -> bool:
    """A value of the key, or a list of such values."""
    return BY_NAME[key].allows(value) or (
        isinstance(value, list) and bool(value) and all(map(BY_NAME[key].allows, value))
    )


def default_limits(scenario: Scenario) -> Iterator[Problem]:
    """An agent's own default may be one round: a core run that can take more sets its limit, or predicts for a default."""
    if "core" not in scenario.tags:
        return
    for n, run in enumerate(scenario.runs):
        # Refused requests are sent again within their round; every other reply may be a whole one.
        spends = any(
            turn.error is None and turn.overflow is None and not isinstance(turn.broken, NoConnection)
            for turn in run.script.turns[:-1]
        )
        told = any("default_max_iters" in block.when for block in (*scenario.expect, *run.expect))
        if spends and run.limits.max_iters is None and not told:
            message = (
                "this run can take more than one round, which an agent's default may not allow; add `limits: {max_iters: 10}`, "
                "or expect blocks with `default_max_iters` in their `when` if the default is what it tests"
            )
            yield Problem(("runs", n), message)


def limit_predictions(scenario: Scenario) -> Iterator[Problem]:
    """Agents differ most at the limit: a core scenario that reaches it says what it predicts for each way to end there."""
    if "core" not in scenario.tags:
        return
    for n, run in enumerate(scenario.runs):
        if run.limits.max_iters is None or _calling_turns(run) < run.limits.max_iters:
            continue
        blocks = (*scenario.expect, *run.expect)
        missing = [way for way in ON_LIMIT if not any(_fits(block.when, way) for block in blocks)]
        if missing:
            message = (
                f"this run can reach its limit (max_iters {run.limits.max_iters}), but no expect block is for agents with "
                f"on_limit {', '.join(missing)}; core scenarios have one for each of {', '.join(ON_LIMIT)}"
            )
            yield Problem(("expect",) if scenario.expect else ("runs", n), message)


def _calling_turns(run: RunSpec) -> float:
    calling = [turn for turn in run.script.turns if turn.calls and turn.broken is None]
    return sum(math.inf if turn.repeat == FOREVER else turn.repeat for turn in calling)


def _fits(when: Mapping[str, Any], way: str) -> bool:
    """Whether a block is for foreign agents that end so at the limit; other conditions may narrow it further."""
    text, terminal = ON_LIMIT[way]
    parts = {"on_limit": way, "limit_text": text, "limit_terminal": terminal}
    return "profile" not in when and all(
        value in (when[key] if isinstance(when[key], list) else [when[key]])
        for key, value in parts.items()
        if key in when
    )
