"""
Starts a target behind the command protocol: `python -I start.py NAME`, with the Python of the target's own environment.

Nothing of the kit is installed there. The two packages that a target's adapter uses are lent from where this file is, and
nothing else of that place: the kit's dependencies beside them are no part of the framework's environment.
"""

import importlib.util
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def lend(package: str) -> None:
    """Make a package importable without its surroundings."""
    place = ROOT / package
    spec = importlib.util.spec_from_file_location(
        package, place / "__init__.py", submodule_search_locations=[str(place)]
    )
    assert spec is not None and spec.loader is not None  # noqa: S101, PT018 - the file stands beside this one
    sys.modules[package] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)


def main(name: str) -> None:
    """Serve the target's AGENT."""
    lend("fake_models")
    lend("conformance")
    serving = importlib.import_module("conformance.agent_side.serving")
    serving.serve(lambda: importlib.import_module(f"conformance.targets.{name}.agent").AGENT)


if __name__ == "__main__":
    main(sys.argv[1])
