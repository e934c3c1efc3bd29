"""What the loop asks of the world, as values, and the two drivers that carry it out. The drivers decide nothing."""

import asyncio
from collections.abc import AsyncIterator, Generator, Iterator, Mapping
from dataclasses import dataclass, field
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
class Execution:
    """One tool to run with arguments that were found right."""

    tool: str
    arguments: Mapping[str, Any]
    call_id: str


@dataclass(frozen=True, slots=True)
class Act:
    """Run these tools; the answer has what each returned or its `ToolFailed`, in their order. They may overlap if `overlap`."""

    executions: tuple[Execution, ...] = field(default_factory=tuple)
    overlap: bool = False


@dataclass(frozen=True, slots=True)
class Wait:
    """Let so many seconds of the scenario's time pass."""

    delay_s: float


Event = dict[str, Any]
#: A program of steps: it yields steps, events and one outcome, is sent the answers, and returns `_Got`.
Steps = Generator[Any, Any, _Got]


def drive(steps: Steps[None], bench: Bench) -> Iterator[Event | Outcome]:
    """Carry out a program of steps in this thread; what is no step comes out."""
    answer: Any = None
    failure: Exception | None = None
    while True:
        try:
            step = steps.send(answer) if failure is None else steps.throw(failure)
        except StopIteration:
            return
        answer, failure = None, None
        try:
            match step:
                case Ask(body, headers):
                    answer = bench.model(body, headers=headers)
                case Open(body, headers):
                    answer = bench.stream_model(body, headers=headers)
                case Read(stream):
                    answer = next(stream, None)
                case Act(executions):
                    answer = [_ran(bench, one) for one in executions]
                case Wait(delay_s):
                    bench.sleep(delay_s)
                case _:
                    yield step
        except Exception as error:  # noqa: BLE001 - the program knows which failures are its own, the driver does not
            failure = error


async def adrive(steps: Steps[None], bench: Bench) -> AsyncIterator[Event | Outcome]:
    """`drive` on an event loop."""
    answer: Any = None
    failure: Exception | None = None
    while True:
        try:
            step = steps.send(answer) if failure is None else steps.throw(failure)
        except StopIteration:
            return
        answer, failure = None, None
        try:
            match step:
                case Ask(body, headers):
                    answer = await bench.amodel(body, headers=headers)
                case Open(body, headers):
                    answer = bench.astream_model(body, headers=headers)
                case Read(stream):
                    answer = await anext(stream, None)
                case Act(executions, overlap=True):
                    answer = await asyncio.gather(*(_aran(bench, one) for one in executions))
                case Act(executions):
                    answer = [await _aran(bench, one) for one in executions]
                case Wait(delay_s):
                    await bench.asleep(delay_s)
                case _:
                    yield step
        except Exception as error:  # noqa: BLE001 - the program knows which failures are its own, the driver does not
            failure = error


def _ran(bench: Bench, one: Execution) -> Any:
    try:
        return bench.call_tool(one.tool, one.arguments, one.call_id)
    except ToolFailed as failed:
        return failed


async def _aran(bench: Bench, one: Execution) -> Any:
    try:
        return await bench.acall_tool(one.tool, one.arguments, one.call_id)
    except ToolFailed as failed:
        return failed
