"""EVT: the event stream holds to AG-UI and tells what happened. Judges events only; what the run came to is RUN's."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from conformance.reading.agui import Event, text_messages, tool_calls, tool_results, value
from conformance.reading.agui_order import Order, order
from conformance.reading.event_shapes import Shape, shape
from conformance.reading.view import Run, View
from conformance.rule import MUST, OK, SHOULD, Finding, Judged, Rule
from conformance.rules.event_truth import events_tell_the_truth

_ISSUES = "https://github.com/"


def stream(run: Run) -> tuple[Event, ...]:
    """The whole stream of a run, the parts of other runs included, in order."""
    return tuple(sorted((*run.events, *run.strays), key=lambda event: event.seq))


def _seen_shapes(view: View) -> tuple[tuple[Run, tuple[tuple[Event, Shape], ...]], ...]:
    return tuple((run, tuple((event, shape(event.data)) for event in stream(run))) for run in view.runs)


def _shapes(view: View, faults: Callable[[Shape], Sequence[str]]) -> Judged:
    for run, seen in view.once(_seen_shapes):
        found = [(event.type, fault, event.seq) for event, its in seen for fault in faults(its)]
        times = Counter((kind, fault) for kind, fault, _ in found)
        for (kind, fault), many in times.items():
            at = next(seq for *same, seq in found if same == [kind, fault])
            more = f" ({many} times)" if many > 1 else ""
            yield Finding(f"run {run.id}: {kind or 'an event'}: {fault}{more}", at)
        if seen and not found:
            yield OK


def events_are_valid(view: View) -> Judged:
    """EVT-1."""
    for run in view.runs:
        for record in run.garbage:
            why = f": {record.data['why']}" if "why" in record.data else ""
            line = repr(record.data.get("line"))[:120]
            yield Finding(f"run {run.id}: {line} was sent in the place of an event{why}", record.seq)
    yield from _shapes(view, lambda its: [] if its.model is None else [its.model])


def the_client_takes_the_shapes(view: View) -> Judged:
    """EVT-1b."""
    return _shapes(view, lambda its: its.client)


def _orders(view: View) -> tuple[tuple[Run, Order], ...]:
    return view.once(_ordered)


def _ordered(view: View) -> tuple[tuple[Run, Order], ...]:
    return tuple((run, order(stream(run))) for run in view.runs)


def the_client_takes_the_order(view: View) -> Judged:
    """EVT-2."""
    for run, seen in _orders(view):
        for one in seen.refused:
            yield Finding(f"run {run.id}: {one.message}; the published client stops here", one.seq)
        if seen.opened and not seen.refused:
            yield OK


def ids_are_opened_once(view: View) -> Judged:
    """EVT-2b."""
    for run, seen in _orders(view):
        for one in seen.reopened:
            yield Finding(f"run {run.id}: {one.message}", one.seq)
        if seen.named and not seen.reopened:
            yield OK


def _closed_before(view: View, terminal: str) -> Judged:
    for run, seen in _orders(view):
        ends = [event for event in stream(run) if event.type == terminal]
        # A declared exception is a legal end, and whoever raises cannot close what its caller's stream holds open.
        if not ends or (ends[-1].raised and run.raised and run.raised.exception in view.dialect.exceptions):
            continue
        left = [one for one in seen.left_open if one.terminal == terminal]
        for one in left:
            yield Finding(
                f"run {run.id}: {one.noun} {one.name!r} is still open at {terminal}; its end was expected before",
                one.seq,
                related=(one.opened,),
            )
        if seen.opened and not left:
            yield OK


def all_is_closed_before_the_finish(view: View) -> Judged:
    """EVT-3."""
    return _closed_before(view, "RUN_FINISHED")


def all_is_closed_before_the_error(view: View) -> Judged:
    """EVT-3b."""
    return _closed_before(view, "RUN_ERROR")


def results_name_a_known_call(view: View) -> Judged:
    """EVT-4."""
    for run in view.runs:
        known = _called(run.events) | _called(run.strays)
        before = view.before(run)
        if before is not None:
            known |= _called(before.events)
        for result in run.shown.tool_results:
            if result.call_id in known:
                yield OK
            else:
                shown = ", ".join(sorted(known)) or "none"
                yield Finding(
                    f"run {run.id}: TOOL_CALL_RESULT names call {result.call_id!r}; the calls shown in this run and the one "
                    f"before are {shown}",
                    result.seq,
                )


def _called(events: Sequence[Event]) -> set[str]:
    snapshots = [event.data.get("messages") for event in events if event.type == "MESSAGES_SNAPSHOT"]
    messages = [one for given in snapshots if isinstance(given, list) for one in given if isinstance(one, dict)]
    stored = [call for one in messages for call in one.get("toolCalls") or () if isinstance(call, dict)]
    return {call.id for call in tool_calls(events)} | {str(call.get("id")) for call in stored}


def results_follow_their_call(view: View) -> Judged:
    """EVT-4b."""
    for run in view.runs:
        calls, results = run.shown.tool_calls, run.shown.tool_results
        before = view.before(run)
        earlier = _called(before.events) if before is not None else set()
        already = Counter(result.call_id for result in before.shown.tool_results) if before is not None else Counter()
        seen: Counter[str] = Counter()
        for result in results:
            mine = [call for call in calls if call.id == result.call_id]
            if not mine and result.call_id not in earlier:
                continue
            seen[result.call_id] += 1
            # A call told in chunks is ended by what follows them: the result itself may be that.
            ended = [call for call in mine if call.end_seq is not None and call.end_seq <= result.seq]
            if mine and not ended:
                yield Finding(
                    f"run {run.id}: the result of call {result.call_id!r} comes before that call's end", result.seq
                )
            elif seen[result.call_id] + (0 if mine else already[result.call_id]) > max(len(mine), 1):
                yield Finding(f"run {run.id}: call {result.call_id!r} has another result; one was expected", result.seq)
            else:
                yield OK


def ids_are_this_runs(view: View) -> Judged:
    """EVT-7."""
    for run in view.runs:
        yield from _own_ids(run)
        earlier = [one for one in view.runs if one.session == run.session and one.seq < run.seq]
        if earlier:
            yield from _repeats(run, earlier)


def _own_ids(run: Run) -> Judged:
    for event in run.events:
        if event.type not in ("RUN_STARTED", "RUN_FINISHED"):
            continue
        wrong = [
            f"{name} {came!r}, expected {wanted!r}"
            for name, wanted in (
                ("runId", run.given.get("runId", run.id)),
                ("threadId", run.given.get("threadId", run.session)),
            )
            if (came := value(event, name)) != wanted
        ]
        if wrong:
            yield Finding(f"run {run.id}: {event.type} carries {' and '.join(wrong)}", event.seq)
        else:
            yield OK


def _repeats(run: Run, earlier: Sequence[Run]) -> Judged:
    """What an earlier run showed under the same id and with the same content, and this run's own model and tools did not."""
    old = {one: event for before in earlier for one, event in _identities(before.events)}
    ids = {before.given.get("runId", before.id) for before in earlier}
    again = [(f"a part of run {event.data.get('runId')!r}", event.seq) for event in run.strays if _starts(event, ids)]
    own = _own(run)
    fresh = {call.id for call in run.shown.tool_calls}
    for one, seq in _identities(run.events):
        kind, name = one[0], one[1]
        if one in old and not own(one) and not (kind == "result" and name in fresh):
            again.append((f"{kind} {name!r}, word for word", seq))
    for what, seq in again:
        yield Finding(
            f"run {run.id}: an earlier run's events come again: {what}; only MESSAGES_SNAPSHOT may repeat them", seq
        )
    if run.events and not again:
        yield OK


def _starts(event: Event, ids: set[Any]) -> bool:
    return event.type == "RUN_STARTED" and event.data.get("runId") in ids


def _identities(events: Sequence[Event]) -> Iterator[tuple[tuple[str, ...], int]]:
    for message in text_messages(events):
        if message.text.strip():
            yield ("message", message.id, message.text), message.seq
    for call in tool_calls(events):
        yield ("call", call.id, call.name, call.arguments), call.seq
    for result in tool_results(events):
        yield ("result", result.call_id, result.content), result.seq


def _own(run: Run) -> Callable[[tuple[str, ...]], bool]:
    """Whether this run's own model said a thing: agents may number their ids anew in every run, and then ids alone say nothing."""
    texts = [call.reply.text for call in run.calls if call.reply is not None and call.reply.text]
    names = {said.name for call in run.calls if call.reply is not None for said in call.reply.calls}

    def said(one: tuple[str, ...]) -> bool:
        return (one[0] == "message" and any(one[2].strip() in text for text in texts)) or (
            one[0] == "call" and one[2] in names
        )

    return said


RULES: tuple[Rule, ...] = (
    Rule(
        id="EVT-1",
        level=MUST,
        clause="Every event is one that AG-UI knows, with the fields its type requires and values of the right types.",
        rationale="A client drops or chokes on what it cannot parse, and the user sees a run with holes in it.",
        channels="E",
        about_events=True,
        check=events_are_valid,
        evidence=(f"{_ISSUES}agentscope-ai/agentscope-java/issues/498", f"{_ISSUES}coder/xum/pull/182"),
    ),
    Rule(
        id="EVT-1b",
        level=SHOULD,
        clause="The published client takes the shape of every event too: no null for an optional field, camelCase keys, no role left out.",
        rationale="The published models are lenient where the published client is strict; a stream that passes its tests then fails in the browser.",
        channels="E",
        about_events=True,
        check=the_client_takes_the_shapes,
        evidence=(f"{_ISSUES}agentscope-ai/agentscope-java/issues/510",),
    ),
    Rule(
        id="EVT-2",
        level=MUST,
        clause="The published client accepts the order of the stream: nothing is filled or ended that is not open, nothing is opened that is, nothing follows the end.",
        rationale="The client stops at the first event it refuses, and everything after it is lost.",
        channels="E",
        about_events=True,
        check=the_client_takes_the_order,
        evidence=(
            f"{_ISSUES}agentscope-ai/agentscope-java/issues/418",
            f"{_ISSUES}agentscope-ai/agentscope-java/issues/510",
            f"{_ISSUES}ag-ui-protocol/ag-ui/issues/2813",
        ),
    ),
    Rule(
        id="EVT-2b",
        level=SHOULD,
        clause="An id that was closed is not opened again.",
        rationale="What is said twice under one id overwrites or doubles what the user already read.",
        channels="E",
        about_events=True,
        check=ids_are_opened_once,
        evidence=(
            f"{_ISSUES}microsoft/agent-framework/issues/6788",
            f"{_ISSUES}microsoft/agent-framework/issues/7485",
        ),
    ),
    Rule(
        id="EVT-3",
        level=MUST,
        clause="Every message, call, step and span is closed before RUN_FINISHED.",
        rationale="The client refuses the finish while something is open, so a good run ends as a broken one.",
        channels="E",
        about_events=True,
        check=all_is_closed_before_the_finish,
        evidence=(f"{_ISSUES}ag-ui-protocol/ag-ui/issues/2813", f"{_ISSUES}coder/xum/pull/182"),
    ),
    Rule(
        id="EVT-3b",
        level=SHOULD,
        clause="What is open is closed before RUN_ERROR as well.",
        rationale="An open call spins in the interface for ever, although the run is over.",
        channels="E",
        about_events=True,
        check=all_is_closed_before_the_error,
        evidence=(f"{_ISSUES}agentscope-ai/agentscope/issues/2618", f"{_ISSUES}ag-ui-protocol/ag-ui/issues/2813"),
    ),
    Rule(
        id="EVT-4",
        level=MUST,
        clause="A tool result names a call that this run or the run before has shown.",
        rationale="A result without its call is shown nowhere, and the call it was meant for stays unanswered.",
        channels="E",
        about_events=True,
        check=results_name_a_known_call,
        evidence=(
            f"{_ISSUES}microsoft/agent-framework/issues/6788",
            f"{_ISSUES}agentscope-ai/agentscope-java/issues/418",
        ),
    ),
    Rule(
        id="EVT-4b",
        level=SHOULD,
        clause="A tool result comes once, after the end of its call.",
        rationale="A second result replaces the first on the screen; an early one belongs to a call whose arguments are still coming.",
        channels="E",
        about_events=True,
        check=results_follow_their_call,
        evidence=(f"{_ISSUES}microsoft/semantic-kernel/issues/8825",),
    ),
    Rule(
        id="EVT-6",
        level=MUST,
        clause=(
            "The calls, arguments and results in the events are those that the model and the tools saw; a failed tool is not shown "
            "as a success, and thinking is shown as reasoning or not at all. They come in the order in which they happened (SHOULD)."
        ),
        rationale="What the user watches is the only account of what the agent did in their name.",
        channels="E,M,T",
        keys=("reasoning_events",),
        about_events=True,
        check=events_tell_the_truth,
        evidence=(
            f"{_ISSUES}agentscope-ai/agentscope-java/issues/498",
            f"{_ISSUES}agentscope-ai/agentscope/issues/2618",
            f"{_ISSUES}ag-ui-protocol/ag-ui/pull/1920",
        ),
    ),
    Rule(
        id="EVT-7",
        level=MUST,
        clause="The stream carries this run's ids, and nothing that an earlier run has already shown.",
        rationale="A client files events by run and thread; a stranger's id or a replayed message lands in the wrong conversation twice.",
        channels="E",
        about_events=True,
        check=ids_are_this_runs,
        evidence=(f"{_ISSUES}ag-ui-protocol/ag-ui/issues/742", f"{_ISSUES}mastra-ai/mastra/issues/5782"),
    ),
)
