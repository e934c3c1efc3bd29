"""
Starts a target with the Python of its own environment: `python -I start.py NAME`.

Nothing of the kit is installed there. The two packages that a target's adapter uses are lent from where this file is, and
nothing else of that place: the kit's dependencies beside them are no part of the framework's environment. `agent.py` speaks the
command protocol; `endpoint.py` is served as an AG-UI endpoint, and where it stands is said in the first line of stdout.
"""

import importlib
import importlib.util
import json
import os
import socket
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
#: The file that holds what was reached for beyond this machine, a line each.
REACHED = "CONFORMANCE_REACHED"


def lend(package: str) -> None:
    """Make a package importable without its surroundings."""
    place = ROOT / package
    spec = importlib.util.spec_from_file_location(
        package, place / "__init__.py", submodule_search_locations=[str(place)]
    )
    assert spec is not None and spec.loader is not None  # noqa: S101, PT018 - the file stands beside this one
    sys.modules[package] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)


def stay_here(event: str, arguments: tuple[Any, ...]) -> None:
    """An audit hook: whoever looks up or connects to another machine is refused, and it is written down."""
    if event == "socket.getaddrinfo":
        host = arguments[0]
    elif event == "socket.connect" and arguments[0].type & socket.SOCK_STREAM and isinstance(arguments[1], tuple):
        host = arguments[1][0]
    else:
        return
    name = host.decode("ascii", "replace") if isinstance(host, bytes) else host
    if name in (None, "", "localhost", "::1", socket.gethostname()) or str(name).startswith("127."):
        return
    if REACHED in os.environ:
        with Path(os.environ[REACHED]).open("a", encoding="utf-8") as file:
            file.write(f"{name}\n")
    raise ConnectionRefusedError(f"{name} is not this machine, and a target reaches no other")


def serve_endpoint(name: str) -> None:
    """Serve the target's APP on a free port; a POST to its PATH is a run."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    made = importlib.import_module(f"conformance.targets.{name}.endpoint")
    uvicorn = importlib.import_module("uvicorn")
    info = asdict(made.AGENT)
    agent = {key: info.pop(key) for key in ("name", "version", "language")}
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}{made.PATH}"
        out.write(json.dumps({"type": "ready", "protocol": 1, "url": url, "agent": agent, **info}) + "\n")
        out.flush()
        uvicorn.Server(uvicorn.Config(made.APP, log_level="warning")).run(sockets=[listening])


def main(name: str) -> None:
    """Serve the target's endpoint or, where it has none, its AGENT."""
    sys.addaudithook(stay_here)
    lend("fake_models")
    lend("conformance")
    if (Path(__file__).parent / name / "endpoint.py").exists():
        serve_endpoint(name)
    else:
        serving = importlib.import_module("conformance.agent_side.serving")
        serving.serve(lambda: importlib.import_module(f"conformance.targets.{name}.agent").AGENT)


if __name__ == "__main__":
    main(sys.argv[1])
