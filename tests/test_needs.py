import pytest

from conformance.agent_side import AgentInfo
from conformance.loading.loader import bundled, load_all
from conformance.needs import lacked, needs
from conformance.scenario import scenario

RUN = {"user": "a", "model": [{"call": "look"}, {"say": "b"}]}
LOOK = {"description": "d", "parameters": {"type": "object"}, "returns": 1}
BARE = {"description": "d", "parameters": {"type": "object"}}
HANGS = BARE | {"hangs": True}
HANGS_LATER = BARE | {"sequence": [{"returns": 1}, {"returns": 2}, {"hangs": True}]}


def plan(*runs, **more):
    return scenario({"id": "x", "title": "t", "why": "w", "tools": {"look": LOOK}, "runs": list(runs)} | more)


@pytest.mark.parametrize(
    ("one", "needed"),
    [
        (plan(RUN), []),
        (plan(RUN | {"cancel": "stream"}, RUN | {"cancel": "in_tools"}), ["capability cancel"]),
        (plan(RUN, {"resume": [{"approved": True}], "model": []}), ["capability approval"]),
        (plan(RUN, tools={"look": LOOK | {"approval": True}}), ["capability approval"]),
        (plan(RUN, RUN | {"start": "with"}), ["capability concurrent_runs"]),
        (plan(RUN | {"kill": "stream"}), ["kit kill"]),
        (plan(RUN | {"knobs": {"debug": True}}, knobs={"tracing": False}), ["knob tracing", "knob debug"]),
        (plan(RUN, limits={"max_tool_calls": 1}), []),
    ],
)
def test_a_scenario_needs_what_its_runs_and_tools_ask_for(one, needed):
    assert list(map(str, needs(one))) == needed


@pytest.mark.parametrize(
    ("tool", "limits", "needed"),
    [
        (HANGS, {"tool_timeout_s": 1}, True),
        (HANGS_LATER, {"tool_timeout_s": 1}, True),
        (HANGS, {}, False),
        (LOOK, {"tool_timeout_s": 1}, False),
    ],
    ids=["a limit for one that hangs", "or that hangs later", "no limit", "none that hangs"],
)
def test_a_tool_that_is_to_be_given_up_on_needs_an_agent_that_does(tool, limits, needed):
    one = plan(RUN | {"limits": limits}, tools={"look": tool})

    assert ("capability tool_timeout" in map(str, needs(one))) is needed


def test_of_the_library_these_need_an_agent_that_gives_up_on_tools():
    named = {one.id for one in load_all(bundled()) if "capability tool_timeout" in map(str, needs(one))}

    assert named == {
        "after-hook-of-a-tool-that-hangs",
        "steps-of-a-tool-that-hangs",
        "tool-that-hangs",
        "tool-that-hangs-beside-another",
    }


@pytest.mark.parametrize(
    ("more", "lacks"),
    [
        ({}, "capability cancel"),
        ({"capabilities": {"cancel": False}}, "capability cancel"),
        ({"capabilities": {"cancel": True}}, "knob gate"),
        ({"capabilities": {"cancel": True}, "knobs": ("gate",)}, "None"),
        ({"capabilities": {"cancel": {"within_s": 5}}, "knobs": ("gate",)}, "None"),
    ],
)
def test_an_agent_lacks_the_first_that_it_does_not_declare(more, lacks):
    one = plan(RUN | {"cancel": "stream"}, knobs={"gate": {"tool": "look"}})

    assert str(lacked(one, AgentInfo("a", **more), can_be_killed=True)) == lacks


def test_what_cannot_be_killed_lacks_it_whatever_it_declares():
    one = plan(RUN | {"kill": "stream"})

    assert [str(lacked(one, AgentInfo("a"), can_be_killed=can)) for can in (True, False)] == ["None", "kit kill"]


BY_TEXT = {"when": {"answer_by": "tool:done.text"}, "outcome": "answered"}


@pytest.mark.parametrize(
    ("answer_by", "lacks"),
    [
        ("tool:done.text", "None"),
        ("tool:done.words", "dialect answer_by=tool:done.text"),
        ("tool:finish.words", "None"),
        ("text", "None"),
    ],
)
def test_an_answer_that_a_script_spells_itself_needs_the_argument_it_is_spelled_for(answer_by, lacks):
    spelled = {"user": "a", "model": [{"call": {"name": "done", "args": {"text": "b"}}}], "expect": [BY_TEXT]}

    assert str(lacked(plan(spelled), AgentInfo("a", dialect={"answer_by": answer_by}), can_be_killed=True)) == lacks


def test_an_answer_that_the_kit_spells_needs_nothing():
    assert needs(plan({"user": "a", "model": [{"answer": "b", "call": "look"}], "expect": [BY_TEXT]})) == ()


def test_of_the_library_this_one_spells_an_answer_itself():
    named = {one.id for one in load_all(bundled()) if any(need.kind == "dialect" for need in needs(one))}

    assert named == {"answer-behind-a-call"}
