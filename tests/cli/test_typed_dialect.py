"""A dialect as it is typed behind `--dialect`: flow values, commas, and errors that show what works."""

import pytest

from conformance.dialect import DialectError
from conformance.overrides import form, typed


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("stop", {"on_limit": "stop"}),
        ("empty_response={retry_then_error: 2}", {"empty_response": {"retry_then_error": 2}}),
        ('empty_response={"retry_then_error": 2}', {"empty_response": {"retry_then_error": 2}}),
        ('empty_is=[no_parts, "null"]', {"empty_is": ["no_parts", "null"]}),
        ("empty_is=['null',blank],on_limit=stop", {"empty_is": ["null", "blank"], "on_limit": "stop"}),
        (" limit_text = none , limit_terminal = flagged ", {"limit_text": "none", "limit_terminal": "flagged"}),
        ("default_max_iters=25,marker_name=null", {"default_max_iters": 25, "marker_name": None}),
        ("answer_by=tool:final.text", {"answer_by": "tool:final.text"}),
        ('marker_name="a,b=c",on_limit=stop', {"marker_name": "a,b=c", "on_limit": "stop"}),
        ("marker_name=it's,on_limit=stop", {"marker_name": "it's", "on_limit": "stop"}),
        (
            "side_calls={auxiliary: [{text: 'a, b]'}], compaction: []}",
            {"side_calls": {"auxiliary": [{"text": "a, b]"}], "compaction": []}},
        ),
        (
            "exceptions={MaxTurns: limit,Down: model_error}",
            {"exceptions": {"MaxTurns": "limit", "Down": "model_error"}},
        ),
        ("mine.yaml", None),
    ],
)
def test_a_value_is_flow_yaml_json_or_the_text_itself(text, keys):
    assert typed(text) == keys


@pytest.mark.parametrize(
    "value",
    ["a,b", "null", "true", "12", "{", "[x", '"', "it's", " a ", "现在", "a=b", "\n", "\\", 'a"b', "-", "a: b", "#"],
)
def test_every_text_is_written_so_that_it_is_read_back(value):
    keys = {"marker_name": value, "exceptions": {value: value}, "on_limit": "stop"}
    assert typed(form(keys)) == keys


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("empty_is=no_parts,blank", ["'blank' is no key=value", 'empty_is=[no_parts, "null"]']),
        ("empty_is=[no_parts, null]", ["None", 'empty_is=[no_parts, "null"]']),
        ("empty_is=[{a: 1}]", ['empty_is=[no_parts, "null"]']),
        ("empty_response=retry", ["'retry'", "empty_response={retry_then_error: 2}"]),
        (
            "empty_response={retry_then_error: 2",
            ["{retry_then_error: 2'", "write for example empty_response={retry_then_error: 2}"],
        ),
        ("empty_response={retry_then_error: &a 2}", ["anchors are not read"]),
        ("on_limit=never", ["expected summarize, stop", "write for example on_limit=summarize"]),
        ("model_error=raise,model_eror=error", ["did you mean 'model_error'?"]),
    ],
)
def test_an_error_shows_a_form_that_works(text, words):
    with pytest.raises(DialectError) as caught:
        typed(text)
    for word in words:
        assert word in str(caught.value)
    shown = str(caught.value).rpartition("write for example ")[2]
    assert "write for example" not in str(caught.value) or typed(shown)
