"""ANS: an answer that is a call of a tool, wherever it stands among the calls of a reply. Nothing where a text is the answer."""

from collections.abc import Iterator
from dataclasses import dataclass

from conformance.reading.evidence import evidence
from conformance.reading.outcome import Claim, answer_call, claimed, final_text
from conformance.reading.tool_calls import Made, tool_calls
from conformance.reading.view import Call, Run, View
from conformance.rule import MUST, OK, Finding, Judged, Rule

_FORGE = "https://github.com/"


@dataclass(frozen=True, slots=True)
class _Given:
    """A reply of the loop that holds an answer: its text, the calls beside it, those that failed or never ran, and what came then."""

    run: Run
    call: Call
    text: str
    beside: tuple[Made, ...]
    open: tuple[Made, ...]
    follows: Call | None
    claim: Claim | None

    @property
    def seq(self) -> int:
        """Where it shows what became of it."""
        return self.follows.seq if self.follows else self.claim.seq if self.claim else self.run.end_seq


def _given(view: View) -> Iterator[_Given]:
    calls = tool_calls(view)
    for run in view.runs:
        if run.cancelled or run.how not in ("returned", "raised"):
            continue
        for one in run.main:
            call = run.outcome_of(one)
            text = answer_call(call, view.dialect)
            if call.kind == "summary" or text is None:
                continue
            beside = tuple(made for made in calls.made if made.by.id == call.id and made.flaw != "answer")
            follows = next((later for later in run.main if later.seq > call.end_seq), None)
            unfinished = tuple(made for made in beside if not _finished(made, follows))
            yield _Given(run, call, text, beside, unfinished, follows, claimed(run, view))


def _finished(made: Made, follows: Call | None) -> bool:
    until = follows.seq if follows is not None else None
    done = [one for one in made.executions if one.end_seq is not None and (until is None or one.end_seq < until)]
    return bool(done) and all(one.error is None for one in done)


def the_answer_is_recognised(view: View) -> Judged:
    """ANS-1, where all that stands beside the answer came to a good end."""
    for one in _given(view):
        if (
            one.open
            or one.claim is None
            or evidence(one.run, view, one.follows.seq if one.follows else one.run.end_seq) != "met"
        ):
            continue
        where = f"run {one.run.id}: {one.call.id} gave the answer {one.text[:80]!r} by a call"
        where += f" beside {', '.join(made.call.name for made in one.beside)}" if one.beside else ""
        shown = final_text(one.run, view)
        if one.follows is not None:
            yield Finding(
                f"{where}, and {one.follows.id} asks again; expected the run to end with it", one.seq, (one.call.seq,)
            )
        elif one.claim.kind in ("waiting", "guard", "interrupted"):
            continue
        elif one.claim.kind != "answered":
            yield Finding(
                f"{where}, and the run ended as {one.claim.kind}; expected answered", one.seq, (one.call.seq,)
            )
        elif view.dialect.final_text == "last_reply" and (shown or "").strip() != one.text.strip():
            yield Finding(
                f"{where}, and the user reads {(shown or '')[:80]!r}; expected the answer", one.seq, (one.call.seq,)
            )
        else:
            yield OK


def siblings_reach_the_model_first(view: View) -> Judged:
    """ANS-2, where something beside the answer failed or never ran."""
    for one in _given(view):
        if not one.open:
            continue
        if one.follows is not None:
            yield OK
        elif one.claim is not None and one.claim.kind == "answered":
            names = ", ".join(f"{made.call.name} {'failed' if made.executions else 'never ran'}" for made in one.open)
            yield Finding(
                f"run {one.run.id}: {one.call.id} gave the answer {one.text[:80]!r} by a call beside others, of which {names}, and "
                "the run ended with it; expected the model to read what came of them first",
                one.seq,
                (one.call.seq, *(made.seq for made in one.open)),
            )


def _by_a_tool(view: View) -> str | None:
    return None if view.dialect.answer_by.startswith("tool:") else "dialect"


RULES: tuple[Rule, ...] = (
    Rule(
        id="ANS-1",
        level=MUST,
        clause="The call that is the answer is recognised at any place among the calls of a reply, and ends the run.",
        rationale="Models put the answer before or behind their last calls; a loop that looks at one place alone asks on for ever.",
        channels="M,T,R",
        keys=("answer_by", "final_text"),
        applies=_by_a_tool,
        check=the_answer_is_recognised,
        evidence=(
            f"{_FORGE}aaif-goose/goose/pull/11120",
            f"{_FORGE}BrokkAi/brokk-app/issues/1228",
        ),
    ),
    Rule(
        id="ANS-2",
        level=MUST,
        clause="What failed or never ran beside the answer reaches the model before an answer is taken.",
        rationale="An answer that was written together with a call was written without its result: it is a guess.",
        channels="M,T,R",
        keys=("answer_by",),
        applies=_by_a_tool,
        check=siblings_reach_the_model_first,
        evidence=(
            f"{_FORGE}huggingface/smolagents/pull/1539",
            f"{_FORGE}xorbitsai/xagent/pull/1269",
        ),
    ),
)
