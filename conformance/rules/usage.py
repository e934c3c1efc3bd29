"""USE: what the model reported to have used reaches the caller, call by call and as the run's sum."""

from conformance.reading.usage_reports import Report, call_reports, reply_id, reported, totals
from conformance.reading.view import Call, Run, View
from conformance.rule import MUST, OK, Finding, Judged, Rule
from fake_models.wire import CODECS

#: Calls beside the loop: what they used may be reported, and counts as right with or without them. A compaction is the loop's.
_BESIDE = ("auxiliary",)


def each_call_is_reported_once(view: View) -> Judged:
    """Reports are matched to calls by the reply's own id. An agent that was killed owes none."""
    for run in (one for one in view.runs if not one.killed):
        reports = call_reports(run)
        by_id = {name: call for call in run.calls if (name := reply_id(call)) is not None}
        for report in reports:
            yield from _names_its_call(report, by_id, run)
        for call in by_id.values():
            if reported(call) is not None:
                mine = [report for report in reports if report.reply_id == reply_id(call)]
                yield from _of_call(call, mine, run)


def _names_its_call(report: Report, by_id: dict[str, Call], run: Run) -> Judged:
    call = by_id.get(report.reply_id) if isinstance(report.reply_id, str) else None
    if call is None:
        yield Finding(
            f"a usage report names the reply {report.reply_id!r}, which is none of run {run.id}: {', '.join(by_id) or 'it has none'}",
            report.seq,
        )
    elif call.reply is not None and call.reply.complete and reported(call) is None:
        yield Finding(
            f"the model reported no usage for {call.id}, but a usage report says {report.input!r} in, {report.output!r} out for it; expected none",
            report.seq,
            (call.seq,),
        )


def _of_call(call: Call, mine: list[Report], run: Run) -> Judged:
    usage = reported(call) or {}
    figures = f"{usage.get('input')} in, {usage.get('output')} out"
    if not mine:
        if call.kind not in _BESIDE:
            message = f"the model reported {figures} for {call.id} ({call.kind}), but no usage report of run {run.id} names its reply {reply_id(call)!r}"
            yield Finding(message, call.end_seq)
        return
    if len(mine) > 1:
        yield Finding(f"{len(mine)} usage reports name {call.id}, expected one", mine[1].seq, (mine[0].seq,))
    elif (mine[0].input, mine[0].output) != (usage.get("input"), usage.get("output")):
        came = f"{mine[0].input!r} in, {mine[0].output!r} out"
        yield Finding(
            f"the usage report for {call.id} says {came}, but the model reported {figures}", mine[0].seq, (call.seq,)
        )
    else:
        yield OK


def the_total_is_the_sum(view: View) -> Judged:
    """A total is owed under `per_run`, and judged wherever one is reported. An exception cannot carry one."""
    for run in view.runs:
        told = [call for call in run.calls if reported(call) is not None]
        if not told or run.terminal is None or run.raised is not None or run.terminal.raised:
            continue
        came = totals(run)
        sums = {_sum(told), _sum([call for call in told if call.kind not in _BESIDE])}
        calls = ", ".join(call.id for call in told)
        if came is None:
            if view.dialect.usage_events == "per_run":
                message = f"{run.terminal.type} of run {run.id} has no usage, but the model reported {_words(_sum(told))} over {calls}"
                yield Finding(message, run.terminal.seq)
        elif came in sums:
            yield OK
        else:
            message = f"the total of run {run.id} is {_words(came)}, but its calls {calls} add up to {_words(_sum(told))}{_guess(came, told)}"
            yield Finding(message, run.terminal.seq, tuple(call.seq for call in told))


def _sum(calls: list[Call]) -> tuple[int, int]:
    usages = [usage for call in calls if (usage := reported(call)) is not None]
    return sum(usage["input"] for usage in usages), sum(usage["output"] for usage in usages)


def _guess(came: tuple[object, object], told: list[Call]) -> str:
    last, running = _sum(told[-1:]), [_sum(told[: n + 1]) for n in range(len(told))]
    if came == last:
        return "; it is the last call's alone"
    if came == (sum(one for one, _ in running), sum(other for _, other in running)):
        return "; running totals were added up"
    return ""


def _words(figures: tuple[object, object]) -> str:
    return f"{figures[0]!r} in, {figures[1]!r} out"


def per_call(view: View) -> str | None:
    """Binds agents that report usage per call, on wires whose replies have an id to name."""
    if "reply_id" in CODECS[view.recording.header.wire].lacks:
        return "wire"
    return None if view.dialect.usage_events == "per_call" else "dialect"


def in_total(view: View) -> str | None:
    """Binds agents that report a total, because they say so or because they do."""
    owed = view.dialect.usage_events == "per_run"
    told = view.dialect.usage_events != "none" and any(totals(run) is not None for run in view.runs)
    return None if owed or told else "dialect"


RULES: tuple[Rule, ...] = (
    Rule(
        id="USE-1",
        level=MUST,
        clause="Each completed call of the model, the summary included, is reported once, names its reply and carries the model's own figures; where the model reports no usage there is no report.",
        rationale="Bills and budgets are built on these figures: a call left out, counted twice or filled with zeros makes them wrong.",
        channels="U,M",
        check=each_call_is_reported_once,
        evidence=(
            "https://github.com/Mintplex-Labs/anything-llm/issues/6084",
            "https://github.com/pydantic/pydantic-ai/issues/2770",
            "https://github.com/mochow13/pydantic-ai-litellm/issues/10",
        ),
        keys=("usage_events",),
        applies=per_call,
    ),
    Rule(
        id="USE-2",
        level=MUST,
        clause="A run's total is the sum over its calls, however the run ends; figures that are already running totals are not added up again.",
        rationale="A total that keeps only the last call, or doubles what was counted before, misleads whoever pays for the run.",
        channels="U,M",
        check=the_total_is_the_sum,
        evidence=(
            "https://github.com/genkit-ai/genkit/issues/2325",
            "https://github.com/alibaba/spring-ai-alibaba/pull/4518",
            "https://github.com/pydantic/pydantic-ai/issues/2770",
        ),
        keys=("usage_events",),
        applies=in_total,
    ),
)
