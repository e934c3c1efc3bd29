"""The values that pass between the kit and an agent, and what its tools raise. Types only."""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class AgentInfo:
    """
    Who the agent is and what it declares.

    `channels` are letters: M model requests, T tool executions, E events, R result, U usage, L log. `dialect` holds only
    what differs from the recommended values. `capabilities` maps a name to true or to its figures.
    """

    name: str
    version: str = "0"
    language: str = "python"
    wires: tuple[str, ...] = ("openai_chat",)
    profile: str | None = None
    channels: tuple[str, ...] = ("M", "T", "E", "R")
    dialect: Mapping[str, Any] = field(default_factory=dict)
    capabilities: Mapping[str, Any] = field(default_factory=dict)
    knobs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RunInput:
    """
    One run.

    `input` is AG-UI RunAgentInput as JSON (threadId, runId, messages, tools, ...). `limits` holds only what the scenario
    sets. `clock` is RFC 3339. A `deadline_s` of silence ends the run.
    """

    run: str
    session: str
    input: Mapping[str, Any]
    model: Mapping[str, Any] = field(default_factory=dict)
    tools_url: str | None = None
    mcp_url: str | None = None
    limits: Mapping[str, Any] = field(default_factory=dict)
    tool_choice: str | None = None
    knobs: Mapping[str, Any] = field(default_factory=dict)
    stream: bool = False
    clock: str = ""
    deadline_s: float = 5.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """
    How a run ended, yielded last.

    `kind` is one of answered, limit, empty, overflow, truncated, filtered, model_error, tool_error, guard, gate,
    unverified, interrupted, waiting, refused, error. `text` is what the user gets to read.
    """

    kind: str
    reason: str | None = None
    text: str | None = None


class ToolFailed(Exception):  # noqa: N818 - named as the tool's fate, which the agent feeds back
    """
    A tool raised. `type` is its exception's class name; `rejected`: it refused the arguments and did nothing; `timed_out`: it
    was not done within the time that its caller gave it, and may still run.
    """

    def __init__(
        self,
        type: str,  # noqa: A002 - the protocol's word
        message: str,
        *,
        rejected: bool = False,
        timed_out: bool = False,
    ) -> None:
        self.type = type
        self.message = message
        self.rejected = rejected
        self.timed_out = timed_out
        super().__init__(f"{type}: {message}")


def timed_out(tool: str, within_s: float) -> ToolFailed:
    """What a caller gets who would not wait any longer for a tool."""
    return ToolFailed("Timeout", f"{tool} was not done within {within_s:g} s", timed_out=True)


@dataclass(frozen=True, slots=True)
class Bench:
    """
    What the kit hands to an agent, one per session.

    `model` and its three sisters take an OpenAI Chat body and give a body or an iterator of chunks; they raise `ModelError`
    where a provider answers an error and `StreamBroken` where the connection ends before the reply is whole. `transport` and
    its sisters take no arguments and give a transport for httpx2 or httpx; in the kit's process it reaches the model without
    a socket. `call_tool(name, arguments, call_id, within_s)`
    runs a tool, recorded; it raises `ToolFailed`, after `within_s` seconds of the scenario's time if it is not done by then. `tools` maps a name to a callable with keyword arguments. `now` gives the
    scenario's clock, `sleep` and `asleep` let it pass: in the kit's process no real time, in one of its own as much as they say.
    """

    model: Callable[..., dict[str, Any]]
    stream_model: Callable[..., Iterator[dict[str, Any]]]
    amodel: Callable[..., Any]
    astream_model: Callable[..., AsyncIterator[dict[str, Any]]]
    base_url: str
    api_key: str
    model_name: str
    transport: Callable[[], Any]
    async_transport: Callable[[], Any]
    httpx_transport: Callable[[], Any]
    httpx_async_transport: Callable[[], Any]
    tools: Mapping[str, Callable[..., Any]]
    atools: Mapping[str, Callable[..., Any]]
    call_tool: Callable[..., Any]
    acall_tool: Callable[..., Any]
    now: Callable[[], Any]
    sleep: Callable[[float], None]
    asleep: Callable[[float], Any]


class Runner(Protocol):
    """
    An agent with one open session.

    `run` gives an iterator, or an async iterator, of AG-UI events (models or dicts in camelCase) and, last, at most one
    `Outcome`. Optional beside it: `cancel(run)`, with capability `cancel`, called from another thread while the run goes on,
    and `close()`.
    """

    def run(self, given: RunInput) -> Iterator[Any] | AsyncIterator[Any]:
        """Everything that one run gives, in order."""


@dataclass(frozen=True, slots=True)
class InProcessAgent:
    """An agent written in Python: who it is, and how a session with it is opened."""

    info: AgentInfo
    open: Callable[[Bench], Runner]
