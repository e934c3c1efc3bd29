"""SUM on recordings told by hand: the call after the last round, sound and broken."""

import pytest
from story import Story

from conformance.reading.joined import view
from conformance.rule import OK, SHOULD, Finding
from conformance.rules.summary import RULES

BY_ID = {rule.id: rule for rule in RULES}
MARK = {"type": "EXCEED_MAX_ITERS", "maxIters": 1}
NOW = {"role": "user", "content": "Answer now with what you have."}


def judged(rule, story):
    return list(BY_ID[rule].check(view(story.recording())))


def said(rule, story):
    """The only finding."""
    [finding] = [one for one in judged(rule, story) if isinstance(one, Finding)]
    return finding


def at_the_limit(value=42, **fields):
    """One round of one, its call run: what comes next is the summary."""
    s = Story(max_iters=1, **fields)
    s.ask()
    s.reply(calls=[("look", {}, "c1")])
    s.execute("look", {}, "c1", value)
    return s


def summarised(text="It is 42.", **asked):
    s = at_the_limit()
    s.ask(**{"tools": None, "messages": [*s.history, NOW], **asked})
    s.reply(text=text)
    s.event("RUN_FINISHED")
    s.outcome("limit", text=text)
    return s


def test_an_agent_that_does_not_ask_the_model_is_not_bound():
    read = view(at_the_limit(dialect={"on_limit": "stop"}).recording())
    assert {rule.applies(read) for rule in RULES} == {"dialect"}


def test_a_run_without_a_summary_leaves_nothing_to_judge():
    s = Story(max_iters=2)
    s.ask()
    s.reply(text="42")
    s.outcome("answered", text="42")
    assert [judged(rule, s) for rule in BY_ID] == [[]] * 7


# SUM-1


@pytest.mark.parametrize(
    "asked", [{}, {"tools": ["look"], "tool_choice": "none"}, {"tools": []}, {"tool_choice": "none"}]
)
def test_a_summary_in_which_nothing_can_be_called_is_right(asked):
    assert judged("SUM-1", summarised(**asked)) == [OK]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"tools": ["look"]}, "the summary request m2 offers ['look']"),
        ({"tool_choice": "auto"}, "the summary request m2 has no tools and still tool_choice 'auto'"),
        (
            {"extra": {"parallel_tool_calls": True}},
            "the summary request m2 has no tools and still parallel_tool_calls True",
        ),
    ],
)
def test_what_is_left_of_the_tools_in_a_summary_is_told(asked, message):
    assert said("SUM-1", summarised(**asked)).message.startswith(message)


# SUM-2


def test_one_summary_beside_the_rounds_is_right():
    assert judged("SUM-2", summarised()) == [OK]


def test_an_empty_summary_may_be_asked_for_once_more():
    s = at_the_limit()
    s.ask(tools=None)
    s.reply(text="", keep=False)
    s.ask(tools=None, messages=[*s.history, NOW])
    s.reply(text="42")
    s.outcome("limit", text="42")
    assert judged("SUM-2", s) == [OK]


def test_a_call_after_a_summary_that_spoke_is_told():
    s = at_the_limit()
    s.ask(tools=None)
    s.reply(text="42")
    s.ask()
    s.reply(text="43")
    assert said("SUM-2", s).message.startswith(
        "run r1 made its 1 rounds and asked for a summary in m2, but m3 came after"
    )


def test_a_third_summary_is_told():
    s = at_the_limit()
    for number in range(3):
        s.ask(tools=None, messages=[*s.history, NOW, {"role": "user", "content": str(number)}])
        s.reply(text=" ", keep=False)
    assert "asked for a summary in m2 and m3, but m4 came after" in said("SUM-2", s).message


def test_a_summary_in_the_place_of_a_round_is_told():
    s = Story(max_iters=2)
    s.ask()
    s.reply(calls=[("look", {}, "c1")])
    s.execute("look", {}, "c1", 42)
    s.ask(tools=None)
    s.reply(text="42")
    s.outcome("limit", text="42")
    assert said("SUM-2", s).message.startswith("m2 asks for the summary of run r1 in the place of round 2 of 2")


# SUM-3


def calling(*, text="Tools are spent.", beside=None, **reply):
    s = at_the_limit()
    s.ask(tools=None)
    fields = {} if beside is None else {"text": beside}
    s.reply(calls=[("look", {"at": "sky"}, "c9")], keep=False, **fields, **reply)
    s.outcome("limit", text=text)
    return s


def test_a_summarys_call_that_comes_to_nothing_is_right():
    assert judged("SUM-3", calling()) == [OK]


def test_a_summarys_call_that_ran_is_told():
    s = calling()
    s.execute("look", {"at": "sky"}, "c9", 1)
    assert said("SUM-3", s).message.startswith("look (c9), called in the summary's reply of run r1, ran as x2")


def test_a_summarys_call_without_a_result_in_the_next_request_is_told():
    s = calling()
    call = {"id": "c9", "type": "function", "function": {"name": "look", "arguments": '{"at": "sky"}'}}
    s.history.append({"role": "assistant", "content": None, "tool_calls": [call]})
    s.end()
    s.begin("Go on.")
    s.ask()
    s.reply(text="42")
    assert said("SUM-3", s).message.startswith("m3 still carries the summary's call of look (c9) without a result")


@pytest.mark.parametrize(
    "text", ['look({"at": "sky"})', '{"name": "look", "arguments": {"at": "sky"}}', "<tool_call>look c9</tool_call>"]
)
def test_a_text_that_is_nothing_but_the_call_is_told(text):
    assert "is the summary's tool call" in said("SUM-3", calling(text=text)).message


def test_a_text_that_speaks_of_the_call_is_a_text():
    text = 'The model asked for look({"at": "sky"}) once more; the last result was 42.'
    assert judged("SUM-3", calling(text=text)) == [OK]


def test_half_a_sentence_beside_the_call_is_no_answer():
    s = calling(text="One more look and then", beside="One more look and then ")
    assert "which the model said beside a call of look" in said("SUM-3", s).message


def test_half_a_sentence_that_an_error_follows_was_taken_back():
    s = at_the_limit(dialect={"summary_failure": "error"})
    s.ask(tools=None)
    s.reply(text="One more look.", calls=[("look", {}, "c9")], keep=False)
    s.text("One more look.")
    s.event("RUN_ERROR", message="limit; the summary asked for a tool", code="limit")
    s.outcome("limit")
    assert judged("SUM-3", s) == [OK]


# SUM-4


def failed(kind="limit", *, text="The summary failed; the last result was 42.", fail=True, **fields):
    s = at_the_limit(**fields)
    s.event("RAW", event=MARK)
    s.ask(tools=None)
    if fail:
        s.fail(500)
    else:
        s.reply(text="", keep=False)
    s.event("RUN_FINISHED")
    s.outcome(kind, text=text)
    return s


@pytest.mark.parametrize("fail", [True, False])
def test_a_failed_or_empty_summary_that_is_told_is_right(fail):
    assert judged("SUM-4", failed(fail=fail)) == [OK]


def test_a_summary_that_spoke_leaves_sum_4_nothing():
    assert judged("SUM-4", summarised()) == []


def test_a_failed_summary_does_not_change_what_ended_the_run():
    finding = said("SUM-4", failed("model_error"))
    assert finding.message.startswith("the summary m2 of run r1 failed (status 500), and the run ends as model_error")


def test_a_failed_summary_that_nobody_is_told_of_is_told():
    finding = said("SUM-4", failed(text="The last result was 42."))
    assert "nothing the caller reads says so" in finding.message


def test_work_lost_with_the_summary_is_told_by_the_next_request():
    s = failed(capabilities={"sessions": True})
    s.end()
    s.begin("Go on.")
    s.ask(messages=[{"role": "user", "content": "Go on."}])
    s.reply(text="?")
    assert said("SUM-4", s).message.startswith(
        "after the failed summary of run r1, m3 of run r2 lacks the result of look (x1)"
    )


# SUM-5


def test_a_summary_with_all_results_and_an_instruction_is_right():
    assert judged("SUM-5", summarised()) == [OK, OK]


def test_a_result_that_is_not_in_its_calls_message_is_told():
    s = at_the_limit({"ship": "AURORA", "berths": [7]})
    s.history[-1]["content"] = "ok"
    s.ask(tools=None, messages=[*s.history, NOW])
    s.reply(text="42")
    assert said("SUM-5", s).message.startswith("the summary request m2 lacks ['AURORA', 7] of what look returned in x1")


def test_results_from_before_a_compaction_are_not_owed():
    s = at_the_limit("AURORA")
    s.ask(tools=None, side="compaction")
    s.reply(text="Seen so far: a ship.", keep=False)
    s.ask(tools=None, messages=[{"role": "user", "content": "Seen so far: a ship. Answer now."}])
    s.reply(text="A ship.")
    assert judged("SUM-5", s) == []


def test_renumbered_ids_and_results_in_words_are_right():
    s = at_the_limit("AURORA", dialect={"tool_history": "text"})
    s.ask(tools=None, messages=[{"role": "user", "content": 'look returned "AURORA". Answer now.'}])
    s.reply(text="AURORA")
    assert judged("SUM-5", s) == [OK]


def test_an_instruction_in_the_system_text_is_one():
    s = at_the_limit()
    s.ask(tools=None, messages=[{"role": "system", "content": "Answer now."}, *s.history])
    s.reply(text="42")
    assert judged("SUM-5", s) == [OK, OK]


def test_a_summary_request_that_says_nothing_new_warns():
    finding = said("SUM-5", summarised(messages=None))
    assert finding.level is SHOULD
    assert "says to answer now" in finding.message


# SUM-6


def test_the_summarys_text_is_one_to_read():
    assert judged("SUM-6", summarised()) == [OK]


def test_a_text_shown_by_events_alone_will_do():
    s = at_the_limit(channels="MTE")
    s.ask(tools=None)
    s.reply(text="42")
    s.text("42")
    s.event("RUN_FINISHED")
    assert judged("SUM-6", s) == [OK]


@pytest.mark.parametrize("text", [None, "", " \n"])
def test_a_user_who_reads_nothing_is_told(text):
    assert said("SUM-6", summarised(text=text)).message.startswith(
        "run r1 asked for a summary in m2 and the user reads nothing"
    )


def test_a_text_from_before_the_limit_is_no_summary():
    s = Story(max_iters=1, channels="MTE")
    s.ask()
    s.reply(text="Let me look.", calls=[("look", {}, "c1")])
    s.text("Let me look.")
    s.execute("look", {}, "c1", 42)
    s.ask(tools=None)
    s.reply(text="", keep=False)
    s.event("RUN_FINISHED")
    assert "the user reads nothing" in said("SUM-6", s).message


def test_a_declared_error_owes_no_text():
    assert judged("SUM-6", failed(text=None, dialect={"summary_failure": "error"})) == []


# SUM-7


def marked(*, first):
    s = at_the_limit()
    if first:
        s.event("RAW", event=MARK)
    s.ask(tools=None)
    s.reply(text="42")
    if not first:
        s.event("RAW", event=MARK)
    s.event("RUN_FINISHED")
    return s


def test_the_marker_before_the_summary_is_right():
    assert judged("SUM-7", marked(first=True)) == [OK]


def test_the_marker_after_the_summary_is_told():
    assert said("SUM-7", marked(first=False)).message.startswith(
        "the limit marker of run r1 came after the summary request m2"
    )


@pytest.mark.parametrize(
    ("behind", "warns"),
    [
        ("\n\nAnswer now with what you have.", False),
        ("\n请立即回答。", False),
        ("</result>", True),
        ('", "state": "fine"}', True),
        ("", True),
    ],
)
def test_an_instruction_may_stand_behind_the_last_result(behind, warns):
    s = at_the_limit("AURORA")
    s.history[-1]["content"] += behind
    s.ask(tools=None)
    s.reply(text="AURORA")
    assert sum(isinstance(one, Finding) for one in judged("SUM-5", s)) == warns


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ({"summary": {"error": None, "text": "Bye."}}, False),
        ({"summary": {"note": "the summary failed"}}, True),
        ({"summary_failed": True}, True),
        ({"summary_failed": False}, False),
    ],
)
def test_the_names_of_fields_tell_no_failure(value, told):
    s = at_the_limit()
    s.ask(tools=None)
    s.fail(500, message="Overheated.")
    s.event("CUSTOM", name="limit", value=value)
    s.event("RUN_FINISHED")
    s.outcome("limit", text="Bye.")
    assert [isinstance(one, Finding) for one in judged("SUM-4", s)] == [not told]


@pytest.mark.parametrize(("terminal", "right"), [("raise", True), ("finished", False)])
def test_an_exception_that_nobody_named_may_be_the_limits(terminal, right):
    s = at_the_limit(dialect={"limit_terminal": terminal})
    s.ask(tools=None)
    s.fail(500, message="Overheated.")
    s.raises("LimitReached", "The limit was reached and the summary failed.")
    assert (judged("SUM-4", s) == [OK]) is right
