"""HIS: the history an agent sends to the model holds the conversation as it was, in the shape its wire asks for."""

import json
from typing import Any

from conformance.reading.classes import SIDE_CALLS
from conformance.reading.containment import carries
from conformance.reading.round_limit import closing_retry, early_closing
from conformance.reading.tool_calls import FAILED, NOT_RUN, Calls, Made, as_text, next_main, said_in, tool_calls
from conformance.reading.view import Call, Execution, Run, View
from conformance.rule import MUST, OK, SHOULD, Finding, Judged, Rule
from conformance.rules.history_calls import HIS_5, HIS_8
from conformance.rules.history_growth import HIS_6
from conformance.rules.history_kept import HIS_6B
from conformance.rules.history_shape import his_1, his_2, his_3, his_3b, his_4, kept, needs_messages
from conformance.rules.history_shorter import HIS_9
from fake_models.tools import Large

#: Bytes of JSON above which a result may be cut before it enters the history (ACT-12). Agents that cut do so at several
#: thousand characters; no scenario that is not about large results comes near.
LARGE_BYTES = 4096
#: Bytes a token stands for where a model's window is counted in tokens.
BYTES_PER_TOKEN = 4
#: A result is small beside a history that holds so many times its bytes: to drop it helps little. Generous on purpose.
_SMALL = 10


def _his_7(view: View) -> Judged:
    for run in view.runs:
        text = (run.user or "").strip()
        if not text:
            continue
        for call in run.main:
            holders = [m for m in call.request.messages if m.role == "user" and text in (m.content or "")]
            if len(holders) == 1 or (holders and (_answered(run, call.seq) or _shrunk(run, call.seq))):
                yield OK
            elif holders and call in (early_closing(run, view), closing_retry(run, view)):
                continue  # a mention behind failed rounds may quote it; whether one does, or it is sent twice, cannot be told
            elif holders:
                yield Finding(
                    f"{call.id}: {len(holders)} user messages hold the user's text {as_text(text)}, expected one "
                    "before the run's first reply",
                    call.seq,
                )
            elif _answered(run, call.seq) and _shrunk(run, call.seq):
                # A compaction may tell in its own words what the run has come to.
                continue
            elif not _shrunk(run, call.seq):
                yield Finding(
                    f"{call.id}: no user message holds the user's text {as_text(text)}, expected it in every request of {run.id}",
                    call.seq,
                )
            elif text not in said_in(call) and not _fills_the_window(text, view):
                yield Finding(
                    f"{call.id}: the user's text {as_text(text)} is gone, and nothing of {run.id} was answered yet; expected a "
                    "compaction to keep what the user asked",
                    call.seq,
                )


def _fills_the_window(text: str, view: View) -> bool:
    """Whether a text alone is so large that no request keeps it whole."""
    window = view.scenario.model.context_window
    return window is not None and len(text.encode("utf-8", "surrogatepass")) > window * BYTES_PER_TOKEN // 2


def _answered(run: Run, seq: int) -> bool:
    """Whether a reply of this run had come before a record, be it to a request that was sent again."""
    asked = [one for one in run.calls if one.role not in SIDE_CALLS]
    return any(one.reply is not None and one.reply.complete and one.reply.seq < seq for one in asked)


def _shrunk(run: Run, seq: int) -> bool:
    """Whether the run had reason to shorten its history before a record: a compaction, or a prompt that was too long."""
    return any(one.seq < seq and (one.kind == "compaction" or one.overflow) for one in run.calls)


def _his_10(view: View) -> Judged:
    calls = tool_calls(view)
    for made in calls.made:
        done = [one for one in made.ran if one.end_seq is not None and one.error is None]
        # A call that came in pieces has no whole to be found again: that it ran is ACT-6's and REC-7's.
        if done and made.whole:
            yield from _reaches(made, done[-1], calls, view)
            yield from _survives(made, done[-1], calls, view)


def _reaches(made: Made, execution: Execution, calls: Calls, view: View) -> Judged:
    call, owed = _owed(made, execution, view)
    if call is None or _is_large(made, execution.value, view):
        return
    carried = calls.carried(call, made.run.session).get(made.key)
    as_messages = view.dialect.tool_history == "messages"
    if as_messages and carried is None:
        if owed and not _compacted(call, execution, view):
            yield Finding(
                f"{call.id}: {made} ran as {execution.id} and returned {as_text(execution.value)}, "
                "but the request holds no such call, expected the call with its result",
                call.seq,
                related=(execution.seq,),
            )
        return
    text = carried.content if as_messages and carried else said_in(call)
    missing = carries(text, execution.value)
    if not missing:
        yield OK
    elif as_messages and not owed and (FAILED.search(text) or NOT_RUN.search(text)):
        # The run before failed beside this call, and the agent may never have heard what came of it.
        return
    elif carried is not None and as_messages and not (carried.results or carried.late):
        if not _compacted(call, execution, view):
            yield Finding(
                f"{call.id}: {made} returned {as_text(execution.value)} ({execution.id}), but the request has no result of it",
                call.seq,
                related=(execution.seq,),
            )
    elif (as_messages or owed) and not _compacted(call, execution, view):
        where = "its result there" if as_messages else "the request"
        yield Finding(
            f"{call.id}: {made} returned {as_text(execution.value)} ({execution.id}), but {where} lacks "
            f"{', '.join(map(as_text, missing))}; it says {as_text(text)}",
            call.seq,
            related=(execution.seq,),
        )


def _survives(made: Made, execution: Execution, calls: Calls, view: View) -> Judged:
    """
    The first request behind an execution that a model could read, where the history was made smaller before it.

    A request that was refused for its size was read by nobody. A compaction whose own request held the result has read it, and
    tells of it in words of its own.
    """
    call, owed = _owed(made, execution, view)
    while call is not None and call.overflow:
        call = next_main(made.run, call.end_seq)
    if call is None or not owed or call.kind == "summary" or not _compacted(call, execution, view):
        return
    there = calls.carried(call, made.run.session).get(made.key)
    missing = carries(said_in(call), execution.value)
    if not missing:
        # Small values stand by chance in many a text: only the call's own result shows that it survived.
        in_place = there is not None and not carries(there.content, execution.value)
        yield from (OK,) if in_place else ()
    elif not _read_by_a_compaction(call, execution, view) and not _weighs(made, execution, call, view):
        yield Finding(
            f"{call.id}: {made} returned {as_text(execution.value)} ({execution.id}), which no model has read yet, and the history "
            f"that was made smaller behind it lacks {', '.join(map(as_text, missing))}; expected older parts to go first",
            call.seq,
            related=(execution.seq,),
        )


def _read_by_a_compaction(call: Call, execution: Execution, view: View) -> bool:
    asked = [one for run in view.runs for one in run.calls if execution.seq < one.seq < call.seq]
    return any(
        one.kind == "compaction" and not one.overflow and not carries(said_in(one), execution.value) for one in asked
    )


def _weighs(made: Made, execution: Execution, call: Call, view: View) -> bool:
    """Whether a result is much of what the history holds, so that nothing gets much smaller without it."""
    before = [one for run in view.runs if run.session == made.run.session for one in run.main if one.seq < call.seq]
    size = max((len(said_in(one).encode("utf-8", "surrogatepass")) for one in before), default=0)
    value = json.dumps(execution.value, ensure_ascii=False).encode("utf-8", "surrogatepass")
    return _is_large(made, execution.value, view) or len(value) * _SMALL > size


def _owed(made: Made, execution: Execution, view: View) -> tuple[Call | None, bool]:
    """
    The next regular request after an execution, and whether it owes the result even where it left out the call.

    A summary in between has taken the result over (SUM-5). A later run owes it where the session is kept and the run before
    came to an ordinary end: an agent may take back a turn that failed.
    """
    run = next(one for one in view.runs if one.id == execution.run)
    end = execution.end_seq or execution.seq
    follows = next_main(run, end)
    if follows is not None:
        return (None, False) if follows.kind == "summary" else (follows, True)
    later = [one for one in view.runs if one.session == made.run.session and one.seq > run.seq and one.main]
    if not later:
        return None, False
    return next_main(later[0], end), kept(run, view)


def _compacted(call: Call, execution: Execution, view: View) -> bool:
    """Whether the history was made smaller between an execution and a request."""
    between = [one for run in view.runs for one in run.calls if execution.seq < one.seq < call.seq]
    return any(one.kind == "compaction" or one.overflow for one in between)


def _is_large(made: Made, value: Any, view: View) -> bool:
    window = view.scenario.model.context_window
    bound = LARGE_BYTES if window is None else min(LARGE_BYTES, window * BYTES_PER_TOKEN // 2)
    made_large = made.tool is not None and any(isinstance(one, Large) for one in made.tool.sequence)
    return made_large or len(json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")) > bound


_ISSUES = "https://github.com"

RULES: tuple[Rule, ...] = (
    Rule(
        id="HIS-1",
        level=MUST,
        clause="In every request each tool call of the assistant has exactly one result, directly behind it.",
        rationale="Providers refuse a history with an open or twice answered call, so the run dies, and with it every later "
        "run of the session.",
        evidence=(
            f"{_ISSUES}/agentscope-ai/agentscope-java/pull/1261",
            f"{_ISSUES}/anthropics/claude-code/issues/3003",
            f"{_ISSUES}/langchain-ai/langgraph/issues/5831",
            f"{_ISSUES}/strands-agents/harness-sdk/issues/1435",
        ),
        channels="M",
        keys=("tool_history",),
        applies=needs_messages,
        check=his_1,
    ),
    Rule(
        id="HIS-2",
        level=MUST,
        clause="No request holds a tool result whose call is not in it.",
        rationale="A result without its call is refused by providers, and a model cannot tell what it answers.",
        evidence=(
            f"{_ISSUES}/can1357/oh-my-pi/issues/472",
            f"{_ISSUES}/strands-agents/harness-sdk/issues/1435",
        ),
        channels="M",
        applies=needs_messages,
        check=his_2,
    ),
    Rule(
        id="HIS-3",
        level=MUST,
        clause="A call and its result carry the same non-empty id, which no other call of the request has. An agent may "
        "number calls anew.",
        rationale="The id is all that ties a result to its call: a wrong one gives the model another call's result.",
        evidence=(
            f"{_ISSUES}/microsoft/agent-framework/issues/6788",
            f"{_ISSUES}/open-webui/open-webui/issues/28305",
        ),
        channels="M",
        applies=needs_messages,
        check=his_3,
    ),
    Rule(
        id="HIS-3b",
        level=SHOULD,
        clause="Ids in the history are sound also where the model's own were missing, empty or repeated.",
        rationale="Local model servers leave ids out or repeat them, and an agent that keys calls by id then loses work.",
        evidence=(
            f"{_ISSUES}/huggingface/smolagents/pull/2768",
            f"{_ISSUES}/NousResearch/hermes-agent/issues/70724",
            f"{_ISSUES}/SWE-agent/mini-swe-agent/issues/872",
        ),
        channels="M",
        keys=("bad_ids",),
        applies=needs_messages,
        check=his_3b,
    ),
    Rule(
        id="HIS-4",
        level=MUST,
        clause="A call that will never run, because of a limit, an interrupt, a denial or a guard, has an error result in the "
        "next request of its session.",
        rationale="Otherwise the call stays open in the history, or the model takes silence for success.",
        evidence=(
            f"{_ISSUES}/agentscope-ai/agentscope-java/pull/1261",
            f"{_ISSUES}/agentscope-ai/agentscope-java/issues/2409",
            f"{_ISSUES}/anomalyco/opencode/issues/21326",
            f"{_ISSUES}/devoxx/DevoxxGenieIDEAPlugin/pull/1194",
        ),
        channels="M",
        applies=needs_messages,
        check=his_4,
    ),
    HIS_5,
    HIS_6,
    HIS_6B,
    Rule(
        id="HIS-7",
        level=MUST,
        clause="Until the first reply of its run the user's text stands in exactly one user message, and it stays in every "
        "later request of the run, except at a compaction.",
        rationale="A user's turn that is lost is never answered, and one that is sent twice is answered twice.",
        evidence=(
            f"{_ISSUES}/CopilotKit/CopilotKit/issues/3884",
            f"{_ISSUES}/strands-agents/harness-sdk/issues/702",
        ),
        channels="M",
        check=_his_7,
    ),
    HIS_8,
    HIS_9,
    Rule(
        id="HIS-10",
        level=MUST,
        clause="What a tool returned reaches the next regular request: every value of it stands in the result of its call. A "
        "history that is made smaller keeps what no model has read yet.",
        rationale="A model that never sees a result asks for it again or makes it up.",
        evidence=(
            f"{_ISSUES}/CopilotKit/CopilotKit/issues/3884",
            f"{_ISSUES}/huggingface/smolagents/issues/2457",
            f"{_ISSUES}/NousResearch/hermes-agent/issues/79278",
            f"{_ISSUES}/strands-agents/harness-sdk/issues/702",
        ),
        channels="M,T",
        keys=("tool_history",),
        check=_his_10,
    ),
)
