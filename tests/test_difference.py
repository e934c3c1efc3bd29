"""Two lots of recordings: what is a pair, what changed, and where it parts."""

import json

import pytest
from story import Story

from conformance.difference import Changed, Name, Pair, Spot, difference, parting
from conformance.judge import judge
from conformance.report import Played, report
from conformance.reporters.differing import as_json, text
from conformance.rule import MUST, OK, Finding, Rule


def rule(*judged, id="RUN-1"):
    return Rule(id, MUST, "The clause.", "The reason.", "M", lambda _view: iter(judged))


def recording(*, tool=None, answer="42", said=True, agent="tiny", usage=False, outcome="answered"):
    s = Story()
    s.header["agent"]["name"] = agent
    s.event("RUN_STARTED")
    s.ask()
    if tool is not None:
        s.reply(calls=[("look", {}, "c1")])
        s.execute("look", {}, "c1", tool)
        s.ask()
    s.reply(text=answer)
    if usage:
        s.event("CUSTOM", name="token_usage", value={})
    if said:
        s.event("RUN_FINISHED")
    s.outcome(outcome, text=answer)
    return s.recording()


def side(*plays, agent="tiny"):
    """A report of these (scenario, cell, recording, judged)."""
    made = [Played(name, cell, judge(one, [rule(*judged)])) for name, cell, one, judged in plays]
    return report({"name": agent, "version": "1", "language": "python"}, {}, made, [rule()])


def parts(a, b):
    return parting(judge(a, []), judge(b, []))


def test_what_is_the_same_does_not_part_whoever_the_agent_is():
    assert parts(recording(tool=1), recording(tool=1, agent="other")) is None


def test_recordings_part_at_the_first_line_that_differs_with_its_record_on_either_side():
    # 1 kit/run_start, 2 RUN_STARTED, 3 model/request, 4 model/reply, 5 model/reply_done, 6 tool/start.
    first, second = parts(recording(tool=1), recording(tool=2))
    assert (first.seq, first.kind, first.line) == (6, "tool/start", "T x1 c1 look {} -> 1")
    assert (second.seq, second.kind, second.line) == (6, "tool/start", "T x1 c1 look {} -> 2")


def test_a_recording_can_be_over_before_the_other():
    first, second = parts(recording(said=False), recording())
    assert first is None
    assert (second.kind, second.line) == ("agent/event", "E RUN_FINISHED")


@pytest.mark.parametrize(
    ("other", "said"), [({"usage": True}, "3 events"), ({"outcome": "failed"}, "failed")], ids=["usage", "outcome"]
)
def test_what_has_no_line_of_its_own_parts_in_the_sum(other, said):
    first, second = parts(recording(), recording(**other))
    assert (first.seq, second.seq, first.kind, second.kind) == (None, None, None, None)
    assert said in second.line
    assert said not in first.line


ONE = recording()
TWO = recording(answer="43")


def test_plays_are_paired_by_scenario_cell_and_repeat():
    a = side(("x", "blocking", ONE, [OK]), ("x", "blocking", ONE, [OK]), ("y", "blocking", ONE, [OK]))
    b = side(("z", "blocking", ONE, [OK]), ("x", "blocking", ONE, [OK]), ("y", "streaming/whole", ONE, [OK]))
    found = difference(a, b)
    assert (found.pairs, found.same) == ((), 1)
    assert found.only_first == (Name("x", "blocking", 2), Name("y", "blocking", 1))
    assert found.only_second == (Name("z", "blocking", 1), Name("y", "streaming/whole", 1))
    assert not found.none


def test_a_verdict_can_change_without_the_recordings_parting_and_the_other_way_round():
    a = side(("x", "blocking", ONE, [OK]), ("y", "blocking", ONE, [OK]), ("z", "blocking", ONE, [OK]))
    b = side(
        ("x", "blocking", ONE, [Finding("Broken.", 1)]), ("y", "blocking", TWO, [OK]), ("z", "blocking", ONE, [OK])
    )
    verdict, parted = difference(a, b).pairs
    assert verdict == Pair(Name("x", "blocking", 1), (Changed("RUN-1", "pass", "fail"),), None)
    assert (parted.changed, parted.parts[0].kind) == ((), "model/request")


def test_a_side_beside_itself_does_not_differ():
    a = side(("x", "blocking", ONE, [OK]), ("y", "blocking", TWO, [Finding("Broken.", 1)]))
    assert difference(a, a).none
    assert difference(a, a).same == 2


A = side(("x", "blocking", ONE, [OK]), ("x", "blocking", ONE, [OK]), ("gone", "blocking", ONE, [OK]), agent="a\x1b[31m")
B = side(
    ("x", "blocking", ONE, [OK]),
    ("x", "blocking", recording(answer="\x1b[31m" + "x" * 150), [Finding("Broken.", 1)]),
    ("new", "streaming/whole", ONE, [OK]),
    agent="b",
)
SIDES = [("recordings/main", A), ("recordings/\nmine", B)]


def test_the_text_names_the_sides_the_pairs_what_changed_and_where():
    lines = text(difference(A, B), SIDES).splitlines()
    assert lines[:3] == [
        r"A recordings/main: agent a\x1b[31m 1, 3 recordings",
        r"B recordings/\nmine: agent b 1, 3 recordings",
        "",
    ]
    assert lines[3:6] == ["x · blocking · repeat 2", "  RUN-1: pass -> fail", "  the recordings part here:"]
    assert lines[6].startswith("    A record 3 model/request: M m1 regular [user] ")
    assert lines[7].startswith(r"    B record 3 model/request: M m1 regular [user] ")
    assert lines[8:] == [
        "",
        "only in A:",
        "  gone · blocking",
        "",
        "only in B:",
        "  new · streaming/whole",
        "",
        "1 differ, 1 only in A, 1 only in B, 1 the same",
    ]
    assert all(line.isprintable() for line in lines)


def test_a_side_that_is_over_and_a_sum_have_words_of_their_own():
    shown = text(
        difference(side(("x", "blocking", recording(said=False), [OK])), side(("x", "blocking", ONE, [OK]))), SIDES
    )
    assert "    A ends before it\n" in shown
    shown = text(
        difference(side(("x", "blocking", ONE, [OK])), side(("x", "blocking", recording(usage=True), [OK]))), SIDES
    )
    assert "    A in sum: RUN_FINISHED · answered" in shown


def test_the_json_form_holds_the_same():
    told = as_json(difference(A, B), SIDES)
    assert told.isascii()
    data = json.loads(told)
    assert set(data) == {"kit", "a", "b", "differ", "only_a", "only_b", "same"}
    assert data["b"] == {
        "name": "recordings/\nmine",
        "agent": {"name": "b", "version": "1", "language": "python"},
    }
    (pair,) = data["differ"]
    assert {key: pair[key] for key in ("scenario", "cell", "repeat", "changed")} == {
        "scenario": "x",
        "cell": "blocking",
        "repeat": 2,
        "changed": [{"rule": "RUN-1", "a": "pass", "b": "fail"}],
    }
    assert {side: (one["seq"], one["kind"]) for side, one in pair["parts"].items()} == {
        "a": (3, "model/request"),
        "b": (3, "model/request"),
    }
    assert data["only_a"] == [{"scenario": "gone", "cell": "blocking", "repeat": 1}]
    assert data["same"] == 1


def test_a_side_that_is_over_is_null_in_the_json_form():
    found = difference(side(("x", "blocking", recording(said=False), [OK])), side(("x", "blocking", ONE, [OK])))
    parts = json.loads(as_json(found, SIDES))["differ"][0]["parts"]
    assert parts["a"] is None
    assert parts["b"]["line"] == "E RUN_FINISHED"
    same_text = difference(side(("x", "blocking", ONE, [OK])), side(("x", "blocking", ONE, [Finding("Broken.", 1)])))
    assert json.loads(as_json(same_text, SIDES))["differ"][0]["parts"] is None


def test_a_spot_is_a_line_and_may_have_no_record():
    assert Spot("a line") == Spot("a line", None, None)
