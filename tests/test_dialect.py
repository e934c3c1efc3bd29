import pytest

from conformance.dialect import BY_NAME, KEYS, Dialect, DialectError, dialect


def test_an_undeclared_key_means_the_recommended_value():
    assert dialect({}) == Dialect()
    assert all(getattr(dialect({}), key.name) == key.default for key in KEYS)


@pytest.mark.parametrize(
    ("word", "text", "terminal"),
    [
        ("summarize", "model", "finished"),
        ("stop", "none", "flagged"),
        ("error", "none", "error"),
        ("raise", "none", "raise"),
    ],
)
def test_on_limit_is_shorthand_for_its_two_parts_in_both_directions(word, text, terminal):
    declared = dialect({"on_limit": word})
    assert (declared.limit_text, declared.limit_terminal) == (text, terminal)
    assert dialect({"limit_text": text, "limit_terminal": terminal}).on_limit == word


def test_an_explicit_part_overrides_the_shorthand_which_then_is_other():
    declared = dialect({"on_limit": "error", "limit_text": "canned"})
    assert (declared.on_limit, declared.limit_text, declared.limit_terminal) == ("other", "canned", "error")


def test_a_normalised_dialect_reads_back_as_itself():
    for key in KEYS:
        for value in key.values:
            once = dialect({key.name: value})
            assert dialect(once.data()) == once


@pytest.mark.parametrize(
    ("declared", "says"),
    [
        ({"limit_txt": "model"}, "unknown key 'limit_txt'; did you mean 'limit_text'?"),
        ({"on_limit": "explode"}, "on_limit is 'explode', expected summarize, stop, error, raise"),
        ({"default_max_iters": True}, "default_max_iters is True, expected 10, unlimited"),
        ({"default_max_iters": -1}, "default_max_iters is -1"),
        ({"empty_response": {"retry_then_error": -1}}, "empty_response is"),
        ({"empty_response": {"retry": 1}}, "empty_response is"),
        ({"empty_is": ["nothing"]}, "empty_is is ['nothing'], expected list of what counts as an empty reply"),
        ({"answer_by": "tool:final"}, "answer_by is 'tool:final', expected text (text, or tool:NAME.ARG"),
        ({"side_calls": {"title": []}}, "side_calls is"),
        ({"exceptions": {"Boom": 3}}, "exceptions is"),
        ({"marker_name": ""}, "marker_name is ''"),
    ],
)
def test_a_declaration_that_cannot_be_read_says_what_is_allowed(declared, says):
    with pytest.raises(DialectError) as refused:
        dialect(declared)
    assert says in str(refused.value)


@pytest.mark.parametrize(
    "declared",
    [
        {"default_max_iters": 1},
        {"default_max_iters": "unlimited"},
        {"empty_response": {"retry_then_error": 3}},
        {"empty_is": []},
        {"answer_by": "tool:final_answer.text"},
        {"side_calls": {"auxiliary": [{"text": "title"}], "compaction": []}},
        {"exceptions": {"UsageLimitExceeded": "limit"}},
        {"marker_name": "recursion_limit"},
    ],
)
def test_what_no_list_can_hold_is_allowed_by_its_shape(declared):
    assert dialect(declared)


def test_changing_one_part_changes_the_shorthand():
    assert dialect({}).with_value("limit_terminal", "error").on_limit == "other"
    assert dialect({"on_limit": "stop"}).with_value("limit_terminal", "error").on_limit == "error"
    assert dialect({}).with_value("on_limit", "raise").limit_terminal == "raise"


def test_counts_are_read_from_the_value_that_holds_them():
    assert dialect({}).empty_retries == 1
    assert dialect({"empty_response": "finish"}).empty_retries == 0
    assert dialect({"prompt_too_long": {"compact_then_error": 3}}).compactions == 3


def test_every_key_says_what_it_means():
    assert all(key.help for key in KEYS)
    assert len(BY_NAME) == len(KEYS)


def test_no_second_try_and_then_an_error_is_the_error():
    assert dialect({"empty_response": {"retry_then_error": 0}}).empty_response == "error"
    assert dialect({"prompt_too_long": {"compact_then_error": 0}}).prompt_too_long == "error"
