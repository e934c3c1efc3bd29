"""SES: what sessions share, which is nothing, and what one session does with two runs at once and with a broken past."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

from conformance.reading.outcome import Claim, answer, claimed, final_text
from conformance.reading.pairing import pair
from conformance.reading.view import Call, Run, View
from conformance.rule import MUST, OK, SHOULD, Finding, Judged, Rule
from conformance.rules.next_requests import broken_history
from fake_models.messages import Message, ToolCall

_ISSUES = "https://github.com/"
#: Texts and values shorter than this may well stand in a request by chance.
_TELLING_CHARS = 6
#: Ids shorter than this are numbers, which an agent may give its own calls as well.
_TELLING_ID = 12


def keeps(view: View) -> str | None:
    """`applies`: the agent keeps what was said in a session."""
    return None if view.has("sessions") else "capability"


def keeps_at_once(view: View) -> str | None:
    """`applies`: it does so for runs that go on at once."""
    return keeps(view) or (None if view.has("concurrent_runs") else "capability")


# SES-1


def sessions_share_nothing(view: View) -> Judged:
    """SES-1."""
    sessions = dict.fromkeys(run.session for run in view.runs)
    if len(sessions) < 2:
        return
    marks = {session: _marks(session, view) for session in sessions}
    for session in sessions:
        mine = "\n".join(_given(session, view))
        others = [(other, mark) for other in sessions if other != session for mark in sorted(marks[other])]
        foreign = [one for one in others if one[1] not in marks[session] and one[1] not in mine]
        told = False
        for run, call in _requests(session, view):
            text = "\n".join(_said_in(call))
            found = next((one for one in foreign if one[1] in text), None)
            if found is None:
                yield OK
            elif not told:
                told = True
                yield Finding(
                    f"{call.id} of run {run.id} (session {session}) holds {found[1]!r:.100}, which belongs to session {found[0]} "
                    "alone; expected a request of what this session's user, model and tools said",
                    call.seq,
                )


def _requests(session: str, view: View) -> Iterator[tuple[Run, Call]]:
    return ((run, call) for run in view.runs if run.session == session for call in run.main)


def _said_in(call: Call) -> Iterator[str]:
    """What a request says, message by message, the ids of its calls among it, and whatever else its body tells."""
    for message in call.request.messages:
        yield message.content or ""
        for one in message.tool_calls:
            yield f"{one.id} {one.arguments}"
    if isinstance(call.body, Mapping):
        yield from _leaves([value for key, value in call.body.items() if key != "model"])


def _given(session: str, view: View) -> Iterator[str]:
    """What this session was told whatever it did: its own calls and texts, what both were given."""
    yield view.scenario.system or ""
    yield from (str(message.get("content")) for message in view.scenario.history)
    yield from (f"{name} {tool.description} {tool.parameters}" for name, tool in view.scenario.tools.items())
    for run in view.runs:
        if run.session == session:
            yield run.user or ""
            yield from (str(one) for one in run.resumes)
            yield from (str(part) for call in run.calls if call.reply for part in call.reply.parts)
            yield from (str(one.value) + str(one.error) for one in run.executions)


def _marks(session: str, view: View) -> frozenset[str]:
    """The texts by which what is of this session is known: of user, model and tools."""
    found: set[str] = set()
    for run in view.runs:
        if run.session == session:
            found.add(run.user or "")
            found |= {call.reply.text for call in run.calls if call.reply and call.reply.text}
            found |= {
                one.id
                for call in run.calls
                if call.reply
                for one in call.reply.calls
                if one.id and len(one.id) >= _TELLING_ID
            }
            found |= set(_leaves([one.value for one in run.executions]))
    return frozenset(one for one in found if len(one) >= _TELLING_CHARS)


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for one in value:
            yield from _leaves(one)


# SES-2 and SES-3


def _together(view: View) -> Iterator[tuple[Run, Run]]:
    """Runs that went on at once, the one that began first first."""
    return ((one, two) for one, two in combinations(view.runs, 2) if one.id in two.began_with)


def one_run_at_a_time(view: View) -> Judged:
    """SES-2."""
    for one, two in _together(view):
        if one.session != two.session or one.killed or two.killed:
            continue
        mixed = _mixed(one, two)
        if mixed is not None:
            yield mixed
            continue
        for mine, other in ((one, two), (two, one)):
            yield from _own_answer(mine, other, view)


def _mixed(one: Run, two: Run) -> Finding | None:
    """A request of either, sent while the other's loop was at work."""
    if not one.main or not two.main:
        return None
    first, second = sorted((one, two), key=lambda run: run.main[0].seq)
    if second.main[0].seq > _last(first):
        return None
    return Finding(
        # Which of them is the first is chance; what is said of it should not be.
        f"runs {one.id} and {two.id} went on at once on session {one.session}, and one of them sent a request while the other was between "
        "its first and its last; expected one to wait for the other, or to be refused",
        second.main[0].seq,
        related=(first.main[0].seq,),
    )


def _last(run: Run) -> int:
    return max(*(call.end_seq for call in run.main), *(one.end_seq or one.seq for one in run.executions), 0)


def _own_answer(mine: Run, other: Run, view: View) -> Judged:
    claim = claimed(mine, view)
    if mine.cancelled or claim is None:
        return
    if not mine.main:
        if claim.kind == "answered":
            yield Finding(
                f"run {mine.id} says 'answered' and asked its model nothing while run {other.id} went on; expected an answer of its own, "
                "or to be refused",
                claim.seq,
            )
        else:
            yield OK
        return
    if claim.kind != "answered":
        return
    own, others = _answers(mine, view), _answers(other, view)
    text = (final_text(mine, view) or "").strip()
    if text and text in others and text not in own:
        yield Finding(
            f"run {mine.id} answers {text!r:.100}, which the model said to run {other.id}; expected the answer of its own model calls",
            claim.seq,
        )
    else:
        yield OK


def _answers(run: Run, view: View) -> frozenset[str]:
    return frozenset((answer(call, view.dialect) or "").strip() for call in run.main)


def sessions_overlap(view: View) -> Judged:
    """SES-3."""
    for two in view.runs:
        for one in view.runs:
            if one.session == two.session or one.seq > two.seq:
                continue
            if one.id in two.began_with:
                yield from _side_by_side(one, two, view)
            elif (claim := claimed(one, view)) is not None and claim.kind == "waiting":
                yield from _beside_one_that_waits(one, two, view)


def _side_by_side(one: Run, two: Run, view: View) -> Judged:
    if any(run.cancelled or run.killed or run.how not in ("returned", "raised") for run in (one, two)):
        return
    for mine, other in ((one, two), (two, one)):
        if not mine.main:
            if _turned_away(mine, view):
                yield _held_up(mine, other, "asked its model nothing")
            return
    first, second = sorted((one, two), key=lambda run: run.main[0].seq)
    if second.main[0].seq > first.main[-1].end_seq:
        yield _held_up(
            second, first, f"sent its first request {second.main[0].id} when that one had asked all it asked"
        )
    else:
        yield OK


def _beside_one_that_waits(one: Run, two: Run, view: View) -> Judged:
    if two.main:
        yield OK
    elif two.user is not None and _turned_away(two, view):
        yield _held_up(two, one, "asked its model nothing")


def _turned_away(run: Run, view: View) -> bool:
    claim = claimed(run, view)
    return run.max_iters != 0 and claim is not None and claim.kind in ("refused", "error", "waiting")


def _held_up(run: Run, other: Run, what: str) -> Finding:
    state = "waited for a person" if other.end_seq < run.seq else "went on"
    return Finding(
        f"run {run.id} (session {run.session}) {what}, while run {other.id} of session {other.session} {state}; expected different "
        "sessions not to wait for each other",
        run.main[0].seq if run.main else run.end_seq,
        related=(other.seq,),
    )


# SES-4


def broken_pasts_are_not_sent(view: View) -> Judged:
    """SES-4."""
    for run in view.runs:
        stored = run.given.get("messages") or ()
        if run.cancelled or run.killed or not any(one.get("toolCalls") or one.get("role") == "tool" for one in stored):
            continue
        problem = broken_past(stored)
        first = run.main[0] if run.main else None
        if first is None:
            yield from _not_asked(run, problem, view)
        elif problem is None:
            yield OK
        elif (sent := broken_history(first, view)) is not None:
            yield Finding(
                f"run {run.id} was given a stored history in which {problem}, and its first request {sent}; expected it to be "
                "repaired, or the run refused",
                first.refused_seq or first.seq,
                related=(run.seq,),
            )
        else:
            yield OK


def _not_asked(run: Run, problem: str | None, view: View) -> Judged:
    claim = claimed(run, view)
    if run.how not in ("returned", "raised"):
        yield Finding(
            f"run {run.id} was given a stored history{f' in which {problem}' if problem else ''} and {run.how}; expected it to be repaired, "
            "or the run refused",
            run.end_seq,
        )
    elif problem is not None and claim is not None and claim.kind != "answered":
        yield OK
    elif problem is None and claim is not None and claim.kind in ("refused", "error"):
        yield Finding(
            f"run {run.id} was given a sound stored history and asked its model nothing ({_gave_up(run, claim)}); expected it "
            f"to go on from there{_HINT if _missed_the_words(run) else ''}",
            run.end_seq,
        )


_HINT = ": a stored assistant message may have toolCalls and no content"


def _gave_up(run: Run, claim: Claim) -> str:
    what = claim.kind if run.raised is None else f"it raised {run.raised.exception}"
    return f"{what}: {claim.reason!r:.120}"


def _missed_the_words(run: Run) -> bool:
    """Whether an exception speaks of content, and a stored message of calls has none."""
    if run.raised is None or "content" not in run.raised.message:
        return False
    return any(one.get("toolCalls") and one.get("content") is None for one in run.given.get("messages") or ())


def broken_past(stored: Sequence[Mapping[str, Any]]) -> str | None:
    """What is wrong with messages as a caller sent them, in words."""
    pairs = pair([_message(one) for one in stored])
    for one in pairs.calls:
        if len(one.results) != 1 or one.late:
            return f"call {one.call.id!r} ({one.call.name}) has {len(one.results) + len(one.late) or 'no'} results right behind it"
    for orphan in pairs.orphans:
        return f"a result for {orphan.result.message.tool_call_id!r} has no call"
    return None


def _message(one: Mapping[str, Any]) -> Message:
    calls = tuple(
        ToolCall(call.get("id"), call["function"]["name"], call["function"].get("arguments", ""))
        for call in one.get("toolCalls") or ()
    )
    content = one.get("content")
    return Message(
        role=one["role"],
        content=content if isinstance(content, str) else None,
        tool_calls=calls,
        tool_call_id=one.get("toolCallId"),
    )


RULES: tuple[Rule, ...] = (
    Rule(
        id="SES-1",
        level=MUST,
        clause="Sessions share nothing: no request holds a text, an id or a result of another session.",
        rationale="One user reads what another one said.",
        channels="M",
        applies=keeps,
        check=sessions_share_nothing,
        evidence=(f"{_ISSUES}agno-agi/agno/issues/4820",),
    ),
    Rule(
        id="SES-2",
        level=MUST,
        clause="Two runs at once on one session are serialised, or one is refused; they are never mixed, and each has its own answer.",
        rationale="Two runs that write one history part calls from their results, and the answer to one question is given to the other.",
        channels="M,R",
        applies=keeps_at_once,
        check=one_run_at_a_time,
        evidence=(
            f"{_ISSUES}strands-agents/harness-sdk/issues/1176",
            f"{_ISSUES}agentscope-ai/agentscope-runtime/issues/402",
            f"{_ISSUES}NousResearch/hermes-agent/issues/64934",
        ),
    ),
    Rule(
        id="SES-3",
        level=SHOULD,
        clause="Runs on different sessions overlap: none waits for another's, and a session that waits for a person holds up nobody.",
        rationale="One user's slow run, or one that nobody allows, keeps everyone else waiting.",
        channels="M",
        applies=keeps_at_once,
        check=sessions_overlap,
        evidence=(f"{_ISSUES}agno-agi/agno/issues/4416",),
    ),
    Rule(
        id="SES-4",
        level=MUST,
        clause="A stored history that is broken is repaired or refused, never sent.",
        rationale="A session that was stored in the middle of a deed is lost for good: every later request is refused.",
        channels="M",
        applies=keeps,
        check=broken_pasts_are_not_sent,
        evidence=(f"{_ISSUES}openai/codex/pull/8048",),
    ),
)
