"""The runner: plays a scenario to an agent and gives the recording. Drives and records; judges nothing, prints nothing."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from conformance import __version__
from conformance.adapters.base import Agent, End
from conformance.agent_side import AgentInfo, RunInput
from conformance.cell import Cell
from conformance.dialect import CAPABILITIES, CHANNELS, Dialect, DialectError, declaration
from conformance.errors import AgentError, SpecError, guess
from conformance.latch import Meeting
from conformance.needs import Need, NotPlayed, lacked
from conformance.recorder import Recorder
from conformance.recording import Header, Record, Recording
from conformance.resuming import answers, waiting
from conformance.run_input import limits, opening, run_input
from conformance.scenario import Point, RunSpec, Scenario
from conformance.session import Session
from conformance.transcript import transcript
from fake_models.script import asked_quirks
from fake_models.wire import CODECS

#: How long a run that has asked its model waits for those beside it to ask, as a part of the longest silence: an agent may serve
#: one after another.
MEETING = 0.2


@dataclass(frozen=True, slots=True)
class Play:
    """
    A scenario played once in a cell: its recording, or why it could not be played.

    `excused`: what the agent lacks for it, so that it was not played at all.
    """

    scenario: Scenario
    cell: Cell
    turn: int
    recording: Recording | None
    error: str | None = None
    excused: str | None = None


def declared(info: AgentInfo, override: Mapping[str, Any] | None = None) -> Dialect:
    """
    The dialect an agent is judged under: what it declares, with the keys of `override` in place of its own.

    Raises:
        SpecError: it declares a dialect, a channel, a capability or a wire that there is not, contradicts itself, or shows no model
            requests.
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
        said = {key: value for key, value in info.dialect.items() if key not in gone} | dict(over)
        return declaration(said, info.channels, info.capabilities)
    except DialectError as error:
        raise SpecError(f"agent {info.name!r}: {error}") from error


@dataclass(frozen=True, slots=True)
class _Place:
    """An open session: the agent's handle on it and the kit's side. `fresh`: its agent was killed, and a new one took its place."""

    handle: Any
    session: Session
    fresh: bool = False


@dataclass(frozen=True, slots=True)
class _Stage:
    """
    What every run of one play shares.

    `places` are the open sessions, by the scenario's names, and `lost` those whose agent was killed. `killed` are the runs of the
    lot that goes on in which that was done.
    """

    agent: Agent
    plan: Scenario
    cell: Cell
    under: Dialect
    recorder: Recorder
    places: dict[str, _Place] = field(default_factory=dict)
    lost: dict[str, Session] = field(default_factory=dict)
    killed: set[str] = field(default_factory=set)

    def begun(self, name: str) -> list[str]:
        """The runs that were begun of a session by the scenario's name for it, under whatever name its agents had it."""
        of = {f"r{number}": spec.session for number, spec in enumerate(self.plan.runs, start=1)}
        starts = (r.data["run"] for r in self.recorder.records if r.kind == "kit/run_start")
        return [run for run in starts if of[run] == name]


@dataclass(frozen=True, slots=True)
class _Ready:
    """A run that can begin."""

    place: _Place
    spec: RunSpec
    given: RunInput


#: Begins to keep a recording: takes its header and gives what takes its records, one by one as they are made.
Keep = Callable[[Header], Callable[[Record], None]]


async def play(agent: Agent, plan: Scenario, cell: Cell, under: Dialect, keep: Keep | None = None) -> Recording:
    """
    Play every run of a scenario, in order, and give what was recorded; `keep` gets it while it is made.

    A run that answers one that waits for nothing is not played, nor is what comes after it: there is nothing to answer.

    Raises:
        NotPlayed: the agent lacks what the scenario needs, or the cell's wire what the scenario asks for.
        AgentError: a session could not be opened, or its agent ended itself when no run of it went on any more. What the agent
            does in between is recorded, never raised.
    """
    _playable(agent, plan)
    if lacking := _lacking(plan, cell):
        raise NotPlayed(plan, Need("wire", f"with {', '.join(lacking)}"))
    agent.on_time(plan.clock)
    header = _header(agent, plan, cell, under)
    recorder = Recorder(plan.clock, agent.on_time, *(() if keep is None else (keep(header),)))
    stage = _Stage(agent, plan, cell, under, recorder)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(_close, stage, all_of_them=True)
        for batch in batches(plan.runs):
            ready = [await _ready(stage, number, spec) for number, spec in batch]
            if None in ready:
                break
            ends = await _together(stage, [one for one in ready if one is not None])
            if any(end.gone for end in ends) or agent.stuck:
                break
            await _close(stage)
    return recorder.seal(header)


def batches(runs: Sequence[RunSpec]) -> list[list[tuple[int, RunSpec]]]:
    """The runs, numbered from 1, in the lots that go on at once."""
    lots: list[list[tuple[int, RunSpec]]] = []
    for number, spec in enumerate(runs, start=1):
        if spec.start == "with" and lots:
            lots[-1].append((number, spec))
        else:
            lots.append([(number, spec)])
    return lots


def _playable(agent: Agent, plan: Scenario) -> None:
    if (need := lacked(plan, agent.info, can_be_killed=agent.can_be_killed)) is not None:
        raise NotPlayed(plan, need)


async def _ready(stage: _Stage, number: int, spec: RunSpec) -> _Ready | None:
    """What a run is given, in a session that is opened if need be; None where it would answer what nobody asked."""
    before = _shown(stage, spec.session)
    place = stage.places.get(spec.session) or await _open(stage, spec.session)
    history = _carried(stage, place) if stage.begun(spec.session) else opening(stage.plan)
    resume = None
    if spec.resume is not None:
        resume = answers(spec.resume, waiting(before))
        if resume is None:
            return None
    stage.places[spec.session] = replace(place, fresh=False)
    return _Ready(place, spec, _given(f"r{number}", stage, spec, place.session.thread, history, resume))


async def _open(stage: _Stage, name: str) -> _Place:
    session = stage.lost.pop(name, None)
    fresh = session is not None
    if session is None:
        session = Session(
            name, stage.plan, stage.under, stage.recorder, chunking=stage.cell.chunking, wire=stage.cell.wire
        )
    session.revive()
    return stage.places.setdefault(name, _Place(await stage.agent.open(session), session, fresh))


async def _close(stage: _Stage, *, all_of_them: bool = False) -> None:
    """Close the sessions that a kill took: the killed one's and, where the agent is a process, all; or all at the end."""
    # All are closed, the last one first, though one of them raises.
    async with AsyncExitStack() as closing:
        for name, place in tuple(stage.places.items()):
            if all_of_them or (stage.killed and (stage.agent.apart or place.session.killed)):
                stage.lost[name] = stage.places.pop(name).session
                closing.push_async_callback(stage.agent.close, place.handle)
    stage.killed.clear()


async def _together(stage: _Stage, ready: Sequence[_Ready]) -> list[End]:
    """Play runs that go on at once: all are begun before any is driven, and each ends by itself."""
    meeting = None
    if len(ready) > 1:
        meeting = Meeting(frozenset(one.given.run for one in ready), stage.plan.deadline_s * MEETING)
    for one in ready:
        _begin(stage, one, meeting)
    if len(ready) == 1:
        return [await _run(stage, ready[0])]
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(_run(stage, one)) for one in ready]
    return [task.result() for task in tasks]


def _begin(stage: _Stage, one: _Ready, meeting: Meeting | None) -> None:
    given, spec = one.given, one.spec
    told = ("run", "session", "input", "limits", "tool_choice", "stream", *(("knobs",) if given.knobs else ()))
    stage.recorder("kit", "run_start", {key: getattr(given, key) for key in told})
    one.place.session.begin(given, spec, meeting)
    for word, point, act in (("cancel", spec.cancel, _cancel), ("kill", spec.kill, _kill)):
        if point is not None:
            one.place.session.step_in(given.run, point, partial(act, stage, one, word, point))


def _cancel(stage: _Stage, one: _Ready, word: str, point: Point) -> None:
    stage.recorder("kit", word, {"run": one.given.run, "point": point})
    stage.agent.cancel(one.place.handle, one.given.run)
    one.place.session.free(one.given.run)


def _kill(stage: _Stage, one: _Ready, word: str, point: Point) -> None:
    stage.recorder("kit", word, {"run": one.given.run, "point": point})
    stage.killed.add(one.given.run)
    # What a dying thread of it still says, nobody hears.
    stage.recorder.mute(one.given.run)
    stage.agent.kill(one.place.handle, one.given.run)


def _lacking(plan: Scenario, cell: Cell) -> tuple[str, ...]:
    """The quirks that a scenario asks for and that the cell's wire cannot have."""
    return tuple(
        dict.fromkeys(name for spec in plan.runs for _, name in asked_quirks(spec.script, CODECS[cell.wire].quirks))
    )


async def _run(stage: _Stage, one: _Ready) -> End:
    recorder, session, given = stage.recorder, one.place.session, one.given
    end = await stage.agent.run(one.place.handle, session.connection(given), recorder, deadline_s=stage.plan.deadline_s)
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


def _carried(stage: _Stage, place: _Place) -> tuple[Mapping[str, Any], ...]:
    """
    What a later run of a session carries before its user text.

    To an agent that took a killed one's place, what a store would hold of the session. Else nothing for an agent that keeps
    sessions, and for others the history that it last showed as a snapshot, as its client would.
    """
    if place.fresh:
        return transcript(stage.recorder.records, stage.begun(place.session.name))
    if stage.agent.info.capabilities.get("sessions"):
        return ()
    for event in reversed(_shown(stage, place.session.name, last=False)):
        if event.get("type") == "MESSAGES_SNAPSHOT" and isinstance(event.get("messages"), list):
            return tuple(event["messages"])
    return ()


def _shown(stage: _Stage, name: str, *, last: bool = True) -> list[Mapping[str, Any]]:
    """The events of a session's runs, or of the last of them."""
    mine = stage.begun(name)[-1:] if last else stage.begun(name)
    return [r.data["event"] for r in stage.recorder.records if r.kind == "agent/event" and r.data["run"] in mine]


def _given(  # noqa: PLR0917 - all that a run is given
    run: str,
    stage: _Stage,
    spec: RunSpec,
    thread: str,
    history: Iterable[Mapping[str, Any]],
    resume: Iterable[Mapping[str, Any]] | None,
) -> RunInput:
    plan = stage.plan
    return RunInput(
        run=run,
        session=thread,
        input=run_input(plan, spec, run=run, thread=thread, history=history, resume=resume),
        limits=limits(spec),
        tool_choice=spec.tool_choice,
        knobs=spec.knobs,
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
                    _playable(agent, plan)
                    here = play(agent, plan, cell, under, keep(plan, cell, turn)) if not agent.stuck else None
                    recording = await (here or elsewhere(plan, cell))
                    yield Play(plan, cell, turn, recording)
                except NotPlayed as lacking:
                    yield Play(plan, cell, turn, None, excused=lacking.excuse)
                except AgentError as error:
                    yield Play(plan, cell, turn, None, str(error))
