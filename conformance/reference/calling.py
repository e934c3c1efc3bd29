"""The calls of a reply: which of them run, what comes of each, and the round that joins the history once all are answered."""

from collections.abc import Mapping, Sequence

from conformance.agent_side import ToolFailed
from conformance.dialect import Dialect
from conformance.reference import answering, approval, children, events, telling
from conformance.reference.acting import Cause, Refused, failed, not_run
from conformance.reference.ending import CANCELLED, TERMINALS
from conformance.reference.hearing import Said
from conformance.reference.history import told_apart
from conformance.reference.run import Done, Ending, Run, Terminal
from conformance.reference.steps import NOT_RUN, Act, Execution, Steps

Plan = Sequence[Execution | Refused]


def act(run: Run, said: Said) -> Steps[Ending | None]:
    """Run what may run and answer every call, unless a person has to be asked first; gives the end where that ends the run."""
    if run.dialect.bad_ids == "refuse" and not told_apart(said, run.session.messages):
        return (yield from _refused_ids(run, said))
    plan: Plan = [
        answering.kept_back(run.parts.checked(call, run.tools, run.dialect.extra_args), run.dialect)
        for call in said.calls
    ]
    if run.rounds == run.limit and run.dialect.last_round_tools == "skip":
        skipped = not_run(f"the limit of {run.limit} rounds was reached before this call was run")
        plan = [skipped if isinstance(one, Execution) else one for one in plan]
    if asked := run.parts.to_approve(run, plan):
        for one in asked:
            yield from telling.step(run, "tool", one.call_id, "waiting", "a person has to allow it", tool=one.tool)
        return approval.wait(run, said, plan, asked)
    return (yield from carry_out(run, said, plan))


def carry_out(run: Run, said: Said, plan: Plan) -> Steps[Ending | None]:
    """Run a plan, one entry per call. Only then does the round join the history: it is never there in halves."""
    plan, stopping = yield from run.parts.admitted(run, plan)
    ready = [one for one in plan if isinstance(one, Execution)]
    returned = iter((yield from _executed(run, ready)) if ready else ())
    results: list[str] = []
    values = [_came(next(returned)) if isinstance(one, Execution) else one for one in plan]
    values, run.answer = run.parts.settled(said, values)
    for call, one, came in zip(said.calls, plan, values, strict=True):
        text = came.text if isinstance(came, Refused) else run.parts.result_text(came)
        results.append(run.parts.bounded(run, text))
        if isinstance(came, Refused) and stopping is None:
            stopping = _stopped_by(came, run.dialect)
        if isinstance(one, Refused):
            yield from telling.step(run, "tool", call.id, "skipped", one.text, tool=call.tool)
        elif (wish := (yield from _noted(run, one, came, results[-1]))) and not stopping:
            stopping = wish
        yield events.call_result(run.message_id(), call.id, results[-1])
    run.session.messages += run.parts.round_messages(said, results)
    run.last_result = results[-1]
    return stopping or (CANCELLED if run.cancelled else None)


def _came(value: object) -> object:
    """What came of an execution: what the tool returned, or why it returned nothing."""
    if value is NOT_RUN:
        return not_run("the run was cancelled before this call was run")
    return failed(value) if isinstance(value, ToolFailed) else value


def _refused_ids(run: Run, said: Said) -> Steps[Ending]:
    """The end of a run whose model gave calls that cannot be told apart. None of them runs, and none joins the history."""
    why = "the model gave its calls ids that are empty or were given before, so none of them was run"
    for call in said.calls:
        yield events.call_result(run.message_id(), call.id, not_run(why).text)
    return Ending("model_error", TERMINALS[run.dialect.model_error], why)


def _executed(run: Run, ready: Sequence[Execution]) -> Steps[list[object]]:
    """What each execution returned, or its `ToolFailed`."""
    for one in ready:
        yield from telling.step(run, "tool", one.call_id, "running", "the model called it", tool=one.tool)
    began = run.bench.now()
    own = [one for one in ready if not children.is_child(run, one)]
    overlap = run.dialect.parallel_tools == "concurrent"
    returned = iter((yield Act(tuple(own), overlap, run.parts.within_s(run))) if own else ())
    values: list[object] = []
    for one in ready:
        if children.is_child(run, one):
            values.append((yield from run.parts.run_child(run, one)))
        else:
            values.append(next(returned))
    run.took_s = (run.bench.now() - began).total_seconds()
    return values


def _noted(run: Run, one: Execution, came: object, text: str) -> Steps[Ending | None]:
    """Remember what came of an execution, for whatever looks at it later, and tell those who listen."""
    was_run = not (isinstance(came, Refused) and came.cause == "not_run")
    if was_run:
        # Compared whole: two results that differ behind the cut are not the same.
        whole = came.text if isinstance(came, Refused) else run.parts.result_text(came)
        done = Done(one.tool, one.arguments, whole, failed=isinstance(came, Refused))
        run.done.append(done)
        run.parts.noted(run, done)
    state = "cancelled" if not was_run else "failed" if isinstance(came, Refused) else "done"
    why = came.text if isinstance(came, Refused) else "it returned"
    yield from telling.step(run, "tool", one.call_id, state, why, tool=one.tool, result=text, duration_s=run.took_s)
    if not was_run:
        return None
    return (yield from run.parts.after_tool(run, one))


def _stopped_by(refused: Refused, dialect: Dialect) -> Ending | None:
    ways: Mapping[Cause, str] = {
        "unknown_tool": dialect.unknown_tool,
        "bad_arguments": dialect.bad_arguments,
        "tool_exception": dialect.tool_exception,
    }
    endings: Mapping[str, Terminal] = {"error": "error", "raise": "raise"}
    terminal = endings.get(ways.get(refused.cause, "observe"))
    return Ending("tool_error", terminal, refused.text) if terminal else None
