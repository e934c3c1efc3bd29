"""LOG on recordings told by hand."""

import pytest
from story import Story

from conformance.reading.joined import view
from conformance.rule import OK, SHOULD, Finding
from conformance.rules.log import RULES

[RULE] = RULES


def judged(story):
    return list(RULE.check(view(story.recording())))


def at_the_limit(*logs, ran=True, early=(), limit=1, dialect=None, said="limit"):
    """A run that came to its limit of one round, with its log records: each (level, message) or (level, message, logger)."""
    s = Story(max_iters=limit, dialect=dialect)
    for _ in range(limit):
        s.ask()
        s.reply(calls=[("look", {}, "c1")])
        for record in early:
            s.log(record[1], record[0])
        if ran:
            s.execute("look", {}, "c1", 42)
    for level, message, *logger in logs:
        s.record("agent", "log", run="r1", level=level, logger=logger[0] if logger else "agent", message=message)
    s.ask(tools=None)
    s.reply("42")
    s.outcome(said, text="42")
    return s


def test_one_quiet_record_is_right():
    assert judged(at_the_limit(("DEBUG", "reached the maximum of 1 iteration"))) == [OK]
    assert judged(at_the_limit(("INFO", "round limit 1"))) == [OK]
    assert RULE.level == SHOULD
    assert RULE.channels == "L"


@pytest.mark.parametrize(
    ("logs", "message"),
    [
        ((), "came to its limit of 1, but no log record after the last round says so"),
        ((("DEBUG", "limit of 10 reached"),), "no log record after the last round says so"),
        ((("DEBUG", "1 cargo found"),), "no log record after the last round says so"),
        ((("DEBUG", "max_tokens 1", "openai._base_client"),), "no log record after the last round says so"),
        ((("DEBUG", "limit 1"), ("INFO", "max 1 reached")), "the limit is logged 2 times, expected once"),
        (
            (("WARNING", "limit 1 reached"),),
            "the limit is logged as WARNING ('limit 1 reached'), although no call was pending",
        ),
        ((("ERROR", "limit 1 reached"),), "the limit is logged as ERROR"),
    ],
)
def test_a_limit_that_is_logged_otherwise_is_named(logs, message):
    [finding] = judged(at_the_limit(*logs))
    assert isinstance(finding, Finding)
    assert message in finding.message


def test_a_warning_is_right_where_calls_were_pending():
    assert judged(at_the_limit(("WARNING", "limit 1 reached"), ran=False, dialect={"last_round_tools": "skip"})) == [OK]


def test_a_record_of_the_round_itself_is_not_the_limits():
    assert judged(at_the_limit(("DEBUG", "maximum of 1 reached"), early=(("WARNING", "round 1 of max 1"),))) == [OK]
    assert judged(at_the_limit(("DEBUG", "step 1 done"), ("DEBUG", "maximum of 1 reached"))) == [OK]


def test_nothing_is_judged_where_the_limit_was_not_reached():
    s = Story(max_iters=2)
    s.ask()
    s.reply("42")
    s.log("limit 2 not reached", "WARNING")
    assert judged(s) == []


def test_nothing_is_judged_without_a_limit():
    s = Story(dialect={"default_max_iters": "unlimited"})
    s.ask()
    s.reply(calls=[("look", {}, "c1")])
    s.log("limit 1", "WARNING")
    assert judged(s) == []


def test_nothing_is_judged_where_something_else_ended_the_run_in_its_last_round():
    assert judged(at_the_limit(said="tool_error")) == []
