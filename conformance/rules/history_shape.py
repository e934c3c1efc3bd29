"""HIS-1 to HIS-4: every call in a request has one result, under one id. Looks at shape, not at what the results say."""

from collections import Counter
from collections.abc import Iterator, Mapping

from conformance.reading.outcome import actual, claimed
from conformance.reading.pairing import Paired, Pairs
from conformance.reading.tool_calls import FAILED, NOT_RUN, Calls, Made, as_text, next_main, tool_calls
from conformance.reading.view import Call, Execution, Run, View
from conformance.rule import OK, Finding, Judged


def needs_messages(view: View) -> str | None:
    """`applies` of clauses about tool messages: history that travels as text has none."""
    return "dialect" if view.dialect.tool_history == "text" else None


def requests(view: View) -> Iterator[tuple[Run, Call, Pairs]]:
    """Every request once: an attempt repeats a body that was judged already."""
    for run in view.runs:
        for call in run.calls:
            if call.kind != "attempt":
                yield run, call, call.paired


def _named(one: Paired) -> str:
    return f"call {one.call.id!r} ({one.call.name}) of messages[{one.index}]"


def his_1(view: View) -> Judged:
    """Each call has exactly one result, where the wire wants it."""
    told: set[tuple[str, str | None, str, int]] = set()
    for run, call, pairs in requests(view):
        for one in pairs.calls:
            ran = None if one.results or one.late else _ran_for(one, call, run, view)
            problem = _results(one, ran)
            # A broken history is sent again with every request that follows: it is told of once.
            mark = (run.session, one.call.id, one.call.name, one.index)
            if problem is None:
                yield OK
            elif mark not in told:
                told.add(mark)
                yield Finding(f"{call.id}: {_named(one)} {problem}", call.seq, (ran.seq,) if ran else ())


def _ran_for(one: Paired, call: Call, run: Run, view: View) -> Execution | None:
    """What had come to its end for a call when the request that carries it was sent; None where nothing had, or that is not known."""
    if "T" not in view.channels:
        return None
    calls = tool_calls(view)
    carried = calls.carried(call, run.session)
    made = next((made for made in calls.made if carried.get(made.key) is one), None)
    done = [x for x in made.executions if x.end_seq is not None and x.end_seq < call.seq] if made else []
    return done[-1] if done else None


def _results(one: Paired, ran: Execution | None) -> str | None:
    where = ", ".join(f"messages[{result.index}]" for result in (*one.results, *one.late))
    match len(one.results), len(one.late):
        case 1, 0:
            return None
        case 0, 0 if ran is not None:
            what = (
                f"returned {as_text(ran.value)}" if ran.error is None else f"raised {as_text(ran.error.get('message'))}"
            )
            return (
                f"has no result, although it ran as {ran.id} and {what}; expected exactly one tool message directly behind it "
                "that says so"
            )
        case 0, 0:
            return (
                "has no result, expected exactly one tool message directly behind it; "
                "answer calls that did not run with an error result"
            )
        case 0, 1:
            return f"has its result at {where}, expected it directly behind the call, before any other message"
        case count, late:
            return f"has {count + late} results ({where}), expected exactly one"


def his_2(view: View) -> Judged:
    """No result stands without its call."""
    told: set[tuple[str, str | None, int]] = set()
    for run, call, pairs in requests(view):
        if any(message.role == "tool" for message in call.request.messages) and not pairs.orphans:
            yield OK
        for orphan in pairs.orphans:
            mark = (run.session, orphan.result.message.tool_call_id, orphan.result.index)
            if mark not in told:
                told.add(mark)
                yield Finding(
                    f"{call.id}: messages[{orphan.result.index}] is a result for call id "
                    f"{orphan.result.message.tool_call_id!r}, but no call before it has that id; "
                    "drop a result together with its call",
                    call.seq,
                )


def _id_breaches(pairs: Pairs) -> Iterator[tuple[str, str]]:
    """What is wrong with the ids of a request, each with what tells it from another breach in a later request."""
    for call_id, count in Counter(one.call.id for one in pairs.calls if one.call.id).items():
        if count > 1:
            places = ", ".join(f"messages[{one.index}]" for one in pairs.calls if one.call.id == call_id)
            yield f"twice {call_id}", f"{count} calls have the id {call_id!r} ({places}), expected one"
    for one in pairs.calls:
        if not one.call.id:
            yield f"none {one.index}", f"{_named(one)} has no id, expected a non-empty one that its result repeats"
    open_rows = {one.index for one in pairs.calls if not one.results and not one.late}
    for orphan in pairs.orphans:
        if orphan.behind in open_rows:
            came = orphan.result.message.tool_call_id
            wanted = [one.call.id for one in pairs.calls if one.index == orphan.behind]
            yield (
                f"other {came}",
                f"the result at messages[{orphan.result.index}] has the id {came!r}, expected that of a call before it: {wanted!r}",
            )


def _ids(view: View, *, sound: bool) -> Judged:
    calls = tool_calls(view)
    told: set[tuple[str, str]] = set()
    for run, call, pairs in requests(view):
        said = calls.said_before(call, run.session)
        if (all(made.sound for made in said) and not _broken_too(calls, call, run)) is not sound:
            continue
        breaches = list(_id_breaches(pairs))
        if not sound and view.dialect.bad_ids == "repair" and call.kind in ("regular", "retry", "summary"):
            breaches += _lost(said, calls.carried(call, run.session), call, run)
        for mark, breach in breaches:
            # What is wrong in one request is wrong in all that follow: it is told of once.
            if (run.session, mark) not in told:
                told.add((run.session, mark))
                yield Finding(f"{call.id}: {breach}", call.seq)
        if pairs.calls and not breaches:
            yield OK


def _broken_too(calls: Calls, call: Call, run: Run) -> bool:
    """
    Whether a request carries a call of a broken reply beside the one that came when it was asked for again, under one id.

    An agent that took the half for a whole (REC-7) had that id from the model twice.
    """
    broken = {m.call.id for m in calls.made if not m.whole and m.run.session == run.session and m.by.end_seq < call.seq}
    carried = Counter(one.call.id for one in call.paired.calls)
    return any(carried[one] > 1 for one in broken)


def _lost(
    said: tuple[Made, ...], carried: Mapping[tuple[str, int], Paired], call: Call, run: Run
) -> list[tuple[str, str]]:
    """The calls with unusable ids that are not in the request right behind them."""
    fresh = [m for m in said if not m.sound and m.run is run and next_main(run, m.by.end_seq) is call]
    return [
        (
            f"lost {made.key}",
            f"{made} has an id that is missing, empty or used before, and is not in the request, expected an id of its own",
        )
        for made in fresh
        if made.key not in carried
    ]


def his_3(view: View) -> Judged:
    """Ids hold together where the model's own were sound."""
    yield from _ids(view, sound=True)


def his_3b(view: View) -> Judged:
    """Ids hold together where the model's own were not sound."""
    yield from _ids(view, sound=False)


def his_4(view: View) -> Judged:
    """Calls that never ran are answered in the next request, by words that say so."""
    calls = tool_calls(view)
    for made in calls.made:
        # Unknown tools and bad arguments are answered by ACT-3 to ACT-5, calls that ran by HIS-10.
        if not made.whole or made.flaw not in (None, "extra"):
            continue
        call = _next_request(made, view)
        if call is None or any(one.seq < call.seq for one in made.executions):
            continue
        carried = calls.carried(call, made.run.session).get(made.key)
        if carried is None:
            if _dropped(made, call, calls, view):
                yield Finding(
                    f"{call.id}: {made} never ran and is gone from the history, expected the call with an error result that says so",
                    call.seq,
                    related=(made.seq,),
                )
        elif not (carried.results or carried.late):
            yield Finding(
                f"{call.id}: {made} never ran and has no result, expected an error result that says so",
                call.seq,
                related=(made.seq,),
            )
        elif not carried.content.strip():
            yield Finding(
                f"{call.id}: {made} never ran and its result is blank, expected an error result that says so: "
                "to the model a blank result is a tool that ran and returned nothing",
                call.seq,
                related=(made.seq,),
            )
        elif not (FAILED.search(carried.content) or NOT_RUN.search(carried.content)):
            yield Finding(
                f"{call.id}: {made} never ran and its result is {as_text(carried.content)}, expected an error result that says so",
                call.seq,
                related=(made.seq,),
            )
        else:
            yield OK


def _next_request(made: Made, view: View) -> Call | None:
    """The first request of the session's conversation after the call was said."""
    after = [
        call for run in view.runs if run.session == made.run.session for call in run.main if call.seq > made.by.end_seq
    ]
    return min(after, key=lambda call: call.seq, default=None)


def _dropped(made: Made, call: Call, calls: Calls, view: View) -> bool:
    """
    Whether a request that goes on with the conversation left out a call that never ran.

    Not where the agent may have taken the reply or the whole turn back: a reply that was cut, unusable ids, a run that failed
    or was ended, a session that the agent does not keep, a history that was made smaller.
    """
    run, reply = made.run, made.by.reply
    if made.by.role == "summary" or not made.sound or reply is None or reply.stop != "tool_calls":
        return False
    if any(not one.sound for one in calls.batch(made)):
        return False
    if call.run != run.id and not kept(run, view):
        return False
    # A run that was to go on with it and was cancelled may be taken back with all that it went on from.
    if any(other.cancelled and other.resumes and view.before(other) is run for other in view.runs):
        return False
    between = [one for other in view.runs for one in other.calls if made.by.end_seq < one.seq < call.seq]
    if any(one.kind == "compaction" or one.overflow for one in between):
        return False
    messages = [message for message in call.request.messages if message.role not in ("system", "developer")]
    asked = run.user or ""
    goes_on = bool(asked) and any(asked in (message.content or "") for message in messages)
    told = any(made.call.name in (text := message.content or "") and NOT_RUN.search(text) for message in messages)
    return goes_on and not told


def kept(run: Run, view: View) -> bool:
    """Whether a later run of the session has to know this one: an agent may take back a turn that failed."""
    failed = run.raised is not None or run.cancelled or _ended_badly(run, view)
    return view.has("sessions") and run.how == "returned" and not failed


def _ended_badly(run: Run, view: View) -> bool:
    """By its terminal event, else by its word, else by what the model calls show."""
    if run.terminal is not None:
        return run.terminal.type == "RUN_ERROR"
    claim = claimed(run, view)
    return (actual(run, view) if claim is None else claim.kind) not in ("answered", "limit", "waiting")
