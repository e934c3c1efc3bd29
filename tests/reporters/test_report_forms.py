import json

import pytest
from story import Story

from conformance.judge import judge
from conformance.printable import excerpt, printable
from conformance.report import Played, report
from conformance.reporters.as_json import json_text
from conformance.reporters.terminal import terminal
from conformance.rule import MUST, OK, SHOULD, Finding, Rule


def rule(name, *judged, level=MUST):
    def check(_view):
        yield from judged

    return Rule(name, level, "The clause.", "The reason.", "M", check, evidence=("https://example.org/1",))


def told():
    s = Story()
    s.event("RUN_STARTED")
    s.ask()
    s.reply(text="42")
    s.event("RUN_FINISHED")
    s.outcome("answered", text="42")
    return s.recording()


def made(*rules, cells=("blocking",), error=None):
    plays = [Played("told", cell, judge(told(), rules)) for cell in cells]
    plays += [Played("dead", "blocking", None, error)] if error else []
    agent = {"name": "tiny", "version": "1", "language": "python", "profile": None}
    return report(agent, judge(told(), rules).view.declared.data(), plays, rules)


def shown(*rules, **more):
    return terminal(made(*rules, **more), {one.id: one for one in rules}, lambda name: f"conformance run {name}")


PLAY = {
    "scenario",
    "cell",
    "verdict",
    "events",
    "terminal",
    "outcome",
    "model_calls",
    "regular_calls",
    "retries",
    "attempts",
    "tools_run",
    "ledger",
    "results",
    "runs_detail",
}


def test_the_json_report_has_exactly_the_documented_keys():
    data = json.loads(json_text(made(rule("RUN-1", OK, Finding("Broken.", 2, (1,))))))
    assert set(data) == {
        *("kit", "agent", "profile", "dialect", "runs", "rules", "areas", "totals", "matrix", "ledgers")
    }
    assert set(data["runs"][0]) == PLAY
    result = data["runs"][0]["results"][0]
    assert set(result) == {"rule", "level", "verdict", "reason", "findings"}
    assert result["findings"] == [{"message": "Broken.", "seq": 2, "related": [1]}]
    assert data["rules"] == {"RUN-1": {"verdict": "fail", "armed": 1, "of": 1}}


def test_a_play_that_could_not_be_run_says_why_in_the_json_report():
    data = json.loads(json_text(made(rule("RUN-1", OK), error="no key")))
    assert data["runs"][1]["error"] == "no key"
    assert set(data["runs"][1]) == PLAY | {"error"}


def test_the_json_report_is_ascii_and_keeps_what_was_said():
    text = json_text(made(rule("RUN-1", Finding("现在\x1b[31m\ud800", 2))))
    assert text.isascii()
    assert json.loads(text)["runs"][0]["results"][0]["findings"][0]["message"] == "现在\x1b[31m\ud800"


def test_the_table_has_a_row_per_scenario_and_a_column_per_cell():
    lines = shown(rule("RUN-1", OK), cells=("blocking", "streaming/whole"), error="no key").splitlines()
    assert lines[3:6] == [
        "scenario   blocking        streaming/whole",
        "told       pass            pass",
        "dead       could-not-run   -",
    ]


def test_the_same_finding_in_two_cells_is_shown_once():
    text = shown(rule("RUN-1", Finding("Broken.", 2)), cells=("blocking", "streaming/whole"))
    assert text.count("Broken.") == 1
    assert "in blocking, streaming/whole" in text


def test_a_finding_stands_with_the_line_of_its_record():
    text = shown(rule("RUN-1", Finding("Broken.", 4)))
    assert "record 4: M m1 regular [user] tools=look" in text


def test_a_rule_of_the_kits_own_predictions_tells_no_public_story():
    assert "seen: " not in shown(rule("EXPECT", Finding("Broken.", 2)))
    assert "seen: https://example.org/1" in shown(rule("RUN-1", Finding("Broken.", 2)))


def test_the_line_of_a_record_is_cut():
    s = Story()
    s.ask()
    s.reply(text="word " * 35)
    s.outcome("answered", text="42")
    broken = rule("RUN-1", Finding("Broken.", 3))
    rep = report({}, {}, [Played("told", "blocking", judge(s.recording(), [broken]))], [broken])
    text = " ".join(terminal(rep, {"RUN-1": broken}, str, width=400).split())
    line = text[text.index("record 3: ") + len("record 3: ") : text.index(" characters)")]
    assert len(line.partition("… (")[0]) == 160


def test_a_warning_is_one_line_and_does_not_fail():
    text = shown(rule("RUN-1", OK), rule("EVT-1b", Finding("Odd.", 2), level=SHOULD))
    assert "EVT-1b in told (blocking): Odd." in text
    assert "1 scenario: 1 warn" in text


def test_markup_colour_codes_and_length_of_a_finding_do_no_harm():
    text = shown(rule("RUN-1", Finding("[red]a\x1b[2J\u202e\ud800" + "x" * 10_000, 2)))
    assert r"[red]a\x1b[2J\u202e\ud800xxx" in text
    assert "characters)" in text
    assert text.replace("\n", "").isprintable()


def test_a_piped_report_has_a_fixed_width():
    text = shown(rule("RUN-1", Finding("word " * 90, 2)))
    assert max(map(len, text.splitlines())) <= 100


def test_an_area_is_certified_only_if_every_must_of_it_passes():
    good, bad, unseen = rule("RUN-1", OK), rule("RUN-2", Finding("Broken.", 2)), rule("LIM-1")
    text = shown(good, bad, unseen)
    assert "RUN  not certified  2 of 2 rules armed, 1 of 2 units pass, 0 warnings; RUN-2 fail" in text
    assert "nothing to judge: LIM" in text
    assert "RUN  certified      1 of 1 rules armed, 1 of 1 units pass, 0 warnings" in shown(good, rule("LIM-1", OK))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain 现在 é", "plain 现在 é"),
        ("a\nb\tc\r", r"a\nb\tc\r"),
        ("\x1b[31m", r"\x1b[31m"),
        ("\x9b2J", r"\x9b2J"),
        ("\u202e\u2028", r"\u202e\u2028"),
        ("\ud800", r"\ud800"),
        ("", ""),
    ],
)
def test_what_does_not_print_as_itself_is_shown_as_its_escape(text, expected):
    assert printable(text) == expected


def test_a_long_text_is_cut_with_its_length():
    assert excerpt("abcdef", 3) == "abc… (6 characters)"
    assert excerpt("abc", 3) == "abc"


@pytest.mark.parametrize(
    ("plays", "missed", "said"),
    [
        ({"error": "no key"}, (), "exit 3: 1 scenario could not be run or decided, first dead"),
        ({}, ("HIS-4",), "exit 3: no scenario of the core gave HIS-4 anything to judge"),
    ],
)
def test_the_last_line_says_why_the_exit_code_is_3(plays, missed, said):
    rules = [rule("RUN-1", OK)]
    text = terminal(made(*rules, **plays), {"RUN-1": rules[0]}, str, missed=missed, code=3)
    assert text.splitlines()[-1] == said


def test_that_nothing_was_judged_is_a_reason_of_its_own():
    nothing = rule("RUN-1")
    text = terminal(made(nothing), {"RUN-1": nothing}, str, code=3)
    assert text.splitlines()[-1] == "exit 3: nothing that the agent did could be judged"


def test_a_must_that_nothing_armed_is_what_an_area_lacks():
    assert "not certified  1 of 2 rules armed, 1 of 1 units pass, 0 warnings; RUN-2 not-observed (nothing" in shown(
        rule("RUN-1", OK), rule("RUN-2")
    )


def test_what_an_area_lacks_is_told_once_per_reason():
    broken = Finding("Broken.", 2)
    rules = [rule("RUN-1", OK), rule("RUN-2"), rule("RUN-3", broken), rule("RUN-4"), rule("RUN-5", broken)]
    lacking = "RUN-2, RUN-4 not-observed (nothing to judge); RUN-3, RUN-5 fail"
    assert lacking in " ".join(shown(*rules).split())


def test_a_reason_for_which_many_scenarios_could_not_run_is_told_once():
    plays = [Played(name, "blocking", None, "no agent there") for name in ("one", "two", "three")]
    text = terminal(report({}, {}, [*plays, Played("four", "blocking", None, "another reason")], []), {}, str)
    assert text.count("no agent there") == 1
    assert "another reason" in text
    assert "2 more scenarios could not run for a reason that stands above" in text


def test_the_matrix_and_the_ledgers_are_printed_where_they_are_asked_for():
    rep = made(rule("RUN-1", OK), cells=("blocking", "streaming/whole"))
    text = terminal(rep, {}, str, matrix=True)
    assert "ended by   what a program reads          runs   first\n" in text
    assert "answered   RUN_FINISHED, says answered      2   r1 of told, blocking\n" in text
    assert "  results that reached the model: 0 of 0\n" in text
    plain = terminal(rep, {}, str)
    assert "ended by" not in plain
    assert "ledgers" not in plain


def test_beyond_four_cells_a_scenario_has_a_line_and_its_worst_verdict_comes_first():
    cells = ("blocking", "streaming/whole", "streaming/token", "streaming/byte", "streaming/adversarial:1")
    breaks, holds = rule("RUN-1", Finding("Broken.", 1)), rule("RUN-1", OK)
    plays = [Played("told", cell, judge(told(), [breaks if cell == cells[-1] else holds])) for cell in cells]
    text = terminal(report({}, {}, plays, [holds]), {}, str)
    assert "told       fail in streaming/adversarial:1; pass in 4 cells\n" in text
    assert "streaming/token" not in text.partition("told  ")[2].partition("\n")[0]
    few = terminal(report({}, {}, plays[:4], [holds]), {}, str)
    assert "told       pass       pass              pass              pass\n" in few


def test_a_finding_that_a_declaration_would_fit_says_which_unless_it_is_about_the_declaration():
    fits = ("empty_response", {"retry_then_error": 1})
    said = shown(rule("REC-1", Finding("m2 is repetition 1", 2, fits=fits)))
    assert "if it is meant to do so, declare empty_response={retry_then_error: 1}" in said
    assert "if it is meant to do so" not in shown(rule("DIA-1", Finding("m2 is repetition 1", 2, fits=fits)))
