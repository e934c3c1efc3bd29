"""`python -m conformance.agent_side package.module:NAME`: that agent, behind the command protocol."""

import importlib
import sys
from functools import partial
from pathlib import Path

from conformance.agent_side.serving import serve
from conformance.agent_side.terms import InProcessAgent


def main(spec: str) -> None:
    """Serve the InProcessAgent that `spec` names; what is wrong with it goes to stderr, where the kit reads it."""
    sys.path.insert(0, str(Path.cwd()))
    serve(partial(_found, spec))


def _found(spec: str) -> InProcessAgent:
    module, _, name = spec.partition(":")
    try:
        agent = getattr(importlib.import_module(module), name, None)
    except ModuleNotFoundError as error:
        # One that is there, and imports what is not, is shown with its traceback.
        if not f"{module}.".startswith(f"{error.name}."):
            raise
        sys.exit(f"{spec}: there is no module {error.name!r} in the current folder or among the installed packages")
    if not isinstance(agent, InProcessAgent):
        sys.exit(f"{spec}: {name!r} is {type(agent).__name__}, expected an InProcessAgent of conformance.agent_side")
    return agent


if __name__ == "__main__":
    main(*sys.argv[1:2] or sys.exit("usage: python -m conformance.agent_side package.module:NAME"))
