"""Which scalars of a value a text carries, in whatever form it spells them. Knows no message, no tool and no agent."""

import math
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from functools import cached_property
from typing import Any

#: How often a text may be JSON inside JSON: a value in a result, in a wrapper's string, in a transcript, and one to spare.
DEPTH = 3

#: Words that spell what JSON calls true, false and null, in any case.
SPELLINGS: Mapping[bool | None, tuple[str, ...]] = {
    True: ("true",),
    False: ("false",),
    None: ("null", "none", "nil", "undefined", "nan"),
}
#: Words of plain speech, which spell a boolean only where a value stands: in "no rain" nothing is false.
_AS_VALUES: Mapping[bool | None, tuple[str, ...]] = {True: ("yes", "on"), False: ("no", "off")}
_BEFORE_A_VALUE = r"(?:^|[:=,;\[({|>\"'`])[ \t]*|^[ \t]*[-*][ \t]+"
_BEHIND_A_VALUE = r"[ \t]*(?:$|[,;.\])}|<\"'`])"

_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|([\"'\\/bfnrt]))")
_PLAIN = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_NUMBER = re.compile(r"\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?")
#: What a number stands behind where it is a part of a name. Units behind a number are none of it.
_NAMED = re.compile(r"[A-Za-z_]-?$")
_GROUPED = re.compile(r"(?<![\d.,A-Za-z_])\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\d,])")


def carries(text: str, value: Any) -> tuple[Any, ...]:
    """
    The scalars of `value` that are not in `text`, in order; empty where all are.

    A string is looked for as it is and behind up to three layers of JSON escapes, its outer white space aside. Numbers are
    compared by value, booleans and null in any case and spelling; a blank text spells null. Keys of objects are not
    required and an empty string carries nothing. "yes" and its like count only where a value stands, and no number begins
    inside a name: the 7 of `A-7` is none.
    """
    said = _Said(text)
    return tuple(one for one in scalars(value) if not said.has(one))


def scalars(value: Any) -> Iterator[Any]:
    """The strings, numbers, booleans and nulls of a JSON value, depth first; keys aside."""
    if isinstance(value, Mapping):
        for one in value.values():
            yield from scalars(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from scalars(one)
    else:
        yield value


class _Said:
    """A text in all its readings, each worked out once: large results hold thousands of numbers."""

    def __init__(self, text: str) -> None:
        self.readings = [text]
        while len(self.readings) <= DEPTH and (plain := _unescaped(self.readings[-1])) != self.readings[-1]:
            self.readings.append(plain)

    def has(self, scalar: Any) -> bool:
        if scalar is None or isinstance(scalar, bool):
            blank = scalar is None and not self.readings[0].strip()
            return blank or self._says(SPELLINGS[scalar]) or self._tells(_AS_VALUES.get(scalar, ()))
        if isinstance(scalar, float) and not math.isfinite(scalar):
            return self._says(("nan",) if math.isnan(scalar) else ("inf", "infinity"))
        if isinstance(scalar, int | float):
            # Decimals keep large integers apart; floats are equal however many of their digits were written.
            return Decimal(scalar) in self.numbers or (isinstance(scalar, float) and scalar in self.floats)
        wanted = str(scalar).strip()
        return any(wanted in reading for reading in self.readings)

    @cached_property
    def numbers(self) -> frozenset[Decimal]:
        return frozenset(number for reading in self.readings for number in _numbers(reading))

    @cached_property
    def floats(self) -> frozenset[float]:
        return frozenset(float(number) for number in self.numbers)

    def _says(self, words: tuple[str, ...]) -> bool:
        spelled = re.compile(rf"(?<![a-z])(?:{'|'.join(words)})(?![a-z])", re.IGNORECASE)
        return any(spelled.search(reading) for reading in self.readings)

    def _tells(self, words: tuple[str, ...]) -> bool:
        if not words:
            return False
        told = re.compile(rf"(?:{_BEFORE_A_VALUE})(?:{'|'.join(words)}){_BEHIND_A_VALUE}", re.IGNORECASE | re.MULTILINE)
        return any(told.search(reading) for reading in self.readings)


def _unescaped(text: str) -> str:
    if "\\" not in text:
        return text
    plain = _ESCAPE.sub(lambda found: chr(int(found[1], 16)) if found[1] else _PLAIN.get(found[2], found[2]), text)
    # Characters beyond the basic plane are escaped as two halves, which only UTF-16 puts together again.
    return plain.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _numbers(text: str) -> Iterator[Decimal]:
    for found in _NUMBER.finditer(text):
        number = Decimal(found[0])
        sign = text[max(0, found.start() - 2) : found.start()]
        if _NAMED.search(sign):
            continue
        if not sign.endswith("-"):
            yield number
            continue
        # Unlike the minus operator this never rounds.
        yield number.copy_negate()
        # In `2026-01` the sign is a dash.
        if sign[:1].isdigit():
            yield number
    for found in _GROUPED.finditer(text):
        number = Decimal(found[0].replace(",", ""))
        yield number.copy_negate() if text[: found.start()].endswith("-") else number
