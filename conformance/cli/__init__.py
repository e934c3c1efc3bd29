"""The command line: one file per verb."""

from conformance.cli.verbs import main

__all__ = ["main"]
