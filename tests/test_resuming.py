import pytest
from ag_ui.core import Interrupt, ResumeEntry, RunFinishedEvent, RunFinishedInterruptOutcome

from conformance.resuming import answers, waiting

STARTS = [
    {"type": "TOOL_CALL_START", "toolCallId": "c1", "toolCallName": "book"},
    {"type": "TOOL_CALL_START", "toolCallId": "c2", "toolCallName": "pay"},
    {"type": "TOOL_CALL_START", "toolCallId": "c3", "toolCallName": "pay"},
]


def ended(*interrupts):
    outcome = RunFinishedInterruptOutcome(interrupts=[Interrupt(reason="approval", **one) for one in interrupts])
    event = RunFinishedEvent(thread_id="t", run_id="r1", outcome=outcome)
    return event.model_dump(by_alias=True, exclude_none=True, mode="json")


THREE = [*STARTS, ended(*({"id": f"i{n}", "tool_call_id": f"c{n}"} for n in (1, 2, 3)))]


def given(*entries):
    """Each entry as the published models read it: interrupt, status, payload."""
    return [(one.interrupt_id, one.status, one.payload) for one in map(ResumeEntry.model_validate, entries)]


def test_what_waits_is_what_the_last_end_left_open_with_its_tool():
    assert [(one["id"], one["tool"]) for one in waiting(THREE)] == [("i1", "book"), ("i2", "pay"), ("i3", "pay")]


@pytest.mark.parametrize(
    "events",
    [
        [],
        [{"type": "RUN_FINISHED"}],
        [{"type": "RUN_FINISHED", "outcome": {"type": "success"}}],
        [{"type": "RUN_FINISHED", "outcome": {"type": "interrupt", "interrupts": 7}}],
        [{"type": "RUN_FINISHED", "outcome": {"type": "interrupt", "interrupts": [{"reason": "no id"}]}}],
        [*THREE, {"type": "RUN_ERROR", "message": "m"}],
        [*THREE, {"type": "RUN_FINISHED"}],
    ],
)
def test_nothing_waits_after_any_other_end(events):
    assert waiting(events) == ()


YES, NO = {"approved": True}, {"approved": False}


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ([YES, NO, YES], [("i1", YES), ("i2", NO), ("i3", YES)]),
        ([NO | {"tool": "pay"}, YES], [("i1", YES), ("i2", NO)]),
        ([YES | {"tool": "pay"}, NO | {"tool": "pay"}], [("i2", YES), ("i3", NO)]),
        ([YES, NO | {"tool": "book"}], [("i1", NO), ("i2", YES)]),
        ([YES | {"tool": "book", "value": {"seats": 2}}], [("i1", YES | {"value": {"seats": 2}})]),
        ([NO] * 5, [("i1", NO), ("i2", NO), ("i3", NO)]),
    ],
)
def test_answers_go_to_their_tool_and_else_to_the_next_in_order(said, expected):
    assert given(*answers(said, waiting(THREE))) == [(name, "resolved", payload) for name, payload in expected]


def test_where_nothing_waits_that_could_be_answered_there_is_no_answer():
    one = waiting([*STARTS[:1], ended({"id": "i1", "tool_call_id": "c1"})])
    assert answers([YES], ()) is None
    assert answers([YES | {"tool": "pay"}], one) is None
