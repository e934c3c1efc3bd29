"""HIS on recordings told by hand: what a request must hold, and what an unusual but right agent may do."""

import pytest
from story import Story

from conformance.reading.joined import view
from conformance.rule import OK, SHOULD, Finding
from conformance.rules.history import RULES

BY_ID = {rule.id: rule for rule in RULES}
USER = {"role": "user", "content": "What is it?"}


def assistant(*calls):
    made = [{"id": i, "type": "function", "function": {"name": n, "arguments": a}} for n, a, i in calls]
    return {"role": "assistant", "content": None, "tool_calls": made}


def tool(call_id, content="42"):
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def judged(rule, story):
    read = view(story.recording())
    return BY_ID[rule].applies(read) or list(BY_ID[rule].check(read))


def one(rule, story):
    """The only finding."""
    [finding] = [found for found in judged(rule, story) if isinstance(found, Finding)]
    return finding


def looked(*, calls=(("look", "{}", "c1"),), messages=None, value=42, **story):
    """One round of calls that ran, and the request behind it, honest or as given."""
    s = Story(**story)
    s.ask()
    s.reply(calls=calls)
    for name, arguments, call_id in calls:
        s.execute(name, {} if arguments == "{}" else {"n": arguments}, call_id, value)
    s.ask(messages=messages)
    return s


def test_each_call_with_its_result_is_right():
    assert judged("HIS-1", looked()) == [OK]
    assert judged("HIS-2", looked()) == [OK]
    assert judged("HIS-3", looked()) == [OK]


@pytest.mark.parametrize("rule", ["HIS-1", "HIS-2", "HIS-3", "HIS-3b", "HIS-4", "HIS-10"])
def test_nothing_is_judged_where_no_tool_was_called(rule):
    s = Story()
    s.ask()
    s.reply("42")
    assert judged(rule, s) == []


@pytest.mark.parametrize("rule", ["HIS-1", "HIS-2", "HIS-3", "HIS-3b", "HIS-4"])
def test_history_that_travels_as_text_has_no_structure_to_judge(rule):
    assert judged(rule, looked(dialect={"tool_history": "text"})) == "dialect"


BROKEN_PAIRS = {
    "no result": ([USER, assistant(("look", "{}", "c1"))], "m2: call 'c1' (look) of messages[1] has no result"),
    "two results": (
        [USER, assistant(("look", "{}", "c1")), tool("c1"), tool("c1")],
        "has 2 results (messages[2], messages[3]), expected exactly one",
    ),
    "the result behind a user message": (
        [USER, assistant(("look", "{}", "c1")), USER, tool("c1")],
        "has its result at messages[3], expected it directly behind the call",
    ),
}


@pytest.mark.parametrize(("messages", "says"), BROKEN_PAIRS.values(), ids=BROKEN_PAIRS)
def test_a_call_without_exactly_one_result_is_found(messages, says):
    assert says in one("HIS-1", looked(messages=messages)).message


def test_an_open_call_that_stays_is_told_of_once():
    broken = [USER, assistant(("look", "{}", "c1"))]
    s = looked(messages=broken)
    s.ask(messages=[*broken, USER])
    assert one("HIS-1", s).message.startswith("m2: ")


def test_a_result_without_its_call_is_found():
    found = one("HIS-2", looked(messages=[USER, tool("c9")]))
    assert "m2: messages[1] is a result for call id 'c9', but no call before it has that id" in found.message


def test_ids_numbered_anew_are_right():
    s = looked(messages=[USER, assistant(("look", "{}", "x1")), tool("x1")])
    assert judged("HIS-3", s) == [OK]
    assert judged("HIS-10", s) == [OK]


BROKEN_IDS = {
    "an empty id": (
        [USER, assistant(("look", "{}", "")), tool("")],
        "call '' (look) of messages[1] has no id, expected a non-empty one",
    ),
    "another id": (
        [USER, assistant(("look", "{}", "c1")), tool("c7")],
        "the result at messages[2] has the id 'c7', expected that of a call before it: ['c1']",
    ),
}


@pytest.mark.parametrize(("messages", "says"), BROKEN_IDS.values(), ids=BROKEN_IDS)
def test_ids_that_the_agent_broke_are_found(messages, says):
    assert says in one("HIS-3", looked(messages=messages)).message


def test_one_id_for_two_calls_is_found_once():
    twice = [USER, assistant(("look", "{}", "c1"), ("look", "{}", "c1")), tool("c1"), tool("c1")]
    s = looked(calls=(("look", "{}", "c1"), ("look", "{}", "c2")), messages=twice)
    assert [f.message for f in judged("HIS-3", s)] == [
        "m2: 2 calls have the id 'c1' (messages[1], messages[1]), expected one"
    ]


def test_ids_the_model_broke_are_judged_as_a_recommendation_and_only_there():
    same = (("look", "{}", "c1"), ("look", "{}", "c1"))
    assert judged("HIS-3", looked(calls=same)) == []
    [found] = judged("HIS-3b", looked(calls=same))
    assert "2 calls have the id 'c1'" in found.message
    assert BY_ID["HIS-3b"].level is SHOULD
    repaired = [USER, assistant(("look", "{}", "c1"), ("look", "{}", "c1-2")), tool("c1"), tool("c1-2")]
    assert judged("HIS-3b", looked(calls=same, messages=repaired)) == [OK]


def test_an_id_that_a_broken_reply_and_the_one_after_it_had_is_the_models_own():
    s = Story()
    s.ask()
    s.reply(calls=[("look", "{}", "c1")], fault={"cut": {"after_chunks": 2}}, done=False)
    s.execute("look", {}, "c1", 42)
    s.ask()
    s.reply(calls=[("look", "{}", "c1")])
    s.execute("look", {}, "c1", 42)
    s.ask()
    assert [found for found in judged("HIS-3", s) if found is not OK] == []
    assert "m3: 2 calls have the id 'c1' (messages[1], messages[3])" in one("HIS-3b", s).message


def test_a_call_without_an_id_that_was_dropped_is_found_unless_refusal_is_declared():
    calls = (("look", "{}", None),)
    assert (
        "call None (look) of m1 has an id that is missing"
        in one("HIS-3b", looked(calls=calls, messages=[USER])).message
    )
    assert judged("HIS-3b", looked(calls=calls, messages=[USER], dialect={"bad_ids": "refuse"})) == []


def unanswered(answer=None, *, keep=True, ran=False, ending="returned", **story):
    """A call in the last round that is skipped; the next run's request follows."""
    s = Story(max_iters=1, dialect={"last_round_tools": "skip", "on_limit": "stop"}, **story)
    s.ask()
    s.reply(calls=[("look", {}, "c1")], keep=keep)
    if ran:
        s.execute("look", {}, "c1", 42)
    if answer is not None:
        s.answer("c1", answer)
    s.end(ending)
    s.begin("And now?", max_iters=1)
    s.ask()
    return s


def test_a_call_that_never_ran_and_says_so_is_right():
    assert judged("HIS-4", unanswered("error: not run, the limit was reached")) == [OK]


def test_a_call_that_never_ran_without_a_result_is_found_in_the_next_run():
    assert one("HIS-4", unanswered()).message == (
        "m2: call 'c1' (look) of m1 never ran and has no result, expected an error result that says so"
    )


def test_a_blank_result_of_a_call_that_never_ran_is_found():
    assert "its result is blank" in one("HIS-4", unanswered(" ")).message


@pytest.mark.parametrize("content", ["42", "done", '{"total": 0}', "ran: fine"])
def test_a_call_that_never_ran_and_reads_as_if_it_had_is_found(content):
    assert "never ran and its result is" in one("HIS-4", unanswered(content)).message


@pytest.mark.parametrize(
    "content", ["Not run.", "skipped: out of rounds", "Denied by the user.", "未执行", '{"status": "interrupted"}']
)
def test_any_words_that_say_a_call_never_ran_will_do(content):
    assert judged("HIS-4", unanswered(content)) == [OK]


def test_a_call_that_is_taken_out_of_the_history_of_a_kept_session_is_found():
    assert "is gone from the history" in one("HIS-4", unanswered(keep=False, capabilities={"sessions": True})).message


def test_a_call_that_the_agent_may_have_taken_back_needs_no_result():
    assert judged("HIS-4", unanswered(keep=False)) == []
    s = unanswered(keep=False, capabilities={"sessions": True}, ending="cancelled")
    assert judged("HIS-4", s) == []


def test_a_call_dropped_from_the_next_request_of_its_run_is_found():
    s = Story()
    s.ask()
    s.reply(calls=[("look", {}, "c1")], keep=False)
    s.ask()
    assert "is gone from the history" in one("HIS-4", s).message


def test_a_call_that_ran_is_not_judged_as_one_that_did_not():
    assert judged("HIS-4", unanswered(ran=True)) == []


def test_a_call_of_an_unknown_tool_is_left_to_its_own_rule():
    s = Story()
    s.ask()
    s.reply(calls=[("nope", {}, "c1")])
    s.ask()
    assert judged("HIS-4", s) == []


def asked(*requests, between=None):
    s = Story(dialect={"side_calls": {"compaction": [{"text": "Summarise"}]}})
    for messages in requests:
        s.ask(messages=messages)
        s.reply(calls=[("look", {}, f"c{s.calls}")], keep=False)
        if between is not None:
            s.ask(messages=between)
            s.reply("short", keep=False)
    return s


def text(content, role="user"):
    return {"role": role, "content": content}


def test_the_users_text_in_one_message_is_right():
    assert judged("HIS-7", asked([USER], [USER])) == [OK, OK]


def test_the_users_text_may_stand_inside_a_merged_message():
    assert judged("HIS-7", asked([text("Context: none.\nWhat is it?\nBe brief.")])) == [OK]


def test_the_users_text_that_is_not_there_is_found():
    assert one("HIS-7", asked([text("What is it?", "system")])).message.startswith(
        'm1: no user message holds the user\'s text "What is it?"'
    )


def test_the_users_text_sent_twice_is_found():
    assert "m1: 2 user messages hold the user's text" in one("HIS-7", asked([USER, USER])).message


def test_a_later_mention_of_the_users_text_does_not_count():
    assert judged("HIS-7", asked([USER], [USER, text("You asked: What is it?")])) == [OK, OK]


def test_a_mention_behind_a_reply_that_an_attempt_got_does_not_count():
    s = Story(max_iters=1)
    s.ask(messages=[USER])
    s.fail(500)
    s.ask(again=True)
    s.reply(calls=[("look", {}, "c1")], keep=False)
    s.ask(messages=[USER, text("Now answer: What is it?")], tools=None)
    assert judged("HIS-7", s) == [OK, OK]


def closing_behind_failures(messages, *, kind="limit", tools=None):
    """A run whose every reply breaks, and that asks for a closing text in the end."""
    s = Story(max_iters=2)
    for place in range(2):
        s.ask(messages=[USER, *[text("That was no reply.")] * place])
        s.reply("", fault={"error": {"status": 200, "body": "<html>"}}, done=False, keep=False)
        s.record("model", "reply_done", call=f"m{s.calls}", bytes=10, by="kit")
    s.ask(messages=messages, tools=tools)
    s.reply("", fault={"error": {"status": 200, "body": "<html>"}}, keep=False)
    s.outcome(kind, text="Nothing came.")
    return s


def test_a_closing_request_behind_failed_rounds_may_say_once_more_what_was_asked():
    twice = [USER, text("Now answer: What is it?")]
    assert judged("HIS-7", closing_behind_failures(twice)) == [OK, OK]
    assert "m3: 2 user messages" in one("HIS-7", closing_behind_failures(twice, kind="model_error")).message
    assert "m3: 2 user messages" in one("HIS-7", closing_behind_failures(twice, tools=["look"])).message
    assert "m3: no user message" in one("HIS-7", closing_behind_failures([text("Now answer.")])).message


def test_the_users_text_lost_on_the_way_is_found():
    assert one("HIS-7", asked([USER], [text("go on")])).message.startswith("m2: no user message")


def test_a_compaction_may_take_the_users_text_away():
    assert judged("HIS-7", asked([USER], [text("Summary: looking.")], between=[text("Summarise")])) == [OK]


def compacted_at_once(after):
    """A compaction before the run's first reply, and the request that came of it."""
    s = Story(dialect={"side_calls": {"compaction": [{"text": "Summarise"}]}})
    s.ask(messages=[text("Summarise")])
    s.reply("short", keep=False)
    s.ask(messages=after)
    s.reply("42")
    return s


def test_a_compaction_before_the_first_reply_keeps_what_the_user_asked():
    assert judged("HIS-7", compacted_at_once([text("Earlier: nothing."), USER])) == [OK]
    assert judged("HIS-7", compacted_at_once([text("Told: What is it?", "system")])) == []
    assert "is gone" in one("HIS-7", compacted_at_once([text("Summary: short.")])).message


def test_the_text_of_the_next_run_is_looked_for_there():
    s = Story()
    s.ask()
    s.reply("42")
    s.end()
    s.begin("Go on")
    s.plan["runs"].append({"user": "Go on", "model": [{"answer": "43"}]})
    s.ask(messages=[USER])
    assert one("HIS-7", s).message.startswith('m2: no user message holds the user\'s text "Go on"')


VALUE = {"ship": "MSC AURORA", "items": [{"id": "C-001", "tons": 12.50}], "loaded": True}


@pytest.mark.parametrize(
    "content",
    [
        '{"ship": "MSC AURORA", "items": [{"id": "C-001", "tons": 12.5}], "loaded": true}',
        "{'ship': 'MSC AURORA', 'items': [{'id': 'C-001', 'tons': 12.5}], 'loaded': True}",
        "MSC AURORA: C-001, 12.50 t, loaded: yes",
        '{"result": "{\\"ship\\": \\"MSC AURORA\\", \\"id\\": \\"C-001\\", \\"tons\\": 1.25e1, \\"loaded\\": true}"}',
    ],
)
def test_a_result_that_arrives_in_any_form_is_right(content):
    s = looked(value=VALUE, messages=[USER, assistant(("look", "{}", "c1")), tool("c1", content)])
    assert judged("HIS-10", s) == [OK]


def test_a_result_that_lost_a_value_is_found():
    s = looked(
        value=VALUE,
        messages=[USER, assistant(("look", "{}", "c1")), tool("c1", '{"ship": "MSC AURORA", "loaded": true}')],
    )
    assert 'its result there lacks "C-001", 12.5; it says' in one("HIS-10", s).message


def test_a_result_that_went_to_another_call_is_found():
    calls = (("look", "{}", "c1"), ("find", "{}", "c2"))
    tools = {n: {"description": "", "parameters": {"type": "object"}, "returns": 1} for n in ("look", "find")}
    s = Story(tools=tools)
    s.ask()
    s.reply(calls=calls)
    s.execute("look", {}, "c1", "red")
    s.execute("find", {}, "c2", "blue")
    s.ask(messages=[USER, assistant(*calls), tool("c1", "blue"), tool("c2", "red")])
    assert [f.message.split(",")[0] for f in judged("HIS-10", s)] == [
        "m2: call 'c1' (look) of m1 returned \"red\" (x1)",
        "m2: call 'c2' (find) of m1 returned \"blue\" (x2)",
    ]


def test_a_call_that_ran_and_is_left_out_of_the_next_request_is_found():
    assert "but the request holds no such call" in one("HIS-10", looked(messages=[USER])).message


def test_results_as_text_may_stand_anywhere():
    told = looked(messages=[text("What is it?\nlook returned 42")], dialect={"tool_history": "text"})
    assert judged("HIS-10", told) == [OK]
    lost = looked(messages=[USER], dialect={"tool_history": "text"})
    assert "the request lacks 42" in one("HIS-10", lost).message


def test_a_summary_takes_results_over():
    assert judged("HIS-10", looked(max_iters=1, messages=[USER])) == []


def test_a_failed_tool_is_left_to_its_own_rule():
    s = Story()
    s.ask()
    s.reply(calls=[("look", {}, "c1")])
    s.execute("look", {}, "c1", error=("OSError", "no disk"))
    s.ask(messages=[USER])
    assert judged("HIS-10", s) == []


def test_a_large_result_may_be_cut():
    s = looked(value="x" * 5000, messages=[USER, assistant(("look", "{}", "c1")), tool("c1", "xxx... (cut)")])
    assert judged("HIS-10", s) == []


LONG = text("Earlier: " + "many ships came and went. " * 9)


def shortened(*, digested, after, refused=True, value="B-77"):
    """A result, a request that is too long, a compaction that is asked with `digested`, and the request after it."""
    s = Story(dialect={"side_calls": {"compaction": [{"text": "Summarise"}]}})
    s.ask(messages=[LONG, USER])
    s.reply(calls=[("look", {}, "c1")])
    s.execute("look", {}, "c1", value)
    whole = [LONG, USER, assistant(("look", "{}", "c1")), tool("c1", value)]
    if refused:
        s.ask(messages=whole)
        s.fail(status=400, message="Too long.", code="context_length_exceeded")
    s.ask(messages=[text(f"Summarise: {digested}")])
    s.reply("short", keep=False)
    s.ask(messages=after)
    return s


CALLED = assistant(("look", "{}", "c1"))


def test_a_result_that_a_compaction_has_read_is_not_owed():
    for refused in (True, False):
        told = judged("HIS-10", shortened(digested="look gave B-77", after=[USER], refused=refused))
        assert told == ([OK] if refused else [])


def test_a_result_that_a_compaction_drops_before_any_model_has_read_it_is_found():
    for refused in (True, False):
        found = judged("HIS-10", shortened(digested="many ships", after=[USER], refused=refused))[-1]
        assert (
            'which no model has read yet, and the history that was made smaller behind it lacks "B-77"' in found.message
        )


def test_a_small_result_that_became_a_sentence_about_its_size_is_found():
    after = [USER, CALLED, tool("c1", "The result was too large.")]
    assert "which no model has read yet" in judged("HIS-10", shortened(digested="many ships", after=after))[-1].message


def test_a_result_that_outlives_a_compaction_is_right():
    after = [USER, CALLED, tool("c1", "B-77")]
    assert judged("HIS-10", shortened(digested="many ships", after=after)) == [OK, OK]
    assert judged("HIS-10", shortened(digested="many ships", after=after, refused=False)) == [OK, OK]


def test_a_result_that_is_told_in_other_words_behind_a_compaction_is_left_alone():
    after = [USER, text("The berth is booked as B-77.", "system")]
    assert judged("HIS-10", shortened(digested="many ships", after=after, refused=False)) == []


def test_a_result_that_is_much_of_the_history_may_go_with_it():
    for after in ([USER], [USER, CALLED, tool("c1", "The result was too large.")]):
        assert judged("HIS-10", shortened(digested="many ships", after=after, refused=False, value="B" * 60)) == []


def test_a_result_that_was_read_once_may_go():
    s = Story(dialect={"side_calls": {"compaction": [{"text": "Summarise"}]}})
    s.ask(messages=[LONG, USER])
    s.reply(calls=[("look", {}, "c1")])
    s.execute("look", {}, "c1", "B-77")
    s.ask(messages=[LONG, USER, CALLED, tool("c1", "B-77")])
    s.reply(calls=[("look", {}, "c2")])
    s.execute("look", {}, "c2", "B-78")
    s.ask(messages=[text("Summarise: many ships")])
    s.reply("short", keep=False)
    s.ask(messages=[USER, assistant(("look", "{}", "c2")), tool("c2", "B-78")])
    assert judged("HIS-10", s) == [OK, OK, OK]


def stopped(*, messages=None, capabilities=None, raised=False):
    s = Story(max_iters=1, dialect={"on_limit": "stop"}, capabilities=capabilities)
    s.ask()
    s.reply(calls=[("look", {}, "c1")])
    s.execute("look", {}, "c1", 42)
    if raised:
        s.raises()
    s.end("raised" if raised else "returned")
    s.begin("Go on", max_iters=1)
    s.ask(messages=messages)
    return s


def test_a_result_of_the_run_before_is_owed_where_the_session_is_kept():
    fresh = [text("Go on")]
    assert judged("HIS-10", stopped()) == [OK]
    assert (
        "but the request holds no such call"
        in one("HIS-10", stopped(messages=fresh, capabilities={"sessions": True})).message
    )
    assert judged("HIS-10", stopped(messages=fresh)) == []
    assert judged("HIS-10", stopped(messages=fresh, capabilities={"sessions": True}, raised=True)) == []


@pytest.mark.parametrize(
    ("raised", "says", "found"), [(True, "interrupted", 0), (True, "7", 1), (False, "interrupted", 1)]
)
def test_a_call_beside_which_its_run_failed_may_be_told_as_interrupted(raised, says, found):
    messages = [USER, assistant(("look", "{}", "c1")), tool("c1", says), text("Go on")]
    s = stopped(messages=messages, capabilities={"sessions": True}, raised=raised)
    assert len([one for one in judged("HIS-10", s) if one is not OK]) == found


def test_calls_of_the_history_before_the_first_run_are_no_calls_of_the_model():
    history = [
        {"role": "user", "content": "Earlier."},
        {
            "role": "assistant",
            "toolCalls": [{"id": "h1", "type": "function", "function": {"name": "look", "arguments": "{}"}}],
        },
        {"role": "tool", "toolCallId": "h1", "content": "7"},
    ]
    before = [text("Earlier."), assistant(("look", "{}", "h1")), tool("h1", "7"), USER]
    s = Story(scenario={"history": history})
    s.ask(messages=before)
    s.reply(calls=[("look", {}, "c1")], keep=False)
    s.execute("look", {}, "c1", 42, keep=False)
    s.ask(messages=[*before, assistant(("look", "{}", "c1")), tool("c1")])
    assert judged("HIS-10", s) == [OK]
    assert judged("HIS-3", s) == [OK, OK]


def test_a_run_that_carries_no_text_of_the_user_is_not_judged():
    s = Story(user=None, scenario={"runs": [{"resume": [], "model": [{"answer": "42"}]}]})
    s.ask(messages=[USER])
    assert judged("HIS-7", s) == []


def test_a_call_in_the_very_last_reply_owes_nothing_yet():
    s = Story()
    s.ask()
    s.reply(calls=[("look", {}, "c1")])
    assert judged("HIS-4", s) == []
    s.execute("look", {}, "c1", 42)
    assert judged("HIS-10", s) == []


@pytest.mark.parametrize("end", ["cancelled", "returned"])
def test_a_waiting_call_may_be_taken_back_with_the_run_that_was_to_go_on_with_it(end):
    pay = {"description": "Pays.", "parameters": {"type": "object"}, "returns": 1, "approval": True}
    runs = [{"user": "What is it?", "model": [{"answer": "x"}]} for _ in range(3)]
    s = Story(
        tools={"pay": pay}, capabilities={"sessions": True, "approval": True, "cancel": True}, scenario={"runs": runs}
    )
    s.ask()
    s.reply(calls=[("pay", {}, "c1")], keep=False)
    s.event("RUN_FINISHED", outcome={"type": "interrupt", "interrupts": [{"id": "i1", "toolCallId": "c1"}]})
    s.outcome("waiting")
    s.end()
    s.begin(None)
    s.records[-1].data["input"]["resume"] = [{"interruptId": "i1", "status": "resolved", "payload": {"approved": True}}]
    if end == "cancelled":
        s.record("kit", "cancel", run="r2", point="in_tools")
        s.outcome("interrupted")
    else:
        s.outcome("error")
    s.end()
    s.begin("And now?")
    s.ask()
    s.reply("43")
    assert (judged("HIS-4", s) == []) is (end == "cancelled")


def without_a_result(**ran):
    """The request behind a call, whose result the agent dropped: the call returned, raised or never ran."""
    s = Story()
    s.ask()
    s.reply(calls=[("look", {}, "c1")])
    if ran:
        s.execute("look", {}, "c1", keep=False, **ran)
    s.ask()
    return s


@pytest.mark.parametrize(
    ("ran", "says"),
    [
        (
            {"value": 127},
            "although it ran as x1 and returned 127; expected exactly one tool message directly behind it that",
        ),
        (
            {"error": ("Fog", "no sight")},
            'although it ran as x1 and raised "no sight"; expected exactly one tool message',
        ),
        (
            {},
            "expected exactly one tool message directly behind it; answer calls that did not run with an error result",
        ),
    ],
)
def test_a_call_without_a_result_is_told_with_what_it_came_to(ran, says):
    assert says in one("HIS-1", without_a_result(**ran)).message


def test_what_ran_is_not_looked_at_where_nobody_can_see_it():
    s = without_a_result(value=127)
    s.header["channels"] = tuple("MR")
    assert "answer calls that did not run" in one("HIS-1", s).message


def test_a_result_that_is_not_there_says_nothing_and_lacks_nothing():
    s = without_a_result(value=127)
    assert one("HIS-10", s).message == (
        "m2: call 'c1' (look) of m1 returned 127 (x1), but the request has no result of it"
    )
