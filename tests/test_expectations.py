"""Which block of predictions is used, and what each prediction is compared with."""

import pytest
from story import Story

from conformance.dialect import dialect
from conformance.expectations import FACTS, block, predictions
from conformance.reading.joined import view
from conformance.scenario import Expect


def seen(story=None, **fields):
    return view((story or Story(**fields)).recording())


@pytest.mark.parametrize(
    ("limits", "guards"),
    [
        ({"max_tool_calls": 2}, True),
        ({}, True),
        ({"max_same_call": 3}, False),
        ({"max_tool_calls": 2, "token_budget": 9}, False),
    ],
)
def test_guards_are_expected_of_an_agent_that_declares_one_of_each_kind_that_is_set(limits, guards):
    read = seen(capabilities={"guards": {"max_tool_calls": "caller"}}, scenario={"limits": limits})
    blocks = [Expect({"guards": True}, {"outcome": "guard"}), Expect({"guards": False}, {"outcome": "answered"})]
    chosen = block(blocks, read)
    assert chosen is not None
    assert chosen.when == {"guards": guards}


@pytest.mark.parametrize(
    ("when", "fits"),
    [
        ({}, True),
        ({"on_limit": "stop"}, True),
        ({"on_limit": "summarize"}, False),
        ({"on_limit": ["summarize", "stop"]}, True),
        ({"empty_response": {"retry_then_error": 1}}, True),
        ({"empty_response": ["error", {"retry_then_error": 1}]}, True),
        ({"empty_is": ["no_parts", "null"]}, True),
        ({"sessions": True}, True),
        ({"sessions": False}, False),
        ({"cancel": False}, True),
        ({"profile": "reference"}, True),
        ({"profile": ["other"]}, False),
        ({"profile": "reference", "on_limit": "error"}, False),
    ],
)
def test_a_block_is_for_an_agent_of_which_all_its_conditions_hold(when, fits):
    read = seen(
        dialect={"on_limit": "stop", "empty_is": ["null", "no_parts"]},
        capabilities={"sessions": True},
        profile="reference",
    )
    one = Expect(when, {})
    assert block([one], read) is (one if fits else None)


def test_the_first_block_that_fits_is_the_only_one():
    first, second = Expect({}, {"text": "1"}), Expect({}, {"text": "2"})
    assert block([Expect({"on_limit": "raise"}, {}), first, second], seen()) is first


def test_the_dialect_is_the_one_that_the_recording_is_read_under():
    read = view(Story().recording(), dialect({"on_limit": "raise"}))
    assert block([Expect({"on_limit": "raise"}, {})], read) is not None


def full(**fields):
    """Two runs: one at its limit with an empty reply retried, one answered."""
    s = Story(max_iters=1, **fields)
    s.event("RUN_STARTED")
    s.ask()
    s.reply(text="", keep=False, usage=(1, 1))
    s.ask(messages=[*s.history, {"role": "user", "content": "Say something."}])
    s.fail(500)
    s.ask(again=True)
    s.reply(calls=[("look", {}, "c1")])
    s.execute("look", {}, "c1", 42)
    s.event("RAW", event={"type": "EXCEED_MAX_ITERS", "maxIters": 1, "currentIter": 1})
    s.log("round 1 of 1 made")
    s.log("slow", "WARNING")
    s.record("agent", "log", run="r1", level="DEBUG", logger="httpx2.transport", message="sent")
    s.ask(tools=None)
    s.reply(text="It is 42.")
    s.event("CUSTOM", name="token_usage", value={"replyId": "reply-1", "inputTokens": 1, "outputTokens": 1})
    s.event("RUN_FINISHED")
    s.outcome("limit", text=" It is 42.\n")
    s.end()
    s.begin("Again?", max_iters=3)
    s.event("RUN_STARTED")
    s.ask(side="auxiliary")
    s.reply(text="A title", keep=False)
    s.ask(side="compaction")
    s.reply(text="Short.", keep=False)
    s.ask()
    s.reply(text="Still 42.")
    s.event("RUN_FINISHED")
    s.outcome("answered", text="Still 42.")
    return s


WHOLE = {
    "terminal": "RUN_FINISHED",
    "outcome": "answered",
    "model_calls": 5,
    "regular_calls": 2,
    "retries": 1,
    "compactions": 1,
    "attempts": 1,
    "tools_run": ["look"],
    "text": "Still 42.",
    "events": 6,
    "usage_reports": 1,
    "marker": 1,
    "log": {"DEBUG": 1, "WARNING": 1, "ERROR": 0},
}
FIRST = WHOLE | {
    "outcome": "limit",
    "model_calls": 3,
    "regular_calls": 1,
    "compactions": 0,
    "text": "It is 42.",
    "events": 4,
}


def test_every_prediction_of_a_schema_has_a_fact():
    assert set(FACTS) == set(WHOLE)


def compared(expected, *, per_run=False, **fields):
    runs = [{"user": "u", "model": [{"answer": "42"}]} for _ in range(2)]
    if per_run:
        runs[0]["expect"] = [expected]
    scenario = {"runs": runs} | ({} if per_run else {"expect": [expected]})
    read = view(full(scenario=scenario, **fields).recording())
    return {(one.where, one.key): one.came for one in predictions(read)}


def test_at_the_top_counts_are_sums_and_the_ending_is_the_last_runs():
    came = compared(WHOLE, profile="reference")
    assert came == {("scenario", key): value for key, value in WHOLE.items()}


def test_a_runs_block_is_about_that_run():
    came = compared(FIRST, per_run=True, profile="reference")
    assert came == {("r1", key): value for key, value in FIRST.items()}


@pytest.mark.parametrize(
    ("channels", "left"),
    [
        ("M", {"model_calls", "regular_calls", "retries", "compactions", "attempts"}),
        ("T", {"tools_run"}),
        ("R", {"outcome", "text"}),
        ("E", {"terminal", "outcome", "text", "marker", "events"}),
        ("U", {"usage_reports"}),
        ("L", {"log"}),
    ],
)
def test_a_prediction_on_a_channel_that_is_not_declared_is_not_judged(channels, left):
    assert {key for _, key in compared(WHOLE, profile="reference", channels=channels)} == left


@pytest.mark.parametrize(
    "fields", [{"profile": None}, {"profile": "reference", "cell": {"stream": True, "chunking": "per_character"}}]
)
def test_events_are_counted_for_the_reference_and_whole_chunks_only(fields):
    cell = fields.pop("cell", None)
    s = full(scenario={"runs": [{"user": "u", "model": [{"answer": "42"}]}] * 2, "expect": [{"events": 6}]}, **fields)
    if cell:
        s.header["cell"] = cell
    assert list(predictions(view(s.recording()))) == []


@pytest.mark.parametrize(
    ("marker", "predicted", "holds"),
    [
        ({"type": "EXCEED_MAX_ITERS", "maxIters": 2}, True, True),
        ({"type": "EXCEED_MAX_ITERS", "maxIters": 2}, 2, True),
        ({"type": "EXCEED_MAX_ITERS", "maxIters": 2}, 3, False),
        ({"type": "EXCEED_MAX_ITERS"}, 2, False),
        (None, False, True),
        (None, True, False),
        (None, 0, False),
    ],
)
def test_a_marker_is_predicted_as_there_or_with_its_budget(marker, predicted, holds):
    s = Story(scenario={"expect": [{"marker": predicted}]})
    if marker is not None:
        s.event("RAW", event=marker)
    [one] = predictions(view(s.recording()))
    assert one.holds is holds


@pytest.mark.parametrize(
    ("came", "predicted", "holds"), [(None, None, True), (" \n", None, True), ("42 ", "42", True), ("42", "42.", False)]
)
def test_texts_are_compared_trimmed_and_a_blank_one_is_none(came, predicted, holds):
    s = Story(scenario={"expect": [{"text": predicted}]})
    s.outcome("answered", text=came)
    [one] = predictions(view(s.recording()))
    assert one.holds is holds


def test_usage_per_run_is_counted_on_terminal_events():
    s = Story(dialect={"usage_events": "per_run"}, scenario={"expect": [{"usage_reports": 1}]})
    s.event("RUN_FINISHED", usage=[{"inputTokens": 1, "outputTokens": 1}])
    [one] = predictions(view(s.recording()))
    assert one.holds


@pytest.mark.parametrize(
    ("code", "predicted", "holds"),
    [(None, "model_error", True), ("500", "limit", True), ("limit", "model_error", False), (None, "answered", False)],
)
def test_an_error_that_names_no_kind_is_any_kind_but_an_answer(code, predicted, holds):
    s = Story(channels="MTE", scenario={"expect": [{"outcome": predicted}]})
    s.event("RUN_ERROR", **({} if code is None else {"code": code}))
    [one] = predictions(view(s.recording()))
    assert one.holds is holds
