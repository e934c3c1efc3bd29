"""The runner: plays a scenario to an agent and gives the recording. Drives and records; judges nothing, prints nothing."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

from conformance import __version__
from conformance.adapters.base import Agent, End
from conformance.agent_side import AgentInfo, RunInput
from conformance.cell import Cell
from conformance.dialect import CAPABILITIES, CHANNELS, Dialect, DialectError, dialect
from conformance.errors import AgentError, SpecError, guess
from conformance.recorder import Recorder
from conformance.recording import Header, Record, Recording
from conformance.run_input import limits, opening, run_input
from conformance.scenario import RunSpec, Scenario
from conformance.session import Session
from fake_models.script import asked_quirks
from fake_models.wire import CODECS


@dataclass(frozen=True, slots=True)
class Play:
    """A scenario played once in a cell: its recording, or why it could not be played."""

    scenario: Scenario
    cell: Cell
    turn: int
    recording: Recording | None
    error: str | None = None


def declared(info: AgentInfo, override: Mapping[str, Any] | None = None) -> Dialect:
    """
    The dialect an agent is judged under: what it declares, with the keys of `override` in place of its own.

    Raises:
        SpecError: it declares a dialect, a channel, a capability or a wire that there is not, or that it shows no model requests.
    """
    for what, said, known in (
        ("channel", info.channels, CHANNELS),
        ("capability", info.capabilities, CAPABILITIES),
        ("wire", info.wires, CODECS),
    ):
        odd = next((one for one in said if one not in known), None)
        if odd is not None:
            raise SpecError(
                f"agent {info.name!r}: it declares {what} {odd!r}, which there is not{guess(str(odd), known)}"
            )
    if not info.wires:
        raise SpecError(f"agent {info.name!r}: it declares no wire, expected at least one of {', '.join(CODECS)}")
    if "M" not in info.channels:
        raise SpecError(
            f"agent {info.name!r}: it declares channels {list(info.channels)!r}; without M nothing can be judged"
        )
    over = override or {}
    # The shorthand stands for both its parts, so that parts the agent declares do not outlive it.
    gone = {"limit_text", "limit_terminal"} if "on_limit" in over else set()
    try:
        return dialect({key: value for key, value in info.dialect.items() if key not in gone} | dict(over))
    except DialectError as error:
        raise SpecError(f"agent {info.name!r}: {error}") from error


@dataclass(frozen=True, slots=True)
class _Stage:
    """What every run of one play shares."""

    agent: Agent
    plan: Scenario
    cell: Cell
    under: Dialect
    recorder: Recorder


#: Begins to keep a recording: takes its header and gives what takes its records, one by one as they are made.
Keep = Callable[[Header], Callable[[Record], None]]


async def play(agent: Agent, plan: Scenario, cell: Cell, under: Dialect, keep: Keep | None = None) -> Recording:
    """
    Play every run of a scenario, in order, and give what was recorded; `keep` gets it while it is made.

    Raises:
        AgentError: a session could not be opened, or the scenario asks for what this runner does not drive. What the agent
            does after that is recorded, never raised.
    """
    _driven(plan, cell)
    agent.on_time(plan.clock)
    header = _header(agent, plan, cell, under)
    recorder = Recorder(plan.clock, agent.on_time, *(() if keep is None else (keep(header),)))
    stage = _Stage(agent, plan, cell, under, recorder)
    open_sessions: dict[str, tuple[Any, Session]] = {}
    async with AsyncExitStack() as stack:
        for number, spec in enumerate(plan.runs, start=1):
            if spec.session in open_sessions:
                handle, session = open_sessions[spec.session]
                history = _carried(stage, session.thread)
            else:
                session = Session(spec.session, plan, under, stage.recorder, chunking=cell.chunking, wire=cell.wire)
                handle = await agent.open(session)
                stack.push_async_callback(agent.close, handle)
                open_sessions[spec.session] = (handle, session)
                history = opening(plan)
            end = await _run(stage, handle, session, spec, _given(f"r{number}", stage, spec, session.thread, history))
            if end.gone or agent.stuck:
                break
    return recorder.seal(header)


def _driven(plan: Scenario, cell: Cell) -> None:
    """Refuse what would be played as something else than it says: a run that is cancelled, resumes, or goes beside another."""
    for index, spec in enumerate(plan.runs):
        asked = [key for key in ("cancel", "resume") if getattr(spec, key) is not None]
        asked += ["start: with"] if spec.start == "with" else []
        if asked:
            raise AgentError(
                f"scenario {plan.id!r}: runs[{index}] asks for {asked[0]!r}, which this version does not drive"
            )
    if lacking := _lacking(plan, cell):
        raise AgentError(
            f"scenario {plan.id!r}: it asks for {', '.join(lacking)}, which wire {cell.wire!r} has not; it has "
            f"{', '.join(CODECS[cell.wire].quirks)}"
        )


def _lacking(plan: Scenario, cell: Cell) -> tuple[str, ...]:
    """The quirks that a scenario asks for and that the cell's wire cannot have."""
    return tuple(
        dict.fromkeys(name for spec in plan.runs for _, name in asked_quirks(spec.script, CODECS[cell.wire].quirks))
    )


async def _run(stage: _Stage, handle: Any, session: Session, spec: RunSpec, given: RunInput) -> End:
    recorder = stage.recorder
    recorder.listen()
    start = {key: getattr(given, key) for key in ("run", "session", "input", "limits", "tool_choice", "stream")}
    recorder("kit", "run_start", start)
    session.begin(given, spec)
    end = await stage.agent.run(handle, session.connection(given), recorder, deadline_s=stage.plan.deadline_s)
    session.finish(given.run)
    last = recorder.records[-1]
    data = {
        "run": given.run,
        "how": end.how,
        "last_seen": {"seq": last.seq, "kind": last.kind},
        "stdout_tail": end.stdout_tail,
        "stderr_tail": end.stderr_tail,
    }
    recorder("kit", "run_end", data)
    return end


def _carried(stage: _Stage, session: str) -> tuple[Mapping[str, Any], ...]:
    """
    What a later run of a session carries before its user text.

    Nothing for an agent that keeps sessions; else the history that it last showed as a snapshot, as its client would.
    """
    if stage.agent.info.capabilities.get("sessions"):
        return ()
    records = stage.recorder.records
    mine = {r.data["run"] for r in records if r.kind == "kit/run_start" and r.data["session"] == session}
    for record in reversed(records):
        event = record.data["event"] if record.kind == "agent/event" and record.data["run"] in mine else {}
        if event.get("type") == "MESSAGES_SNAPSHOT" and isinstance(event.get("messages"), list):
            return tuple(event["messages"])
    return ()


def _given(run: str, stage: _Stage, spec: RunSpec, thread: str, history: Iterable[Mapping[str, Any]]) -> RunInput:
    plan = stage.plan
    return RunInput(
        run=run,
        session=thread,
        input=run_input(plan, spec, run=run, thread=thread, history=history),
        limits=limits(spec),
        tool_choice=spec.tool_choice,
        stream=stage.cell.stream if spec.stream is None else spec.stream,
        clock=plan.clock.isoformat(),
        deadline_s=plan.deadline_s,
    )


def _header(agent: Agent, plan: Scenario, cell: Cell, under: Dialect) -> Header:
    info = agent.info
    return Header(
        kit=__version__,
        scenario=plan.data,
        agent={"name": info.name, "version": info.version, "language": info.language, "profile": info.profile},
        wire=cell.wire,
        cell=cell.data,
        channels=tuple(info.channels),
        dialect=under.data(),
        capabilities=dict(info.capabilities),
        apart=agent.apart,
    )


async def play_all(
    agent: Agent,
    plans: Sequence[Scenario],
    under: Dialect,
    *,
    cells: Sequence[Cell],
    repeat: int = 1,
    elsewhere: Callable[[Scenario, Cell], Awaitable[Recording]],
    keep: Callable[[Scenario, Cell, int], Keep | None] = lambda _plan, _cell, _turn: None,
) -> AsyncIterator[Play]:
    """
    Play scenarios one after another, each in every cell and as often as asked.

    A cell whose wire cannot have what the scenario asks for is left out, unless none is left.

    Once the agent is stuck in this process, `elsewhere` plays the rest. `keep` says where each play is kept while it is made.
    """
    for plan in plans:
        for cell in [one for one in cells if not _lacking(plan, one)] or cells:
            for turn in range(repeat):
                try:
                    here = play(agent, plan, cell, under, keep(plan, cell, turn)) if not agent.stuck else None
                    recording = await (here or elsewhere(plan, cell))
                    yield Play(plan, cell, turn, recording)
                except AgentError as error:
                    yield Play(plan, cell, turn, None, str(error))
