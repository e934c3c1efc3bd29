"""The official clients in Python, and how to run them. Installs nothing."""

import asyncio
import json
import os
import subprocess
from pathlib import Path

from hearing import Client, answers, misheard

HERE = Path(__file__).parent

CLIENTS = {
    client.name: client
    for client in (
        Client("openai", "openai_client.py", ("openai_chat", "openai_responses")),
        Client("anthropic", "anthropic_client.py", ("anthropic_messages",)),
        Client("google-genai", "google_client.py", ("gemini",)),
        Client("ollama", "ollama_client.py", ("ollama",), deaf_to={"ollama": frozenset({"ids"})}),
    )
}


_CALLS = [["c1", "f", '{"x":"时"}'], ["c2", "g", "{bad"]]
#: What OpenAI's client makes of a stream that breaks, of arguments that are no JSON, and of a limit that passes.
BROKEN = {
    "async": "时间",
    "cut": ["he", None],
    "reset": ["he", "ReadError"],
    "calls": _CALLS,
    "streamed calls": _CALLS,
    "retried": "hello",
}


def wrong(python, client):
    """Every case that the client, as it is installed beside that Python, did not hear as it was said."""
    command = (python, HERE / "python" / client.script)
    return misheard(client, asyncio.run(answers(command, client, ways=("server", "transport"), env=_env())))


def broken(python):
    """What OpenAI's client beside that Python makes of what is broken."""
    script = HERE / "python/broken_openai.py"
    ran = subprocess.run([python, script], env=_env(), capture_output=True, encoding="utf-8", check=False, timeout=60)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def _env():
    path = os.pathsep.join([str(HERE.parents[1]), str(HERE)])
    return {**os.environ, "PYTHONPATH": path, "PYTHONUTF8": "1"}
