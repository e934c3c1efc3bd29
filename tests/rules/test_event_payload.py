"""EVT-5 on recordings told by hand: markers that are whole, markers that are not, and events that only look like one."""

import pytest
from story import Story

from conformance.reading.joined import view
from conformance.rule import OK, Finding
from conformance.rules.event_payload import RULES

[EVT_5] = RULES
TRUE = {"type": "EXCEED_MAX_ITERS", "maxIters": 2, "currentIter": 2}


def marked(*events, max_iters=2, rounds=2, dialect=None, **fields):
    s = Story(max_iters=max_iters, dialect=dialect, **fields)
    for number in range(1, rounds + 1):
        s.ask()
        s.reply(calls=[("look", {}, f"c{number}")])
        s.execute("look", {}, f"c{number}", 42)
    for kind, carried in events:
        s.event(kind, **carried)
    s.ask(tools=None)
    s.reply("It is 42.")
    s.event("RUN_FINISHED")
    s.outcome("limit", text="It is 42.")
    return s


def judged(story):
    return list(EVT_5.check(view(story.recording())))


def raw(**payload):
    return "RAW", {"event": {"type": "EXCEED_MAX_ITERS", **payload}}


def custom(value, name="max_turns_reached"):
    return "CUSTOM", {"name": name, "value": value}


WHOLE = [
    raw(maxIters=2, currentIter=2),
    raw(maxIters=2, currentIter=3),
    raw(max_turns=2, turns_used=2, createdAt="2026-01-01T00:00:00Z", elapsedSeconds=9),
    raw(limit=2),
    raw(details={"maxSteps": 2, "stepIndex": 0, "stepsRemaining": 0}),
    custom({"maxTurns": 2}),
    custom({"type": "limit", "max_iterations": 2, "iteration": 2, "maxTokens": 4096}),
    # Figures of something else than the run's rounds, and of the round at which the limit struck.
    custom({"max_turns": 2, "num_turns": 3, "user_turns": 1, "failedRounds": 0, "session_rounds": 40}),
    custom({"max_turns": 2, "default_max_turns": 10, "limit_reached_at_turn": 3, "compactedTurns": 12}),
]


@pytest.mark.parametrize("event", WHOLE, ids=lambda one: str(one[1])[:60])
def test_an_object_with_true_figures_is_whole_whatever_they_are_called(event):
    assert judged(marked(event)) == [OK]


BROKEN = [
    (custom("2 turns were made"), "an object with its type and its figures was expected"),
    (custom(2), "an object with its type and its figures was expected"),
    (custom(None), "carries None"),
    (raw(), "the budget 2 was expected in it as a number"),
    (raw(maxIters="2"), "the budget 2 was expected in it as a number"),
    (raw(maxIters=2, currentIter=0), "says currentIter 0; the 2 rounds that were made were expected"),
    (raw(max_turns=5, turns_used=2), "says max_turns 5; the budget 2 was expected"),
    (raw(details={"maxSteps": 2, "stepsMade": 7}), "says stepsMade 7"),
    (raw(limit=2, max_turns_reached=7), "says max_turns_reached 7; the 2 rounds that were made were expected"),
    (raw(limit=2, num_turns=0), "says num_turns 0"),
]


@pytest.mark.parametrize(("event", "says"), BROKEN, ids=[one[1] + str(one[0][1])[:30] for one in BROKEN])
def test_a_marker_that_is_not_whole_says_what_it_lacks(event, says):
    s = marked(event)
    [finding] = judged(s)
    assert isinstance(finding, Finding)
    assert says in finding.message
    assert finding.seq == 12


def test_of_several_that_look_like_a_marker_one_has_to_be_right():
    assert judged(marked(custom({"limit": 60}, name="rate_limit"), raw(maxIters=2))) == [OK]


def test_a_declared_name_leaves_no_doubt_which_is_the_marker():
    dialect = {"limit_marker": "custom", "marker_name": "rounds_are_up"}
    bare = custom({}, name="rounds_are_up")
    assert isinstance(judged(marked(raw(maxIters=2), bare, dialect=dialect))[0], Finding)


def test_figures_in_the_frameworks_own_unit_are_its_own():
    assert judged(marked(custom({"recursionLimit": 5}), dialect={"limit_unit": "steps"})) == [OK]
    assert "carries no figure" in judged(marked(custom({}), dialect={"limit_unit": "steps"}))[0].message


def test_without_a_marker_there_is_nothing_to_judge():
    assert judged(marked()) == []


def test_an_event_of_another_limit_in_a_run_that_goes_on_is_no_marker():
    s = Story(max_iters=5)
    s.event("CUSTOM", name="rate_limit", value={"limit": 60})
    s.ask()
    s.reply("42")
    s.outcome("answered", text="42")
    assert judged(s) == []


def test_a_limit_of_none_is_marked_as_such():
    s = Story(max_iters=0)
    s.event("RAW", event={"type": "EXCEED_MAX_ITERS", "maxIters": 0, "currentIter": 0})
    s.ask(tools=None)
    s.reply("I cannot look.")
    s.outcome("limit", text="I cannot look.")
    assert judged(s) == [OK]
