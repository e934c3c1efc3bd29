"""ACT: the tools that run are those the model called, as it called them, and the model reads what came of it."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal

from conformance.containment import carries
from conformance.outcome import claimed
from conformance.pairing import Paired
from conformance.rule import MUST, OK, SHOULD, Finding, Right, Rule
from conformance.tool_calls import (
    Calls,
    Made,
    as_text,
    equal,
    next_main,
    said_in,
    tool_calls,
    wrong_fields,
)
from conformance.view import Call, Execution, View

Judged = Iterator[Finding | Literal[Right.OK]]

#: The dialect key that says what becomes of a call that cannot run, by its flaw.
FEEDBACK: Mapping[str, str] = {"unknown": "unknown_tool", "malformed": "bad_arguments", "misfit": "bad_arguments"}
#: Outcomes that end a run on purpose before a failed call is fed back.
_OTHER_ENDS = frozenset(
    {"limit", "guard", "gate", "unverified", "interrupted", "waiting", "refused", "overflow", "model_error"}
)


def _act_1(view: View) -> Judged:
    calls = tool_calls(view)
    for stray in calls.strays:
        yield Finding(
            f"{stray.id}: {stray.tool} ran with {as_text(stray.arguments)}, but the model called no such tool in {stray.run} "
            "before that",
            stray.seq,
        )
    for made in calls.made:
        # Calls of a broken reply are ACT-6's, those of a summary SUM-3's, and what cannot run ACT-3's to ACT-5's.
        if made.whole and made.by.role != "summary" and made.flaw in (None, "extra"):
            yield from _runs_once(made, calls, view)


def _runs_once(made: Made, calls: Calls, view: View) -> Judged:
    refused = made.flaw == "extra" and view.dialect.extra_args == "refuse"
    ran = _first_of_timeouts(made, view)
    if refused and ran:
        yield Finding(
            f"{ran[0].id}: {made} has arguments that its schema does not name, {', '.join(made.extra)}, and ran; "
            "declared is extra_args refuse, expected an error result",
            ran[0].seq,
            related=(made.seq,),
            fits=("extra_args", "drop" if set(made.extra).isdisjoint(ran[0].arguments or ()) else "pass"),
        )
    elif refused:
        yield OK
    elif len(ran) > 1:
        yield Finding(
            f"{made} ran {len(ran)} times ({', '.join(one.id for one in ran)}), expected once",
            ran[1].seq,
            related=(made.seq, ran[0].seq),
        )
    elif ran:
        yield _as_said(made, ran[0], view)
    elif not _may_stay(made, calls, view):
        yield Finding(
            f"{made} was valid and never ran, expected one execution with {as_text(made.arguments)}", made.seq
        )


def _first_of_timeouts(made: Made, view: View) -> tuple[Execution, ...]:
    """The executions of a call; of a tool that never came back, ACT-9 counts the repetitions."""
    ran = made.executions if made.flaw == "extra" and view.dialect.extra_args == "pass" else made.ran
    if view.has("tool_timeout") and ran and ran[0].end_seq is None:
        return ran[:1]
    return ran


def _as_said(made: Made, ran: Execution, view: View) -> Finding | Literal[Right.OK]:
    drop = view.dialect.extra_args == "drop"
    wanted = {k: v for k, v in made.arguments.items() if not (drop and k in made.extra)}
    if faithful(wanted, ran.arguments, made.tool.parameters if made.tool else {}):
        return OK
    fits = None
    if made.extra and isinstance(ran.arguments, Mapping):
        fits = ("extra_args", "drop" if set(made.extra).isdisjoint(ran.arguments) else "pass")
    return Finding(
        f"{ran.id}: {made} ran with {as_text(ran.arguments)}, expected {as_text(wanted)} as the model said it",
        ran.seq,
        related=(made.seq,),
        fits=fits,
    )


def faithful(said: Any, ran: Any, schema: Any) -> bool:
    """Whether arguments ran as they were said, but for defaults of the schema that were filled in at any depth."""
    fields = schema.get("properties", {}) if isinstance(schema, Mapping) else {}
    if isinstance(said, Mapping) and isinstance(ran, Mapping):
        added = [key for key in ran if key not in said]
        return all(key in ran and faithful(value, ran[key], fields.get(key)) for key, value in said.items()) and all(
            "default" in fields.get(key, {}) and equal(ran[key], fields[key]["default"]) for key in added
        )
    if isinstance(said, list) and isinstance(ran, list) and len(said) == len(ran):
        items = schema.get("items") if isinstance(schema, Mapping) else None
        return all(faithful(one, other, items) for one, other in zip(said, ran, strict=True))
    return equal(said, ran)


def _may_stay(made: Made, calls: Calls, view: View) -> bool:
    """Whether a valid call may stay without an execution, for a reason that another clause judges."""
    return any(reason(made, calls, view) for reason in _REASONS)


def _bad_id(made: Made, calls: Calls, view: View) -> bool:
    return not made.sound or (view.dialect.bad_ids == "refuse" and any(not one.sound for one in calls.batch(made)))


def _not_asked_for_tools(made: Made, _calls: Calls, _view: View) -> bool:
    # Cut by length is ACT-6's. That calls decide whatever the stop reason says is REC-11's.
    return made.by.reply is None or made.by.reply.stop != "tool_calls"


def _beyond_the_budget(made: Made, _calls: Calls, view: View) -> bool:
    budget, at = made.run.max_iters, made.by.round or 0
    if budget is None:
        return False
    return at > budget or (at == budget and view.dialect.last_round_tools == "skip")


def _run_ended(made: Made, _calls: Calls, _view: View) -> bool:
    return made.run.cancelled or made.run.how not in ("returned", "raised")


def _guarded(made: Made, _calls: Calls, view: View) -> bool:
    if view.has("guards"):
        return True
    failed = any(one.error and one.tool == made.call.name for one in made.run.executions if one.seq < made.by.end_seq)
    return failed and view.has("circuit_breaker")


def _awaits_a_person(made: Made, calls: Calls, view: View) -> bool:
    return view.has("approval") and any(one.tool and one.tool.approval for one in calls.batch(made))


def _sibling_ends_the_run(made: Made, calls: Calls, view: View) -> bool:
    for one in calls.batch(made):
        failed = any(x.error and not x.error.get("rejected") for x in one.executions)
        key = "tool_exception" if failed else FEEDBACK.get(one.flaw or "")
        if one.flaw == "answer" or (key is not None and getattr(view.dialect, key) != "observe"):
            return True
    return False


_REASONS: tuple[Callable[[Made, Calls, View], bool], ...] = (
    _bad_id,
    _not_asked_for_tools,
    _beyond_the_budget,
    _run_ended,
    _guarded,
    _awaits_a_person,
    _sibling_ends_the_run,
)


def _act_2(view: View) -> Judged:
    calls = tool_calls(view)
    for made in calls.made:
        failed = [x for x in made.executions if x.error is not None and not x.error.get("rejected")]
        if failed and made.whole and made.by.role != "summary":
            yield from _told_of_failure(made, failed[-1], calls, view)


def _told_of_failure(made: Made, failed: Execution, calls: Calls, view: View) -> Judged:
    words = str((failed.error or {}).get("message", ""))
    answer = _answer(made, failed.end_seq or failed.seq, "tool_exception", calls, view)
    if isinstance(answer, str):
        missing = carries(answer, words)
        if missing or not answer.strip():
            yield Finding(
                f"{failed.id}: {made} raised {words!r}, but its result does not say so: {as_text(answer)}",
                failed.end_seq or failed.seq,
                related=(made.seq,),
            )
        else:
            yield OK
        yield from _siblings_keep_theirs(made, failed, calls, view)
    elif answer is not None:
        yield answer


def _siblings_keep_theirs(made: Made, failed: Execution, calls: Calls, view: View) -> Judged:
    follows = next_main(made.run, failed.end_seq or failed.seq)
    if follows is None or view.dialect.tool_history == "text":
        return
    carried = calls.carried(follows, made.run.session)
    for one in calls.batch(made):
        done = [x for x in one.ran if x.error is None and x.end_seq is not None and x.end_seq < follows.seq]
        if done and (one.key not in carried or not carried[one.key].results):
            yield Finding(
                f"{follows.id}: {one} returned {as_text(done[-1].value)} beside {made}, which failed, and lost its result",
                follows.seq,
                related=(done[-1].seq, failed.seq),
            )


def _answer(made: Made, seq: int, key: str, calls: Calls, view: View) -> str | Finding | Literal[Right.OK] | None:
    """
    What the model was told of a call that failed or could not run, in the first request after a record.

    A judgement instead where the dialect lets it end the run, or where the run stopped without telling; None where nothing
    can be said, since the run was ended by something else.
    """
    follows = next_main(made.run, seq)
    declared = getattr(view.dialect, key)
    if declared != "observe":
        if follows is None:
            return OK
        return Finding(
            f"{follows.id}: the run went on after {made} failed, but declared is {key} {declared}, which ends it",
            follows.seq,
            related=(made.seq,),
            fits=(key, "observe"),
        )
    if follows is None:
        return None if _ended_otherwise(made, calls, view) else _stopped(made, key, view)
    return _told_in(follows, made, calls, view)


def _told_in(follows: Call, made: Made, calls: Calls, view: View) -> str | Finding:
    if view.dialect.tool_history == "text":
        return said_in(follows)
    carried = calls.carried(follows, made.run.session).get(made.key)
    if carried is None or not (carried.results or carried.late):
        lacks = "the request holds no such call" if carried is None else "it has no result"
        return Finding(
            f"{follows.id}: {made} was not answered: {lacks}, expected a result that says what was wrong",
            follows.seq,
            related=(made.seq,),
        )
    return carried.content


def _stopped(made: Made, key: str, view: View) -> Finding:
    claim = claimed(made.run, view)
    said = f" as {claim.kind}" if claim else ""
    return Finding(
        f"{made.run.id} ended{said} after {made} failed, and the model was not told; expected the failure as the call's result "
        f"and one more request (declared is {key} observe)",
        made.run.end_seq,
        related=(made.seq,),
        fits=(key, "raise" if made.run.raised else "error"),
    )


def _ended_otherwise(made: Made, calls: Calls, view: View) -> bool:
    """Whether the run ended before its next request for another reason than the failed call."""
    run, claim = made.run, claimed(made.run, view)
    spent = run.max_iters is not None and (made.by.round or 0) >= run.max_iters
    return (
        spent
        or _run_ended(made, calls, view)
        or (claim is not None and claim.kind in _OTHER_ENDS)
        or any(one.key != made.key and _sibling_ends_the_run(one, calls, view) for one in calls.batch(made))
    )


def _cannot_run(
    flaw: str, because: Callable[[Made], str], helps: Callable[[Made, str, View], str | None]
) -> Callable[[View], Judged]:
    """The check of a call that must run nothing and be answered. `helps` says what a helpful answer lacks."""

    def check(view: View) -> Judged:
        calls = tool_calls(view)
        for made in calls.made:
            if made.flaw != flaw or not made.whole or made.by.role == "summary":
                continue
            ran = _ran_in_spite(made, calls, view)
            if ran is not None:
                yield Finding(
                    f"{ran.id}: {made} {because(made)}, and {ran.tool} ran with {as_text(ran.arguments)}",
                    ran.seq,
                    (made.seq,),
                )
                continue
            answer = _answer(made, made.by.end_seq, FEEDBACK[flaw], calls, view)
            if not isinstance(answer, str):
                if answer is not None:
                    yield answer
            elif not answer.strip():
                yield Finding(f"{made} {because(made)}, and its result is blank, expected what was wrong", made.seq)
            else:
                yield OK
                lacks = helps(made, answer, view)
                if lacks is not None:
                    yield Finding(
                        f"{made} {because(made)}; its result {lacks}: {as_text(answer)}", made.seq, level=SHOULD
                    )

    return check


def _ran_in_spite(made: Made, calls: Calls, view: View) -> Execution | None:
    """What ran for a call that must not: its own executions, or for an unknown name what nobody called with its arguments."""
    if made.flaw == "unknown":
        follows = next_main(made.run, made.by.end_seq)
        until = follows.seq if follows else made.run.end_seq
        mine = [x for x in calls.strays if made.seq < x.seq < until and equal(x.arguments, made.arguments)]
        return next(iter((*made.executions, *mine)), None)
    # Under `loop` not even the tool's own check may be reached.
    by_loop = made.flaw == "misfit" and view.dialect.type_check == "tool"
    return next(iter(made.ran if by_loop else made.executions), None)


def _names_the_tools(made: Made, answer: str, view: View) -> str | None:
    missing = [name for name in (made.call.name, *view.scenario.tools) if name and name not in answer]
    return (
        f"does not name {', '.join(map(repr, missing))}, expected the name that is unknown and those that exist"
        if missing
        else None
    )


def _names_the_fields(made: Made, answer: str, _view: View) -> str | None:
    missing = [name for name in wrong_fields(made) if name not in answer]
    return f"does not name the argument {', '.join(map(repr, missing))}" if missing else None


def _act_7(view: View) -> Judged:
    calls = tool_calls(view)
    executions = {one.id: one for one in view.executions}
    for run in view.runs:
        for call in run.calls:
            if call.reply is None or not call.said:
                continue
            carried = calls.carried(call, run.session)
            for entry in call.reply.resolved:
                source = executions.get(str(entry["from"]))
                if source is not None:
                    made = calls.by_execution.get(source.id)
                    seen = carried.get(made.key) if made and view.dialect.tool_history == "messages" else None
                    yield _in_order(call, entry, source, seen)


def _in_order(
    call: Call, entry: Mapping[str, Any], source: Execution, seen: Paired | None
) -> Finding | Literal[Right.OK]:
    path, value = entry["path"], entry["value"]
    if source.end_seq is None or source.end_seq > call.seq:
        return Finding(
            f"{call.id} was sent before {source.id} ({source.tool}) had ended, but the calls of its reply need {path!r}",
            call.seq,
            related=(source.seq,),
        )
    # A compaction drops the call and keeps what mattered: then it counts wherever it stands.
    text = said_in(call) if seen is None else seen.content
    missing = carries(text, value)
    if not missing:
        return OK
    where = "the request" if seen is None else f"the result of call {seen.call.id!r} ({seen.call.name})"
    return Finding(
        f"{call.id}: the calls of its reply need {path!r} from {source.id} ({source.tool}), but {where} lacks "
        f"{', '.join(map(as_text, missing))}; it says {as_text(text)}",
        call.seq,
        related=(source.seq,),
    )


_ISSUES = "https://github.com"

RULES: tuple[Rule, ...] = (
    Rule(
        id="ACT-1",
        level=MUST,
        clause="A valid call runs exactly once, with the arguments the model gave; defaults of the schema may be added. Nothing "
        "runs that the model did not call.",
        rationale="A call that is lost, doubled or altered does something in the world that nobody asked for.",
        evidence=(
            f"{_ISSUES}/crewAIInc/crewAI/issues/3489",
            f"{_ISSUES}/generative-computing/mellea/issues/1431",
            f"{_ISSUES}/huggingface/smolagents/pull/2768",
            f"{_ISSUES}/NousResearch/hermes-agent/issues/35151",
        ),
        channels="T",
        keys=("extra_args",),
        check=_act_1,
    ),
    Rule(
        id="ACT-2",
        level=MUST,
        clause="A tool that raises becomes a result that says what failed; calls beside it keep their results, and the loop "
        "goes on.",
        rationale="A model that reads the failure can work around it; one exception should not cost the whole run.",
        evidence=(
            f"{_ISSUES}/langchain-ai/langgraph/issues/6486",
            f"{_ISSUES}/openai/openai-agents-python/issues/3356",
            f"{_ISSUES}/bug-ops/zeph/issues/2197",
        ),
        channels="T,M",
        keys=("tool_exception",),
        check=_act_2,
    ),
    Rule(
        id="ACT-3",
        level=MUST,
        clause="A call of an unknown tool runs nothing and is answered; the answer should name that tool and those that exist.",
        rationale="Models make names up; told which exist they correct themselves, and otherwise the run is lost.",
        evidence=(
            f"{_ISSUES}/openai/openai-agents-python/issues/3459",
            f"{_ISSUES}/google/adk-python/issues/4173",
            f"{_ISSUES}/vercel/ai/issues/1922",
            f"{_ISSUES}/langchain-ai/langchain/pull/1340",
        ),
        channels="T,M",
        keys=("unknown_tool",),
        check=_cannot_run("unknown", lambda _: "names no tool that exists", _names_the_tools),
    ),
    Rule(
        id="ACT-4",
        level=MUST,
        clause="A call whose arguments are no JSON object runs nothing and is answered.",
        rationale="Arguments that were guessed or emptied make a tool do something else and report success.",
        evidence=(
            f"{_ISSUES}/NousResearch/hermes-agent/issues/35151",
            f"{_ISSUES}/agent0ai/agent-zero/issues/1747",
        ),
        channels="T,M",
        keys=("bad_arguments",),
        check=_cannot_run(
            "malformed", lambda made: f"has arguments that are no JSON object, {made.call.arguments!r}", lambda *_: None
        ),
    ),
    Rule(
        id="ACT-5",
        level=MUST,
        clause="A call with arguments that are missing or of a wrong type runs nothing and is answered; the answer should name "
        "the argument.",
        rationale="A tool that runs on half its arguments does harm, and a model told only that something was wrong repeats it.",
        evidence=(
            f"{_ISSUES}/vercel/ai/issues/5104",
            f"{_ISSUES}/openai/openai-agents-js/issues/492",
        ),
        channels="T,M",
        keys=("bad_arguments", "type_check"),
        check=_cannot_run(
            "misfit", lambda made: f"has arguments that break its schema, {as_text(made.arguments)}", _names_the_fields
        ),
    ),
    Rule(
        id="ACT-7",
        level=MUST,
        clause="Calls that depend on each other run in order, and each value that a later call needs was in the result the "
        "model had read.",
        rationale="A model that must act on a value it never saw invents one.",
        evidence=(
            f"{_ISSUES}/CopilotKit/CopilotKit/issues/3884",
            f"{_ISSUES}/NousResearch/hermes-agent/issues/79278",
        ),
        channels="T,M",
        check=_act_7,
    ),
)
