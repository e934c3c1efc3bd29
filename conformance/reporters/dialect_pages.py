"""The dialects that come with the kit, as pages: docs/dialects/NAME.md and the list of them. Pure."""

from collections.abc import Iterator, Sequence

from conformance.dialect import BY_NAME, Dialect, dialect
from conformance.loading.dialect_files import Described
from conformance.reporters.dialect_file import value

_WRITTEN = "<!-- Written by `conformance dialects {name}--page`; change the file it is made from. -->"

_INDEX = """\
# Dialects

{written}

A dialect is a choice among legitimate answers, key by key; [dialect.md](../dialect.md) lists the keys. These come with the kit.
`conformance run --dialect NAME` judges an agent under one, whose keys take the place of the agent's own; `conformance dialects NAME`
prints its file, to be copied and changed. Which one fits an agent, `conformance run --fit` finds out.

| dialect | what such an agent does |
| --- | --- |
"""


def index_page(every: Sequence[Described]) -> str:
    """The list of all of them, docs/dialects/README.md."""
    rows = "".join(f"| [{one.name}]({one.name}.md) | {_cell(one.title)} |\n" for one in every)
    return _INDEX.format(written=_WRITTEN.format(name="")) + rows


def dialect_page(one: Described) -> str:
    """The page on one."""
    said = dialect(one.keys)
    keys = [name for name in BY_NAME if name in one.keys and name != "exceptions"]
    # The shorthand says two keys at once.
    if "on_limit" in keys:
        keys[keys.index("on_limit") + 1 : keys.index("on_limit") + 1] = [
            name for name in ("limit_text", "limit_terminal") if name not in keys
        ]
    return "\n".join(
        (
            f"# {one.name}: {one.title}",
            "",
            _WRITTEN.format(name=f"{one.name} "),
            "",
            one.why,
            "",
            f"    conformance run --agent python:my_agent:AGENT --dialect {one.name}",
            "",
            "| key | value | recommended | meaning |",
            "| --- | --- | --- | --- |",
            *(_row(name, said) for name in keys),
            "",
            *_exceptions(said),
            *_links(one),
        )
    )


def _row(name: str, said: Dialect) -> str:
    given, key = getattr(said, name), BY_NAME[name]
    return f"| `{name}` | `{_told(given)}` | {'the same' if given == key.default else f'`{_told(key.default)}`'} | {_cell(key.help)} |"


def _exceptions(said: Dialect) -> Iterator[str]:
    if said.exceptions:
        yield from ("What an exception of the agent means (`exceptions`):", "", "| class | outcome |", "| --- | --- |")
        yield from (f"| `{name}` | `{kind}` |" for name, kind in said.exceptions.items())
        yield ""


def _links(one: Described) -> Iterator[str]:
    if one.links:
        yield from ("## Links", "", *(f"- <{link}>" for link in one.links), "")


def _told(given: object) -> str:
    return given if isinstance(given, str) else value(given)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
