"""LIM: what was done before the limit is not lost to whoever called. Looks for results only, not for how the run ended."""

import json
from collections.abc import Iterator

from conformance.observing.limit import closing_text
from conformance.reading.containment import carries, scalars
from conformance.reading.round_limit import ended_there, last_round, words_after
from conformance.reading.view import Execution, Run, View
from conformance.rule import OK, SHOULD, Finding, Judged, Rule

_FORGE = "https://github.com/"
#: Results above this may be shown cut, see ACT-12.
_LARGE_CHARACTERS = 4096
#: Events that tell what the model said or asked for, or what was given to the run: no place for what a tool brought.
_NO_RESULTS = ("TEXT_MESSAGE_", "REASONING_", "THINKING_", "TOOL_CALL_", "RUN_STARTED", "STEP_")


def the_work_is_reachable(view: View) -> Judged:
    """
    Judged on runs that their limit ended after tools had brought something.

    The model's own closing text is a way to all of it. Without one each result has to stand in an event, the result or the
    error; of an agent without events any one will do. What a next run on the session is sent is reachable by asking on.
    """
    for run in view.runs:
        done = [x for x in run.executions if _brought(x)]
        if not done or not ended_there(run, view):
            continue
        if _told_by_the_model(run, view):
            yield OK
            continue
        following = _following(run, view)
        if "E" not in view.channels and view.has("sessions") and following is None:
            continue  # the session may hold it, and nobody asked
        said = "\n".join((*_said(run, view), *_carried(following)))
        lost = [x for x in done if not _is_in(said, x, run)]
        if not lost or ("E" not in view.channels and len(lost) < len(done)):
            yield OK
        else:
            names = ", ".join(f"{x.tool} ({x.id})" for x in lost)
            yield Finding(
                f"run {run.id} was ended by its limit of {run.max_iters} rounds, and nothing the caller can read holds what {names} "
                "brought; expected it in an event, the text, the result or the error",
                run.terminal.seq if run.terminal is not None else run.end_seq,
                tuple(x.seq for x in lost),
            )


def _brought(one: Execution) -> bool:
    return one.end_seq is not None and one.error is None and any(True for _ in scalars(one.value))


def _told_by_the_model(run: Run, view: View) -> bool:
    last = last_round(run)
    return closing_text(run, view) is not None and words_after(run, view, last.end_seq if last else run.seq) is not None


def _is_in(said: str, one: Execution, run: Run) -> bool:
    if not carries(said, one.value):
        return True
    large = len(json.dumps(one.value, ensure_ascii=False)) > _LARGE_CHARACTERS
    return large and any(result.call_id == one.call_id for result in run.shown.tool_results)


def _said(run: Run, view: View) -> Iterator[str]:
    """All that the caller reads of the run, thinking and calls aside."""
    if "E" in view.channels:
        yield from (result.content for result in run.shown.tool_results)
        yield from (message.text for message in run.shown.text_messages)
        told = (event for event in run.events if not event.type.startswith(_NO_RESULTS))
        yield from (json.dumps(event.data, ensure_ascii=False) for event in told)
    if run.said is not None:
        yield from (text for text in (run.said.text, run.said.reason) if text)
    if run.raised is not None:
        yield run.raised.message


def _following(run: Run, view: View) -> Run | None:
    return next((one for one in view.runs if one.session == run.session and one.seq > run.end_seq and one.main), None)


def _carried(following: Run | None) -> Iterator[str]:
    """What the next run on the session sends its model at once."""
    if following is not None:
        yield from (message.content or "" for message in following.main[0].request.messages)


RULES: tuple[Rule, ...] = (
    Rule(
        id="LIM-11",
        level=SHOULD,
        clause="What was done before the limit can be reached by the caller: it is told in a text, shown in the events, or carried by the result or the error.",
        rationale="The rounds are paid for; a limit that throws their results away makes the caller pay for them again.",
        channels="R,E",
        check=the_work_is_reachable,
        evidence=(
            f"{_FORGE}openai/openai-agents-python/issues/719",
            f"{_FORGE}run-llama/llama_index/issues/14843",
        ),
    ),
)
