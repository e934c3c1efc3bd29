"""HIS-5 and HIS-8: how a request spells the arguments of its calls, and in what order their results stand."""

from collections.abc import Mapping
from itertools import pairwise

from conformance.reading.pairing import arguments
from conformance.reading.tool_calls import Made, as_text, tool_calls
from conformance.reading.view import Call, View
from conformance.rule import OK, SHOULD, Finding, Judged, Rule
from conformance.rules.history_shape import needs_messages, requests


def _his_5(view: View) -> Judged:
    calls = tool_calls(view)
    told: set[tuple[str, str, str]] = set()
    for run, call, pairs in requests(view):
        said = calls.said_before(call, run.session)
        broken = [made.key for made in said if not isinstance(made.arguments, Mapping)]
        carried = calls.carried(call, run.session) if broken else {}
        # What its provider kept for it, no agent can spell in another way.
        sent = {made for message in call.sent.messages for made in message.tool_calls}
        for one in pairs.calls:
            if one.call not in sent:
                continue
            text = one.call.arguments
            # A broken history is sent again with every request that follows: it is told of once.
            mark = (run.session, one.call.name, text)
            if not isinstance(arguments(text), Mapping) and mark not in told:
                told.add(mark)
                yield Finding(
                    f"{call.id}: call {one.call.id!r} ({one.call.name}) of messages[{one.index}] carries the arguments "
                    f"{as_text(text)}, expected a JSON object; write {{}} where the model's text was none",
                    call.seq,
                )
        # What the model spelled right proves nothing: an object came in and went out.
        for key in broken:
            if key in carried and isinstance(arguments(carried[key].call.arguments), Mapping):
                yield OK


def _his_8(view: View) -> Judged:
    calls = tool_calls(view)
    told: set[tuple[str, int]] = set()
    for run, call, _ in requests(view):
        carried = calls.carried(call, run.session)
        for batch in _batches(calls.said_before(call, run.session)):
            at = [
                (made, carried[made.key].results[0].index)
                for made in batch
                if made.key in carried and carried[made.key].results
            ]
            if len(at) < 2:
                continue
            swapped = next(((one, two) for one, two in pairwise(at) if one[1] > two[1]), None)
            if swapped is None:
                yield OK
            elif batch[0].key not in told:
                told.add(batch[0].key)
                yield _out_of_order(call, *swapped)


def _batches(said: tuple[Made, ...]) -> list[tuple[Made, ...]]:
    """The calls of each reply that made several, where ids tell them apart."""
    by: dict[str, tuple[Made, ...]] = {}
    for made in said:
        by[made.by.id] = (*by.get(made.by.id, ()), made)
    return [batch for batch in by.values() if len(batch) > 1 and all(made.sound for made in batch)]


def _out_of_order(call: Call, first: tuple[Made, int], second: tuple[Made, int]) -> Finding:
    (one, at), (other, earlier) = first, second
    return Finding(
        f"{call.id}: the result of {one} stands at messages[{at}], behind that of {other} at messages[{earlier}]; expected "
        "results in the order of their calls, whichever tool was done first",
        call.seq,
        related=(one.seq,),
    )


_ISSUES = "https://github.com"

HIS_5 = Rule(
    id="HIS-5",
    level=SHOULD,
    clause="In the history the arguments of a call are a JSON object, also where the text that the model wrote was none.",
    rationale="Providers and the layers before them read arguments back as JSON: one broken text fails every request that "
    "carries it.",
    evidence=(
        f"{_ISSUES}/BerriAI/litellm/issues/33678",
        f"{_ISSUES}/agent0ai/agent-zero/issues/1747",
    ),
    channels="M",
    keys=("tool_history",),
    applies=needs_messages,
    check=_his_5,
)

HIS_8 = Rule(
    id="HIS-8",
    level=SHOULD,
    clause="The results of parallel calls stand in the order of their calls.",
    rationale="Results in the order in which tools happened to finish make equal runs differ, defeat prompt caches, and mix up "
    "models that read by place.",
    evidence=(
        f"{_ISSUES}/cloudwego/eino-ext/issues/571",
        f"{_ISSUES}/generative-computing/mellea/issues/1431",
    ),
    channels="M",
    keys=("tool_history",),
    applies=needs_messages,
    check=_his_8,
)
