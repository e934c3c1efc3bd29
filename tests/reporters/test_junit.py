"""The JUnit form, read back by a parser that did not write it."""

from xml.dom import minidom

import pytest
from hypothesis import given
from hypothesis import strategies as st
from story import Story

from conformance.baseline import Known, applied
from conformance.judge import judge
from conformance.report import Played, as_json, report
from conformance.reporters.junit import junit_xml
from conformance.rule import MUST, OK, SHOULD, Finding, Rule

AGENT = {"name": "tiny", "version": "1", "language": "python", "profile": None}


def rule(name, *judged, level=MUST, **more):
    return Rule(
        name,
        level,
        f"The clause of {name}.",
        "The reason.",
        "M",
        lambda _view: iter(judged),
        evidence=("https://example.org/1",),
        **more,
    )


def recording(exercises=()):
    s = Story(scenario={"exercises": list(exercises)})
    s.ask()
    s.reply(text="42")
    s.outcome("answered", text="42")
    return s.recording()


def again(scenario):
    return f"conformance run {scenario} --agent 'a b'"


def suites(rep, rules, **more):
    document = minidom.parseString(junit_xml(rep, {one.id: one for one in rules}, again, **more))
    assert document.documentElement.tagName == "testsuites"
    return document.documentElement


def cases(root):
    return {
        (case.getAttribute("classname"), case.getAttribute("name")): case
        for case in root.getElementsByTagName("testcase")
    }


def outcome(case):
    """Tag, attributes and text of the one outcome of a test case; None for a pass."""
    found = [one for one in case.childNodes if one.tagName in ("failure", "error", "skipped")]
    assert len(found) <= 1
    if not found:
        return None
    (one,) = found
    return one.tagName, one.getAttribute("type"), one.getAttribute("message"), one.firstChild.data


def play(name, *judged, cell="blocking", level=MUST):
    rules = [rule("RUN-1", *judged, level=level)]
    return Played(name, cell, judge(recording(), rules))


BREACH = Finding("Broken.", 2)

#: One play of each verdict, with what it is to a CI system.
MIXED = report(
    AGENT,
    {},
    [
        play("fails", OK, BREACH),
        play("fails-when-streaming", OK),
        play("fails-when-streaming", BREACH, cell="streaming/whole"),
        play("varies", OK),
        play("varies", BREACH),
        play("warns", BREACH, level=SHOULD),
        play("passes", OK),
        play("silent"),
        play("known", BREACH),
        play("mended", OK),
        Played("dead", "blocking", None, "no key\nis set"),
    ],
    [rule("RUN-1")],
)
KNOWN = [Known("known", "RUN-1", "waits for a release"), Known("mended", "RUN-1", "x", place="b.yaml:3")]
AFTER = applied(MIXED, KNOWN, [rule("RUN-1")])
KINDS = {
    "fails": "failure",
    "fails-when-streaming": None,
    "varies": "failure",
    "warns": None,
    "passes": None,
    "silent": "skipped",
    "known": "skipped",
    "mended": "failure",
    "dead": "error",
}


def test_every_verdict_is_what_a_ci_system_takes_it_for():
    found = cases(suites(AFTER, [rule("RUN-1")]))
    kinds = {name: (outcome(case) or [None])[0] for (where, name), case in found.items() if where == "tiny.blocking"}
    assert kinds == KINDS
    assert outcome(found["tiny.streaming/whole", "fails-when-streaming"])[0] == "failure"


def test_there_is_a_suite_per_cell_and_the_counts_are_those_of_the_json_report():
    root = suites(AFTER, [rule("RUN-1")])
    totals = as_json(AFTER)["totals"]
    expected = {
        "tests": len(as_json(AFTER)["runs"]),
        "failures": totals["fail"] + totals["unstable"] + totals["stale"],
        "errors": totals["could-not-run"],
        "skipped": totals["expected-fail"] + totals["not-observed"],
    }
    assert expected == {"tests": 10, "failures": 4, "errors": 1, "skipped": 2}
    assert {key: int(root.getAttribute(key)) for key in expected} == expected
    parts = root.getElementsByTagName("testsuite")
    assert [part.getAttribute("name") for part in parts] == ["tiny blocking", "tiny streaming/whole"]
    assert {key: sum(int(part.getAttribute(key)) for part in parts) for key in expected} == expected


def test_a_failure_tells_every_finding_with_its_record_the_clause_its_reason_and_the_command():
    rules = [
        rule("RUN-1", BREACH, Finding("Broken again.", 3, consequence_of="HIS-1")),
        rule("RUN-2", Finding("Late.", 1)),
        rule("RUN-3", OK),
    ]
    rep = report(AGENT, {}, [Played("told", "blocking", judge(recording(), rules))], rules)
    ((_, kind, message, text),) = [outcome(case) for case in cases(suites(rep, rules)).values()]
    assert (kind, message) == ("fail", "RUN-1, RUN-2: Broken.")
    lines = text.splitlines()
    assert lines[0] == "fail RUN-1 MUST: The clause of RUN-1."
    assert lines[1] == "  Broken."
    assert lines[2].startswith("    record 2: M m1 regular [user]")
    assert lines[3] == "  Broken again. (follows from HIS-1)"
    assert lines[5:8] == [
        "  why: The reason.",
        "  seen: https://example.org/1",
        "fail RUN-2 MUST: The clause of RUN-2.",
    ]
    assert lines[-1] == "again: conformance run told --agent 'a b'"
    assert "RUN-3" not in text


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("dead", "could not run: no key\\nis set"),
        ("silent", "not observed: nothing applied"),
        ("known", "RUN-1: waits for a release"),
        ("mended", "RUN-1: b.yaml:3 lists it; remove that entry"),
        ("varies", "RUN-1: Broken."),
    ],
)
def test_what_is_no_pass_says_why_in_a_line(name, message):
    assert outcome(cases(suites(AFTER, [rule("RUN-1")]))["tiny.blocking", name])[2] == message


def test_a_scenario_that_showed_nothing_names_the_rules_it_was_made_for():
    rules = [rule("RUN-1")]
    rep = report(AGENT, {}, [Played("told", "blocking", judge(recording(["RUN-1"]), rules))], rules)
    (case,) = cases(suites(rep, rules)).values()
    assert outcome(case)[2] == "not observed: RUN-1 (nothing to judge)"


def test_warnings_are_in_the_output_of_a_test_case_that_passes():
    case = cases(suites(AFTER, [rule("RUN-1", level=SHOULD)]))["tiny.blocking", "warns"]
    (out,) = case.getElementsByTagName("system-out")
    assert out.firstChild.data.startswith("warnings\nwarn RUN-1 SHOULD: The clause of RUN-1.\n  Broken.\n")


def test_what_no_test_case_shows_stands_in_the_properties():
    rep = report(AGENT, {}, [play("passes", OK)], [rule("RUN-1")])
    root = suites(rep, [rule("RUN-1")], missed=["SUM-1"], code=3)
    given_ = {one.getAttribute("name"): one.getAttribute("value") for one in root.getElementsByTagName("property")}
    assert given_["exit_code"] == "3"
    assert given_["shortfall"] == "no scenario of the core gave SUM-1 anything to judge"
    assert (given_["agent.name"], given_["agent.version"], given_["certified"]) == ("tiny", "1", "RUN")


def test_nothing_of_the_machine_is_told(monkeypatch):
    monkeypatch.setenv("PROVIDER_KEY", "sk-not-to-be-told")
    text = junit_xml(AFTER, {"RUN-1": rule("RUN-1")}, again)
    assert b"sk-not-to-be-told" not in text
    assert not [word for word in (b"hostname", b"timestamp") if word in text]
    assert text == junit_xml(AFTER, {"RUN-1": rule("RUN-1")}, again)


HOSTILE = '\x00\x1b[31m\x9b2J]]>&<a b="c">\ud800\ufffe\u202e\r\n\t\x85现'


def hostile(text):
    found = rule("RUN-1", Finding(text, 2))
    known = rule("RUN-2", Finding("x", 2))
    agent = {"name": text, "version": text, "language": text}
    plays = [
        Played("told", "blocking", judge(recording(), [found, known])),
        Played("dead", "blocking", None, text),
    ]
    rep = report(agent, {"marker_name": text}, plays, [found, known])
    return applied(rep, [Known("told", "RUN-2", text)], [found, known]), [found, known]


@given(st.one_of(st.just(HOSTILE), st.text(), st.text(alphabet=st.characters(categories=["Cc", "Cs", "Cf", "Cn"]))))
def test_whatever_an_agent_says_is_legal_xml(text):
    rep, rules = hostile(text)
    found = [outcome(case) for case in cases(suites(rep, rules)).values()]
    assert [one[0] for one in found] == ["failure", "error"]


def test_hostile_text_is_told_as_its_escapes():
    rep, rules = hostile(HOSTILE)
    text = next(iter(outcome(case)[3] for case in cases(suites(rep, rules)).values()))
    assert r'  \x00\x1b[31m\x9b2J]]>&<a b="c">\ud800\ufffe\u202e\r\n\t\x85现' in text.splitlines()
