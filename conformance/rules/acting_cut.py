"""ACT-6: what runs of a reply that was not whole. A call that was asked for again and ran twice is ACT-13's."""

from collections.abc import Mapping

from conformance.reading.stream_places import sent
from conformance.reading.tool_calls import Calls, Made, as_text, tool_calls
from conformance.reading.view import Execution, View
from conformance.rule import MUST, OK, SHOULD, Finding, Judged, Rule
from conformance.rules.acting_once import faithful


def _act_6(view: View) -> Judged:
    calls = tool_calls(view)
    for made in calls.made:
        if made.by.role == "summary" or made.tool is None or made.flaw == "answer":
            continue
        if made.whole and made.by.reply is not None and made.by.reply.stop == "length":
            yield from _cut_by_length(made, calls)
        elif broke_off_in(made, view):
            yield from _broken(made, calls)


def _cut_by_length(made: Made, calls: Calls) -> Judged:
    ran = _surely(made, calls)
    if not ran:
        yield OK
    elif isinstance(made.arguments, Mapping):
        yield Finding(
            f"{ran[0].id}: {made} ran with {as_text(ran[0].arguments)} although its reply was cut by the length limit; "
            "expected nothing of such a reply to run, since nobody knows what was still to come",
            ran[0].seq,
            related=(made.seq,),
            level=SHOULD,
        )
    else:
        yield _ran_half(made, ran[0], "the length limit cut it")


def _broken(made: Made, calls: Calls) -> Judged:
    ran = _surely(made, calls)
    if not ran:
        yield OK
    elif not isinstance(made.arguments, Mapping) or not _as_said(made, ran[0]):
        # Arguments that ran as the model meant them had come in before the break: whether the reply was whole is REC-7's.
        yield _ran_half(made, ran[0], "its stream broke off")


def _ran_half(made: Made, ran: Execution, why: str) -> Finding:
    return Finding(
        f"{ran.id}: {made} ran with {as_text(ran.arguments)}, but {why}, and its arguments were not complete; "
        "expected it never to run",
        ran.seq,
        related=(made.seq,),
    )


def _as_said(made: Made, ran: Execution) -> bool:
    return faithful(made.arguments, ran.arguments, made.tool.parameters if made.tool else {})


def broke_off_in(made: Made, view: View) -> bool:
    """Whether a stream broke after the call's name could be heard; a body that is not streamed is lost as a whole."""
    reply = made.by.reply
    if reply is None or reply.complete or not made.by.request.stream or reply.fault is None:
        return False
    broken = reply.fault.get("cut") or reply.fault.get("stall") or {}
    after_chunks = broken.get("after_chunks") or 0
    return made.place < sent(reply, made.by.request, view.recording.header, after_chunks).calls


def _surely(made: Made, calls: Calls) -> list[Execution]:
    """What ran for a call; not what may as well be of a later call of that name."""
    later = [
        one.seq for one in calls.made if one.run is made.run and one.call.name == made.call.name and one.seq > made.seq
    ]
    return [one for one in made.ran if not any(seq < one.seq for seq in later)]


_ISSUES = "https://github.com"

ACT_6 = Rule(
    id="ACT-6",
    level=MUST,
    clause="A call whose arguments are not complete, because the length limit or a broken stream cut them, never runs; nor "
    "should a complete one of a reply that was cut by length.",
    rationale="Half of what the model meant is another deed than the whole, and some deeds cannot be taken back.",
    evidence=(
        f"{_ISSUES}/NousResearch/hermes-agent/issues/35151",
        f"{_ISSUES}/agent0ai/agent-zero/issues/1747",
        f"{_ISSUES}/agentscope-ai/agentscope-java/issues/498",
    ),
    channels="T",
    check=_act_6,
)
