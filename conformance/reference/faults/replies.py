"""Faults in what a reply is taken for."""
# ruff: noqa: D103 - the table of mutants says each fault in a sentence

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from conformance.dialect import Dialect
from conformance.reference import loop
from conformance.reference.failing import Failure, failure
from conformance.reference.hearing import Said
from fake_models.errors import ModelError

Tools = Mapping[str, Mapping[str, Any]]


def zero_is_empty(heard: Said | Failure, dialect: Dialect) -> str | None:
    if isinstance(heard, Said) and not heard.calls and heard.text.strip() in ("0", "."):
        return "empty"
    return loop.trouble(heard, dialect)


def tokens_are_an_overflow(error: Exception) -> Failure:
    found = failure(error)
    speaks_of_tokens = isinstance(error, ModelError) and "tokens" in str(error.body)
    return replace(found, kind="overflow") if speaks_of_tokens else found


def overflow_is_transient(error: Exception) -> Failure:
    found = failure(error)
    return replace(found, kind="transient") if found.kind == "overflow" else found
