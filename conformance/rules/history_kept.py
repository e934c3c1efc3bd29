"""HIS-6b: what was said once is sent back as it was said. Compares requests with what was said, not with one another."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from conformance.reading.conversation import squeezed
from conformance.reading.outcome import answer, claimed, last_reply
from conformance.reading.pairing import align, arguments
from conformance.reading.tool_calls import Calls, Made, as_text, tool_calls
from conformance.reading.view import Call, Run, View
from conformance.rule import MUST, OK, SHOULD, Finding, Judged, Level, Right, Rule
from conformance.rules.acting_once import faithful, may_stay
from conformance.rules.history_succession import any_mixed, goes_on, reasons_to_shrink

#: One thing looked at: what tells it from all others, so that it is told of once, and what is to be said of it.
_One = tuple[tuple[Any, ...], Finding | Literal[Right.OK]]


@dataclass(frozen=True, slots=True)
class _Words:
    """A text of the model that its later requests owe. `where` says in a finding when it was said."""

    text: str
    by: Call
    run: Run
    where: str
    level: Level | None = None


def _his_6b(view: View) -> Judged:
    if any_mixed(view):
        return
    told: set[tuple[Any, ...]] = set()
    for run, call in _requests(view):
        for mark, one in (*_arguments(run, call, view), *_past_arguments(run, call, view), *_texts(run, call, view)):
            if one is OK:
                yield OK
            # What is lost stays lost: it is told of in the first request that lacks it.
            elif mark not in told:
                told.add(mark)
                yield one
    yield from _system(view)


def _requests(view: View) -> list[tuple[Run, Call]]:
    return sorted(((run, call) for run in view.runs for call in run.main), key=lambda one: one[1].seq)


def _owes(said: Run, seq: int, run: Run, call: Call, view: View) -> bool:
    """Whether a request owes what was said in a run at a record: nothing came between that lets a history get shorter."""
    between = any(seq <= one < call.seq for one in reasons_to_shrink(view).get(run.session, ()))
    return said.session == run.session and goes_on(said, run, call, view) and not between


def _arguments(run: Run, call: Call, view: View) -> Iterator[_One]:
    calls = tool_calls(view)
    carried = calls.carried(call, run.session)
    for made in calls.said_before(call, run.session):
        there = carried.get(made.key)
        # What the model wrote wrong may be mended (HIS-5), and ids that are not sound tell no call from another (HIS-3b).
        judged = made.sound and made.flaw in (None, "extra") and bool(made.arguments)
        if there is None or not judged or _misheard(made, calls, view):
            continue
        if not _owes(made.run, made.by.end_seq, run, call, view):
            continue
        came = arguments(there.call.arguments)
        wanted = {
            k: v for k, v in made.arguments.items() if k not in made.extra or (isinstance(came, dict) and k in came)
        }
        schema = made.tool.parameters if made.tool else {}
        yield made.key, OK if faithful(wanted, came, schema) else _altered(call, str(made), came, wanted, made.seq)


def _misheard(made: Made, calls: Calls, view: View) -> bool:
    """Whether the agent took the call for another from the start: that it ran so, or not at all, is ACT-1's."""
    if "T" not in view.channels:
        return False
    if not made.ran:
        return not may_stay(made, calls, view)
    said, ran = made.arguments, made.ran[0].arguments
    if not isinstance(ran, Mapping):
        return True
    known_said, known_ran = ({k: v for k, v in one.items() if k not in made.extra} for one in (said, ran))
    return not faithful(known_said, known_ran, made.tool.parameters if made.tool else {})


def _past_arguments(run: Run, call: Call, view: View) -> Iterator[_One]:
    """The same for calls of the history that the caller gave."""
    calls = tool_calls(view)
    said = (made.call for made in calls.said_before(call, run.session))
    found = align((*calls.past, *said), call.paired.calls)[: len(calls.past)]
    for place, (past, there) in enumerate(zip(calls.past, found, strict=True)):
        wanted = arguments(past.arguments)
        if there is None or not isinstance(wanted, dict) or not wanted or reasons_to_shrink(view).get(run.session):
            continue
        tool, came = view.scenario.tools.get(past.name), arguments(there.call.arguments)
        right = faithful(wanted, came, tool.parameters if tool else {})
        named = f"call {past.id!r} ({past.name}) of the given history"
        yield (run.session, "past", place), OK if right else _altered(call, named, came, wanted, call.seq)


def _altered(call: Call, named: str, came: Any, wanted: Any, said_seq: int) -> Finding:
    return Finding(
        f"{call.id}: {named} carries the arguments {as_text(came)}, expected {as_text(wanted)}, as the model said them",
        call.seq,
        related=(said_seq,),
    )


def _texts(run: Run, call: Call, view: View) -> Iterator[_One]:
    """Each text that the request owes, as often as it was said; blocks may have been joined or split."""
    # Where calls travel as text, so may what was said beside them.
    anyones = view.dialect.tool_history == "text"
    messages = call.request.messages
    spoken = "".join(squeezed(one.content or "") for one in messages if anyones or one.role == "assistant")
    needed: Counter[str] = Counter()
    for one in (*_beside_calls(run, call, view), *_earlier_answers(run, call, view)):
        text = squeezed(one.text)
        if not text or not _owes(one.run, one.by.end_seq, run, call, view):
            continue
        needed[text] += 1
        if spoken.count(text) >= needed[text]:
            yield (one.by.id,), OK
        else:
            yield (
                (one.by.id,),
                Finding(
                    f"{call.id} lacks {as_text(one.text.strip())}, which the model said {one.where} ({one.by.id}); expected what "
                    "the model said to be sent back to it",
                    call.seq,
                    related=(one.by.seq,),
                    level=one.level,
                ),
            )


def _beside_calls(run: Run, call: Call, view: View) -> Iterator[_Words]:
    calls = tool_calls(view)
    carried = calls.carried(call, run.session)
    batches: dict[str, list[Made]] = {}
    for made in calls.said_before(call, run.session):
        batches.setdefault(made.by.id, []).append(made)
    for batch in batches.values():
        by, reply = batch[0].by, batch[0].by.reply
        # A call that is gone is HIS-4's and HIS-10's, and with it goes what was said beside it.
        there = view.dialect.tool_history == "text" or any(made.key in carried for made in batch)
        plain = all(made.sound and made.flaw != "answer" for made in batch) and by.role != "summary"
        if reply is not None and reply.text and reply.stop in ("stop", "tool_calls") and there and plain:
            yield _Words(reply.text, by, batch[0].run, "beside a call")


def _earlier_answers(run: Run, call: Call, view: View) -> Iterator[_Words]:
    for earlier in view.runs:
        claim = claimed(earlier, view) if earlier is not run and earlier.end_seq < call.seq else None
        if claim is None or view.dialect.answer_by != "text":
            continue
        if claim.kind == "answered" and (last := last_reply(earlier)) is not None and not earlier.summary:
            yield _Words(answer(last, view.dialect) or "", last, earlier, f"as the answer of {earlier.id}")
        elif claim.kind == "limit" and earlier.summary:
            last = earlier.outcome_of(earlier.summary[-1])
            # To whoever keeps the results it is a digest of them: its loss costs less than that of an answer.
            yield _Words(answer(last, view.dialect) or "", last, earlier, f"at the limit of {earlier.id}", SHOULD)


def _system(view: View) -> Judged:
    text = squeezed(view.scenario.system or "")
    if not text:
        return
    last: dict[str, tuple[Run, Call]] = {}
    told: set[str] = set()
    for run, call in _requests(view):
        before = last.get(run.session)
        if _has_system_text(call, text):
            last[run.session] = (run, call)
            if before is not None:
                yield OK
        elif before is not None and run.session not in told and _owes(before[0], before[1].seq, run, call, view):
            told.add(run.session)
            yield Finding(
                f"{call.id} lacks the system text {as_text(view.scenario.system)}, which {before[1].id} had; expected it in the "
                "system text of every request, or in the first user message",
                call.seq,
                related=(before[1].seq,),
            )


def _has_system_text(call: Call, text: str) -> bool:
    messages = call.request.messages
    first = next((one for one in messages if one.role == "user"), None)
    rules = "".join(squeezed(one.content or "") for one in messages if one.role in ("system", "developer"))
    return text in rules or (first is not None and text in squeezed(first.content or ""))


_ISSUES = "https://github.com"

HIS_6B = Rule(
    id="HIS-6b",
    level=MUST,
    clause="What was said is sent back as it was said, except at a compaction: the arguments of past calls as JSON values, the "
    "text beside a call, the answers of earlier runs, and the system text. System text may be moved, merged or extended.",
    rationale="A model that reads its own calls without their arguments repeats them, one that lost its own words contradicts "
    "them, and one that lost its instructions no longer follows them.",
    evidence=(
        f"{_ISSUES}/mastra-ai/mastra/issues/21131",
        f"{_ISSUES}/langchain-ai/langchain-google/issues/1706",
        f"{_ISSUES}/open-webui/open-webui/issues/30161",
        f"{_ISSUES}/microsoft/autogen/issues/4308",
    ),
    channels="M",
    keys=("tool_history", "extra_args", "answer_by"),
    check=_his_6b,
)
