"""ACT-12 on recordings told by hand: what becomes of a result that no window holds."""

import pytest
from story import Story

from conformance.reading.joined import view
from conformance.rule import OK, Finding
from conformance.rules.acting_large import ACT_12

#: A window of 100 tokens is 400 bytes.
WINDOW = {"model": {"context_window": 100}}
LARGE = "x" * 401


def told(content, *, value=LARGE, scenario=WINDOW, **story):
    s = Story(scenario=scenario, **story)
    s.ask()
    s.reply(calls=[("look", {}, "c1")])
    s.execute("look", {}, "c1", value, content=content)
    s.ask()
    return s


def judged(story):
    return list(ACT_12.check(view(story.recording())))


@pytest.mark.parametrize(
    "note", ["[truncated]", "… 301 more bytes", "(the first 100 characters)", "[cut: 401 characters]"]
)
def test_a_result_that_is_bounded_and_says_so_is_right(note):
    assert judged(told("x" * 100 + note)) == [OK]


def test_a_result_that_is_sent_whole_is_found():
    [found] = judged(told(LARGE))
    assert isinstance(found, Finding)
    assert (
        "m2 carries 401 bytes for the result of call 'c1' (look) of m1, and the model's window holds 400"
        in found.message
    )


def test_a_result_that_is_cut_without_a_word_is_found():
    [found] = judged(told("x" * 100))
    assert "m2 carries 100 of the 401 bytes that call 'c1' (look) of m1 returned and does not say so" in found.message


@pytest.mark.parametrize(("size", "count"), [(400, 0), (401, 1)])
def test_a_result_is_large_from_one_byte_above_the_window(size, count):
    assert len(judged(told("x" * 100, value="x" * size))) == count


def test_bytes_are_counted_and_not_characters():
    assert len(judged(told("重" * 134, value="重" * 134))) == 1


def test_without_a_window_nothing_is_too_large():
    assert judged(told(LARGE, scenario={})) == []


def test_a_result_in_a_history_of_text_is_bounded_too():
    s = told(LARGE, dialect={"tool_history": "text"})
    s.body["messages"][:] = [{"role": "user", "content": f"What is it?\nlook: {LARGE}"}]
    assert len(judged(s)) == 1


def test_a_result_that_went_into_a_compaction_is_nothing_to_judge():
    s = Story(scenario=WINDOW)
    s.ask()
    s.reply(calls=[("look", {}, "c1")])
    s.execute("look", {}, "c1", LARGE)
    s.ask(messages=[{"role": "user", "content": "Sum up."}], side="compaction")
    s.reply("It is long.", keep=False)
    s.ask()
    assert judged(s) == []


def test_a_result_after_which_nothing_is_asked_is_nothing_to_judge():
    s = Story(scenario=WINDOW)
    s.ask()
    s.reply(calls=[("look", {}, "c1")])
    s.execute("look", {}, "c1", LARGE)
    assert judged(s) == []
