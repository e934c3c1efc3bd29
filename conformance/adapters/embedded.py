"""`reference`: the embedded reference loop. It takes the bench's clock, so nothing is frozen around it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from conformance.adapters.base import Adapter, Agent
from conformance.adapters.in_process import connected
from conformance.errors import AgentError
from conformance.reference import REFERENCE_AGENT


@asynccontextmanager
async def connect(spec: str) -> AsyncIterator[Agent]:
    """The reference agent; it has no variants to name here, `--dialect` declares another one."""
    if spec:
        raise AgentError(
            f"agent 'reference:{spec}': the reference takes no name; did you mean 'reference' or 'python:{spec}'?"
        )
    async with connected(REFERENCE_AGENT) as agent:
        yield agent


REFERENCE = Adapter("reference", "reference, the embedded reference loop", connect)
