"""Spec §2: what an agent claims and what the model calls show, for every way a run can end."""

import pytest
from story import Story

from conformance.reading.joined import view
from conformance.reading.outcome import actual, claimed, final_text, markers


def ended(tell, **options):
    s = Story(**options)
    tell(s)
    seen = view(s.recording())
    return seen.runs[0], seen


def said(text="42", **reply):
    def tell(s):
        s.ask()
        s.reply(text=text, **reply)

    return tell


def looped(s, rounds=1):
    for number in range(rounds):
        s.ask()
        s.reply(calls=[("look", {}, f"c{number}")])
        s.execute("look", {}, f"c{number}", 42)


def failed(status, **error):
    def tell(s):
        s.ask()
        s.fail(status, **error)

    return tell


def summarised(s):
    looped(s)
    s.ask(tools=None)
    s.reply(text="42")


def limit_before_any_round(s):
    s.ask(tools=None)
    s.reply(text="no")


def empty(s):
    s.ask()
    s.reply(keep=False)


def both(s):
    s.ask()
    s.reply(text="I will look.", calls=[("look", {}, "c1")])


@pytest.mark.parametrize(
    ("tell", "options", "kind"),
    [
        (said(), {}, "answered"),
        (said("0"), {}, "answered"),
        (said("."), {}, "answered"),
        (said(" ", keep=False), {}, "empty"),
        (empty, {}, "empty"),
        (said(None, keep=False), {}, "empty"),
        (empty, {"max_iters": 1}, "empty"),
        (empty, {"max_iters": 1, "dialect": {"retry_budget": "counts"}}, None),
        (empty, {"max_iters": 1, "dialect": {"empty_response": "continue"}}, None),
        (empty, {"max_iters": 2, "dialect": {"retry_budget": "counts"}}, "empty"),
        (said(" "), {"dialect": {"empty_is": ["no_parts"]}}, "answered"),
        (said("4", stop="length"), {}, "truncated"),
        (said("4", stop="filter"), {}, "filtered"),
        (lambda s: (s.ask(), s.reply(stop="length", keep=False)), {}, "overflow"),
        (failed(500), {}, "model_error"),
        (failed(400, code="context_length_exceeded"), {}, "overflow"),
        (said("4", by="cut", fault={"cut": {"after_chunks": 1}}), {}, "model_error"),
        (both, {}, None),
        (lambda s: (s.ask(), s.reply(calls=[("look", '{"a', "c1")], stop="length")), {}, "truncated"),
        (looped, {"max_iters": 1}, "limit"),
        (looped, {"max_iters": 2}, None),
        (summarised, {"max_iters": 1}, "limit"),
        (limit_before_any_round, {"max_iters": 0}, "limit"),
        (lambda s: None, {"max_iters": 0}, "limit"),
        (lambda s: None, {}, None),
        (lambda s: (said()(s), s.record("kit", "cancel", run="r1", point="stream")), {}, "interrupted"),
    ],
)
def test_the_actual_outcome_is_what_the_last_whole_reply_makes_it(tell, options, kind):
    assert actual(*ended(tell, **options)) == kind


def test_a_whole_reply_at_the_very_limit_is_an_answer_and_not_the_limit():
    def tell(s):
        looped(s)
        said()(s)

    assert actual(*ended(tell, max_iters=2)) == "answered"


def test_a_summary_after_an_answer_takes_nothing_from_the_answer():
    def tell(s):
        said()(s)
        s.ask(tools=None)
        s.reply(text="In short: 42")

    assert actual(*ended(tell, max_iters=1)) == "answered"


def test_the_answer_tool_is_an_answer_where_the_dialect_names_it():
    def tell(s):
        s.ask()
        s.reply(calls=[("look", {"text": "42"}, "c1")])

    by_tool = {"dialect": {"answer_by": "tool:look.text"}}
    assert actual(*ended(tell, **by_tool)) == "answered"
    assert actual(*ended(tell)) is None


@pytest.mark.parametrize(
    ("end", "kind"),
    [
        (lambda s: s.event("RUN_FINISHED"), "answered"),
        (lambda s: s.event("RUN_FINISHED", outcome={"type": "success"}), "answered"),
        (lambda s: s.event("RUN_FINISHED", outcome={"type": "interrupt", "interrupts": []}), "waiting"),
        (lambda s: s.event("RUN_FINISHED", outcome={"type": "cancelled"}), "interrupted"),
        (lambda s: s.event("RUN_FINISHED", result={"outcome": "limit"}), "limit"),
        (lambda s: s.event("RUN_FINISHED", result={"outcome": "fine"}), "answered"),
        (lambda s: s.event("RUN_ERROR", code="overflow"), "overflow"),
        (lambda s: s.event("RUN_ERROR", code="E42"), "error"),
        (lambda s: s.event("RUN_ERROR"), "error"),
        (lambda s: (s.event("RAW", event={"type": "MAX_TURNS"}), s.event("RUN_FINISHED")), "limit"),
        (lambda s: (s.event("CUSTOM", name="recursion limit", value=None), s.event("RUN_FINISHED")), "limit"),
    ],
)
def test_without_a_result_the_claim_is_read_from_the_events(end, kind):
    run, seen = ended(end, channels="MTE")
    assert claimed(run, seen).kind == kind


def test_a_declared_result_goes_before_the_events_and_these_speak_where_none_was_given():
    run, seen = ended(lambda s: s.event("RUN_FINISHED"), channels="MTER")
    assert (claimed(run, seen).kind, claimed(run, seen).by) == ("answered", "E")
    run, seen = ended(lambda s: (s.event("RUN_FINISHED"), s.outcome("limit")), channels="MTER")
    assert (claimed(run, seen).kind, claimed(run, seen).by) == ("limit", "R")


def test_an_exception_claims_the_kind_that_is_declared_for_its_class():
    boom = {"dialect": {"exceptions": {"TooManySteps": "limit"}}}
    run, seen = ended(lambda s: s.raises("TooManySteps"), **boom)
    assert (claimed(run, seen).kind, claimed(run, seen).by) == ("limit", "raised")
    run, seen = ended(lambda s: s.raises("KeyError"), **boom)
    assert claimed(run, seen).kind == "error"


def test_a_run_that_never_ended_claims_nothing():
    run, seen = ended(lambda s: s.event("RUN_STARTED"), channels="MTE")
    assert claimed(run, seen) is None


def test_a_marker_goes_by_its_declared_name_and_by_a_speaking_one_otherwise():
    def tell(s):
        s.event("RAW", event={"type": "EXCEED_MAX_ITERS"})
        s.event("CUSTOM", name="budget", value=1)
        s.event("RAW", event="text")

    run, seen = ended(tell)
    assert [e.data["type"] for e in markers(run, seen.dialect)] == ["RAW"]
    run, seen = ended(tell, dialect={"marker_name": "budget"})
    assert [e.data["type"] for e in markers(run, seen.dialect)] == ["CUSTOM"]


def test_the_final_text_is_the_results_or_else_the_last_message_that_was_shown():
    run, seen = ended(lambda s: (s.text("one", "t1"), s.text("two", "t2"), s.outcome("answered", text="three")))
    assert final_text(run, seen) == "three"
    run, seen = ended(lambda s: (s.text("one", "t1"), s.text("two", "t2"), s.outcome("answered")))
    assert final_text(run, seen) == "two"
    run, seen = ended(lambda s: s.text("one"), channels="MTR")
    assert final_text(run, seen) is None


def message(role, content):
    return {"id": content, "role": role, "content": content}


@pytest.mark.parametrize(
    ("final", "text"), [("last_reply", "42"), ("all_text", "Let me look.42")], ids=["the last reply", "all text"]
)
def test_the_final_text_may_stand_in_a_snapshot_behind_this_runs_question(final, text):
    spoken = [("assistant", "Old."), ("user", "What is it?"), ("assistant", "Let me look."), ("assistant", "42")]
    run, seen = ended(
        lambda s: s.event("MESSAGES_SNAPSHOT", messages=[message(*one) for one in spoken]),
        dialect={"final_text": final},
    )
    assert final_text(run, seen) == text


def test_an_earlier_runs_answer_in_a_snapshot_is_no_text_of_this_run():
    old = [message("assistant", "Old."), message("user", "What is it?")]
    run, seen = ended(lambda s: s.event("MESSAGES_SNAPSHOT", messages=old))
    assert final_text(run, seen) is None


@pytest.mark.parametrize(
    "result", ["42", {"status": "answered", "output": "42"}, {"outcome": "answered", "reply": "42"}]
)
def test_the_final_text_may_stand_in_the_finish(result):
    run, seen = ended(lambda s: s.event("RUN_FINISHED", result=result))
    assert final_text(run, seen) == "42"


def test_the_final_text_may_be_what_a_later_call_of_the_answer_tool_says():
    def tell(s):
        s.text("Let me look.")
        s.call_events("done", {"text": "42"}, "c1")

    run, seen = ended(tell, dialect={"answer_by": "tool:done.text"})
    assert final_text(run, seen) == "42"
    run, seen = ended(tell)
    assert final_text(run, seen) == "Let me look."


@pytest.mark.parametrize(
    ("response", "kind"), [("finish", "empty"), ("error", "empty"), ({"retry_then_error": 1}, None), ("continue", None)]
)
def test_an_empty_reply_spends_the_last_round_only_where_it_would_be_asked_again(response, kind):
    dialect = {"retry_budget": "counts", "empty_response": response}
    run, seen = ended(said(text=""), max_iters=1, dialect=dialect)
    assert actual(run, seen) == kind
