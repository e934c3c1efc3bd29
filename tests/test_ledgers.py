"""Ledgers, counted by hand over tiny recordings."""

import pytest
from story import LOOK, Story

from conformance.ledgers import Ledger, ledger, total
from conformance.reading.joined import view


def counted(story):
    return ledger(view(story.recording()))


def looked(*, content=..., value=42, asked=True, dialect=None, error=None):
    s = Story(dialect=dialect)
    s.ask()
    s.reply(calls=[("look", {}, "c1")])
    s.execute("look", {}, "c1", value, error=error, **({} if content is ... else {"content": content}))
    if asked:
        s.ask()
        s.reply(text="42")
    return s


def test_a_request_sent_again_is_the_librarys_where_its_header_counts_and_the_loops_where_not():
    s = Story()
    s.ask()
    s.fail(503)
    s.ask(again=True, retry_header=1)
    s.fail(503)
    s.ask(again=True)
    s.reply(text="42")
    assert counted(s) == Ledger(attempts_sdk=1, attempts_loop=1)


@pytest.mark.parametrize(
    ("story", "reached", "of"),
    [
        ({}, 1, 1),
        ({"content": "nothing of it"}, 0, 1),
        ({"asked": False}, 0, 0),
        ({"error": ("ValueError", "no"), "content": "it failed"}, 1, 1),
        ({"dialect": {"tool_history": "text"}}, 1, 1),
    ],
)
def test_a_result_reached_the_model_where_the_next_request_has_it(story, reached, of):
    found = counted(looked(**story))
    assert (found.reached, found.results) == (reached, of)


def test_a_result_whose_call_is_gone_did_not_reach_the_model():
    s = looked(asked=False)
    s.ask(messages=[{"role": "user", "content": "What is it?"}])
    found = counted(s)
    assert (found.reached, found.results) == (0, 1)


@pytest.mark.parametrize(("ran", "once", "of"), [(0, 0, 0), (1, 1, 1), (2, 0, 1)])
def test_a_side_effect_counts_once_for_its_call(ran, once, of):
    s = Story(tools={"look": {**LOOK, "counts": True}})
    s.ask()
    s.reply(calls=[("look", {}, "c1")])
    for _ in range(ran):
        s.execute("look", {}, "c1", 42)
    found = counted(s)
    assert (found.once, found.effects) == (once, of)


def test_a_side_effect_that_nobody_asked_for_is_one_too_many():
    s = Story(tools={"look": {**LOOK, "counts": True}})
    s.ask()
    s.reply(text="42")
    s.execute("look", {}, "c1", 42)
    assert (counted(s).once, counted(s).effects) == (0, 1)


def test_tools_that_do_not_count_have_no_side_effects():
    assert counted(looked()).effects == 0


def test_ledgers_add_up_and_none_is_none():
    assert total([Ledger(1, 2, 3, 4, 5, 6), Ledger(1, 1, 1, 1, 1, 1)]) == Ledger(2, 3, 4, 5, 6, 7)
    assert total([]) == Ledger()
    assert Ledger(1, 2, 4, 3, 6, 5).data() == {
        "attempts": {"sdk": 1, "loop": 2},
        "results": {"reached": 3, "of": 4},
        "side_effects": {"once": 5, "of": 6},
    }
