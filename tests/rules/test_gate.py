"""GATE on recordings told by hand: what is evidence, and what an unusual but right agent may do without it."""

import pytest
from story import LOOK, Story

from conformance.reading.evidence import evidence
from conformance.reading.joined import view
from conformance.rule import OK, Finding
from conformance.rules.gate import RULES

BY_ID = {rule.id: rule for rule in RULES}
WANTED = {"tool": "check", "contains": "passed", "since": ["edit"]}
DONE = "It is done."


def judged(rule, story):
    return list(BY_ID[rule].check(view(story.recording())))


def said(rule, story):
    [finding] = [one for one in judged(rule, story) if isinstance(one, Finding)]
    return finding.message


def told(*steps, gate=WANTED, retries=1, max_iters=9):
    """A run of one call per (tool, result) or (tool, error) pair; a text is an answer, and what stands before the next request."""
    knobs = {} if gate is None else {"knobs": {"gate": gate}}
    s = Story(
        max_iters=max_iters,
        tools=dict.fromkeys(("check", "edit", "look"), LOOK),
        capabilities={"completion_gate": {"retries": retries}},
        scenario=knobs,
    )
    for step in steps:
        s.ask()
        if isinstance(step, str):
            s.reply(text=step)
            s.history.append({"role": "user", "content": f"Not yet ({len(s.history)})."})
            continue
        tool, came = step
        s.reply(calls=[(tool, {}, f"c{s.calls}")])
        if isinstance(came, tuple):
            s.execute(tool, {}, f"c{s.calls}", error=came)
        else:
            s.execute(tool, {}, f"c{s.calls}", came)
    return s


def ended(story, kind):
    story.outcome(kind)
    return story


GREEN, EDIT = ("check", "12 passed"), ("edit", "written")


@pytest.mark.parametrize(
    ("found", "steps"),
    [
        ("met", [EDIT, GREEN]),
        ("met", [EDIT, GREEN, ("look", "fine")]),
        ("met", [EDIT, ("check", {"result": "12 passed"})]),
        ("none", [EDIT]),
        ("none", []),
        ("stale", [GREEN, EDIT]),
        ("unfit", [EDIT, ("check", ("Failed", "3 failed, 9 passed"))]),
        ("unfit", [EDIT, ("check", "no tests")]),
        ("unfit", [EDIT, ("look", "12 passed")]),
        ("unfit", [EDIT, "All 12 passed."]),
    ],
)
def test_evidence_is_a_check_that_did_not_fail_says_so_and_follows_the_last_change(found, steps):
    v = view(told(*steps).recording())
    assert evidence(v.runs[0], v, v.runs[0].end_seq) == found


def test_a_check_that_overlaps_the_change_leaves_the_evidence_open():
    s = told()
    s.ask()
    s.reply(calls=[("edit", {}, "c1"), ("check", {}, "c2")])
    s.record("tool", "start", run="r1", exec="x1", tool="edit", call_id="c1", arguments={})
    s.record("tool", "start", run="r1", exec="x2", tool="check", call_id="c2", arguments={})
    s.record("tool", "result", exec="x1", result="written")
    s.record("tool", "result", exec="x2", result="12 passed")
    v = view(s.recording())
    assert evidence(v.runs[0], v, v.runs[0].end_seq) == "open"


def test_an_answer_without_evidence_is_sent_back_by_a_user_message():
    assert judged("GATE-1", ended(told(EDIT, DONE, GREEN, DONE), "answered")) == [OK]


def test_an_answer_without_evidence_that_ends_the_run_is_a_breach():
    assert "ended as answered; expected feedback" in said("GATE-1", ended(told(EDIT, DONE), "answered"))


def test_asking_again_without_a_word_is_a_breach():
    s = told(EDIT, DONE)
    s.history.pop()
    s.ask()
    s.reply(text=DONE)
    assert "with no user message that says so" in said("GATE-1", ended(s, "gate"))


def test_where_no_round_is_left_to_ask_in_nothing_has_to_be_asked():
    assert judged("GATE-1", ended(told(EDIT, DONE, max_iters=2), "unverified")) == []


@pytest.mark.parametrize("retries", [0, 1, 2])
def test_a_gate_that_asks_as_often_as_it_declares_ends_as_gate(retries):
    s = ended(told(EDIT, *[DONE] * (retries + 1), retries=retries), "gate")
    assert judged("GATE-2", s) == [OK]


def test_a_gate_that_asks_more_often_than_it_declares_is_a_breach():
    assert "m4 asks for another after 1 were sent back" in said("GATE-2", ended(told(EDIT, DONE, DONE, DONE), "gate"))


def test_a_used_up_gate_that_ends_like_any_error_is_a_breach():
    assert "ended as error; expected the outcome gate" in said("GATE-2", ended(told(EDIT, DONE, DONE), "error"))


def test_stale_evidence_is_not_taken():
    assert judged("GATE-3", ended(told(GREEN, EDIT, DONE, DONE), "gate")) == [OK, OK]
    assert "older than the last change" in said("GATE-3", ended(told(GREEN, EDIT, DONE), "answered"))


def test_what_was_asked_for_in_vain_is_marked():
    assert judged("GATE-4", ended(told(EDIT, DONE, DONE), "gate")) == [OK]
    assert "with nothing that says so" in said("GATE-4", ended(told(EDIT, DONE, DONE), "answered"))


def test_where_nothing_is_required_the_answer_passes_at_once():
    assert judged("GATE-5", ended(told(DONE, gate=None), "answered")) == [OK]
    assert "nothing had to be shown, but m2 asks again" in said(
        "GATE-5", ended(told(DONE, DONE, gate=None), "answered")
    )
    assert "the run ended as unverified" in said("GATE-5", ended(told(DONE, gate=None), "unverified"))


def test_where_nothing_is_missing_the_answer_passes_at_once():
    assert judged("GATE-5", ended(told(EDIT, GREEN, DONE), "answered")) == [OK]
    assert "what it had to show was seen" in said("GATE-5", ended(told(EDIT, GREEN, DONE, DONE), "answered"))


@pytest.mark.parametrize("step", [("check", ("Failed", "9 passed")), ("check", "none"), ("look", "9 passed")])
def test_what_only_looks_like_evidence_is_not_taken(step):
    assert judged("GATE-6", ended(told(EDIT, step, DONE, DONE), "gate")) == [OK, OK]
    assert "and it ended as answered" in said("GATE-6", ended(told(EDIT, step, DONE), "answered"))


@pytest.mark.parametrize(
    ("kind", "right"), [("unverified", True), ("gate", True), ("limit", False), ("answered", False)]
)
def test_a_run_that_its_limit_ends_without_evidence_is_unverified(kind, right):
    found = judged("GATE-7", ended(told(GREEN, EDIT, max_iters=2), kind))
    assert (found == [OK]) is right
    assert len(found) == 1


def test_a_failure_at_the_limit_is_no_way_out():
    assert judged("GATE-7", ended(told(GREEN, EDIT, max_iters=2), "model_error")) == []


def test_a_run_with_evidence_at_its_limit_is_a_limit():
    assert judged("GATE-7", ended(told(EDIT, GREEN, max_iters=2), "limit")) == [OK]
    assert "no more than the limit" in said("GATE-7", ended(told(EDIT, GREEN, max_iters=2), "unverified"))
