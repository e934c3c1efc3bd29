"""`target:NAME`: a framework that comes with the kit, in its own environment and process, behind the command protocol."""

import contextlib
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

from conformance.adapters.base import Adapter, Agent
from conformance.adapters.command import Program, connected
from conformance.environments import install, target

#: All that a framework finds in its environment beside PATH and a temporary HOME: no key, nothing that reports home.
QUIET: Mapping[str, str] = {
    "LANG": "C.UTF-8",
    "NO_PROXY": "*",
    "DO_NOT_TRACK": "1",
    "OTEL_SDK_DISABLED": "true",
    "LANGSMITH_TRACING": "false",
    "LANGCHAIN_TRACING_V2": "false",
}


@contextlib.asynccontextmanager
async def connect(spec: str) -> AsyncIterator[Agent]:
    """The target of that name, installed if need be."""
    one = target(spec)
    install(one, _tell)
    start = one.room.parent / "start.py"
    with tempfile.TemporaryDirectory(prefix="conformance-") as home:
        env = {**QUIET, "PATH": os.environ.get("PATH", os.defpath), "HOME": home, "TMPDIR": home}
        program = Program((str(one.python), "-I", str(start), one.room.name), env, Path(home))
        async with connected(program) as agent:
            yield agent


def _tell(said: str) -> None:
    sys.stderr.write(f"{said}\n")


TARGET = Adapter(
    "target", "target:NAME, a framework that comes with the kit; `conformance targets` lists them", connect
)
