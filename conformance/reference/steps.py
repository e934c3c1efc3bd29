"""What the loop asks of the world, as values, and the two drivers that carry it out. The drivers decide nothing."""

import asyncio
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, TypeVar

from conformance.agent_side import Bench, Outcome, ToolFailed

_Got = TypeVar("_Got")


@dataclass(frozen=True, slots=True)
class Ask:
    """Send a body to the model; the answer is the reply's body. Raises what the model raises."""

    body: Mapping[str, Any]
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Open:
    """Send a body to the model as a stream; the answer is an opaque stream to `Read` from."""

    body: Mapping[str, Any]
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Read:
    """The stream's next chunk; the answer is None at its end. Raises what the model raises."""

    stream: Any


@dataclass(frozen=True, slots=True)
class Close:
    """Nothing more is read from this stream: its connection can end."""

    stream: Any


@dataclass(frozen=True, slots=True)
class Execution:
    """One tool to run with arguments that were found right."""

    tool: str
    arguments: Mapping[str, Any]
    call_id: str


class NotRun(Enum):
    """What the answer to `Act` has for a tool that was not begun, since the run was cancelled before."""

    NOT_RUN = "not run"


NOT_RUN = NotRun.NOT_RUN


@dataclass(frozen=True, slots=True)
class Act:
    """
    Run these tools; the answer has what each returned or its `ToolFailed`, in their order.

    They may overlap if `overlap`. One that takes longer than `within_s` seconds is left.
    """

    executions: tuple[Execution, ...] = field(default_factory=tuple)
    overlap: bool = False
    within_s: float | None = None


@dataclass(frozen=True, slots=True)
class Wait:
    """Let so many seconds of the scenario's time pass."""

    delay_s: float


Event = dict[str, Any]
#: A program of steps: it yields steps, events and one outcome, is sent the answers, and returns `_Got`.
Steps = Generator[Any, Any, _Got]


#: What is asked of the world; all else that a program yields is shown.
STEPS = (Ask, Open, Read, Close, Act, Wait)


def drive(steps: Steps[None], bench: Bench, cancelled: Callable[[], bool]) -> Iterator[Event | Outcome]:
    """Carry out a program of steps in this thread; what is no step comes out. Once `cancelled`, no tool is begun."""
    answer: Any = None
    failure: Exception | None = None
    while True:
        try:
            step = steps.send(answer) if failure is None else steps.throw(failure)
        except StopIteration:
            return
        answer, failure = None, None
        if not isinstance(step, STEPS):
            yield step
            continue
        try:
            answer = _answer(step, bench, cancelled)
        except Exception as error:  # noqa: BLE001 - the program knows which failures are its own, the driver does not
            failure = error


async def adrive(steps: Steps[None], bench: Bench, cancelled: Callable[[], bool]) -> AsyncIterator[Event | Outcome]:
    """`drive` on an event loop."""
    answer: Any = None
    failure: Exception | None = None
    while True:
        try:
            step = steps.send(answer) if failure is None else steps.throw(failure)
        except StopIteration:
            return
        answer, failure = None, None
        if not isinstance(step, STEPS):
            yield step
            continue
        try:
            answer = await _aanswer(step, bench, cancelled)
        except Exception as error:  # noqa: BLE001 - the program knows which failures are its own, the driver does not
            failure = error


def _answer(step: Any, bench: Bench, cancelled: Callable[[], bool]) -> Any:
    match step:
        case Ask(body, headers):
            return bench.model(body, headers=headers)
        case Open(body, headers):
            return bench.stream_model(body, headers=headers)
        case Read(stream):
            return next(stream, None)
        case Close(stream):
            return stream.close()
        case Act(executions, within_s=within_s):
            return [NOT_RUN if cancelled() else _ran(bench, one, within_s) for one in executions]
        case Wait(delay_s):
            return bench.sleep(delay_s)


async def _aanswer(step: Any, bench: Bench, cancelled: Callable[[], bool]) -> Any:
    match step:
        case Ask(body, headers):
            return await bench.amodel(body, headers=headers)
        case Open(body, headers):
            return bench.astream_model(body, headers=headers)
        case Read(stream):
            return await anext(stream, None)
        case Close(stream):
            return await stream.aclose()
        case Act():
            return await _aacted(step, bench, cancelled)
        case Wait(delay_s):
            return await bench.asleep(delay_s)


async def _aacted(step: Act, bench: Bench, cancelled: Callable[[], bool]) -> list[Any]:
    if step.overlap and not cancelled():
        return await asyncio.gather(*(_aran(bench, one, step.within_s) for one in step.executions))
    return [NOT_RUN if cancelled() else await _aran(bench, one, step.within_s) for one in step.executions]


def _ran(bench: Bench, one: Execution, within_s: float | None) -> Any:
    try:
        return bench.call_tool(one.tool, one.arguments, one.call_id, within_s=within_s)
    except ToolFailed as failed:
        return failed


async def _aran(bench: Bench, one: Execution, within_s: float | None) -> Any:
    try:
        return await bench.acall_tool(one.tool, one.arguments, one.call_id, within_s=within_s)
    except ToolFailed as failed:
        return failed
