"""A run that answers may be cancelled in the call that it allows, though its own model calls nothing."""

import pytest

from conformance.loading import lint
from conformance.scenario import scenario

PAY = {"description": "Pays.", "parameters": {"type": "object"}, "returns": 1, "approval": True}


def problems(point, *, approved):
    runs = [
        {"user": "Pay.", "model": [{"call": "pay"}]},
        {"resume": [{"approved": approved}], "cancel": point, "model": [{"say": "Paid."}]},
    ]
    data = {"id": "x", "title": "t", "why": "w", "tools": {"pay": PAY}, "runs": runs}
    return [
        problem.message for problem in lint.problems(scenario(data), ()) if "the point never comes" in problem.message
    ]


@pytest.mark.parametrize("point", ["in_tools", "after_tools"])
def test_an_allowed_call_brings_the_points_in_and_after_tools(point):
    assert problems(point, approved=True) == []


@pytest.mark.parametrize(("point", "approved"), [("before_tools", True), ("in_tools", False)])
def test_no_other_point_comes_without_a_call_of_the_runs_own(point, approved):
    (message,) = problems(point, approved=approved)
    assert message.startswith(f"came {point!r}")
