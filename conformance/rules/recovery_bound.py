"""REC-10: recovery ends by itself, however large the round budget is. Which causes may be recovered from is others' to say."""

from collections.abc import Callable, Mapping

from conformance.reading.classes import is_empty, transient
from conformance.reading.view import Call, Run, View
from conformance.rule import MUST, OK, Finding, Judged, Rule
from conformance.rules.declared_never import unless_seen
from conformance.rules.recovery_counts import loop

#: Requests in a row that brought nothing, from which on a recovery counts as without a bound of its own. Agents bound each cause
#: at one to five tries; several causes in turn stay below.
ROOM = 20


def _empty(call: Call, view: View) -> bool:
    # Under `continue` each silence is a round, and the round budget is the declared bound.
    return view.dialect.empty_response != "continue" and is_empty(call, view.dialect)


def _cut(call: Call, _view: View) -> bool:
    reply = call.reply
    return reply is not None and reply.complete and reply.stop == "length" and not call.overflow


#: What is recovered from, by what findings call it.
_CAUSES: Mapping[str, Callable[[Call, View], bool]] = {
    "an empty reply": _empty,
    "an overflow": lambda call, _view: call.overflow,
    "a cut by length": _cut,
    "a failure": lambda call, _view: transient(call),
}


def _rec_10(view: View) -> Judged:
    for run in view.runs:
        streak: list[tuple[Call, str]] = []
        for call, replied in loop(run):
            cause = next((name for name, holds in _CAUSES.items() if holds(replied, view)), None)
            if cause is None:
                streak = []
                continue
            streak.append((call, cause))
            if len(streak) == ROOM:
                yield _without_bound(run, streak)
        if 2 <= len(streak) < ROOM and _ended_by_itself(run):
            yield OK


def _without_bound(run: Run, streak: list[tuple[Call, str]]) -> Finding:
    causes = dict.fromkeys(cause for _, cause in streak)
    return Finding(
        f"{run.id} asked {len(streak)} times in a row, from {streak[0][0].id} to {streak[-1][0].id}, and got nothing but "
        f"{' or '.join(causes)}; expected recovery to be given up by itself and not at the round budget",
        streak[-1][0].seq,
        related=(streak[0][0].seq,),
    )


def _ended_by_itself(run: Run) -> bool:
    """Whether the agent gave up with budget left, even where it takes each of its requests for a round."""
    room = run.max_iters is None or len(loop(run)) < run.max_iters
    return room and run.how in ("returned", "raised") and not (run.cancelled or run.summary)


def _never_goes_on(view: View) -> bool:
    """Nothing that the model said is asked for again. Attempts of a failed request are bounded by REC-5 and REC-9."""
    said = view.dialect
    return not said.empty_retries and not said.compactions and said.length_stop != "continue"


_ISSUES = "https://github.com"

REC_10 = Rule(
    id="REC-10",
    level=MUST,
    clause="Recovery within a run is bounded in total and by itself, and not only by the round budget; so is the continuation of "
    "replies that the length limit cut.",
    rationale="A budget of rounds is made for work that gets on: a model that only stutters spends it all, and its price, on "
    "nothing.",
    evidence=(
        f"{_ISSUES}/mastra-ai/mastra/pull/13861",
        f"{_ISSUES}/NousResearch/hermes-agent/issues/72329",
        f"{_ISSUES}/anomalyco/opencode/issues/49414",
    ),
    channels="M",
    keys=("length_stop", "empty_response", "prompt_too_long"),
    applies=unless_seen(_rec_10, _never_goes_on),
    check=_rec_10,
)
