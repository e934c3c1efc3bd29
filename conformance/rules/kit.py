"""The kit's own rules, DIA, SCRIPT and EXPECT: the declaration, the script and the predictions are true."""

from conformance.expectations import block, predictions
from conformance.observing.observers import observed
from conformance.reading.failures import retries_at_the_deadline, still_retrying
from conformance.reading.joined import view as read
from conformance.reading.outcome import actual
from conformance.reading.round_limit import executed, last_round
from conformance.reading.view import Call, Run, View, may_skip_its_last
from conformance.rule import MUST, OK, SHOULD, Finding, Judged, Rule
from fake_models.script import Cursor, unplayed


def the_declaration_is_true(view: View) -> Judged:
    """Against what was declared, even where the other rules read the recording under what fits."""
    declared = view.declared
    as_declared = view if view.dialect == declared else read(view.recording, declared)
    for key, seen in observed(as_declared).items():
        said = getattr(declared, key)
        if seen.value == said:
            yield OK
            continue
        message = f"{key} is declared {said!r}, but {seen.saw}; declare {key}: {seen.value}"
        yield Finding(message, seen.seq, fits=(key, seen.value))


def each_request_fits_the_script(view: View) -> Judged:
    """A refusal by the script, with the turn that came nearest."""
    for run in view.runs:
        for call in run.calls:
            if call.reply is not None and call.reply.turn is not None:
                yield OK
            elif call.refused is not None and call.refused.get("by") == "script" and not _skipped(call, view):
                nearest = call.refused.get("nearest")
                near = (
                    f"nearest is turn {nearest['turn']}: {nearest['failed']}" if nearest else "the script has no turns"
                )
                message = f"{call.id} ({call.kind}) of run {run.id} fits no turn of the script; {near}. {call.refused.get('message')}"
                yield Finding(message, call.refused_seq or call.seq)


def _skipped(call: Call, view: View) -> bool:
    """
    Whether a turn wants a result that the agent, as it declares, never asked a tool for: calls of the last allowed round.

    No other turn of a script depends on what an agent may leave out.
    """
    nearest = call.refused.get("nearest") if call.refused is not None else None
    if not nearest or "has no execution" not in str(nearest["failed"]):
        return False
    skips = [run for run in view.runs if may_skip_its_last(run, view.dialect)]
    lasts = [(run, last) for run in skips if (last := last_round(run)) is not None and last.end_seq < call.seq]
    return any(last.said and not executed(run, last) for run, last in lasts)


def an_answered_run_plays_its_script(view: View) -> Judged:
    """Only where the model gave an answer: any other ending leaves turns behind for a reason."""
    for run in view.runs:
        if run.spec is None or actual(run, view) != "answered":
            continue
        left = unplayed(run.spec.script, _cursor(run))
        if left:
            turns = ", ".join(str(index) for index in left)
            message = f"run {run.id} was answered, but turns {turns} of its {len(run.spec.script.turns)} (counted from 0) were never played; the agent took another way than the scenario means, or they should be optional"
            yield Finding(message, run.end_seq)
        else:
            yield OK


def _cursor(run: Run) -> Cursor:
    """Where the run's script stood in the end. Turns are played in order, so the last one and its count say it."""
    turns = [call.reply.turn for call in run.calls if call.reply is not None and call.reply.turn is not None]
    return Cursor(turns[-1], turns.count(turns[-1])) if turns else Cursor()


def the_predictions_hold(view: View) -> Judged:
    """Every key of the one block that fits, run by run and over all, of runs that are over."""
    still_open = {run.id for run in view.runs if still_retrying(run)}
    for one in predictions(view):
        if one.where in still_open or (still_open and one.where == "scenario"):
            continue
        if one.holds:
            yield OK
        else:
            whose = "the scenario" if one.where == "scenario" else f"run {one.where}"
            yield Finding(f"{whose}: {one.key} is {one.came!r}, but the scenario predicts {one.predicted!r}", one.seq)


def _not_over(view: View) -> str | None:
    """What a run that was still open would have come to; where another run broke a prediction, that stands."""
    wrong = any(isinstance(one, Finding) for one in the_predictions_hold(view))
    return None if wrong else retries_at_the_deadline(view)


def _predicted(view: View) -> str | None:
    """A scenario that predicts nothing of this dialect promises nothing."""
    predicts = any(run.spec is not None and block(run.spec.expect, view) for run in view.runs)
    return None if predicts or block(view.scenario.expect, view) else "dialect"


RULES: tuple[Rule, ...] = (
    Rule(
        id="DIA-1",
        level=MUST,
        clause="What an agent declares of itself is what it does: no recording shows another value of a key than the declared one.",
        rationale="Whoever picks an agent by its dialect, and every other clause that yields to it, relies on the declaration.",
        channels="",
        check=the_declaration_is_true,
        evidence=(
            "https://github.com/langchain-ai/langgraph/issues/5548",
            "https://github.com/crewAIInc/crewAI/issues/1038",
        ),
    ),
    Rule(
        id="SCRIPT-1",
        level=MUST,
        clause="Every request of a run finds a turn of its script: the agent asks what the scenario means it to ask, and no more.",
        rationale="A request that nothing was written for means an agent off its path, or a scenario that promises too little.",
        channels="M",
        check=each_request_fits_the_script,
        evidence=(
            "https://github.com/crewAIInc/crewAI/issues/3847",
            "https://github.com/spring-projects/spring-ai/issues/4464",
        ),
    ),
    Rule(
        id="SCRIPT-2",
        level=SHOULD,
        clause="A run that was answered has played every turn of its script that is not optional.",
        rationale="A turn left behind is a step of the scenario that the agent skipped, so that what it tests was not tested.",
        channels="M",
        check=an_answered_run_plays_its_script,
        evidence=("https://github.com/mastra-ai/mastra/issues/7390",),
    ),
    Rule(
        id="EXPECT",
        level=MUST,
        clause="What the scenario predicts for an agent of this dialect is what came, on every channel that the agent declares.",
        rationale="A scenario knows more than the rules: exact counts and the exact text. A prediction that breaks is a regression.",
        channels="",
        check=the_predictions_hold,
        applies=_predicted,
        unable=_not_over,
        evidence=("https://github.com/langgenius/dify-official-plugins/issues/587",),
    ),
)
