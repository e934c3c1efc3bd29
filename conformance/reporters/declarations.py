"""What an agent can declare, as the page docs/dialect.md: written from the tables that judge it. Pure."""

import json
from collections.abc import Iterable, Iterator, Mapping
from importlib.resources import files

from conformance.dialect import BY_NAME, CAPABILITIES, CHANNELS, FIGURES, ON_LIMIT, Key
from conformance.observing.unseen import UNSEEN, UNSHOWN
from conformance.overrides import EXAMPLES, form
from fake_models.wire import CODECS

_INTRO = """\
# What an agent declares

<!-- Written by `conformance agents --declarations`; change the tables it is made from. -->

An agent says in its `AgentInfo` how it asks its model (`wires`), what it shows (`channels`), where it goes another legitimate way
than the recommended one (`dialect`) and what it can do beyond the loop itself (`capabilities`):

```python
AgentInfo("my-agent", channels=("M", "T", "R"), dialect={"on_limit": "stop"}, capabilities={"sessions": True})
```

It is judged by what it declares, and the declaration is judged too: one that does not fit what was seen is a finding of DIA-1, and
the report ends with one that does. Of other findings that another declaration would allow the report says which: "if it is meant to do so,
declare ...". [python.md](python.md) says what an agent in Python is given, [protocol.md](protocol.md) one in any other language.
"""

_DIALECT = f"""\
Only what differs from the default has to be declared. The first value is the recommended one and the default. `--dialect` takes
the place of an agent's own keys for one command, as pairs or as a YAML or JSON file of them:

    conformance run --agent python:my_agent:AGENT --dialect '{form({"empty_response": {"retry_then_error": 2}, "empty_is": EXAMPLES["empty_is"]})}'
    conformance run --agent python:my_agent:AGENT --dialect mine.yaml

[dialects/](dialects/README.md) has the ones that come with the kit, by name. A file may also have its keys under `dialect`, beside
`title`, `why` and `links`, as theirs do.
"""

_FIT = """`--fit` plays as usual and prints, in the place of the report, the declaration that fits what was seen, as a file that `--dialect`
takes; `conformance judge --fit` does the same with saved recordings. The exit code is 0, or 3 where nothing could be recorded.

    conformance run --agent python:my_agent:AGENT --fit > mine.yaml
    conformance run --agent python:my_agent:AGENT --dialect mine.yaml

It has the keys that differ from the recommended values or from what the agent declares, each with the scenarios that show it. What is
declared and was not seen to be otherwise stays, and is marked. A key of which several values were seen is left out and named at the end: no declaration
of it fits.

The declaration at the end of a report is for mending findings of DIA-1, and has no more than they need: what is declared, with each key
that a finding contradicts as it was seen. A class that is not under `exceptions` contradicts nothing, since its exception then counts as `error`, so
the report adds none. `--fit` is for writing a declaration anew: it also has every class of exception whose cause was seen, such as that of a limit,
by which the run is told from one that just broke.
"""

_UNSEEN = """Of some keys, and of some values, a recording shows nothing. They are believed as they are declared:
"""

_CONTRADICTIONS = """A declaration that cannot be true, whatever the agent does, is refused before anything is played:

- `on_limit: other` without both `limit_text` and `limit_terminal`. A part beside any other word of `on_limit` takes its place.
- `events: none` beside channel E.
- `exceptions` that maps a class to what is no outcome.
- `answer_by` without the name of a tool and of its argument.
- a capability without the figures it has, with others, or with one that cannot be; and figures for one that has none.

A key that is read only under another value, such as `summary_tools` under `limit_text: none`, or whose capability or channel is not
declared, says nothing there and is no contradiction.
"""

_ON_LIMIT = """\
`on_limit` is a shorthand for two keys, and `--dialect stop` one for `--dialect on_limit=stop`. Any other pair of the two is
`other`, which nobody has to declare.
"""

_CAPABILITIES = """\
A capability maps to true, or to its figures where it has some. Undeclared, the clauses about it do not apply. With `streaming`
every scenario is played twice, in the cells `blocking` and `streaming/whole`.
"""

_WIRES = """\
The first is the one that is played unless `--wire` says otherwise; an agent that declares none speaks `openai_chat`. [wires.md](wires.md)
has a client for each.
"""

_LIMITS = """\
An agent reads them from `limits` of the run it is given. A key is there only where the scenario sets it; without `max_iters` the
agent's own `default_max_iters` holds.
"""


def page() -> str:
    """The whole page."""
    keys = (
        (f"`{key.name}`", ", ".join(_shown(key)), key.help, f"`{_json(key.default)}`", _example(key))
        for key in BY_NAME.values()
    )
    parts = ((f"`{name}`", f"`{text}`", f"`{end}`") for name, (text, end) in ON_LIMIT.items())
    return (
        "\n".join(
            (
                _INTRO,
                "## Wires\n",
                *_table(
                    ("wire", "what is asked"), ((f"`{name}`", f"`POST {codec.path}`") for name, codec in CODECS.items())
                ),
                _WIRES,
                "## Channels\n",
                *_table(("channel", "what is seen"), ((f"`{name}`", what) for name, what in CHANNELS.items())),
                "M is needed; what can only be seen on a channel that is not declared is not judged.\n",
                "## Dialect\n",
                _DIALECT,
                *_table(("key", "values", "meaning", "default", "other values, as `--dialect` takes them"), keys),
                _ON_LIMIT,
                *_table(("`on_limit`", "`limit_text`", "`limit_terminal`"), parts),
                "## The declaration that fits\n",
                _FIT,
                _UNSEEN,
                *_table(("key", "why"), _unseen()),
                "## Capabilities\n",
                _CAPABILITIES,
                *_table(("capability", "meaning"), ((f"`{name}`", what) for name, what in CAPABILITIES.items())),
                *_table(("capability", "needs", "for example"), _figures()),
                "A cap of `guards` is a count, or `caller` where it holds only what the caller sets.\n",
                "## What contradicts itself\n",
                _CONTRADICTIONS,
                "## Limits of a run\n",
                _LIMITS,
                *_table(("key", "meaning"), ((f"`{name}`", what) for name, what in limits().items())),
            )
        ).rstrip("\n")
        + "\n"
    )


def _unseen() -> Iterator[tuple[str, str]]:
    yield from ((f"`{name}`", why) for name, why in UNSEEN.items())
    yield from ((f"`{name}: {given}`", why) for (name, given), why in UNSHOWN.items())


def _figures() -> Iterator[tuple[str, str, str]]:
    for name, figures in FIGURES.items():
        needs = ", ".join(f"`{one}`" for one in (figures.each if figures.any_of else figures.needs))
        needs = f"one of {needs}" if figures.any_of else needs
        yield f"`{name}`", needs, f"`{json.dumps(dict(figures.example))}`"


def limits() -> Mapping[str, str]:
    """The keys of `limits` that a scenario can set, with their meaning, from the schema of scenarios."""
    schema = json.loads(files("conformance.schemas").joinpath("scenario.schema.json").read_text("utf-8"))
    return {name: one["description"] for name, one in schema["$defs"]["limits"]["properties"].items()}


def _shown(key: Key) -> Iterator[str]:
    return (f"`{_json(value)}`" for value in key.values)


def _json(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _example(key: Key) -> str:
    return f"`{form({key.name: EXAMPLES[key.name]})}`" if key.name in EXAMPLES else ""


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield _row(head)
    yield _row(["---"] * len(head))
    yield from map(_row, rows)
    yield ""


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
