"""EVT-6: whether calls, results and thoughts in the events are those that the model and the tools saw. One check, no rule of its own."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import combinations
from typing import Any

from conformance.reading.agui import ShownCall, ShownResult
from conformance.reading.agui import tool_calls as calls_shown
from conformance.reading.containment import carries, scalars
from conformance.reading.outcome import snapshot_messages
from conformance.reading.pairing import arguments
from conformance.reading.tool_calls import FAILED, Calls, Made, equal, said_in
from conformance.reading.tool_calls import tool_calls as calls_made
from conformance.reading.view import Call, Execution, Run, View
from conformance.rule import OK, SHOULD, Finding, Judged

#: Results longer than this may be bounded on their way to the user, as they are on their way to the model.
LARGE_CHARS = 4096
#: Words that take a failure back: "no error, all fine" tells of none.
_NONE_FAILED = re.compile(
    r"\b(?:no|without|zero|0|any|never)\s+(?:an?\s+|any\s+)?(?:errors?|fail\w*|exceptions?)\b|\bnothing\s+(?:\w+\s+)?(?:wrong|failed)"
    r"|(?:没有|无|未)(?:发生|出现)?(?:错误|失败|异常)",
    re.IGNORECASE,
)
#: Words by which a text says that a call failed, or was not run at all.
_FAILED_OR_NOT = re.compile(
    FAILED.pattern
    + r"|\bno[tn]?\b|n't\b|skip|unknown|missing|limit|interrupt|block|unavailable|unsupported|declin|wait|pend|approv|required|expected"
    r"|stop|未|没有|无|不",
    re.IGNORECASE,
)
#: How many characters text and thinking must share for one to show the other, rather than both to use the same words.
_SHARED_CHARS = 20


def events_tell_the_truth(view: View) -> Judged:
    """Judge each run's calls, results and thoughts; agents may renumber ids, so calls are matched by what they say as well."""
    calls = calls_made(view)
    everything = calls.made
    for run in view.runs:
        if not run.events:
            continue
        made = [one for one in everything if one.run.id == run.id]
        # A run that resumes another may show its calls once more; whether it may is EVT-7's.
        earlier = [one for one in everything if one.run.session == run.session and one.run.seq < run.seq]
        shown = [call for call in calls_shown(run.events) if call.end_seq is not None]
        pairs = _paired(shown, [*made, *earlier])
        yield from _calls(run, shown, pairs, made)
        known = [(call, its) for call, its in zip(shown, pairs, strict=True) if its]
        yield from _results(run, known, made)
        yield from _never_run(run, view, known, [*made, *earlier], calls)
        yield from _thoughts(run)


def _tells(shown: ShownCall, made: Made) -> bool:
    """Whether the arguments are the model's, or those the tool got (defaults added, unknown ones dropped)."""
    if shown.name != made.call.name:
        return False
    said = arguments(shown.arguments)
    if not made.whole or (made.run.cancelled and made.by.id == made.run.calls[-1].id):
        # What arrived of a broken reply, or was heard of one when its run was cancelled, was all there was to show; a call that came whole may be spelled anew, as an object is.
        return made.call.arguments.startswith(shown.arguments) or equal(said, made.arguments)
    if not isinstance(made.arguments, dict):
        # Text that is no object may be shown as it is, inside a value of the agent's own, or not at all; never repaired.
        raw = made.call.arguments.strip()
        return said == {} or equal(said, made.arguments) or any(raw in str(one) for one in scalars(said))
    return any(equal(said, one) for one in (made.arguments, *(ran.arguments for ran in made.executions)))


#: What makes a shown call one that the model made, surest first: its words and id, its words, its id and name, its name.
_FITS: Sequence[Callable[[ShownCall, Made], bool]] = (
    lambda shown, made: shown.id == made.call.id and _tells(shown, made),
    _tells,
    lambda shown, made: shown.id == made.call.id and shown.name == made.call.name,
    lambda shown, made: shown.name == made.call.name,
)


def _paired(shown: Sequence[ShownCall], made: Sequence[Made]) -> list[Made | None]:
    """For each shown call the model's; each of them is taken once, those of whole replies first."""
    left = sorted(made, key=lambda one: not one.whole)
    pairs: list[Made | None] = [None] * len(shown)
    for fit in _FITS:
        for index, call in enumerate(shown):
            found = next((one for one in left if pairs[index] is None and fit(call, one)), None)
            if found is not None:
                pairs[index] = found
                left = [one for one in left if one.key != found.key]
    return _in_turn(shown, pairs)


def _in_turn(shown: Sequence[ShownCall], pairs: list[Made | None]) -> list[Made | None]:
    """Of a call that broke off and was asked for again, shown both times in the same words, the first showing is of the broken one."""
    for first, second in combinations(range(len(pairs)), 2):
        whole, broken = pairs[first], pairs[second]
        if whole is None or broken is None or not whole.whole or broken.whole or broken.seq > whole.seq:
            continue
        if _tells(shown[first], broken) and _tells(shown[second], whole):
            pairs[first], pairs[second] = broken, whole
    return pairs


def _calls(run: Run, shown: Sequence[ShownCall], pairs: Sequence[Made | None], made: Sequence[Made]) -> Judged:
    for call, its in zip(shown, pairs, strict=True):
        if its is None:
            said = ", ".join(f"{one.call.name} {one.call.arguments}" for one in made) or "none"
            yield Finding(
                f"run {run.id}: events show call {call.id!r} {call.name} {call.arguments}; the model made: {said}",
                call.seq,
            )
        elif not _tells(call, its):
            yield Finding(
                f"run {run.id}: events show call {call.id!r} of {call.name} with {call.arguments or 'no arguments'}; in {its} the model "
                f"said {its.call.arguments or 'none'}",
                call.seq,
                related=(its.seq,),
            )
        else:
            yield OK
    found = {its.key for its in pairs if its is not None}
    for one in made:
        # What never ran, and the answer in a call's clothes, an agent may keep to itself.
        ran = _here(one, run)
        if ran and one.whole and one.key not in found and one.flaw != "answer" and not _stored(one, run):
            # An agent that shows none of its calls keeps them to itself; one that shows some of them misleads.
            level = None if shown else SHOULD
            yield Finding(f"run {run.id}: {one} ran as {ran[0].id}, but no event shows it", ran[0].seq, level=level)
    places = {one.key: place for place, one in enumerate(made)}
    order = [places[its.key] for its in pairs if its is not None and its.key in places]
    if order != sorted(order):
        came = ", ".join(call.id for call in shown)
        yield Finding(
            f"run {run.id}: calls are shown as {came}, which is not the order the model made them in",
            shown[0].seq,
            level=SHOULD,
        )


def _stored(made: Made, run: Run) -> list[str]:
    """The ids under which the run's snapshots hold the call."""
    return [
        str(call.get("id"))
        for one in _snapshots(run)
        for call in one.get("toolCalls") or ()
        if isinstance(call, Mapping) and _is_call(call, made)
    ]


def _is_call(stored: Mapping[str, Any], made: Made) -> bool:
    function = stored.get("function")
    if not isinstance(function, Mapping) or function.get("name") != made.call.name:
        return False
    return stored.get("id") == made.call.id or equal(arguments(str(function.get("arguments") or "")), made.arguments)


def _stored_result(made: Made, run: Run) -> bool:
    ids = {made.call.id, *_stored(made, run)}
    return any(one.get("role") == "tool" and one.get("toolCallId") in ids for one in _snapshots(run))


def _snapshots(run: Run) -> list[Mapping[str, Any]]:
    return [one for one in snapshot_messages(run) if isinstance(one, Mapping)]


def _here(made: Made, run: Run) -> list[Execution]:
    """What ran for a call in its own run: a call that waits for an answer runs in the next one."""
    return [ran for ran in made.ran if ran.run == run.id]


def _of(result: ShownResult, shown: Sequence[tuple[ShownCall, Made]], told: AbstractSet[str]) -> Made | None:
    """The call that a result is of: where calls share its id, one shown before it that it fits and that has none yet."""
    mine = [(call, its) for call, its in shown if call.id == result.call_id]
    before = [its for call, its in mine if call.seq < result.seq] or [its for _, its in mine]
    fitting = [its for its in before if any(x.id not in told and not _wrong(result, x) for x in its.executions)]
    return next(reversed(fitting or before), None)


def _results(run: Run, shown: Sequence[tuple[ShownCall, Made]], made: Sequence[Made]) -> Judged:
    told: set[str] = set()
    for result in run.shown.tool_results:
        its = _of(result, shown, told)
        # A run that resumes another shows results of calls that the other one showed.
        ran = its.executions if its is not None else [x for x in run.executions if x.call_id == result.call_id]
        ended = [one for one in ran if one.end_seq is not None]
        if not ended:
            continue
        told.update(one.id for one in ended)
        # A tool that was run again may be shown by any of its results.
        wrong = [_wrong(result, one) for one in ended]
        if all(wrong):
            yield Finding(
                f"run {run.id}: the result shown for call {result.call_id!r} ({ended[-1].tool}, {ended[-1].id}) {wrong[-1]}",
                result.seq,
                related=(ended[-1].seq,),
            )
        elif all(result.seq < (one.end_seq or 0) for one in ended):
            yield Finding(
                f"run {run.id}: the result of {ended[0].tool} ({ended[0].id}) is shown before the tool gave it",
                result.seq,
                level=SHOULD,
            )
        else:
            yield OK
    # A run that broke off owes no result: its terminal says what happened.
    if run.terminal is None or run.terminal.type != "RUN_FINISHED" or run.cancelled:
        return
    for one in made:
        ended = [ran for ran in _here(one, run) if ran.end_seq is not None]
        if ended and one.flaw != "answer" and not told & {ran.id for ran in ended} and not _stored_result(one, run):
            level = None if run.shown.tool_results else SHOULD
            message = f"run {run.id}: {one} ran as {ended[0].id}, but no event shows its result"
            yield Finding(message, ended[0].seq, level=level)


def _never_run(
    run: Run, view: View, shown: Sequence[tuple[ShownCall, Made]], made: Sequence[Made], calls: Calls
) -> Judged:
    """A result of a call for which nothing ran tells of a failure, or what the model was told."""
    asked = [call for one in view.runs if one.session == run.session for call in one.main if call.seq > run.seq]
    for result in run.shown.tool_results:
        mine = [its for call, its in shown if call.id == result.call_id]
        mine = mine or [one for one in made if one.call.id == result.call_id]
        # Of calls that share an id, one that ran may be meant.
        if not mine or any(one.executions or one.flaw in ("answer", "child") or not one.whole for one in mine):
            continue
        if any(x.call_id == result.call_id for x in view.executions):
            continue
        told = _FAILED_OR_NOT.search(_plain(result.content)) is not None
        if told or _carried(result, mine, asked, view, calls):
            yield OK
        else:
            yield Finding(
                f"run {run.id}: the result shown for {mine[-1]} is {result.content[:80]!r}; nothing ran for it, so words of a failure, "
                "or what the model was told of it, were expected",
                result.seq,
                related=(mine[-1].seq,),
            )


def _carried(result: ShownResult, mine: Sequence[Made], asked: Sequence[Call], view: View, calls: Calls) -> bool:
    """Whether a request of the session tells the model the same of the call."""
    shown = result.content.strip()
    if not shown:
        return False
    word = re.compile(rf"(?<!\w){re.escape(shown)}(?!\w)")
    for call in asked:
        if view.dialect.tool_history == "text":
            # As text, a result has no place of its own.
            told = [said_in(call)]
        else:
            carried = calls.carried(call, mine[0].run.session)
            told = [carried[one.key].content.strip() for one in mine if one.key in carried]
        if any(text and (text in shown or word.search(text)) for text in told):
            return True
    return False


def _says_failed(text: str) -> bool:
    return FAILED.search(_plain(text)) is not None


def _plain(text: str) -> str:
    """A text without the failures that it denies."""
    return _NONE_FAILED.sub(" ", text)


def _wrong(result: ShownResult, ran: Execution) -> str | None:
    if ran.error is not None:
        said = json.dumps(result.event.data, ensure_ascii=False)
        own = [word for word in (ran.error.get("type"), ran.error.get("message")) if word]
        if _says_failed(result.content) or any(word in said for word in own):
            return None
        return f"is {result.content[:80]!r}; the tool failed with {ran.error.get('type')}: {ran.error.get('message')!r}"
    if len(json.dumps(ran.value, ensure_ascii=False)) > LARGE_CHARS:
        return None if result.content else "is empty; the tool returned a large value"
    lacking = carries(result.content, ran.value)
    if lacking:
        return f"is {result.content[:80]!r}; the tool returned {lacking[0]!r}, which is not in it"
    return None


def _thoughts(run: Run) -> Judged:
    replies = [call.reply for call in run.main if call.reply is not None]
    all_said = [call.reply for call in run.calls if call.reply is not None]
    said = [reply.text for reply in all_said if reply.text]
    messages = [message for message in run.shown.text_messages if message.role == "assistant"]
    shown = "".join(message.text for message in messages)
    asked = (one.content for call in run.main for one in call.request.messages if one.role != "assistant")
    used = (text for reply in all_said for one in reply.calls for text in (one.name, one.arguments))
    heard = "\n".join((*said, *used, *(text for text in asked if text)))
    for reply in replies:
        thought = (reply.thinking or "").strip()
        if not thought or any(thought in text for text in said):
            continue
        if thought in shown or _shares(shown, thought, heard):
            parts = (
                message.seq for message in messages if thought in message.text or _shares(message.text, thought, heard)
            )
            at = next(parts, messages[0].seq)
            yield Finding(
                f"run {run.id}: the model's thinking {thought[:60]!r} is shown as text; as reasoning, or not at all, was expected",
                at,
                related=(reply.seq,),
            )
        else:
            yield OK


def _shares(shown: str, thought: str, heard: str) -> bool:
    """Whether text shows a part of the thinking, in words that nobody else said."""
    starts = range(len(thought) - _SHARED_CHARS + 1)
    runs = (thought[at : at + _SHARED_CHARS] for at in starts)
    half = _SHARED_CHARS // 2
    # What others said may stand at either end of it: a quotation behind the same comma is nobody's thought.
    return any(run in shown and run[:half] not in heard and run[half:] not in heard for run in runs)
