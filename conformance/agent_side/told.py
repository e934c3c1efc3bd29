"""What a run over AG-UI tells of its model and tools, for endpoints that make their agent from it. Standard library only."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from conformance.agent_side.served_bench import clock, served_bench
from conformance.agent_side.terms import Bench, RunInput

_KEPT = frozenset(one.name for one in fields(RunInput))


def given(body: Mapping[str, Any]) -> RunInput:
    """The run of a posted RunAgentInput, with the scenario's tools in their place."""
    told = body["forwardedProps"]["conformance"]
    rest = {key: value for key, value in told.items() if key in _KEPT}
    return RunInput(run=body["runId"], session=body["threadId"], input={**body, "tools": told["tools"]}, **rest)


def bench(run: RunInput) -> Bench:
    """Its model and its tools."""
    return served_bench(run, clock(run))
