"""A text carries a value however it spells it, and no value is carried by chance of a digit."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.reading.containment import carries, scalars

CARRIED = {
    "a text as it is": ("The vessel is MSC AURORA.", "MSC AURORA"),
    "a text as JSON": ('{"name": "MSC AURORA"}', "MSC AURORA"),
    "a line break escaped once": (r'{"text": "two\nlines"}', "two\nlines"),
    "a line break escaped twice": (json.dumps({"out": json.dumps({"text": "two\nlines"})}), "two\nlines"),
    "quotes escaped": (r'{"text": "say \"hi\""}', 'say "hi"'),
    "characters escaped": (r'"\u73b0\u5728\u51e0\u70b9"', "现在几点"),
    "two halves of one character escaped": (r'"\ud83d\ude00"', "😀"),
    "slashes escaped": (r'"https:\/\/example.com\/a"', "https://example.com/a"),
    "markup escaped": (r'"\u003cb\u003e"', "<b>"),
    "a backslash as it is": (r"C:\new\table", r"C:\new\table"),
    "a backslash as JSON": (r'"C:\\new"', r"C:\new"),
    "a Python literal": (repr({"text": 'it\'s "so"\n'}), 'it\'s "so"\n'),
    "white space around it dropped": ("done", "done\n"),
    "an empty string, which says nothing": ("", ""),
    "an integer": ("42", 42),
    "an integer as a float": ("42.0", 42),
    "trailing zeros": ("1.50", 1.5),
    "an exponent": ("1e3", 1000),
    "a capital exponent with a sign": ("2.5E-3", 0.0025),
    "a negative number": ('{"t": -7}', -7),
    "a number with its unit": ("it is 42kg", 42),
    "a number beside an equals sign": ("t=-7", -7),
    "a number in a date": ("2026-01", 1),
    "thousands grouped": ("1,234,567.5 EUR", 1234567.5),
    "numbers of a compact list": ("[1,200,3]", [1, 200, 3]),
    "a bare decimal point": (".5", 0.5),
    "more digits than needed": ("0.10000000000000001", 0.1),
    "a large integer": ("12345678901234567891", 12345678901234567891),
    "true as JSON": ('{"ok":true}', True),
    "true in Python": ("{'ok': True}", True),
    "true shouted": ("TRUE", True),
    "true as a word": ("in stock: yes", True),
    "false in Python": ("False", False),
    "false as a word": ("in stock: No", False),
    "true as a word of a list": ("ready, Yes, 3", True),
    "true as a word of its own": ("on", True),
    "true as a point of a list": ("Open now:\n- yes\n", True),
    "true as a quoted word": ('{"open": "yes"}', True),
    "true in a table": ("| open | yes |", True),
    "true somewhere in a sentence": ("it is TRUE that it holds", True),
    "true after an escaped line break": (r"ok:\ntrue", True),
    "null in Python": ("None", None),
    "null elsewhere": ("undefined", None),
    "null as a blank text": (" ", None),
    "all of an object, keys aside": (
        "MSC AURORA, 3 items, loaded: yes",
        {"ship": "MSC AURORA", "n": [3], "loaded": True},
    ),
    "nothing of an empty list": ("", []),
}

NOT_CARRIED = {
    "another text": ("MSC BELLA", "MSC AURORA", ("MSC AURORA",)),
    "half a text": ("MSC AUR", "MSC AURORA", ("MSC AURORA",)),
    "a digit inside a longer number": ("142", 42, (42,)),
    "a number cut": ("1", 1.5, (1.5,)),
    "the sign lost": ('{"t": 7}', -7, (-7,)),
    "a sign added": ('{"t": -7}', 7, (7,)),
    "a neighbouring large integer": ("12345678901234567890", 12345678901234567891, (12345678901234567891,)),
    "true said as false": ("false", True, (True,)),
    "true inside a word": ("construe", True, (True,)),
    "a number in a name": ("A-7 and B7", 7, (7,)),
    "a grouped number in a name": ("X1,200", 1200, (1200,)),
    "no before a word": ("no rain today", False, (False,)),
    "no before a word, behind a colon": ("weather: no rain", False, (False,)),
    "on in a sentence": ("The ship is on its way.", True, (True,)),
    "off in a sentence": ("it took off at nine", False, (False,)),
    "zero is not false": ("0", False, (False,)),
    "null in an object that was dropped": ("{}", {"a": None}, (None,)),
    "one of two": ("C-001", ["C-001", "C-002"], ("C-002",)),
    "one deep inside": ("a 1", {"x": ["a", {"y": 2}], "z": 1}, (2,)),
    "everything": ("", {"a": "x", "b": 1}, ("x", 1)),
}


@pytest.mark.parametrize(("text", "value"), CARRIED.values(), ids=CARRIED)
def test_a_text_carries_a_value_however_it_spells_it(text, value):
    assert carries(text, value) == ()


@pytest.mark.parametrize(("text", "value", "missing"), NOT_CARRIED.values(), ids=NOT_CARRIED)
def test_what_is_not_in_the_text_is_named(text, value, missing):
    assert carries(text, value) == missing


@pytest.mark.parametrize(("text", "value"), [("nan", float("nan")), ("Infinity", float("inf"))])
def test_numbers_without_a_value_are_carried_by_their_name(text, value):
    assert carries(text, value) == ()
    assert len(carries("1", value)) == 1


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


@given(JSON, st.booleans(), st.integers(0, 2))
def test_the_json_of_a_value_carries_it_behind_every_wrapper(value, ascii_only, wrappers):
    text = json.dumps(value, ensure_ascii=ascii_only)
    for _ in range(wrappers):
        text = json.dumps({"result": text}, ensure_ascii=ascii_only)
    assert carries(text, value) == ()


def test_scalars_stand_in_order_and_keys_are_none():
    assert list(scalars({"a": [1, {"b": "x"}], "c": None})) == [1, "x", None]
