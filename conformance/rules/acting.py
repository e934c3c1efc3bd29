"""ACT: the tools that run are those the model called, as it called them, and the model reads what came of it."""

import json
from collections.abc import Mapping
from typing import Any, Literal

from conformance.reading.containment import carries, scalars
from conformance.reading.pairing import Paired
from conformance.reading.tool_calls import as_text, said_in, tool_calls
from conformance.reading.view import Call, Execution, Run, View
from conformance.rule import MUST, OK, Finding, Judged, Right, Rule
from conformance.rules.acting_batches import ACT_8
from conformance.rules.acting_breaker import ACT_10
from conformance.rules.acting_context import ACT_11
from conformance.rules.acting_cut import ACT_6
from conformance.rules.acting_faults import ACT_13
from conformance.rules.acting_feedback import act_2, cannot_run, names_the_fields, names_the_tools
from conformance.rules.acting_large import ACT_12
from conformance.rules.acting_once import act_1
from conformance.rules.acting_order import ACT_14
from conformance.rules.acting_timeout import ACT_9


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
                if source is not None and _remembered(source, run, view):
                    made = calls.by_execution.get(source.id)
                    seen = carried.get(made.key) if made and view.dialect.tool_history == "messages" else None
                    yield _in_order(call, entry, source, seen)


def _remembered(source: Execution, run: Run, view: View) -> bool:
    """Whether a run has to know what an execution gave: its own, or one of a run before that the session or the caller brings along."""
    if source.run == run.id or view.has("sessions"):
        return True
    given = json.dumps(run.given.get("messages") or [], ensure_ascii=False)
    return any(True for _ in scalars(source.value)) and not carries(given, source.value)


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
        check=act_1,
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
        check=act_2,
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
        check=cannot_run("unknown", lambda _: "names no tool that exists", names_the_tools),
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
        check=cannot_run(
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
        check=cannot_run(
            "misfit", lambda made: f"has arguments that break its schema, {as_text(made.arguments)}", names_the_fields
        ),
    ),
    ACT_6,
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
    ACT_8,
    ACT_9,
    ACT_10,
    ACT_11,
    ACT_12,
    ACT_13,
    ACT_14,
)
