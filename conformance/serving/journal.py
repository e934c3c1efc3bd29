"""A session's records as a recording: runs are begun and ended where requests show it, since nobody else saw them. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from conformance import __version__
from conformance.cell import USUAL_WIRE, Cell
from conformance.dialect import Dialect
from conformance.reading.resumed import NONE, resumed
from conformance.recording import Header, Record, Recording
from conformance.run_input import limits, opening, run_input
from conformance.scenario import RunSpec, Scenario
from conformance.serving.plans import ANYONE, waits_for_anyone
from fake_models.messages import ModelRequest
from fake_models.script import Script
from fake_models.wire import CODECS

#: Whoever asked: nothing says its name.
AGENT: Mapping[str, Any] = {"name": "stand-alone", "version": "unknown", "language": "unknown", "profile": None}


@dataclass(frozen=True, slots=True)
class _Run:
    """A run as it is told in the recording: its spec and AG-UI input, and at which records it begins and ends."""

    id: str
    spec: RunSpec
    given: Mapping[str, Any]
    first: int
    last: int


def journal(plan: Scenario, records: Sequence[Record], under: Dialect, *, chunking: str, dropped: int = 0) -> Recording:
    """
    The recording of a session so far, to be judged under this dialect.

    How a run ended was not seen, so that each ends as returned, or as capped. With records `dropped` from its beginning it
    is incomplete, as one whose end is missing: nothing can be judged that does not begin with the beginning.
    """
    free = waits_for_anyone(plan)
    records, runs = _conversations(plan, records) if free else (records, _scripted(plan, records))
    users = [{"user": run.spec.user} for run in runs]
    return Recording(
        Header(
            kit=__version__,
            scenario={**plan.data, "runs": users} if free and users else plan.data,
            agent=AGENT,
            wire=next((record.data["wire"] for record in records if record.kind == "model/request"), USUAL_WIRE),
            cell=Cell(stream=any(map(_streams, records)), chunking=chunking).data,
            # Tools that nobody asked for here ran elsewhere, or not at all.
            channels=("M", "T") if any(record.source == "tool" for record in records) else ("M",),
            dialect=under.data(),
            apart=True,
        ),
        tuple(_framed(records, runs)),
        complete=not dropped,
    )


def _framed(records: Sequence[Record], runs: Sequence[_Run]) -> Iterator[Record]:
    """The records with each run's beginning and end among them, numbered anew."""
    begins, ends = defaultdict(list), defaultdict(list)
    for run in runs:
        begins[run.first].append(run)
        ends[run.last].append(run)
    seq = 0
    for index, record in enumerate(records):
        starts = [_start(run, records[run.first : run.last + 1]) for run in begins[index]]
        last = {"seq": seq + len(starts) + 1, "kind": record.kind}
        stops = [_end(run, records[run.first : run.last + 1], last) for run in ends[index]]
        for one in (*starts, record, *stops):
            seq += 1
            yield replace(one, seq=seq, at_s=record.at_s)


def _start(run: _Run, within: Sequence[Record]) -> Record:
    asked = next((one for one in within if one.kind == "model/request" and one.data["run"] == run.id), None)
    data = {
        "run": run.id,
        "session": run.given["threadId"],
        "input": run.given,
        "limits": limits(run.spec),
        "tool_choice": run.spec.tool_choice,
        "stream": asked is not None and _streams(asked),
    }
    return Record(0, 0.0, "kit", "run_start", data)


def _end(run: _Run, within: Sequence[Record], last: Mapping[str, Any]) -> Record:
    capped = any(one.kind == "model/refused" and one.data["by"] == "cap" for one in within)
    how = "cap" if capped else "returned"
    data = {"run": run.id, "how": how, "last_seen": last, "stdout_tail": "", "stderr_tail": ""}
    return Record(0, 0.0, "kit", "run_end", data)


def _scripted(plan: Scenario, records: Sequence[Record]) -> tuple[_Run, ...]:
    """The scenario's runs up to the last that was asked for; readers know them by their order, so none begins before another."""
    of = tuple(_runs_of(records))
    runs: list[_Run] = []
    later = len(records)
    for number, spec in reversed(tuple(enumerate(plan.runs, start=1))):
        run = f"r{number}"
        mine = [index for index, name in enumerate(of) if name == run]
        later = min([later, *mine[:1]])
        if later < len(records):
            history = () if any(one.session == spec.session for one in plan.runs[: number - 1]) else opening(plan)
            given = run_input(plan, spec, run=run, thread=spec.session, history=history)
            runs.insert(0, _Run(run, spec, given, later, max([later, *mine])))
    return tuple(runs)


def _runs_of(records: Iterable[Record]) -> Iterator[str | None]:
    """The run of each record: what began there says it, and what came of that has its name."""
    begun: dict[str, str] = {}
    for record in records:
        name = record.data.get("call") if record.source == "model" else record.data.get("exec")
        run = record.data.get("run") or begun.get(name or "")
        if name and run:
            begun[name] = run
        yield run


def _conversations(plan: Scenario, records: Sequence[Record]) -> tuple[tuple[Record, ...], tuple[_Run, ...]]:
    """
    A persona's records with a run for each conversation, and these.

    A request in which no word of the model stands begins one, unless it asks again for what failed.
    """
    runs: list[_Run] = []
    told: list[Record] = []
    failed = False
    whole = resumed(records, USUAL_WIRE)
    for index, record in enumerate(records):
        if record.kind == "model/request":
            request = _decoded(record, whole)
            user = _user(request)
            again = not _opens(request) or (failed and runs and runs[-1].spec.user == user)
            if not runs or not again:
                runs.append(_begun(plan, f"r{len(runs) + 1}", user, request, index))
        elif not runs:
            runs.append(_begun(plan, "r1", ANYONE, None, index))
        failed = _failed(record) or (failed and record.kind != "model/request")
        runs[-1] = replace(runs[-1], last=index)
        told.append(replace(record, data={**record.data, "run": runs[-1].id}) if "run" in record.data else record)
    return tuple(told), tuple(runs)


def _begun(plan: Scenario, run: str, user: str, request: ModelRequest | None, index: int) -> _Run:
    spec = RunSpec(user, Script((), plan.model.persona))
    said = () if request is None else tuple(m for m in request.messages if m.role in ("system", "developer", "user"))
    history = (
        {"id": f"{run}-{n}", "role": m.role, "content": m.content or ""} for n, m in enumerate(said[:-1], start=1)
    )
    given = run_input(plan, spec, run=run, thread="s1", history=history)
    offered = (
        []
        if request is None
        else [
            {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}
            for tool in request.tools or ()
        ]
    )
    return _Run(run, spec, {**given, "tools": offered}, index, index)


def _opens(request: ModelRequest) -> bool:
    return not any(message.role in ("assistant", "tool") for message in request.messages)


def _user(request: ModelRequest) -> str:
    return next((m.content for m in reversed(request.messages) if m.role == "user" and m.content), ANYONE)


def _failed(record: Record) -> bool:
    """Whether the model's last word leaves the agent with nothing, so that it may ask the same again."""
    data = record.data
    match record.kind:
        case "model/reply":
            said = [part for part in data["parts"] if part["type"] == "tool_call" or _words(part)]
            return data["status"] != 200 or data["fault"] is not None or not said
        case "model/reply_done":
            return bool(data["by"] == "cut")
        case kind:
            return kind == "model/refused"


def _words(part: Mapping[str, Any]) -> str:
    return (part["text"] or "").strip() if part["type"] == "text" else ""


def _streams(record: Record) -> bool:
    return record.kind == "model/request" and _decoded(record, NONE).stream


def _decoded(record: Record, whole: Mapping[str, Any]) -> ModelRequest:
    body = whole.get(record.data["call"], record.data["body"])
    return CODECS[record.data["wire"]].decode(body if isinstance(body, Mapping) else {}, record.data["path"])
