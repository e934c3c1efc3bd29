"""A declaration that was fitted, as the text of a YAML file that `--dialect` takes: each key with where it was seen. Pure."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from conformance.dialect import BY_NAME
from conformance.fitting import Fitted, Line, Shown, Torn
from conformance.printable import printable

#: How many scenarios of one value are named.
NAMED = 3
#: What every reader of YAML takes for this very string.
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
#: Words that some readers of YAML take for something else.
_OTHERWISE = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})

_HEAD = """\
# What fits {plays} of {agent}.
# Only what differs from the recommended dialect stands here, or from what was declared; see docs/dialect.md.
"""
_TORN = """\

# Of these no declaration fits, since the agent does several things where it has to do one:
"""


def dialect_file(found: Fitted, agent: str, plays: int) -> str:
    """The whole file; `plays` are the recordings that it was fitted to."""
    text = _HEAD.format(plays=f"{plays} recording{'' if plays == 1 else 's'}", agent=printable(agent))
    lines = [*(text for line in found.lines for text in _lines(line)), *_classes(found.classes)]
    text += "".join(f"{line}\n" for line in lines) or "{}\n"
    if found.torn:
        text += _TORN + "".join(f"#   {_torn(one)}\n" for one in found.torn)
    return text


def _lines(line: Line) -> Iterator[str]:
    yield f"{line.key}: {value(line.value)}  # {_comment(line, BY_NAME[line.key].default)}"


def _classes(classes: Sequence[Line]) -> Iterator[str]:
    if classes:
        yield "exceptions:"
    for line in classes:
        yield f"  {value(line.key)}: {value(line.value)}  # {_comment(line, None)}"


def _comment(line: Line, default: Any) -> str:
    was = "" if line.instead_of is None else f"; declared was {value(line.instead_of)}"
    if line.shown is None and line.value == default:
        return f"the recommended value, and nothing was seen{was}"
    if line.shown is None:
        return "as declared; not seen to be otherwise"
    return f"seen in {_where(line.shown)}{was}"


def _torn(torn: Torn) -> str:
    return f"{printable(torn.key)}: {'; '.join(f'{value(one.value)} in {_where(one)}' for one in torn.values)}"


def _where(shown: Shown) -> str:
    more = len(shown.scenarios) - NAMED
    return printable(f"{', '.join(shown.scenarios[:NAMED])}{f' and {more} more' if more > 0 else ''}")


def value(given: Any) -> str:
    """A value in YAML that reads back as itself, here and elsewhere."""
    if isinstance(given, str):
        return given if _WORD.fullmatch(given) and given.casefold() not in _OTHERWISE else json.dumps(given)
    return json.dumps(given, default=list)
