"""The runner: plays a scenario to an agent and gives the recording. Drives and records; judges nothing, prints nothing."""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass
from typing import Any

from conformance import __version__
from conformance.adapters.base import Agent
from conformance.agent_side import AgentInfo, RunInput
from conformance.dialect import Dialect, DialectError, dialect
from conformance.errors import AgentError
from conformance.recorder import Recorder
from conformance.recording import Header, Record, Recording
from conformance.scenario import Limits, RunSpec, Scenario
from conformance.session import Session


@dataclass(frozen=True, slots=True)
class Cell:
    """One way to play a scenario: streamed or not, and how a streamed reply is cut into chunks."""

    stream: bool = False
    chunking: str = "whole"

    @property
    def name(self) -> str:
        """As reports call it."""
        return f"streaming/{self.chunking}" if self.stream else "blocking"


@dataclass(frozen=True, slots=True)
class Play:
    """A scenario played once in a cell: its recording, or why it could not be played."""

    scenario: Scenario
    cell: Cell
    turn: int
    recording: Recording | None
    error: str | None = None


def cells_of(info: AgentInfo) -> tuple[Cell, ...]:
    """The cells an agent is played in: blocking, and streaming where it declares that."""
    return (Cell(), Cell(stream=True)) if info.capabilities.get("streaming") else (Cell(),)


def declared(info: AgentInfo, override: Mapping[str, Any] | None = None) -> Dialect:
    """
    The dialect an agent is judged under.

    Raises:
        AgentError: it declares what no dialect allows.
    """
    try:
        return dialect(info.dialect if override is None else override)
    except DialectError as error:
        raise AgentError(f"agent {info.name!r}: {error}") from error


async def play(agent: Agent, plan: Scenario, cell: Cell, under: Dialect) -> Recording:
    """
    Play every run of a scenario, in order, and give what was recorded.

    Raises:
        AgentError: a session could not be opened. What the agent does after that is recorded, never raised.
    """
    agent.on_time(plan.clock)
    recorder = Recorder(plan.clock, agent.on_time)
    handles: dict[str, tuple[Any, Session]] = {}
    async with AsyncExitStack() as stack:
        for number, spec in enumerate(plan.runs, start=1):
            if spec.session not in handles:
                session = Session(spec.session, plan, under, recorder, chunking=cell.chunking)
                handle = await agent.open(session)
                stack.push_async_callback(agent.close, handle)
                handles[spec.session] = (handle, session)
                history: tuple[Mapping[str, Any], ...] = _opening(plan)
            else:
                history = (
                    () if agent.info.capabilities.get("sessions") else _shown(recorder.records, spec.session, number)
                )
            given = _given(f"r{number}", spec, plan, cell, history, handles[spec.session][1])
            await _run(agent, *handles[spec.session], given, spec, recorder, plan)
            if agent.stuck:
                break
    return recorder.seal(_header(agent.info, plan, cell, under))


async def _run(
    agent: Agent, handle: Any, session: Session, given: RunInput, spec: RunSpec, recorder: Recorder, plan: Scenario
) -> None:
    recorder.listen()
    start = {key: getattr(given, key) for key in ("run", "session", "input", "limits", "tool_choice", "stream")}
    recorder("kit", "run_start", start)
    session.begin(given, spec)
    end = await agent.run(handle, given, recorder, deadline_s=plan.deadline_s)
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


def _opening(plan: Scenario) -> tuple[Mapping[str, Any], ...]:
    """What a session's first run carries before its user text."""
    system = () if plan.system is None else ({"id": "system", "role": "system", "content": plan.system},)
    return (*system, *plan.history)


def _shown(records: Sequence[Record], session: str, number: int) -> tuple[Mapping[str, Any], ...]:
    """The history that an agent without sessions last showed as a snapshot, which its client would send back."""
    mine = {r.data["run"] for r in records if r.kind == "kit/run_start" and r.data["session"] == session}
    for record in reversed(records):
        event = record.data.get("event", {}) if record.kind == "agent/event" and record.data["run"] in mine else {}
        if event.get("type") == "MESSAGES_SNAPSHOT" and isinstance(event.get("messages"), list):
            return tuple(event["messages"])
    return ()


def _given(
    run: str, spec: RunSpec, plan: Scenario, cell: Cell, history: Iterable[Mapping[str, Any]], session: Session
) -> RunInput:
    messages = list(history)
    if spec.user is not None:
        messages.append({"id": f"user-{run}", "role": "user", "content": spec.user})
    offered = [
        {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
        | ({"metadata": {"approval": True}} if tool.approval else {})
        for tool in plan.tools.values()
    ]
    return RunInput(
        run=run,
        session=spec.session,
        input={
            "threadId": spec.session,
            "runId": run,
            "state": {},
            "messages": messages,
            "tools": offered,
            "context": [],
            "forwardedProps": {},
        },
        model={
            "wire": "openai_chat",
            "name": session.model_name,
            "base_url": session.base_url,
            "api_key": session.api_key,
        },
        limits=_set(spec.limits),
        tool_choice=spec.tool_choice,
        stream=cell.stream if spec.stream is None else spec.stream,
        clock=plan.clock.isoformat(),
        deadline_s=plan.deadline_s,
    )


def _set(limits: Limits) -> dict[str, Any]:
    return {key: value for key, value in asdict(limits).items() if value is not None}


def _header(info: AgentInfo, plan: Scenario, cell: Cell, under: Dialect) -> Header:
    return Header(
        kit=__version__,
        scenario=plan.data,
        agent={"name": info.name, "version": info.version, "language": info.language, "profile": info.profile},
        cell={"stream": cell.stream, "chunking": cell.chunking},
        channels=tuple(info.channels),
        dialect=under.data(),
        capabilities=dict(info.capabilities),
    )


async def play_all(
    agent: Agent,
    plans: Sequence[Scenario],
    under: Dialect,
    *,
    cells: Sequence[Cell],
    repeat: int = 1,
    elsewhere: Callable[[Scenario, Cell], Any] | None = None,
) -> AsyncIterator[Play]:
    """
    Play scenarios one after another, each in every cell and as often as asked.

    Once the agent is stuck in this process, `elsewhere` plays the rest, where it is given.
    """
    for plan in plans:
        for cell in cells:
            for turn in range(repeat):
                try:
                    if agent.stuck and elsewhere is None:
                        raise AgentError(f"agent {agent.info.name!r} hung in an earlier scenario and cannot be ended")
                    recording = await (
                        elsewhere(plan, cell) if agent.stuck and elsewhere else play(agent, plan, cell, under)
                    )
                    yield Play(plan, cell, turn, recording)
                except AgentError as error:
                    yield Play(plan, cell, turn, None, str(error))
