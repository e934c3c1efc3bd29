"""Who is measured: how each is installed and started, and where it is asked."""

import json
import os
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from environments import node, node_with, python_with
from servers.answers import TEXT

HERE = Path(__file__).parent
SERVERS = HERE / "servers"
KIT = HERE.parent.parent
CHAT = "/v1/chat/completions"
#: Against what all are compared.
YARDSTICK = "aimock 1.43.0"
LAYERS = (
    "uvicorn==0.54.0",
    "uvloop==0.23.0",
    "httptools==0.9.0",
    "granian==2.8.9",
    "hypercorn==0.18.0",
    "orjson==3.13.0",
)


@dataclass(frozen=True, slots=True)
class Contender:
    """`command` gives what starts it on a port, and may install it first; `note` is what a reader of its row should know."""

    name: str
    command: Callable[[int], Sequence[str]]
    path: str = CHAT
    note: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)


def _own(*arguments: str) -> Callable[[int], Sequence[str]]:
    script, *rest = arguments
    return lambda port: [sys.executable, str(SERVERS / script), str(port), *rest]


def _served(port: int) -> Sequence[str]:
    """The command that users start."""
    options = ("--port", str(port), "--cap", str(10**9), "--chunking", "token")
    return [str(Path(sys.executable).parent / "conformance"), "serve", str(HERE / "fox.yaml"), *options]


def _layer(*arguments: str) -> Callable[[int], Sequence[str]]:
    """A command of the environment that has the HTTP servers; `PORT` stands for the port."""
    return lambda port: [
        str(python_with(*LAYERS)),
        *(argument.replace("PORT", str(port)) for argument in arguments),
    ]


def _fixture(name: str, text: str) -> Path:
    place = Path(tempfile.gettempdir()) / f"bench-server-{os.getpid()}"
    place.mkdir(exist_ok=True)
    (place / name).write_text(text)
    return place / name


def _aimock(port: int) -> Sequence[str]:
    room = node_with("@copilotkit/aimock@1.43.0")
    fixtures = {"fixtures": [{"match": {"userMessage": "quick brown fox"}, "response": {"content": TEXT}}]}
    told = _fixture("aimock.json", json.dumps(fixtures))
    return [node(), str(room / "node_modules/.bin/llmock"), "-p", str(port), "-f", str(told), "--log-level", "silent"]


def _stubllm(port: int) -> Sequence[str]:
    python = python_with("stubllm==0.1.5")
    matched = {"messages": [{"role": "user", "content": {"contains": "quick brown fox"}}]}
    said = {"content": TEXT, "stream_chunk_delay_ms": 0}
    told = _fixture("stubllm.json", json.dumps({"fixtures": [{"name": "fox", "match": matched, "response": said}]}))
    options = ["serve", "--port", str(port), "--fixture-file", str(told), "--log-level", "error"]
    return [str(python.parent / "stubllm"), *options]


def _llmock(port: int) -> Sequence[str]:
    python = python_with("llmock==0.2.2")
    return [
        str(python.parent / "llmock"),
        *("serve", "--port", str(port), "--response-style", "echo", "--log-level", "error"),
    ]


_UVICORN = ("-m", "uvicorn", "--port", "PORT", "--log-level", "error", "--no-access-log")
_GRANIAN = ("-m", "granian", "--interface", "asgi", "--port", "PORT", "--no-ws", "--log-level", "error")
_HYPERCORN = ("-m", "hypercorn", "-b", "127.0.0.1:PORT", "--log-level", "error")
_PATHS = {"PYTHONPATH": f"{SERVERS}{os.pathsep}{KIT}"}

CONTENDERS = (
    Contender("ours", _own("ours.py"), "/s/t/v1/chat/completions", "matching, provider rules and journal on"),
    Contender("ours, by token", _own("ours.py", "token"), "/s/t/v1/chat/completions", "the same, cut finer"),
    Contender("conformance serve", _served, "/s/fox/v1/chat/completions", "the whole command, by token"),
    Contender(YARDSTICK, _aimock, note="matching by text; journal of 1,000"),
    Contender("stubllm 0.1.5", _stubllm, note="matching by text"),
    Contender("llmock 0.2.2", _llmock, note="says 120 characters at most"),
    Contender("ceiling", _own("ceiling.py"), note="asyncio, bytes made beforehand, nothing decided"),
    Contender("bare ASGI, uvicorn", _layer(*_UVICORN, "bare_asgi:app"), note="nothing decided", environment=_PATHS),
)

#: The same engine behind other HTTP layers.
HTTP_LAYERS = (
    Contender(
        "ours, on uvloop",
        _layer(str(SERVERS / "ours.py"), "PORT", "twenty", "uvloop"),
        "/s/t/v1/chat/completions",
        environment=_PATHS,
    ),
    Contender("ceiling, on uvloop", _layer(str(SERVERS / "ceiling.py"), "PORT", "uvloop"), environment=_PATHS),
    Contender("engine on uvicorn", _layer(*_UVICORN, "engine_asgi:app"), environment=_PATHS),
    Contender("engine on granian", _layer(*_GRANIAN, "engine_asgi:app"), environment=_PATHS),
    Contender("engine on hypercorn", _layer(*_HYPERCORN, "engine_asgi:app"), environment=_PATHS),
)
