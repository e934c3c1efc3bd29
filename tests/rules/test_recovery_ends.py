"""REC-6 and REC-8 on recordings told by hand: what the caller reads at the end, and whose turn was used up."""

import pytest
from story import Story

from conformance.reading.joined import view
from conformance.rule import OK, SHOULD, Finding
from conformance.rules.recovery import RULES

BY_ID = {rule.id: rule for rule in RULES}
NUDGE = {"role": "user", "content": "Your reply was empty."}
OLD = [{"role": "user", "content": f"Question {number}? {'x' * 90}"} for number in range(5)]
TOO_LONG = {"status": 400, "message": "Too long.", "code": "context_length_exceeded"}


def judged(rule, story):
    return list(BY_ID[rule].check(view(story.recording())))


def breaches(rule, story):
    return [f.message for f in judged(rule, story) if isinstance(f, Finding) and f.level is not SHOULD]


def used_up(*failures, reason, end="model_error"):
    """The same request, failing each time; `nothing` is an empty reply, `half` a broken one, `none` a 200 without a reply."""
    s = Story()
    for number, failure in enumerate(failures):
        if failure == "nothing":
            s.ask(messages=[*s.history, *[NUDGE] * number])
            s.reply(parts=[], keep=False)
            continue
        s.ask(again=number > 0)
        if failure == "half":
            s.reply("It is", fault={"cut": {"after_chunks": 0, "reset": True}}, by="cut", keep=False)
        elif failure == "none":
            s.reply(parts=[], fault={"error": {"status": 200, "body": {}}}, keep=False)
        else:
            s.fail(**failure)
    s.outcome(end, reason=reason)
    return s


BUSY = {"status": 429, "message": "Slow down.", "code": "rate_limit_exceeded"}
DOWN = {"status": 503, "message": "Closed for repairs.", "code": "engine_down"}
TOLD = {
    "the status": ((BUSY, DOWN), "the model answered with status 503"),
    "the code": ((BUSY, DOWN), "gave up: engine_down"),
    "the provider's words": ((BUSY, DOWN), "gave up: Closed for repairs."),
    "what the status means": ((BUSY, DOWN), "ServiceUnavailable after 2 attempts"),
    "a rate limit by its name": ((BUSY, BUSY), "RateLimitError"),
    "a timeout by its name": (({"status": 408},) * 2, "APITimeoutError: timed out"),
    "a broken stream": (("half", "half"), "connection reset by peer"),
    "a stream that a client calls incomplete": (
        ("half", "half"),
        "ClientPayloadError: Response payload is not completed",
    ),
    "a stream that a runtime calls terminated": (("half", "half"), "TypeError: terminated"),
    "a socket": (("half", "half"), "socket hang up"),
    "a stream in Chinese": (("half", "half"), "模型连接中断"),
    "a body that is none": (("none", "none"), "the response has no choices"),
    "a body that no parser reads": (("none", "none"), "Expecting value: line 1 column 1 (char 0)"),
    "a body that no other parser reads": (("none", "none"), "expected value at line 1 column 1"),
    "a body in Chinese": (("none", "none"), "模型返回的内容无法解析"),
    "silence": (("nothing", "nothing"), "the model returned no content"),
}


@pytest.mark.parametrize(("failures", "reason"), TOLD.values(), ids=TOLD)
def test_an_end_that_names_its_last_cause_is_right(failures, reason):
    assert judged("REC-6", used_up(*failures, reason=reason)) == [OK]


def test_an_outcome_of_its_own_is_a_name():
    assert judged("REC-6", used_up("nothing", "nothing", end="empty", reason=None)) == [OK]


LOST = {
    "nothing at all": ((DOWN, DOWN), None, "status 503 / engine_down"),
    "that it gave up": ((DOWN, DOWN), "retries exhausted after 2 attempts", "status 503 / engine_down"),
    "the first cause": ((BUSY, DOWN), "status 429, code rate_limit_exceeded", "status 503 / engine_down"),
    "a number that holds the status": ((DOWN, DOWN), "request 15030 failed", "status 503"),
    "of a broken reply": (("half", "half"), "gave up", "a broken reply"),
    "of a broken reply, that the model failed": (
        ("half", "half"),
        "the model call failed after 2 attempts",
        "a broken reply",
    ),
    "of a body that is none": (("none", "none"), "model_error", "a 200 that is no reply"),
    "of silence": (("nothing", "nothing"), "retries exhausted", "empty"),
}


@pytest.mark.parametrize(("failures", "reason", "named"), LOST.values(), ids=LOST)
def test_an_end_that_hides_its_last_cause_is_found(failures, reason, named):
    [message] = breaches("REC-6", used_up(*failures, reason=reason))
    assert "r1 gave up after m2, whose cause was " in message
    assert named in message


def test_an_error_event_can_tell_it_and_an_exception_that_does_not_only_warns():
    s = used_up(DOWN, DOWN, reason=None, end="error")
    s.event("RUN_ERROR", message="503 from the model")
    assert judged("REC-6", s) == [OK]
    s = Story()
    for again in (False, True):
        s.ask(again=again)
        s.fail(503)
    s.raises("RetryError", "gave up")
    [warning] = judged("REC-6", s)
    assert warning.level is SHOULD


@pytest.mark.parametrize(
    ("failure", "reason"),
    [("half", "Verbindung zum Modell verloren"), ("none", "'NoneType' object is not subscriptable")],
)
def test_words_of_its_own_for_what_has_no_status_only_warn(failure, reason):
    [warning] = judged("REC-6", used_up(failure, failure, reason=reason))
    assert warning.level is SHOULD


def test_what_the_model_had_said_by_then_is_no_word_on_the_cause():
    s = used_up("half", "half", reason="gave up")
    s.text("It is")
    assert len(breaches("REC-6", s)) == 1


@pytest.mark.parametrize("end", ["answered", "limit", "guard"])
def test_what_ended_otherwise_is_left_to_the_rules_about_endings(end):
    assert judged("REC-6", used_up(DOWN, DOWN, reason=None, end=end)) == []


def test_where_nothing_was_tried_again_nothing_was_used_up():
    assert judged("REC-6", used_up(DOWN, reason="gave up")) == []


def mixed(*troubles, answered=True, end="empty", dialect=None, history=OLD):
    """One trouble after the other in one round, each answered by what recovers from it."""
    s = Story(dialect=dialect, max_iters=10)
    s.history[:0] = history
    nudges = []
    for number, trouble in enumerate(troubles):
        before = troubles[number - 1] if number else None
        if before == "overflow":
            s.history[:] = s.history[-1:]
        nudges += [NUDGE] * (before == "empty")
        s.ask(messages=[*s.history, *nudges], again=before == "failure")
        if trouble == "overflow":
            s.fail(**TOO_LONG)
        elif trouble == "failure":
            s.fail(500)
        elif trouble == "call":
            s.reply(calls=[("look", {}, f"c{number}")])
            s.execute("look", {}, f"c{number}", 42)
        else:
            s.reply(parts=[], keep=False)
    if answered:
        s.ask(messages=[*s.history, *nudges, NUDGE])
        s.reply("42")
    s.outcome("answered" if answered else end)
    return s


PAIRS = [
    ("overflow", "empty"),
    ("failure", "empty"),
    ("empty", "failure"),
    ("empty", "overflow"),
    ("failure", "overflow"),
]


@pytest.mark.parametrize("troubles", PAIRS)
def test_a_second_cause_that_is_recovered_from_is_right(troubles):
    assert judged("REC-8", mixed(*troubles)) == [OK]


@pytest.mark.parametrize("troubles", PAIRS)
def test_a_second_cause_that_ends_the_run_is_found(troubles):
    [message] = breaches("REC-8", mixed(*troubles, answered=False, end="error"))
    assert "r1 ended on m2 (" in message
    assert "expected each cause to be counted by itself" in message


NOTHING = {
    "one cause alone": (("empty",), {}),
    "the same twice, used up": (("empty", "empty"), {}),
    "used up by itself after another": (("empty", "failure", "empty"), {}),
    "no second try is declared for it": (("failure", "empty"), {"empty_response": "error"}),
    "empties go to the next round": (("failure", "empty"), {"empty_response": "continue"}),
    "no smaller request is declared": (("failure", "overflow"), {"prompt_too_long": "error"}),
    "counted over the run": (("empty", "call", "failure", "empty"), {"recovery_scope": "run"}),
}


@pytest.mark.parametrize(("troubles", "dialect"), NOTHING.values(), ids=NOTHING)
def test_a_cause_that_used_up_its_own_is_not_judged(troubles, dialect):
    found = judged("REC-8", mixed(*troubles, answered=False, end="error", dialect=dialect))
    assert [one for one in found if one is not OK] == []


def test_a_later_round_has_its_own_count():
    [message] = breaches("REC-8", mixed("failure", "empty", "call", "empty", answered=False))
    assert "r1 ended on m4 (an empty reply)" in message


def test_a_prompt_too_short_to_shrink_may_end_the_run():
    assert judged("REC-8", mixed("empty", "overflow", answered=False, end="overflow", history=[])) == []


def test_a_run_whose_rounds_are_spent_has_no_other_try():
    s = Story(dialect={"retry_budget": "counts"}, max_iters=1)
    s.ask()
    s.fail(500)
    s.ask(again=True)
    s.reply(parts=[], keep=False)
    s.outcome("empty")
    assert judged("REC-8", s) == []
