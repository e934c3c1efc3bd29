"""INT-1 to INT-3 on recordings told by hand: what a cancelled run leaves behind, how it ends, what it does later."""

import pytest
from story import Story

from conformance.reading.joined import view
from conformance.rule import OK, SHOULD, Finding
from conformance.rules.interrupts import RULES

BY_ID = {rule.id: rule for rule in RULES}
ABLE = {"sessions": True, "cancel": True}
RUNS = [{"user": "What is it?", "model": [{"answer": "42"}]}, {"user": "And now?", "model": [{"answer": "43"}]}]


def judged(rule, story):
    return list(BY_ID[rule].check(view(story.recording())))


def only(rule, story):
    [finding] = [one for one in judged(rule, story) if isinstance(one, Finding)]
    return finding


def applies(rule, story):
    return BY_ID[rule].applies(view(story.recording()))


def cancelled(*, point="before_tools", calls=(("look", {}, "c1"),), kind="interrupted", **fields):
    """A run that was cancelled behind its model's reply; it ends as told."""
    s = Story(capabilities=fields.pop("capabilities", ABLE), scenario={"runs": RUNS}, **fields)
    s.ask()
    s.reply(calls=calls)
    s.record("kit", "cancel", run="r1", point=point)
    s.event("RUN_STARTED")
    return s


def ended(s, kind="interrupted"):
    s.event("RUN_FINISHED", outcome={"type": "cancelled"}) if kind == "interrupted" else s.event("RUN_FINISHED")
    s.outcome(kind)
    s.end()
    return s


def next_run(s):
    s.begin("And now?")
    s.ask()
    s.reply("43")
    return s


@pytest.mark.parametrize("rule", list(BY_ID))
def test_an_agent_that_cannot_be_cancelled_is_not_bound(rule):
    assert applies(rule, cancelled(capabilities={"sessions": True})) == "capability"
    assert applies(rule, cancelled()) is None


def test_the_history_behind_a_run_that_keeps_no_session_binds_nobody():
    assert applies("INT-1", cancelled(capabilities={"cancel": True})) == "capability"


# INT-1


def test_a_cancelled_call_that_is_answered_is_right():
    s = cancelled()
    s.answer("c1", "Error: cancelled")
    assert judged("INT-1", next_run(ended(s))) == [OK]


def test_a_run_that_took_its_reply_back_is_right():
    s = cancelled()
    s.history.pop()
    assert judged("INT-1", next_run(ended(s))) == [OK]


def test_an_open_call_behind_a_cancelled_run_is_named():
    finding = only("INT-1", next_run(ended(cancelled())))
    assert "run r2 follows run r1, which was cancelled (before_tools)" in finding.message
    assert "m2 carries call 'c1' (look) of messages[1] with no results" in finding.message


def test_two_results_for_a_cancelled_call_are_named():
    s = cancelled()
    s.answer("c1", "42")
    s.answer("c1", "Error: cancelled")
    assert "with 2 results" in only("INT-1", next_run(ended(s))).message


def test_a_result_that_comes_behind_the_next_question_is_named():
    s = ended(cancelled())
    s.begin("And now?")
    s.answer("c1", "Error: cancelled")
    s.ask()
    s.reply("43")
    assert "with its result at messages[3], behind another message" in only("INT-1", s).message


def test_a_result_without_its_call_is_named():
    s = cancelled()
    s.history.pop()
    s.answer("c1", "42")
    assert "carries a result of no call at messages[1], for id 'c1'" in only("INT-1", next_run(ended(s))).message


def test_a_request_that_its_provider_refuses_names_the_provider_rule():
    s = ended(cancelled())
    s.begin("And now?")
    s.ask()
    s.refused(rule="missing_tool_results")
    assert "m2 was refused by provider rule 'missing_tool_results'" in only("INT-1", s).message


def test_a_half_spelled_call_is_named_though_it_has_a_result():
    s = Story(capabilities=ABLE, scenario={"runs": RUNS})
    s.ask()
    s.reply(calls=[("look", {"at": "Oslo"}, "c1")], by="client")
    s.record("kit", "cancel", run="r1", point="stream")
    ended(s)
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"at": "Os'}}
    s.history.append({"role": "assistant", "content": None, "tool_calls": [call]})
    s.answer("c1", "Error: cancelled")
    assert "half spelled" in only("INT-1", next_run(s)).message


def test_a_session_that_asks_nothing_after_a_cancelled_run_is_lost():
    s = ended(cancelled())
    s.begin("And now?")
    s.raises("IllegalState", "a call is pending")
    s.end("raised")
    assert "asked its model nothing: 'a call is pending'" in only("INT-1", s).message


def test_a_run_behind_one_that_was_not_cancelled_is_judged_elsewhere():
    s = Story(capabilities=ABLE, scenario={"runs": RUNS})
    s.ask()
    s.reply(calls=[("look", {}, "c1")])
    s.end()
    assert judged("INT-1", next_run(s)) == []


# INT-2


@pytest.mark.parametrize("kind", ["interrupted", "waiting", "limit"])
def test_an_end_that_is_no_answer_is_right(kind):
    assert judged("INT-2", ended(cancelled(), kind)) == [OK]


def test_a_race_that_the_agent_lost_is_right():
    s = cancelled()
    s.execute("look", {}, "c1", 42)
    s.ask()
    s.reply("42")
    assert judged("INT-2", ended(s, "answered")) == [OK]


def test_a_cancelled_run_told_as_answered_is_named():
    assert (
        "says 'answered', but its model gave no final answer" in only("INT-2", ended(cancelled(), "answered")).message
    )


def test_a_cancelled_run_without_a_terminal_is_named():
    s = cancelled()
    s.outcome("interrupted")
    assert "came to no terminal" in only("INT-2", s).message


@pytest.mark.parametrize("how", ["hung", "died"])
def test_a_cancelled_run_that_never_comes_back_is_named(how):
    s = cancelled()
    s.end(how)
    assert f"was cancelled (before_tools) and {how}" in only("INT-2", s).message


def test_a_cancelled_run_told_as_an_error_warns():
    assert only("INT-2", ended(cancelled(), "error")).level == SHOULD


def test_an_error_is_no_wrong_name_where_something_failed():
    s = cancelled()
    s.execute("look", {}, "c1", error=("Boom", "it broke"))
    assert judged("INT-2", ended(s, "tool_error")) == [OK]


def test_an_agent_in_this_process_that_goes_on_for_rounds_did_not_hear():
    s = cancelled()
    for n in (2, 3):
        s.execute("look", {}, f"c{n - 1}", 42)
        s.ask()
        s.reply(calls=[("look", {}, f"c{n}")])
    assert "asked its model 2 times more (m2, m3)" in only("INT-2", ended(s)).message


def test_an_agent_apart_may_lose_the_race_by_any_length():
    s = cancelled()
    for n in (2, 3):
        s.execute("look", {}, f"c{n - 1}", 42)
        s.ask()
        s.reply(calls=[("look", {}, f"c{n}")])
    s.header["apart"] = True
    assert judged("INT-2", ended(s)) == [OK]


# INT-3


def test_a_call_that_never_runs_is_right():
    assert OK in judged("INT-3", next_run(ended(cancelled())))


def test_a_cancelled_call_that_runs_in_the_next_run_is_named():
    s = ended(cancelled())
    s.begin("And now?")
    s.execute("look", {}, "c1", 42)
    s.ask()
    s.reply("43")
    assert "call 'c1' (look) of m1 ran in run r2 (x1)" in only("INT-3", s).message


def test_a_cancelled_call_that_runs_after_the_end_is_named():
    s = ended(cancelled())
    s.execute("look", {}, "c1", 42)
    assert "ran after its end (x1)" in only("INT-3", s).message


def test_a_finished_call_that_is_done_again_is_named():
    s = cancelled(point="after_tools")
    s.execute("look", {}, "c1", 42)
    ended(s)
    s.begin("And now?")
    s.execute("look", {}, "c1", 42, keep=False)
    s.ask()
    s.reply("43")
    assert any("ran again in run r2" in one.message for one in judged("INT-3", s) if isinstance(one, Finding))


def test_what_the_next_runs_model_asks_for_is_no_repetition():
    s = cancelled(point="after_tools")
    s.execute("look", {}, "c1", 42)
    ended(s)
    s.begin("And now?")
    s.ask()
    s.reply(calls=[("look", {}, "c2")])
    s.execute("look", {}, "c2", 42)
    assert set(judged("INT-3", s)) == {OK}


def test_a_finished_call_that_the_next_request_does_not_tell_of_warns():
    s = cancelled(point="after_tools")
    s.execute("look", {}, "c1", 42)
    del s.history[1:]
    finding = only("INT-3", next_run(ended(s)))
    assert "m2 of run r2 tells its model nothing of it" in finding.message
    assert finding.level == SHOULD


THREE = [("look", {}, f"c{number}") for number in (1, 2, 3)]


def test_a_tool_that_begins_when_another_began_and_ended_behind_the_cancel_is_told():
    def began(count):
        s = cancelled(point="in_tools", calls=THREE)
        for name, arguments, call_id in THREE[:count]:
            s.execute(name, arguments, call_id, 42)
        return ended(s)

    finding = only("INT-3", began(2))
    assert "x2 (look) was begun when a tool that began after that had come to its end" in finding.message
    assert finding.level == SHOULD
    assert judged("INT-3", began(1)) == [OK]


def test_tools_that_go_on_side_by_side_may_all_have_begun():
    s = cancelled(point="in_tools", calls=THREE)
    for number, (name, arguments, call_id) in enumerate(THREE, start=1):
        s.record("tool", "start", run="r1", exec=f"x{number}", tool=name, call_id=call_id, arguments=arguments)
    for number in (1, 2, 3):
        s.record("tool", "result", exec=f"x{number}", result=42)
    assert judged("INT-3", ended(s)) == [OK]
