"""SUB on recordings told by hand: a child's model calls are side calls, its budget is its own."""

from story import LOOK, Story

from conformance.reading.joined import view
from conformance.rule import OK, Finding
from conformance.rules.subagents import RULES

[SUB_1] = RULES
CHILD = {"scout": {"description": "Scouts.", "max_iters": 2, "tools": ["look"]}}
CALL = ("scout", {"task": "Look around."}, "p1")


def told(rounds, *, closing=False, beside=(), max_iters=2, kind="answered", capable=True):
    """A parent whose child makes so many calls of its tool, and answers unless it is `closing` (True: a summary, None: cut)."""
    s = Story(
        max_iters=max_iters,
        tools={"look": LOOK},
        capabilities={"subagents": capable},
        scenario={"knobs": {"subagents": CHILD}},
    )
    s.ask()
    s.reply(calls=[CALL, *beside])
    task = [{"role": "user", "content": "Look around."}]
    for number in range(rounds):
        s.ask(messages=task, side="auxiliary")
        s.reply(calls=[("look", {}, f"k{number}")], keep=False)
        s.execute("look", {}, f"k{number}", 42, keep=False)
    if closing is not None:
        s.ask(messages=task, side="auxiliary", tools=None if closing else ["look"])
        s.reply(text="All quiet.", keep=False)
    s.answer("p1", "All quiet.")
    return s


def answered(s, kind="answered"):
    s.ask()
    s.reply(text="It is quiet.")
    s.outcome(kind)
    return s


def judged(story):
    return list(SUB_1.check(view(story.recording())))


def said(story):
    return " ".join(one.message for one in judged(story) if isinstance(one, Finding))


def test_a_child_may_use_its_rounds_and_one_call_to_close():
    assert judged(answered(told(2, closing=True))) == [OK, OK]
    assert judged(answered(told(1))) == [OK, OK]
    assert judged(answered(told(2, closing=None))) == [OK, OK]


def test_a_child_that_goes_on_beyond_its_limit_is_a_breach():
    assert "3 of them with tools; its own limit is 2" in said(answered(told(2)))


def test_a_child_that_is_cut_with_rounds_left_is_a_breach():
    assert "was stopped after 1 model calls" in said(answered(told(1, closing=True)))


def test_a_parent_that_ends_early_at_its_limit_counted_its_childs_rounds():
    s = told(2, closing=True, max_iters=3)
    s.outcome("limit")
    assert "a child's are none of them" in said(s)


def test_a_call_beside_a_child_is_answered():
    beside = [("look", {}, "c9")]
    s = told(1, beside=beside)
    s.answer("c9", "42")
    assert judged(answered(s)) == [OK, OK, OK, OK]
    assert "look was called in m1 beside the child scout" in said(answered(told(1, beside=beside)))


def test_children_that_cannot_be_told_from_their_parent_are_not_judged():
    s = told(0, closing=None)
    assert judged(answered(s)) == []


def test_an_agent_without_children_is_not_bound():
    assert SUB_1.applies(view(told(1, capable=False).recording())) == "capability"
