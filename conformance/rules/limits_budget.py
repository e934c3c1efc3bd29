"""LIM: what counts against the round budget, and the budget that holds where the caller sets none."""

from conformance.dialect import BY_NAME
from conformance.observing.sighting import over
from conformance.reading.outcome import claimed, last_call
from conformance.reading.round_limit import asks, closing_retry, executed, mixed, reached, rounds_made, sound
from conformance.reading.view import Call, Run, View
from conformance.rule import MUST, OK, SHOULD, Finding, Judged, Rule
from conformance.rules.declared_never import never_recovers, unless_seen

_FORGE = "https://github.com/"
#: So many rounds without a limit of any kind are what the warning about `unlimited` is for.
_RECOMMENDED: int = BY_NAME["default_max_iters"].default


def recovery_spends_no_round(view: View) -> Judged:
    """
    Judged on runs with a limit of the caller's in which a request was repeated or retried within a round.

    Right is a run that still made all its rounds. One that ended below its limit with an answer shows nothing.
    """
    for run in view.runs:
        if not run.limited or not run.max_iters or not over(run) or mixed(run, view):
            continue
        again, instead = _again(run), _closing_instead(run, view)
        made = rounds_made(run, view) - (instead is not None)
        if not again and instead is None:
            if _spent_as_declared(run, view):
                yield OK
        elif made >= run.max_iters:
            yield OK
        elif (instead is not None or made + len(again) >= run.max_iters) and _stopped_short(run, view):
            claim = claimed(run, view)
            names = ", ".join(call.id for call in again if call is not instead)
            why = [f"{names} only asked once more in a round that had begun"] if names else []
            why += [f"{instead.id} asks for a closing text where its round was to be asked again"] if instead else []
            yield Finding(
                f"run {run.id} ends as {claim.kind if claim else run.how} after {made} of its {run.max_iters} rounds, and "
                f"{' and '.join(why)}; expected {run.max_iters} rounds: recovery takes nothing from the budget",
                claim.seq if claim else run.end_seq,
                tuple(call.seq for call in again),
            )


def _closing_instead(run: Run, view: View) -> Call | None:
    """A request for a closing text in the place of one that would have been a recovery."""
    closing = closing_retry(run, view)
    return closing if closing in _again(run) else None


def _again(run: Run) -> tuple[Call, ...]:
    """The calls that begin no round of the budget: attempts, and retries but those that go on from a reply cut by length."""
    begun: set[int] = set()
    found: list[Call] = []
    before: Call | None = None
    for call in run.calls:
        if call.role not in ("regular", "retry") or call.round is None or call.round > (run.max_iters or 0):
            continue
        if call.round in begun and not _goes_on(call, before):
            found.append(call)
        begun.add(call.round)
        before = call
    return tuple(found)


def _goes_on(call: Call, before: Call | None) -> bool:
    reply = before.reply if before is not None else None
    cut = reply is not None and reply.complete and reply.stop == "length" and before is not None and not before.overflow
    return call.kind == "retry" and cut


def _spent_as_declared(run: Run, view: View) -> bool:
    """Under `counts`: whether retries after empty replies were rounds of their own in a run that made all its rounds and no more."""
    counted = [call for call in run.calls if call.kind == "retry"]
    return view.dialect.retry_budget == "counts" and bool(counted) and run.rounds == run.max_iters


def _stopped_short(run: Run, view: View) -> bool:
    """Whether the run says that its limit ended it, or failed where its model had just asked for work that could go on."""
    claim, last = claimed(run, view), last_call(run)
    if claim is None or claim.kind not in ("limit", "error"):
        return False
    going_on = last is not None and asks(last, view.dialect) and sound(last, view)
    failed = last is not None and any(x.error is not None for x in executed(run, last))
    return claim.kind == "limit" or (going_on and not failed)


def the_default_holds(view: View) -> Judged:
    """Judged on runs that came to the declared default; under `unlimited` on those that went beyond the recommended one."""
    for run in view.runs:
        if run.limited or mixed(run, view):
            continue
        if run.max_iters is None:
            yield from _unlimited(run, view)
            continue
        claim = claimed(run, view)
        beyond = _one_too_many(run)
        if beyond is not None:
            yield Finding(
                f"run {run.id} has no limit from the caller, and {beyond.id} goes on after {run.max_iters} rounds; the declared "
                f"default_max_iters {run.max_iters} was expected to end it",
                beyond.seq,
            )
        elif over(run) and claim is not None and claim.kind == "limit" and rounds_made(run, view) < run.max_iters:
            yield Finding(
                f"run {run.id} has no limit from the caller and ends as limit after {rounds_made(run, view)} rounds; the declared "
                f"default_max_iters is {run.max_iters}",
                claim.seq,
            )
        elif over(run) and reached(run, view):
            yield OK


def _unlimited(run: Run, view: View) -> Judged:
    capped = next((call for call in run.calls if (call.refused or {}).get("by") == "cap"), None)
    many = next((call for call in run.regular if (call.round or 0) > _RECOMMENDED), None)
    at = capped or many
    if at is None:
        return
    stopped = f" and only the scenario's cap of {view.scenario.cap} requests stopped it" if capped else ""
    yield Finding(
        f"run {run.id} has no limit from the caller and none of the agent's own: {at.id} is round {at.round or run.rounds}{stopped}; a "
        f"default such as {_RECOMMENDED} rounds was expected in the place of default_max_iters: unlimited",
        at.seq,
    )


def _one_too_many(run: Run) -> Call | None:
    """The first call of a round beyond the budget, be it one that only its place makes a summary."""
    limit = run.max_iters or 0
    beyond = [call for call in run.regular if (call.round or 0) > limit]
    acting = [call for call in run.summary if call.request.callable_tools and executed(run, call)]
    return min((*beyond, *acting), key=lambda call: call.seq, default=None)


RULES: tuple[Rule, ...] = (
    Rule(
        id="LIM-7",
        level=MUST,
        clause=(
            "A request that is sent again after a failure or an overflow takes nothing from the round budget; a retry after an empty "
            "reply does only where that is declared."
        ),
        rationale="A budget that recovery eats ends the run at the next bad minute of the network, with the work half done.",
        channels="M",
        keys=("retry_budget",),
        applies=unless_seen(recovery_spends_no_round, never_recovers),
        check=recovery_spends_no_round,
        evidence=(
            f"{_FORGE}iterate/iterate/pull/2154",
            f"{_FORGE}huggingface/smolagents/issues/2165",
            f"{_FORGE}coddy-project/coddy-agent/pull/329",
        ),
    ),
    Rule(
        id="LIM-8",
        level=SHOULD,
        clause="Where the caller sets no limit the declared default ends the run; having none at all is a warning.",
        rationale="Most callers never set a limit, and a loop that nothing ends runs until somebody looks at the bill.",
        channels="M",
        keys=("default_max_iters",),
        check=the_default_holds,
        evidence=(
            f"{_FORGE}spring-projects/spring-ai/issues/3333",
            f"{_FORGE}mastra-ai/mastra/issues/7390",
        ),
    ),
)
