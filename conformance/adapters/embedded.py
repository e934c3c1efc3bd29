"""`reference`: the embedded reference loop. It takes the bench's clock, so nothing is frozen around it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from conformance.adapters.base import Adapter, Agent
from conformance.adapters.in_process import connected
from conformance.dialect import ON_LIMIT, DialectError
from conformance.errors import SpecError
from conformance.overrides import typed
from conformance.reference import reference


@asynccontextmanager
async def connect(spec: str) -> AsyncIterator[Agent]:
    """The reference agent; behind the colon stand the dialect keys in which it is to differ from the recommended one."""
    try:
        keys = typed(spec) if spec else {}
    except DialectError as error:
        raise SpecError(f"agent 'reference:{spec}': {error}") from error
    if keys is None:
        ways = f"{', '.join(ON_LIMIT)} or key=value,key=value"
        raise SpecError(f"agent 'reference:{spec}': expected {ways}; an agent of yours is 'python:package.module:NAME'")
    async with connected(reference(keys)) as agent:
        yield agent


REFERENCE = Adapter("reference", "reference[:KEY=VALUE,...], the embedded reference loop, in that dialect", connect)
