"""GATE: an answer ends the run only once the evidence that the caller asks for was seen. Judges runs by their `gate` knob."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from conformance.reading.evidence import Evidence, evidence, gated, offers, requirement, retries
from conformance.reading.outcome import Claim, claimed
from conformance.reading.round_limit import mixed
from conformance.reading.view import Call, Run, View
from conformance.rule import MUST, OK, Finding, Judged, Rule

_FORGE = "https://github.com/"
#: Outcomes that say that the evidence was missing.
_MARKED = ("gate", "unverified")
#: What was missing, in words.
_MISSING = {
    "none": "nothing was run that shows it",
    "stale": "what shows it is older than the last change",
    "unfit": "no run of the wanted tool that did not fail shows it",
}


@dataclass(frozen=True, slots=True)
class _Offer:
    """
    An answer of the model's in a run with a gate.

    `place` counts the answers before it that were not enough. `follows` is the loop's next request, `taken` says that the run
    ended as answered with it, `spent` that no round was left to ask in.
    """

    run: Run
    call: Call
    evidence: Evidence
    place: int
    follows: Call | None
    taken: bool
    spent: bool
    claim: Claim | None

    @property
    def seq(self) -> int:
        """Where it shows what became of it."""
        return self.follows.seq if self.follows else self.claim.seq if self.claim else self.run.end_seq

    def __str__(self) -> str:
        return (
            f"run {self.run.id}: {self.call.id} was answered while {_MISSING.get(self.evidence, 'nothing was missing')}"
        )


def _offers(view: View) -> Iterator[_Offer]:
    for run in view.runs:
        if not gated(run, view) or mixed(run, view) or run.cancelled or run.how not in ("returned", "raised"):
            continue
        claim, missed = claimed(run, view), 0
        for call, shown in offers(run, view):
            follows = next((one for one in run.main if one.seq > call.end_seq), None)
            taken = follows is None and claim is not None and claim.kind == "answered"
            spent = run.max_iters is not None and (call.round or 0) >= run.max_iters
            yield _Offer(run, call, shown, missed, follows, taken, spent, claim)
            missed += shown not in ("met", "open")


def feedback_goes_back(view: View) -> Judged:
    """GATE-1, for answers that a further round may follow. One that was taken all the same is another clause's where it had a reason."""
    for one in _offers(view):
        if one.evidence in ("met", "open") or one.spent or one.place >= retries(view):
            continue
        if one.follows is None:
            if one.taken and one.evidence != "none":
                continue
            what = f"it ended as {one.claim.kind}" if one.claim else "it ended"
            yield Finding(
                f"{one}, and {what}; expected feedback as a user message and one more round", one.seq, (one.call.seq,)
            )
        elif _told(one.call, one.follows):
            yield OK
        else:
            last = one.follows.request.messages[-1].role if one.follows.request.messages else "nothing"
            yield Finding(
                f"{one}, and {one.follows.id} asks again with no user message that says so (the last is of role {last}); expected feedback",
                one.seq,
                (one.call.seq,),
            )


def _told(answered: Call, follows: Call) -> bool:
    """Whether the next request ends with a user message that the one before did not have."""
    before, after = answered.request.messages, follows.request.messages
    if not after or after[-1].role != "user" or not (after[-1].content or "").strip():
        return False
    users = [message.content for message in before if message.role == "user"]
    return len([message for message in after if message.role == "user"]) > len(users) or after[-1].content not in users


def the_gate_is_bounded(view: View) -> Judged:
    """GATE-2, for answers that came when the declared number of them had been sent back."""
    for one in _offers(view):
        if one.evidence in ("met", "open") or one.place < retries(view) or one.taken:
            continue
        kind = one.claim.kind if one.claim else None
        if one.follows is not None and not (one.spent and one.follows.kind == "summary"):
            yield Finding(
                f"{one}, and {one.follows.id} asks for another after {one.place} were sent back; the declared "
                f"completion_gate retries {retries(view)} was expected to end it",
                one.seq,
                (one.call.seq,),
            )
        elif kind == "gate" or (one.spent and kind == "unverified"):
            yield OK
        else:
            yield Finding(
                f"{one} after {one.place} were sent back, and it ended as {kind}; expected the outcome gate",
                one.seq,
                (one.call.seq,),
            )


def _not_taken(why: Evidence) -> Callable[[View], Judged]:
    def check(view: View) -> Judged:
        for one in _offers(view):
            if one.evidence == why and one.taken:
                yield Finding(f"{one}, and it ended as answered; expected it not to", one.seq, (one.call.seq,))
            elif one.evidence == why:
                yield OK

    return check


def the_unverified_is_marked(view: View) -> Judged:
    """GATE-4, for answers that came when feedback had brought no evidence."""
    for one in _offers(view):
        if one.evidence in ("met", "open") or one.follows is not None or not (one.place or one.spent):
            continue
        if one.taken:
            yield Finding(
                f"{one}, and it ended as answered with nothing that says so; expected an outcome of {' or '.join(_MARKED)}",
                one.seq,
                (one.call.seq,),
            )
        elif one.claim is not None and one.claim.kind in _MARKED:
            yield OK


def what_is_complete_passes(view: View) -> Judged:
    """GATE-5, for every answer, where nothing is asked for or nothing is missing."""
    for run in view.runs:
        if mixed(run, view) or run.cancelled or run.how not in ("returned", "raised"):
            continue
        claim = claimed(run, view)
        first = next((call for call, shown in offers(run, view) if shown == "met"), None)
        if first is None or claim is None:
            continue
        asked = "what it had to show was seen" if gated(run, view) else "nothing had to be shown"
        follows = next((one for one in run.main if one.seq > first.end_seq), None)
        if follows is not None:
            yield Finding(
                f"run {run.id}: {first.id} was answered and {asked}, but {follows.id} asks again; expected the answer to pass at once",
                follows.seq,
                (first.seq,),
            )
        elif claim.kind in _MARKED:
            yield Finding(
                f"run {run.id}: {first.id} was answered and {asked}, but the run ended as {claim.kind}; expected the answer to pass",
                claim.seq,
                (first.seq,),
            )
        elif claim.kind == "answered":
            yield OK


def it_holds_at_the_limit(view: View) -> Judged:
    """GATE-7, for runs whose rounds were used up, and whose last reply of the loop left no other way out."""
    for run in view.runs:
        claim, missing = claimed(run, view), evidence(run, view, run.end_seq)
        if not gated(run, view) or mixed(run, view) or run.cancelled or claim is None or missing == "open":
            continue
        if run.max_iters is None or run.rounds < run.max_iters:
            continue
        if missing == "met":
            yield from _no_more_than_a_limit(run, claim)
            continue
        if claim.kind in _MARKED or _flagged(run) in _MARKED:
            yield OK
        elif claim.kind in ("answered", "limit"):
            wanted = (requirement(run, view) or {}).get("tool")
            yield Finding(
                f"run {run.id} came to its limit of {run.max_iters} rounds without the evidence of {wanted!r}, and ended as "
                f"{claim.kind}; expected the outcome unverified",
                claim.seq,
            )


def _no_more_than_a_limit(run: Run, claim: Claim) -> Judged:
    if claim.kind in _MARKED:
        yield Finding(
            f"run {run.id} came to its limit of {run.max_iters} rounds with all the evidence it had to show, and ended as {claim.kind}; "
            "expected no more than the limit",
            claim.seq,
        )
    elif claim.kind == "limit":
        yield OK


def _flagged(run: Run) -> object:
    """What the end's own result says, which a limit marker does not take the place of."""
    result = run.terminal.data.get("result") if run.terminal is not None else None
    return result.get("outcome") if isinstance(result, dict) else None


def _has_a_gate(view: View) -> str | None:
    return None if view.has("completion_gate") else "capability"


RULES: tuple[Rule, ...] = (
    Rule(
        id="GATE-1",
        level=MUST,
        clause="An answer whose evidence is missing is not the end: the model is told by a user message, and asked again.",
        rationale="A model that says it is done is wrong often enough; told what is missing it can still do it.",
        channels="M",
        applies=_has_a_gate,
        check=feedback_goes_back,
        evidence=(
            f"{_FORGE}anthropics/claude-code/issues/75720",
            f"{_FORGE}yonatangross/orchestkit/issues/539",
        ),
    ),
    Rule(
        id="GATE-2",
        level=MUST,
        clause="Answers are sent back as often as declared and no more; then the run ends by an outcome of its own, gate.",
        rationale="A gate without a bound is a loop that nobody budgeted for, and one that ends like any error is a mystery.",
        channels="M,E",
        applies=_has_a_gate,
        check=the_gate_is_bounded,
        evidence=(
            f"{_FORGE}openai/codex/issues/37937",
            f"{_FORGE}OpenHands/software-agent-sdk/pull/3183",
            f"{_FORGE}rysweet/amplihack/issues/2874",
        ),
    ),
    Rule(
        id="GATE-3",
        level=MUST,
        clause="Evidence from before the last change does not count.",
        rationale="Tests that passed before the edit say nothing of what the edit broke.",
        channels="M,T",
        applies=_has_a_gate,
        check=_not_taken("stale"),
        evidence=(f"{_FORGE}prathamdby/pr-agent/issues/536",),
    ),
    Rule(
        id="GATE-4",
        level=MUST,
        clause="What could not be verified says so where the caller sees it: the outcome is gate or unverified, never answered.",
        rationale="Whoever merges on 'answered' merges what nobody checked.",
        channels="R",
        applies=_has_a_gate,
        check=the_unverified_is_marked,
        evidence=(
            f"{_FORGE}amd/gaia/pull/3397",
            f"{_FORGE}browserbase/stagehand/pull/2901",
        ),
    ),
    Rule(
        id="GATE-5",
        level=MUST,
        clause="Where nothing is asked for, or nothing is missing any more, the answer ends the run at once.",
        rationale="A gate that asks where there is nothing to show costs a round each time and wears the answer down.",
        channels="M,R",
        applies=_has_a_gate,
        check=what_is_complete_passes,
        evidence=(f"{_FORGE}bobmatnyc/trusty-tools/pull/8216",),
    ),
    Rule(
        id="GATE-6",
        level=MUST,
        clause="A check that failed, the run of another tool, and the wanted words in anyone else's mouth are no evidence.",
        rationale="A model can say that the tests passed; only the tests can show it.",
        channels="M,T",
        applies=_has_a_gate,
        check=_not_taken("unfit"),
        evidence=(
            f"{_FORGE}rjmurillo/ai-agents/pull/1763",
            f"{_FORGE}tetsuo-ai/agenc-core/issues/2478",
        ),
    ),
    Rule(
        id="GATE-7",
        level=MUST,
        clause="The gate holds on the limit's way out too: a run that its limit ends without the evidence is unverified.",
        rationale="The limit is where work is left half done, so it is where an unchecked answer is likeliest to be wrong.",
        channels="M,R",
        applies=_has_a_gate,
        check=it_holds_at_the_limit,
        evidence=(
            f"{_FORGE}amd/gaia/pull/3397",
            f"{_FORGE}andreasronge/ptc_runner/pull/1839",
        ),
    ),
)
