"""What OpenAI's client makes of replies that break, over Chat Completions and a transport; prints JSON."""

import asyncio
import json
import sys

import openai
from client_replies import Endpoint

from fake_models.httpx_transport import transport
from fake_models.messages import Cut, ErrorReply, Reply, Text, ToolCall

try:
    import httpx2 as httpx
except ImportError:
    import httpx

QUESTION = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
CALLS = Reply((ToolCall("c1", "f", '{"x":"时"}'), ToolCall("c2", "g", "{bad")), stop="tool_calls")
HELLO = Reply((Text("hello"),))
LATER = Reply(error=ErrorReply(429, "slow down", retry_after_s=0))


def asked(*replies, **options):
    http = httpx.Client(transport=transport(Endpoint(*replies), httpx))
    sdk = openai.OpenAI(api_key="k", base_url="http://127.0.0.1:9/v1", http_client=http, max_retries=2)
    return sdk.chat.completions.create(**QUESTION, **options)


def broken(cut):
    text = ""
    try:
        for chunk in asked(Reply((Text("hello"),), broken=cut), stream=True):
            text += chunk.choices[0].delta.content or ""
    except (httpx.HTTPError, openai.APIConnectionError) as error:
        # Newer clients wrap what the transport raised.
        return [text, type(error.__cause__ or error).__name__]
    return [text, None]


def whole_calls(completion):
    return [(call.id, call.function.name, call.function.arguments) for call in completion.choices[0].message.tool_calls]


def streamed_calls(stream):
    calls = {}
    for chunk in stream:
        for call in chunk.choices[0].delta.tool_calls or []:
            known = calls.setdefault(call.index, [call.id, call.function.name, ""])
            known[2] += call.function.arguments
    return list(calls.values())


async def asynchronously():
    http = httpx.AsyncClient(transport=transport(Endpoint(Reply((Text("时间"),))), httpx))
    sdk = openai.AsyncOpenAI(api_key="k", base_url="http://127.0.0.1:9/v1", http_client=http)
    stream = await sdk.chat.completions.create(**QUESTION, stream=True)
    return "".join([chunk.choices[0].delta.content or "" async for chunk in stream])


found = {
    "async": asyncio.run(asynchronously()),
    "cut": broken(Cut(after_chunks=3)),
    "reset": broken(Cut(after_chunks=3, reset=True)),
    "calls": whole_calls(asked(CALLS)),
    "streamed calls": streamed_calls(asked(CALLS, stream=True)),
    "retried": asked(LATER, HELLO).choices[0].message.content,
}
sys.stdout.write(json.dumps(found))
