"""REC-10 on recordings told by hand: how long an agent goes on with a model that brings nothing."""

import pytest
from story import Story

from conformance.reading.joined import view
from conformance.rule import OK, Finding
from conformance.rules.recovery_bound import REC_10, ROOM

CONTINUE = {"length_stop": "continue"}


def told(troubles, *, max_iters=50, dialect=CONTINUE, how="returned", work_at=None):
    """Replies that bring nothing, one letter each: `c`ut, `e`mpty, `o`verflow, `f`ailure, and `w`ork, which is a call."""
    s = Story(max_iters=max_iters, dialect=dialect)
    for place, letter in enumerate(troubles, start=1):
        # Another request each time, so that none is an attempt.
        s.ask(messages=[{"role": "user", "content": f"What is it? {place}"}])
        match letter:
            case "c":
                s.reply("half", stop="length", keep=False)
            case "e":
                s.reply(" ", keep=False)
            case "o":
                s.fail(
                    400, code="context_length_exceeded", message="This model's maximum context length is 8192 tokens."
                )
            case "f":
                s.fail(503)
            case "w":
                s.reply(calls=[("look", {}, f"c{place}")])
                s.execute("look", {}, f"c{place}", 42)
    s.end(how)
    return s


def judged(story):
    read = view(story.recording())
    return REC_10.applies(read) or list(REC_10.check(read))


@pytest.mark.parametrize("troubles", ["cc", "c" * (ROOM - 1), "ee", "ece", "oe", "fc", "wcc", "cccwcc"])
def test_an_agent_that_gives_up_by_itself_is_right(troubles):
    assert judged(told(troubles)) == [OK]


@pytest.mark.parametrize(
    ("troubles", "what"),
    [
        ("c" * ROOM, "a cut by length"),
        ("c" * 50, "a cut by length"),
        ("ec" * (ROOM // 2), "an empty reply or a cut by length"),
        ("w" + "c" * ROOM, "a cut by length"),
        ("c" * ROOM + "w", "a cut by length"),
    ],
)
def test_an_agent_that_goes_on_as_long_as_it_has_rounds_is_found_once(troubles, what):
    [found] = [one for one in judged(told(troubles)) if isinstance(one, Finding)]
    assert f"asked {ROOM} times in a row, from m" in found.message
    assert f"got nothing but {what};" in found.message


NOTHING_TO_JUDGE = {
    "one trouble that ended the run": ("c", {}),
    "troubles with work between them": ("cwcwcwc" * 9, {"how": "cap"}),
    "a budget that may have ended it": ("wcc", {"max_iters": 3}),
    "a run that was ended": ("cc", {"how": "cap"}),
    "silences that spend rounds as declared": ("e" * 40, {"dialect": {"empty_response": "continue"}}),
}


@pytest.mark.parametrize(("troubles", "told_with"), NOTHING_TO_JUDGE.values(), ids=NOTHING_TO_JUDGE)
def test_what_shows_no_bound_is_nothing_to_judge(troubles, told_with):
    assert judged(told(troubles, **told_with)) == []


def test_a_budget_of_one_more_request_was_not_what_ended_it():
    assert judged(told("wcc", max_iters=4)) == [OK]


def test_who_declares_never_to_recover_is_bound_only_if_it_does():
    never = {"empty_response": "error", "prompt_too_long": "error", "length_stop": "error"}
    assert judged(told("c", dialect=never)) == "dialect"
    assert judged(told("cc", dialect=never)) == [OK]
