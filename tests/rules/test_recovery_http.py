"""REC-4 and REC-5 on recordings told by hand: what is sent again, how often, and after what pause."""

import pytest
from story import Story

from conformance.reading.joined import view
from conformance.rule import OK, SHOULD, Finding
from conformance.rules.recovery import RULES

BY_ID = {rule.id: rule for rule in RULES}
QUOTA = "insufficient_quota"


def judged(rule, story):
    return list(BY_ID[rule].check(view(story.recording())))


def breaches(rule, story):
    return [f.message for f in judged(rule, story) if isinstance(f, Finding) and f.level is not SHOULD]


def failing(*statuses, code=None, end="model_error", answered=False, dialect=None, cap=None, **fail):
    """The same request once per status, all failing, and once more where it is then answered."""
    s = Story(dialect=dialect, scenario=None if cap is None else {"cap": cap})
    for number, status in enumerate(statuses):
        s.ask(again=number > 0)
        s.fail(status, code=code, **fail)
    if answered:
        s.ask(again=True)
        s.reply("42")
    if end:
        s.outcome("answered" if answered else end)
    return s


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422])
def test_a_request_that_is_wrong_and_is_not_sent_again_is_right(status):
    assert judged("REC-4", failing(status)) == [OK]


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422])
def test_a_request_that_is_wrong_and_is_sent_again_is_found_once(status):
    s = failing(status, status, status)
    [found] = judged("REC-4", s)
    assert (
        f"m2 sends the request of m1 again, and 1 more after it, which had failed with status {status}" in found.message
    )
    assert found.fits == ("http_retry", "all")
    assert found.seq == 5


def test_a_spent_quota_is_not_sent_again():
    assert judged("REC-4", failing(429, code=QUOTA)) == [OK]
    [found] = judged("REC-4", failing(429, 429, code=QUOTA))
    assert "status 429 (insufficient_quota)" in found.message
    assert "the client library's own retries too" in found.message
    assert found.fits is None


@pytest.mark.parametrize("status", [408, 409, 429, 500, 529])
def test_what_may_pass_is_none_of_rec_4(status):
    assert judged("REC-4", failing(status, status)) == []


def test_an_overflow_is_left_to_its_own_rule():
    assert judged("REC-4", failing(400, 400, code="context_length_exceeded")) == []


def refused_key(*keys):
    s = Story()
    for number, key in enumerate(keys):
        s.ask(again=number > 0)
        s.records[-1].data["secrets"].extend(key)
        s.fail(401)
    s.outcome("model_error")
    return s


def test_a_refused_key_may_be_exchanged_once():
    assert judged("REC-4", refused_key(["a"], ["b"])) == [OK]
    assert judged("REC-4", refused_key([], [])) == [OK]


@pytest.mark.parametrize("keys", [(["a"], ["a"]), (["a"], ["b"], ["c"])])
def test_a_refused_key_is_not_tried_again_nor_are_many(keys):
    [message] = breaches("REC-4", refused_key(*keys))
    assert "expected at most one more request, with other credentials" in message


@pytest.mark.parametrize(
    "changed", [{"model": "wide"}, {"stream": True}, {"messages": [{"role": "user", "content": "What is 42?"}]}]
)
def test_another_request_may_follow_one_that_is_wrong(changed):
    s = Story()
    s.ask()
    s.fail(400)
    s.ask(extra=changed)
    s.reply("42")
    s.outcome("answered")
    assert judged("REC-4", s) == [OK]


def test_what_the_provider_refuses_is_wrong_too_and_what_the_kit_refuses_is_not():
    for by, found in (("provider", 1), ("script", 0), ("cap", 0)):
        s = Story()
        for again in (False, True):
            s.ask(again=again)
            s.refused(by=by)
        s.outcome("model_error")
        assert len(breaches("REC-4", s)) == found


@pytest.mark.parametrize(("rule", "value"), [("REC-4", "all"), ("REC-5", "none")])
def test_a_declaration_may_lift_the_clause(rule, value):
    assert BY_ID[rule].applies(view(failing(500, dialect={"http_retry": value}).recording())) == "dialect"
    assert BY_ID[rule].applies(view(failing(500).recording())) is None


@pytest.mark.parametrize("status", [408, 409, 429, 500, 503, 529])
def test_what_may_pass_and_is_tried_again_is_right(status):
    assert judged("REC-5", failing(status, status)) == [OK]
    assert judged("REC-5", failing(status, answered=True)) == [OK]


@pytest.mark.parametrize("status", [408, 409, 429, 500, 503, 529])
def test_what_may_pass_and_ends_the_run_at_once_is_found(status):
    [message] = breaches("REC-5", failing(status))
    assert f"m1 failed with status {status}, which may pass, and r1 ended without another attempt" in message


@pytest.mark.parametrize(("status", "code"), [(400, None), (401, None), (404, None), (429, QUOTA)])
def test_what_fails_every_time_is_none_of_rec_5(status, code):
    assert judged("REC-5", failing(status, code=code)) == []


def test_who_is_asked_to_wait_may_give_up():
    assert judged("REC-5", failing(503, retry_after_s=60)) == []


def test_a_caller_who_forbids_further_requests_is_owed_none():
    s = Story(scenario={"limits": {"retries": 0}})
    s.ask()
    s.fail(500)
    s.outcome("model_error")
    assert judged("REC-5", s) == []


def test_another_try_in_other_words_is_owed_no_further_one():
    s = Story()
    for number in ("1", "2"):
        s.ask(extra={"metadata": {"request": number}})
        s.fail(503)
    s.outcome("model_error")
    assert judged("REC-5", s) == [OK]


def test_another_try_after_an_empty_reply_is_owed_its_own():
    s = Story()
    s.ask()
    s.reply(parts=[], keep=False)
    s.ask(extra={"metadata": {"request": "2"}})
    s.fail(503)
    s.outcome("model_error")
    assert len(breaches("REC-5", s)) == 1


def test_another_model_is_another_way_to_go_on():
    s = Story()
    s.ask()
    s.fail(500)
    s.ask(extra={"temperature": 0.0})
    s.reply("42")
    s.outcome("answered")
    assert judged("REC-5", s) == [OK]


def test_a_failed_summary_may_be_left_at_that():
    s = Story(max_iters=1)
    s.ask()
    s.reply(calls=[("look", {}, "c1")])
    s.execute("look", {}, "c1", 42)
    s.ask(tools=None)
    s.fail(500)
    s.outcome("limit", text="Stopped.")
    assert judged("REC-5", s) == []


def test_a_run_that_died_shows_no_end_to_its_attempts():
    s = failing(500, end=None)
    s.end("died")
    assert judged("REC-5", s) == []


def test_attempts_that_only_the_cap_ends_are_found():
    s = failing(*[500] * 3, end=None, cap=3)
    s.ask(again=True)
    s.refused(by="cap")
    s.outcome("model_error")
    [message] = breaches("REC-5", s)
    assert "m1 failed with status 500 and was sent again 3 times, until the cap of 3 requests stopped it" in message


def test_attempts_that_only_the_deadline_ends_warn():
    s = failing(500, 500, end=None)
    s.end("hung")
    [warning] = judged("REC-5", s)
    assert warning.level is SHOULD
    assert "was still being sent again when the deadline of 5.0 s came (2 requests)" in warning.message


def paused(waited_s, asked_s):
    s = Story()
    s.ask()
    s.fail(503, retry_after_s=asked_s)
    s.wait(waited_s)
    s.ask(again=True)
    s.reply("42")
    s.outcome("answered")
    return judged("REC-5", s)


def test_a_pause_shorter_than_asked_for_warns():
    right, warning = paused(0.5, 1.0)
    assert right is OK
    assert warning.level is SHOULD
    assert "m2 was sent 0.5 s after m1 had failed with status 503 and asked for 1 s" in warning.message


@pytest.mark.parametrize(("waited_s", "asked_s", "count"), [(1.0, 1.0, 2), (2.5, 1.0, 2), (0.0, 1.0, 1), (0.0, 0.0, 1)])
def test_a_pause_as_long_as_asked_for_is_right_and_one_on_another_clock_is_not_judged(waited_s, asked_s, count):
    assert paused(waited_s, asked_s) == [OK] * count
