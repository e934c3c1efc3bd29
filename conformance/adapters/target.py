"""`target:NAME`: a framework that comes with the kit, in its own environment and process, behind the command protocol or AG-UI."""

import contextlib
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

from conformance.adapters import served
from conformance.adapters.base import Adapter, Agent
from conformance.adapters.command import Program, connected
from conformance.environments import install, target
from conformance.errors import AgentError

#: All that a framework finds in its environment beside PATH and a temporary HOME: no key, nothing that reports home.
QUIET: Mapping[str, str] = {
    "LANG": "C.UTF-8",
    "NO_PROXY": "*",
    "DO_NOT_TRACK": "1",
    "OTEL_SDK_DISABLED": "true",
    "LANGSMITH_TRACING": "false",
    "LANGCHAIN_TRACING_V2": "false",
}
#: Where a program finds its environment's folder, and the file in which it leaves what it reached for beyond this machine.
ENVIRONMENT, REACHED = "CONFORMANCE_ENVIRONMENT", "CONFORMANCE_REACHED"


@contextlib.asynccontextmanager
async def connect(spec: str) -> AsyncIterator[Agent]:
    """The target of that name, installed if need be."""
    one = target(spec)
    install(one, _tell)
    way = served.connected if one.start.endpoint else connected
    with tempfile.TemporaryDirectory(prefix="conformance-") as home:
        reached = Path(home) / "reached"
        env = {
            **QUIET,
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": home,
            "TMPDIR": home,
            ENVIRONMENT: str(one.environment),
            REACHED: str(reached),
        }
        async with way(Program(one.command, env, Path(home), f"target:{one.name}")) as agent:
            yield agent
        if reached.exists():
            hosts = ", ".join(sorted(set(reached.read_text("utf-8").split())))
            raise AgentError(
                f"target {one.name!r}: it reached for {hosts}, and a target reaches no machine but this one; what it was refused "
                "may have changed what it did, so nothing of this run counts. Switch that off in its adapter"
            )


def _tell(said: str) -> None:
    sys.stderr.write(f"{said}\n")


TARGET = Adapter(
    "target", "target:NAME, a framework that comes with the kit; `conformance targets` lists them", connect
)
