"""Every choice of a dialect is either seen in recordings, or has a sentence that says why it is not."""

import pytest
from story import Story

from conformance.dialect import BY_NAME, KEYS
from conformance.observing.observers import OBSERVERS, observe
from conformance.observing.unseen import UNSEEN, UNSHOWN
from conformance.overrides import examples
from conformance.reading.joined import view
from conformance.reference import sensible_dialects

MARK = {"type": "EXCEED_MAX_ITERS", "maxIters": 1}
ARGUED = {"description": "Looks.", "parameters": {"type": "object"}, "returns": 42}


def seen(key, story):
    found = observe(view(story.recording()), key)
    return "nothing" if found is None else found.value


def at_the_limit(*, name="EXCEED_MAX_ITERS", **dialect):
    s = Story(max_iters=1, dialect={"limit_text": "none", **dialect})
    s.ask()
    s.reply(calls=[("look", {}, "c1")])
    s.execute("look", {}, "c1", 42)
    s.event("RAW", event={"type": name, "maxIters": 1})
    s.event("RUN_FINISHED")
    s.outcome("limit")
    return s


def empties(*shapes, ends, dialect=None, scenario=None, capabilities=None):
    s = Story(dialect=dialect, scenario=scenario, capabilities=capabilities)
    for shape in shapes:
        s.ask()
        s.reply(**SHAPES[shape], stop="stop", keep=False)
    if ends is None:
        s.ask()
        s.reply(text="42")
    s.event("RUN_FINISHED")
    s.outcome(ends or "answered", text="42" if ends is None else None)
    return s


SHAPES = {
    "no_parts": {"parts": []},
    "null": {"text": None},
    "blank": {"text": "  "},
    "thinking": {"thinking": "Hm."},
}


def answered_by_tool(*, own=True, ran=False, **dialect):
    s = Story(dialect=dialect)
    s.ask(tools=["look", "final"] if own else ["look"])
    if own:
        s.reply(calls=[("final", {"text": "It is 42.", "of": "x"}, "c1")])
    else:
        s.reply(text="It is 42.")
    if ran:
        s.execute("final", {"text": "It is 42.", "of": "x"}, "c1", 1)
    s.event("RUN_FINISHED")
    s.outcome("answered", text="It is 42.")
    return s


def two_tools(*, overlap, **dialect):
    s = Story(dialect=dialect)
    s.ask()
    s.reply(calls=[("look", {}, "c1"), ("look", {}, "c2")])
    if overlap:
        s.record("tool", "start", run=s.run, exec="x1", tool="look", call_id="c1", arguments={})
        s.record("tool", "start", run=s.run, exec="x2", tool="look", call_id="c2", arguments={})
        s.record("tool", "result", exec="x1", result=1)
        s.record("tool", "result", exec="x2", result=1)
    else:
        s.execute("look", {}, "c1", 1)
        s.execute("look", {}, "c2", 1)
    s.outcome("answered")
    return s


def guarded(*, refuses, limits, ran=1, results=(1, 1, 1), guards=None, claim="guard", **dialect):
    """The same call again and again, of which only the first `ran` run."""
    s = Story(
        dialect=dialect, scenario={"limits": limits}, capabilities={"guards": guards or {"max_tool_calls": "caller"}}
    )
    for turn in range(ran + 1):
        s.ask()
        s.reply(calls=[("look", {}, f"c{turn}")])
        if turn < ran:
            s.execute("look", {}, f"c{turn}", results[turn])
    if refuses:
        s.answer(f"c{ran}", "refused: the cap was reached")
        s.ask()
        s.reply(text="42")
        s.outcome("answered", text="42")
    else:
        s.event("RUN_ERROR", message="max_tool_calls", code="guard")
        s.outcome(claim)
    return s


def hooked(ending, *, does="raise", hook="before_model", knobs=None):
    scenario = {"knobs": knobs or {"callbacks": [{"hook": hook, "does": does}]}}
    s = Story(scenario=scenario, capabilities={"callbacks": True})
    s.event("CUSTOM", name="conformance.callback", value={"hook": hook, "tool": None, "callId": None})
    if ending == "goes on":
        s.ask()
        s.reply(text="42")
    if ending == "fails":
        s.raises("RuntimeError", "the hook is broken")
    else:
        s.event("RUN_FINISHED")
        s.outcome("answered", text="42")
    return s


#: What shows a value: by key and value, a told recording under another declaration where there is one.
TOLD = {
    ("marker_name", "round_limit"): lambda: at_the_limit(name="round_limit", marker_name="round_limit"),
    ("marker_name", "None"): lambda: at_the_limit(marker_name="round_limit"),
    ("empty_is", "['no_parts', 'null']"): lambda: empties(
        "no_parts", "null", "blank", ends="answered", dialect={"empty_is": ["no_parts", "null", "blank"]}
    ),
    ("answer_by", "tool:final.text"): answered_by_tool,
    ("answer_by", "text"): lambda: answered_by_tool(own=False, answer_by="tool:final.text"),
    ("parallel_tools", "concurrent"): lambda: two_tools(overlap=True, parallel_tools="sequential"),
    ("on_guard", "refuse"): lambda: guarded(refuses=True, limits={"max_tool_calls": 1}),
    ("on_guard", "stop"): lambda: guarded(refuses=False, limits={"max_tool_calls": 1}, on_guard="refuse"),
    ("listener_errors", "isolated"): lambda: hooked("goes on"),
    ("listener_errors", "propagate"): lambda: hooked("fails"),
}


def test_every_key_has_an_observer_or_a_reason():
    assert set(OBSERVERS) | set(UNSEEN) == set(BY_NAME)
    assert not set(OBSERVERS) & set(UNSEEN)
    assert {key for key, _ in UNSHOWN} <= set(OBSERVERS)
    assert all(why.endswith(".") for why in (*UNSEEN.values(), *UNSHOWN.values()))


@pytest.mark.parametrize(("key", "value"), TOLD)
def test_a_told_recording_shows_it(key, value):
    came = seen(key, TOLD[key, value]())
    assert str(list(came) if isinstance(came, tuple) else came) == value


# `tests/test_fitting.py` plays what the reference does and `tests/test_observers.py` tells the rest.
ELSEWHERE = {
    *(("tool_history", value) for value in ("messages", "text")),
    *(("type_check", value) for value in ("loop", "tool")),
    *(("bad_ids", value) for value in ("repair", "refuse")),
    *(("exceptions", value) for value in ("{}", "{'MaxTurnsExceeded': 'limit'}")),
}


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.name)
def test_every_value_is_shown_somewhere_or_has_a_reason(key):
    played = {(name, str(value)) for one in sensible_dialects() for name, value in one.items()}
    told = {name for name, _ in TOLD}
    for value in examples(key):
        mine = (key.name, str(value))
        shown = mine in played or mine in TOLD or mine in ELSEWHERE or value == key.default or key.name in told
        assert shown or mine in UNSHOWN or key.name in UNSEEN or mine == ("default_max_iters", "25"), mine


def test_a_marker_of_another_name_is_no_marker_and_one_that_is_missing_shows_nothing():
    assert seen("marker_name", at_the_limit(name="rounds_used", marker_name="round_limit")) == "nothing"
    assert seen("marker_name", at_the_limit(name="rounds_used")) == "nothing"
    assert seen("marker_name", at_the_limit()) is None


@pytest.mark.parametrize(
    ("shapes", "ends", "dialect", "value"),
    [
        (("blank",), None, {"empty_is": ["no_parts"]}, ("no_parts", "blank")),
        (("blank",), "empty", {"empty_is": ["no_parts"]}, ("no_parts", "blank")),
        (("blank",), "answered", {}, "nothing"),  # it may as well have finished without an answer
        (("blank",), "error", {}, "nothing"),
        (("no_parts", "blank"), "answered", {}, ("no_parts", "null", "thinking")),
        (("blank", "blank"), "answered", {}, "nothing"),  # first asked again, then taken
        (("thinking",), None, {"answer_by": "tool:final.text"}, "nothing"),
    ],
)
def test_what_counts_as_empty(shapes, ends, dialect, value):
    assert seen("empty_is", empties(*shapes, ends=ends, dialect=dialect)) == value


def test_a_completion_gate_that_may_ask_again_says_nothing_of_empty_replies():
    gate = {"knobs": {"gate": {"tool": "look"}}}
    has = {"completion_gate": {"retries": 1}}
    assert seen("empty_is", empties("blank", ends=None, scenario=gate, capabilities=has)) == "nothing"
    assert seen("empty_is", empties("blank", ends=None, capabilities=has)) != "nothing"


def test_an_answer_tool_that_ran_or_that_other_tools_stand_beside_is_left_open():
    assert seen("answer_by", answered_by_tool(ran=True)) == "nothing"
    assert seen("answer_by", answered_by_tool(own=False)) == "nothing"


def test_only_an_overlap_shows_how_tools_run():
    assert seen("parallel_tools", two_tools(overlap=False)) == "nothing"
    assert seen("parallel_tools", two_tools(overlap=True, parallel_tools="read_only")) == "read_only"


@pytest.mark.parametrize(
    ("asked", "value"),
    [
        ({"limits": {"max_same_call": 2}, "ran": 2}, "refuse"),
        ({"limits": {"max_same_call": 2}, "ran": 2, "results": (1, 2, 3)}, "nothing"),  # a changed result is progress
        ({"limits": {}, "guards": {"max_tool_calls": 1}}, "refuse"),
        ({"limits": {"max_tool_calls": 2}, "ran": 1}, "nothing"),  # kept back for another reason
        ({"limits": {"max_tool_calls": 1}, "ran": 2}, "nothing"),  # one too many ran
    ],
)
def test_a_refusal_shows_only_where_a_cap_forbids_the_call(asked, value):
    assert seen("on_guard", guarded(refuses=True, **asked)) == value


def test_a_run_that_ends_at_a_cap_for_another_reason_shows_no_guard():
    assert seen("on_guard", guarded(refuses=False, limits={"max_tool_calls": 1}, claim="error")) == "nothing"


@pytest.mark.parametrize(
    ("told", "value"),
    [
        ({"ending": "is answered"}, "isolated"),
        ({"ending": "fails", "does": "tell"}, "nothing"),
        ({"ending": "fails", "hook": "guardrail"}, "nothing"),  # one that raises has crashed, which is another thing
        ({"ending": "fails", "knobs": {"tracing": True}}, "nothing"),
    ],
)
def test_only_a_hook_that_looks_on_and_raises_shows_what_its_exceptions_do(told, value):
    assert seen("listener_errors", hooked(**told)) == value


def test_a_tool_that_raises_is_seen_until_a_breaker_may_have_opened():
    def raised(threshold):
        s = Story(capabilities={"circuit_breaker": {"kind": "consecutive", "threshold": threshold, "recovery_s": 1}})
        s.ask()
        s.reply(calls=[("look", {}, "c1")])
        s.execute("look", {}, "c1", error=("OSError", "gone"))
        s.ask()
        s.reply(text="42")
        s.outcome("answered", text="42")
        return s

    assert seen("tool_exception", raised(2)) == "observe"
    assert seen("tool_exception", raised(1)) == "nothing"
