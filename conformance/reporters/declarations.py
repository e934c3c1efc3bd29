"""What an agent can declare, as the page docs/dialect.md: written from the tables that judge it. Pure."""

import json
from collections.abc import Iterable, Iterator, Mapping
from importlib.resources import files

from conformance.dialect import BY_NAME, CAPABILITIES, CHANNELS, ON_LIMIT, Key
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
the report ends with one that does.
"""

_DIALECT = f"""\
Only what differs from the default has to be declared. The first value is the recommended one and the default. `--dialect` takes
the place of an agent's own keys for one command, as pairs or as a YAML or JSON file of them:

    conformance run --agent python:my_agent:AGENT --dialect '{form({"empty_response": {"retry_then_error": 2}, "empty_is": EXAMPLES["empty_is"]})}'
    conformance run --agent python:my_agent:AGENT --dialect mine.yaml
"""

_ON_LIMIT = """\
`on_limit` is a shorthand for two keys, and `--dialect stop` one for `--dialect on_limit=stop`. Any other pair of the two is
`other`, which nobody has to declare.
"""

_CAPABILITIES = """\
A capability maps to true, or to its figures where the meaning names some in braces. Undeclared, the clauses about it do not
apply. With `streaming` every scenario is played twice, in the cells `blocking` and `streaming/whole`.
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
                "## Capabilities\n",
                _CAPABILITIES,
                *_table(("capability", "meaning"), ((f"`{name}`", what) for name, what in CAPABILITIES.items())),
                "## Limits of a run\n",
                _LIMITS,
                *_table(("key", "meaning"), ((f"`{name}`", what) for name, what in limits().items())),
            )
        ).rstrip("\n")
        + "\n"
    )


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
