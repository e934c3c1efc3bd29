"""
An agent in a process of its own: the agent's end of the command protocol, version 1. Standard library only.

One thread reads what the kit sends. Each session has a thread and an event loop of its own, on which all of the agent's code
for it runs, blocking or not, one run after another. stdout is the protocol's; what the agent prints goes to stderr.
"""

import asyncio
import contextlib
import inspect
import json
import os
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, fields
from queue import SimpleQueue
from typing import Any

from conformance.agent_side.figures import MAX_LINE_BYTES, PROTOCOL
from conformance.agent_side.saying import Say, Taker, logs, raised, taken
from conformance.agent_side.served_bench import clock, served_bench
from conformance.agent_side.terms import InProcessAgent, RunInput, Runner

#: Sessions that are kept open. The kit does not say when one is over; no scenario has as many, and each holds a thread and a loop.
KEPT_SESSIONS = 16

_INPUT = frozenset(field.name for field in fields(RunInput))


def serve(find: Callable[[], InProcessAgent]) -> None:
    """Speak the protocol on stdin and stdout until the kit says bye or is gone. `find` gives the agent; it may print, too."""
    lines, say = _wires()
    agent = find()
    sessions: dict[str, _Session] = {}
    runs: dict[str, str] = {}
    for line in lines:
        message = json.loads(line)
        match message["type"]:
            case "hello":
                say({"type": "ready", "protocol": PROTOCOL, **_introduction(agent)})
            case "run":
                given = RunInput(**{key: value for key, value in message.items() if key in _INPUT})
                runs[given.run] = given.session
                if given.session not in sessions:
                    sessions[given.session] = _Session(agent, say)
                sessions[given.session].begin(given)
                if len(sessions) > KEPT_SESSIONS:
                    sessions.pop(next(iter(sessions))).leave()
            case "cancel" if (session := sessions.get(runs.get(message["run"], ""))) is not None:
                session.cancel(message["run"])
            case "bye":
                break
    for session in sessions.values():
        session.leave()
    for session in sessions.values():
        session.wait()


def _introduction(agent: InProcessAgent) -> dict[str, Any]:
    info = asdict(agent.info)
    named = {key: info.pop(key) for key in ("name", "version", "language")}
    return {"agent": named, **info}


def _wires() -> tuple[Iterable[bytes], Say]:
    """
    The kit's lines, and a function that writes one message a line, whole and at once, whichever thread says it.

    From now on both are this module's own: the agent, its children and its C code print to stderr, and read nothing.
    """
    sys.stdout.flush()
    lines, out = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nowhere, 0)
    os.close(nowhere)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    lock = threading.Lock()

    def say(message: Mapping[str, Any]) -> None:
        text = json.dumps(message, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        # Half a surrogate pair, which UTF-8 cannot hold, becomes its JSON escape.
        line = text.encode("utf-8", "backslashreplace") + b"\n"
        if len(line) > MAX_LINE_BYTES:
            raise ValueError(f"a message of type {message['type']!r} has {len(line)} bytes, at most {MAX_LINE_BYTES}")
        with lock:
            out.write(line)
            out.flush()

    return lines, say


class _Session:
    """One session on its thread."""

    def __init__(self, agent: InProcessAgent, say: Say) -> None:
        self._agent = agent
        self._say = say
        self._runs: SimpleQueue[RunInput | None] = SimpleQueue()
        self._runner: Runner | None = None
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def begin(self, given: RunInput) -> None:
        """Start a run, after those that were started before."""
        self._runs.put(given)

    def cancel(self, run: str) -> None:
        """Tell the agent that a run is not wanted any more. What its `cancel` raises is shown, and ends nothing."""
        cancel = getattr(self._runner, "cancel", None)
        if cancel is not None:
            try:
                cancel(run)
            except Exception:  # noqa: BLE001 - the agent's own
                traceback.print_exc()

    def leave(self) -> None:
        """Close the session once its runs are over."""
        self._runs.put(None)

    def wait(self) -> None:
        """Until it is closed; a run that never ends is left, since the process ends."""
        self._thread.join(timeout=1)

    def _serve(self) -> None:
        with asyncio.Runner() as loop:
            while (given := self._runs.get()) is not None:
                said = self._driven(loop, given)
                self._say(said)
            close = getattr(self._runner, "close", None)
            closed = close() if close is not None else None
            if inspect.isawaitable(closed):
                loop.run(_awaited(closed))

    def _driven(self, loop: asyncio.Runner, given: RunInput) -> dict[str, Any]:
        """One run, its events said as they come; gives the message that ends it."""
        take = Taker(given.run, self._say)
        heard = logs(take.log) if "L" in self._agent.info.channels else contextlib.nullcontext()
        try:
            with heard:
                if self._runner is None:
                    self._runner = self._agent.open(served_bench(given, clock(given)))
                made = self._runner.run(given)
                if hasattr(made, "__aiter__") or inspect.isawaitable(made):
                    loop.run(taken(made, take))
                else:
                    for item in made:
                        take(item)
        except BaseException as error:  # noqa: BLE001 - a SystemExit of the agent ends the run and not the protocol
            return raised(given.run, error)
        return take.result()


async def _awaited(made: Any) -> Any:
    return await made
