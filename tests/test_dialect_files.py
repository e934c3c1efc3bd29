"""Named dialects: each of them true to the schema and to what it is named after, and found by name or as a file."""

import ast
import json
from importlib.resources import files
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from conformance.cli.declaration import declaration
from conformance.dialect import KEYS, ON_LIMIT, dialect
from conformance.errors import LoadError
from conformance.loading.dialect_files import described, in_file, names
from conformance.loading.loader import read_data
from conformance.overrides import EXAMPLES
from conformance.reporters.dialect_pages import dialect_page, index_page

ROOT = Path(__file__).parents[1]
SCHEMA = json.loads(files("conformance.schemas").joinpath("dialect.schema.json").read_text("utf-8"))
#: The bundled targets, by the name of their dialect.
TARGETS = {"langchain": "langchain", "pydantic-ai": "pydantic_ai"}


def target_dialect(folder):
    """What a target declares. Its module cannot be imported where its framework is not installed."""
    tree = ast.parse((ROOT / "conformance" / "targets" / folder / "agent.py").read_text("utf-8"))
    (value,) = (
        one.value for one in tree.body if isinstance(one, ast.AnnAssign) and getattr(one.target, "id", "") == "DIALECT"
    )
    return eval(compile(ast.Expression(value), folder, "eval"), {"dict": dict})


@pytest.mark.parametrize("name", names())
def test_a_named_dialect_holds_to_the_schema(name):
    data = read_data(ROOT / "conformance" / "dialects" / f"{name}.yaml")
    assert list(Draft202012Validator(SCHEMA).iter_errors(data)) == []
    assert described(name).keys == data["dialect"] == declaration(name)


def test_the_schema_knows_every_key_with_its_meaning_and_its_values():
    Draft202012Validator.check_schema(SCHEMA)
    keys = SCHEMA["properties"]["dialect"]["properties"]
    assert list(keys) == [key.name for key in KEYS]
    assert [one["description"] for one in keys.values()] == [key.help for key in KEYS]
    listed = {name: one["enum"] for name, one in keys.items() if "enum" in one}
    assert listed == {key.name: list(key.values) for key in KEYS if key.name not in EXAMPLES}


@pytest.mark.parametrize("word", ON_LIMIT)
def test_every_word_of_on_limit_is_a_named_dialect_that_says_the_same(word):
    assert described(word).keys == {"on_limit": word}


def test_the_recommended_dialect_says_every_key_but_whose_events_these_are():
    keys = described("recommended").keys
    assert dialect(keys) == dialect({})
    assert {key.name for key in KEYS} - set(keys) == {"limit_text", "limit_terminal", "events"}


@pytest.mark.parametrize("name", TARGETS)
def test_a_targets_dialect_is_what_the_target_declares(name):
    assert described(name).keys == target_dialect(TARGETS[name])


@pytest.mark.parametrize("name", names())
def test_the_page_of_a_dialect_is_current(name):
    written = (ROOT / "docs" / "dialects" / f"{name}.md").read_text("utf-8")
    assert written == dialect_page(described(name)), f"conformance dialects {name} --page > docs/dialects/{name}.md"


def test_the_list_of_dialects_is_current_and_every_page_is_of_one():
    folder = ROOT / "docs" / "dialects"
    written = (folder / "README.md").read_text("utf-8")
    assert written == index_page([described(name) for name in names()]), "conformance dialects --page"
    assert {path.stem for path in folder.glob("*.md")} == {*names(), "README"}


def test_a_page_says_both_parts_of_the_shorthand_and_the_exceptions():
    text = dialect_page(described("langchain"))
    assert "| `limit_text` | `none` | `model` |" in text
    assert "| `GraphRecursionError` | `limit` |" in text
    assert "- <https://github.com/langchain-ai/langgraph/issues/5548>" in text


@pytest.mark.parametrize(
    "text",
    ["on_limit: stop\n", "title: Mine\nwhy: Because.\ndialect:\n  on_limit: stop\n", "dialect: {on_limit: stop}\n"],
)
def test_a_file_has_its_keys_as_they_are_or_under_dialect(tmp_path, text):
    (tmp_path / "mine.yaml").write_text(text)
    assert declaration(str(tmp_path / "mine.yaml")) == {"on_limit": "stop"}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("- on_limit\n", "came list, expected an object of dialect keys"),
        ("dialect: stop\n", "came str, expected an object of dialect keys"),
        ("dialect: {on_limit: stop}\nwhen: now\n", "came the key 'when' beside 'dialect'"),
        ("on_limit: never\n", "on_limit is 'never', expected summarize"),
    ],
)
def test_a_file_that_is_no_dialect_says_what_was_expected(tmp_path, text, says):
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(LoadError) as refused:
        in_file(path)
    assert says in str(refused.value)
    assert str(path) in str(refused.value)


def test_a_name_that_there_is_not_is_told_the_nearest():
    with pytest.raises(LoadError) as refused:
        declaration("langchian")
    assert "did you mean 'langchain'?" in str(refused.value)
    with pytest.raises(LoadError) as refused:
        described("langchian")
    assert "did you mean 'langchain'?" in str(refused.value)
