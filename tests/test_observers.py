"""What recordings show of each dialect key, and what they leave open: an observer excuses no fault."""

import pytest
from story import LOOK, Story

from conformance.dialect import BY_NAME
from conformance.observing.observers import OBSERVERS, fit, observe
from conformance.reading.joined import view

MARK = {"type": "EXCEED_MAX_ITERS", "maxIters": 1}
TYPED = {
    "description": "Looks.",
    "parameters": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
    "returns": 1,
}


def seen(key, story):
    found = observe(view(story.recording()), key)
    return None if found is None else found.value


def test_every_observer_is_of_a_key():
    assert set(OBSERVERS) <= set(BY_NAME)


def round_one(*, value=42, limit=1, **fields):
    s = Story(max_iters=limit, **fields)
    s.ask()
    s.reply(calls=[("look", {}, "c1")])
    s.execute("look", {}, "c1", value)
    return s


def summary(s, tools=None, text="It is 42.", **asked):
    s.ask(tools=tools, **asked)
    s.reply(text=text, keep=False)
    return s


def finish(s, text=None, kind="limit", marker=MARK):
    if marker:
        s.event("RAW", event=marker)
    s.event("RUN_FINISHED")
    s.outcome(kind, text=text)
    return s


# The limit.


@pytest.mark.parametrize("declared", ["model", "canned", "last_result", "none"])
@pytest.mark.parametrize(
    ("ending", "value"),
    [
        (lambda s: finish(summary(s), "It is 42."), "model"),
        (lambda s: finish(s, "Out of rounds."), "canned"),
        (lambda s: finish(s, "42"), "last_result"),
        (finish, "none"),
        (lambda s: finish(s, "Out of rounds.", kind="guard"), None),
    ],
)
def test_the_text_at_the_limit(declared, ending, value):
    assert seen("limit_text", ending(round_one(dialect={"limit_text": declared}))) == value


def test_a_last_result_may_come_in_a_canned_sentence():
    for declared, value in (("canned", "canned"), ("last_result", "last_result"), ("none", "last_result")):
        s = finish(round_one(dialect={"limit_text": declared}), "Out of rounds, the last result was 42.")
        assert seen("limit_text", s) == value


def test_a_round_too_many_is_no_text_of_the_models():
    s = round_one(dialect={"on_limit": "stop"})
    assert seen("limit_text", finish(summary(s, tools=["look"]))) is None


def test_a_summary_that_offers_tools_stays_a_summary():
    assert fit(view(finish(summary(round_one(), tools=["look"]), "It is 42.").recording())) == {}


def test_a_limit_that_was_not_reached_shows_nothing():
    s = round_one(limit=2)
    s.ask()
    s.reply(text="42")
    s.event("RUN_FINISHED")
    s.outcome("answered", text="42")
    read = view(s.recording())
    assert {key for key in OBSERVERS if observe(read, key)} == {"tool_history"}


def test_words_said_beside_the_last_call_leave_the_text_open():
    s = Story(max_iters=1)
    s.ask()
    s.reply(text="Let me look.", calls=[("look", {}, "c1")])
    s.execute("look", {}, "c1", 42)
    assert seen("limit_text", finish(s, "Let me look.")) is None


def test_a_tool_that_failed_in_the_last_round_may_be_what_ended_the_run():
    s = Story(max_iters=1)
    s.ask()
    s.reply(calls=[("look", {}, "c1")])
    s.execute("look", {}, "c1", error=("OSError", "gone"))
    assert seen("limit_terminal", finish(s)) is None


ENDINGS = {
    "marked": finish,
    "flagged": lambda s: finish(s, marker=None),
    "hidden": lambda s: finish(s, kind="answered", marker=None),
    "error": lambda s: s.event("RUN_ERROR", message="limit", code="limit"),
    "raise": lambda s: s.raises("TooManyRounds", "limit"),
}


@pytest.mark.parametrize(
    ("declared", "ending", "value"),
    [
        ("finished", "marked", "finished"),
        ("finished", "flagged", "finished"),  # the missing marker is LIM-5's
        ("finished", "hidden", "finished"),
        ("finished", "error", "error"),
        ("finished", "raise", "raise"),
        ("flagged", "marked", "flagged"),
        ("flagged", "flagged", "flagged"),
        ("flagged", "raise", "raise"),
        ("error", "marked", "finished"),
        ("error", "flagged", "flagged"),
        ("error", "hidden", "finished"),
        ("error", "error", "error"),
        ("raise", "error", "error"),
        ("raise", "raise", "raise"),
    ],
)
def test_the_way_out_at_the_limit(declared, ending, value):
    s = round_one(dialect={"limit_text": "none", "limit_terminal": declared})
    ENDINGS[ending](s)
    assert seen("limit_terminal", s) == value


def test_without_events_only_an_exception_can_be_told_from_other_ways_out():
    for declared, value in (("finished", "finished"), ("error", "error"), ("raise", "flagged")):
        s = round_one(dialect={"limit_text": "none", "limit_terminal": declared}, channels="MTR")
        s.outcome("limit")
        assert seen("limit_terminal", s) == value


def test_the_marker_is_of_the_kind_of_its_event():
    assert seen("limit_marker", finish(round_one())) == "raw"
    s = round_one()
    s.event("CUSTOM", name="max_iters", value=1)
    assert seen("limit_marker", finish(s, marker=None)) == "custom"


@pytest.mark.parametrize(
    ("asked", "value"),
    [
        ({}, "none"),
        ({"tools": []}, "none"),
        ({"tools": ["look"], "tool_choice": "none"}, "choice_none"),
        ({"tools": ["look"]}, None),
    ],
)
def test_how_a_summary_is_kept_from_calling(asked, value):
    assert seen("summary_tools", finish(summary(round_one(), **asked), "It is 42.")) == value


@pytest.mark.parametrize(
    ("ending", "value"),
    [
        (lambda s: s.event("RUN_ERROR", message="limit"), "error"),
        (lambda s: finish(s, "The summary failed."), "fallback"),
        (finish, None),
    ],
)
def test_what_a_failed_summary_becomes(ending, value):
    s = round_one()
    s.ask(tools=None)
    s.fail(500)
    ending(s)
    assert seen("summary_failure", s) == value


def test_a_summary_that_was_refused_for_its_history_shows_nothing():
    s = round_one()
    s.ask(tools=None)
    s.refused()
    s.event("RUN_ERROR", message="bad request")
    assert seen("summary_failure", s) is None


@pytest.mark.parametrize(("ran", "value"), [(("c1", "c2"), "run"), ((), "skip"), (("c1",), None)])
def test_the_calls_of_the_last_round(ran, value):
    s = Story(max_iters=1, dialect={"on_limit": "stop"})
    s.ask()
    s.reply(calls=[("look", {}, "c1"), ("look", {}, "c2")])
    for call_id in ran:
        s.execute("look", {}, call_id, 42)
    assert seen("last_round_tools", finish(s)) == value


@pytest.mark.parametrize(
    ("unit", "limit", "value"), [("steps", None, None), ("steps", 1, "skip"), ("rounds", None, "skip")]
)
def test_a_default_that_counts_steps_may_end_between_a_model_and_its_tools(unit, limit, value):
    s = Story(max_iters=limit, dialect={"on_limit": "stop", "default_max_iters": 1, "limit_unit": unit})
    s.ask()
    s.reply(calls=[("look", {}, "c1")])
    assert seen("last_round_tools", finish(s)) == value


@pytest.mark.parametrize("declared", ["free", "counts"])
@pytest.mark.parametrize(("rounds", "value"), [(1, "counts"), (2, "free")])
def test_whether_an_empty_reply_spends_a_round(declared, rounds, value):
    s = Story(max_iters=2, dialect={"on_limit": "stop", "retry_budget": declared})
    s.ask()
    s.reply(text="", keep=False)
    for number in range(rounds):
        s.ask()
        s.reply(calls=[("look", {}, f"c{number}")])
        s.execute("look", {}, f"c{number}", 42)
    assert seen("retry_budget", finish(s)) == value


def test_an_agent_that_goes_on_after_an_empty_reply_retries_nothing():
    s = Story(max_iters=2, dialect={"on_limit": "stop", "empty_response": "continue"})
    s.ask()
    s.reply(text="", keep=False)
    s.ask()
    s.reply(calls=[("look", {}, "c1")])
    s.execute("look", {}, "c1", 42)
    assert seen("retry_budget", finish(s)) is None


@pytest.mark.parametrize(("declared", "rounds"), [(10, 3), (2, 3), ("unlimited", 3), (3, 3)])
def test_the_default_limit_is_the_rounds_after_which_a_run_says_so(declared, rounds):
    s = Story(dialect={"default_max_iters": declared})
    for number in range(rounds):
        s.ask()
        s.reply(calls=[("look", {}, f"c{number}")])
        s.execute("look", {}, f"c{number}", 42)
    s.event("RAW", event=MARK)
    s.ask(tools=None)
    s.reply(text="42")
    s.event("RUN_FINISHED")
    s.outcome("limit", text="42")
    assert seen("default_max_iters", s) == rounds


# The model's failures.


def empties(n, kind, *, limit=None, **dialect):
    s = Story(max_iters=limit, dialect=dialect)
    for _ in range(n):
        s.ask()
        s.reply(text="", keep=False)
    s.event("RUN_FINISHED" if kind in ("answered", "limit") else "RUN_ERROR")
    s.outcome(kind)
    return s


RETRY = {"retry_then_error": 1}


@pytest.mark.parametrize(
    ("n", "kind", "declared", "value"),
    [
        (2, "empty", RETRY, RETRY),
        (1, "empty", RETRY, "error"),
        (1, "answered", RETRY, "finish"),
        (2, "answered", RETRY, None),  # an answer that is none is REC-1's
        (3, "empty", RETRY, None),  # one retry too many is REC-1's
        (2, "empty", {"retry_then_error": 3}, RETRY),
        (1, "empty", "finish", "error"),
        (1, "answered", "error", "finish"),
        (3, "limit", RETRY, "continue"),
        (2, "empty", "continue", RETRY),
    ],
)
def test_what_an_empty_reply_leads_to(n, kind, declared, value):
    limit = 3 if kind == "limit" or declared == "continue" else None
    assert seen("empty_response", empties(n, kind, limit=limit, empty_response=declared)) == value


@pytest.mark.parametrize(("limit", "value"), [(1, None), (2, "error")])
def test_where_a_retry_spends_a_round_and_none_is_left_an_empty_reply_shows_nothing(limit, value):
    assert seen("empty_response", empties(1, "error", limit=limit, retry_budget="counts")) == value


def overflowing(*later, users=5, end=True, **dialect):
    s = Story(dialect=dialect)
    s.history[:0] = [{"role": "user", "content": "x" * 40} for _ in range(users - 1)]
    s.ask()
    s.fail(400, code="context_length_exceeded", message="maximum context length")
    for messages in later:
        s.ask(messages=messages)
        s.reply(text="42")
    if end:
        s.event("RUN_ERROR", message="too long")
        s.outcome("overflow")
    return s


SHORT = [{"role": "user", "content": "x"}]
COMPACT = {"compact_then_error": 1}


@pytest.mark.parametrize(
    ("story", "value"),
    [
        (overflowing, "error"),
        (lambda: overflowing(users=1), None),  # too short to shrink
        (lambda: overflowing(SHORT, end=False), COMPACT),
        (lambda: overflowing(SHORT, end=False, prompt_too_long="error"), COMPACT),
        (lambda: overflowing(prompt_too_long="error"), "error"),
    ],
)
def test_what_a_prompt_that_is_too_long_leads_to(story, value):
    s = story()
    if not any(record.kind == "agent/outcome" for record in s.records):
        s.outcome("answered", text="42")
    assert seen("prompt_too_long", s) == value


@pytest.mark.parametrize(
    ("ending", "value"),
    [
        (lambda s: s.event("RUN_ERROR", code="model_error"), "error"),
        (lambda s: s.raises("HTTPError", "500"), "raise"),
        (lambda s: finish(s, kind="answered", marker=None), None),  # RUN-5's
    ],
)
def test_how_a_failure_of_the_model_goes_out(ending, value):
    s = Story()
    s.ask()
    s.fail(500)
    ending(s)
    assert seen("model_error", s) == value


@pytest.mark.parametrize(
    ("ending", "value"),
    [
        (lambda s: (s.ask(), s.reply(text=" is 42."), s.outcome("answered", text="It is 42.")), "continue"),
        (lambda s: (s.event("RUN_ERROR"), s.outcome("truncated")), "error"),
        (lambda s: (s.event("RUN_FINISHED"), s.outcome("truncated", text="It")), "flag"),
        (lambda s: (s.event("RUN_FINISHED"), s.outcome("answered", text="It")), None),  # RUN-3b's
    ],
)
def test_what_a_reply_cut_by_length_leads_to(ending, value):
    s = Story()
    s.ask()
    s.reply(text="It", stop="length")
    ending(s)
    assert seen("length_stop", s) == value


# Tools.

FED_BACK = "fed back"


@pytest.mark.parametrize(
    ("key", "call", "error"),
    [
        ("unknown_tool", ("seek", {}, "c1"), None),
        ("bad_arguments", ("look", "{broken", "c1"), None),
        ("tool_exception", ("look", {}, "c1"), ("OSError", "gone")),
    ],
)
@pytest.mark.parametrize(
    ("ending", "value"),
    [
        (FED_BACK, "observe"),
        (lambda s: (s.event("RUN_ERROR"), s.outcome("tool_error")), "error"),
        (lambda s: s.raises("ToolError", "no"), "raise"),
        (lambda s: finish(s, kind="guard", marker=None), None),
    ],
)
def test_what_a_failing_call_leads_to(key, call, error, ending, value):
    s = Story()
    s.ask()
    s.reply(calls=[call])
    if error:
        s.execute("look", {}, "c1", error=error)
    if ending == FED_BACK:
        s.ask()
        s.reply(text="42")
    else:
        ending(s)
    assert seen(key, s) == value


@pytest.mark.parametrize(
    ("given", "ran", "key", "value"),
    [
        ({"n": "x"}, None, "type_check", "loop"),
        ({"n": "x"}, {"n": "x"}, "type_check", "tool"),
        ({"n": 1, "m": 2}, None, "extra_args", "refuse"),
        ({"n": 1, "m": 2}, {"n": 1}, "extra_args", "drop"),
        ({"n": 1, "m": 2}, {"n": 1, "m": 2}, "extra_args", "pass"),
        ({"n": 1, "m": 2}, {}, "extra_args", None),
        ({"n": 1}, {"n": 1}, "extra_args", None),
    ],
)
def test_who_refuses_what_the_schema_does_not_know(given, ran, key, value):
    s = Story(tools={"look": TYPED})
    s.ask()
    s.reply(calls=[("look", given, "c1")])
    if ran is not None:
        failed = {"error": ("ArgumentError", "n"), "rejected": True} if key == "type_check" else {"value": 1}
        s.execute("look", ran, "c1", **failed)
    s.ask()
    s.reply(text="42")
    assert seen(key, s) == value


@pytest.mark.parametrize(
    ("messages", "value"),
    [
        (None, "messages"),
        ([{"role": "user", "content": "look returned 42"}], "text"),
        ([{"role": "user", "content": "What is it?"}], None),  # the result is lost, which is HIS-10's
    ],
)
def test_how_results_travel(messages, value):
    s = round_one(limit=5)
    s.ask(messages=messages)
    s.reply(text="42")
    assert seen("tool_history", s) == value


# What the caller sees.


def test_thinking_is_shown_or_not():
    s = Story()
    s.ask()
    s.reply(text="42", thinking="Hm.")
    s.event("RUN_FINISHED")
    assert seen("reasoning_events", s) == "off"
    s.event("REASONING_MESSAGE_CONTENT", messageId="t1", delta="Hm.")
    assert seen("reasoning_events", s) == "on"


@pytest.mark.parametrize("declared", ["per_call", "per_run", "none"])
@pytest.mark.parametrize(
    ("each", "whole", "value"),
    [(True, False, "per_call"), (False, True, "per_run"), (False, False, "none"), (True, True, "declared")],
)
def test_how_usage_is_reported(declared, each, whole, value):
    s = Story(dialect={"usage_events": declared})
    s.ask()
    s.reply(text="42", usage=(1, 1))
    if each:
        s.event("CUSTOM", name="token_usage", value={"replyId": "reply-1", "inputTokens": 1, "outputTokens": 1})
    s.event("RUN_FINISHED", **({"usage": [{"inputTokens": 1, "outputTokens": 1}]} if whole else {}))
    expected = {"none": "per_call"}.get(declared, declared) if value == "declared" else value
    assert seen("usage_events", s) == expected


@pytest.mark.parametrize(
    ("text", "value"), [("It is 42.", "last_reply"), ("Let me look. It is 42.", "all_text"), ("42", None)]
)
def test_whose_text_the_final_one_is(text, value):
    s = Story()
    s.ask()
    s.reply(text="Let me look.", calls=[("look", {}, "c1")])
    s.execute("look", {}, "c1", 42)
    s.ask()
    s.reply(text="It is 42.")
    s.outcome("answered", text=text)
    assert seen("final_text", s) == value


def test_a_text_whose_cut_pieces_are_joined_shows_neither():
    s = Story(dialect={"length_stop": "continue"})
    s.ask()
    s.reply(text="It ", stop="length")
    s.ask()
    s.reply(text="is 42.")
    s.outcome("answered", text="It is 42.")
    assert seen("final_text", s) is None


@pytest.mark.parametrize(
    ("text", "value"), [("Let me see.42", "all_text"), ("42", "last_reply"), ("Let me see.", None)]
)
def test_an_answer_call_is_a_part_of_all_text(text, value):
    s = Story(dialect={"answer_by": "tool:done.text"})
    s.ask()
    s.reply(text="Let me see.", calls=[("done", {"text": "42"}, "c1")])
    s.outcome("answered", text=text)
    assert seen("final_text", s) == value


def test_a_text_that_came_at_the_second_attempt_is_the_last_reply():
    s = Story()
    s.ask()
    s.fail(500)
    s.ask(again=True)
    s.reply(text="It is 42.")
    s.outcome("answered", text="It is 42.")
    assert seen("final_text", s) is None


def test_an_exception_that_means_something_else_than_declared():
    s = Story(dialect={"exceptions": {"Halt": "limit", "Other": "gate"}})
    s.ask()
    s.fail(500)
    s.raises("Halt", "500")
    assert seen("exceptions", s) == {"Halt": "model_error", "Other": "gate"}


@pytest.mark.parametrize(("rounds", "value"), [(1, {"Halt": "truncated"}), (2, None)])
def test_an_exception_where_the_rounds_are_used_up_may_mean_the_limit_too(rounds, value):
    s = Story(max_iters=2, dialect={"exceptions": {"Halt": "limit"}})
    for place in range(rounds):
        s.ask()
        s.reply(calls=[("look", '{"n": ', f"c{place}")], stop="length")
    s.raises("Halt", "Max turns (2) exceeded.")
    assert seen("exceptions", s) == value


def test_a_request_that_is_sent_again_may_have_used_up_a_round_too():
    s = Story(max_iters=2, dialect={"exceptions": {"Halt": "limit"}})
    s.ask()
    s.fail(500)
    s.ask(again=True)
    s.fail(500)
    s.raises("Halt", "Max turns (2) exceeded.")
    assert seen("exceptions", s) is None


# Together.


def test_an_agent_that_shows_two_values_in_one_recording_keeps_to_none():
    s = finish(round_one())
    s.end()
    s.begin("Go on.", max_iters=1)
    s.ask()
    s.reply(calls=[("look", {}, "c2")])
    s.execute("look", {}, "c2", 42)
    finish(summary(s), "It is 42.")
    assert seen("limit_text", s) is None


def test_only_what_does_not_fit_is_fitted():
    s = finish(round_one(tools={"look": LOOK}), marker=None)
    assert fit(view(s.recording())) == {"limit_text": "none"}


# What the model's failures and ids lead to.


def failing(status, *then, code=None, limits=None, **dialect):
    s = Story(dialect=dialect, scenario={"limits": limits or {}})
    s.ask()
    s.fail(status, code=code)
    for _ in then:
        s.ask(again=True)
        s.fail(status, code=code)
    s.outcome("model_error")
    return s


@pytest.mark.parametrize(
    ("story", "value"),
    [
        (failing(500), "none"),
        (failing(429), "none"),
        (failing(500, 1), "transient"),
        (failing(429, code="insufficient_quota"), None),
        (failing(500, limits={"retries": 0}), None),
        (failing(403), None),
        (failing(403, 1), None),
        (failing(403, 1, http_retry="all"), "all"),
        (failing(500, 1, http_retry="all"), "all"),
        (failing(403, http_retry="all"), "transient"),
    ],
)
def test_which_failures_are_sent_again(story, value):
    assert seen("http_retry", story) == value


def test_a_request_with_a_number_of_its_own_that_is_sent_again_is_no_failure_given_up():
    s = Story()
    for attempt in ("1", "2"):
        s.ask(extra={"metadata": {"attempt": attempt}})
        s.fail(500)
    s.outcome("model_error")
    assert seen("http_retry", s) is None


@pytest.mark.parametrize(("again", "value"), [("answered", "round"), ("given up", "run")])
def test_when_the_count_of_empty_replies_starts_anew(again, value):
    s = Story()
    for call in (None, "c1", None):
        s.ask()
        if call is None:
            s.reply(parts=[], keep=False)
        else:
            s.reply(calls=[("look", {}, call)])
            s.execute("look", {}, call, 42)
    if again == "answered":
        s.ask()
        s.reply(text="42")
    s.outcome("answered" if again == "answered" else "empty")
    assert seen("recovery_scope", s) == value


def test_what_becomes_of_ids_that_cannot_be_told_apart():
    s = Story()
    s.ask()
    s.reply(calls=[("look", {}, "")])
    s.event("RUN_ERROR")
    s.outcome("error")
    assert seen("bad_ids", s) == "refuse"
    repaired = Story()
    repaired.ask()
    repaired.reply(calls=[("look", {}, "")], keep=False)
    repaired.execute("look", {}, "own-1", 42, keep=False)
    call = {"id": "own-1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    told = [{"role": "assistant", "tool_calls": [call]}, {"role": "tool", "tool_call_id": "own-1", "content": "42"}]
    repaired.ask(messages=[*repaired.history, *told])
    repaired.reply(text="42")
    assert seen("bad_ids", repaired) == "repair"


def test_a_closing_request_shows_nothing_of_how_results_travel():
    s = round_one()
    s.ask(tools=None, messages=[{"role": "user", "content": "look gave 42. Answer now."}])
    s.reply(text="42")
    assert seen("tool_history", s) is None


def test_where_no_result_exists_a_text_of_its_own_stands_in_for_it():
    s = Story(max_iters=1, dialect={"limit_text": "last_result"}, tools={"look": {**LOOK, "returns": {}}})
    s.ask()
    s.reply(calls=[("look", {}, "c1")])
    s.execute("look", {}, "c1", {})
    assert seen("limit_text", finish(s, "Out of rounds.")) is None
