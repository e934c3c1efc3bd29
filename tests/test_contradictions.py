"""A declaration that cannot be true is refused before anything is played; one that says nothing is not."""

import pytest

from conformance.agent_side import AgentInfo
from conformance.dialect import CAPABILITIES, FIGURES, contradictions, declaration, dialect
from conformance.errors import SpecError
from conformance.reference import REFERENCE, sensible_dialects
from conformance.runner import declared


def wrong(said=None, *, channels="MTER", capabilities=None):
    return list(contradictions(said or {}, channels, capabilities or {}))


@pytest.mark.parametrize(
    ("said", "says"),
    [
        ({"on_limit": "other"}, "expected limit_text and limit_terminal beside it"),
        ({"on_limit": "other", "limit_text": "canned"}, "expected limit_text and limit_terminal beside it"),
        ({"events": "none"}, "channel E is declared"),
        ({"exceptions": {"Spent": "limt"}}, "Spent means 'limt', which is no outcome; did you mean 'limit'?"),
    ],
)
def test_a_dialect_that_contradicts_itself_says_how(said, says):
    (found,) = wrong(said)
    assert says in found


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("guards", True, "one or more of max_tool_calls, max_same_call, token_budget"),
        ("guards", {}, "without its figures"),
        ("guards", {"max_calls": 3}, "has the figure 'max_calls', which there is not"),
        ("guards", {"max_tool_calls": -1}, "max_tool_calls -1, which it cannot be"),
        ("guards", {"max_tool_calls": True}, "max_tool_calls True, which it cannot be"),
        ("circuit_breaker", True, "all of kind, threshold, recovery_s"),
        ("circuit_breaker", {"kind": "consecutive", "threshold": 5}, "lacks its figure 'recovery_s'"),
        ("circuit_breaker", {"kind": "consecutive", "threshold": 0, "recovery_s": 1}, "threshold 0"),
        ("tool_timeout", {"seconds": 0, "retries": 0}, "seconds 0"),
        ("tool_timeout", {"seconds": 5}, "lacks its figure 'retries'"),
        ("retries", 2, "all of http"),
        ("completion_gate", True, "write for example completion_gate: {'retries': 1}"),
        ("cancel", {"within_s": 5}, "expected true or false"),
        ("sessions", "yes", "expected true or false"),
    ],
)
def test_a_capability_without_its_figures_says_which(name, value, says):
    (found,) = wrong(capabilities={name: value})
    assert repr(name) in found
    assert says in found


@pytest.mark.parametrize(
    ("said", "channels"),
    [
        ({"on_limit": "error", "limit_text": "canned"}, "MTER"),  # an explicit part takes the shorthand's place
        ({"on_limit": "other", "limit_text": "canned", "limit_terminal": "error"}, "MTER"),
        ({"limit_text": "none", "summary_tools": "choice_none", "summary_failure": "error"}, "MTER"),
        ({"limit_terminal": "finished", "limit_marker": "custom"}, "MTR"),
        ({"events": "none"}, "MTR"),
        ({"on_guard": "refuse", "listener_errors": "propagate"}, "MTER"),
        ({"usage_events": "per_run"}, "MTER"),
        ({"empty_is": [], "empty_response": "finish"}, "MTER"),
        ({"default_max_iters": 0}, "MTER"),
    ],
)
def test_what_is_read_elsewhere_only_is_no_contradiction(said, channels):
    assert wrong(said, channels=channels) == []


def test_every_example_of_figures_may_be_declared_and_is_of_a_capability():
    assert wrong(capabilities={name: dict(figures.example) for name, figures in FIGURES.items()}) == []
    assert set(FIGURES) <= set(CAPABILITIES)
    assert wrong(capabilities=dict.fromkeys(set(CAPABILITIES) - set(FIGURES), True)) == []
    assert wrong(capabilities=dict.fromkeys(CAPABILITIES, False)) == []


def test_what_the_reference_declares_may_be_declared():
    for said in sensible_dialects():
        assert wrong(said, channels=REFERENCE.info.channels, capabilities=REFERENCE.info.capabilities) == []


def test_an_agent_that_contradicts_itself_is_refused_by_name():
    with pytest.raises(SpecError) as refused:
        declared(AgentInfo("mine", "1", channels=("M", "T", "E"), dialect={"events": "none"}))
    assert "agent 'mine': dialect: events is 'none'" in str(refused.value)
    with pytest.raises(SpecError, match="capability 'guards' is True"):
        declared(AgentInfo("mine", "1", capabilities={"guards": True}))


def test_a_declaration_that_may_be_true_is_its_dialect():
    assert declaration({"on_limit": "stop"}, "M", {}) == dialect({"on_limit": "stop"})
