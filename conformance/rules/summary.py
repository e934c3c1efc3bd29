"""SUM: the one call after the last allowed round, which asks the model for a closing text, recognised by its place."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from conformance.observing.limit import closing_text
from conformance.observing.sighting import over, way_out
from conformance.reading.containment import carries, scalars
from conformance.reading.outcome import claimed, final_text, markers, shown_elsewhere
from conformance.reading.round_limit import early_closing, words_after
from conformance.reading.view import Call, Execution, Reply, Run, View
from conformance.rule import MUST, OK, SHOULD, Finding, Judged, Rule
from fake_models.messages import Message, ToolCall

_FORGE = "https://github.com/"

#: Words by which a text, a reason or an error says that something failed, in the languages scenarios are written in.
_FAILURE_WORDS = re.compile(
    r"fail|error|unable|could ?n.?[o']t|cannot|can't|unavailable|empty|not (be )?(available|complete|produced|obtained|summar)"
    r"|(no|without an?) (final |further |closing )?(answer|text|reply|summary)"
    r"|失败|错误|无法|未能|不可用|为空",
    re.IGNORECASE,
)
#: Results above this may be cut before they enter the history (ACT-12).
LARGE_CHARACTERS = 4096
#: What closes a result: a tag, a bracket's content, a further field of an object.
_WRAPPING = re.compile(r"<[^<>]*>|\[[^\[\]]*\]|[\"']\w+[\"']\s*:\s*([\"'][^\"']*[\"']|[\w.]+)")
#: What may stand around a call that is shown as if it were a text.
_SCAFFOLD = re.compile(r"tools?|calls?|functions?|name|type|id|arguments|args|parameters|input|use", re.IGNORECASE)


def no_tool_can_be_called(view: View) -> Judged:
    """An empty list of tools keeps the model from calling too; that providers refuse it is WIRE-1's."""
    for run in view.runs:
        for call in run.summary:
            found = list(_left_over(call))
            yield from found or (OK,)


def _left_over(call: Call) -> Iterator[Finding]:
    request = call.request
    if request.callable_tools:
        yield Finding(
            f"the summary request {call.id} offers {list(request.callable_tools)!r}; expected no tool that can be called",
            call.seq,
        )
        return
    if request.tools:
        return
    if request.tool_choice not in (None, "none"):
        yield Finding(
            f"the summary request {call.id} has no tools and still tool_choice {request.tool_choice!r}; expected the key to be left out",
            call.seq,
        )
    if isinstance(call.body, Mapping) and call.body.get("parallel_tool_calls") is not None:
        yield Finding(
            f"the summary request {call.id} has no tools and still parallel_tool_calls {call.body['parallel_tool_calls']!r}; expected the key to be left out",
            call.seq,
        )


def one_call_beyond_the_rounds(view: View) -> Judged:
    """A second one only where the first failed, was empty or asked for a tool; any other is a round too many."""
    for run in view.runs:
        early = early_closing(run, view)
        if early is not None and not run.summary:
            yield Finding(
                f"{early.id} asks for the summary of run {run.id} in the place of round {early.round} of {run.max_iters}; "
                "expected all rounds first, and the summary beside them",
                early.seq,
            )
        if not run.summary:
            continue
        last = run.summary[-1]
        later = [call for call in run.main if call.seq > last.seq]
        if later:
            names = ", ".join(call.id for call in later)
            asked = " and ".join(call.id for call in run.summary)
            yield Finding(
                f"run {run.id} made its {run.max_iters} rounds and asked for a summary in {asked}, but {names} came after; expected the run to end there",
                later[0].seq,
                tuple(call.seq for call in run.summary),
            )
        else:
            yield OK


def its_calls_come_to_nothing(view: View) -> Judged:
    """Neither run, nor left in the history without a result, nor shown as if they were the text."""
    for run in view.runs:
        for summary in run.summary:
            reply = run.outcome_of(summary).reply
            if reply is None or not reply.complete:
                continue
            for one in reply.calls:
                found = [
                    *_ran(one, reply.seq, run),
                    *_unanswered(one, summary, view),
                    *_shown(one, reply, run, view),
                ]
                yield from found or (OK,)


def _ran(one: ToolCall, seq: int, run: Run) -> Iterator[Finding]:
    for x in run.executions:
        if x.tool == one.name and x.seq > seq:
            yield Finding(
                f"{one.name} ({one.id}), called in the summary's reply of run {run.id}, ran as {x.id}; expected no tool to run after the last round",
                x.seq,
                (seq,),
            )
            return


def _unanswered(one: ToolCall, summary: Call, view: View) -> Iterator[Finding]:
    """In any later request of the session; by name and arguments, since ids may have been given anew."""
    session = next(run.session for run in view.runs if run.id == summary.run)
    for run in view.runs:
        for call in run.calls if run.session == session else ():
            if call.seq <= summary.end_seq:
                continue
            answered = {message.tool_call_id for message in call.request.messages if message.role == "tool"}
            kept = [kept for message in call.request.messages for kept in message.tool_calls]
            # The same call of an earlier round is another one, and has its result.
            if any((k.name, k.arguments) == (one.name, one.arguments) and k.id not in answered for k in kept):
                yield Finding(
                    f"{call.id} still carries the summary's call of {one.name} ({one.id}) without a result; expected it dropped or answered",
                    call.seq,
                    (summary.seq,),
                )
                return


def _shown(one: ToolCall, reply: Reply, run: Run, view: View) -> Iterator[Finding]:
    text = final_text(run, view)
    if text is None:
        return
    beside = (reply.text or "").strip()
    # A stream shows what the model says as it comes; an error after it takes it back.
    if beside and text.strip() == beside and way_out(run) not in ("error", "raise"):
        yield Finding(
            f"the final text of run {run.id} is {text[:100]!r}, which the model said beside a call of {one.name} in the summary's "
            "reply; expected a text that stands for the whole, since the model had not finished",
            run.end_seq,
            (reply.seq,),
        )
    if one.name not in text:
        return
    rest = text
    for part in (one.arguments, one.arguments.replace(" ", ""), one.id or "", one.name):
        rest = rest.replace(part, " ") if part else rest
    words = re.findall(r"[^\W_]+", rest)
    if all(_SCAFFOLD.fullmatch(word) for word in words):
        yield Finding(
            f"the final text of run {run.id} is the summary's tool call, {text[:100]!r}; expected a text for the user",
            run.end_seq,
        )


def a_failed_summary_is_told(view: View) -> Judged:
    """Judged where the last summary failed, was empty or only asked for a tool."""
    for run in view.runs:
        if not run.summary or not over(run) or closing_text(run, view) is not None or _half_said(run):
            continue
        last, claim = run.outcome_of(run.summary[-1]), claimed(run, view)
        found = []
        # An exception whose name nobody declared says nothing of its cause.
        unnamed = run.raised is not None and view.dialect.limit_terminal == "raise" and not view.dialect.exceptions
        if claim is not None and claim.kind != "limit" and not (unnamed and claim.kind == "error"):
            found.append(
                Finding(
                    f"the summary {last.id} of run {run.id} {_how(last)}, and the run ends as {claim.kind}; expected limit, which is what ended it",
                    claim.seq,
                    (last.seq,),
                )
            )
        told = list(_told(run, last.end_seq))
        if told and not _tells(told, last):
            found.append(
                Finding(
                    f"the summary {last.id} of run {run.id} {_how(last)}, and nothing the caller reads says so: {told!r:.300}; expected the failure to be named",
                    run.end_seq,
                    (last.seq,),
                )
            )
        found += _lost(run, view)
        yield from found or (OK,)


def _half_said(run: Run) -> bool:
    """A reply with a text beside its call: the text may be used or not."""
    reply = run.outcome_of(run.summary[-1]).reply
    return reply is not None and reply.complete and bool(reply.calls) and bool((reply.text or "").strip())


def _how(call: Call) -> str:
    reply = call.reply
    if call.failed or reply is None:
        return f"failed (status {reply.status if reply else call.refused and call.refused.get('status')})"
    return f"asked for {', '.join(one.name for one in reply.calls)}" if reply.calls else "was empty"


def _told(run: Run, seq: int) -> Iterator[str]:
    """What a caller can read of the run's end: result, terminal, exception, marks and texts after the failure."""
    if run.said is not None:
        yield from (word for word in (run.said.reason, run.said.text) if word)
    if run.raised is not None:
        yield f"{run.raised.exception}: {run.raised.message}"
    for event in run.events:
        if event.seq > seq and event.type in (
            "RUN_ERROR",
            "RUN_FINISHED",
            "RAW",
            "CUSTOM",
            "TEXT_MESSAGE_CONTENT",
            "TEXT_MESSAGE_CHUNK",
        ):
            shown = (event.data.get(key) for key in ("message", "code", "result", "event", "name", "value", "delta"))
            yield " ".join(word for value in shown for word in _spoken(value))
    yield from shown_elsewhere(run)


def _spoken(value: Any) -> Iterator[str]:
    """What a value says at any depth. The names of its fields say nothing, but for one that is simply true."""
    if isinstance(value, Mapping):
        for key, one in value.items():
            yield from (str(key),) if one is True else _spoken(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _spoken(one)
    elif value is not None and not isinstance(value, bool):
        yield str(value)


def _tells(told: list[str], last: Call) -> bool:
    # A text may come in pieces as small as a character, so it is read both joined and apart.
    words = " ".join(told) + "\n" + "".join(told)
    if _FAILURE_WORDS.search(words):
        return True
    error = ((last.reply.fault if last.reply else None) or {}).get("error") or {}
    named = [error.get("status"), error.get("code"), error.get("message")]
    return any(str(one) in words for one in named if one)


def _lost(run: Run, view: View) -> Iterator[Finding]:
    """What the run's tools returned, against the next run on the session that carries its history."""
    following = next(
        (one for one in view.runs if one.session == run.session and one.seq > run.end_seq and one.main), None
    )
    if following is None or not view.has("sessions") or any(call.kind == "compaction" for call in following.calls):
        return
    request = following.main[0]
    text = "\n".join(message.content or "" for message in request.request.messages)
    for x in run.executions:
        if x.end_seq is not None and x.error is None and carries(text, x.value):
            yield Finding(
                f"after the failed summary of run {run.id}, {request.id} of run {following.id} lacks the result of {x.tool} ({x.id}); expected the work to be kept",
                request.seq,
            )


def it_carries_every_result(view: View) -> Judged:
    """Results since the last compaction, each in its call's message where ids tell which; then a word that says to answer now."""
    for run in view.runs:
        for summary in run.summary[:1]:
            since = max(
                (call.end_seq for call in run.calls if call.kind == "compaction" and call.seq < summary.seq), default=0
            )
            for x in run.executions:
                if x.end_seq is None or not since < x.end_seq < summary.seq or x.error is not None or _is_large(x):
                    continue
                yield from _carried(x, summary)
            if view.dialect.tool_history == "messages":
                yield from _instructed(summary, run)


def _is_large(x: Execution) -> bool:
    """Whether a result may have been cut before it entered the history."""
    return len(json.dumps(x.value, ensure_ascii=False)) > LARGE_CHARACTERS


def _carried(x: Execution, summary: Call) -> Judged:
    messages = summary.request.messages
    # Renumbered ids, or a history in words, leave no message that is the call's own: then any will do.
    mine = [message for message in messages if x.call_id and message.tool_call_id == x.call_id]
    missing = carries(_words(mine or messages), x.value)
    if missing:
        yield Finding(
            f"the summary request {summary.id} lacks {list(missing)[:5]!r} of what {x.tool} returned in {x.id}; expected every result that was gathered",
            summary.seq,
            (x.seq,),
        )
    else:
        yield OK


def _words(messages: Sequence[Message]) -> str:
    return "\n".join(message.content or "" for message in messages)


def _instructed(summary: Call, run: Run) -> Judged:
    messages = summary.request.messages
    at = max((n for n, message in enumerate(messages) if message.role == "tool"), default=None)
    if at is None:
        return
    before = [call for call in run.main if call.seq < summary.seq]
    said = any(message.role != "tool" and (message.content or "").strip() for message in messages[at + 1 :])
    if (
        said
        or _speaks_on(messages[at].content or "", summary, run)
        or (before and _system(before[-1]) != _system(summary))
    ):
        yield OK
    else:
        yield Finding(
            f"nothing in the summary request {summary.id} says to answer now: it ends with a tool's result and its system text is as before",
            summary.seq,
            level=SHOULD,
        )


def _speaks_on(content: str, summary: Call, run: Run) -> bool:
    """Whether a tool message goes on behind the last result that it carries, in words and not only by closing what it opened."""
    done = [x for x in run.executions if x.end_seq is not None and x.end_seq < summary.seq]
    value = (done[-1].error or {}).get("message") if done and done[-1].error else done[-1].value if done else None
    last = next(reversed([str(one).strip() for one in scalars(value) if one is not None]), "")
    _, found, behind = content.rpartition(last) if last else ("", "", "")
    words = re.findall(r"[^\W\d_]+", _WRAPPING.sub(" ", behind))
    return bool(found) and (len(words) > 2 or any(len(word) > 2 and not word.isascii() for word in words))


def _system(call: Call) -> list[Any]:
    return [message.content for message in call.request.messages if message.role in ("system", "developer")]


def the_user_gets_a_text(view: View) -> Judged:
    """The model's text or one in its place; none is owed where the summary failed and the dialect ends that in an error."""
    for run in view.runs:
        if not run.summary or not over(run) or not {"E", "R"} & view.channels:
            continue
        if view.dialect.summary_failure == "error" and closing_text(run, view) is None:
            continue
        if words_after(run, view, run.summary[0].seq) or _failure_text(run, view):
            yield OK
        else:
            yield Finding(
                f"run {run.id} asked for a summary in {run.summary[-1].id} and the user reads nothing; expected the model's text, or one that stands in for it",
                run.end_seq,
                (run.summary[-1].seq,),
            )


def _failure_text(run: Run, view: View) -> str | None:
    """Under `error` and `raise` the text may be the error's own."""
    if view.dialect.limit_terminal not in ("error", "raise"):
        return None
    if run.raised is not None:
        return run.raised.message
    return str(run.terminal.data.get("message") or "") if run.terminal is not None else None


def the_marker_comes_first(view: View) -> Judged:
    """By the order of records; a run without a marker is LIM-5's."""
    for run in view.runs:
        found = markers(run, view.dialect)
        if not run.summary or not found:
            continue
        if found[0].seq < run.summary[0].seq:
            yield OK
        else:
            yield Finding(
                f"the limit marker of run {run.id} came after the summary request {run.summary[0].id}; expected it before, so that a reader knows why the summary comes",
                found[0].seq,
                (run.summary[0].seq,),
            )


def asks_the_model(view: View) -> str | None:
    """Binds agents whose closing text is the model's."""
    return None if view.dialect.limit_text == "model" else "dialect"


RULES: tuple[Rule, ...] = (
    Rule(
        id="SUM-1",
        level=MUST,
        clause="In the summary request no tool can be called: tools are left out, or declared with the choice forced to none, and no tool choice or parallel flag is left over.",
        rationale="A model that can still call will, and the one request kept for an answer is spent on a call that nobody runs.",
        channels="M",
        check=no_tool_can_be_called,
        evidence=(
            f"{_FORGE}langchain-ai/langchain/issues/2970",
            f"{_FORGE}nugget/thane-ai-agent/issues/72",
            f"{_FORGE}spring-projects/spring-ai/issues/4464",
        ),
        keys=("limit_text", "summary_tools"),
        applies=asks_the_model,
    ),
    Rule(
        id="SUM-2",
        level=MUST,
        clause="The summary stands outside the budget: N rounds and one request, which may be repeated once in stricter words where it failed, was empty or was answered by a call.",
        rationale="A summary that eats a round, or that turns back into the loop, breaks the bound from either side.",
        channels="M",
        check=one_call_beyond_the_rounds,
        evidence=(
            f"{_FORGE}crewAIInc/crewAI/issues/3847",
            f"{_FORGE}nugget/thane-ai-agent/issues/72",
            f"{_FORGE}agentscope-ai/agentscope/issues/1805",
        ),
        keys=("limit_text",),
        applies=asks_the_model,
    ),
    Rule(
        id="SUM-3",
        level=MUST,
        clause="A call in the summary's reply is not run, not left in the history without its result, and not shown as the answer.",
        rationale="The budget is spent: running it is a round too many, keeping it makes the next request one that providers refuse, and showing it gives the user a fragment.",
        channels="M,T,R",
        check=its_calls_come_to_nothing,
        evidence=(
            f"{_FORGE}NousResearch/hermes-agent/issues/36239",
            f"{_FORGE}backstage/community-plugins/pull/9472",
            f"{_FORGE}langchain-ai/langchain/issues/2970",
        ),
        keys=("limit_text",),
        applies=asks_the_model,
    ),
    Rule(
        id="SUM-4",
        level=MUST,
        clause="When the summary fails, the run still ends with the outcome limit, keeps the work that was done, and lets the caller read that the summary failed.",
        rationale="The limit is what ended the run; a failure on the way out must neither hide that nor throw away finished results.",
        channels="E,R",
        check=a_failed_summary_is_told,
        evidence=(
            f"{_FORGE}openai/openai-agents-python/issues/719",
            f"{_FORGE}run-llama/llama_index/issues/14843",
            f"{_FORGE}NousResearch/hermes-agent/issues/92552",
        ),
        keys=("limit_text", "summary_failure"),
        applies=asks_the_model,
    ),
    Rule(
        id="SUM-5",
        level=MUST,
        clause="The summary request carries every result gathered since the last compaction, and it should tell the model, after the last result or in the system text, to answer now.",
        rationale="A summary of work that the model cannot see is made up.",
        channels="M",
        check=it_carries_every_result,
        evidence=(
            f"{_FORGE}microsoft/autogen/pull/7710",
            f"{_FORGE}crewAIInc/crewAI/issues/1038",
            f"{_FORGE}microsoft/semantic-kernel/issues/12625",
        ),
        keys=("limit_text", "tool_history"),
        applies=asks_the_model,
    ),
    Rule(
        id="SUM-6",
        level=MUST,
        clause="After the summary the user has a text to read, be it the model's or one that stands in for it, unless the summary failed and the agent declares an error for that.",
        rationale="An empty reply after all rounds were paid for leaves the user with nothing and no reason.",
        channels="R,E",
        check=the_user_gets_a_text,
        evidence=(
            f"{_FORGE}mastra-ai/mastra/issues/12596",
            f"{_FORGE}opensearch-project/ml-commons/issues/4011",
            f"{_FORGE}deepset-ai/haystack/issues/10001",
        ),
        keys=("limit_text", "summary_failure"),
        applies=asks_the_model,
    ),
    Rule(
        id="SUM-7",
        level=SHOULD,
        clause="The limit marker comes before the summary request.",
        rationale="Whoever watches the stream then knows that what follows is a summary and not an answer.",
        channels="E,M",
        check=the_marker_comes_first,
        evidence=(f"{_FORGE}agentscope-ai/agentscope/issues/1805",),
        keys=("limit_text", "limit_marker"),
        about_events=True,
        applies=asks_the_model,
    ),
)
