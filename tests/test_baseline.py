"""What is known to fail is expected, certifies nothing, and is stale once it passes."""

import pytest
from story import Story

from conformance.baseline import Known, applied, to_list, unexpected
from conformance.baseline_file import Vocabulary, line, read
from conformance.errors import LoadError
from conformance.judge import Verdict, judge
from conformance.report import Played, exit_code, report
from conformance.rule import MUST, OK, SHOULD, Finding, Rule

WORDS = Vocabulary(("told", "other", "404", "true"), ("RUN-1", "RUN-2", "DIA-1"), ("blocking", "streaming/whole"))
BREACH = Finding("Broken.", 1)
CELLS = ("blocking", "streaming/whole")


def rule(*judged, id="RUN-1", level=MUST, **more):
    return Rule(id, level, "The clause.", "The reason.", "M", lambda _view: iter(judged), **more)


def recording():
    s = Story()
    s.ask()
    s.reply(text="42")
    s.outcome("answered", text="42")
    return s.recording()


def played(*units, id="RUN-1", errors=()):
    """A report in which a rule judged these things, cell by cell of these (scenario, cell, judged)."""
    plays = [Played(name, cell, judge(recording(), [rule(*judged, id=id)])) for name, cell, judged in units]
    plays += [Played(name, cell, None, "no key") for name, cell in errors]
    return report({}, {}, plays, [rule(id=id)])


def verdicts(rep, *known, id="RUN-1"):
    after = applied(rep, known, [rule(id=id)])
    return [(entry.verdict.value, [result.reason for result in entry.results]) for entry in after.entries]


FAILING = played(*(("told", cell, (OK, BREACH)) for cell in CELLS))
PASSING = played(*(("told", cell, (OK,)) for cell in CELLS))
HALF = played(("told", "blocking", (OK,)), ("told", "streaming/whole", (BREACH,)))
ANYWHERE = Known("told", "RUN-1", "slow cache", place="b.yaml:7")
BLOCKING = Known("told", "RUN-1", "only there", "blocking", place="b.yaml:8")
STALE = "b.yaml:7 lists it; remove that entry"


@pytest.mark.parametrize(
    ("rep", "known", "expected"),
    [
        (FAILING, (), [("fail", [None])] * 2),
        (FAILING, (ANYWHERE,), [("expected-fail", ["slow cache"])] * 2),
        (FAILING, (BLOCKING,), [("expected-fail", ["only there"]), ("fail", [None])]),
        # Who names a cell knows best, wherever it stands.
        (FAILING, (ANYWHERE, BLOCKING), [("expected-fail", ["only there"]), ("expected-fail", ["slow cache"])]),
        (FAILING, (Known("other", "RUN-1", "x"),), [("fail", [None])] * 2),
        (FAILING, (Known("told", "RUN-2", "x"),), [("fail", [None])] * 2),
        (PASSING, (ANYWHERE,), [("stale", [STALE])] * 2),
        (PASSING, (BLOCKING,), [("stale", ["b.yaml:8 lists it; remove that entry"]), ("pass", [None])]),
        # In one of its cells it is still needed.
        (HALF, (ANYWHERE,), [("pass", [None]), ("expected-fail", ["slow cache"])]),
        (
            HALF,
            (BLOCKING, ANYWHERE),
            [("stale", ["b.yaml:8 lists it; remove that entry"]), ("expected-fail", ["slow cache"])],
        ),
        (played(("told", "blocking", ())), (ANYWHERE,), [("not-observed", ["nothing to judge"])]),
        (played(("other", "blocking", (OK,))), (ANYWHERE,), [("pass", [None])]),
    ],
)
def test_what_is_listed_is_expected_where_it_fails_and_stale_where_it_passes(rep, known, expected):
    assert verdicts(rep, *known) == expected


def test_what_could_not_run_is_neither_expected_nor_stale():
    alone = played(errors=[("told", "blocking")])
    assert verdicts(alone, ANYWHERE) == [("could-not-run", [])]
    beside = played(("told", "blocking", (OK,)), errors=[("told", "streaming/whole")])
    assert verdicts(beside, ANYWHERE) == [("pass", [None]), ("could-not-run", [])]
    undecided = judge(recording(), [rule(OK, unable=lambda _view: "still waiting")])
    rep = report({}, {}, [Played("told", "blocking", undecided)], [rule()])
    assert verdicts(rep, ANYWHERE) == [("could-not-run", ["still waiting"])]


def test_what_fails_in_some_repeats_only_is_expected_too_and_says_so():
    rep = played(("told", "blocking", (OK,)), ("told", "blocking", (BREACH,)))
    assert rep.entries[0].verdict == Verdict.UNSTABLE
    assert verdicts(rep, ANYWHERE) == [("expected-fail", ["slow cache; fails in 1 of 2 repeats"])]


def test_a_listed_rule_that_only_warns_is_stale():
    mild = rule(Finding("Untidy.", 1, level=SHOULD))
    rep = report({}, {}, [Played("told", "blocking", judge(recording(), [mild]))], [mild])
    assert verdicts(rep, ANYWHERE) == [("stale", [STALE])]


def test_what_only_all_recordings_together_show_can_be_listed():
    whole = rule(OK, id="DIA-1", suite=lambda views: iter([(len(views) - 1, BREACH)]))
    rep = report({}, {}, [Played("told", cell, judge(recording(), [whole])) for cell in CELLS], [whole])
    assert [entry.verdict for entry in rep.entries] == ["pass", "fail"]
    after = applied(rep, [Known("told", "DIA-1", "x")], [whole])
    assert [entry.verdict for entry in after.entries] == ["pass", "expected-fail"]


@pytest.mark.parametrize(
    ("rep", "known", "code"),
    [
        (FAILING, (), 1),
        (FAILING, (ANYWHERE,), 0),
        (FAILING, (BLOCKING,), 1),
        (PASSING, (ANYWHERE,), 1),
        (HALF, (ANYWHERE,), 0),
        (played(("told", "blocking", (BREACH,)), errors=[("other", "blocking")]), (ANYWHERE,), 3),
    ],
)
def test_the_exit_code_knows_both_words(rep, known, code):
    assert exit_code(applied(rep, known, [rule()]), ()) == code


def test_a_warning_beside_an_expected_failure_still_counts_when_strict():
    rules = [rule(BREACH), rule(Finding("Untidy.", 1), id="RUN-2", level=SHOULD)]
    rep = report({}, {}, [Played("told", "blocking", judge(recording(), rules))], rules)
    after = applied(rep, [ANYWHERE], rules)
    assert after.entries[0].verdict == Verdict.EXPECTED_FAIL
    assert [exit_code(after, (), strict=strict) for strict in (False, True)] == [0, 1]


@pytest.mark.parametrize("id", ["RUN-1", "DIA-1"])
def test_no_area_is_certified_by_expecting_that_it_fails(id):
    rules = [rule(OK, id="RUN-3"), rule(BREACH, id=id)]
    rep = report({}, {}, [Played("told", "blocking", judge(recording(), rules))], rules)
    after = applied(rep, [Known("told", id, "x")], rules)
    assert exit_code(after, ()) == 0
    assert not after.areas["RUN"].certified


def test_an_unexpected_failure_is_told_from_an_expected_one():
    results = judge(recording(), [rule(BREACH)]).results
    assert unexpected("told", "blocking", results, ())
    assert not unexpected("told", "blocking", results, [ANYWHERE])
    assert unexpected("told", "streaming/whole", results, [BLOCKING])
    assert not unexpected("told", "blocking", judge(recording(), [rule(OK)]).results, ())


def test_the_entries_to_list_are_those_under_which_nothing_fails():
    assert to_list(PASSING) == ()
    assert to_list(FAILING) == (Known("told", "RUN-1", ""),)
    assert to_list(HALF) == (Known("told", "RUN-1", "", "streaming/whole"),)
    assert to_list(applied(FAILING, [BLOCKING], [rule()])) == (Known("told", "RUN-1", "", "streaming/whole"),)
    assert to_list(applied(FAILING, [ANYWHERE], [rule()])) == ()


@pytest.mark.parametrize(
    ("one", "text"),
    [
        (Known("told", "RUN-1", ""), '- {scenario: told, rule: RUN-1, reason: ""}'),
        (
            Known("404", "DIA-1", 'a "b"', "streaming/whole"),
            r'- {scenario: "404", rule: DIA-1, cell: streaming/whole, reason: "a \"b\""}',
        ),
        (Known("true", "RUN-1", "x"), '- {scenario: "true", rule: RUN-1, reason: "x"}'),
    ],
)
def test_an_entry_is_written_as_it_is_read(one, text):
    assert line(one) == text
    if one.reason:
        (back,) = read(f"# known\n{text}\n", "b.yaml", WORDS)
        assert (back.scenario, back.rule, back.reason, back.cell) == (one.scenario, one.rule, one.reason, one.cell)
        assert back.place == "b.yaml:2"


@pytest.mark.parametrize("text", ["", "\n", "# nothing is known to fail\n", "[]"])
def test_a_file_without_entries_lists_nothing(text):
    assert read(text, "b.yaml", WORDS) == ()


GOOD = "- {scenario: told, rule: RUN-1, reason: x}\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("told: RUN-1", "b.yaml:1:1: came dict {'told': 'RUN-1'}, expected a list of entries"),
        ("- told", "b.yaml:1:3: [0]: came str 'told', expected an entry such as `- {scenario: "),
        ("- {scenario: told, rule: RUN-1}", "b.yaml:1:3: [0]: 'reason' must be written here"),
        ("- {reason: x}", "b.yaml:1:3: [0]: 'scenario' and 'rule' must be written here"),
        (
            '- {scenario: told, rule: RUN-1, reason: ""}',
            "b.yaml:1:41: [0].reason: the reason is left blank (''); say why this fails",
        ),
        ('- {scenario: told, rule: RUN-1, reason: " "}', "the reason is left blank"),
        ("- scenario: told\n  rule: RUN-1\n  reason: null", "b.yaml:3:11: [0].reason: came null, expected a text"),
        (
            "- {scenario: told, rule: RUN-1, reason: x, cel: blocking}",
            "b.yaml:1:44: [0].cel: unknown key 'cel'; did you mean 'cell'?",
        ),
        (
            "- {scenario: tld, rule: RUN-1, reason: x}",
            "[0].scenario: there is no scenario 'tld' here; did you mean 'told'?",
        ),
        (
            "- {scenario: told, rule: RUN-11, reason: x}",
            "[0].rule: there is no rule 'RUN-11' here; did you mean 'RUN-1'?",
        ),
        ("- {scenario: told, rule: RUN-1, cell: streaming, reason: x}", "[0].cell: there is no cell 'streaming' here"),
        (
            "- {scenario: 404, rule: RUN-1, reason: x}",
            "[0].scenario: came int 404, expected a text; quote it if it is one",
        ),
        (GOOD * 2, "b.yaml:2:3: [1]: this entry stands twice, first in line 1; keep one"),
        ("- {scenario: told, scenario: told, rule: RUN-1, reason: x}", "key 'scenario' stands twice"),
        ("- {scenario: told", "this is no YAML"),
        ("- &a {scenario: told, rule: RUN-1, reason: x}", "anchors are not read"),
    ],
)
def test_what_is_wrong_in_a_baseline_is_told_with_its_place(text, said):
    with pytest.raises(LoadError) as caught:
        read(text, "b.yaml", WORDS)
    assert said in str(caught.value)


def test_a_misspelt_key_is_one_problem():
    with pytest.raises(LoadError) as caught:
        read("- {scenari: told, rule: RUN-1, reason: x}", "b.yaml", WORDS)
    assert len(caught.value.errors) == 1


def test_everything_wrong_is_told_at_once():
    with pytest.raises(LoadError) as caught:
        read("- {scenario: x, rule: y, reason: ''}\n- 1\n", "b.yaml", WORDS)
    assert [(error.line, error.where) for error in caught.value.errors] == [
        (1, "[0].scenario"),
        (1, "[0].rule"),
        (1, "[0].reason"),
        (2, "[1]"),
    ]
