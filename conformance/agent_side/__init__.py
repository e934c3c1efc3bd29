"""
The agent's side of the kit: who an agent is, what it is given, what it answers. Standard library only.

An agent under test imports its types from here and nothing else of the kit. One file then serves both ways in:
`python:my_agent:AGENT` in the kit's process, and `command:python -m conformance.agent_side my_agent:AGENT` in its own, where
the kit may be installed without what it depends on (`pip install --no-deps`).
"""

from conformance.agent_side.terms import (
    AgentInfo,
    Bench,
    InProcessAgent,
    Outcome,
    RunInput,
    Runner,
    ToolFailed,
)
from fake_models.errors import ModelError, StreamBroken

__all__ = [
    "AgentInfo",
    "Bench",
    "InProcessAgent",
    "ModelError",
    "Outcome",
    "RunInput",
    "Runner",
    "StreamBroken",
    "ToolFailed",
]
