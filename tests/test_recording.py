import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from story import Story

from conformance.errors import RecordingError
from conformance.recording import dumps, from_bytes, loads, to_bytes


def told():
    s = Story(max_iters=1)
    s.event("RUN_STARTED")
    s.ask()
    s.reply(text="zwei\u2028Zeilen \udc80 你好")
    s.event("RUN_FINISHED")
    s.outcome("answered", text="42")
    return s.recording()


def test_a_saved_recording_reads_back_as_it_was():
    assert from_bytes(to_bytes(told())) == told()


def test_the_first_line_is_the_header_and_the_last_counts_the_records():
    lines = dumps(told()).splitlines()
    assert json.loads(lines[0])["format"] == 1
    assert json.loads(lines[-1]) == {"records": len(told().records)}


def test_the_header_carries_the_scenario_whole():
    assert loads(dumps(told())).header.scenario == told().header.scenario


@given(st.integers(min_value=0))
def test_a_file_cut_at_any_byte_reads_up_to_its_last_whole_line_and_is_incomplete(at):
    data = to_bytes(told())
    at %= len(data)
    whole = data[:at].count(b"\n")
    if whole == 0:
        with pytest.raises(RecordingError, match="cut before its first newline"):
            from_bytes(data[:at])
        return
    read = from_bytes(data[:at])
    assert read.records == told().records[: whole - 1]
    assert not read.complete


def test_every_cut_is_read_or_refused_in_words():
    data = to_bytes(told())
    for at in range(len(data)):
        try:
            assert not from_bytes(data[:at]).complete
        except RecordingError:
            assert b"\n" not in data[:at]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda lines: ["[]", *lines[1:]], "r:1: '[]' is no JSON object"),
        (lambda lines: ["{}", *lines[1:]], "r:1: format is None, this kit reads 1"),
        (lambda lines: [lines[0], "oops", *lines[2:]], "r:2: 'oops' is no JSON object"),
        (lambda lines: [lines[0], *lines[2:]], "r:2: seq is 2, expected 1"),
        (
            lambda lines: [lines[0], '{"seq":1}', *lines[2:]],
            "r:2: at_s is None; a record has seq, at_s, source, type and data",
        ),
        (lambda lines: [*lines[:-1], '{"records":999}'], "the footer counts 999 records"),
        (lambda lines: [*lines, lines[-2]], "the footer counts"),
        (lambda lines: ["[" * 100_000, *lines[1:]], "is no JSON object"),
    ],
)
def test_a_file_that_is_no_recording_is_refused_with_line_and_reason(change, says):
    lines = change(dumps(told()).split("\n")[:-1])
    with pytest.raises(RecordingError) as refused:
        loads("\n".join(lines) + "\n", "r")
    assert says in str(refused.value)


def test_a_header_of_another_format_names_both_formats():
    text = dumps(told()).replace('"format":1', '"format":2', 1)
    with pytest.raises(RecordingError, match="format is 2, this kit reads 1"):
        loads(text)
