"""OpenAI's client, over both of its wires."""

import json

import openai
from asking import main

try:
    import httpx2 as httpx
except ImportError:
    import httpx

ASKED = {"model": "fake-model"}
MESSAGES = [{"role": "user", "content": "hi"}]


def client(url, options):
    return openai.OpenAI(api_key="k", base_url=f"{url}/v1", http_client=httpx.Client(**options), max_retries=0)


def spent(usage, read, written):
    return None if usage is None else [getattr(usage, read), getattr(usage, written)]


def chat(url, stream, options):
    sdk = client(url, options)
    if not stream:
        completion = sdk.chat.completions.create(**ASKED, messages=MESSAGES)
        (choice,) = completion.choices
        return {
            "text": choice.message.content or "",
            "thinking": getattr(choice.message, "reasoning_content", None) or "",
            "calls": [
                [call.id, call.function.name, json.loads(call.function.arguments)]
                for call in choice.message.tool_calls or []
            ],
            "stop": choice.finish_reason,
            "usage": spent(completion.usage, "prompt_tokens", "completion_tokens"),
        }
    text, thinking, calls, stop, usage = "", "", {}, None, None
    chunks = sdk.chat.completions.create(
        **ASKED, messages=MESSAGES, stream=True, stream_options={"include_usage": True}
    )
    for chunk in chunks:
        usage = chunk.usage or usage
        for choice in chunk.choices:
            stop = choice.finish_reason or stop
            text += choice.delta.content or ""
            thinking += getattr(choice.delta, "reasoning_content", None) or ""
            for call in choice.delta.tool_calls or []:
                known = calls.setdefault(call.index, [call.id, call.function.name, ""])
                known[2] += call.function.arguments
    return {
        "text": text,
        "thinking": thinking,
        "calls": [[call_id, name, json.loads(arguments)] for call_id, name, arguments in calls.values()],
        "stop": stop,
        "usage": spent(usage, "prompt_tokens", "completion_tokens"),
    }


def responses(url, stream, options):
    sdk = client(url, options)
    if stream:
        with sdk.responses.stream(**ASKED, input="hi") as events:
            said = list(events)
        response = said[-1].response
        pieces = [event.delta for event in said if event.type == "response.output_text.delta"]
    else:
        response = sdk.responses.create(**ASKED, input="hi")
        pieces = [response.output_text]
    return {
        "text": "".join(pieces),
        "thinking": "".join(part.text for item in response.output if item.type == "reasoning" for part in item.summary),
        "calls": [
            [item.call_id, item.name, json.loads(item.arguments)]
            for item in response.output
            if item.type == "function_call"
        ],
        "stop": response.incomplete_details.reason if response.incomplete_details else response.status,
        "usage": spent(response.usage, "input_tokens", "output_tokens"),
    }


main({"openai_chat": chat, "openai_responses": responses}, httpx)
