"""Ollama's client."""

import httpx
import ollama
from asking import main


def chat(url, stream, options):
    sdk = ollama.Client(host=url, **options)
    said = sdk.chat("fake-model", [{"role": "user", "content": "hi"}], stream=stream)
    parts = list(said) if stream else [said]
    usage = [parts[-1].prompt_eval_count, parts[-1].eval_count]
    return {
        "text": "".join(part.message.content or "" for part in parts),
        "thinking": "".join(part.message.thinking or "" for part in parts),
        # It keeps no ids.
        "calls": [
            [None, call.function.name, call.function.arguments]
            for part in parts
            for call in part.message.tool_calls or []
        ],
        "stop": parts[-1].done_reason,
        "usage": None if usage == [None, None] else usage,
    }


main({"ollama": chat}, httpx)
