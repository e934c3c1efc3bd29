"""Scripted tools as data: what a tool returns, raises or does not do. Decides outcomes; executes and records nothing."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Returns:
    """The value a tool returns; strings inside may hold templates."""

    value: Any


@dataclass(frozen=True, slots=True)
class Raises:
    """The tool raises. `type` is an exception class name, free text."""

    type: str
    message: str


@dataclass(frozen=True, slots=True)
class Hangs:
    """The tool never comes back."""


@dataclass(frozen=True, slots=True)
class Large:
    """The tool returns a text of so many bytes (ASCII, so characters too)."""

    bytes: int


Outcome = Returns | Raises | Hangs | Large


@dataclass(frozen=True, slots=True)
class Tool:
    """
    A tool of a scenario. `sequence` has one outcome per execution and its last one repeats.

    `parameters` is the JSON Schema shown to the model; arguments are checked against it. `counts` marks a side effect that
    must happen exactly once; `approval` a tool that waits for a person.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    sequence: tuple[Outcome, ...]
    counts: bool = False
    approval: bool = False
