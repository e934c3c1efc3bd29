"""The seam between the kit and an agent under test: how it is reached, and how one run of it is driven. Types only."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Protocol

from conformance.agent_side import AgentInfo, RunInput
from conformance.recorder import Recorder
from conformance.session import Session

#: How a run ended, from the kit's side.
How = Literal["returned", "raised", "died", "hung", "cap", "cancelled"]


@dataclass(frozen=True, slots=True)
class End:
    """
    How a run ended, and the last that was seen of an agent that is a process.

    `gone`: the agent is not there any more, so the scenario's further runs cannot be played.
    """

    how: How
    stdout_tail: str = ""
    stderr_tail: str = ""
    gone: bool = False


class Agent(Protocol):
    """
    An agent that answers.

    `open` begins a session and gives its handle, which the others take back. `run` drives one run to its end, recording all that
    the agent says; it never raises for what the agent does, and several may go on at once, each ending by itself. `stuck`: the agent cannot be used any more in
    this process, since something of it still runs and cannot be ended. `apart`: it is a process of its own. `can_be_killed`:
    `kill` is more than a word. `on_time` is told when the scenario's clock moves.
    """

    info: AgentInfo
    stuck: bool
    apart: bool
    can_be_killed: bool
    on_time: Callable[[datetime], None]

    async def open(self, session: Session) -> Any:
        """Begin a session, or begin it anew after a kill; AgentError where the agent cannot."""

    async def run(self, handle: Any, given: RunInput, recorder: Recorder, *, deadline_s: float) -> End:
        """Drive one run to its end, recording what is seen. AgentError where it turns out that there is no agent."""

    def cancel(self, handle: Any, run: str) -> None:
        """
        Ask the agent to end a run, with capability `cancel`; its terminal event and its result are still owed.

        Called where the run is, on whichever thread that is, and comes back once the agent was asked.
        """

    def kill(self, handle: Any, run: str) -> None:
        """End the agent where the run is, as a crash does; called like `cancel`, and need not come back. Its sessions are lost."""

    async def close(self, handle: Any) -> None:
        """End a session. AgentError where the agent ended itself after its last run."""


@dataclass(frozen=True, slots=True)
class Adapter:
    """
    A way to reach agents. `connect` takes what stands after `kind:` and raises AgentError where there is no such agent.

    `keeps`: a connection may stay open while other things go on in this process, since it changes nothing of it.
    """

    kind: str
    help: str
    connect: Callable[[str], AbstractAsyncContextManager[Agent]]
    keeps: bool = True
