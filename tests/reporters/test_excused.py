"""A scenario that was not played, since the agent lacks what it needs: what each form of the report makes of it."""

import json
from xml.dom import minidom

from story import Story

from conformance.baseline import Known, applied
from conformance.judge import Verdict, judge
from conformance.report import Played, exit_code, report
from conformance.reporters.as_json import json_text
from conformance.reporters.junit import junit_xml
from conformance.reporters.terminal import terminal
from conformance.rule import MUST, OK, Rule

RULE = Rule("R-1", MUST, "The clause.", "The reason.", "M", lambda _view: iter([OK]))


def made():
    s = Story()
    s.ask()
    s.reply(text="42")
    s.outcome("answered", text="42")
    judged = judge(s.recording(), (RULE,))
    excused = [Played(name, "blocking", None, excused="capability cancel") for name in ("cancelled", "cancelled-late")]
    plays = [Played("told", "blocking", judged), *excused, Played("gated", "blocking", None, excused="knob gate")]
    agent = {"name": "tiny", "version": "1", "language": "python", "profile": None}
    return report(agent, judged.view.declared.data(), plays, (RULE,))


def test_it_is_not_applicable_and_fails_nothing():
    rep = made()
    assert [one.verdict for one in rep.entries] == [Verdict.PASS, *[Verdict.NOT_APPLICABLE] * 3]
    assert (rep.totals["not-applicable"], rep.rules["R-1"].of, exit_code(rep, ())) == (3, 1, 0)


def test_a_baseline_leaves_it_as_it_is():
    after = applied(made(), [Known("cancelled", "R-1", "why", None)], (RULE,))
    assert [(one.verdict, one.excused) for one in after.entries[1:2]] == [("not-applicable", "capability cancel")]


def test_json_says_what_the_agent_lacks():
    told, cancelled, *_ = json.loads(json_text(made()))["runs"]
    assert (cancelled["verdict"], cancelled["excused"]) == ("not-applicable", "capability cancel")
    assert "excused" not in told


def test_junit_skips_it_with_the_reason():
    document = minidom.parseString(junit_xml(made(), {"R-1": RULE}, lambda name: f"conformance run {name}"))
    said = [one.getAttribute("message") for one in document.getElementsByTagName("skipped")]
    assert said == [*["not played: capability cancel"] * 2, "not played: knob gate"]


def test_the_terminal_tells_each_lack_once_with_its_scenarios():
    said = terminal(made(), {"R-1": RULE}, lambda name: f"conformance run {name}")
    assert "not played, since the agent does not have capability cancel: cancelled, cancelled-late\n" in said
    assert "not played, since the agent does not have knob gate: gated\n" in said
