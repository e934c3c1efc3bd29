import asyncio

from conformance.reference import reference
from conformance.reference.mutants import MUTANTS, Mutant
from conformance.reporters.matrix import matrix
from conformance.rule import MUST, OK, Finding, Rule
from conformance.scenario import scenario
from conformance.selftest import kill, survivors, unfair

HELLO = scenario(
    {
        "id": "hello",
        "title": "A question is answered",
        "why": "A test says so.",
        "runs": [{"user": "Say hello.", "model": [{"answer": "Hello."}]}],
    }
)


def rule(name, *judged):
    def check(_view):
        yield from judged

    return Rule(name, MUST, "The clause.", "The reason.", "M", check)


def mutant(says, name="RUN-1"):
    return Mutant("odd", name, "It is odd.", says, (), reference)


BROKEN = rule("RUN-1", Finding("came 2, expected 1", 2))


def test_a_mutant_is_killed_by_a_finding_that_says_what_it_is_made_for():
    tried = asyncio.run(kill(mutant("came [0-9]"), [HELLO], BROKEN))
    assert (tried.killed, tried.play) == (True, "hello · blocking")


def test_a_finding_for_another_reason_kills_no_mutant():
    tried = asyncio.run(kill(mutant("nothing came"), [HELLO], BROKEN))
    assert not tried.killed
    assert survivors([tried], [BROKEN]) == ("RUN-1",)


def test_what_only_all_recordings_show_kills_too():
    def suite(views):
        yield len(views) - 1, Finding("came 2, expected 1", 2)

    together = Rule("RUN-1", MUST, "The clause.", "The reason.", "M", rule("RUN-1", OK).check, suite=suite)
    tried = asyncio.run(kill(mutant("came 2"), [HELLO], together))
    assert tried.play == "hello · streaming/whole"


def test_a_rule_without_a_mutant_is_unproven():
    assert survivors([], [BROKEN]) == ("RUN-1",)


def test_a_rule_that_breaks_for_the_honest_reference_is_unfair():
    wrong = asyncio.run(unfair(reference, {}, [HELLO], [BROKEN, rule("RUN-2", OK)]))
    assert [(one.rule, one.play) for one in wrong] == [
        ("RUN-1", "hello · blocking"),
        ("RUN-1", "hello · streaming/whole"),
    ]


def test_the_matrix_has_a_line_per_mutant_and_names_what_is_unproven():
    silent = rule("RUN-2")
    tried = [asyncio.run(kill(mutant("came 2"), [HELLO], BROKEN))]
    assert matrix(tried, [], [BROKEN, silent], 3).splitlines() == [
        "RUN-1  odd  hello · blocking  came 2, expected 1",
        "RUN-2: no mutant is made to break it",
        "",
        "1 of 1 mutants killed, 1 of 2 rules proven, 3 of 3 honest dialects pass",
        "unproven: RUN-2",
    ]


def test_every_mutant_has_a_name_of_its_own():
    assert len({one.name for one in MUTANTS}) == len(MUTANTS)
