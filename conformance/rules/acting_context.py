"""ACT-11: what only the agent knows of a run stays between it and its tools. Looks at offers and ids, not at texts."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from conformance.reading.tool_calls import Calls, Made, tool_calls
from conformance.reading.view import Call, Execution, Run, View
from conformance.rule import MUST, OK, Finding, Judged, Right, Rule

#: Names of what agents hand to their tools beside the model's arguments, without case, dashes and underscores. Other
#: parameters that an agent adds to a tool, such as one for a reason, are asked of the model on purpose.
_CONTEXT = re.compile(
    r"self|cls|(run|tool|call|agent|invocation|execution)?(context|ctx|runtime|config|deps|dependencies|callbacks?|runmanager)(wrapper)?"
    r"|(run|user|session|thread|tenant|conversation|toolcall|message|agent)(id|uuid)|(agent|session|graph)?state|injected\w*"
)


def _act_11(view: View) -> Judged:
    told: set[tuple[str, str]] = set()
    for _, call in ((run, call) for run in view.runs for call in run.main):
        for tool, injected in _offered(call, view):
            if injected is None:
                yield OK
            elif (tool, injected) not in told:
                told.add((tool, injected))
                yield Finding(
                    f"{call.id} offers {tool} with the parameter {injected!r}, which the tool does not have and which is the "
                    "agent's to fill in; expected the model to be shown the tool's own parameters",
                    call.seq,
                )
    calls = tool_calls(view)
    for run in view.runs:
        yield from (_of_this_run(one, run, calls) for one in run.executions if one.call_id)


def _offered(call: Call, view: View) -> Iterator[tuple[str, str | None]]:
    """The scenario's tools as they are shown to the model, each with a parameter of the agent's own that it shows too."""
    for shown in call.request.tools or ():
        tool = view.scenario.tools.get(shown.name)
        if tool is not None:
            added = (name for name in _parameters(shown.parameters) if name not in _parameters(tool.parameters))
            yield (
                shown.name,
                next((name for name in added if _CONTEXT.fullmatch(re.sub(r"[-_]", "", name.lower()))), None),
            )


def _parameters(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    named = schema.get("properties")
    return named if isinstance(named, Mapping) else {}


def _of_this_run(execution: Execution, run: Run, calls: Calls) -> Finding | Literal[Right.OK]:
    """Whether a tool was told of the call it runs for, and not of one of an earlier run."""
    made = calls.by_execution.get(execution.id)
    stale = _stale(execution, run, calls) if made is not None and made.run is run and made.sound else None
    if stale is None:
        return OK
    return Finding(
        f"{execution.id}: {execution.tool} ran for {made}, and was handed the id {execution.call_id!r} of {stale} in "
        f"{stale.run.id}; expected nothing of an earlier run to reach a tool",
        execution.seq,
        related=(stale.seq,),
    )


def _stale(execution: Execution, run: Run, calls: Calls) -> Made | None:
    """The call of an earlier run whose id came with an execution, where that agent passes the model's ids on as they are."""
    if any(one.call.id == execution.call_id for one in calls.made if one.run is run):
        return None
    return next(
        (
            one
            for one in calls.made
            if one.run.session == run.session
            and one.run.seq < run.seq
            and one.sound
            and one.call.id == execution.call_id
            and any(x.call_id == execution.call_id for x in one.executions)
        ),
        None,
    )


_ISSUES = "https://github.com"

ACT_11 = Rule(
    id="ACT-11",
    level=MUST,
    clause="What the agent hands to a tool beside the model's arguments, such as ids of run and user, is no parameter that the "
    "model is shown, and nothing of it stays for the next run.",
    rationale="A model that is asked for a user's id makes one up, and a tool that is told of an earlier run acts for "
    "somebody else.",
    evidence=(
        f"{_ISSUES}/pab1it0/prometheus-mcp-server/pull/95",
        f"{_ISSUES}/vercel/ai/issues/7637",
        f"{_ISSUES}/NousResearch/hermes-agent/pull/42451",
    ),
    channels="M,T",
    check=_act_11,
)
