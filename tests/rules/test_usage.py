"""USE on recordings told by hand: reports per call, and totals."""

import pytest
from story import Story

from conformance.reading.joined import view
from conformance.rule import OK, Finding
from conformance.rules.usage import RULES

BY_ID = {rule.id: rule for rule in RULES}


def judged(rule, story):
    return list(BY_ID[rule].check(view(story.recording())))


def said(rule, story):
    """The only finding."""
    [finding] = [one for one in judged(rule, story) if isinstance(one, Finding)]
    return finding


def report(s, reply_id, *figures):
    s.event(
        "CUSTOM", name="token_usage", value={"replyId": reply_id, "inputTokens": figures[0], "outputTokens": figures[1]}
    )


def two_calls(*usages, **fields):
    s = Story(**fields)
    s.ask()
    s.reply(calls=[("look", {}, "c1")], usage=usages[0])
    s.execute("look", {}, "c1", 42)
    s.ask()
    s.reply(text="42", usage=usages[1])
    return s


def reported(*reports, usages=((10, 1), (20, 2)), **fields):
    s = two_calls(*usages, **fields)
    for one in reports:
        report(s, *one)
    s.event("RUN_FINISHED")
    return s


BOTH = (("reply-1", 10, 1), ("reply-2", 20, 2))


def test_one_report_per_call_with_its_figures_is_right():
    assert judged("USE-1", reported(*BOTH)) == [OK, OK]


@pytest.mark.parametrize(
    ("reports", "message"),
    [
        (
            BOTH[1:],
            "the model reported 10 in, 1 out for m1 (regular), but no usage report of run r1 names its reply 'reply-1'",
        ),
        ((*BOTH, BOTH[0]), "2 usage reports name m1, expected one"),
        (
            (("reply-1", 11, 1), BOTH[1]),
            "the usage report for m1 says 11 in, 1 out, but the model reported 10 in, 1 out",
        ),
        (
            (*BOTH, ("reply-7", 1, 1)),
            "a usage report names the reply 'reply-7', which is none of run r1: reply-1, reply-2",
        ),
    ],
)
def test_a_report_that_lacks_or_is_wrong_is_told(reports, message):
    assert said("USE-1", reported(*reports)).message.startswith(message)


def test_a_report_where_the_model_reported_none_is_told():
    s = reported(("reply-1", 0, 0), ("reply-2", 20, 2), usages=(None, (20, 2)))
    assert said("USE-1", s).message.startswith(
        "the model reported no usage for m1, but a usage report says 0 in, 0 out"
    )


def test_a_model_that_reports_nothing_leaves_nothing_to_judge():
    assert judged("USE-1", reported(usages=(None, None))) == []


def beside(side, *reports):
    s = two_calls((10, 1), (20, 2))
    s.ask(side=side)
    s.reply(text="Noted.", usage=(1, 1))
    for one in (*BOTH, *reports):
        report(s, *one)
    return s


def test_a_call_beside_the_loop_may_be_reported_or_not():
    assert judged("USE-1", beside("auxiliary")) == [OK] * 2
    assert judged("USE-1", beside("auxiliary", ("reply-3", 1, 1))) == [OK] * 3


def test_a_compaction_is_reported_as_any_call_of_the_loop():
    assert judged("USE-1", beside("compaction", ("reply-3", 1, 1))) == [OK] * 3
    [finding] = [one for one in judged("USE-1", beside("compaction")) if one is not OK]
    assert finding.message.startswith("the model reported 1 in, 1 out for m3 (compaction), but no usage report")


def test_reports_per_call_bind_those_who_declare_them():
    for value, excused in (
        ("per_call", (None, "dialect")),
        ("per_run", ("dialect", None)),
        ("none", ("dialect", "dialect")),
    ):
        read = view(Story(dialect={"usage_events": value}).recording())
        assert (BY_ID["USE-1"].applies(read), BY_ID["USE-2"].applies(read)) == excused


def test_a_total_that_is_reported_binds_though_it_is_not_owed():
    per_call = view(total([{"inputTokens": 30, "outputTokens": 3}], dialect={"usage_events": "per_call"}).recording())
    assert BY_ID["USE-2"].applies(per_call) is None


def total(usage, *, end="RUN_FINISHED", usages=((10, 1), (20, 2)), dialect=None):
    s = two_calls(*usages, dialect=dialect or {"usage_events": "per_run"})
    s.event(end, **({} if usage is None else {"usage": usage}))
    return s


@pytest.mark.parametrize("end", ["RUN_FINISHED", "RUN_ERROR"])
@pytest.mark.parametrize(
    "usage",
    [
        [{"inputTokens": 30, "outputTokens": 3}],
        {"inputTokens": 30, "outputTokens": 3},
        [{"model": "a", "inputTokens": 10, "outputTokens": 1}, {"model": "b", "inputTokens": 20, "outputTokens": 2}],
    ],
)
def test_a_total_that_is_the_sum_is_right_on_every_ending(usage, end):
    assert judged("USE-2", total(usage, end=end)) == [OK]


@pytest.mark.parametrize(
    ("usage", "message"),
    [
        (
            (20, 2),
            "the total of run r1 is 20 in, 2 out, but its calls m1, m2 add up to 30 in, 3 out; it is the last call's alone",
        ),
        (
            (40, 4),
            "the total of run r1 is 40 in, 4 out, but its calls m1, m2 add up to 30 in, 3 out; running totals were added up",
        ),
        ((31, 3), "the total of run r1 is 31 in, 3 out, but its calls m1, m2 add up to 30 in, 3 out"),
    ],
)
def test_a_total_that_is_not_the_sum_is_told_with_a_guess(usage, message):
    assert said("USE-2", total([{"inputTokens": usage[0], "outputTokens": usage[1]}])).message == message


def test_a_declared_total_that_is_missing_is_told():
    assert said("USE-2", total(None)).message.startswith(
        "RUN_FINISHED of run r1 has no usage, but the model reported 30 in, 3 out"
    )


def test_without_a_total_reports_per_call_owe_none():
    assert judged("USE-2", total(None, dialect={"usage_events": "per_call"})) == []


def test_an_exception_cannot_carry_a_total():
    s = two_calls((10, 1), (20, 2), dialect={"usage_events": "per_run"})
    s.event("RUN_ERROR", raised=True)
    s.raises()
    assert judged("USE-2", s) == []


def test_an_agent_that_was_killed_owes_no_report_of_what_its_model_had_said():
    s = two_calls((10, 1), (20, 2))
    assert [type(one) for one in judged("USE-1", s)] == [Finding, Finding]
    s.record("kit", "kill", run="r1", point="before_tools")
    assert judged("USE-1", s) == []
