"""From a recording's records to a View: joins what belongs together, drops nothing, judges nothing."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import lru_cache
from typing import Any

from conformance.dialect import Dialect, dialect
from conformance.reading.agui import Event
from conformance.reading.classes import classify, told_error
from conformance.reading.resumed import NONE, made, resumed
from conformance.reading.view import Call, Execution, Raised, Reply, Run, Said, View
from conformance.recording import Record, Recording
from conformance.scenario import Scenario, scenario
from fake_models.messages import ToolCall, World
from fake_models.overflow import is_overflow
from fake_models.wire import CODECS

#: Request bodies by call.
Bodies = Mapping[str, Mapping[str, Any]]


def view(recording: Recording, under: Dialect | None = None) -> View:
    """The recording as an agent's runs, read under the given dialect or else the declared one."""
    head = recording.header
    declared = _dialect(_Same(head.dialect))
    plan = _scenario(_Same(head.scenario))
    read = under or declared
    return View(
        recording=recording,
        scenario=plan,
        declared=declared,
        dialect=read,
        runs=_runs(recording, plan, read),
        channels=frozenset(head.channels),
        capabilities=head.capabilities,
    )


class _Same:
    """Plain data as a cache's key: equal to itself only, which costs nothing to find out."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.data = data

    def __hash__(self) -> int:
        return id(self.data)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.data is other.data


# One suite has one dialect, and each of its scenarios is read in every cell and repeat.
@lru_cache(maxsize=64)
def _dialect(key: _Same) -> Dialect:
    return dialect(key.data)


@lru_cache(maxsize=256)
def _scenario(key: _Same) -> Scenario:
    return scenario(key.data)


def _runs(recording: Recording, plan: Scenario, read: Dialect) -> tuple[Run, ...]:
    whole = resumed(recording.records, recording.header.wire)
    by_run: dict[str, list[Record]] = defaultdict(list)
    call_run: dict[str, str] = {}
    exec_run: dict[str, str] = {}
    for record in recording.records:
        data, kind = record.data, record.kind
        if kind == "model/request":
            call_run[data["call"]] = data["run"]
        elif kind == "tool/start":
            exec_run[data["exec"]] = data["run"]
        run = data.get("run") or call_run.get(data.get("call", "")) or exec_run.get(data.get("exec", ""))
        if run is not None:
            by_run[run].append(record)
    runs = tuple(
        _run(records, recording, plan.runs[index] if index < len(plan.runs) else None, plan, read, whole=whole)
        for index, records in enumerate(records for records in by_run.values() if _starts(records))
    )
    return tuple(replace(run, began_with=_open_at(run.seq, runs)) for run in runs)


def _open_at(seq: int, runs: Iterable[Run]) -> tuple[str, ...]:
    return tuple(run.id for run in runs if run.seq < seq < run.end_seq)


def _starts(records: Iterable[Record]) -> bool:
    return any(record.source == "kit" and record.type == "run_start" for record in records)


def _run(
    records: Sequence[Record], recording: Recording, spec: Any, plan: Scenario, read: Dialect, *, whole: Bodies
) -> Run:
    of: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        of[record.kind].append(record)
    # Of each of these there is at most one to a run; were there more, the first counts.
    first = {kind: found[0] for kind, found in of.items()}
    start, end = first["kit/run_start"], first.get("kit/run_end")
    limit, limited = _limit(start.data, read)
    run, session = start.data["run"], start.data["session"]
    world = World(now=plan.clock + timedelta(seconds=start.at_s), run=run)
    events = [Event(r.seq, r.data["event"], bool(r.data.get("raised"))) for r in of["agent/event"]]
    judged, strays = _parts(events, run)
    said, raised, cancel = (first.get(kind) for kind in ("agent/outcome", "agent/raised", "kit/cancel"))
    return Run(
        id=run,
        session=session,
        seq=start.seq,
        end_seq=end.seq if end else max(record.seq for record in records),
        how=end.data["how"] if end else "hung",
        end=end.data if end else {},
        spec=spec,
        user=spec.user if spec else None,
        given=start.data["input"],
        max_iters=limit,
        limited=limited,
        tool_choice=start.data.get("tool_choice"),
        stream=bool(start.data.get("stream")),
        calls=classify(model_calls(records, run, recording.header.wire, whole), limit, read, world),
        executions=_executions(records),
        events=judged,
        strays=strays,
        logs=tuple(of["agent/log"]),
        garbage=tuple(of["agent/garbage"]),
        said=Said(said.seq, said.data["kind"], said.data.get("reason"), said.data.get("text")) if said else None,
        raised=Raised(raised.seq, raised.data["exception"], raised.data["message"]) if raised else None,
        cancelled=cancel is not None,
        cancel_point=cancel.data["point"] if cancel else None,
        cancel_seq=cancel.seq if cancel else None,
        killed="kit/kill" in first,
        knobs=start.data.get("knobs", {}),
        resumes=tuple(start.data["input"].get("resume") or ()),
    )


def _limit(start: Mapping[str, Any], read: Dialect) -> tuple[int | None, bool]:
    given = start["limits"].get("max_iters")
    if given is not None:
        return given, True
    return (read.default_max_iters if isinstance(read.default_max_iters, int) else None), False


def _parts(events: Sequence[Event], run: str) -> tuple[tuple[Event, ...], tuple[Event, ...]]:
    """The part of the stream that carries this runId, and all other events; without any RUN_STARTED the whole is the run's."""
    parts: list[list[Event]] = []
    for event in events:
        if event.type == "RUN_STARTED" or not parts:
            parts.append([])
        parts[-1].append(event)
    if len(parts) < 2:
        return tuple(events), ()
    mine = next((part for part in parts if part[0].data.get("runId") == run), parts[0])
    return tuple(mine), tuple(event for part in parts if part is not mine for event in part)


def model_calls(
    records: Sequence[Record], run: str, wire: str = "openai_chat", whole: Bodies = NONE
) -> tuple[Call, ...]:
    """The calls of one run, joined from its model records and not yet classed. `whole` are its bodies as `resumed` gives them."""
    about: dict[str, dict[str, Record]] = defaultdict(dict)
    for record in records:
        if record.source == "model":
            about[record.data["call"]][record.type] = record
    calls = [
        _call(found, wire, whole)
        for found in about.values()
        if "request" in found and found["request"].data["run"] == run
    ]
    return tuple(_taken(call, after) for call, after in zip(calls, (*calls[1:], None), strict=False))


def _taken(call: Call, after: Call | None) -> Call:
    """The call as its agent took it: a stream that may have been whole was so where the next request has results for its calls."""
    reply = call.reply
    if reply is None or not reply.unfinished or after is None or _results(after) <= _results(call):
        return call
    return replace(call, reply=replace(reply, complete=True), failed=False)


def _results(call: Call) -> int:
    return sum(message.role == "tool" for message in call.request.messages)


def _call(found: Mapping[str, Record], wire: str, whole: Bodies) -> Call:
    asked, replied, refused, done = (found.get(kind) for kind in ("request", "reply", "refused", "reply_done"))
    assert asked is not None  # noqa: S101 - the caller keeps only calls that were asked
    body = asked.data["body"]
    codec = CODECS[asked.data.get("wire", wire)]
    sent = codec.decode(body if isinstance(body, Mapping) else {}, asked.data.get("path", ""))
    resumed_body = whole.get(asked.data["call"], body)
    request = sent if resumed_body is body else codec.decode(resumed_body, asked.data.get("path", ""))
    unfinished = frozenset(name for name, one in codec.quirks.items() if one.unfinished and request.stream)
    reply = _reply(replied, done, unfinished) if replied else None
    return Call(
        id=asked.data["call"],
        run=asked.data["run"],
        seq=asked.seq,
        body=body,
        resumed=resumed_body,
        sent=sent,
        request=request,
        reply=reply,
        refused=refused.data if refused else None,
        refused_seq=refused.seq if refused else None,
        done_seq=done.seq if done else None,
        retry_header=asked.data.get("retry_header"),
        side=asked.data.get("side"),
        failed=reply is None or not reply.complete,
        overflow=_overflow(reply, refused),
    )


def _reply(record: Record, done: Record | None, unfinished: frozenset[str]) -> Reply:
    data = record.data
    parts = tuple(data["parts"])
    calls = tuple(ToolCall(p.get("id"), p["name"], p["arguments"]) for p in parts if p["type"] == "tool_call")
    texts = [part["text"] for part in parts if part["type"] == "text"]
    spoken = [text for text in texts if text is not None]
    thoughts = [part["text"] for part in parts if part["type"] == "thinking"]
    sent = data["status"] == 200 and done is not None and done.data["by"] != "cut" and made(data["fault"])
    open_ended = sent and not unfinished.isdisjoint((data["fault"] or {}).get("quirks", ()))
    whole = sent and not open_ended
    # A stop for calls that did not come is one like any other: some proxies cut the calls off and leave their reason.
    asks_nothing = whole and not calls and data["stop"] in ("stop", "tool_calls")
    return Reply(
        seq=record.seq,
        id=data.get("id"),
        status=data["status"],
        parts=parts,
        stop=data["stop"],
        usage=data["usage"],
        fault=data["fault"],
        resolved=tuple(data.get("resolved") or ()),
        observed=tuple(data.get("observed") or ()),
        turn=data["turn"],
        altered=tuple(data.get("altered") or ()),
        complete=whole,
        text="".join(spoken) if spoken else None,
        thinking="".join(thoughts) if thoughts else None,
        calls=calls,
        empty=_empty_shape(texts, bool(thoughts)) if asks_nothing else None,
        unfinished=open_ended,
    )


def _empty_shape(texts: Sequence[str | None], thought: bool) -> str | None:  # noqa: FBT001 - a fact of the reply
    if any(text and text.strip() for text in texts):
        return None
    if thought:
        return "thinking"
    if any(text for text in texts):
        return "blank"
    return "null" if any(text is None for text in texts) else "no_parts"


def _overflow(reply: Reply | None, refused: Record | None) -> bool:
    if refused is not None:
        return bool(refused.data["by"] == "window")
    if reply is None:
        return False
    if reply.complete:
        return reply.stop == "length" and not reply.calls and not (reply.text or "").strip()
    told = told_error(reply.fault)
    return is_overflow(told.get("status", reply.status), told.get("body"))


def _executions(records: Sequence[Record]) -> tuple[Execution, ...]:
    used = [r for r in records if r.source == "tool"]
    ends = {r.data["exec"]: r for r in used if r.type in ("result", "error")}
    made = []
    for record in used:
        if record.type == "start":
            end = ends.get(record.data["exec"])
            made.append(
                Execution(
                    id=record.data["exec"],
                    run=record.data["run"],
                    seq=record.seq,
                    tool=record.data["tool"],
                    call_id=record.data.get("call_id"),
                    arguments=record.data["arguments"],
                    end_seq=end.seq if end else None,
                    value=end.data.get("result") if end else None,
                    error=end.data["error"] if end and end.kind == "tool/error" else None,
                )
            )
    return tuple(made)
