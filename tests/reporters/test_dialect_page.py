"""docs/dialect.md says what can be declared, all of it and as it is."""

from pathlib import Path

import pytest

from conformance.dialect import CAPABILITIES, CHANNELS, KEYS, dialect
from conformance.overrides import EXAMPLES, examples, form, typed
from conformance.reporters.declarations import limits, page

DOCS = Path(__file__).parents[2] / "docs"


def plain(value):
    return list(value) if isinstance(value, tuple) else value


def test_the_page_is_current():
    written = (DOCS / "dialect.md").read_text("utf-8")
    assert written == page(), "write it anew: conformance agents --declarations > docs/dialect.md"


@pytest.mark.parametrize("name", [*(key.name for key in KEYS), *CAPABILITIES, *CHANNELS])
def test_every_key_capability_and_channel_has_its_row(name):
    assert f"\n| `{name}` | " in page()


def test_every_limit_has_its_row():
    assert set(limits()) == {
        "max_iters",
        "max_tool_calls",
        "max_same_call",
        "token_budget",
        "tool_timeout_s",
        "retries",
    }
    assert all(f"\n| `{name}` | " in page() for name in limits())


def test_the_recommended_value_comes_first_and_is_the_default():
    assert "| `length_stop` | `error`, `continue`, `flag` | a reply cut by the length limit | `error` |" in page()


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.name)
def test_every_value_can_be_typed(key):
    for value in examples(key):
        assert typed(form({key.name: value})) == {key.name: plain(value)}


def test_every_key_whose_values_no_list_holds_has_an_example_that_is_allowed():
    odd = [key.name for key in KEYS if key.other(EXAMPLES.get(key.name))]
    assert odd == [key.name for key in KEYS if key.name in EXAMPLES]
    assert dialect(EXAMPLES)
    assert all(EXAMPLES[key.name] not in key.values for key in KEYS if key.name in EXAMPLES)
