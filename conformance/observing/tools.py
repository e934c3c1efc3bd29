"""What a recording shows of the keys about tools, their arguments and their failures. See `observers` for the table."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from conformance.observing.sighting import Sighting, failed_as, name_out, over
from conformance.reading.containment import carries, scalars
from conformance.reading.pairing import Paired
from conformance.reading.round_limit import arguments_of, executed
from conformance.reading.tool_calls import Made, extra_arguments, tool_calls
from conformance.reading.view import Call, Execution, Run, View
from fake_models.messages import ToolCall
from fake_models.tools import Tool, argument_error


def unknown_tool(view: View) -> Iterator[Sighting]:
    """What a reply that calls nothing but unknown tools led to."""
    for run, call in _calling(view):
        known = {tool.name for tool in call.request.tools or ()} | set(view.scenario.tools)
        if call.said and not any(one.name in known for one in call.said):
            yield from _fate(
                run, view, call.end_seq, f"{call.id} was answered by a call of the unknown tool {call.said[0].name!r}"
            )


def bad_arguments(view: View) -> Iterator[Sighting]:
    """What a reply whose calls all have no JSON object for arguments led to."""
    for run, call in _calling(view):
        known = all(one.name in view.scenario.tools for one in call.said)
        cut = call.reply is not None and call.reply.stop == "length"
        if call.said and known and not cut and all(arguments_of(one) is None for one in call.said):
            yield from _fate(
                run, view, call.end_seq, f"{call.id} was answered by the arguments {call.said[0].arguments[:60]!r}"
            )


def tool_exception(view: View) -> Iterator[Sighting]:
    """What a tool that raised led to, where the arguments were not what it raised about."""
    spent: dict[str, int] = {}
    for run in view.runs:
        for x in run.executions:
            if x.error is not None and not x.error.get("rejected") and x.end_seq is not None:
                spent[x.tool] = spent.get(x.tool, 0) + 1
                if spent[x.tool] >= _threshold(view):
                    return  # a breaker has opened, and what comes of its refusals is ACT-10's
                yield from _fate(run, view, x.end_seq, f"{x.tool} raised in {x.id}")


def _fate(run: Run, view: View, seq: int, what: str) -> Iterator[Sighting]:
    """Fed back to the model, or the run's end; nothing where the limit or something else may have ended it."""
    following = next((call for call in run.main if call.seq > seq), None)
    if following is not None:
        yield Sighting("observe", following.seq, f"{what} and {following.id} went on")
        return
    if not over(run) or (run.max_iters is not None and run.rounds >= run.max_iters):
        return
    out = failed_as(run, view, "tool_error")
    if out is not None:
        yield Sighting(out, run.end_seq, f"{what} and run {run.id} {name_out(run)}")


def _threshold(view: View) -> float:
    """After how many failures a tool is refused; never without a circuit breaker."""
    figures = view.capabilities.get("circuit_breaker")
    if not view.has("circuit_breaker"):
        return math.inf
    threshold = figures.get("threshold") if isinstance(figures, Mapping) else None
    return threshold if isinstance(threshold, int) else 0


def type_check(view: View) -> Iterator[Sighting]:
    """Who refused an argument of the wrong type: the tool, which was run for it, or the loop, which went on without."""
    for run, call, one, tool, given in _objects(view):
        if set(tool.parameters.get("required", ())) - set(given) or extra_arguments(tool, given):
            continue
        if argument_error(tool, given) is None:
            continue
        ran = _executions(run, call, one)
        saw = f"{call.id} was answered by a call of {one.name} with arguments of the wrong type, {given!r}, and "
        if ran and all(x.error is not None and x.error.get("rejected") for x in ran):
            yield Sighting("tool", ran[0].seq, f"{saw}{ran[0].id} gave them to the tool")
        elif not ran and _went_on(run, call):
            yield Sighting("loop", call.end_seq, f"{saw}the tool was not run")


def extra_args(view: View) -> Iterator[Sighting]:
    """What became of arguments that the schema neither names nor allows expressly."""
    for run, call, one, tool, given in _objects(view):
        extras = extra_arguments(tool, given)
        base = {key: value for key, value in given.items() if key not in extras}
        if not extras or argument_error(tool, base) is not None:
            continue
        ran = _executions(run, call, one)
        saw = f"{call.id} was answered by a call of {one.name} with the unknown arguments {sorted(extras)!r}, and "
        if len(ran) == 1 and ran[0].arguments == given:
            yield Sighting("pass", ran[0].seq, f"{saw}{ran[0].id} passed them on")
        elif len(ran) == 1 and ran[0].arguments == base:
            yield Sighting("drop", ran[0].seq, f"{saw}{ran[0].id} ran without them")
        elif not ran and _went_on(run, call):
            yield Sighting("refuse", call.end_seq, f"{saw}the tool was not run")


def bad_ids(view: View) -> Iterator[Sighting]:
    """What a reply led to whose calls are all valid but for an id that is missing, empty or used before."""
    calls = tool_calls(view)
    for run, call in _calling(view):
        mine = [made for made in calls.made if made.by.id == call.id]
        broken = [made for made in mine if not made.sound]
        if not broken or not call.said or any(made.flaw is not None for made in mine):
            continue
        ran = [made for made in mine if made.ran]
        following = next((one for one in run.main if one.seq > call.end_seq), None)
        saw = f"{call.id} was answered by the call id {broken[0].call.id!r}, which no one can tell apart, and "
        if following is not None:
            if len(ran) == len(mine) and _told_apart(mine, calls.carried(following, run.session), following):
                yield Sighting("repair", following.seq, f"{saw}{following.id} carries it under one of its own")
            continue
        spent = run.max_iters is not None and run.rounds >= run.max_iters
        if not ran and not spent and over(run) and failed_as(run, view, "model_error", "tool_error") is not None:
            yield Sighting("refuse", run.end_seq, f"{saw}run {run.id} {name_out(run)}")


def _told_apart(mine: Sequence[Made], carried: Mapping[tuple[str, int], Paired], request: Call) -> bool:
    """Whether a request has all these calls, and every call in it an id of its own."""
    ids = [one.call.id for one in request.paired.calls]
    return all(made.key in carried for made in mine) and all(ids) and len(set(ids)) == len(ids)


def parallel_tools(view: View) -> Iterator[Sighting]:
    """Whether tools of one reply overlapped. That they did not shows nothing: quick ones end one after the other all the same."""
    declared = view.declared.parallel_tools
    for run, call in _calling(view):
        ran = [x for x in executed(run, call) if x.end_seq is not None]
        pair = next(((a, b) for a in ran for b in ran if a.seq < b.seq < (a.end_seq or 0)), None)
        if pair is not None:
            value = "concurrent" if declared == "sequential" else declared
            yield Sighting(value, pair[1].seq, f"{pair[1].id} of {call.id} was begun while {pair[0].id} still ran")


def tool_history(view: View) -> Iterator[Sighting]:
    """How calls and results travel. A history that has neither has lost them, which is HIS-10's."""
    for run in view.runs:
        for call in run.main:
            if call.kind == "summary":
                continue  # a closing request may be written anew, with the work in its words
            done = [x for x in run.executions if x.end_seq is not None and x.end_seq < call.seq and x.error is None]
            if not done:
                continue
            messages = call.request.messages
            if any(message.role == "tool" or message.tool_calls for message in messages):
                yield Sighting("messages", call.seq, f"{call.id} carries tool messages")
            elif any(True for _ in scalars(done[-1].value)) and not carries(
                "\n".join(message.content or "" for message in messages), done[-1].value
            ):
                yield Sighting(
                    "text", call.seq, f"{call.id} carries the result of {done[-1].id} as text and no tool message"
                )


def _calling(view: View) -> Iterator[tuple[Run, Call]]:
    for run in view.runs:
        yield from ((run, run.outcome_of(call)) for call in run.main if call.kind != "summary")


def _objects(view: View) -> Iterator[tuple[Run, Call, ToolCall, Tool, dict[str, Any]]]:
    """Every call of a known tool whose arguments are an object, named once in its reply."""
    for run, call in _calling(view):
        names = [one.name for one in call.said]
        for one in call.said:
            tool, given = view.scenario.tools.get(one.name), arguments_of(one)
            if tool is not None and given is not None and names.count(one.name) == 1:
                yield run, call, one, tool, given


def _executions(run: Run, call: Call, one: ToolCall) -> Sequence[Execution]:
    return [x for x in executed(run, call) if x.tool == one.name]


def _went_on(run: Run, call: Call) -> bool:
    return any(later.seq > call.end_seq for later in run.main)
