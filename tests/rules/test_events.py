"""EVT on recordings told by hand: broken streams, and streams that are unusual but right."""

import pytest
from story import Story

from conformance.reading.joined import view
from conformance.rule import MUST, OK, SHOULD, Finding
from conformance.rules.events import RULES

BY_ID = {rule.id: rule for rule in RULES}


def judged(rule, story):
    return list(BY_ID[rule].check(view(story.recording())))


def findings(rule, story):
    return [one for one in judged(rule, story) if isinstance(one, Finding)]


def only(rule, story):
    [finding] = findings(rule, story)
    return finding


def stream(*events, **story):
    """A story with nothing but events: each a type, or (type, fields)."""
    s = Story(**story)
    for event in events:
        kind, fields = (event, {}) if isinstance(event, str) else event
        s.event(kind, **fields)
    return s


def start(message, kind="TEXT_MESSAGE"):
    return f"{kind}_START", {"messageId": message, "role": "assistant" if kind == "TEXT_MESSAGE" else "reasoning"}


def end(message, kind="TEXT_MESSAGE"):
    return f"{kind}_END", {"messageId": message}


def call(name, *, done=True):
    yield "TOOL_CALL_START", {"toolCallId": name, "toolCallName": "look"}
    if done:
        yield "TOOL_CALL_END", {"toolCallId": name}


def result(name, content="42"):
    return "TOOL_CALL_RESULT", {"toolCallId": name, "messageId": f"r-{name}", "content": content}


PLAIN = ("RUN_STARTED", start("t1"), end("t1"), "RUN_FINISHED")


@pytest.mark.parametrize("rule", [rule.id for rule in RULES])
def test_a_run_without_events_has_nothing_to_judge(rule):
    s = Story()
    s.ask()
    s.reply("42")
    assert judged(rule, s) == []


@pytest.mark.parametrize("rule", ["EVT-1", "EVT-1b", "EVT-2", "EVT-2b", "EVT-3"])
def test_a_plain_stream_is_right(rule):
    assert judged(rule, stream(*PLAIN)) == [OK]


@pytest.mark.parametrize("rule", ["EVT-2", "EVT-2b", "EVT-3", "EVT-3b"])
def test_a_stream_without_brackets_shows_nothing_about_them(rule):
    assert judged(rule, stream("RUN_STARTED", "RUN_FINISHED")) == []
    assert judged(rule, stream("RUN_STARTED", "RUN_ERROR")) == []


@pytest.mark.parametrize(
    ("event", "fault"),
    [
        (("THINKING_START", {}), "THINKING_START: type is 'THINKING_START'"),
        (("TEXT_MESSAGE_START", {"messageId": 1}), "messageId: Input should be a valid string"),
        (("TOOL_CALL_RESULT", {"toolCallId": "c", "content": "x"}), "messageId: Field required"),
        (("CUSTOM", {"name": "n"}), "value: Field required"),
    ],
)
def test_evt_1_names_the_event_and_the_field(event, fault):
    assert fault in only("EVT-1", stream("RUN_STARTED", event, "RUN_FINISHED")).message


def test_evt_1_says_an_equal_fault_once_and_counts_it():
    s = stream("RUN_STARTED", *[("TEXT_MESSAGE_CONTENT", {"messageId": "t1"})] * 3, "RUN_FINISHED")
    assert "delta: Field required (3 times)" in only("EVT-1", s).message


def test_evt_1_takes_events_with_fields_of_the_agents_own():
    assert judged("EVT-1", stream("RUN_STARTED", ("RUN_FINISHED", {"mine": 1}))) == [OK]


@pytest.mark.parametrize(
    ("event", "fault"),
    [
        (
            ("TOOL_CALL_START", {"toolCallId": "c", "toolCallName": "f", "parentMessageId": None}),
            "parentMessageId is null",
        ),
        (("TEXT_MESSAGE_END", {"message_id": "m"}), "message_id is spelled in snake_case"),
        (("REASONING_MESSAGE_START", {"messageId": "m"}), "role is missing"),
    ],
)
def test_evt_1b_warns_of_what_only_the_client_refuses(event, fault):
    s = stream("RUN_STARTED", event, "RUN_FINISHED")
    assert judged("EVT-1", s) == [OK]
    assert fault in only("EVT-1b", s).message


@pytest.mark.parametrize(
    ("events", "message"),
    [
        (("RUN_STARTED", end("t1"), "RUN_FINISHED"), "TEXT_MESSAGE_END is about text message 't1', which is not open"),
        (
            ("RUN_STARTED", start("t1"), start("t1"), end("t1"), "RUN_FINISHED"),
            "opens text message 't1', which is already open",
        ),
        (("RUN_STARTED", "RUN_ERROR", start("t1")), "TEXT_MESSAGE_START comes after RUN_ERROR"),
        (("RUN_STARTED", "RUN_FINISHED", "RUN_FINISHED"), "RUN_FINISHED comes after RUN_FINISHED"),
        (("RUN_STARTED", start("t1"), "RUN_FINISHED"), "RUN_FINISHED comes while text message 't1' is still open"),
        (("RUN_STARTED", ("TEXT_MESSAGE_CHUNK", {"delta": "a"}), "RUN_FINISHED"), "opens without messageId"),
    ],
)
def test_evt_2_refuses_what_the_client_refuses(events, message):
    assert message in only("EVT-2", stream(*events)).message


@pytest.mark.parametrize(
    "events",
    [
        ("RUN_STARTED", start("a"), start("b"), end("a"), end("b"), "RUN_FINISHED"),
        ("RUN_STARTED", start("a"), *call("c"), end("a"), "RUN_FINISHED"),
        ("RUN_STARTED", start("a", "REASONING_MESSAGE"), end("a", "REASONING_MESSAGE"), "RUN_FINISHED"),
        ("RUN_STARTED", ("TEXT_MESSAGE_CHUNK", {"messageId": "a", "delta": "x"}), "RUN_FINISHED"),
        ("RUN_STARTED", start("a"), end("a"), "RUN_FINISHED", "RUN_ERROR"),
        ("RUN_STARTED", start("a"), end("a"), start("a"), end("a"), "RUN_FINISHED"),
    ],
    ids=["mixed messages", "a call inside a message", "no reasoning span", "chunks", "an error late", "reopened"],
)
def test_evt_2_lets_pass_what_the_client_lets_pass(events):
    assert judged("EVT-2", stream(*events)) == [OK]


def test_evt_2_looks_at_the_parts_of_other_runs_too():
    s = stream(("RUN_STARTED", {"runId": "child"}), start("a"), "RUN_STARTED", "RUN_FINISHED")
    assert "RUN_STARTED comes while the run before is still active" in only("EVT-2", s).message


def test_evt_2b_warns_of_an_id_that_is_opened_again():
    s = stream("RUN_STARTED", *call("c1"), *call("c1"), "RUN_FINISHED")
    assert "opens tool call 'c1' again" in only("EVT-2b", s).message
    assert BY_ID["EVT-2b"].level == SHOULD


@pytest.mark.parametrize(
    ("events", "what"),
    [
        ((start("t1"),), "text message 't1'"),
        (tuple(call("c1", done=False)), "tool call 'c1'"),
        ((("STEP_STARTED", {"stepName": "plan"}),), "step 'plan'"),
        ((("REASONING_START", {"messageId": "z"}),), "reasoning span 'z'"),
        ((start("q", "REASONING_MESSAGE"),), "reasoning message 'q'"),
    ],
)
def test_what_is_open_at_the_end_is_named(events, what):
    finished = only("EVT-3", stream("RUN_STARTED", *events, "RUN_FINISHED"))
    failed = only("EVT-3b", stream("RUN_STARTED", *events, "RUN_ERROR"))
    assert f"{what} is still open at RUN_FINISHED" in finished.message
    assert f"{what} is still open at RUN_ERROR" in failed.message
    assert judged("EVT-3", stream("RUN_STARTED", *events, "RUN_ERROR")) == []


def test_evt_3b_does_not_bind_an_exception_that_is_a_declared_end():
    def cut_off(**story):
        s = stream("RUN_STARTED", start("t1"), **story)
        s.event("RUN_ERROR", raised=True)
        s.raises("TooManySteps")
        s.end("raised")
        return s

    assert judged("EVT-3b", cut_off(dialect={"exceptions": {"TooManySteps": "limit"}})) == []
    assert "text message 't1'" in only("EVT-3b", cut_off()).message


def test_evt_4_wants_a_call_that_was_shown():
    lost = stream("RUN_STARTED", *call("c1"), result("c2"), "RUN_FINISHED")
    assert judged("EVT-4", stream("RUN_STARTED", *call("c1"), result("c1"), "RUN_FINISHED")) == [OK]
    assert "names call 'c2'; the calls shown in this run and the one before are c1" in only("EVT-4", lost).message


def two_runs(*second, first=(), session="s1"):
    s = stream("RUN_STARTED", *first, "RUN_FINISHED")
    s.end()
    s.begin("And now?", session=session)
    for event in ("RUN_STARTED", *second, "RUN_FINISHED"):
        kind, fields = (event, {}) if isinstance(event, str) else event
        s.event(kind, **fields)
    return s


def test_evt_4_knows_the_calls_of_the_run_before_which_a_resume_answers():
    assert judged("EVT-4", two_runs(result("c1"), first=tuple(call("c1")))) == [OK]
    assert judged("EVT-4b", two_runs(result("c1"), first=tuple(call("c1")))) == [OK]


def test_evt_4_knows_the_calls_of_a_snapshot():
    stored = {
        "id": "a",
        "role": "assistant",
        "toolCalls": [{"id": "c9", "function": {"name": "look", "arguments": "{}"}}],
    }
    s = stream("RUN_STARTED", ("MESSAGES_SNAPSHOT", {"messages": [stored]}), result("c9"), "RUN_FINISHED")
    assert judged("EVT-4", s) == [OK]


def test_evt_4_does_not_know_the_calls_of_another_session():
    lost = two_runs(result("c1"), first=tuple(call("c1")), session="s2")
    assert "the calls shown in this run and the one before are none" in only("EVT-4", lost).message


@pytest.mark.parametrize(
    ("events", "message"),
    [
        (
            (*call("c1", done=False), result("c1"), ("TOOL_CALL_END", {"toolCallId": "c1"})),
            "comes before that call's end",
        ),
        ((*call("c1"), result("c1"), result("c1")), "call 'c1' has another result"),
    ],
)
def test_evt_4b_wants_one_result_after_the_end(events, message):
    assert message in only("EVT-4b", stream("RUN_STARTED", *events, "RUN_FINISHED")).message


def test_evt_4b_wants_as_many_results_as_an_id_was_used_for():
    s = stream("RUN_STARTED", *call("c1"), result("c1"), *call("c1"), result("c1"), "RUN_FINISHED")
    assert judged("EVT-4b", s) == [OK, OK]


def test_evt_4b_knows_that_the_run_before_showed_the_result_already():
    s = two_runs(result("c1"), first=(*call("c1"), result("c1")))
    assert "another result" in only("EVT-4b", s).message


def looked(
    *,
    shown=("look", {"n": 1}, "c1"),
    given=("look", {"n": 1}, "c1"),
    value=42,
    content=None,
    error=None,
    ran=None,
    **story,
):
    """One call as the model made it, as the tool got it, and as the events show it."""
    s = Story(**story)
    s.event("RUN_STARTED")
    s.ask()
    s.reply(calls=[given])
    name, arguments, call_id = given
    s.execute(name, arguments if ran is None else ran, call_id, value, error=error)
    if shown is not None:
        s.call_events(*shown, result=content if content is not None else str(value))
    s.ask()
    s.reply("42")
    s.text("42")
    s.event("RUN_FINISHED")
    return s


def test_evt_6_a_call_its_arguments_and_its_result_are_those_of_model_and_tool():
    assert judged("EVT-6", looked()) == [OK, OK]


@pytest.mark.parametrize(
    "story",
    [
        looked(shown=("look", {"n": 1}, "event-7")),
        looked(shown=("look", {"n": 1.0}, "c1")),
        looked(ran={"n": 1, "unit": "C"}, shown=("look", {"n": 1, "unit": "C"}, "c1")),
        looked(value={"a": [1, "x"]}, content='{"a": [1, "x"]}'),
        looked(value={"a": [1, "x"]}, content="a: 1, x"),
        looked(value="y" * 10_000, content="yyy… (10000 characters)"),
        looked(error=("ValueError", "no such place"), content="ValueError: no such place"),
        looked(error=("ValueError", "no such place"), content="The tool failed."),
    ],
    ids=[
        "renumbered id",
        "equal number",
        "defaults added",
        "json result",
        "result as text",
        "bounded result",
        "failure in the tool's words",
        "failure in the agent's words",
    ],
)
def test_evt_6_takes_what_is_unusual_but_right(story):
    assert findings("EVT-6", story) == []
    assert OK in judged("EVT-6", story)


@pytest.mark.parametrize(
    ("story", "message"),
    [
        (looked(shown=("look", {"n": 2}, "c1")), "events show call 'c1' of look with {\"n\": 2}"),
        (looked(shown=("look", {}, "c1")), "events show call 'c1' of look with no arguments"),
        (looked(shown=("peek", {"n": 1}, "c1")), "events show call 'c1' peek"),
        (looked(content="43"), "is '43'; the tool returned 42, which is not in it"),
        (looked(content=""), "is ''; the tool returned 42"),
        (looked(error=("ValueError", "no such place"), content=""), "the tool failed with ValueError: 'no such place'"),
        (looked(error=("ValueError", "no such place"), content="ok"), "is 'ok'; the tool failed with ValueError"),
    ],
)
def test_evt_6_names_what_the_events_tell_otherwise(story, message):
    assert message in findings("EVT-6", story)[0].message
    assert findings("EVT-6", story)[0].level in (None, MUST)


def test_evt_6_warns_of_an_agent_that_shows_none_of_its_calls_and_fails_one_that_shows_some():
    assert "ran as x1, but no event shows it" in findings("EVT-6", looked(shown=None))[0].message
    assert {one.level for one in findings("EVT-6", looked(shown=None))} == {SHOULD}
    s = Story()
    s.event("RUN_STARTED")
    s.ask()
    s.reply(calls=[("look", {"n": 1}, "c1"), ("look", {"n": 2}, "c2")])
    for n in (1, 2):
        s.execute("look", {"n": n}, f"c{n}", n)
    s.call_events("look", {"n": 1}, "c1", "1")
    s.event("RUN_FINISHED")
    worst = findings("EVT-6", s)[0]
    assert (worst.level, "ran as x2, but no event shows it" in worst.message) == (None, True)


def test_evt_6_wants_the_result_of_what_ran_where_the_run_finished():
    def unshown(terminal):
        s = Story()
        s.event("RUN_STARTED")
        s.ask()
        s.reply(calls=[("look", {}, "c1")])
        s.execute("look", {}, "c1", 42)
        s.call_events("look", {}, "c1")
        s.event(terminal)
        return s

    assert "no event shows its result" in only("EVT-6", unshown("RUN_FINISHED")).message
    assert findings("EVT-6", unshown("RUN_ERROR")) == []


def test_evt_6_lets_an_agent_keep_a_call_that_never_ran_to_itself():
    s = Story()
    s.event("RUN_STARTED")
    s.ask()
    s.reply(calls=[("nope", {}, "c1")])
    s.answer("c1", "unknown tool nope")
    s.ask()
    s.reply("42")
    s.text("42")
    s.event("RUN_FINISHED")
    assert judged("EVT-6", s) == []


def test_evt_6_takes_two_equal_calls_as_two():
    s = Story()
    s.event("RUN_STARTED")
    s.ask()
    s.reply(calls=[("look", {}, "c1"), ("look", {}, "c2")])
    for name in ("c1", "c2"):
        s.execute("look", {}, name, 42)
        s.call_events("look", {}, name, "42")
    s.event("RUN_FINISHED")
    assert judged("EVT-6", s) == [OK] * 4

    s.call_events("look", {}, "c3")
    assert "events show call 'c3' look" in only("EVT-6", s).message


def test_evt_6_calls_in_another_order_are_a_warning():
    s = Story()
    s.event("RUN_STARTED")
    s.ask()
    s.reply(calls=[("look", {"n": 1}, "c1"), ("look", {"n": 2}, "c2")])
    s.execute("look", {"n": 1}, "c1", 1)
    s.execute("look", {"n": 2}, "c2", 2)
    s.call_events("look", {"n": 2}, "c2", "2")
    s.call_events("look", {"n": 1}, "c1", "1")
    s.event("RUN_FINISHED")
    assert "calls are shown as c2, c1" in only("EVT-6", s).message
    assert only("EVT-6", s).level == SHOULD


def test_evt_6_a_call_that_broke_off_and_was_asked_for_again_may_be_shown_both_times():
    s = Story()
    s.event("RUN_STARTED")
    s.ask()
    s.reply(calls=[("look", {"n": 1}, "c1")], by="cut")
    s.call_events("look", {"n": 1}, "c1", "Error: the reply broke off, so this was not run")
    s.ask(again=True)
    s.reply(calls=[("look", {"n": 1}, "c1")])
    s.execute("look", {"n": 1}, "c1", 42)
    s.call_events("look", {"n": 1}, "c2", "42")
    s.event("RUN_FINISHED")
    assert judged("EVT-6", s) == [OK, OK, OK]  # both showings, and the result of what ran


def test_evt_6_arguments_that_are_no_object_may_be_shown_as_they_are_or_as_none():
    def odd(shown):
        s = Story()
        s.event("RUN_STARTED")
        s.ask()
        s.reply(calls=[("look", '{"n": ', "c1")])
        s.answer("c1", "error: no JSON")
        s.event("TOOL_CALL_START", toolCallId="c1", toolCallName="look")
        s.event("TOOL_CALL_ARGS", toolCallId="c1", delta=shown)
        s.event("TOOL_CALL_END", toolCallId="c1")
        s.event("RUN_FINISHED")
        return s

    assert findings("EVT-6", odd('{"n": ')) == []
    assert findings("EVT-6", odd("{}")) == []
    assert findings("EVT-6", odd('{"raw": "{\\"n\\": "}')) == []
    assert 'with {"n": 1}' in only("EVT-6", odd('{"n": 1}')).message


@pytest.mark.parametrize(("cancelled", "right"), [(True, True), (False, False)])
def test_evt_6_of_a_reply_that_a_cancelled_run_stopped_hearing_half_a_call_may_be_shown(cancelled, right):
    s = Story()
    s.event("RUN_STARTED")
    s.ask()
    s.reply(calls=[("look", {"n": 1}, "c1")])
    if cancelled:
        s.record("kit", "cancel", run="r1", point="stream")
    s.event("TOOL_CALL_START", toolCallId="c1", toolCallName="look")
    s.event("TOOL_CALL_ARGS", toolCallId="c1", delta='{"n')
    s.event("TOOL_CALL_END", toolCallId="c1")
    s.event("RUN_FINISHED", outcome={"type": "cancelled"})
    assert (findings("EVT-6", s) == []) is right


def test_evt_6_half_a_call_of_a_broken_reply_may_be_shown_as_far_as_it_came():
    s = Story()
    s.event("RUN_STARTED")
    s.ask()
    s.event("TOOL_CALL_START", toolCallId="c1", toolCallName="look")
    s.event("TOOL_CALL_ARGS", toolCallId="c1", delta='{"n": ')
    s.reply(calls=[("look", {"n": 1}, "c1")], by="cut")
    s.event("TOOL_CALL_END", toolCallId="c1")
    s.event("RUN_ERROR")
    assert judged("EVT-6", s) == [OK]


def test_evt_6_a_whole_call_of_a_broken_reply_may_be_shown_in_another_spelling():
    s = Story()
    s.event("RUN_STARTED")
    s.ask()
    s.event("TOOL_CALL_START", toolCallId="c1", toolCallName="look")
    s.event("TOOL_CALL_ARGS", toolCallId="c1", delta='{"n": 1}')
    s.reply(calls=[("look", '{"n":1}', "c1"), ("look", '{"n":2}', "c2")], by="cut")
    s.event("TOOL_CALL_END", toolCallId="c1")
    s.event("RUN_ERROR")
    assert judged("EVT-6", s) == [OK]


def test_evt_6_a_call_that_waits_for_approval_runs_and_shows_its_result_in_the_next_run():
    s = Story()
    s.event("RUN_STARTED")
    s.ask()
    s.reply(calls=[("look", {}, "c1")])
    s.call_events("look", {}, "c1")
    s.event("RUN_FINISHED", outcome={"type": "interrupt", "interrupts": [{"id": "i", "reason": "tool_call"}]})
    s.end()
    s.begin(None)
    s.event("RUN_STARTED")
    s.execute("look", {}, "c1", 42)
    s.event("TOOL_CALL_RESULT", toolCallId="c1", messageId="r", content="42")
    s.ask()
    s.reply("42")
    s.text("42")
    s.event("RUN_FINISHED")
    assert judged("EVT-6", s) == [OK, OK]
    assert judged("EVT-4", s) == [OK]
    assert judged("EVT-4b", s) == [OK]
    assert findings("EVT-7", s) == []


def thought(*, shown_as=None, said="42", think="Let me see."):
    s = Story()
    s.event("RUN_STARTED")
    s.ask()
    s.reply(said, thinking=think)
    if shown_as == "reasoning":
        s.event("REASONING_MESSAGE_START", messageId="q1", role="reasoning")
        s.event("REASONING_MESSAGE_CONTENT", messageId="q1", delta=think)
        s.event("REASONING_MESSAGE_END", messageId="q1")
    s.text(f"{think}\n{said}" if shown_as == "text" else said)
    s.event("RUN_FINISHED")
    return s


def test_evt_6_thinking_is_shown_as_reasoning_or_not_at_all():
    assert judged("EVT-6", thought(shown_as="reasoning")) == [OK]
    assert judged("EVT-6", thought()) == [OK]
    assert "'Let me see.' is shown as text" in only("EVT-6", thought(shown_as="text")).message


def test_evt_6_what_the_model_both_thought_and_said_is_text():
    assert judged("EVT-6", thought(think="42")) == []


@pytest.mark.parametrize(
    ("events", "message"),
    [
        ((("RUN_STARTED", {"runId": "mine"}), "RUN_FINISHED"), "RUN_STARTED carries runId 'mine', expected 'r1'"),
        ((("RUN_STARTED", {"threadId": "mine"}), "RUN_FINISHED"), "RUN_STARTED carries threadId 'mine', expected 's1'"),
        (("RUN_STARTED", ("RUN_FINISHED", {"runId": "r0"})), "RUN_FINISHED carries runId 'r0', expected 'r1'"),
    ],
)
def test_evt_7_wants_this_runs_ids(events, message):
    assert message in only("EVT-7", stream(*events)).message


def test_evt_7_lets_a_stream_hold_another_run():
    s = stream("RUN_STARTED", "RUN_FINISHED", ("RUN_STARTED", {"runId": "child"}), ("RUN_FINISHED", {"runId": "child"}))
    assert judged("EVT-7", s) == [OK, OK]


def spoken(text, message="t1"):
    return (
        ("TEXT_MESSAGE_START", {"messageId": message, "role": "assistant"}),
        ("TEXT_MESSAGE_CONTENT", {"messageId": message, "delta": text}),
        ("TEXT_MESSAGE_END", {"messageId": message}),
    )


def test_evt_7_finds_what_an_earlier_run_has_shown():
    again = two_runs(*spoken("42"), *spoken("43", "t2"), first=spoken("42"))
    replayed = two_runs(*call("c1"), first=tuple(call("c1")))
    assert "an earlier run's events come again: message 't1'" in only("EVT-7", again).message
    assert "call 'c1', word for word" in only("EVT-7", replayed).message


def test_evt_7_finds_an_earlier_runs_part_in_the_stream():
    s = two_runs(*spoken("43", "t2"), first=spoken("42"))
    s.event("RUN_STARTED", runId="r1")
    s.event("RUN_FINISHED", runId="r1")
    assert "a part of run 'r1'" in only("EVT-7", s).message


def test_evt_7_a_snapshot_may_repeat_everything():
    stored = [{"id": "t1", "role": "assistant", "content": "42"}]
    s = two_runs(("MESSAGES_SNAPSHOT", {"messages": stored}), *spoken("43", "t2"), first=spoken("42"))
    assert findings("EVT-7", s) == []


def test_evt_7_ids_numbered_anew_in_every_run_are_no_repetition():
    s = stream("RUN_STARTED", *spoken("42"), "RUN_FINISHED")
    s.end()
    s.begin("And again?")
    s.event("RUN_STARTED")
    s.ask()
    s.reply("42")
    s.text("42")
    s.event("RUN_FINISHED")
    assert findings("EVT-7", s) == []


def test_evt_1_fails_what_is_sent_in_the_place_of_an_event():
    s = Story()
    s.event("RUN_STARTED")
    s.record("agent", "garbage", run="r1", line="42")
    s.event("RUN_FINISHED")
    assert only("EVT-1", s).message == "run r1: '42' was sent in the place of an event"


def test_evt_2b_a_steps_name_is_no_id():
    step = (("STEP_STARTED", {"stepName": "round"}), ("STEP_FINISHED", {"stepName": "round"}))
    assert judged("EVT-2b", stream("RUN_STARTED", *step, *step, "RUN_FINISHED")) == []
    assert judged("EVT-2b", stream("RUN_STARTED", *step, *step, start("t1"), end("t1"), "RUN_FINISHED")) == [OK]


def test_evt_4b_a_result_may_be_what_ends_a_call_in_chunks():
    chunk = ("TOOL_CALL_CHUNK", {"toolCallId": "c1", "toolCallName": "look", "delta": "{}"})
    assert judged("EVT-4b", stream("RUN_STARTED", chunk, result("c1"), "RUN_FINISHED")) == [OK]


def test_evt_6_a_snapshot_shows_calls_and_results_too():
    def stored(*messages):
        s = Story()
        s.event("RUN_STARTED")
        s.ask()
        s.reply(calls=[("look", {"n": 1}, "c1"), ("look", {"n": 2}, "c2")])
        for n in (1, 2):
            s.execute("look", {"n": n}, f"c{n}", n)
        s.call_events("look", {"n": 1}, "c1", "1")
        s.event("MESSAGES_SNAPSHOT", messages=list(messages))
        s.event("RUN_FINISHED")
        return s

    asks = {
        "id": "a",
        "role": "assistant",
        "toolCalls": [{"id": "c2", "type": "function", "function": {"name": "look", "arguments": '{"n":2}'}}],
    }
    answers = {"id": "b", "role": "tool", "toolCallId": "c2", "content": "2"}
    assert findings("EVT-6", stored(asks, answers)) == []
    assert "no event shows its result" in only("EVT-6", stored(asks)).message
    assert len(findings("EVT-6", stored())) == 2


def never_ran(shown, *, told="unknown tool nope", goes_on=True):
    s = Story()
    s.event("RUN_STARTED")
    s.ask()
    s.reply(calls=[("nope", {}, "c1")])
    s.call_events("nope", {}, "c1", shown)
    s.answer("c1", told)
    if goes_on:
        s.ask()
        s.reply("42")
        s.text("42")
    s.event("RUN_FINISHED")
    return s


@pytest.mark.parametrize("shown", ["42", "ok", "", "no error, all fine"])
def test_evt_6_a_call_that_never_ran_is_not_shown_as_a_success(shown):
    for goes_on in (True, False):
        finding = only("EVT-6", never_ran(shown, goes_on=goes_on))
        assert (finding.level, "nothing ran for it" in finding.message) == (None, True)


@pytest.mark.parametrize(
    ("shown", "told"),
    [
        ("Unknown tool.", "unknown tool nope"),
        ("Error: there is no such tool", "unknown tool nope"),
        ("Ask a person.", "Ask a person."),
        ("Ask a person.", '{"result": "Ask a person."}'),
    ],
)
def test_evt_6_a_call_that_never_ran_is_shown_as_a_failure_or_as_the_model_was_told(shown, told):
    assert judged("EVT-6", never_ran(shown, told=told)) == [OK, OK]


@pytest.mark.parametrize("shown", ["no error, all fine", "done without errors", "0 failures", "nothing went wrong"])
def test_evt_6_a_denied_failure_is_none(shown):
    s = Story()
    s.event("RUN_STARTED")
    s.ask()
    s.reply(calls=[("look", {}, "c1")])
    s.execute("look", {}, "c1", error=("Boom", "broke"))
    s.call_events("look", {}, "c1", shown)
    s.event("RUN_FINISHED")
    assert "the tool failed with Boom" in only("EVT-6", s).message


def test_evt_6_thinking_that_is_shown_in_part_is_shown():
    think = "I have to look at the tide table of Bergen first."

    def leaks(text):
        s = Story()
        s.event("RUN_STARTED")
        s.ask()
        s.reply("42", thinking=think)
        s.text(text, "t0")
        s.text("42")
        s.event("RUN_FINISHED")
        return findings("EVT-6", s)

    assert len(leaks(f"Thinking: {think[:30]}…")) == 1
    assert leaks("I have to look.") == []


def test_evt_6_words_that_thinking_shares_with_others_are_not_thinking():
    s = Story(user="How high is the water at Bergen now?")
    s.event("RUN_STARTED")
    s.ask()
    s.reply("42", thinking="They ask: How high is the water at Bergen now?")
    s.text("You asked: How high is the water at Bergen now?", "t0")
    s.text("42")
    s.event("RUN_FINISHED")
    assert findings("EVT-6", s) == []
