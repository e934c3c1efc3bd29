"""DIA, SCRIPT and EXPECT on recordings told by hand."""

from story import Story

from conformance.dialect import dialect
from conformance.reading.joined import view
from conformance.rule import OK, Finding
from conformance.rules.kit import RULES

BY_ID = {rule.id: rule for rule in RULES}


def judged(rule, story, under=None):
    return list(BY_ID[rule].check(view(story.recording(), under)))


def said(rule, story, under=None):
    """The only finding."""
    [finding] = [one for one in judged(rule, story, under) if isinstance(one, Finding)]
    return finding


def silent_at_the_limit(**fields):
    s = Story(max_iters=1, **fields)
    s.ask()
    s.reply(calls=[("look", {}, "c1")])
    s.execute("look", {}, "c1", 42)
    s.event("RUN_FINISHED")
    s.outcome("limit")
    return s


def test_a_declaration_that_does_not_fit_prints_the_one_that_would():
    finding = said("DIA-1", silent_at_the_limit())
    assert finding.message == (
        "limit_text is declared 'model', but run r1 made its 1 rounds and asked the model for no closing text and shows none; "
        "declare limit_text: none"
    )
    assert finding.fits == ("limit_text", "none")


def test_the_declaration_is_judged_as_declared_even_where_all_else_is_read_as_it_fits():
    finding = said("DIA-1", silent_at_the_limit(), dialect({"on_limit": "stop"}))
    assert finding.fits == ("limit_text", "none")


def test_a_declaration_that_fits_is_right_key_by_key():
    s = silent_at_the_limit(dialect={"on_limit": "stop"})
    assert set(judged("DIA-1", s)) == {OK}


def test_a_recording_that_shows_no_key_leaves_nothing_to_judge():
    assert judged("DIA-1", Story()) == []


def test_requests_that_turns_answered_fit_the_script():
    s = Story()
    s.ask()
    s.reply(text="42")
    assert judged("SCRIPT-1", s) == [OK]


def test_a_request_that_fits_no_turn_is_told_with_the_nearest():
    s = Story()
    s.ask()
    s.refused(
        by="script", rule=None, nearest={"turn": 0, "failed": "all 1 turns were played"}, message="the script is over"
    )
    message = said("SCRIPT-1", s).message
    assert message == (
        "m1 (regular) of run r1 fits no turn of the script; nearest is turn 0: all 1 turns were played. the script is over"
    )


def test_refusals_by_others_are_no_miss_of_the_script():
    s = Story()
    s.ask()
    s.refused(by="provider")
    assert judged("SCRIPT-1", s) == []


def wants_a_result(**fields):
    s = Story(max_iters=1, **fields)
    s.ask()
    s.reply(calls=[("look", {}, "c1")])
    s.answer("c1", "not run: the limit was reached")
    s.ask(tools=None)
    s.refused(
        by="script",
        rule=None,
        nearest={"turn": 1, "failed": "template '{{ result.look }}': path 'result.look' has no execution"},
    )
    return s


def test_a_turn_that_wants_a_result_of_a_skipped_round_is_no_miss_where_that_is_declared():
    assert judged("SCRIPT-1", wants_a_result(dialect={"last_round_tools": "skip"})) == [OK]
    assert "m2 (summary) of run r1 fits no turn" in said("SCRIPT-1", wants_a_result()).message


ANSWER = {"answer": "42"}


def answered_at_once(turns, *, turn=0):
    s = Story(turns=turns)
    s.ask()
    s.reply(text="42", turn=turn)
    s.outcome("answered", text="42")
    return s


def test_an_answered_run_that_played_all_turns_is_right():
    assert judged("SCRIPT-2", answered_at_once([ANSWER])) == [OK]


def test_an_answered_run_that_left_turns_is_told_which():
    assert said("SCRIPT-2", answered_at_once([ANSWER, ANSWER])).message.startswith(
        "run r1 was answered, but turns 1 of its 2 (counted from 0) were never played"
    )


def test_optional_turns_and_the_rest_of_an_endless_one_may_be_left():
    endless = {"answer": "42", "repeat": "forever"}
    assert judged("SCRIPT-2", answered_at_once([ANSWER, {"answer": "43", "optional": True}])) == [OK]
    assert judged("SCRIPT-2", answered_at_once([endless])) == [OK]


def test_a_run_that_was_not_answered_may_leave_turns():
    s = silent_at_the_limit(turns=[{"call": "look"}, ANSWER, ANSWER])
    assert judged("SCRIPT-2", s) == []


def expecting(**block):
    s = Story(scenario={"expect": [block]})
    s.ask()
    s.reply(text="42")
    s.outcome("answered", text="42")
    return s


def test_a_prediction_that_holds_is_right():
    assert judged("EXPECT", expecting(model_calls=1, text="42")) == [OK, OK]


def test_a_broken_prediction_says_both_values():
    assert (
        said("EXPECT", expecting(model_calls=2)).message
        == "the scenario: model_calls is 1, but the scenario predicts 2"
    )


def test_without_a_block_that_fits_nothing_is_judged():
    assert judged("EXPECT", expecting(when={"profile": "reference"}, model_calls=2)) == []


def retrying_behind_a_run(*, tools_run):
    """A run that ended, and one that still waits between attempts when the deadline comes."""
    expect = {"when": {}, "tools_run": tools_run}
    unlike = {"when": {}, "terminal": "RUN_ERROR", "model_calls": 9}
    runs = [
        {"user": "What is it?", "model": [{"answer": "42"}], "expect": [expect]},
        {"user": "And now?", "model": [{"answer": "42"}], "expect": [unlike]},
    ]
    s = Story(scenario={"runs": runs, "expect": [unlike]})
    s.ask()
    s.reply("42")
    s.event("RUN_FINISHED")
    s.outcome("answered", text="42")
    s.end()
    s.begin("And now?")
    s.ask()
    s.fail(503)
    s.ask(again=True)
    s.fail(503)
    s.end("hung")
    return s


def test_of_a_run_that_still_retries_at_the_deadline_no_prediction_is_judged():
    s = retrying_behind_a_run(tools_run=[])
    assert judged("EXPECT", s) == [OK]
    assert BY_ID["EXPECT"].unable(view(s.recording())) == "run r2 still retried its model when the deadline came"


def test_a_prediction_that_a_run_before_it_broke_is_told():
    s = retrying_behind_a_run(tools_run=["look"])
    assert said("EXPECT", s).message == "run r1: tools_run is [], but the scenario predicts ['look']"
    assert BY_ID["EXPECT"].unable(view(s.recording())) is None
