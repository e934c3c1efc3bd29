import pytest

from fake_models.errors import ScriptError
from fake_models.messages import ToolSpec
from fake_models.tools import Hangs, Large, Raises, Returns, Tool, argument_error, outcome, spec

SCHEMA = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "days": {"type": "integer"},
        "tags": {"type": "array", "items": {"type": "object", "required": ["id"]}},
    },
    "required": ["city"],
}


def tool(parameters=None, *sequence):
    return Tool("weather", "Tells the weather", {"type": "object"} if parameters is None else parameters, sequence)


def test_a_sequence_has_one_outcome_per_execution_and_its_last_repeats():
    sequence = (Returns(1), Raises("ValueError", "no"), Hangs(), Large(10))

    assert [outcome(tool(None, *sequence), before) for before in range(6)] == [*sequence, Large(10), Large(10)]


@pytest.mark.parametrize(
    "arguments",
    [
        {"city": "Oslo"},
        {"city": "Oslo", "days": 3, "tags": []},
        {"city": "", "unheard_of": 1},
        {"city": "x", "days": 2.0},
    ],
)
def test_arguments_true_to_the_schema_are_taken_and_extra_ones_too_unless_it_refuses_them(arguments):
    assert argument_error(tool(SCHEMA), arguments) is None


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({}, ["weather", "city", "required"]),
        ({"city": 5}, ["'city'", "5", "string"]),
        ({"city": "x", "days": "3"}, ["'days'", "'3'", "integer"]),
        ({"city": "x", "days": True}, ["'days'", "True", "integer"]),
        ({"city": None, "days": "3"}, ["'city'", "'days'"]),
        ({"city": "x", "tags": [{"id": 1}, {}]}, ["'tags[1]'", "id", "required"]),
        ([], ["weather", "object"]),
        (None, ["object"]),
    ],
)
def test_wrong_arguments_are_told_with_the_field_and_what_is_wrong(arguments, named):
    message = argument_error(tool(SCHEMA), arguments)

    assert all(word in message for word in named)


def test_an_extra_argument_is_refused_where_the_schema_refuses_it():
    message = argument_error(tool({"type": "object", "additionalProperties": False}), {"x": 1})

    assert "'x' was unexpected" in message


def test_a_schema_that_refers_outside_itself_is_the_scripts_fault_and_nothing_is_fetched():
    with pytest.raises(ScriptError, match=r"weather.*https://schemas\.invalid/a"):
        argument_error(tool({"$ref": "https://schemas.invalid/a"}), {})


def test_references_within_a_schema_are_followed():
    parameters = {"properties": {"a": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"type": "number"}}}

    assert argument_error(tool(parameters), {"a": 1}) is None
    assert "'a'" in argument_error(tool(parameters), {"a": "1"})


def test_a_tool_is_offered_with_its_name_description_and_schema():
    assert spec(tool(SCHEMA)) == ToolSpec("weather", "Tells the weather", SCHEMA)
