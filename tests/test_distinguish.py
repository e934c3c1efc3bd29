"""Causes and what a program reads of them, over tiny hand-told recordings."""

import pytest
from story import Story

from conformance.distinguish import Signature, distinguished, signature
from conformance.reading.joined import view


def ended(kind, *, by="RUN_FINISHED", says=True, fails=False, **fields):
    s = Story()
    s.event("RUN_STARTED")
    s.ask()
    if fails:
        s.fail(500)
    else:
        s.reply(text="42")
    s.event(by, **fields)
    if says:
        s.outcome(kind)
    return view(s.recording())


def rows(*views):
    return [(one.cause, str(one.signature), one.runs, one.like_an_answer) for one in distinguished(views)]


def test_each_cause_has_a_row_for_each_way_it_reads_with_answers_first():
    failed = ended("model_error", by="RUN_ERROR", code="model_error", fails=True)
    assert rows(failed, ended("answered"), ended("answered")) == [
        ("answered", "RUN_FINISHED, says answered", 2, False),
        ("model_error", "RUN_ERROR, code model_error, says model_error", 1, False),
    ]


def test_a_failure_that_reads_as_an_answer_does_is_shown_as_such():
    quiet = ended("answered", fails=True)
    assert rows(ended("answered"), quiet) == [
        ("answered", "RUN_FINISHED, says answered", 1, False),
        ("model_error", "RUN_FINISHED, says answered", 1, True),
    ]


def test_what_no_model_call_shows_is_taken_from_the_agent():
    assert rows(ended("waiting", outcome={"type": "interrupt"})) == [
        ("waiting", "RUN_FINISHED, outcome interrupt, says waiting", 1, False)
    ]


def test_a_run_that_was_ended_from_outside_has_no_signature_of_its_own():
    s = Story()
    s.ask()
    s.end("hung")
    assert rows(view(s.recording())) == []


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, Signature("RUN_FINISHED")),
        ({"code": 7}, Signature("RUN_FINISHED", code="7")),
        ({"result": {"status": "stopped"}}, Signature("RUN_FINISHED", status=("status stopped",))),
        ({"result": {"outcome": "stopped"}}, Signature("RUN_FINISHED", status=("outcome stopped",))),
        ({"result": {"text": "free"}}, Signature("RUN_FINISHED")),
        ({"result": "free"}, Signature("RUN_FINISHED")),
    ],
)
def test_free_text_is_no_part_of_a_signature(fields, expected):
    one = ended("", says=False, **fields)
    assert signature(one.runs[0], one) == expected


def test_a_marker_and_an_exception_are_read():
    s = Story()
    s.event("RAW", event={"type": "EXCEED_MAX_ITERS", "maxIters": 1})
    s.raises("LimitReached")
    one = view(s.recording())
    assert signature(one.runs[0], one) == Signature(marker=True, exception="LimitReached")
    assert signature(one.runs[0], one).data() == {"marker": True, "exception": "LimitReached"}
    assert str(Signature()) == "nothing"
