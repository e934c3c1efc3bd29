"""Anthropic's client."""

import anthropic
from asking import main

try:
    import httpx2 as httpx
except ImportError:
    import httpx

QUESTION = {"model": "fake-model", "max_tokens": 100, "messages": [{"role": "user", "content": "hi"}]}


def messages(url, stream, options):
    sdk = anthropic.Anthropic(api_key="k", base_url=url, http_client=httpx.Client(**options), max_retries=0)
    if stream:
        with sdk.messages.stream(**QUESTION) as events:
            pieces = list(events.text_stream)
            message = events.get_final_message()
        assert "".join(pieces) == "".join(block.text for block in message.content if block.type == "text")
    else:
        message = sdk.messages.create(**QUESTION)
    usage = [getattr(message.usage, key, None) for key in ("input_tokens", "output_tokens")]
    return {
        "text": "".join(block.text for block in message.content if block.type == "text"),
        "thinking": "".join(block.thinking for block in message.content if block.type == "thinking"),
        "calls": [[block.id, block.name, block.input] for block in message.content if block.type == "tool_use"],
        "stop": message.stop_reason,
        "usage": None if usage == [None, None] else usage,
    }


main({"anthropic_messages": messages}, httpx)
