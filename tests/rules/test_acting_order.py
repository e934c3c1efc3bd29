"""ACT-14 on recordings told by hand: the order of a reply's calls, and which of them overlap."""

import pytest
from story import Story

from conformance.reading.joined import view
from conformance.rule import OK, Finding
from conformance.rules.acting_order import ACT_14

ANY = {"type": "object"}
TOOLS = {
    "look": {"description": "Looks.", "parameters": ANY, "returns": 42},
    "book": {"description": "Books.", "parameters": ANY, "returns": 1, "counts": True},
    "send": {"description": "Sends.", "parameters": ANY, "returns": 2, "counts": True},
}
CALLS = [("look", {}, "c1"), ("book", {}, "c2"), ("send", {}, "c3")]


def told(marks, how, calls=CALLS):
    """Starts and ends in this order: `+look` begins an execution of that tool, `-look` ends it."""
    s = Story(tools=TOOLS, dialect={"parallel_tools": how})
    s.ask()
    s.reply(calls=calls)
    ids = {}
    for mark in marks.split():
        sign, name = mark[0], mark[1:]
        if sign == "+":
            s.execs += 1
            ids[name] = f"x{s.execs}"
            call_id = next(c for n, _, c in calls if n == name)
            s.record("tool", "start", run=s.run, exec=ids[name], tool=name, call_id=call_id, arguments={})
        else:
            s.record("tool", "result", exec=ids[name], result=1)
    return s


def judged(story):
    read = view(story.recording())
    return ACT_14.applies(read) or list(ACT_14.check(read))


IN_ORDER = "+look -look +book -book +send -send"
OVERLAP = "+look +book +send -send -book -look"
BACKWARDS = "+send -send +book -book +look -look"
LOOK_BESIDE = "+book +look -look -book +send -send"
HUNG = "+look +book -book +send -send"


@pytest.mark.parametrize(
    ("marks", "how", "judgements"),
    [
        (IN_ORDER, "sequential", [OK, OK]),
        (IN_ORDER, "read_only", [OK]),
        (LOOK_BESIDE, "read_only", [OK]),
        (HUNG, "sequential", [OK]),
        ("+look -look", "sequential", []),
        (IN_ORDER, "concurrent", "dialect"),
        (BACKWARDS, "concurrent", "dialect"),
        (OVERLAP, "concurrent", "dialect"),
    ],
)
def test_an_order_that_was_declared_is_right_and_one_that_was_not_is_nobodys(marks, how, judgements):
    assert judged(told(marks, how)) == judgements


@pytest.mark.parametrize(
    ("marks", "how", "says"),
    [
        (
            OVERLAP,
            "sequential",
            "x2 (call 'c2' (book) of m1) began while x1 (call 'c1' (look) of m1) was still running",
        ),
        (OVERLAP, "read_only", "x3 (call 'c3' (send) of m1) began while x2 (call 'c2' (book) of m1) was still running"),
        (
            BACKWARDS,
            "sequential",
            "x2 (call 'c2' (book) of m1) began before x3 (call 'c1' (look) of m1), which the model called",
        ),
        (BACKWARDS, "read_only", "x1 (call 'c3' (send) of m1) began before x2 (call 'c2' (book) of m1)"),
    ],
)
def test_an_order_that_was_declared_and_not_kept_is_found(marks, how, says):
    found = [one for one in judged(told(marks, how)) if isinstance(one, Finding)]
    assert says in found[0].message


def test_calls_of_two_replies_have_no_order_to_keep_here():
    s = told("+look -look", "sequential", calls=CALLS[:1])
    s.ask()
    s.reply(calls=[("book", {}, "c2")])
    s.execute("book", {}, "c2", 1)
    assert judged(s) == []
