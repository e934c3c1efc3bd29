"""REC-9 on recordings told by hand: how many requests come of one that failed."""

import pytest
from story import Story

from conformance.reading.joined import view
from conformance.rule import OK, Finding
from conformance.rules.recovery_retries import REC_9


def story(*statuses, retries=None, declared=1, reworded=False):
    """The request of a round, once for each status; a 200 is the answer."""
    s = Story(
        scenario={"limits": {} if retries is None else {"retries": retries}},
        capabilities={"retries": {"http": declared}} if declared is not None else {},
    )
    for at, status in enumerate(statuses):
        if at and reworded:
            s.ask(extra={"user": f"try {at}"})
        else:
            s.ask(again=at > 0)
        if status == 200:
            s.reply("42")
        else:
            s.fail(status)
    s.outcome("answered" if statuses[-1:] == (200,) else "model_error")
    return s


def judged(s):
    read = view(s.recording())
    return REC_9.applies(read) or list(REC_9.check(read))


RIGHT = {
    "no retry and a failure": ((503,), {"retries": 0}),
    "no retry and an answer": ((200,), {"retries": 0}),
    "two retries used up": ((503, 503, 503), {"retries": 2}),
    "two retries, one needed": ((503, 200), {"retries": 2}),
    "a wrong request": ((400,), {"retries": 2}),
    "the declared one": ((503, 503), {}),
}


@pytest.mark.parametrize(("statuses", "given"), RIGHT.values(), ids=RIGHT)
def test_no_more_requests_than_allowed_are_right(statuses, given):
    assert judged(story(*statuses, **given)) == [OK]


WRONG = {
    "no retry and one all the same": (
        (503, 200),
        {"retries": 0},
        "m1 failed with status 503 and was followed by 1 further",
    ),
    "layers that multiply": ((503,) * 9, {"retries": 2}, "followed by 8 further requests"),
    "one in other words": ((503, 503), {"retries": 0, "reworded": True}, "followed by 1 further requests, m2"),
    "a wrong request": ((400, 400), {"retries": 0}, "m1 failed with status 400"),
    "more than declared": ((503, 503, 200), {}, "retries is 1, expected at most that many"),
}


@pytest.mark.parametrize(("statuses", "given", "says"), WRONG.values(), ids=WRONG)
def test_more_requests_than_allowed_are_found(statuses, given, says):
    [finding] = [one for one in judged(story(*statuses, **given)) if isinstance(one, Finding)]
    assert says in finding.message


def test_a_run_that_never_asks_is_found():
    [finding] = judged(story(retries=0))
    assert "r1 sent no request at all; retries is 0" in finding.message


def test_an_answer_shows_nothing_of_retries_that_were_allowed():
    assert judged(story(200, retries=2)) == []


def test_who_declares_no_retries_is_not_bound():
    assert judged(story(503, 503, retries=0, declared=None)) == "capability"
