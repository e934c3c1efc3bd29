"""What differs between two lots of recordings, as text and as JSON. Pure."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from conformance import __version__
from conformance.difference import Difference, Name, Spot
from conformance.printable import excerpt, printable
from conformance.report import Report

#: Longest line of a recording that is shown, in characters.
SHOWN = 300


def text(found: Difference, sides: Sequence[tuple[str, Report]]) -> str:
    """The difference for people; `sides` are both sides with what they are called."""
    return "".join(f"{line}\n" for line in _lines(found, sides))


def _lines(found: Difference, sides: Sequence[tuple[str, Report]]) -> Iterator[str]:
    for letter, (name, rep) in zip("AB", sides, strict=True):
        yield f"{letter} {printable(name)}: {_agent(rep)}"
    for pair in found.pairs:
        yield ""
        yield _name(pair.name)
        for one in pair.changed:
            yield f"  {one.rule}: {one.was} -> {one.now}"
        if pair.parts is not None:
            yield "  the recordings part here:"
            yield from (f"    {letter} {_spot(spot)}" for letter, spot in zip("AB", pair.parts, strict=True))
    for letter, names in (("A", found.only_first), ("B", found.only_second)):
        if names:
            yield ""
            yield f"only in {letter}:"
            yield from (f"  {_name(name)}" for name in names)
    yield ""
    yield f"{len(found.pairs)} differ, {len(found.only_first)} only in A, {len(found.only_second)} only in B, {found.same} the same"


def _agent(rep: Report) -> str:
    plays = sum(len(entry.judgements) for entry in rep.entries)
    named = f"{rep.agent.get('name')} {rep.agent.get('version')}"
    return f"agent {printable(named)}, {plays} recording{'' if plays == 1 else 's'}"


def _name(name: Name) -> str:
    again = f" · repeat {name.repeat}" if name.repeat > 1 else ""
    return printable(f"{name.scenario} · {name.cell}{again}")


def _spot(spot: Spot | None) -> str:
    if spot is None:
        return "ends before it"
    where = f"record {spot.seq} {printable(str(spot.kind))}" if spot.seq is not None else "in sum"
    return f"{where}: {excerpt(spot.line, SHOWN)}"


def as_json(found: Difference, sides: Sequence[tuple[str, Report]]) -> str:
    """The difference for programs, with the keys of docs/ci.md, in ASCII."""
    data = {
        "kit": __version__,
        **{
            letter: {"name": name, "agent": {key: rep.agent.get(key) for key in ("name", "version", "language")}}
            for letter, (name, rep) in zip("ab", sides, strict=True)
        },
        "differ": [
            {
                **_named(pair.name),
                "changed": [{"rule": one.rule, "a": one.was, "b": one.now} for one in pair.changed],
                "parts": None if pair.parts is None else dict(zip("ab", map(_spotted, pair.parts), strict=True)),
            }
            for pair in found.pairs
        ],
        "only_a": [_named(name) for name in found.only_first],
        "only_b": [_named(name) for name in found.only_second],
        "same": found.same,
    }
    return json.dumps(data, indent=2) + "\n"


def _named(name: Name) -> dict[str, Any]:
    return {"scenario": name.scenario, "cell": name.cell, "repeat": name.repeat}


def _spotted(spot: Spot | None) -> dict[str, Any] | None:
    return None if spot is None else {"line": spot.line, "seq": spot.seq, "kind": spot.kind}


#: What `--format` of `diff` names.
FORMS: Mapping[str, Callable[[Difference, Sequence[tuple[str, Report]]], str]] = {"terminal": text, "json": as_json}
