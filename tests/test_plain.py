import enum
from types import MappingProxyType

import pytest

from conformance.plain import plain, shown


class Word(str, enum.Enum):  # noqa: UP042 - the older kind, whose str() is not its value
    YES = "yes"


class Hostile:
    def __repr__(self):
        raise RuntimeError("no")


@pytest.mark.parametrize(
    ("value", "copy"),
    [
        ({"a": [1, 2.5, True, None, "x"]}, {"a": [1, 2.5, True, None, "x"]}),
        ((1, 2), [1, 2]),
        (MappingProxyType({"a": 1}), {"a": 1}),
        (Word.YES, "yes"),
        ("\udc80", "\udc80"),
    ],
)
def test_a_json_value_becomes_plain_data(value, copy):
    made = plain(value, 100)
    assert made == copy
    assert type(made) is type(copy)


def test_the_copy_does_not_follow_its_original():
    original = {"a": [1]}
    copy = plain(original, 100)
    original["a"].append(2)
    assert copy == {"a": [1]}


def round_trip():
    loop = []
    loop.append(loop)
    return loop


def nested(levels):
    value = []
    for _ in range(levels - 1):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value", [object(), {1: 2}, {"a": {1, 2}}, b"x", round_trip(), nested(201), "x" * 1001, ["x"] * 1001, Hostile()]
)
def test_what_is_no_json_or_too_much_of_it_is_refused(value):
    with pytest.raises(ValueError, match=r"no JSON|no text|too (long|deeply)"):
        plain(value, 1000)


def test_as_deep_as_a_body_may_be_nested_is_not_too_deep():
    assert plain(nested(200), 1000) == nested(200)


def test_anything_can_be_shown():
    assert shown({"a": 1}) == "{'a': 1}"
    assert shown("x" * 1000, 5) == "'xxxx"
    assert shown(Hostile()) == "(a Hostile that cannot be shown)"
