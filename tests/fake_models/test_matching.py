from datetime import UTC, datetime

import pytest

from fake_models.matching import When, misfit, when
from fake_models.messages import Message, ModelRequest, ToolSpec, World

WORLD = World(now=datetime(2026, 1, 1, tzinfo=UTC), call="regular", round=2)
TOOLS = (ToolSpec("a", "", {}), ToolSpec("b", "", {}))


def request(**changes):
    messages = (Message("user", "What time is it?"), Message("tool", "14:39", tool_call_id="c1"))
    return ModelRequest(**{"wire": "w", "model": "m", "messages": messages, "tools": TOOLS, **changes})


@pytest.mark.parametrize(
    ("wanted", "changes"),
    [
        (None, {}),
        (When(), {}),
        (When(tools="offered"), {}),
        (When(tools="offered"), {"tool_choice": "required"}),
        (When(tools="none"), {"tools": None}),
        (When(tools="none"), {"tools": ()}),
        (When(tools="none"), {"tool_choice": "none"}),
        (When(tools=("b", "a")), {}),
        (When(tools=()), {"tools": None}),
        (When(last="tool"), {}),
        (When(text="14:"), {}),
        (When(round=2), {}),
        (When(call="regular"), {}),
        (When(stream=False), {}),
        (When(stream=True), {"stream": True}),
        (When(tools="offered", last="tool", text="39", round=2, call="regular", stream=False), {}),
    ],
)
def test_a_request_that_meets_every_condition_fits(wanted, changes):
    assert misfit(wanted, request(**changes), WORLD) is None


@pytest.mark.parametrize(
    ("wanted", "changes", "said"),
    [
        (When(tools="none"), {}, "when.tools: wanted 'none', but the request offers ['a', 'b']"),
        (When(tools="offered"), {"tools": ()}, "when.tools: wanted 'offered', but the request offers []"),
        (When(tools="offered"), {"tool_choice": "none"}, "when.tools: wanted 'offered', but the request offers []"),
        (When(tools=("a",)), {}, "when.tools: wanted ['a'], but the request offers ['a', 'b']"),
        (When(tools=("a", "c")), {}, "when.tools: wanted ['a', 'c'], but the request offers ['a', 'b']"),
        (When(last="user"), {}, "when.last: wanted 'user', but the last message has role 'tool'"),
        (When(last="user"), {"messages": ()}, "when.last: wanted 'user', but the last message has role None"),
        (When(text="time"), {}, "when.text: wanted 'time', but the last message says '14:39'"),
        (When(text="x"), {"messages": ()}, "when.text: wanted 'x', but the last message says None"),
        (When(round=1), {}, "when.round: wanted 1, but this is round 2"),
        (When(call="summary"), {}, "when.call: wanted 'summary', but this is a call of class 'regular'"),
        (When(stream=True), {}, "when.stream: wanted True, but the request has stream False"),
        (When(last="tool", text="time"), {}, "when.text: wanted 'time', but the last message says '14:39'"),
    ],
)
def test_a_misfit_names_the_condition_what_it_wanted_and_what_came(wanted, changes, said):
    assert misfit(wanted, request(**changes), WORLD) == said


@pytest.mark.parametrize(
    ("data", "value"),
    [
        ({}, When()),
        ({"tools": "none", "last": "user", "text": "x"}, When(tools="none", last="user", text="x")),
        ({"tools": ["a", "b"]}, When(tools=("a", "b"))),
        ({"round": 2, "call": "summary", "stream": False}, When(round=2, call="summary", stream=False)),
    ],
)
def test_conditions_are_read_from_json(data, value):
    assert when(data) == value
