"""Rows of the table of real frameworks: what a report is cut down to, what explains a fail, and what failed once."""

import json
from dataclasses import replace

from conformance.reporters.results_page import Documented, results_page
from conformance.results import Explanation, Found, Mended, idle, row_of, rows, unexplained


def entry(scenario, cell, verdict="pass", **results):
    """A play, with the verdict of each rule that said something."""
    said = [
        {"rule": rule.replace("_", "-"), "level": "MUST", "verdict": one, "findings": []}
        for rule, one in results.items()
    ]
    return {"scenario": scenario, "cell": cell, "verdict": verdict, "results": said}


def report(*entries, version="1.0"):
    agent = {"name": "Some Loop", "version": version, "language": "python"}
    return {"kit": "0.1.0", "agent": agent, "dialect": {"on_limit": "raise"}, "runs": list(entries)}


EMPTY = [
    entry("empty-once", "blocking", "fail", REC_1="fail", RUN_1="pass", LIM_2="not-observed"),
    entry("empty-once", "streaming/whole", "fail", REC_1="fail", RUN_1="pass"),
    entry("one-answer", "blocking", "warn", REC_6="warn", RUN_1="pass"),
    entry("cancelled", "blocking", "not-applicable"),
]
CAUSE = Explanation("An empty reply is the end.", "https://github.com/o/r/blob/v1/loop.py", {"empty-once": ("REC-1",)})


def test_a_row_counts_plays_by_verdict_and_judgements_by_area():
    (row,) = rows(report(*EMPTY), "some-loop")
    assert row.verdicts == {"fail": 2, "not-applicable": 1, "warn": 1}
    assert row.areas == {"REC": {"judged": 3, "failed": 2}, "RUN": {"judged": 3, "failed": 0}}


def test_a_finding_stands_once_with_all_its_cells():
    (row,) = rows(report(*EMPTY), "some-loop")
    assert row.found == (
        Found("empty-once", "REC-1", "fail", ("blocking", "streaming/whole")),
        Found("one-answer", "REC-6", "warn", ("blocking",)),
    )


def test_each_wire_has_a_row_of_its_own():
    both = [*EMPTY, entry("empty-once", "openai_responses/streaming/whole")]
    first, second = rows(report(*both), "some-loop")
    assert (first.wire, first.key, len(first.fails)) == ("openai_chat", "some-loop", 1)
    assert (second.wire, second.key, second.found) == ("openai_responses", "some-loop.openai_responses", ())


def test_a_row_is_the_same_after_it_was_kept():
    (row,) = rows(report(*EMPTY), "some-loop")
    assert row_of(json.loads(json.dumps(row.data()))) == row


def test_a_fail_is_explained_by_its_scenario_its_rule_and_its_wire():
    (row,) = rows(report(*EMPTY), "some-loop")
    (fail,) = row.fails
    other_wire = replace(CAUSE, wire="openai_responses")
    other_rule = replace(CAUSE, found={"empty-once": ("REC-2",)})
    assert unexplained(row, [CAUSE]) == ()
    assert unexplained(row, [other_wire, other_rule]) == (fail,)


def test_an_explanation_of_what_is_not_found_is_told():
    (row,) = rows(report(*EMPTY), "some-loop")
    more = replace(CAUSE, found={"empty-once": ("REC-1", "LIM-2"), "gone": ("RUN-1",)})
    assert [(scenario, rule) for _, scenario, rule in idle([row], [more])] == [
        ("empty-once", "LIM-2"),
        ("gone", "RUN-1"),
    ]


def test_a_fail_that_another_version_does_not_have_stays_as_mended():
    before = rows(report(*EMPTY), "some-loop")
    fine = entry("empty-once", "blocking", REC_1="pass")
    (row,) = rows(report(fine, version="1.1"), "some-loop", before)
    assert row.mended == (Mended("empty-once", "REC-1", "1.0", "1.1"),)
    (later,) = rows(report(fine, version="1.2"), "some-loop", [row])
    assert later.mended == row.mended
    (again,) = rows(report(*EMPTY, version="1.3"), "some-loop", [later])
    assert again.mended == ()


def test_a_fail_that_is_gone_with_the_same_version_was_the_kits_and_is_forgotten():
    before = rows(report(*EMPTY), "some-loop")
    (row,) = rows(report(entry("empty-once", "blocking", REC_1="pass")), "some-loop", before)
    assert row.mended == ()


def test_the_page_tells_each_fail_with_its_cause_and_the_command_that_shows_it():
    (row,) = rows(report(*EMPTY), "some-loop")
    page = results_page([Documented(row, (CAUSE,), "conformance/targets/some_loop")], [], "2026-12-01")
    assert "\ndate: 2026-12-01\n" in page
    assert "| [some-loop](#some-loop) | Some Loop 1.0 | python | openai_chat | 0 | 1 | 2 | 0 | 1 | 1 of 1 |\n" in page
    assert "| some-loop | 2/3 | 0 |\n" in page
    told = page.partition("An empty reply is the end. ([source](https://github.com/o/r/blob/v1/loop.py))\n\n")[2]
    assert told.startswith(
        "- REC-1 fails (blocking, streaming/whole): `conformance run empty-once --agent target:some-loop`\n"
    )
    assert "REC-6 in `one-answer`" in page


def test_the_page_says_what_is_not_explained():
    (row,) = rows(report(*EMPTY), "some-loop")
    page = results_page([Documented(row, (), "conformance/targets/some_loop")], [], "2026-12-01")
    assert "| 0 of 1 |\n" in page
    assert "Not explained yet:\n\n- REC-1 fails (blocking, streaming/whole): `conformance run empty-once" in page
