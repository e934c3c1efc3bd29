"""`codex app-server`: one process for all sessions, which says and hears JSON-RPC, a line each."""

import contextlib
import json
import os
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from pathlib import Path
from queue import SimpleQueue
from tempfile import mkdtemp
from typing import Any

ENVIRONMENT = Path(os.environ["CONFORMANCE_ENVIRONMENT"])
#: The program that the package brings for this machine, as its launcher finds it (bin/codex.js).
PROGRAM = next(ENVIRONMENT.glob("room/node_modules/@openai/codex-*/vendor/*/bin/codex"), None)

Message = dict[str, Any]
#: How a call of a tool is answered: by its parameters, with the response.
Answer = Callable[[Message], Message]


class Server:
    """
    The process, with what it says of each thread in a queue of its own.

    Raises:
        RuntimeError: a request of ours was refused; the message is the server's.
    """

    def __init__(self) -> None:
        home = Path(mkdtemp())
        self._numbers = count()
        self._lock = threading.Lock()
        self._answers: dict[Any, SimpleQueue[Message]] = {}
        self._said: dict[str, SimpleQueue[Message]] = {}
        self._tools: dict[str, Answer] = {}
        self._process = subprocess.Popen(  # noqa: S603 - our own
            # No telemetry, and no look for updates.
            [str(PROGRAM), "app-server", "-c", "analytics.enabled=false", "-c", "check_for_update_on_startup=false"],
            env={"PATH": os.environ["PATH"], "HOME": str(home), "CODEX_HOME": str(home), "RUST_LOG": "off"},
            cwd=home,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        threading.Thread(target=self._read, daemon=True).start()
        client = {"name": "conformance", "title": None, "version": "1"}
        # Tools that the client runs are behind this switch.
        self.ask("initialize", clientInfo=client, capabilities={"experimentalApi": True})
        self._say({"method": "initialized"})

    def ask(self, method: str, **params: Any) -> Message:
        """A request's result."""
        number = next(self._numbers)
        waiting: SimpleQueue[Message] = SimpleQueue()
        self._answers[number] = waiting
        self._say({"id": number, "method": method, "params": params})
        answer = waiting.get()
        if "error" in answer:
            raise RuntimeError(answer["error"]["message"])
        return answer["result"]

    def follow(self, thread: str, answer: Answer) -> None:
        """Answer the thread's calls of tools so."""
        self._tools[thread] = answer

    def turn(self, thread: str) -> Iterator[Message]:
        """What is said of a thread, until its turn is completed."""
        said = self._queue(thread)
        while True:
            message = said.get()
            yield message
            if message["method"] == "turn/completed":
                return

    def _queue(self, thread: str) -> "SimpleQueue[Message]":
        with self._lock:
            return self._said.setdefault(thread, SimpleQueue())

    def _read(self) -> None:
        for line in self._process.stdout or ():
            message = json.loads(line)
            thread = message.get("params", {}).get("threadId")
            if "method" not in message:
                self._answers.pop(message["id"]).put(message)
            elif "id" in message:
                threading.Thread(target=self._call, args=(message,), daemon=True).start()
            elif thread is not None:
                self._queue(thread).put(message)

    def _call(self, message: Message) -> None:
        answer = self._tools[message["params"]["threadId"]](message["params"])
        self._say({"id": message["id"], "result": answer})

    def _say(self, message: Mapping[str, Any]) -> None:
        with self._lock, contextlib.suppress(OSError):
            if self._process.stdin is not None:
                self._process.stdin.write(json.dumps(message) + "\n")
                self._process.stdin.flush()
