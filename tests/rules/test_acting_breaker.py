"""ACT-10 on recordings told by hand: when a tool that fails is let run, and when it is not."""

import pytest
from story import Story

from conformance.reading.joined import view
from conformance.rule import OK, Finding
from conformance.rules.acting_breaker import ACT_10

BREAKER = {"kind": "consecutive", "threshold": 3, "window_s": 60, "recovery_s": 30}
OPEN = "Error: Refused: look is not run for now"


def story(*calls, breaker=BREAKER, between_s=0.0):
    """Calls one after the other: `f` fails, `s` succeeds, `r` is refused, `q` is kept from running and not told; a number waits."""
    s = Story(capabilities={"circuit_breaker": breaker}, max_iters=20)
    for at, came in enumerate(calls):
        if not isinstance(came, str):
            s.wait(came)
            continue
        s.ask()
        s.reply(calls=[("look", {}, f"c{at}")])
        s.wait(between_s)
        if came == "f":
            s.execute("look", {}, f"c{at}", error=("Down", "no line"))
        elif came == "s":
            s.execute("look", {}, f"c{at}", 42)
        else:
            s.answer(f"c{at}", OPEN if came == "r" else "ok")
    s.ask()
    s.reply("42")
    s.outcome("answered", text="42")
    return s


def judged(s):
    read = view(s.recording())
    return ACT_10.applies(read) or list(ACT_10.check(read))


#: Each with the number of things that were found right: the first call of a tool shows nothing.
RIGHT = {
    "refused after three": (("f", "f", "f", "r"), 3),
    "refused again": (("f", "f", "f", "r", "r"), 4),
    "successes begin the count anew": (("f", "f", "s", "f", "f", "s"), 4),
    "tried after the pause": (("f", "f", "f", "r", 31, "s"), 4),
    "what comes of a failed trial is open": (("f", "f", "f", 31, "f", "r"), 3),
}


@pytest.mark.parametrize(("calls", "times"), RIGHT.values(), ids=RIGHT)
def test_a_breaker_that_does_as_declared_is_right(calls, times):
    assert judged(story(*calls)) == [OK] * times


WRONG = {
    "it never opens": (("f", "f", "f", "f"), "had failed 3 times in a row; expected the breaker to be open"),
    "it opens too early": (
        ("f", "r"),
        "never ran after 1 failures of look in a row; the breaker is declared to open at 3",
    ),
    "successes do not count": (("f", "f", "s", "f", "r"), "never ran after 1 failures"),
    "it never closes": (("f", "f", "f", 31, "r"), "31 s after the last failure of look"),
    "it says nothing": (("f", "f", "f", "q"), 'carries "ok" for'),
}


@pytest.mark.parametrize(("calls", "says"), WRONG.values(), ids=WRONG)
def test_a_breaker_that_does_otherwise_is_found(calls, says):
    [finding] = [one for one in judged(story(*calls)) if isinstance(one, Finding)]
    assert says in finding.message


def test_failures_further_apart_than_the_window_open_nothing_for_sure():
    assert judged(story("f", "f", "f", "f", between_s=31)) == [OK] * 2
    assert isinstance(judged(story("f", "f", "f", "f", between_s=29))[-1], Finding)


@pytest.mark.parametrize("breaker", [True, {**BREAKER, "kind": "rate"}, {**BREAKER, "threshold": "some"}])
def test_a_breaker_of_another_kind_is_not_judged(breaker):
    assert judged(story("f", "f", "f", "f", breaker=breaker)) == []


def test_who_declares_no_breaker_is_not_bound():
    assert judged(story("f", "f", "f", "f", breaker=None)) == "capability"
